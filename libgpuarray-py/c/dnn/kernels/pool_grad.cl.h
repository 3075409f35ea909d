/* Gradients of pooling by its data: an element gathers from the windows that contain
 * it. An item computes PL_ROWS elements one below the other, which are as many as the
 * stride, if more than 1, so that the same windows contain them, PL_RUN times; or on a
 * processor all of these rows. Without runs most of a GPU's time went into indices: 2.5
 * times as long for 3 x 3 with stride 2 on an H200. */
#include "pool_words.cl.h"

#define PL_EACH_ROW _Pragma("unroll") for (PL_INT p = 0; p < PL_ROWS; p++)
#if PL_MODE == PL_MAX
#define PL_TAKEN(p) (x[p] == maximum ? g : (PL_NUMBER)0)
#else
#define PL_TAKEN(p) g
#endif
#define PL_HAS_ROW(p) (PL_ROWS == 1 || PL_IS_WITHIN(i1 + p, length1))
/* Windows, at most, that contain an element. */
#define PL_K0 ((PL_W0 + PL_S0 - 1) / PL_S0)
#define PL_K1 ((PL_W1 + PL_S1 - 1) / PL_S1)
#define PL_K2 ((PL_W2 + PL_S2 - 1) / PL_S2)
/* The last window that begins at or before place i, and its distance. */
#define PL_LAST(i, axis)                                                               \
  const PL_INT o##axis = ((i) + before##axis) / PL_S##axis;                            \
  const PL_INT r##axis = (i) + before##axis - o##axis * PL_S##axis;

/* Rows of the data, or blocks of rows. */
#if PL_ROWS > 1
#define PL_LINES ((length1 + before1 + PL_S1 - 1) / PL_S1)
#else
#define PL_LINES length1
#endif

#if PL_IS_CPU
GA_ONE_ITEM
#endif
KERNEL void PL_NAME(PL_PARAMETERS) {
  KERNEL_BEGIN;
  out = PL_AT(PL_TYPE, out, out_off);
  PL_INPUTS(PL_START)
  for (PL_INT at = (PL_INT)(GID_0 * LDIM_0 + LID_0); at < count;
       at += (PL_INT)(GDIM_0 * LDIM_0)) {
    PL_INT rest = at;
#if !PL_IS_CPU
    PL_NEXT(i2, length2)
#endif
    PL_NEXT(run, (PL_LINES + PL_RUN - 1) / PL_RUN)
    PL_NEXT(i0, length0)
    PL_NEXT(c, outer1)
    PL_LAST(i0, 0)
    PL_INPUTS(PL_OF_ITEM)
    for (PL_INT line1 = run * PL_RUN; line1 < PL_LEAST((run + 1) * PL_RUN, PL_LINES);
         line1++) {
#if PL_ROWS > 1
      const PL_INT o1 = line1, i1 = o1 * PL_S1 - before1, r1 = 0;
#else
      const PL_INT i1 = line1;
      PL_LAST(i1, 1)
#endif
      GLOBAL_MEM PL_TYPE *y = out + rest * yb + c * yc + i0 * y0 + i1 * y1;
#if PL_IS_CPU
      /* Blocks of columns, as many as the stride, of which all windows exist and none
       * is cut short; the last vector of blocks overlaps the one before it. Before and
       * after them single columns. */
      const PL_INT low = PL_K2 - 1 + (before2 + PL_S2 - 1) / PL_S2;
      const PL_INT last = before2 + length2 - PL_W2;
      const PL_INT above = PL_LEAST(PL_LEAST(result2, last < 0 ? 0 : last / PL_S2 + 1),
                                    (length2 + before2) / PL_S2);
      const PL_INT high = PL_HAS_INNER && above - low >= PL_LANES ? above : low;
      const PL_INT first = low < high ? low * PL_S2 - before2 : length2;
      const PL_INT skipped = (high - low) * PL_S2;
#if PL_HAS_INNER
      for (PL_INT at2 = low; at2 < high; at2 += PL_LANES) {
        const PL_INT o2 = PL_LEAST(at2, high - PL_LANES);
#define PL_IS_INNER 1
#define PL_EACH PL_UNROLL
#if PL_LANES > 1
#define PL_NUMBER PL_VECTOR
#define PL_GET PL_GET_SOME
#else
#define PL_NUMBER PL_ACC
#define PL_GET PL_GET_ONE
#endif
        PL_NUMBER totals[PL_S2][PL_ROWS];
        PL_UNROLL
        for (PL_INT r2 = 0; r2 < PL_S2; r2++) {
          const PL_INT i2 = o2 * PL_S2 + r2 - before2;
          PL_NUMBER *total = totals[r2];
#include "pool_grad_block.cl.h"
        }
        const PL_INT i2 = o2 * PL_S2 - before2;
        PL_EACH_ROW if (PL_HAS_ROW(p)) {
          GLOBAL_MEM PL_TYPE *line = y + p * y1;
#if PL_HAS_PAIRS
          const PL_VECTOR left = totals[0][p], right = totals[1][p];
          PL_VECTOR pairs;
          pairs.even = left.lo, pairs.odd = right.lo;
          PL_STORE_SOME(pairs, line + i2);
          pairs.even = left.hi, pairs.odd = right.hi;
          PL_STORE_SOME(pairs, line + i2 + PL_LANES);
#elif PL_LANES > 1 && PL_S2 == 1
          PL_PUT_SOME(line, i2, 1, totals[0][p]);
#elif PL_LANES > 1
          PL_UNROLL
          for (PL_INT r2 = 0; r2 < PL_S2; r2++) {
            PL_ACC lanes[PL_LANES];
            PL_STORE_SOME(totals[r2][p], lanes);
            PL_UNROLL
            for (PL_INT k = 0; k < PL_LANES; k++)
              line[i2 + k * PL_S2 + r2] = lanes[k];
          }
#else
          PL_UNROLL
          for (PL_INT r2 = 0; r2 < PL_S2; r2++)
            PL_PUT_ONE(line, i2 + r2, PL_STEP(y), totals[r2][p]);
#endif
        }
      }
#undef PL_IS_INNER
#undef PL_EACH
#undef PL_NUMBER
#undef PL_GET
#endif
      for (PL_INT i2 = first == 0 ? skipped : 0; i2 < length2;
           i2 += i2 + 1 == first ? skipped + 1 : 1)
#endif
      {
#define PL_IS_INNER 0
#define PL_EACH PL_UNROLL_EDGE
#define PL_NUMBER PL_ACC
#define PL_GET PL_GET_ONE
        PL_LAST(i2, 2)
        PL_ACC total[PL_ROWS];
#include "pool_grad_block.cl.h"
        PL_EACH_ROW if (PL_HAS_ROW(p)) PL_PUT_ONE(y + p * y1, i2, PL_STEP(y), total[p]);
      }
    }
  }
}
