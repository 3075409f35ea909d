/* Macros of the convolutions for processors. An item works alone, on vectors of
 * CV_LANES elements: both runtimes keep blocks of them in registers. Rows are
 * contiguous, hold the zeros of the padding and, where the last axis has a stride, are
 * split by phase: element i is element i / stride of phase i % stride. */
#include "conv_words.cl.h"

#define CV_OVER(i, n) for (ga_int i = 0; i < n; i++)
#define CV_CEIL(n, part) (((n) + (part) - 1) / (part))
#define CV_LEAST(a, b) ((a) < (b) ? (a) : (b))

/* Taps: the elements of a filter. x and w are their distances in memory. */
#define CV_TAPS_PARAMETERS                                                             \
  ga_int filter0, ga_int filter1, ga_int filter2, ga_int dilation0, ga_int dilation1,  \
      ga_int dilation2, ga_int stride0, ga_int stride1, ga_int stride2, ga_int x0,     \
      ga_int x1, ga_int x_phase, ga_int w0, ga_int w1, ga_int w2
#define CV_TAP_X                                                                       \
  (f0 * dilation0 * x0 + f1 * dilation1 * x1 + f2 * dilation2 % stride2 * x_phase +    \
   f2 * dilation2 / stride2)
#define CV_TAP_W (f0 * w0 + f1 * w1 + f2 * w2)
