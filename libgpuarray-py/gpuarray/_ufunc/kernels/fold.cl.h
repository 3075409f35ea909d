/* Slice k of a row of slices, at (outer, k, inner). One thread walks one slice from its
 * start to the next slice's, at least one element. A wrong index, which is reported
 * elsewhere, must not lead out of the array. FOLD_NEXT is what `acc` becomes with `v`.
 */
KERNEL void FOLD_NAME(GLOBAL_MEM FOLD_TYPE *y, ga_size y_off, GLOBAL_MEM FOLD_TYPE *x,
                      ga_size x_off, GLOBAL_MEM ga_long *s, ga_size s_off, ga_long n,
                      ga_long m, ga_long inner, ga_long count) {
  KERNEL_BEGIN;
  y = (GLOBAL_MEM FOLD_TYPE *)((GLOBAL_MEM char *)y + y_off);
  x = (GLOBAL_MEM FOLD_TYPE *)((GLOBAL_MEM char *)x + x_off);
  s = (GLOBAL_MEM ga_long *)((GLOBAL_MEM char *)s + s_off);
  const ga_long step = (ga_long)(GDIM_0 * LDIM_0);
  for (ga_long t = (ga_long)(GID_0 * LDIM_0 + LID_0); t < count; t += step) {
    const ga_long i = t % inner, k = t / inner % m, o = t / inner / m;
    const ga_long next = k + 1 < m ? s[k + 1] : n, end = next < n ? next : n;
    GLOBAL_MEM FOLD_TYPE *at = x + o * n * inner + i;
    ga_long j = s[k] >= 0 && s[k] < n ? s[k] : 0;
    FOLD_TYPE acc = at[j * inner];
#if FOLD_IS_RUNNING
    y[(o * n + j) * inner + i] = acc;
#endif
    for (j++; j < end; j++) {
      const FOLD_TYPE v = at[j * inner];
      acc = FOLD_NEXT;
#if FOLD_IS_RUNNING
      y[(o * n + j) * inner + i] = acc;
#endif
    }
#if !FOLD_IS_RUNNING
    y[t] = acc;
#endif
  }
}
