/* Each place of `a` is one thread's: that of the first of its entries, which are
 * sorted. FOLD_NEXT is what `acc` becomes with `v`. */
KERNEL void FOLD_NAME(GLOBAL_MEM FOLD_TYPE *a, ga_size a_off,
                      GLOBAL_MEM ga_long *places, ga_size places_off,
                      GLOBAL_MEM ga_long *order, ga_size order_off,
                      GLOBAL_MEM FOLD_OTHER *b, ga_size b_off, ga_long size,
                      ga_long count) {
  KERNEL_BEGIN;
  a = (GLOBAL_MEM FOLD_TYPE *)((GLOBAL_MEM char *)a + a_off);
  places = (GLOBAL_MEM ga_long *)((GLOBAL_MEM char *)places + places_off);
  order = (GLOBAL_MEM ga_long *)((GLOBAL_MEM char *)order + order_off);
  b = (GLOBAL_MEM FOLD_OTHER *)((GLOBAL_MEM char *)b + b_off);
  const ga_long step = (ga_long)(GDIM_0 * LDIM_0);
  for (ga_long t = (ga_long)(GID_0 * LDIM_0 + LID_0); t < count; t += step) {
    const ga_long place = places[t];
    if ((t > 0 && places[t - 1] == place) || place < 0 || place >= size)
      continue;
    FOLD_TYPE acc = a[place];
    for (ga_long j = t; j < count && places[j] == place; j++) {
      const FOLD_OTHER v = b[order[j]];
      acc = FOLD_NEXT;
    }
    a[place] = acc;
  }
}
