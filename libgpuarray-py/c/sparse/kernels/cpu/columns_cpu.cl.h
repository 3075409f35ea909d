/* Products x A of at most SP_WIDTH rows of x with compressed rows, on processors: each
 * item adds its share of rows to a part of its own, of SP_WIDTH elements for each
 * column; with SP_IS_SUM, in a later launch, the parts are added up in order. */
#include "../row_words.cl.h"

#ifdef SP_VECTOR
#define SP_IS_WIDE (SP_FORM == 0 && SP_WIDTH >= 8)
#else
#define SP_IS_WIDE 0
#endif
#if SP_FORM == 0
#define SP_SCALED(v) SP_MUL(v, factors[0])
#else
#define SP_SCALED(v) (v)
#endif

KERNEL void SP_NAME(SP_PARAMETERS) {
  KERNEL_BEGIN;
  SP_STARTS;
  (void)list;
  (void)shift;
  const ga_ulong size = columns * SP_WIDTH;
#if SP_IS_SUM
  SP_EACH(column, columns) {
    for (ga_ulong c = 0; c < width; c++) {
      SP_WORK sum = SP_ZERO;
      for (ga_ulong part = 0; part < room; part++)
        sum = SP_ADD(sum, parts[part * size + column * SP_WIDTH + c]);
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
      SP_WORK factors[SP_WIDTH < 8 ? 8 : SP_WIDTH];
      for (ga_int c = 0; c < SP_WIDTH; c++)
        factors[c] = SP_WIDTH == 1 || c < (ga_int)width
                         ? SP_LOAD(x[(ga_ssize)row * x_row + c])
                         : SP_ZERO;
#if SP_IS_WIDE
      SP_VECTOR vectors[SP_WIDTH / 8];
      for (ga_int c = 0; c < SP_WIDTH / 8; c++)
        vectors[c] = vload8(c, factors);
#endif
#endif
      ga_ulong k = begin;
#if SP_WIDTH == 1
      for (; k + 4 <= end; k += 4) { /* one test of four indices */
        const ga_ulong j0 = (ga_ulong)indices[k], j1 = (ga_ulong)indices[k + 1];
        const ga_ulong j2 = (ga_ulong)indices[k + 2], j3 = (ga_ulong)indices[k + 3];
        if (!((j0 < columns) & (j1 < columns) & (j2 < columns) & (j3 < columns)))
          break;
        own[j0] = SP_ADD(own[j0], SP_SCALED(SP_LOAD(values[k])));
        own[j1] = SP_ADD(own[j1], SP_SCALED(SP_LOAD(values[k + 1])));
        own[j2] = SP_ADD(own[j2], SP_SCALED(SP_LOAD(values[k + 2])));
        own[j3] = SP_ADD(own[j3], SP_SCALED(SP_LOAD(values[k + 3])));
      }
#endif
      for (; k < end; k++) {
        const ga_ulong j = (ga_ulong)indices[k];
        if (j < columns) {
          const SP_WORK v = SP_LOAD(values[k]);
          GLOBAL_MEM SP_WORK *to = own + j * SP_WIDTH;
#if SP_IS_WIDE
          for (ga_int c = 0; c < SP_WIDTH / 8; c++)
            vstore8(vload8(c, to) + v * vectors[c], c, to);
#else
          for (ga_int c = 0; c < SP_WIDTH; c++)
#if SP_FORM == 0
            to[c] = SP_ADD(to[c], SP_MUL(v, factors[c]));
#else
            to[c] = SP_ADD(to[c], v);
#endif
#endif
        }
      }
    }
  }
#endif
}
