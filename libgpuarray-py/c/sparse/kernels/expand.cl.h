/* What is made of each value and its row: SP_MAKES 0 the row; 1 a pair of the value and
 * the row, to be moved together; 2 a key of the row and, in its low `bits` bits, the
 * column. SP_FORM 0: `lines` are where rows begin; 1: COO, the rows of the values. */
#include "tile_rows.cl.h"

#define SP_AHEAD 4

#if SP_MAKES == 0
#define SP_MADE SP_INDEX
#define SP_MAKE(k, own, row) out[k] = (SP_INDEX)(row)
#elif SP_MAKES == 1
#define SP_MADE SP_PAIR
#define SP_MAKE(k, own, row) SP_JOIN(out[k], own, row)
#else
#define SP_MADE SP_KEY
#define SP_MAKE(k, own, row) out[k] = (SP_KEY)(row) << bits | (SP_KEY)(own)
#endif

KERNEL void SP_NAME(GLOBAL_MEM SP_MADE *out, ga_size out_off,
                    GLOBAL_MEM const SP_INDEX *lines, ga_size lines_off,
                    GLOBAL_MEM const SP_GIVEN *given, ga_size given_off, ga_ulong rows,
                    ga_ulong n, ga_uint bits) {
  KERNEL_BEGIN;
#if !SP_FORM && !SP_IS_CPU
  SP_TILE_MEMORY;
#endif
  SP_WRITTEN(SP_MADE, out);
  SP_READ(SP_INDEX, lines);
  SP_READ(SP_GIVEN, given);
  (void)given;
  (void)bits;
#if SP_FORM
  (void)rows;
  SP_EACH(k, n) {
    SP_MAKE(k, given[k], (SP_COUNT)lines[k]);
  }
#elif SP_IS_CPU
  const ga_ulong first = SP_ITEM * n / SP_ITEMS, end = (SP_ITEM + 1) * n / SP_ITEMS;
  SP_COUNT row = 0;
  SP_FIND_ROW(row, lines, rows, (SP_COUNT)first)
  for (ga_ulong k = first; k < end; row++) { /* the last row has what is left */
    ga_ulong stop = row + 1 < (SP_COUNT)rows ? (ga_ulong)lines[row + 1] : end;
    stop = stop < end ? stop : end;
    for (; k < stop; k++)
      SP_MAKE(k, given[k], row);
  }
#else
  const ga_ulong tiles = (n - 1) / SP_TILE + 1; /* each group has adjacent ones */
  SP_COUNT from = 0;
  for (ga_ulong tile = GID_0 * tiles / GDIM_0; tile < (GID_0 + 1) * tiles / GDIM_0;
       tile++) {
    const SP_COUNT first = (SP_COUNT)tile * SP_TILE, left = (SP_COUNT)n - first;
    const SP_COUNT end = first + (left < SP_TILE ? left : SP_TILE);
    if (tile == GID_0 * tiles / GDIM_0)
      SP_GROUP_FIND(from, lines, rows, first)
    SP_FILL_ROWS(from, lines, rows, first, end)
    for (SP_COUNT k = first + (SP_COUNT)LID_0; k < end; k += SP_AHEAD * SP_THREADS) {
#if SP_MAKES
      SP_GIVEN own[SP_AHEAD]; /* loads before stores, behind which they would wait */
      for (ga_uint u = 0; u < SP_AHEAD; u++)
        own[u] = given[end - k > u * SP_THREADS ? k + u * SP_THREADS : k];
#endif
      for (ga_uint u = 0; u < SP_AHEAD; u++) {
        const SP_COUNT at = k + u * SP_THREADS;
        if (at < end)
          SP_MAKE(at, own[u], SP_TILE_ROW(from, rows, at - first));
      }
    }
    from = SP_TILE_ROW(from, rows, end - 1 - first);
    local_barrier();
  }
#endif
}
