/* Sums the parts of a gradient by filters, in their order. */
#include "conv_cpu_words.cl.h"

KERNEL void CV_NAME(GLOBAL_MEM CV_S *out, ga_size out_off,
                    GLOBAL_MEM const CV_T *GA_APART in, ga_size in_off, ga_int count,
                    ga_int parts, ga_int channels, ga_int filter0, ga_int filter1,
                    ga_int filter2, ga_int wr, ga_int wc, ga_int w0, ga_int w1,
                    ga_int w2) {
  KERNEL_BEGIN;
  out = CV_AT(CV_S, out, out_off);
  in = CV_AT(const CV_T, in, in_off);
  for (ga_int at = (ga_int)(GID_0 * LDIM_0 + LID_0); at < count;
       at += (ga_int)(GDIM_0 * LDIM_0)) {
    CV_T sum = 0;
    for (ga_int p = 0; p < parts; p++)
      sum += in[(ga_ssize)p * count + at];
    ga_int rest = at;
    const ga_int f2 = rest % filter2;
    rest /= filter2;
    const ga_int f1 = rest % filter1;
    rest /= filter1;
    const ga_int f0 = rest % filter0;
    rest /= filter0;
    out[rest / channels * wr + rest % channels * wc + CV_TAP_W] = CV_STORE(sum);
  }
}
