/* Pooling: results of windows. An item computes PL_ROWS results one below the other,
 * whose windows share rows of the data, or on a processor all of these rows. */
#include "pool_words.cl.h"

#define PL_IS_MAX (PL_ROLE == PL_AT_FIRST || (PL_ROLE == PL_POOL && PL_MODE == PL_MAX))
#define PL_IS_OF_MAXIMA (PL_ROLE == PL_AT_MAXIMA || PL_ROLE == PL_SHARES)
/* Elements that are a window's maximum are counted. */
#define PL_HAS_COUNTS                                                                  \
  (PL_ROLE == PL_SHARES || (PL_ROLE == PL_AT_MAXIMA && PL_IS_SHARED))
#define PL_HAS_VALUES (PL_ROLE == PL_AT_MAXIMA || PL_ROLE == PL_AT_FIRST)
/* nan is over all numbers; the first of equals stays, and the first nan. */
#if PL_ROLE == PL_AT_FIRST
#define PL_IS_OVER(x, y) ((x) > (y) || ((x) != (x) && (y) == (y)))
#else
#define PL_IS_OVER(x, y) ((x) > (y) || (x) != (x))
#endif
/* Elements behind a window that are read. */
#if PL_HAS_PAIRS && PL_W2 % 2 == 1
#define PL_BEHIND 1
#else
#define PL_BEHIND 0
#endif
#define PL_EACH_ROW PL_UNROLL_ROWS for (PL_INT p = 0; p < PL_ROWS; p++)
/* True if row f1 of those of the item is in the window of its result p. */
#define PL_HAS(p, f1) ((f1) >= (p) * PL_S1 && (f1) < (p) * PL_S1 + PL_W1)
#define PL_UNROLL_ROWS _Pragma("unroll")

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
    PL_NEXT(o2, result2)
#endif
    PL_NEXT(block, (result1 + PL_ROWS - 1) / PL_ROWS)
    PL_NEXT(o0, result0)
    PL_NEXT(c, outer1)
    const PL_INT o1 = block * PL_ROWS;
    PL_INPUTS(PL_OF_ITEM)
    GLOBAL_MEM PL_TYPE *y = out + rest * yb + c * yc + o0 * y0 + o1 * y1;
#if PL_IS_CPU
    /* Columns whose windows are within the data. The last vector overlaps the one
     * before it. */
    const PL_INT low = PL_LEAST((before2 + PL_S2 - 1) / PL_S2, result2);
    const PL_INT last = before2 + length2 - PL_W2 - PL_BEHIND;
    const PL_INT above = last < 0 ? 0 : PL_LEAST(last / PL_S2 + 1, result2);
    const PL_INT high = PL_HAS_INNER && above - low >= PL_LANES ? above : low;
#if PL_HAS_INNER
    for (PL_INT at2 = low; at2 < high; at2 += PL_LANES) {
      const PL_INT o2 = PL_LEAST(at2, high - PL_LANES);
#define PL_IS_INNER 1
#define PL_EACH PL_UNROLL
#if PL_LANES > 1
#define PL_NUMBER PL_VECTOR
#define PL_GET PL_GET_SOME
#define PL_PUT PL_PUT_SOME
#else
#define PL_NUMBER PL_ACC
#define PL_GET PL_GET_ONE
#define PL_PUT PL_PUT_ONE
#endif
#include "pool_window.cl.h"
#undef PL_IS_INNER
#undef PL_EACH
#undef PL_NUMBER
#undef PL_GET
#undef PL_PUT
    }
#endif
    for (PL_INT o2 = low == 0 ? high : 0; o2 < result2;
         o2 += o2 + 1 == low ? high - low + 1 : 1)
#endif
#define PL_IS_INNER 0
#define PL_EACH PL_UNROLL_EDGE
#define PL_NUMBER PL_ACC
#define PL_GET PL_GET_ONE
#define PL_PUT PL_PUT_ONE
#include "pool_window.cl.h"
  }
}
