/* The rows of adjacent values: for a tile of SP_TILE of them a work group of SP_THREADS
 * searches the first row together, then its items write from the row pointers into
 * local memory which row each value has. */
#ifndef SP_TILE_ROOM
#define SP_TILE_ROOM SP_TILE
#endif
#define SP_TEAM (SP_THREADS < 32 ? SP_THREADS : 32) /* items that write a row */
#define SP_TURNS (SP_IS_CPU ? 4096 : 16) /* times SP_THREADS rows are looked at */

#define SP_TILE_MEMORY                                                                 \
  LOCAL_MEM SP_COUNT tile_rows[SP_TILE_ROOM];                                          \
  LOCAL_MEM SP_COUNT tile_pointers[SP_THREADS + 1];                                    \
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

/* Fills `tile` with the rows of the values from `first` to `end`, less `from`, a row no
 * later than theirs. Where thousands of rows are empty, the values behind them search
 * for themselves. */
#define SP_FILL_ROWS(tile, from, indptr, rows, first, end)                             \
  {                                                                                    \
    SP_COUNT chunk = from, reached = (first);                                          \
    for (ga_int turn = 0; turn < SP_TURNS && reached < (end); turn++) {                \
      for (ga_uint i = (ga_uint)LID_0; i <= SP_THREADS; i += SP_THREADS) {             \
        const ga_int is_row =                                                          \
            chunk < (SP_COUNT)(rows) && i < (SP_COUNT)(rows) - chunk;                  \
        tile_pointers[i] = is_row ? (SP_COUNT)indptr[chunk + i] : (end);               \
      }                                                                                \
      local_barrier();                                                                 \
      for (ga_uint i = (ga_uint)LID_0 / SP_TEAM; i < SP_THREADS;                       \
           i += SP_THREADS / SP_TEAM) {                                                \
        SP_COUNT begin = tile_pointers[i], stop = tile_pointers[i + 1];                \
        if (begin >= (end))                                                            \
          break;                                                                       \
        begin = begin > (first) ? begin - (first) : 0;                                 \
        stop = stop < (end) ? stop : (end);                                            \
        stop = stop > (first) ? stop - (first) : 0;                                    \
        for (SP_COUNT at = begin + (SP_COUNT)LID_0 % SP_TEAM; at < stop;               \
             at += SP_TEAM)                                                            \
          (tile)[at] = chunk - from + i;                                               \
      }                                                                                \
      reached = tile_pointers[SP_THREADS];                                             \
      chunk += SP_THREADS;                                                             \
      local_barrier();                                                                 \
    }                                                                                  \
    reached = reached > (first) ? reached : (first);                                   \
    for (SP_COUNT k = reached + (SP_COUNT)LID_0; k < (end); k += SP_THREADS) {         \
      SP_COUNT row = from;                                                             \
      SP_FIND_ROW(row, indptr, rows, k)                                                \
      (tile)[k - (first)] = row - from;                                                \
    }                                                                                  \
    local_barrier();                                                                   \
  }
#define SP_TILE_ROWS(from, indptr, rows, first, end)                                   \
  SP_GROUP_FIND(from, indptr, rows, first)                                             \
  SP_FILL_ROWS(tile_rows, from, indptr, rows, first, end)

/* The row of a value of the tile, within the matrix whatever the pointers are. */
#define SP_TILE_ROW(from, rows, at)                                                    \
  (tile_rows[at] < (SP_COUNT)(rows) - from ? from + tile_rows[at] : from)
