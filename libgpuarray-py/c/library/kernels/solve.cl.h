/* Linear solve, or inverse, by LU with partial pivoting. */
#include "matrices.cl.h"
#include "pivot.cl.h"

MX_KERNEL void MX_NAME(MX_PARAMETERS) {
  KERNEL_BEGIN;
  MX_BEGIN;
  for (ga_ulong i = GID_0 * LDIM_0 + LID_0; i < batch; i += GDIM_0 * LDIM_0) {
    ga_int bad = 0;
    GLOBAL_MEM T *a = p0 + i * n * n, *x = p1 + i * n * k;
    for (ga_ulong r = 0; r < n; r++)
      for (ga_ulong c = 0; c < n; c++)
        if (((flags & 1) && c > r) || ((flags & 2) && c < r))
          a[r * n + c] = mx_of(0);
    if (flags & 16)
      MX_IDENTITY(x)
    for (ga_ulong c = 0; c < n; c++) {
      MX_PIVOT
      for (ga_ulong j = 0; best != c && j < k; j++)
        MX_SWAP(T, x[c * k + j], x[best * k + j])
      for (ga_ulong r = c + 1; r < n; r++) {
        const T f = mx_div(a[r * n + c], a[c * n + c]);
        if (mx_abs(f) == (R)0)
          continue;
        for (ga_ulong j = c + 1; j < n; j++)
          a[r * n + j] = mx_sub(a[r * n + j], mx_mul(f, a[c * n + j]));
        for (ga_ulong j = 0; j < k; j++)
          x[r * k + j] = mx_sub(x[r * k + j], mx_mul(f, x[c * k + j]));
      }
    }
    for (ga_ulong r = bad ? 0 : n; r-- > 0;)
      for (ga_ulong j = 0; j < k; j++) {
        T v = x[r * k + j];
        for (ga_ulong c = r + 1; c < n; c++)
          v = mx_sub(v, mx_mul(a[r * n + c], x[c * k + j]));
        x[r * k + j] = mx_div(v, a[r * n + r]);
      }
    if (bad)
      ga_report_index(word, word_off, site, (ga_long)i, (ga_long)-1);
  }
}
