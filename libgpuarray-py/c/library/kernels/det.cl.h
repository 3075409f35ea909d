/* Determinant by LU with partial pivoting. */
#include "matrices.cl.h"
#include "pivot.cl.h"

MX_KERNEL void MX_NAME(MX_PARAMETERS) {
  KERNEL_BEGIN;
  MX_BEGIN;
  for (ga_ulong i = GID_0 * LDIM_0 + LID_0; i < batch; i += GDIM_0 * LDIM_0) {
    ga_int bad = 0;
    GLOBAL_MEM T *a = p0 + i * n * n;
    T product = mx_of(1);
    for (ga_ulong c = 0; c < n; c++) {
      MX_PIVOT
      product = mx_mul(product, a[c * n + c]);
      if (best != c)
        product = mx_neg(product);
      for (ga_ulong r = c + 1; r < n; r++) {
        const T f = mx_div(a[r * n + c], a[c * n + c]);
        for (ga_ulong j = c + 1; j < n; j++)
          a[r * n + j] = mx_sub(a[r * n + j], mx_mul(f, a[c * n + j]));
      }
    }
    p1[i] = bad ? mx_of(0) : product;
    bad = 0;
    if (bad)
      ga_report_index(word, word_off, site, (ga_long)i, (ga_long)-1);
  }
}
