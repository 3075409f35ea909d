/* The rows of adjacent values: for a tile of SP_TILE of them a work group of SP_THREADS
 * searches the first row together, then its items write from the row pointers into
 * local memory which row each value has. */
#define SP_TILE_PART (SP_TILE / SP_THREADS + 1) /* adjacent values of an item */

#define SP_TILE_MEMORY                                                                 \
  LOCAL_MEM SP_COUNT tile_rows[SP_TILE];                                               \
  LOCAL_MEM SP_COUNT tile_highest[SP_THREADS];                                         \
  LOCAL_MEM ga_uint tile_hits[SP_THREADS + 1]

/* Raises `found` to the first row from it on that ends behind value k; the last one if
 * none does. */
#define SP_FIND_ROW(found, indptr, rows, k)                                            \
  for (SP_COUNT high = (SP_COUNT)(rows) - 1; found < high;) {                          \
    const SP_COUNT middle = found + (high - found) / 2;                                \
    if ((SP_COUNT)indptr[middle + 1] <= (k))                                           \
      found = middle + 1;                                                              \
    else                                                                               \
      high = middle;                                                                   \
  }

/* The same by all items of the group, of all rows: each turn leaves one of SP_THREADS
 * parts. */
#if SP_IS_CPU
#define SP_GROUP_FIND(found, indptr, rows, k)                                          \
  found = 0;                                                                           \
  SP_FIND_ROW(found, indptr, rows, k)
#else
#define SP_GROUP_FIND(found, indptr, rows, k)                                          \
  {                                                                                    \
    SP_COUNT low = 0, high = (SP_COUNT)(rows) - 1;                                     \
    while (low < high) {                                                               \
      const SP_COUNT step = (high - low) / SP_THREADS + 1;                             \
      const SP_COUNT probe = low + (SP_COUNT)LID_0 * step;                             \
      const ga_uint is_before =                                                        \
          probe >= low && probe < high && (SP_COUNT)indptr[probe + 1] <= (k);          \
      tile_hits[LID_0] = is_before;                                                    \
      local_barrier();                                                                 \
      if (LID_0 == 0 && !is_before)                                                    \
        tile_hits[SP_THREADS] = 0;                                                     \
      if (is_before && (LID_0 + 1 == SP_THREADS || !tile_hits[LID_0 + 1]))             \
        tile_hits[SP_THREADS] = (ga_uint)LID_0 + 1;                                    \
      local_barrier();                                                                 \
      const SP_COUNT parts = tile_hits[SP_THREADS], last = low + parts * step;         \
      high = high - low > parts * step ? last : high;                                  \
      low = parts > 0 ? last - step + 1 : low;                                         \
    }                                                                                  \
    found = low;                                                                       \
  }
#endif

/* Fills tile_rows with the rows of the values from `first` to `end`, less `from`, a row
 * no later than theirs: rows are noted where they begin, then each value has the
 * highest one up to it. */
#define SP_FILL_ROWS(from, indptr, rows, first, end)                                   \
  {                                                                                    \
    const ga_uint own = (ga_uint)LID_0 * SP_TILE_PART,                                 \
                  length = (ga_uint)((end) - (first));                                 \
    for (ga_uint at = (ga_uint)LID_0; at < length; at += SP_THREADS)                   \
      tile_rows[at] = 0;                                                               \
    local_barrier();                                                                   \
    for (SP_COUNT row = (from) + 1 + (SP_COUNT)LID_0; row < (SP_COUNT)(rows);          \
         row += SP_THREADS) {                                                          \
      const SP_COUNT begin = (SP_COUNT)indptr[row], stop = (SP_COUNT)indptr[row + 1];  \
      if (begin >= (end))                                                              \
        break;                                                                         \
      if (begin < stop && stop > (first))                                              \
        tile_rows[begin > (first) ? begin - (first) : 0] = row - (from);               \
    }                                                                                  \
    local_barrier();                                                                   \
    SP_COUNT highest = 0;                                                              \
    for (ga_uint at = own; at < own + SP_TILE_PART && at < length; at++)               \
      highest = highest > tile_rows[at] ? highest : tile_rows[at];                     \
    tile_highest[LID_0] = highest;                                                     \
    for (ga_uint apart = 1; apart < SP_THREADS; apart *= 2) {                          \
      local_barrier();                                                                 \
      const SP_COUNT other = LID_0 >= apart ? tile_highest[LID_0 - apart] : 0;         \
      local_barrier();                                                                 \
      highest = highest > other ? highest : other;                                     \
      tile_highest[LID_0] = highest;                                                   \
    }                                                                                  \
    local_barrier();                                                                   \
    highest = LID_0 > 0 ? tile_highest[LID_0 - 1] : 0;                                 \
    for (ga_uint at = own; at < own + SP_TILE_PART && at < length; at++) {             \
      highest = highest > tile_rows[at] ? highest : tile_rows[at];                     \
      tile_rows[at] = highest;                                                         \
    }                                                                                  \
    local_barrier();                                                                   \
  }
/* The row of a value of the tile, within the matrix whatever the pointers are. */
#define SP_TILE_ROW(from, rows, at)                                                    \
  (tile_rows[at] < (SP_COUNT)(rows) - from ? from + tile_rows[at] : from)
