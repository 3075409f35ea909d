/* searchsorted: binary search of each value in a sorted vector, NaN last. */

/* True if x's insertion point is after y. */
#if SEARCH_IS_RIGHT
#define SEARCH_IS_BEHIND(x, y) !(x < y || (y != y && x == x))
#else
#define SEARCH_IS_BEHIND(x, y) y < x || (x != x && y == y)
#endif

SEARCH_KERNEL void SEARCH_NAME(GLOBAL_MEM const SEARCH_TYPE *a, ga_size a_off,
                               GLOBAL_MEM const SEARCH_TYPE *v, ga_size v_off,
                               GLOBAL_MEM ga_long *out, ga_size out_off, ga_ulong n,
                               ga_ulong m) {
  KERNEL_BEGIN;
  a = (GLOBAL_MEM const SEARCH_TYPE *)((GLOBAL_MEM const char *)a + a_off);
  v = (GLOBAL_MEM const SEARCH_TYPE *)((GLOBAL_MEM const char *)v + v_off);
  out = (GLOBAL_MEM ga_long *)((GLOBAL_MEM char *)out + out_off);
  for (ga_ulong i = GID_0 * LDIM_0 + LID_0; i < m; i += GDIM_0 * LDIM_0) {
    const SEARCH_TYPE x = v[i];
    ga_ulong low = 0, high = n;
    while (low < high) {
      const ga_ulong middle = low + (high - low) / 2;
      const SEARCH_TYPE y = a[middle];
      if (SEARCH_IS_BEHIND(x, y))
        low = middle + 1;
      else
        high = middle;
    }
    out[i] = (ga_long)low;
  }
}
