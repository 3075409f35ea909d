/* GPU: an item's elements are in one row, LDIM_0 apart (coalesced); the row's offsets,
 * and its index if uniform, are computed once. */
#include "index_words.cl.h"

KERNEL void IX_NAME(IX_PARAMETERS) {
  KERNEL_BEGIN;
  IX_STARTS
  const ga_uint x = (ga_uint)GID_0 * width + (ga_uint)LID_0;
  for (ga_uint y = (ga_uint)GID_1 * height + (ga_uint)LID_1; y < ny;
       y += (ga_uint)GDIM_1 * height) {
#include "index_locals.cl.h"
    IX_ROW
#if IX_UNIFORM
    IX_FIND_PLACE(x == 0)
#endif
    for (ga_int k = 0; k < IX_PER; k++) {
      const ga_uint xk = x + (ga_uint)k * (ga_uint)LDIM_0;
      live[k] = xk < nx;
      if (!live[k])
        continue;
#if !IX_UNIFORM
      IX_FIND_PLACE(1)
#endif
#include "index_positions.cl.h"
    }
#include "index_finish.cl.h"
  }
}
