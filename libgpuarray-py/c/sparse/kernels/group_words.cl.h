/* Barriers behind which a work group's writes to global memory are seen by all of it.
 */
#ifdef CLK_GLOBAL_MEM_FENCE
#define SP_JOIN_GLOBAL barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#else
#define SP_JOIN_GLOBAL local_barrier()
#endif
