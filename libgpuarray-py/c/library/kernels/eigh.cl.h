/* Hermitian eigenvalues by the cyclic Jacobi method. */
#include "matrices.cl.h"
#include "rotation.cl.h"

MX_KERNEL void MX_NAME(MX_PARAMETERS) {
  KERNEL_BEGIN;
  MX_BEGIN;
  for (ga_ulong i = GID_0 * LDIM_0 + LID_0; i < batch; i += GDIM_0 * LDIM_0) {
    ga_int bad = 0;
    GLOBAL_MEM T *a = p0 + i * n * n, *v = p2 + i * n * n;
    GLOBAL_MEM R *w = (GLOBAL_MEM R *)p1 + i * n;
    R size = 0;
    for (ga_ulong r = 0; r < n; r++)
      for (ga_ulong c = 0; c <= r; c++) {
        T x = flags & 2 ? mx_conj(a[c * n + r]) : a[r * n + c];
        if (r == c)
          x = mx_of(mx_re(x));
        a[r * n + c] = x;
        a[c * n + r] = mx_conj(x);
        const R y = mx_abs(x);
        size = size < y || y != y ? y : size;
      }
    MX_IDENTITY(v)
    bad = size - size != (R)0;
    ga_int more = !bad;
    for (ga_int sweep = 0; more && sweep < 60; sweep++) {
      more = 0;
      for (ga_ulong p = 0; p < n; p++)
        for (ga_ulong q = p + 1; q < n; q++) {
          const T y = a[p * n + q];
          const R x = mx_signed(y);
          if (!(fabs(x) > size * eps * (R)0.125))
            continue;
          more = 1;
          const T phase = mx_phase(y);
          const R z = (mx_re(a[q * n + q]) - mx_re(a[p * n + p])) / ((R)2 * x);
          MX_ROTATION
          for (ga_ulong r = 0; r < n; r++)
            MX_ROTATE(a[r * n + p], a[r * n + q], mx_conj(phase))
          for (ga_ulong r = 0; r < n; r++) {
            MX_ROTATE(a[p * n + r], a[q * n + r], phase)
            MX_ROTATE(v[r * n + p], v[r * n + q], mx_conj(phase))
          }
          a[p * n + q] = a[q * n + p] = mx_of(0);
        }
    }
    bad |= more;
    for (ga_ulong c = 0; c < n; c++)
      w[c] = mx_re(a[c * n + c]);
    for (ga_ulong c = 0; c < n; c++) {
      ga_ulong least = c;
      for (ga_ulong j = c + 1; j < n; j++)
        if (w[j] < w[least])
          least = j;
      MX_SWAP(R, w[c], w[least])
      for (ga_ulong r = 0; least != c && r < n; r++)
        MX_SWAP(T, v[r * n + c], v[r * n + least])
    }
    if (bad)
      ga_report_index(word, word_off, site, (ga_long)i, (ga_long)-1);
  }
}
