/* The first place in a sorted row of a matrix at which `column` may stand: a search on
 * GPUs; on processors, whose items take adjacent values, a walk from the last place. */
#define SP_WALK(place, stop) ga_ulong place = 0, stop = 0, place##_row = ~(ga_ulong)0
#define SP_BEGIN(place, stop, indptr, n, row)                                          \
  place = (ga_ulong)indptr[row];                                                       \
  stop = (ga_ulong)indptr[(row) + 1];                                                  \
  stop = stop < (n) ? stop : (n);                                                      \
  place = place < stop ? place : stop
#if SP_IS_CPU
#define SP_SEARCH(place, stop, indptr, indices, n, row, column)                        \
  if (place##_row != (ga_ulong)(row)) {                                                \
    place##_row = (ga_ulong)(row);                                                     \
    SP_BEGIN(place, stop, indptr, n, row);                                             \
  }                                                                                    \
  while (place < stop && indices[place] < (column))                                    \
    place++;
#else
#define SP_SEARCH(place, stop, indptr, indices, n, row, column)                        \
  SP_BEGIN(place, stop, indptr, n, row);                                               \
  for (ga_ulong high = stop; place < high;) {                                          \
    const ga_ulong middle = place + (high - place) / 2;                                \
    if (indices[middle] < (column))                                                    \
      place = middle + 1;                                                              \
    else                                                                               \
      high = middle;                                                                   \
  }
#endif
