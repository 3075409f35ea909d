/* GPU, short rows: an item's elements are in one column. */
#include "index_words.cl.h"

KERNEL void IX_NAME(IX_PARAMETERS) {
  KERNEL_BEGIN;
  IX_STARTS
  const ga_uint x = (ga_uint)GID_0 * width + (ga_uint)LID_0;
  const ga_uint xk = x;
  if (x >= nx)
    return;
  for (ga_uint y0 = (ga_uint)GID_1 * height + (ga_uint)LID_1; y0 < ny;
       y0 += (ga_uint)GDIM_1 * height) {
#include "index_locals.cl.h"
    for (ga_int k = 0; k < IX_PER; k++) {
      const ga_uint y = y0 + (ga_uint)k * (ga_uint)LDIM_1;
      live[k] = y < ny;
      if (!live[k])
        continue;
      IX_ROW
      IX_FIND_PLACE(x == 0)
#include "index_positions.cl.h"
    }
#include "index_finish.cl.h"
  }
}
