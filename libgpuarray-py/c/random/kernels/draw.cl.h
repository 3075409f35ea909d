/* Draws of distributions element by element, RN_CHUNK neighbours an item: those whose
 * elements have counts of their own, and those with parameters in arrays.
 * random_source.c defines the macros RN_... */
KERNEL void RN_NAME(GLOBAL_MEM RN_TYPE *x, ga_size x_off, ga_ulong n,
                    RN_STATE RN_PARAMETERS RN_OTHERS) {
  KERNEL_BEGIN;
  RN_LOAD_STATE
  x = (GLOBAL_MEM RN_TYPE *)((GLOBAL_MEM char *)x + x_off);
  RN_STARTS
  for (ga_ulong c = GID_0 * LDIM_0 + LID_0; c < n; c += GDIM_0 * LDIM_0) {
#if RN_CHUNK > 1
    const ga_ulong first = c * RN_CHUNK;
    if (first >= n)
      break;
    const ga_ulong end = n - first < RN_CHUNK ? n : first + RN_CHUNK;
    for (ga_ulong i = first; i < end; i++) {
#else
    {
      const ga_ulong i = c;
#endif
      RN_WALK
      RN_LOADS
      const RN_WORK v = RN_OF(seed, stream, position, i RN_GIVEN);
      x[RN_PLACE] = RN_STORE(RN_CAP(v));
    }
  }
}
