/* Gradients of pooling by its data: an element gathers from the windows that contain
 * it. An item computes PL_ROWS elements one below the other, which are as many as the
 * stride, if more than 1, so that the same windows contain them; or on a processor all
 * of these rows. */
#include "pool_words.cl.h"

#define PL_EACH_ROW _Pragma("unroll") for (PL_INT p = 0; p < PL_ROWS; p++)
#if PL_MODE == PL_MAX
#define PL_IS_TAKEN(p) &&x[p] == maximum
#else
#define PL_IS_TAKEN(p)
#endif
/* Windows, at most, that contain an element. */
#define PL_K0 ((PL_W0 + PL_S0 - 1) / PL_S0)
#define PL_K1 ((PL_W1 + PL_S1 - 1) / PL_S1)
#define PL_K2 ((PL_W2 + PL_S2 - 1) / PL_S2)
/* The last window that begins at or before place i, and its distance. */
#define PL_LAST(i, axis)                                                               \
  const PL_INT o##axis = ((i) + before##axis) / PL_S##axis;                            \
  const PL_INT r##axis = (i) + before##axis - o##axis * PL_S##axis;

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
#if PL_ROWS > 1
    PL_NEXT(o1, (length1 + before1 + PL_S1 - 1) / PL_S1)
    const PL_INT i1 = o1 * PL_S1 - before1, r1 = 0;
#else
    PL_NEXT(i1, length1)
    PL_LAST(i1, 1)
#endif
    PL_NEXT(i0, length0)
    PL_NEXT(c, outer1)
    PL_LAST(i0, 0)
    PL_INPUTS(PL_OF_ITEM)
    const PL_INT place = rest * yb + c * yc;
#if PL_IS_CPU
    /* Blocks of columns, as many as the stride, of which all windows exist; before and
     * after them single columns. */
    const PL_INT low = PL_MOST(PL_K2 - 1, (before2 + PL_S2 - 1) / PL_S2);
    const PL_INT high =
        PL_HAS_INNER ? PL_LEAST(result2, (length2 + before2) / PL_S2) : 0;
    const PL_INT first = low < high ? low * PL_S2 - before2 : length2;
    const PL_INT skipped = low < high ? (high - low) * PL_S2 : 0;
#if PL_HAS_INNER
#define PL_IS_INNER 1
#define PL_EACH PL_UNROLL
    for (PL_INT o2 = low; o2 < high; o2++) {
      PL_UNROLL
      for (PL_INT r2 = 0; r2 < PL_S2; r2++) {
        const PL_INT i2 = o2 * PL_S2 + r2 - before2;
#include "pool_grad_block.cl.h"
      }
    }
#undef PL_IS_INNER
#undef PL_EACH
#endif
    for (PL_INT i2 = first == 0 ? skipped : 0; i2 < length2;
         i2 += i2 + 1 == first ? skipped + 1 : 1)
#endif
    {
#define PL_IS_INNER 0
#define PL_EACH PL_UNROLL_EDGE
      PL_LAST(i2, 2)
#include "pool_grad_block.cl.h"
    }
  }
}
