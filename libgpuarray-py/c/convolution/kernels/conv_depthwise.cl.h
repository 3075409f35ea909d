/* Depthwise convolution on GPUs, and its gradient by the image: each row of the output
 * reads one channel. An item computes CV_TALL rows of CV_WIDE outputs, so that what it
 * reads of b serves several. CV_K1 by CV_K2 terms meet at places output * CV_STEP +
 * term
 * * CV_BY; CV_WIDE is 1 unless outputs and terms step by one place along their rows. */
#include "conv_words.cl.h"

/* Places of b from the first output's first term on, terms may go down; those of the
 * terms alone, where they serve one output. */
#if CV_TALL == 1
#define CV_ROWS CV_K1
#define CV_ROW(y) ((y) * (CV_BY1))
#else
#define CV_SIZE(by) ((by) < 0 ? -(by) : (by))
#define CV_ROWS ((CV_TALL - 1) * CV_STEP1 + (CV_K1 - 1) * CV_SIZE(CV_BY1) + 1)
#define CV_ROW(y) ((y) + (CV_BY1 < 0 ? (CV_K1 - 1) * (CV_BY1) : 0))
#endif
#define CV_COLUMNS (CV_WIDE + CV_K2 - 1)
/* A call of two axes whose outputs read one channel has loops of one turn. */
#if CV_IS_PLANE
#define CV_N0 1
#define CV_K0 1
#define CV_TERMS 1
#else
#define CV_N0 n_0
#define CV_K0 k_0
#define CV_TERMS terms
#endif
/* Steps along the last axis, which are 1 where neighbours in memory are. */
#if CV_IS_UNIT
#define CV_B2 1
#define CV_C2 1
#else
#define CV_B2 b_2
#define CV_C2 c_2
#endif
#if CV_WIDE == 1
#define CV_PLACE(column) ((column) * (CV_BY2))
#define CV_COLUMN(output, term) (term)
#else
#define CV_PLACE(column) ((column) + (CV_BY2 < 0 ? 1 - CV_K2 : 0))
#define CV_COLUMN(output, term) ((output) + (CV_BY2 < 0 ? CV_K2 - 1 - (term) : (term)))
#endif
#define CV_SUM acc[r][s]
#define CV_STORED to[r * c_1 + s * CV_C2]

KERNEL void CV_NAME(GLOBAL_MEM CV_OUT *c, ga_size c_off,
                    GLOBAL_MEM const CV_TYPE *GA_APART a, ga_size a_off,
                    GLOBAL_MEM const CV_TYPE *GA_APART b, ga_size b_off, int count,
                    int m, int groups, int terms, int k_0, int n_0, int n_1, int n_2,
                    int step_0, int by_0, int first_0, int first_1, int first_2,
                    int length0, int length1, int length2, int b_n, int b_k, int b_0,
                    int b_1, int b_2, int a_m, int a_o, int a_0, int a_1, int a_2,
                    int c_m, int c_o, int c_0, int c_1, int c_2, int a_group,
                    int b_group, int c_group CV_MAPPED) {
  KERNEL_BEGIN;
  CV_STARTS
  const ga_uint tall = ((ga_uint)n_1 + CV_TALL - 1) / CV_TALL;
  const ga_uint wide = ((ga_uint)n_2 + CV_WIDE - 1) / CV_WIDE;
  a = CV_AT(const CV_TYPE, a, a_off);
  b = CV_AT(const CV_TYPE, b, b_off);
  c = CV_AT(CV_OUT, c, c_off);
  for (int at = (int)(GID_0 * LDIM_0 + LID_0); at < count;
       at += (int)(GDIM_0 * LDIM_0)) {
    ga_uint rest = (ga_uint)at;
    CV_NEXT(run2, wide)
    CV_NEXT(run1, tall)
    CV_NEXT(i0, CV_N0)
    CV_NEXT(row, m)
    CV_NEXT(group, groups)
    const int i1 = run1 * CV_TALL, i2 = run2 * CV_WIDE;
    const int at2 = i2 * CV_STEP2 + first_2, at1 = i1 * CV_STEP1 + first_1;
    CV_ACC acc[CV_TALL][CV_WIDE];
    CV_EACH (r, CV_TALL)
      CV_EACH (s, CV_WIDE)
        acc[r][s] = 0;
    for (int q = 0; q < CV_TERMS; q++)
      for (int k0 = 0; k0 < CV_K0; k0++) {
        const int at0 = i0 * step_0 + first_0 + k0 * by_0;
        GLOBAL_MEM const CV_TYPE *x =
            b + group * b_group + (int)rest * b_n + q * b_k + at0 * b_0 + at2 * CV_B2;
        GLOBAL_MEM const CV_TYPE *w =
            a + group * a_group + row * a_m + q * a_o + k0 * a_0;
        CV_ACC weights[CV_K1][CV_K2];
        if (at0 < 0 || at0 >= length0)
          continue;
        CV_EACH (k1, CV_K1)
          CV_EACH (k2, CV_K2)
            weights[k1][k2] = CV_LOAD(w[k1 * a_1 + k2 * a_2]);
        CV_EACH (y, CV_ROWS) {
          const int p1 = CV_ROW(y), y1 = at1 + p1;
          GLOBAL_MEM const CV_TYPE *from = x + y1 * b_1;
          const ga_uint end = (ga_uint)y1 < (ga_uint)length1 ? (ga_uint)length2 : 0;
          CV_ACC line[CV_COLUMNS];
          CV_EACH (column, CV_COLUMNS)
            line[column] = (ga_uint)(at2 + CV_PLACE(column)) < end
                               ? CV_LOAD(from[CV_PLACE(column) * CV_B2])
                               : 0;
          CV_EACH (r, CV_TALL)
            CV_EACH (k1, CV_K1)
              if (r * CV_STEP1 + k1 * (CV_BY1) == p1)
                CV_EACH (s, CV_WIDE)
                  CV_EACH (k2, CV_K2)
                    acc[r][s] += line[CV_COLUMN(s, k2)] * weights[k1][k2];
        }
      }
    GLOBAL_MEM CV_OUT *to = c + group * c_group + row * c_m + (int)rest * c_o +
                            i0 * c_0 + i1 * c_1 + i2 * CV_C2;
    const int ga_i_x0 = group, ga_i_x1 = row, ga_i_x2 = (int)rest, ga_i_x3 = i0;
    CV_EACH (r, CV_TALL)
      CV_EACH (s, CV_WIDE) {
        const int ga_i_x4 = i1 + r, ga_i_x5 = i2 + s;
        if (ga_i_x4 < n_1 && ga_i_x5 < n_2) {
          CV_PUT
        }
      }
  }
}
