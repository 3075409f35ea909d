/* Several kernels as functions of one, which calls them in the order of a table. One
 * item does all the work, so local memory is its own. */
#undef KERNEL
#define KERNEL static
#undef GA_ONE_ITEM
#define GA_ONE_ITEM
#undef LID_0
#define LID_0 ((size_t)0)
#undef LDIM_0
#define LDIM_0 ((size_t)1)
#undef GID_0
#define GID_0 ((size_t)0)
#undef GDIM_0
#define GDIM_0 ((size_t)1)
#undef LOCAL_MEM
#define LOCAL_MEM
#undef local_barrier
#define local_barrier()
CH_KERNELS
KERNEL_SIZED(1, 1)
void CH_NAME(GLOBAL_MEM const ga_ulong *ga_c_w, ga_ulong ga_c_n CH_BUFFERS) {
  KERNEL_BEGIN;
  GLOBAL_MEM char *ga_c_b[] = {CH_PLACES};
  for (; ga_c_n > 0; ga_c_n--)
    switch ((ga_uint)*ga_c_w) {
      CH_CALLS
    default:
      break;
    }
}
