/* Gradient of a convolution by its filters. An item computes CV_ROWS results at CV_MEET
 * taps of channels at a time: vectors along the rows of x and y, whose elements are
 * summed at the end of a chunk of rows. A chunk of x, `some` channels of it, stays in
 * the second cache, one of y in the first.
 * Part GID_1 of the rows is summed to an array of its own. */
#include "conv_cpu_words.cl.h"

/* Products of vector `j` of rows x_i and y_i. Registers hold the fewer vectors of the
 * two, the sums, and one of the others. */
#define CV_AS_IT_IS(v) (v)
#if CV_ROWS < CV_MEET
#define CV_MULTIPLY(j, MASK)                                                           \
  {                                                                                    \
    CV_VECTOR left[CV_ROWS];                                                           \
    CV_EACH (r, CV_ROWS)                                                               \
      left[r] = MASK(CV_VLOAD(y_i + (of_y[r] + (j))));                                 \
    CV_EACH (t, CV_MEET) {                                                             \
      const CV_VECTOR right = MASK(CV_VLOAD(x_i + (of_x[t] + (j))));                   \
      CV_EACH (r, CV_ROWS)                                                             \
        acc[t * CV_ROWS + r] += left[r] * right;                                       \
    }                                                                                  \
  }
#else
#define CV_MULTIPLY(j, MASK)                                                           \
  {                                                                                    \
    CV_VECTOR right[CV_MEET];                                                          \
    CV_EACH (t, CV_MEET)                                                               \
      right[t] = MASK(CV_VLOAD(x_i + (of_x[t] + (j))));                                \
    CV_EACH (r, CV_ROWS) {                                                             \
      const CV_VECTOR left = MASK(CV_VLOAD(y_i + (of_y[r] + (j))));                    \
      CV_EACH (t, CV_MEET)                                                             \
        acc[t * CV_ROWS + r] += left * right[t];                                       \
    }                                                                                  \
  }
#endif

#define CV_BLOCK (CV_ROWS * CV_MEET)
#define CV_ACC(i) acc[CV_LEAST(i, CV_BLOCK - 1)]
/* The sums of four vectors of four elements, by a transposition. */
#define CV_SUMS(a, b, c, d, to)                                                        \
  {                                                                                    \
    const CV_FOUR a_ = a, b_ = b, c_ = c, d_ = d;                                      \
    const CV_FOUR x_ = (CV_FOUR)(a_.s0, b_.s0, c_.s0, d_.s0);                          \
    const CV_FOUR y_ = (CV_FOUR)(a_.s1, b_.s1, c_.s1, d_.s1);                          \
    const CV_FOUR z_ = (CV_FOUR)(a_.s2, b_.s2, c_.s2, d_.s2);                          \
    const CV_FOUR w_ = (CV_FOUR)(a_.s3, b_.s3, c_.s3, d_.s3);                          \
    vstore4((x_ + y_) + (z_ + w_), 0, to);                                             \
  }

