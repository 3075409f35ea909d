/* Gradient of a convolution by the image, without padding: products of filters and y,
 * the gradient of the result, are added to where they belong. A unit is an image of one
 * group, or some channels of it, which no other item writes. An item computes CV_ROWS
 * taps of channels at CV_VECTORS vectors of places of y at a time, sums over `results`.
 * The last vector of a row begins earlier, so that it ends with the row: what others
 * had is masked. */
#include "conv_cpu_words.cl.h"

KERNEL_SIZED(1, 1)
void CV_NAME(GLOBAL_MEM CV_T *out, ga_size out_off, GLOBAL_MEM const CV_T *GA_APART y,
             ga_size y_off, GLOBAL_MEM const CV_T *GA_APART w, ga_size w_off,
             CV_TAPS_PARAMETERS, ga_int batch, ga_int groups, ga_int channels,
             ga_int results, ga_int blocks, ga_int image0, ga_int image1, ga_int image2,
             ga_int length0, ga_int length1, ga_int length2, ga_int yb, ga_int yg,
             ga_int yr, ga_int wg, ga_int wr, ga_int wc, ga_int ob, ga_int og,
             ga_int oc, ga_int o0, ga_int o1) {
  KERNEL_BEGIN;
  LOCAL_MEM ga_int o_at[CV_TAPS], w_at[CV_TAPS];
  out = CV_AT(CV_T, out, out_off);
  y = CV_AT(const CV_T, y, y_off);
  w = CV_AT(const CV_T, w, w_off);
  ga_int taps = 0;
  CV_OVER (f0, filter0)
    CV_OVER (f1, filter1)
      CV_OVER (f2, filter2) {
        o_at[taps] = f0 * dilation0 * o0 + f1 * dilation1 * o1 + f2 * dilation2;
        w_at[taps++] = CV_TAP_W;
      }
  CV_INT lanes[2 * CV_LANES];
  CV_OVER (i, 2 * CV_LANES)
    lanes[i] = i < CV_LANES ? 0 : -1;
  const ga_int across = CV_CEIL(length2, CV_LANES);
  const ga_int vectors = length0 * length1 * across;
  const ga_int some = CV_CEIL(channels, blocks), units = batch * groups * blocks;
  const ga_int share = CV_CEIL(units, (ga_int)GDIM_0);
  const ga_int first = (ga_int)GID_0 * share, last = CV_LEAST(first + share, units);
  for (ga_int unit = first; unit < last; unit++) {
    const ga_int begin = unit % blocks * some, end = CV_LEAST(begin + some, channels);
    const ga_int group = unit / blocks % groups, b = unit / blocks / groups;
    GLOBAL_MEM CV_T *image = out + ((ga_ssize)b * ob + group * og);
    GLOBAL_MEM const CV_T *flowing = y + ((ga_ssize)b * yb + group * yg);
    GLOBAL_MEM const CV_T *filters = w + (ga_ssize)group * wg;
    for (ga_int c = begin; c < end; c++)
      CV_OVER (i0, image0)
        CV_OVER (i1, image1)
          CV_OVER (i2, image2)
            image[(ga_ssize)c * oc + i0 * o0 + i1 * o1 + i2] = 0;
    for (ga_int from = 0; from < vectors; from += CV_VECTORS) {
      GLOBAL_MEM const CV_T *of_y[CV_VECTORS];
      GLOBAL_MEM CV_T *to[CV_VECTORS];
      ga_int skip[CV_VECTORS];
      CV_EACH (v, CV_VECTORS) {
        ga_int rest = CV_LEAST(from + v, vectors - 1);
        const ga_int k = rest % across;
        rest /= across;
        const ga_int i1 = rest % length1, i0 = rest / length1;
        const ga_int i2 = CV_LEAST(k * CV_LANES, length2 - CV_LANES);
        skip[v] = from + v < vectors ? k * CV_LANES - i2 : CV_LANES;
        of_y[v] = flowing + (i0 * x0 + i1 * x1 + i2);
        to[v] = image + (i0 * stride0 * o0 + i1 * stride1 * o1 + i2);
      }
      ga_int c = begin, f = 0;
      while (c < end) {
        CV_VECTOR acc[CV_ROWS][CV_VECTORS];
        GLOBAL_MEM const CV_T *row[CV_ROWS];
        ga_ssize at[CV_ROWS];
        ga_int met = 0;
        CV_EACH (r, CV_ROWS) {
          CV_EACH (v, CV_VECTORS)
            acc[r][v] = 0;
          if (c < end) {
            row[r] = filters + (c * wc + w_at[f]);
            at[r] = (ga_ssize)c * oc + o_at[f];
            met++;
            if (++f == taps)
              f = 0, c++;
          } else {
            row[r] = row[0];
            at[r] = at[0];
          }
        }
        CV_OVER (k, results) {
          CV_VECTOR element[CV_VECTORS];
          CV_EACH (v, CV_VECTORS)
            element[v] = CV_VLOAD(of_y[v] + (ga_ssize)k * yr);
          CV_EACH (r, CV_ROWS) {
            const CV_T factor = row[r][(ga_ssize)k * wr];
            CV_EACH (v, CV_VECTORS)
              acc[r][v] += factor * element[v];
          }
        }
        CV_EACH (v, CV_VECTORS) {
          const CV_MASK mask = CV_MASK_LOAD(lanes + CV_LANES - skip[v]);
          CV_EACH (r, CV_ROWS)
            if (r < met)
              CV_VSTORE(CV_VLOAD(to[v] + at[r]) + CV_MASKED(acc[r][v]), to[v] + at[r]);
        }
      }
    }
  }
}
