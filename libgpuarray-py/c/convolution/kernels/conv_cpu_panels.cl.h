/* Gradient of a convolution by its filters, by vectors of results. An item computes a
 * panel of CV_WIDTH results at CV_MEET taps of channels at a time: a product of an
 * element of x and a row of the panel for each place. The panel of a chunk of places is
 * copied from y once, and stays in the first cache.
 * Part GID_1 of the places is summed to an array of its own. */
#include "conv_cpu_words.cl.h"

#define CV_WIDTH (CV_VECTORS * CV_LANES)
#define CV_BLOCK (CV_MEET * CV_VECTORS)

KERNEL_SIZED(1, 1)
void CV_NAME(GLOBAL_MEM CV_T *out, ga_size out_off, GLOBAL_MEM const CV_T *GA_APART x,
             ga_size x_off, GLOBAL_MEM const CV_S *GA_APART y, ga_size y_off,
             CV_TAPS_PARAMETERS, ga_int batch, ga_int groups, ga_int channels,
             ga_int results, ga_int length0, ga_int length1, ga_int length2,
             ga_int chunk, ga_int xb, ga_int xg, ga_int xc, ga_int yb, ga_int yg,
             ga_int yr, ga_int y0, ga_int y1, ga_int wp, ga_int wg, ga_int wr,
             ga_int wc, ga_int y2) {
  KERNEL_BEGIN;
  LOCAL_MEM ga_int x_at[CV_TAPS], w_at[CV_TAPS], x_place[CV_PLACES], y_place[CV_PLACES];
  CV_VECTOR panel[CV_PLACES * CV_VECTORS];
  out = CV_AT(CV_T, out, out_off) + (ga_ssize)GID_1 * wp;
  x = CV_AT(const CV_T, x, x_off);
  y = CV_AT(const CV_S, y, y_off);
  ga_int taps = 0;
  CV_OVER (f0, filter0)
    CV_OVER (f1, filter1)
      CV_OVER (f2, filter2) {
        x_at[taps] = f0 * dilation0 * x0 + f1 * dilation1 * x1 + f2 * dilation2;
        w_at[taps++] = CV_TAP_W;
      }
  const ga_int panels = CV_CEIL(results, CV_WIDTH), jobs = groups * panels;
  const ga_int share = CV_CEIL(jobs, (ga_int)GDIM_0);
  const ga_int job0 = (ga_int)GID_0 * share, jobs_end = CV_LEAST(job0 + share, jobs);
  const ga_int places = batch * length0 * length1 * length2;
  const ga_int part = CV_CEIL(CV_CEIL(places, (ga_int)GDIM_1), chunk) * chunk;
  const ga_int first = (ga_int)GID_1 * part, last = CV_LEAST(first + part, places);
  for (ga_int from = first; from == first || from < last; from += chunk) {
    const ga_int n = CV_LEAST(chunk, last - from);
    CV_OVER (i, n) {
      ga_int rest = from + i;
      const ga_int at2 = rest % length2;
      rest /= length2;
      const ga_int at1 = rest % length1;
      rest /= length1;
      const ga_int at0 = rest % length0, b = rest / length0;
      x_place[i] = b * xb + at0 * stride0 * x0 + at1 * stride1 * x1 + at2 * stride2;
      y_place[i] = b * yb + at0 * y0 + at1 * y1 + at2 * y2;
    }
    for (ga_int job = job0; job < jobs_end; job++) {
      const ga_int group = job / panels, top = job % panels * CV_WIDTH;
      CV_OVER (v, CV_VECTORS) {
        GLOBAL_MEM const CV_S *y_r[CV_LANES];
        CV_EACH (r, CV_LANES)
          y_r[r] =
              y + (group * yg + CV_LEAST(top + v * CV_LANES + r, results - 1) * yr);
        CV_OVER (i, n) {
          CV_T column[CV_LANES];
          CV_EACH (r, CV_LANES)
            column[r] = CV_LOAD(y_r[r][y_place[i]]);
          panel[i * CV_VECTORS + v] = CV_VLOAD(column);
        }
      }
      ga_int c = 0, f = 0;
      while (c < channels) {
        CV_VECTOR acc[CV_BLOCK];
        ga_ssize of_x[CV_MEET];
        ga_int to[CV_MEET], meet = 0;
        CV_EACH (t, CV_MEET) {
          CV_EACH (v, CV_VECTORS)
            acc[t * CV_VECTORS + v] = 0;
          if (c < channels) {
            of_x[t] = group * xg + c * xc + x_at[f];
            to[t] = group * wg + top * wr + c * wc + w_at[f];
            meet++;
            if (++f == taps)
              f = 0, c++;
          } else {
            of_x[t] = of_x[0];
          }
        }
        CV_OVER (i, n) {
          GLOBAL_MEM const CV_T *x_i = x + x_place[i];
          CV_VECTOR right[CV_VECTORS];
          CV_EACH (v, CV_VECTORS)
            right[v] = panel[i * CV_VECTORS + v];
          CV_EACH (t, CV_MEET) {
            const CV_T factor = x_i[of_x[t]];
            CV_EACH (v, CV_VECTORS)
              acc[t * CV_VECTORS + v] += factor * right[v];
          }
        }
        CV_T sums[CV_BLOCK * CV_LANES];
        CV_EACH (i, CV_BLOCK)
          CV_VSTORE(acc[i], sums + i * CV_LANES);
        CV_OVER (r, CV_LEAST(CV_WIDTH, results - top))
          CV_OVER (t, meet) {
            const ga_ssize at = to[t] + r * wr;
            out[at] = sums[t * CV_WIDTH + r] + (from == first ? 0 : out[at]);
          }
      }
    }
  }
}
