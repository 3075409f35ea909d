/* SVD by one-sided Jacobi on the columns of an (m, n) matrix, m >= n; accumulates vh.
 * Columns of u for zero singular values or beyond n are completed by Gram-Schmidt, from
 * the unit vector farthest from the previous columns. */
#include "matrices.cl.h"
#include "rotation.cl.h"

MX_KERNEL void MX_NAME(MX_PARAMETERS) {
  KERNEL_BEGIN;
  MX_BEGIN;
  for (ga_ulong i = GID_0 * LDIM_0 + LID_0; i < batch; i += GDIM_0 * LDIM_0) {
    ga_int bad = 0;
    GLOBAL_MEM T *a = p0 + i * m * n, *o = p1 + i * m * k, *v = p3 + i * n * n;
    GLOBAL_MEM R *w = (GLOBAL_MEM R *)p2 + i * n;
    R size = 0;
    for (ga_ulong j = 0; j < m * n; j++) {
      const R y = mx_abs(a[j]);
      size = size < y || y != y ? y : size;
    }
    bad = size - size != (R)0;
    const R unit = size > (R)0 && !bad ? size : (R)1;
    for (ga_ulong j = 0; j < m * n; j++)
      a[j] = mx_over(a[j], unit);
    MX_IDENTITY(v)
    ga_int more = !bad;
    for (ga_int sweep = 0; more && sweep < 60; sweep++) {
      more = 0;
      for (ga_ulong p = 0; p < n; p++)
        for (ga_ulong q = p + 1; q < n; q++) {
          R f = 0, g = 0;
          T y = mx_of(0);
          for (ga_ulong r = 0; r < m; r++) {
            f += mx_square(a[r * n + p]);
            g += mx_square(a[r * n + q]);
            y = mx_add(y, mx_mul(mx_conj(a[r * n + p]), a[r * n + q]));
          }
          const R x = mx_signed(y);
          if (!(fabs(x) > (R)4 * eps * sqrt(f) * sqrt(g)) || !(fabs(x) > eps * eps))
            continue;
          more = 1;
          const T phase = mx_phase(y);
          const R z = (g - f) / ((R)2 * x);
          MX_ROTATION
          for (ga_ulong r = 0; r < m; r++)
            MX_ROTATE(a[r * n + p], a[r * n + q], mx_conj(phase))
          for (ga_ulong r = 0; r < n; r++)
            MX_ROTATE(v[p * n + r], v[q * n + r], phase)
        }
    }
    bad |= more;
    for (ga_ulong c = 0; c < n; c++) {
      R s = 0;
      for (ga_ulong r = 0; r < m; r++)
        s += mx_square(a[r * n + c]);
      w[c] = sqrt(s);
    }
    for (ga_ulong c = 0; c < n; c++) {
      ga_ulong most = c;
      for (ga_ulong j = c + 1; j < n; j++)
        if (w[j] > w[most])
          most = j;
      MX_SWAP(R, w[c], w[most])
      for (ga_ulong r = 0; most != c && r < m; r++)
        MX_SWAP(T, a[r * n + c], a[r * n + most])
      for (ga_ulong r = 0; most != c && r < n; r++)
        MX_SWAP(T, v[c * n + r], v[most * n + r])
    }
    for (ga_ulong c = 0; c < k; c++) {
      if (c < n && w[c] > (R)m * eps * w[0]) {
        for (ga_ulong r = 0; r < m; r++)
          o[r * k + c] = mx_over(a[r * n + c], w[c]);
        continue;
      }
      ga_ulong far = 0;
      R least = 2;
      for (ga_ulong r = 0; r < m; r++) {
        R s = 0;
        for (ga_ulong j = 0; j < c; j++)
          s += mx_square(o[r * k + j]);
        if (s < least) {
          least = s;
          far = r;
        }
      }
      for (ga_ulong r = 0; r < m; r++)
        o[r * k + c] = mx_of(r == far ? 1 : 0);
      for (ga_int again = 0; again < 2; again++) {
        R s = 0;
        for (ga_ulong j = 0; j < c; j++) {
          T d = mx_of(0);
          for (ga_ulong r = 0; r < m; r++)
            d = mx_add(d, mx_mul(mx_conj(o[r * k + j]), o[r * k + c]));
          for (ga_ulong r = 0; r < m; r++)
            o[r * k + c] = mx_sub(o[r * k + c], mx_mul(d, o[r * k + j]));
        }
        for (ga_ulong r = 0; r < m; r++)
          s += mx_square(o[r * k + c]);
        for (ga_ulong r = 0; r < m; r++)
          o[r * k + c] = mx_over(o[r * k + c], sqrt(s));
      }
    }
    for (ga_ulong c = 0; c < n; c++)
      w[c] *= unit;
#if MX_IS_INVERSE
#include "pinv.cl.h"
#endif
    if (bad)
      ga_report_index(word, word_off, site, (ga_long)i, (ga_long)-1);
  }
}
