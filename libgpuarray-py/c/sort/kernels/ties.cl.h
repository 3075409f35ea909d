/* Completes the order of rows of 64-bit keys that are sorted by their upper halves:
 * where these are equal, by the keys, then by the indices. An item that finds a first
 * of equal halves puts their indices in order, by insertion: there are few. */
KERNEL void TIES_NAME(GLOBAL_MEM const ga_uint *halves, ga_size halves_off,
                      GLOBAL_MEM const ga_ulong *keys, ga_size keys_off,
                      GLOBAL_MEM ga_long *order, ga_size order_off, ga_ulong rows,
                      ga_ulong n) {
  KERNEL_BEGIN;
  halves = (GLOBAL_MEM const ga_uint *)((GLOBAL_MEM const char *)halves + halves_off);
  keys = (GLOBAL_MEM const ga_ulong *)((GLOBAL_MEM const char *)keys + keys_off);
  order = (GLOBAL_MEM ga_long *)((GLOBAL_MEM char *)order + order_off);
  for (ga_ulong i = GID_0 * LDIM_0 + LID_0; i < rows * n; i += GDIM_0 * LDIM_0) {
    const ga_ulong start = i / n * n, end = start + n;
    const ga_uint upper = halves[i];
    if ((i > start && halves[i - 1] == upper) || i + 1 == end || halves[i + 1] != upper)
      continue;
    for (ga_ulong k = i + 1; k < end && halves[k] == upper; k++) {
      const ga_long index = order[k];
      const ga_ulong key = keys[start + (ga_ulong)index];
      ga_ulong to = k;
      /* The radix sort is stable: equal keys come by their indices. */
      for (; to > i && keys[start + (ga_ulong)order[to - 1]] > key; to--)
        order[to] = order[to - 1];
      order[to] = index;
    }
  }
}
