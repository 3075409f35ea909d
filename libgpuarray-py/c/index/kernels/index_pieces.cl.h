/* CPU: a work group takes a range of pieces of rows, adjacent items adjacent
 * elements. */
#include "index_words.cl.h"

KERNEL void IX_NAME(IX_PARAMETERS) {
  KERNEL_BEGIN;
  IX_STARTS
  const ga_size n = (ga_size)ny * height;
  const ga_size run = (n + GDIM_0 - 1) / GDIM_0;
  const ga_size end = (GID_0 + 1) * run < n ? (GID_0 + 1) * run : n;
  for (ga_size piece = GID_0 * run; piece < end; piece++) {
    const ga_uint y = (ga_uint)(piece / height);
    const ga_int from = (ga_int)(piece % height * width);
    const ga_int to = nx - (ga_uint)from < width ? (ga_int)nx : from + (ga_int)width;
    IX_ROW
#if IX_UNIFORM
    IX_FIND_PLACE(from == 0 && LID_0 == 0)
#endif
#if IX_UNIFORM && IX_HAS_SOURCE
    /* Unit strides as constants, else compilers emit gathers. */
    if (IX_DST_STEP == 1 && IX_SRC_STEP == 1) {
      const IX_INT IX_DST_STEP = 1, IX_SRC_STEP = 1;
#include "index_piece.cl.h"
      continue;
    }
#endif
#include "index_piece.cl.h"
  }
}
