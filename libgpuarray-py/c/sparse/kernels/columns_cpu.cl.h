/* Products x A of a vector with compressed rows, on processors: each item adds its
 * share of rows to a part of its own, of as many elements as there are columns; with
 * SP_IS_SUM, in a later launch, the parts are added up in order. */
#include "row_words.cl.h"

KERNEL void SP_NAME(SP_PARAMETERS) {
  KERNEL_BEGIN;
  SP_STARTS;
  (void)list;
  (void)shift;
#if SP_IS_SUM
  SP_EACH(column, columns) {
    SP_WORK sum = SP_ZERO;
    for (ga_ulong part = 0; part < room; part++)
      sum = SP_ADD(sum, parts[part * columns + column]);
    SP_PUT(column, 0, sum);
  }
#else
  SP_EACH(part, room) {
    GLOBAL_MEM SP_WORK *own = parts + part * columns;
    for (ga_ulong column = 0; column < columns; column++)
      own[column] = SP_ZERO;
    for (ga_ulong row = rows * part / room; row < rows * (part + 1) / room; row++) {
      SP_BOUNDS(row);
#if SP_FORM == 0
      const SP_WORK factor = SP_LOAD(x[(ga_ssize)row * x_row]);
#endif
      for (ga_ulong k = begin; k < end; k++) {
        const ga_ulong j = (ga_ulong)indices[k];
        if (j < columns)
#if SP_FORM == 0
          own[j] = SP_ADD(own[j], SP_MUL(SP_LOAD(values[k]), factor));
#else
          own[j] = SP_ADD(own[j], SP_LOAD(values[k]));
#endif
      }
    }
  }
#endif
}
