/* Products of compressed rows on GPUs. SP_WIDTH adjacent items take adjacent columns of
 * x, SP_PER each; SP_LANES such teams take the values of a row in turn, for one column
 * with SP_PACKS four adjacent ones each, and a work group as many rows as it has room
 * for. With SP_TAKES_PIECES, of one column, they are those of `list`. */
#include "row_words.cl.h"

#define SP_AHEAD 4
#define SP_ROWS (SP_THREADS / (SP_LANES * SP_WIDTH))

/* Four adjacent elements in `count` loads. */
#define SP_FOUR(type, count)                                                           \
  union {                                                                              \
    ga_uint4 packs[count];                                                             \
    type own[4];                                                                       \
  }
#define SP_LOAD_FOUR(four, place, count)                                               \
  for (ga_int pack = 0; pack < count; pack++)                                          \
    four.packs[pack] =                                                                 \
        GA_READ_PACK_STREAM(((GLOBAL_MEM const ga_uint4 *)(place))[pack]);

/* The items of a row are in one warp. */
#ifdef GA_HAS_SHUFFLES
#define SP_JOIN ga_warp_barrier()
#else
#define SP_JOIN local_barrier()
#endif

KERNEL void SP_NAME(SP_PARAMETERS) {
  KERNEL_BEGIN;
#if SP_LANES > 1
  LOCAL_MEM SP_WORK sums[SP_THREADS];
#endif
  SP_STARTS;
  (void)parts;
  (void)shift;
  (void)limit;
  const ga_uint lid = (ga_uint)LID_0, lane = lid / SP_WIDTH % SP_LANES;
  const ga_ulong tiles =
      SP_WIDTH * SP_PER > 1 ? (width - 1) / (SP_WIDTH * SP_PER) + 1 : 1;
#if SP_TAKES_PIECES
  const ga_ulong listed = ((GLOBAL_MEM const ga_uint *)list)[0];
  const ga_ulong n_rows = listed < room ? listed : room;
#else
  const ga_ulong n_rows = rows;
#endif
  const ga_ulong blocks = (n_rows + SP_ROWS - 1) / SP_ROWS * tiles;
  for (ga_ulong block = GID_0; block < blocks; block += GDIM_0) {
    /* Divisions of 64 bits take longer than a short row. */
    const ga_ulong group = tiles > 1 ? block / tiles : block;
    const ga_ulong own = group * SP_ROWS + lid / (SP_WIDTH * SP_LANES);
    const ga_ulong first =
        (block - group * tiles) * (SP_WIDTH * SP_PER) + lid % SP_WIDTH;
    ga_int is_here = own < n_rows;
#if SP_TAKES_PIECES
    const ga_ulong row = is_here ? list[2 + 2 * own] : rows;
    ga_int is_whole = 1;
    is_here = row < rows;
#else
    const ga_ulong row = own;
#endif
    SP_WORK sum[SP_PER];
    for (ga_int p = 0; p < SP_PER; p++)
      sum[p] = SP_ZERO;
    if (is_here) {
      SP_BOUNDS(row);
#if SP_TAKES_PIECES
      is_whole = end - begin <= piece_size;
      begin = list[3 + 2 * own];
      end = begin < end && end - begin > piece_size ? begin + piece_size : end;
#else
      if (end - begin > limit) {
        if (lane == 0 && first == 0)
          SP_LIST_ROW(row);
        is_here = 0;
        end = begin;
      }
#endif
      /* Loads of several values are in flight before the first is used. */
      const SP_COUNT stop = (SP_COUNT)end, most = (SP_COUNT)columns;
#if SP_PACKS
      const SP_COUNT start = (SP_COUNT)begin;
      for (SP_COUNT k = (start & ~(SP_COUNT)3) + 4 * lane; k < stop;
           k += 4 * SP_LANES) {
        SP_FOUR(SP_INDEX, SP_INDEX_BITS / 32) j;
        SP_FOUR(SP_VALUE, SP_PACKS) v;
        if (k + 3 < (SP_COUNT)n) {
          SP_LOAD_FOUR(j, indices + k, SP_INDEX_BITS / 32)
          SP_LOAD_FOUR(v, values + k, SP_PACKS)
        } else {
          for (ga_uint u = 0; u < 4 && k + u < (SP_COUNT)n; u++) {
            j.own[u] = indices[k + u];
            v.own[u] = values[k + u];
          }
        }
        SP_WORK term[4];
#pragma unroll
        for (ga_uint u = 0; u < 4; u++) {
          const SP_COUNT at = k + u;
          const ga_int is_own = at >= start && at < stop && (SP_COUNT)j.own[u] < most;
          term[u] =
              is_own ? SP_TERM(SP_LOAD(v.own[u]), (SP_COUNT)j.own[u], 0) : SP_ZERO;
        }
#pragma unroll
        for (ga_uint u = 0; u < 4; u++)
          sum[0] = SP_ADD(sum[0], term[u]);
      }
#else
      for (SP_COUNT k = (SP_COUNT)begin + lane; k < stop; k += SP_AHEAD * SP_LANES) {
        SP_COUNT j[SP_AHEAD];
        SP_WORK v[SP_AHEAD];
#pragma unroll
        for (ga_int u = 0; u < SP_AHEAD; u++) {
          const SP_COUNT at = k + (SP_COUNT)u * SP_LANES;
          j[u] = at < stop ? (SP_COUNT)indices[at] : most;
          v[u] = at < stop ? SP_LOAD(values[at]) : SP_ZERO;
        }
#pragma unroll
        for (ga_int p = 0; p < SP_PER; p++) {
          const ga_int is_column =
              SP_WIDTH * SP_PER == 1 || first + p * SP_WIDTH < width;
          SP_WORK term[SP_AHEAD];
#pragma unroll
          for (ga_int u = 0; u < SP_AHEAD; u++)
            term[u] = is_column && j[u] < most
                          ? SP_TERM(v[u], j[u], first + p * SP_WIDTH)
                          : SP_ZERO;
#pragma unroll
          for (ga_int u = 0; u < SP_AHEAD; u++)
            sum[p] = SP_ADD(sum[p], term[u]);
        }
      }
#endif
    }
#if SP_LANES > 1
    for (ga_int p = 0; p < SP_PER; p++) {
      SP_JOIN;
      sums[lid] = sum[p];
      for (ga_uint step = SP_LANES / 2; step > 0; step /= 2) {
        SP_JOIN;
        if (lane < step) {
          sum[p] = SP_ADD(sum[p], sums[lid + step * SP_WIDTH]);
          sums[lid] = sum[p];
        }
      }
    }
#endif
#if SP_TAKES_PIECES
    if (is_here && lane == 0 && !is_whole)
      parts[own] = sum[0];
    is_here &= is_whole;
#endif
    if (is_here && lane == 0)
      for (ga_int p = 0; p < SP_PER; p++)
        if (first + p * SP_WIDTH < width)
          SP_PUT(row, first + p * SP_WIDTH, sum[p]);
  }
}
