/* The first places in sorted rows of a matrix at which columns may stand: searches on
 * GPUs, SP_AHEAD of them side by side; on processors, whose items take adjacent values,
 * a walk from the last place. */
#include "tile_rows.cl.h"

#define SP_AHEAD (SP_IS_CPU ? 1 : 4)
#define SP_READ(type, p)                                                               \
  p = (GLOBAL_MEM const type *)((GLOBAL_MEM const char *)p + p##_off)

/* The values that an item has in a tile: from k on SP_AHEAD of them, of which those
 * from `end` on are the first again, and not `is_here`. */
#define SP_EACH_PART(k, first, end)                                                    \
  for (SP_COUNT k = (first) + (SP_COUNT)LID_0; k < (end); k += SP_AHEAD * SP_THREADS)
#define SP_PART(u, k, end)                                                             \
  const SP_COUNT next = k + (SP_COUNT)(u) * SP_THREADS, at = next < (end) ? next : k;  \
  const ga_int is_here = next < (end)

#define SP_BEGIN(place, stop, indptr, n, row)                                          \
  place = (SP_COUNT)indptr[row];                                                       \
  stop = (SP_COUNT)indptr[(row) + 1];                                                  \
  stop = stop < (SP_COUNT)(n) ? stop : (SP_COUNT)(n);                                  \
  place = place < stop ? place : stop
#define SP_WALK                                                                        \
  SP_COUNT place[SP_AHEAD] = {0}, stop[SP_AHEAD] = {0}, last_row = ~(SP_COUNT)0;       \
  (void)last_row
#if SP_IS_CPU
#define SP_SEARCH(indptr, indices, n, rows, columns)                                   \
  if (last_row != rows[0]) {                                                           \
    last_row = rows[0];                                                                \
    SP_BEGIN(place[0], stop[0], indptr, n, rows[0]);                                   \
  }                                                                                    \
  while (place[0] < stop[0] && indices[place[0]] < columns[0])                         \
    place[0]++;
#else
#define SP_SEARCH(indptr, indices, n, rows, columns)                                   \
  {                                                                                    \
    SP_COUNT high[SP_AHEAD];                                                           \
    ga_int is_open = 1;                                                                \
    for (ga_int u = 0; u < SP_AHEAD; u++) {                                            \
      SP_BEGIN(place[u], stop[u], indptr, n, rows[u]);                                 \
      high[u] = stop[u];                                                               \
    }                                                                                  \
    while (is_open) {                                                                  \
      SP_INDEX seen[SP_AHEAD];                                                         \
      is_open = 0;                                                                     \
      for (ga_int u = 0; u < SP_AHEAD; u++)                                            \
        seen[u] = place[u] < high[u] ? indices[place[u] + (high[u] - place[u]) / 2]    \
                                     : columns[u];                                     \
      for (ga_int u = 0; u < SP_AHEAD; u++) {                                          \
        const SP_COUNT middle = place[u] + (high[u] - place[u]) / 2;                   \
        const ga_int is_below = seen[u] < columns[u];                                  \
        place[u] = is_below ? middle + 1 : place[u];                                   \
        high[u] = is_below ? high[u] : middle;                                         \
        is_open |= place[u] < high[u];                                                 \
      }                                                                                \
    }                                                                                  \
  }
#endif
