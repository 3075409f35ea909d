/* Products of compressed rows on GPUs. SP_WIDTH adjacent items take adjacent columns of
 * x, SP_PER each; SP_LANES such teams take the values of a row in turn, for one column
 * with SP_PACKS four adjacent ones each, and a work group as many rows as it has room
 * for. With SP_TAKES_PIECES, of one column, they are those of `list`. */
#include "pack_words.cl.h"
#include "row_words.cl.h"

#define SP_AHEAD 4
#define SP_ROWS (SP_THREADS / (SP_LANES * SP_WIDTH))

/* The items of a row are in one warp. */
#ifdef GA_HAS_SHUFFLES
#define SP_JOIN ga_warp_barrier()
#else
#define SP_JOIN local_barrier()
#endif

/* Long rows are noted in local memory, and listed by the group at once, for an atomic
 * operation on one word takes its turn; those that do not fit there, one by one. */
#define SP_HAS_NOTES (SP_PACKS && !SP_TAKES_PIECES)
#define SP_NOTES 128
#define SP_MANY 8 /* pieces that one item lists */
#define SP_PIECES_OF(row, begin, pieces)                                               \
  SP_COUNT begin = (SP_COUNT)indptr[row], pieces = (SP_COUNT)indptr[(row) + 1];        \
  pieces = pieces < (SP_COUNT)n ? pieces : (SP_COUNT)n;                                \
  pieces = begin < pieces ? (pieces - begin - 1) / (SP_COUNT)piece_size + 1 : 0
#define SP_PUT_PIECE(at, row, begin, piece)                                            \
  if ((at) + (piece) < room) {                                                         \
    list[2 + 2 * ((at) + (piece))] = row;                                              \
    list[3 + 2 * ((at) + (piece))] = begin + (piece) * (SP_COUNT)piece_size;           \
  }

/* As many groups at once as without the lists; else the registers of 1024 threads. */
#define SP_BLOCKS (SP_PACKS == 1 && SP_INDEX_BITS == 32 ? 8 : 1024 / SP_THREADS)

KERNEL_OF(SP_THREADS, SP_BLOCKS) void SP_NAME(SP_PARAMETERS) {
  KERNEL_BEGIN;
#if SP_HAS_NOTES
  LOCAL_MEM SP_COUNT notes[SP_NOTES], places[SP_NOTES];
  LOCAL_MEM ga_uint noted[1];
  if (LID_0 == 0)
    noted[0] = 0;
  local_barrier();
#endif
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
        if (lane == 0 && first == 0) {
#if SP_HAS_NOTES
          const ga_uint note = atom_add_Il(&noted[0], 1u);
          if (note < SP_NOTES)
            notes[note] = (SP_COUNT)row;
          else
#endif
            SP_LIST_ROW(row);
        }
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
          SP_LOAD_FOUR(GA_READ_PACK_STREAM, j, indices + k, SP_INDEX_BITS / 32)
          SP_LOAD_FOUR(GA_READ_PACK_STREAM, v, values + k, SP_PACKS)
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
#if SP_HAS_NOTES
  local_barrier();
  const ga_uint n_noted = noted[0] < SP_NOTES ? noted[0] : SP_NOTES;
  if (n_noted == 0)
    return;
  for (ga_uint note = lid; note < n_noted; note += SP_THREADS) {
    SP_PIECES_OF(notes[note], begin, pieces);
    (void)begin;
    places[note] = pieces;
  }
  local_barrier();
  if (lid == 0) {
    SP_COUNT all = 0, several = 0;
    for (ga_uint note = 0; note < n_noted; note++) {
      const SP_COUNT pieces = places[note];
      places[note] = all;
      all += pieces;
      several += pieces > 1;
    }
    const ga_uint at = atom_add_Ig((GLOBAL_MEM ga_uint *)list, (ga_uint)all);
    ga_uint next = 0;
    if (several > 0)
      next = atom_add_Ig((GLOBAL_MEM ga_uint *)list + 1, (ga_uint)several);
    for (ga_uint note = 0; note < n_noted; note++) {
      const SP_COUNT end = note + 1 < n_noted ? places[note + 1] : all;
      const ga_int is_one = end - places[note] < 2;
      places[note] += at;
      if (!is_one && next < room)
        list[2 + 2 * room + next] = places[note];
      next += !is_one;
    }
  }
  local_barrier();
  for (ga_uint note = lid; note < n_noted; note += SP_THREADS) {
    const ga_ulong row = notes[note], at = places[note];
    SP_PIECES_OF(row, begin, pieces);
    for (SP_COUNT piece = 0; piece < pieces && piece < SP_MANY; piece++)
      SP_PUT_PIECE(at, row, begin, piece)
  }
  for (ga_uint note = 0; note < n_noted; note++) {
    SP_PIECES_OF(notes[note], begin, pieces);
    for (SP_COUNT piece = SP_MANY + (SP_COUNT)lid; piece < pieces; piece += SP_THREADS)
      SP_PUT_PIECE((ga_ulong)places[note], notes[note], begin, piece)
  }
#endif
}
