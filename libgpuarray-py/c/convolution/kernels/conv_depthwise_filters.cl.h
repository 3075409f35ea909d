/* Gradient by filters of one channel on GPUs: a group sums the products of CV_RUN
 * results over a part of the batch and the places. CV_N1 by CV_N2 elements of the
 * filters meet at places term * CV_BY + element * CV_STEP, which CV_HAS_EDGES says may
 * be outside of b. An item takes CV_TALL rows of CV_WIDE terms at once, so that what it
 * reads of b serves several; CV_WIDE is 1 unless both step by one place along rows. */
#include "conv_words.cl.h"

/* Places of b from the first term's first element on; those of the elements alone,
 * where they serve one term. */
#if CV_TALL == 1
#define CV_ROWS CV_N1
#define CV_ROW(y) ((y) * CV_STEP1)
#else
#define CV_ROWS ((CV_TALL - 1) * CV_BY1 + (CV_N1 - 1) * CV_STEP1 + 1)
#define CV_ROW(y) (y)
#endif
#define CV_COLUMNS (CV_WIDE + CV_N2 - 1)
#define CV_COLUMN(x) ((x) * (CV_WIDE == 1 ? CV_STEP2 : 1))
#if CV_IS_PLANE
#define CV_K0 1
#else
#define CV_K0 k_0
#endif
/* Steps along the last axis, which are 1 where neighbours in memory are. */
#if CV_IS_UNIT
#define CV_A2 1
#define CV_B2 1
#else
#define CV_A2 a_2
#define CV_B2 b_2
#endif
/* The last terms of an axis may be fewer. */
#define CV_IS_TERM(t, s)                                                               \
  ((CV_TALL == 1 || o1 + (t) < k_1) && (CV_WIDE == 1 || o2 + (s) < k_2))

/* Sums of an item, of which CV_SOME have their terms in local memory at once. */
#define CV_SUMS (CV_RUN * CV_N1 * CV_N2)
#define CV_LANES (CV_ITEMS / CV_SOME)

KERNEL void CV_NAME(GLOBAL_MEM CV_OUT *c, ga_size c_off,
                    GLOBAL_MEM const CV_TYPE *GA_APART a, ga_size a_off,
                    GLOBAL_MEM const CV_TYPE *GA_APART b, ga_size b_off, int k,
                    int part, int k_0, int k_1, int k_2, int m, int n_0, int step_0,
                    int by_0, int first_0, int first_1, int first_2, int length0,
                    int length1, int length2, int b_k, int b_0, int b_1, int b_2,
                    int a_m, int a_o, int a_0, int a_1, int a_2, int c_m, int c_0,
                    int c_1, int c_2, int a_group, int b_group, int c_group,
                    int c_part) {
  KERNEL_BEGIN;
  LOCAL_MEM CV_ACC sums[CV_SOME * CV_ITEMS], totals[CV_ITEMS];
  const int item = (int)LID_0, begin = (int)GID_1 * part;
  const int last = k - begin < part ? k : begin + part;
  const ga_uint tall = ((ga_uint)k_1 + CV_TALL - 1) / CV_TALL;
  const ga_uint wide = ((ga_uint)k_2 + CV_WIDE - 1) / CV_WIDE;
  ga_uint rest = GID_0;
  CV_NEXT(i0, n_0)
  CV_NEXT(run, (m + CV_RUN - 1) / CV_RUN)
  const int row = run * CV_RUN;
  CV_ACC acc[CV_SUMS];
  a = CV_AT(const CV_TYPE, a, a_off) + (int)rest * a_group + row * a_m;
  b = CV_AT(const CV_TYPE, b, b_off) + (int)rest * b_group;
  c = CV_AT(CV_OUT, c, c_off) + (int)rest * c_group + row * c_m + i0 * c_0 +
      (int)GID_1 * c_part;
  CV_EACH (v, CV_SUMS)
    acc[v] = 0;
  for (int at = begin + item; at < last; at += CV_ITEMS) {
    rest = (ga_uint)at;
    CV_NEXT(run2, wide)
    CV_NEXT(run1, tall)
    CV_NEXT(o0, CV_K0)
    const int o1 = run1 * CV_TALL, o2 = run2 * CV_WIDE;
    GLOBAL_MEM const CV_TYPE *g =
        a + (int)rest * a_o + o0 * a_0 + o1 * a_1 + o2 * CV_A2;
    CV_ACC grad[CV_TALL][CV_WIDE][CV_RUN];
    CV_EACH (t, CV_TALL)
      CV_EACH (s, CV_WIDE)
        CV_EACH (r, CV_RUN)
          grad[t][s][r] =
              CV_IS_TERM(t, s)
                  ? CV_LOAD(g[(row + r < m ? r : 0) * a_m + t * a_1 + s * CV_A2])
                  : 0;
    const int y0 = o0 * by_0 + i0 * step_0 + first_0;
    const int y1 = o1 * CV_BY1 + first_1, y2 = o2 * CV_BY2 + first_2;
    GLOBAL_MEM const CV_TYPE *x =
        b + (int)rest * b_k + y0 * b_0 + y1 * b_1 + y2 * CV_B2;
    CV_EACH (y, CV_ROWS) {
      const int p1 = CV_ROW(y);
      GLOBAL_MEM const CV_TYPE *from = x + p1 * b_1;
      const bool has_row =
          ((ga_uint)y0 < (ga_uint)length0) & ((ga_uint)(y1 + p1) < (ga_uint)length1);
      const ga_uint end = has_row ? (ga_uint)length2 : 0;
      CV_ACC line[CV_COLUMNS];
      CV_EACH (column, CV_COLUMNS)
        line[column] = !CV_HAS_EDGES || (ga_uint)(y2 + CV_COLUMN(column)) < end
                           ? CV_LOAD(from[CV_COLUMN(column) * CV_B2])
                           : 0;
      CV_EACH (t, CV_TALL)
        CV_EACH (n1, CV_N1)
          if (CV_TALL == 1 ? n1 == y : t * CV_BY1 + n1 * CV_STEP1 == p1)
            CV_EACH (s, CV_WIDE)
              if (CV_IS_TERM(t, s))
                CV_EACH (n2, CV_N2)
                  CV_EACH (r, CV_RUN)
                    acc[(r * CV_N1 + n1) * CV_N2 + n2] += grad[t][s][r] * line[s + n2];
    }
  }
  /* Some sums at a time, of which each has CV_LANES items. */
  CV_EACH (from, (CV_SUMS + CV_SOME - 1) / CV_SOME) {
    const int sum = from * CV_SOME + item / CV_LANES;
    CV_ACC total = 0;
    CV_EACH (v, CV_SOME)
      if (from * CV_SOME + v < CV_SUMS)
        sums[v * CV_ITEMS + item] = acc[from * CV_SOME + v];
    local_barrier();
    for (int i = item % CV_LANES; i < CV_ITEMS; i += CV_LANES)
      total += sums[item / CV_LANES * CV_ITEMS + i];
    totals[item] = total;
    local_barrier();
    for (int i = 1; i < CV_LANES && item % CV_LANES == 0; i++)
      total += totals[item + i];
    if (item % CV_LANES == 0 && sum < CV_SUMS) {
      const int r = sum / (CV_N1 * CV_N2), n1 = sum / CV_N2 % CV_N1, n2 = sum % CV_N2;
      if (row + r < m)
        c[r * c_m + n1 * c_1 + n2 * c_2] = CV_STORE(total);
    }
  }
}
