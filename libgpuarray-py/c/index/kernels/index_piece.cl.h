/* Signed offsets and a single loop, to be vectorized. */
for (ga_int u = from; u < to; u += (ga_int)LDIM_0) {
  const ga_int xk = u + (ga_int)LID_0;
  if (xk < to) {
#include "index_item.cl.h"
  }
}
