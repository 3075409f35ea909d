/* The sum of the parts of a convolution whose terms were split, in their order. */
#include "conv_words.cl.h"

KERNEL void CV_NAME(GLOBAL_MEM CV_OUT *c, ga_size c_off,
                    GLOBAL_MEM const CV_ACC *GA_APART parts, ga_size parts_off,
                    int count, int n, int m, int columns, int n_0, int n_1, int n_2,
                    int c_group, int c_m, int c_o, int c_0, int c_1, int c_2) {
  KERNEL_BEGIN;
  c = CV_AT(CV_OUT, c, c_off);
  parts = CV_AT(const CV_ACC, parts, parts_off);
  for (int at = (int)(GID_0 * LDIM_0 + LID_0); at < count;
       at += (int)(GDIM_0 * LDIM_0)) {
    int rest = at;
    CV_ACC sum = 0;
    CV_NEXT(i2, n_2)
    CV_NEXT(i1, n_1)
    CV_NEXT(i0, n_0)
    CV_NEXT(outer, columns)
    CV_NEXT(row, m)
    for (int p = 0; p < n; p++)
      sum += parts[p * count + at];
    c[rest * c_group + row * c_m + outer * c_o + i0 * c_0 + i1 * c_1 + i2 * c_2] =
        CV_STORE(sum);
  }
}
