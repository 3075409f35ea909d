/* Elementwise operations of two sorted matrices, by the scanned matches of the first
 * one's places: SP_FORM 0 their sum, alpha a + beta b, 1 their product. A value goes
 * behind those of its matrix before it, and behind those of the other one before its
 * place that it has not met. */
#include "merge_words.cl.h"

#define SP_PARAMETERS                                                                  \
  GLOBAL_MEM SP_VALUE *out, ga_size out_off, GLOBAL_MEM SP_INDEX *out_indices,         \
      ga_size out_indices_off, GLOBAL_MEM SP_INDEX *out_indptr,                        \
      ga_size out_indptr_off, GLOBAL_MEM const SP_INDEX *matches, ga_size matches_off, \
      GLOBAL_MEM const SP_VALUE *a, ga_size a_off,                                     \
      GLOBAL_MEM const SP_INDEX *a_indices, ga_size a_indices_off,                     \
      GLOBAL_MEM const SP_INDEX *a_indptr, ga_size a_indptr_off,                       \
      GLOBAL_MEM const SP_VALUE *b, ga_size b_off,                                     \
      GLOBAL_MEM const SP_INDEX *b_indices, ga_size b_indices_off,                     \
      GLOBAL_MEM const SP_INDEX *b_indptr, ga_size b_indptr_off, ga_ulong rows,        \
      ga_ulong an, ga_ulong bn, ga_ulong room, SP_REAL alpha, SP_REAL alpha_im,        \
      SP_REAL beta, SP_REAL beta_im

KERNEL void SP_NAME(SP_PARAMETERS) {
  KERNEL_BEGIN;
  SP_TILE_MEMORY;
  out = (GLOBAL_MEM SP_VALUE *)((GLOBAL_MEM char *)out + out_off);
  out_indices =
      (GLOBAL_MEM SP_INDEX *)((GLOBAL_MEM char *)out_indices + out_indices_off);
  out_indptr = (GLOBAL_MEM SP_INDEX *)((GLOBAL_MEM char *)out_indptr + out_indptr_off);
  SP_READ(SP_INDEX, matches);
  SP_READ(SP_VALUE, a);
  SP_READ(SP_INDEX, a_indices);
  SP_READ(SP_INDEX, a_indptr);
  SP_READ(SP_VALUE, b);
  SP_READ(SP_INDEX, b_indices);
  SP_READ(SP_INDEX, b_indptr);
  /* Tiles of a and of b in turn, which mostly have the same rows. */
  const SP_COUNT a_tiles = ((SP_COUNT)an + SP_TILE - 1) / SP_TILE;
  const SP_COUNT b_tiles = SP_FORM ? 0 : ((SP_COUNT)bn + SP_TILE - 1) / SP_TILE;
  const SP_COUNT tiles = rows == 0 ? 0 : a_tiles > b_tiles ? a_tiles : b_tiles;
  for (SP_COUNT turn = (SP_COUNT)GID_0; turn / 2 < tiles; turn += (SP_COUNT)GDIM_0) {
    const SP_COUNT tile = turn / 2;
    const ga_int is_a = turn % 2 == 0;
    if (tile >= (is_a ? a_tiles : b_tiles))
      continue;
    const SP_COUNT own_n = (SP_COUNT)(is_a ? an : bn),
                   other_n = (SP_COUNT)(is_a ? bn : an);
    GLOBAL_MEM const SP_INDEX *own_indices = is_a ? a_indices : b_indices;
    GLOBAL_MEM const SP_INDEX *own_indptr = is_a ? a_indptr : b_indptr;
    GLOBAL_MEM const SP_INDEX *other_indices = is_a ? b_indices : a_indices;
    GLOBAL_MEM const SP_INDEX *other_indptr = is_a ? b_indptr : a_indptr;
    const SP_COUNT first = tile * SP_TILE, left = own_n - first;
    const SP_COUNT end = first + (left < SP_TILE ? left : SP_TILE);
    SP_COUNT from;
    SP_TILE_ROWS(from, own_indptr, rows, first, end)
    SP_WALK;
    SP_EACH_PART(k, first, end) {
      SP_INDEX columns[SP_AHEAD];
      SP_COUNT own_rows[SP_AHEAD];
      for (ga_int u = 0; u < SP_AHEAD; u++) {
        SP_PART(u, k, end);
        (void)is_here;
        columns[u] = own_indices[at];
        own_rows[u] = SP_TILE_ROW(from, rows, at - first);
      }
      SP_SEARCH(other_indptr, other_indices, other_n, own_rows, columns)
#if !SP_FORM
      ga_ulong to[SP_AHEAD];
      SP_WORK sums[SP_AHEAD];
#endif
      for (ga_int u = 0; u < SP_AHEAD; u++) {
        SP_PART(u, k, end);
        const SP_COUNT other = place[u];
        const ga_int meets = other < stop[u] && other_indices[other] == columns[u];
#if SP_FORM
        const ga_ulong to = (ga_ulong)matches[at];
        if (is_here && meets && to < room) {
          out[to] = SP_STORE(SP_MUL(SP_LOAD(a[at]), SP_LOAD(b[other])));
          out_indices[to] = columns[u];
        }
#else
        to[u] = (ga_ulong)at + other - (ga_ulong)matches[is_a ? at : other];
        to[u] = is_here && (is_a || !meets) ? to[u] : room;
        sums[u] = is_a ? SP_MUL(SP_NUMBER(alpha, alpha_im), SP_LOAD(a[at]))
                       : SP_MUL(SP_NUMBER(beta, beta_im), SP_LOAD(b[at]));
        if (meets && is_a)
          sums[u] =
              SP_ADD(sums[u], SP_MUL(SP_NUMBER(beta, beta_im), SP_LOAD(b[other])));
#endif
      }
#if !SP_FORM
      for (ga_int u = 0; u < SP_AHEAD; u++) /* behind all loads */
        if (to[u] < room) {
          out[to[u]] = SP_STORE(sums[u]);
          out_indices[to[u]] = columns[u];
        }
#endif
    }
    local_barrier();
  }
  SP_EACH(row, rows + 1) {
    const ga_ulong from = (ga_ulong)a_indptr[row], at = from < an ? from : an;
#if SP_FORM
    out_indptr[row] = matches[at];
#else
    out_indptr[row] = (SP_INDEX)(at + (ga_ulong)b_indptr[row]) - matches[at];
#endif
  }
}
