/* CPU, short rows: an item per row. */
#include "index_words.cl.h"

KERNEL void IX_NAME(IX_PARAMETERS) {
  KERNEL_BEGIN;
  IX_STARTS
  const ga_size n = ((ga_size)ny + LDIM_0 - 1) / LDIM_0;
  const ga_size run = (n + GDIM_0 - 1) / GDIM_0;
  const ga_size end = (GID_0 + 1) * run < n ? (GID_0 + 1) * run : n;
  for (ga_size step = GID_0 * run; step < end; step++) {
    const ga_uint y = (ga_uint)(step * LDIM_0 + LID_0);
    if (y < ny) {
      IX_ROW
#if IX_UNIFORM
      IX_FIND_PLACE(1)
#endif
      for (ga_int xk = 0; xk < (ga_int)nx; xk++) {
#include "index_item.cl.h"
      }
    }
  }
}
