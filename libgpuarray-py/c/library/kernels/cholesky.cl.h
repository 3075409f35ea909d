/* Cholesky factorization, lower. */
#include "matrices.cl.h"

MX_KERNEL void MX_NAME(MX_PARAMETERS) {
  KERNEL_BEGIN;
  MX_BEGIN;
  for (ga_ulong i = GID_0 * LDIM_0 + LID_0; i < batch; i += GDIM_0 * LDIM_0) {
    ga_int bad = 0;
    GLOBAL_MEM T *a = p0 + i * n * n;
    for (ga_ulong c = 0; c < n; c++) {
      R s = mx_re(a[c * n + c]);
      for (ga_ulong j = 0; j < c; j++)
        s -= mx_square(a[c * n + j]);
      if (!(s > (R)0)) {
        bad = 1;
        break;
      }
      const R d = sqrt(s);
      a[c * n + c] = mx_of(d);
      for (ga_ulong r = c + 1; r < n; r++) {
        T v = a[r * n + c];
        for (ga_ulong j = 0; j < c; j++)
          v = mx_sub(v, mx_mul(a[r * n + j], mx_conj(a[c * n + j])));
        a[r * n + c] = mx_over(v, d);
        a[c * n + r] = mx_of(0);
      }
    }
    if (bad && (flags & 4)) {
      const R zero = 0;
      for (ga_ulong j = 0; j < n * n; j++)
        a[j] = mx_of(zero / zero);
      bad = 0;
    }
    if (bad)
      ga_report_index(word, word_off, site, (ga_long)i, (ga_long)-1);
  }
}
