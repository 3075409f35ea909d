/* QR by Householder reflections. */
#include "matrices.cl.h"

/* Applies H = 1 - t v v' to a column of `x`; v is column j from row j on, its first
 * element 1. */
#define MX_REFLECT(x, w, t)                                                            \
  T d = x[j * w + c];                                                                  \
  for (ga_ulong r = j + 1; r < m; r++)                                                 \
    d = mx_add(d, mx_mul(mx_conj(a[r * n + j]), x[r * w + c]));                        \
  d = mx_mul(t, d);                                                                    \
  x[j * w + c] = mx_sub(x[j * w + c], d);                                              \
  for (ga_ulong r = j + 1; r < m; r++)                                                 \
    x[r * w + c] = mx_sub(x[r * w + c], mx_mul(d, a[r * n + j]));

MX_KERNEL void MX_NAME(MX_PARAMETERS) {
  KERNEL_BEGIN;
  MX_BEGIN;
  for (ga_ulong i = GID_0 * LDIM_0 + LID_0; i < batch; i += GDIM_0 * LDIM_0) {
    ga_int bad = 0;
    const ga_ulong least = m < n ? m : n; /* k: columns of q, rows of r */
    GLOBAL_MEM T *a = p0 + i * m * n, *q = p1 + i * m * k, *o = p2 + i * k * n;
    GLOBAL_MEM T *tau = p3 + i * least;
    for (ga_ulong j = 0; j < least; j++) {
      const T first = a[j * n + j];
      R top = 0, s = 0;
      for (ga_ulong r = j + 1; r < m; r++)
        top = fmax(top, mx_abs(a[r * n + j]));
      for (ga_ulong r = j + 1; r < m; r++) {
        const R v = mx_abs(a[r * n + j]);
        s += v != v ? v : top > (R)0 ? (v / top) * (v / top) : (R)0;
      }
      tau[j] = mx_of(0);
      if (s != (R)0 || mx_im(first) != (R)0) {
        const R size = hypot(mx_abs(first), top * sqrt(s));
        const R beta = mx_re(first) < (R)0 ? size : -size;
        const T gap = mx_sub(first, mx_of(beta));
        tau[j] = mx_over(mx_neg(gap), beta);
        for (ga_ulong r = j + 1; r < m; r++)
          a[r * n + j] = mx_div(a[r * n + j], gap);
        a[j * n + j] = mx_of(beta);
      }
      for (ga_ulong c = j + 1; c < n; c++) {
        MX_REFLECT(a, n, mx_conj(tau[j]))
      }
    }
    for (ga_ulong r = 0; r < m; r++)
      for (ga_ulong c = 0; c < k; c++)
        q[r * k + c] = mx_of(r == c ? 1 : 0);
    for (ga_ulong j = least; j-- > 0;)
      for (ga_ulong c = 0; c < k; c++) {
        MX_REFLECT(q, k, tau[j])
      }
    for (ga_ulong r = 0; r < k; r++)
      for (ga_ulong c = 0; c < n; c++)
        o[r * n + c] = c < r ? mx_of(0) : a[r * n + c];
    if (bad)
      ga_report_index(word, word_off, site, (ga_long)i, (ga_long)-1);
  }
}
