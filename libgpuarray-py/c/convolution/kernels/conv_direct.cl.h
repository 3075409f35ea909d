/* Any convolution, or gradient of one: an item computes an element of the output as the
 * sum of all its products. CV_ROLE says which of the three arrays is the output: 0 the
 * result, 1 the image, 2 the filters. x, w and y are these arrays: b, c, r and 0 to 2
 * name the strides of batch, channels, results and spatial axes; p those of filters
 * over places, if each has its own. */
#include "conv_words.cl.h"

/* Place in the image where a result and an element of the filters meet. */
#define CV_IMAGE(axis)                                                                 \
  (o##axis * stride##axis + f##axis * dilation##axis - before##axis)
#define CV_IS_OUTSIDE(i, length) ((i) < 0 || (i) >= (length))
/* Place of the result that element f takes to place i of the image, times the stride.
 */
#define CV_RESULT(axis) (i##axis + before##axis - f##axis * dilation##axis)
#define CV_IS_NONE(behind, axis)                                                       \
  ((behind) < 0 || (behind) % stride##axis != 0 ||                                     \
   (behind) / stride##axis >= result##axis)

KERNEL void CV_NAME(GLOBAL_MEM CV_OUT *out, ga_size out_off,
                    GLOBAL_MEM const CV_TYPE *GA_APART left, ga_size left_off,
                    GLOBAL_MEM const CV_TYPE *GA_APART right, ga_size right_off,
                    CV_INT count, CV_INT batch, CV_INT channels, CV_INT results,
                    CV_INT groups, CV_INT image0, CV_INT filter0, CV_INT result0,
                    CV_INT stride0, CV_INT dilation0, CV_INT before0, CV_INT image1,
                    CV_INT filter1, CV_INT result1, CV_INT stride1, CV_INT dilation1,
                    CV_INT before1, CV_INT image2, CV_INT filter2, CV_INT result2,
                    CV_INT stride2, CV_INT dilation2, CV_INT before2, CV_INT xb,
                    CV_INT xc, CV_INT x0, CV_INT x1, CV_INT x2, CV_INT wr, CV_INT wc,
                    CV_INT w0, CV_INT w1, CV_INT w2, CV_INT yb, CV_INT yr, CV_INT y0,
                    CV_INT y1, CV_INT y2, CV_INT p0, CV_INT p1, CV_INT p2) {
  KERNEL_BEGIN;
  out = CV_AT(CV_OUT, out, out_off);
  left = CV_AT(const CV_TYPE, left, left_off);
  right = CV_AT(const CV_TYPE, right, right_off);
  for (CV_INT at = (CV_INT)(GID_0 * LDIM_0 + LID_0); at < count;
       at += (CV_INT)(GDIM_0 * LDIM_0)) {
    CV_INT rest = at;
    CV_ACC sum = 0;
#if CV_ROLE == 0
    CV_NEXT(o2, result2)
    CV_NEXT(o1, result1)
    CV_NEXT(o0, result0)
    CV_NEXT(r, groups * results)
    GLOBAL_MEM const CV_TYPE *x = left + rest * xb + r / results * channels * xc;
    GLOBAL_MEM const CV_TYPE *w = right + r * wr + o0 * p0 + o1 * p1 + o2 * p2;
    for (CV_INT f0 = 0; f0 < filter0; f0++) {
      const CV_INT i0 = CV_IMAGE(0);
      if (CV_IS_OUTSIDE(i0, image0))
        continue;
      for (CV_INT f1 = 0; f1 < filter1; f1++) {
        const CV_INT i1 = CV_IMAGE(1);
        if (CV_IS_OUTSIDE(i1, image1))
          continue;
        for (CV_INT f2 = 0; f2 < filter2; f2++) {
          const CV_INT i2 = CV_IMAGE(2);
          if (CV_IS_OUTSIDE(i2, image2))
            continue;
          const CV_INT place = i0 * x0 + i1 * x1 + i2 * x2;
          const CV_INT element = f0 * w0 + f1 * w1 + f2 * w2;
          for (CV_INT c = 0; c < channels; c++)
            sum += CV_LOAD(x[place + c * xc]) * CV_LOAD(w[element + c * wc]);
        }
      }
    }
    out[rest * yb + r * yr + o0 * y0 + o1 * y1 + o2 * y2] = CV_STORE(sum);
#elif CV_ROLE == 1
    CV_NEXT(i2, image2)
    CV_NEXT(i1, image1)
    CV_NEXT(i0, image0)
    CV_NEXT(c, groups * channels)
    const CV_INT r = c / channels * results;
    GLOBAL_MEM const CV_TYPE *y = left + rest * yb + r * yr;
    GLOBAL_MEM const CV_TYPE *w = right + r * wr + c % channels * wc;
    for (CV_INT f0 = 0; f0 < filter0; f0++) {
      const CV_INT behind0 = CV_RESULT(0), o0 = behind0 / stride0;
      if (CV_IS_NONE(behind0, 0))
        continue;
      for (CV_INT f1 = 0; f1 < filter1; f1++) {
        const CV_INT behind1 = CV_RESULT(1), o1 = behind1 / stride1;
        if (CV_IS_NONE(behind1, 1))
          continue;
        for (CV_INT f2 = 0; f2 < filter2; f2++) {
          const CV_INT behind2 = CV_RESULT(2), o2 = behind2 / stride2;
          if (CV_IS_NONE(behind2, 2))
            continue;
          const CV_INT place = o0 * y0 + o1 * y1 + o2 * y2;
          const CV_INT element =
              f0 * w0 + f1 * w1 + f2 * w2 + o0 * p0 + o1 * p1 + o2 * p2;
          for (CV_INT q = 0; q < results; q++)
            sum += CV_LOAD(y[place + q * yr]) * CV_LOAD(w[element + q * wr]);
        }
      }
    }
    out[rest * xb + c * xc + i0 * x0 + i1 * x1 + i2 * x2] = CV_STORE(sum);
#else
    CV_NEXT(f2, filter2)
    CV_NEXT(f1, filter1)
    CV_NEXT(f0, filter0)
    CV_NEXT(c, channels)
#if CV_IS_UNSHARED
    CV_NEXT(u2, result2)
    CV_NEXT(u1, result1)
    CV_NEXT(u0, result0)
    const CV_INT t0 = u0 + 1, t1 = u1 + 1, t2 = u2 + 1;
#else
    const CV_INT u0 = 0, u1 = 0, u2 = 0, t0 = result0, t1 = result1, t2 = result2;
#endif
    GLOBAL_MEM const CV_TYPE *x = left + (rest / results * channels + c) * xc;
    GLOBAL_MEM const CV_TYPE *y = right + rest * yr;
    for (CV_INT b = 0; b < batch; b++)
      for (CV_INT o0 = u0; o0 < t0; o0++) {
        const CV_INT i0 = CV_IMAGE(0);
        if (CV_IS_OUTSIDE(i0, image0))
          continue;
        for (CV_INT o1 = u1; o1 < t1; o1++) {
          const CV_INT i1 = CV_IMAGE(1);
          if (CV_IS_OUTSIDE(i1, image1))
            continue;
          const CV_INT place = b * xb + i0 * x0 + i1 * x1;
          const CV_INT grad = b * yb + o0 * y0 + o1 * y1;
          CV_ACC row = 0; /* sums of sums round less */
          for (CV_INT o2 = u2; o2 < t2; o2++) {
            const CV_INT i2 = CV_IMAGE(2);
            if (!CV_IS_OUTSIDE(i2, image2))
              row += CV_LOAD(x[place + i2 * x2]) * CV_LOAD(y[grad + o2 * y2]);
          }
          sum += row;
        }
      }
    out[rest * wr + c * wc + f0 * w0 + f1 * w1 + f2 * w2 + u0 * p0 + u1 * p1 +
        u2 * p2] = CV_STORE(sum);
#endif
  }
}
