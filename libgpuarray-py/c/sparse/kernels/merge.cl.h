/* Elementwise operations of two sorted matrices without duplicates, by parts of their
 * merged order: SP_FORM 0 counts the places of a part that both have, and tells in the
 * last but one of the counts whether a matrix is not as it should be; by the scanned
 * counts 1 makes the sum, alpha a + beta b, 2 the product. Each item merges a few
 * adjacent values in local memory; what a place is made of is put there in order. */
#define SP_TILE_ROOM (SP_MERGED + 1)
#include "tile_rows.cl.h"

#define SP_READ(type, p)                                                               \
  p = (GLOBAL_MEM const type *)((GLOBAL_MEM const char *)p + p##_off)
#define SP_WRITTEN(type, p) p = (GLOBAL_MEM type *)((GLOBAL_MEM char *)p + p##_off)
#define SP_EACH_OF_ITEM (SP_MERGED / SP_THREADS)
#define SP_NOWHERE 0xffffu
#define SP_GAPS 32 /* of rows without values, which all items fill */
#define SP_SHORT 8 /* rows that one item fills */
#define SP_AHEAD 4

/* Whether a value of the part comes before another, or is at its place. */
#define SP_BEFORE(p, q)                                                                \
  (tile_rows[p] < tile_rows[q] ||                                                      \
   (tile_rows[p] == tile_rows[q] && columns_of[p] < columns_of[q]))
#define SP_MEETS(p, q) (tile_rows[p] == tile_rows[q] && columns_of[p] == columns_of[q])

/* The values of an item in merged order: `x` of a, `y` of b are before it. */
#define SP_EACH_MERGED(x, y, body)                                                     \
  for (ga_uint x = first_x, y = first_y; x + y < stop;) {                              \
    const ga_int has_a = x < na && (y >= nb || !SP_BEFORE(na + y, x));                 \
    const ga_int has_b = has_a ? y < nb && SP_MEETS(x, na + y) : 1;                    \
    body;                                                                              \
    x += (ga_uint)has_a;                                                               \
    y += (ga_uint)has_b;                                                               \
  }

KERNEL void SP_NAME(
    GLOBAL_MEM SP_VALUE *out, ga_size out_off, GLOBAL_MEM SP_INDEX *out_indices,
    ga_size out_indices_off, GLOBAL_MEM SP_INDEX *out_indptr, ga_size out_indptr_off,
    GLOBAL_MEM SP_INDEX *words, ga_size words_off, GLOBAL_MEM const SP_VALUE *a,
    ga_size a_off, GLOBAL_MEM const SP_INDEX *a_indices, ga_size a_indices_off,
    GLOBAL_MEM const SP_INDEX *a_indptr, ga_size a_indptr_off,
    GLOBAL_MEM const SP_VALUE *b, ga_size b_off, GLOBAL_MEM const SP_INDEX *b_indices,
    ga_size b_indices_off, GLOBAL_MEM const SP_INDEX *b_indptr, ga_size b_indptr_off,
    ga_ulong rows, ga_ulong columns, ga_ulong an, ga_ulong bn, ga_ulong parts,
    ga_ulong room, SP_REAL alpha, SP_REAL alpha_im, SP_REAL beta, SP_REAL beta_im) {
  KERNEL_BEGIN;
  LOCAL_MEM SP_INDEX columns_of[SP_MERGED + 1];
  LOCAL_MEM ga_uint sums[SP_THREADS];
  SP_TILE_MEMORY;
  SP_WRITTEN(SP_INDEX, words);
  SP_READ(SP_INDEX, a_indices);
  SP_READ(SP_INDEX, a_indptr);
  SP_READ(SP_INDEX, b_indices);
  SP_READ(SP_INDEX, b_indptr);
  GLOBAL_MEM SP_INDEX *counts = words + 3 * (parts + 1);
  const ga_uint lid = (ga_uint)LID_0;
#if SP_FORM
  LOCAL_MEM ga_ushort from_a[SP_MERGED + 1], from_b[SP_MERGED + 1];
  LOCAL_MEM SP_COUNT gaps[3 * SP_GAPS];
  LOCAL_MEM ga_uint n_gaps[1];
  SP_WRITTEN(SP_VALUE, out);
  SP_WRITTEN(SP_INDEX, out_indices);
  SP_WRITTEN(SP_INDEX, out_indptr);
  SP_READ(SP_VALUE, a);
  SP_READ(SP_VALUE, b);
#else
  ga_int has_flaw = 0;
#endif
  for (ga_ulong part = GID_0; part < parts; part += GDIM_0) {
    SP_COUNT a_first = (SP_COUNT)words[3 * part], a_end = (SP_COUNT)words[3 * part + 3];
    SP_COUNT b_first = (SP_COUNT)words[3 * part + 1],
             b_end = (SP_COUNT)words[3 * part + 4];
    const SP_COUNT begun = (SP_COUNT)words[3 * part + 2], from = begun - (begun > 0);
    a_end = a_end < (SP_COUNT)an ? a_end : (SP_COUNT)an;
    b_end = b_end < (SP_COUNT)bn ? b_end : (SP_COUNT)bn;
    a_first = a_first < a_end ? a_first : a_end;
    b_first = b_first < b_end ? b_first : b_end;
    const ga_uint na =
        a_end - a_first < SP_MERGED + 1 ? (ga_uint)(a_end - a_first) : SP_MERGED + 1;
    const ga_uint left = SP_MERGED + 1 - na;
    const ga_uint nb = b_end - b_first < left ? (ga_uint)(b_end - b_first) : left,
                  n = na + nb;
    for (ga_uint k = lid; k < na; k += SP_THREADS)
      columns_of[k] = a_indices[a_first + k];
    for (ga_uint k = lid; k < nb; k += SP_THREADS)
      columns_of[na + k] = b_indices[b_first + k];
    SP_FILL_ROWS(tile_rows, from, a_indptr, rows, a_first, a_first + na)
    SP_FILL_ROWS(tile_rows + na, from, b_indptr, rows, b_first, b_first + nb)
    const ga_uint given = lid * SP_EACH_OF_ITEM, begin = given < n ? given : n;
    const ga_uint next = given + SP_EACH_OF_ITEM;
    const ga_uint stop = lid + 1 < SP_THREADS && next < n ? next : n;
    ga_uint first_x = begin > nb ? begin - nb : 0;
    for (ga_uint high = begin < na ? begin : na; first_x < high;) {
      const ga_uint middle = (first_x + high) / 2;
      if (SP_BEFORE(na + begin - 1 - middle, middle))
        high = middle;
      else
        first_x = middle + 1;
    }
    ga_uint first_y = begin - first_x;
    if (first_x > 0 && first_y < nb && SP_MEETS(first_x - 1, na + first_y))
      first_y++;
    ga_uint n_own = 0;
#if SP_FORM == 1
    SP_EACH_MERGED(x, y, n_own++)
#else
    SP_EACH_MERGED(x, y, n_own += (ga_uint)(has_a && has_b))
#endif
    sums[lid] = n_own;
    for (ga_uint apart = 1; apart < SP_THREADS; apart *= 2) {
      local_barrier();
      const ga_uint before = lid >= apart ? sums[lid - apart] : 0;
      local_barrier();
      sums[lid] += before;
    }
    local_barrier();
#if !SP_FORM
    if (lid == 0)
      counts[part] = (SP_INDEX)sums[SP_THREADS - 1];
    for (ga_uint k = lid; k < n; k += SP_THREADS) {
      const ga_int is_a = k < na, is_first = k == 0 || k == na;
      const SP_COUNT row = SP_TILE_ROW(from, rows, k), at = is_a ? a_first : b_first;
      const SP_COUNT row_begin = (SP_COUNT)(is_a ? a_indptr[row] : b_indptr[row]);
      SP_INDEX before = -1;
      if (!is_first && tile_rows[k] == tile_rows[k - 1])
        before = columns_of[k - 1];
      if (is_first && at > row_begin)
        before = is_a ? a_indices[at - 1] : b_indices[at - 1];
      has_flaw |=
          before >= columns_of[k] || (SP_COUNT)columns_of[k] >= (SP_COUNT)columns;
    }
#else
    const ga_uint n_out = sums[SP_THREADS - 1];
    const SP_COUNT shared = (SP_COUNT)counts[part];
    const SP_COUNT start = SP_FORM == 1 ? a_first + b_first - shared : shared;
    if (lid == 0)
      n_gaps[0] = 0;
    local_barrier();
    {
      ga_uint at = sums[lid] - n_own;
      SP_COUNT opened = begun;
      if (begin > 0) {
        const ga_uint of_a = first_x > 0 ? (ga_uint)tile_rows[first_x - 1] : 0;
        const ga_uint of_b = first_y > 0 ? (ga_uint)tile_rows[na + first_y - 1] : 0;
        opened = from + (of_a > of_b ? of_a : of_b) + 1;
      }
      SP_EACH_MERGED(
          x, y, const SP_COUNT row = SP_TILE_ROW(from, rows, has_a ? x : na + y);
          if (row >= opened) {
            ga_uint gap = SP_GAPS;
            if (row - opened >= SP_SHORT)
              gap = atom_add_Il(&n_gaps[0], 1u);
            if (gap < SP_GAPS) {
              gaps[3 * gap] = opened;
              gaps[3 * gap + 1] = row;
              gaps[3 * gap + 2] = start + at;
            } else
              for (; opened <= row; opened++)
                out_indptr[opened] = (SP_INDEX)(start + at);
            opened = row + 1;
          } if (SP_FORM == 1 || (has_a && has_b)) {
            from_a[at] = (ga_ushort)(has_a ? x : SP_NOWHERE);
            from_b[at++] = (ga_ushort)(has_b ? y : SP_NOWHERE);
          })
    }
    local_barrier();
    for (ga_uint gap = 0; gap < SP_GAPS && gap < n_gaps[0]; gap++)
      for (SP_COUNT row = gaps[3 * gap] + lid; row <= gaps[3 * gap + 1];
           row += SP_THREADS)
        out_indptr[row] = (SP_INDEX)gaps[3 * gap + 2];
    for (ga_uint k = lid; k < n_out; k += SP_AHEAD * SP_THREADS) {
      SP_WORK value[SP_AHEAD];
      SP_INDEX column[SP_AHEAD];
#pragma unroll
      for (ga_uint u = 0; u < SP_AHEAD; u++) {
        const ga_uint at = k + u * SP_THREADS < n_out ? k + u * SP_THREADS : k;
        const ga_uint x = from_a[at], y = from_b[at];
        column[u] = columns_of[x != SP_NOWHERE ? x : na + y];
#if SP_FORM == 1
        value[u] = SP_ZERO;
        if (x != SP_NOWHERE)
          value[u] = SP_MUL(SP_NUMBER(alpha, alpha_im), SP_LOAD(a[a_first + x]));
        if (y != SP_NOWHERE) {
          const SP_WORK other =
              SP_MUL(SP_NUMBER(beta, beta_im), SP_LOAD(b[b_first + y]));
          value[u] = x != SP_NOWHERE ? SP_ADD(value[u], other) : other;
        }
#else
        value[u] = SP_MUL(SP_LOAD(a[a_first + x]), SP_LOAD(b[b_first + y]));
#endif
      }
#pragma unroll
      for (ga_uint u = 0; u < SP_AHEAD; u++) { /* behind all loads */
        const ga_uint at = k + u * SP_THREADS;
        if (at < n_out && (ga_ulong)start + at < room) {
          out[start + at] = SP_STORE(value[u]);
          out_indices[start + at] = column[u];
        }
      }
    }
#endif
    local_barrier();
  }
#if SP_FORM
  if (GID_0 + 1 == GDIM_0) /* rows behind the last value */
    for (ga_ulong row = (ga_ulong)words[3 * parts + 2] + lid; row <= rows;
         row += SP_THREADS)
      out_indptr[row] = (SP_INDEX)room;
#else
  SP_EACH(row, rows + 1) {
    const SP_INDEX x = a_indptr[row], y = b_indptr[row];
    has_flaw |=
        row == 0 ? x != 0 || y != 0 : x < a_indptr[row - 1] || y < b_indptr[row - 1];
    has_flaw |= row == rows && ((ga_ulong)x != an || (ga_ulong)y != bn);
  }
  if (has_flaw)
    counts[parts] = 1;
#endif
}