KERNEL_SIZED(1, 1)
void CV_NAME(GLOBAL_MEM CV_T *out, ga_size out_off, GLOBAL_MEM const CV_T *GA_APART x,
             ga_size x_off, GLOBAL_MEM const CV_T *GA_APART y, ga_size y_off,
             CV_TAPS_PARAMETERS, ga_int batch, ga_int groups, ga_int channels,
             ga_int results, ga_int length0, ga_int length1, ga_int length2,
             ga_int chunk, ga_int xb, ga_int xg, ga_int xc, ga_int yb, ga_int yg,
             ga_int yr, ga_int y0, ga_int y1, ga_int wp, ga_int wg, ga_int wr,
             ga_int wc, ga_int some) {
  KERNEL_BEGIN;
  LOCAL_MEM ga_int x_at[CV_TAPS], w_at[CV_TAPS], x_row[CV_MOST_ROWS];
  LOCAL_MEM ga_int y_row[CV_MOST_ROWS];
  out = CV_AT(CV_T, out, out_off) + (ga_ssize)GID_1 * wp;
  x = CV_AT(const CV_T, x, x_off);
  y = CV_AT(const CV_T, y, y_off);
  ga_int taps = 0;
  CV_OVER (f0, filter0)
    CV_OVER (f1, filter1)
      CV_OVER (f2, filter2) {
        x_at[taps] = CV_TAP_X;
        w_at[taps++] = CV_TAP_W;
      }
  /* The last vector of a row ends with it: what others had is masked. */
  const ga_int whole = length2 / CV_LANES * CV_LANES;
  const ga_int tail = length2 < CV_LANES ? 0 : length2 - CV_LANES;
  CV_MASK mask;
  {
    CV_INT lanes[CV_LANES];
    CV_OVER (i, CV_LANES)
      lanes[i] = tail + i >= whole && tail + i < length2 ? -1 : 0;
    mask = CV_MASK_LOAD(lanes);
  }
  const ga_int blocks = CV_CEIL(results, CV_ROWS), jobs = groups * blocks;
  const ga_int share = CV_CEIL(jobs, (ga_int)GDIM_0);
  const ga_int job0 = (ga_int)GID_0 * share, jobs_end = CV_LEAST(job0 + share, jobs);
  const ga_int rows = batch * length0 * length1;
  const ga_int part = CV_CEIL(CV_CEIL(rows, (ga_int)GDIM_1), chunk) * chunk;
  const ga_int first = (ga_int)GID_1 * part, last = CV_LEAST(first + part, rows);
  for (ga_int from = first; from == first || from < last; from += chunk) {
    const ga_int n = CV_LEAST(chunk, last - from);
    CV_OVER (i, n) {
      ga_int rest = from + i;
      const ga_int at1 = rest % length1;
      rest /= length1;
      const ga_int at0 = rest % length0, b = rest / length0;
      x_row[i] = b * xb + at0 * stride0 * x0 + at1 * stride1 * x1;
      y_row[i] = b * yb + at0 * y0 + at1 * y1;
    }
    for (ga_int begin = 0; begin < channels; begin += some)
      for (ga_int job = job0; job < jobs_end; job++) {
        const ga_int end = CV_LEAST(begin + some, channels);
        const ga_int group = job / blocks, top = job % blocks * CV_ROWS;
        ga_ssize of_y[CV_ROWS];
        CV_EACH (r, CV_ROWS)
          of_y[r] = (group * yg + CV_LEAST(top + r, results - 1) * yr);
        ga_int c = begin, f = 0;
        while (c < end) {
          CV_VECTOR acc[CV_BLOCK];
          ga_ssize of_x[CV_MEET];
          ga_int to[CV_MEET], meet = 0;
          CV_EACH (t, CV_MEET) {
            CV_EACH (r, CV_ROWS)
              acc[t * CV_ROWS + r] = 0;
            if (c < end) {
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
            GLOBAL_MEM const CV_T *x_i = x + x_row[i], *y_i = y + y_row[i];
            for (ga_ssize j = 0; j < whole; j += CV_LANES)
              CV_MULTIPLY(j, CV_AS_IT_IS)
          }
          if (whole < length2)
            CV_OVER (i, n) {
              GLOBAL_MEM const CV_T *x_i = x + x_row[i], *y_i = y + y_row[i];
              CV_MULTIPLY(tail, CV_MASKED)
            }
          CV_T sums[CV_BLOCK + 3];
          _Pragma("unroll") for (int i = 0; i < CV_BLOCK; i += 4)
              CV_SUMS(CV_FOLD(CV_ACC(i)), CV_FOLD(CV_ACC(i + 1)),
                      CV_FOLD(CV_ACC(i + 2)), CV_FOLD(CV_ACC(i + 3)), sums + i);
          CV_OVER (t, meet)
            CV_OVER (r, CV_LEAST(CV_ROWS, results - top)) {
              const ga_ssize at = to[t] + r * wr;
              out[at] = sums[t * CV_ROWS + r] + (from == first ? 0 : out[at]);
            }
        }
      }
  }
}
