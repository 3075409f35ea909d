/* Products x A of a vector or a few rows of x with compressed rows, on processors: each
 * item adds its share of rows to a part of its own, of `width` elements for each
 * column; with SP_IS_SUM, in a later launch, the parts are added up in order. */
#include "row_words.cl.h"

KERNEL void SP_NAME(SP_PARAMETERS) {
  KERNEL_BEGIN;
  SP_STARTS;
  (void)list;
  (void)shift;
  const ga_ulong size = columns * width;
#if SP_IS_SUM
  SP_EACH(column, columns) {
    for (ga_ulong c = 0; c < width; c++) {
      SP_WORK sum = SP_ZERO;
      for (ga_ulong part = 0; part < room; part++)
        sum = SP_ADD(sum, parts[part * size + column * width + c]);
      SP_PUT(column, c, sum);
    }
  }
#else
  SP_EACH(part, room) {
    GLOBAL_MEM SP_WORK *own = parts + part * size;
    for (ga_ulong i = 0; i < size; i++)
      own[i] = SP_ZERO;
    for (ga_ulong row = rows * part / room; row < rows * (part + 1) / room; row++) {
      SP_BOUNDS(row);
#if SP_FORM == 0
      GLOBAL_MEM const SP_VALUE *from = x + (ga_ssize)row * x_row;
#endif
#if SP_FORM == 0 && SP_WIDTH == 1
      const SP_WORK factor = SP_LOAD(from[0]);
#endif
      for (ga_ulong k = begin; k < end; k++) {
        const ga_ulong j = (ga_ulong)indices[k];
        if (j < columns) {
          const SP_WORK v = SP_LOAD(values[k]);
#if SP_FORM != 0
          own[j] = SP_ADD(own[j], v);
#elif SP_WIDTH == 1
          own[j] = SP_ADD(own[j], SP_MUL(v, factor));
#else
          for (ga_ulong c = 0; c < width; c++)
            own[j * width + c] =
                SP_ADD(own[j * width + c], SP_MUL(v, SP_LOAD(from[c])));
#endif
        }
      }
    }
  }
#endif
}
