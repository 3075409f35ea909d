/* The place of each of m values in a sorted vector, or in one that `order` sorts. A
 * place of the sorter that is out of bounds counts as the last one. */
#if SEARCH_IS_RIGHT
#define SEARCH_IS_BELOW(y, x) !SEARCH_LESS(x, y)
#else
#define SEARCH_IS_BELOW(y, x) SEARCH_LESS(y, x)
#endif

KERNEL void SEARCH_NAME(GLOBAL_MEM const SEARCH_TYPE *a, ga_size a_off, ga_size n,
                        GLOBAL_MEM const SEARCH_TYPE *v, ga_size v_off, ga_size m,
                        GLOBAL_MEM const ga_long *order, ga_size order_off,
                        ga_size has_order, GLOBAL_MEM ga_long *out) {
  KERNEL_BEGIN;
  a = (GLOBAL_MEM const SEARCH_TYPE *)((GLOBAL_MEM const char *)a + a_off);
  v = (GLOBAL_MEM const SEARCH_TYPE *)((GLOBAL_MEM const char *)v + v_off);
  order = (GLOBAL_MEM const ga_long *)((GLOBAL_MEM const char *)order + order_off);
  for (ga_size i = GID_0 * LDIM_0 + LID_0; i < m; i += GDIM_0 * LDIM_0) {
    const SEARCH_TYPE x = v[i];
    ga_size low = 0, high = n;
    while (low < high) {
      const ga_size middle = low + (high - low) / 2;
      ga_size at = has_order ? (ga_size)order[middle] : middle;
      at = at < n ? at : n - 1;
      const SEARCH_TYPE y = a[at];
      if (SEARCH_IS_BELOW(y, x))
        low = middle + 1;
      else
        high = middle;
    }
    out[i] = (ga_long)low;
  }
}
