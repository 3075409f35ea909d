/* Elementwise operations of two sorted matrices without duplicates, by parts of their
 * merged order: SP_IS_COUNT counts the places of a part that both have, and tells in
 * the last but one of the counts whether a matrix is not as it should be. By the
 * scanned counts the result is made at the places that either has (SP_IS_UNION), or
 * both. Each item merges a few adjacent values, whose columns are in local memory; what
 * a place is made of is put there in order. */
#include "merged_row.cl.h"
#include "pair_words.cl.h"

#define SP_EACH_OF_ITEM (SP_MERGED / SP_THREADS)
#define SP_NOWHERE 0xffffu
#define SP_GAPS 32 /* of rows without values, which all items fill */
#define SP_SHORT 8 /* rows that one item fills */
#define SP_AHEAD 4

/* Values of both before a row. */
#define SP_BEFORE_ROW(row) ((SP_COUNT)a_indptr[row] + (SP_COUNT)b_indptr[row])
/* Raises `found` to the row of value k of the merged order, at most to `last`. */
#define SP_FIND_ROW(found, last, k)                                                    \
  for (SP_COUNT high = last; found < high;) {                                          \
    const SP_COUNT middle = found + (high - found) / 2;                                \
    if (SP_BEFORE_ROW(middle + 1) <= (k))                                              \
      found = middle + 1;                                                              \
    else                                                                               \
      high = middle;                                                                   \
  }
/* Place of a row pointer among the `n` values of a part from `first` on. */
#define SP_WITHIN(pointer, first, n)                                                   \
  ((SP_COUNT)(pointer) <= (first)        ? 0                                           \
   : (SP_COUNT)(pointer) - (first) < (n) ? (ga_uint)((SP_COUNT)(pointer) - (first))    \
                                         : (n))
#define SP_OF_ROW_A(k) columns_of[x_begin + (k)]
#define SP_OF_ROW_B(k) columns_of[na + y_begin + (k)]
#define SP_OPEN_ROW(row)                                                               \
  x_stop = SP_WITHIN(a_indptr[(row) + 1], a_first, na);                                \
  y_stop = SP_WITHIN(b_indptr[(row) + 1], b_first, nb)

/* The values of an item in merged order: x of a and y of b are before it in the part;
 * a row without values is followed by a search, for there may be thousands. */
#define SP_EACH_MERGED(body)                                                           \
  {                                                                                    \
    SP_COUNT row = first_row;                                                          \
    ga_uint x = first_x, y = first_y, x_stop, y_stop;                                  \
    SP_OPEN_ROW(row);                                                                  \
    while (x + y < stop) {                                                             \
      if (x >= x_stop && y >= y_stop) {                                                \
        row += row < last;                                                             \
        SP_OPEN_ROW(row);                                                              \
        if (x >= x_stop && y >= y_stop) {                                              \
          SP_FIND_ROW(row, last, a_first + b_first + x + y)                            \
          SP_OPEN_ROW(row);                                                            \
          if (x >= x_stop && y >= y_stop) /* wrong pointers */                         \
            break;                                                                     \
        }                                                                              \
      }                                                                                \
      const SP_INDEX column = columns_of[x < na ? x : 0];                              \
      const SP_INDEX other = columns_of[y < nb ? na + y : 0];                          \
      const ga_int has_a = x < x_stop && (y >= y_stop || column <= other);             \
      const ga_int has_b = y < y_stop && (x >= x_stop || other <= column);             \
      body;                                                                            \
      x += (ga_uint)has_a;                                                             \
      y += (ga_uint)has_b;                                                             \
    }                                                                                  \
  }

/* Sums of `sums` up to each item. */
#ifdef GA_HAS_SHUFFLES
#define SP_SCAN(own)                                                                   \
  {                                                                                    \
    ga_uint sum = own;                                                                 \
    for (ga_uint apart = 1; apart < 32; apart *= 2) {                                  \
      const ga_uint before = ga_shuffle_up(sum, (int)apart);                           \
      sum += lid % 32 >= apart ? before : 0;                                           \
    }                                                                                  \
    if (lid % 32 == 31)                                                                \
      ends[lid / 32] = sum;                                                            \
    local_barrier();                                                                   \
    for (ga_uint warp = 0; warp < SP_THREADS / 32; warp++)                             \
      sum += warp < lid / 32 ? ends[warp] : 0;                                         \
    sums[lid] = sum;                                                                   \
    local_barrier();                                                                   \
  }
