/* CPU: one item walks a tile of adjacent columns, whose accumulators stay in the cache,
 * RD_ROWS rows at a time (several memory streams). */
const RD_INT wide = count < width ? count : width;
RD_TOTALS
for (RD_INT c = 0; c < wide; c++)
  RD_KEEP_TOTAL(c, RD_IDENTITY)
for (RD_INT j = outer_from; j < outer_to; j++) {
  RD_OUTER_POINTERS
  RD_INT i = inner_from;
  if (!RD_NUMBERS && (mode & 1)) {
#define RD_LINE RD_UNIT_LINE
#define RD_ELEMENT RD_UNIT_ELEMENT
#include "columns_cpu_loop.cl.h"
  } else {
#undef RD_LINE
#undef RD_ELEMENT
#define RD_ELEMENT RD_STRIDED_ELEMENT
#include "columns_cpu_loop.cl.h"
  }
}
for (RD_INT c = 0; c < wide; c++) {
  RD_LOAD_TOTAL(c)
  RD_STORE(w + c * RD_RESULT_STRIDE, total)
}
