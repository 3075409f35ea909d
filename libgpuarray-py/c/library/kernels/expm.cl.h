/* Matrix exponential by scaling and squaring of the Taylor series. */
#include "matrices.cl.h"

MX_KERNEL void MX_NAME(MX_PARAMETERS) {
  KERNEL_BEGIN;
  MX_BEGIN;
  for (ga_ulong i = GID_0 * LDIM_0 + LID_0; i < batch; i += GDIM_0 * LDIM_0) {
    ga_int bad = 0;
    GLOBAL_MEM T *a = p0 + i * n * n, *e = p1 + i * n * n, *f = p2 + i * n * n;
    R size = 0, scale = 1;
    ga_int count = 0;
    for (ga_ulong c = 0; c < n; c++) {
      R s = 0;
      for (ga_ulong r = 0; r < n; r++)
        s += mx_abs(a[r * n + c]);
      size = s > size ? s : size;
    }
    if (size - size == (R)0)
      for (; size > (R)0.5; count++) {
        size *= (R)0.5;
        scale *= (R)0.5;
      }
    for (ga_ulong j = 0; j < n * n; j++)
      a[j] = mx_scale(a[j], scale);
    MX_IDENTITY(e)
    for (ga_int degree = 18; degree > -count; degree--) {
      const ga_int is_series = degree > 0;
      for (ga_ulong r = 0; r < n; r++)
        for (ga_ulong c = 0; c < n; c++) {
          T s = mx_of(0);
          for (ga_ulong j = 0; j < n; j++)
            s = mx_add(s,
                       mx_mul(is_series ? a[r * n + j] : e[r * n + j], e[j * n + c]));
          if (is_series)
            s = mx_over(s, (R)degree);
          if (is_series && r == c)
            s = mx_add(s, mx_of(1));
          f[r * n + c] = s;
        }
      for (ga_ulong j = 0; j < n * n; j++)
        e[j] = f[j];
    }
    if (bad)
      ga_report_index(word, word_off, site, (ga_long)i, (ga_long)-1);
  }
}
