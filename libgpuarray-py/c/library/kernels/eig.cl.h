/* Eigenvalues of complex matrices: Hessenberg reduction, shifted QR, eigenvectors from
 * the triangular form. Vectors are normalized, their largest element real. */
#include "matrices.cl.h"

/* Givens rotation that eliminates g below f: cs, sn. */
#define MX_GIVENS                                                                      \
  const R fa = mx_abs(f), ga = mx_abs(g), h = hypot(fa, ga);                           \
  const R cs = h > (R)0 ? fa / h : (R)1;                                               \
  const T sn =                                                                         \
      h > (R)0 ? mx_over(mx_mul(fa > (R)0 ? mx_over(f, fa) : mx_of(1), mx_conj(g)), h) \
               : mx_of(0);

/* Rotates rows p and q of a, from column `first` on. */
#define MX_TURN_ROWS(p, q, first)                                                      \
  for (ga_ulong c = first; c < n; c++) {                                               \
    const T b = a[(p) * n + c], d = a[(q) * n + c];                                    \
    a[(p) * n + c] = mx_add(mx_scale(b, cs), mx_mul(sn, d));                           \
    a[(q) * n + c] = mx_sub(mx_scale(d, cs), mx_mul(mx_conj(sn), b));                  \
  }

/* Rotates columns p and q of x, rows up to `end`, by the inverse. */
#define MX_TURN_COLUMNS(x, p, q, end)                                                  \
  for (ga_ulong r = 0; r < end; r++) {                                                 \
    const T b = x[r * n + p], d = x[r * n + q];                                        \
    x[r * n + p] = mx_add(mx_scale(b, cs), mx_mul(mx_conj(sn), d));                    \
    x[r * n + q] = mx_sub(mx_scale(d, cs), mx_mul(sn, b));                             \
  }

MX_KERNEL void MX_NAME(MX_PARAMETERS) {
  KERNEL_BEGIN;
  MX_BEGIN;
  for (ga_ulong i = GID_0 * LDIM_0 + LID_0; i < batch; i += GDIM_0 * LDIM_0) {
    ga_int bad = 0;
    GLOBAL_MEM T *a = p0 + i * n * n, *w = p1 + i * n, *v = p2 + i * n * n;
    R size = 0;
    for (ga_ulong j = 0; j < n * n; j++) {
      const R y = mx_abs(a[j]);
      size = size < y || y != y ? y : size;
    }
    MX_IDENTITY(v)
    bad = size - size != (R)0;
    for (ga_ulong j = 0; !bad && j + 2 < n; j++)
      for (ga_ulong l = j + 2; l < n; l++) {
        const T f = a[(j + 1) * n + j], g = a[l * n + j];
        if (mx_abs(g) == (R)0)
          continue;
        MX_GIVENS
        MX_TURN_ROWS(j + 1, l, j)
        a[l * n + j] = mx_of(0);
        MX_TURN_COLUMNS(a, j + 1, l, n)
        MX_TURN_COLUMNS(v, j + 1, l, n)
      }

#include "eig_turns.cl.h"
#include "eig_vectors.cl.h"
    if (bad)
      ga_report_index(word, word_off, site, (ga_long)i, (ga_long)-1);
  }
}
