/* The first place in a sorted row of a matrix at which `column` may stand. */
#define SP_SEARCH(place, stop, indptr, indices, n, row, column)                        \
  ga_ulong place = (ga_ulong)indptr[row], stop = (ga_ulong)indptr[(row) + 1];          \
  stop = stop < (n) ? stop : (n);                                                      \
  {                                                                                    \
    ga_ulong high = stop;                                                              \
    place = place < stop ? place : stop;                                               \
    while (place < high) {                                                             \
      const ga_ulong middle = place + (high - place) / 2;                              \
      if (indices[middle] < (column))                                                  \
        place = middle + 1;                                                            \
      else                                                                             \
        high = middle;                                                                 \
    }                                                                                  \
  }