#else
#define SP_SCAN(own)                                                                   \
  {                                                                                    \
    sums[lid] = own;                                                                   \
    for (ga_uint apart = 1; apart < SP_THREADS; apart *= 2) {                          \
      local_barrier();                                                                 \
      const ga_uint before = lid >= apart ? sums[lid - apart] : 0;                     \
      local_barrier();                                                                 \
      sums[lid] += before;                                                             \
    }                                                                                  \
    local_barrier();                                                                   \
  }
#endif

KERNEL void SP_NAME(SP_PARAMETERS) {
  KERNEL_BEGIN;
  LOCAL_MEM SP_INDEX columns_of[SP_MERGED + 1];
  LOCAL_MEM ga_uint sums[SP_THREADS];
#ifdef GA_HAS_SHUFFLES
  LOCAL_MEM ga_uint ends[SP_THREADS / 32];
#endif
  SP_WRITTEN(SP_INDEX, words);
  SP_READ(SP_INDEX, a_indices);
  SP_READ(SP_INDEX, a_indptr);
  SP_READ(SP_INDEX, b_indices);
  SP_READ(SP_INDEX, b_indptr);
  GLOBAL_MEM SP_INDEX *counts = words + 3 * (parts + 1);
  const ga_uint lid = (ga_uint)LID_0;
#if !SP_IS_COUNT
  LOCAL_MEM ga_ushort from_a[SP_MERGED + 1], from_b[SP_MERGED + 1];
  LOCAL_MEM SP_COUNT gaps[3 * SP_GAPS];
  LOCAL_MEM ga_uint n_gaps[1];
  SP_WRITTEN(SP_OUT, out);
  SP_WRITTEN(SP_INDEX, out_indices);
  SP_WRITTEN(SP_INDEX, out_indptr);
  SP_READ(SP_VALUE, a);
  SP_READ(SP_VALUE, b);
#else
  ga_int has_flaw = 0;
/* Sees whether a value is not as it should be. */
#define SP_LOOK(name, at, of, is_here, own)                                            \
  if (is_here) {                                                                       \
    const SP_COUNT begin_of_row = (SP_COUNT)name##_indptr[row];                        \
    SP_INDEX before = -1;                                                              \
    if (name##_first + at > begin_of_row)                                              \
      before = at > 0 ? columns_of[of + at - 1] : name##_indices[name##_first - 1];    \
    has_flaw |= before >= own || (SP_COUNT)own >= (SP_COUNT)columns;                   \
  }
#endif
  for (ga_ulong part = GID_0; part < parts; part += GDIM_0) {
    SP_COUNT a_first = (SP_COUNT)words[3 * part], a_end = (SP_COUNT)words[3 * part + 3];
    SP_COUNT b_first = (SP_COUNT)words[3 * part + 1],
             b_end = (SP_COUNT)words[3 * part + 4];
    const SP_COUNT begun = (SP_COUNT)words[3 * part + 2];
    const SP_COUNT last_begun = (SP_COUNT)words[3 * part + 5];
    const SP_COUNT most = (SP_COUNT)rows - (rows > 0); /* and of wrong counts */
    SP_COUNT from = begun - (begun > 0), last = last_begun - (last_begun > 0);
    from = from < most ? from : most;
    last = last < most ? last : most;
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
    local_barrier();
    const ga_uint given = lid * SP_EACH_OF_ITEM, begin = given < n ? given : n;
    const ga_uint next = given + SP_EACH_OF_ITEM;
    const ga_uint stop = lid + 1 < SP_THREADS && next < n ? next : n;
    const SP_COUNT place = a_first + b_first + begin; /* in the merged order */
    SP_COUNT first_row = from;
    ga_uint first_x = 0, first_y = 0, n_own = 0;
    if (begin < n) {
      SP_FIND_ROW(first_row, last, place)
      const ga_uint x_begin = SP_WITHIN(a_indptr[first_row], a_first, na);
      const ga_uint y_begin = SP_WITHIN(b_indptr[first_row], b_first, nb);
      ga_uint x_stop, y_stop;
      SP_OPEN_ROW(first_row);
      const ga_uint own = SP_LENGTH(ga_uint, x_begin + y_begin, begin);
      const ga_uint x_own = SP_LENGTH(ga_uint, x_begin, x_stop);
      const ga_uint y_own = SP_LENGTH(ga_uint, y_begin, y_stop);
      SP_CUT_ROW(ga_uint, of_a, own, x_own, y_own, SP_OF_ROW_A, SP_OF_ROW_B)
      first_x = x_begin + of_a;
      first_y = y_begin + SP_LENGTH(ga_uint, of_a, own);
      if (of_a > 0 && first_y < y_stop &&
          columns_of[first_x - 1] == columns_of[na + first_y])
        first_y++;
#if SP_IS_COUNT
      SP_EACH_MERGED(n_own += (ga_uint)(has_a && has_b);
                     SP_LOOK(a, x, 0, has_a, column) SP_LOOK(b, y, na, has_b, other))
#elif SP_IS_UNION
      SP_EACH_MERGED(n_own++)
#else
      SP_EACH_MERGED(n_own += (ga_uint)(has_a && has_b))
#endif
    }
    SP_SCAN(n_own)
#if SP_IS_COUNT
    if (lid == 0)
      counts[part] = (SP_INDEX)sums[SP_THREADS - 1];
#else
    const SP_COUNT shared = (SP_COUNT)counts[part];
    const SP_COUNT start = SP_IS_UNION ? a_first + b_first - shared : shared;
    if (lid == 0)
      n_gaps[0] = 0;
    local_barrier();
    if (begin < n) {
      ga_uint at = sums[lid] - n_own;
      SP_COUNT opened = begun;
      if (begin > 0 && SP_BEFORE_ROW(first_row) < place)
        opened = first_row + 1;
      else if (begin > 0 && first_row > 0 && SP_BEFORE_ROW(first_row - 1) < place)
        opened = first_row;
      else if (begin > 0) {
        opened = from;
        SP_FIND_ROW(opened, last, place - 1)
        opened++;
      }
      SP_EACH_MERGED(
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
          } if (SP_IS_UNION || (has_a && has_b)) {
            from_a[at] = (ga_ushort)(has_a ? x : SP_NOWHERE);
            from_b[at++] = (ga_ushort)(has_b ? y : SP_NOWHERE);
          })
    }
    local_barrier();
    const ga_uint n_out = sums[SP_THREADS - 1];
    for (ga_uint gap = 0; gap < SP_GAPS && gap < n_gaps[0]; gap++)
      for (SP_COUNT row = gaps[3 * gap] + lid; row <= gaps[3 * gap + 1];
           row += SP_THREADS)
        out_indptr[row] = (SP_INDEX)gaps[3 * gap + 2];
    for (ga_uint k = lid; k < n_out; k += SP_AHEAD * SP_THREADS) {
      SP_RESULT value[SP_AHEAD];
      SP_INDEX column[SP_AHEAD];
#pragma unroll
      for (ga_uint u = 0; u < SP_AHEAD; u++) {
        const ga_uint at = k + u * SP_THREADS < n_out ? k + u * SP_THREADS : k;
        const ga_uint x = from_a[at], y = from_b[at];
        column[u] = columns_of[x != SP_NOWHERE ? x : na + y];
#if SP_IS_UNION
        if (x == SP_NOWHERE)
          value[u] = SP_OF_B(SP_LOAD(b[b_first + y]));
        else if (y == SP_NOWHERE)
          value[u] = SP_OF_A(SP_LOAD(a[a_first + x]));
        else
#endif
          value[u] = SP_OF_BOTH(SP_LOAD(a[a_first + x]), SP_LOAD(b[b_first + y]));
      }
#pragma unroll
      for (ga_uint u = 0; u < SP_AHEAD; u++) { /* behind all loads */
        const ga_uint at = k + u * SP_THREADS;
        if (at < n_out && (ga_ulong)start + at < room) {
          out[start + at] = SP_STORE_OUT(value[u]);
          out_indices[start + at] = column[u];
        }
      }
    }
#endif
    local_barrier();
  }
#if !SP_IS_COUNT
  if (GID_0 + 1 == GDIM_0) /* rows behind the last value */
    for (ga_ulong row = (ga_ulong)words[3 * parts + 2] + lid; row <= rows;
         row += SP_THREADS)
      out_indptr[row] = (SP_INDEX)room;
#else
  SP_LOOK_AT_POINTERS
#endif
}
