/* The sum of the parts of a convolution whose terms were split, in their order. */
#include "conv_words.cl.h"

#define CV_SUM sum
#define CV_STORED                                                                      \
  c[ga_i_x0 * c_group + ga_i_x1 * c_m + ga_i_x2 * c_o + ga_i_x3 * c_0 +                \
    ga_i_x4 * c_1 + ga_i_x5 * c_2]

KERNEL void CV_NAME(GLOBAL_MEM CV_OUT *c, ga_size c_off,
                    GLOBAL_MEM const CV_ACC *GA_APART parts, ga_size parts_off,
                    int count, int n, int m, int columns, int n_0, int n_1, int n_2,
                    int c_group, int c_m, int c_o, int c_0, int c_1,
                    int c_2 CV_MAPPED) {
  KERNEL_BEGIN;
  CV_STARTS
  c = CV_AT(CV_OUT, c, c_off);
  parts = CV_AT(const CV_ACC, parts, parts_off);
  for (int at = (int)(GID_0 * LDIM_0 + LID_0); at < count;
       at += (int)(GDIM_0 * LDIM_0)) {
    int rest = at;
    CV_ACC sum = 0;
    CV_NEXT(ga_i_x5, n_2)
    CV_NEXT(ga_i_x4, n_1)
    CV_NEXT(ga_i_x3, n_0)
    CV_NEXT(ga_i_x2, columns)
    CV_NEXT(ga_i_x1, m)
    const int ga_i_x0 = rest;
    for (int p = 0; p < n; p++)
      sum += parts[p * count + at];
    CV_PUT
  }
}
