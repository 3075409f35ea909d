/* The first place in a sorted row of a matrix at which `column` may stand: a search on
 * GPUs; on processors, whose items take adjacent values, a walk from the last place. */
#include "tile_rows.cl.h"

#define SP_READ(type, p)                                                               \
  p = (GLOBAL_MEM const type *)((GLOBAL_MEM const char *)p + p##_off)
#define SP_WALK(place, stop)                                                           \
  SP_COUNT place = 0, stop = 0, place##_row = ~(SP_COUNT)0;                            \
  (void)place##_row
#define SP_BEGIN(place, stop, indptr, n, row)                                          \
  place = (SP_COUNT)indptr[row];                                                       \
  stop = (SP_COUNT)indptr[(row) + 1];                                                  \
  stop = stop < (SP_COUNT)(n) ? stop : (SP_COUNT)(n);                                  \
  place = place < stop ? place : stop
#if SP_IS_CPU
#define SP_SEARCH(place, stop, indptr, indices, n, row, column)                        \
  if (place##_row != (SP_COUNT)(row)) {                                                \
    place##_row = (SP_COUNT)(row);                                                     \
    SP_BEGIN(place, stop, indptr, n, row);                                             \
  }                                                                                    \
  while (place < stop && indices[place] < (column))                                    \
    place++;
#else
#define SP_SEARCH(place, stop, indptr, indices, n, row, column)                        \
  SP_BEGIN(place, stop, indptr, n, row);                                               \
  for (SP_COUNT high = stop; place < high;) {                                          \
    const SP_COUNT middle = place + (high - place) / 2;                                \
    if (indices[middle] < (column))                                                    \
      place = middle + 1;                                                              \
    else                                                                               \
      high = middle;                                                                   \
  }
#endif
