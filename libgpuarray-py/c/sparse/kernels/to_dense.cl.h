/* Adds the values of compressed rows to a dense matrix. An item takes a row; on GPUs
 * rows of more than SP_LONG values are then taken by all items of the group, one after
 * another: of adjacent values each item takes one, where their columns ascend, else all
 * that are in its share of columns. */
#include "group_words.cl.h"

#define SP_LONG 128
#define SP_BOUNDS(row)                                                                 \
  ga_ulong k = (ga_ulong)indptr[row], end = (ga_ulong)indptr[(row) + 1];               \
  end = end < n ? end : n;                                                             \
  k = k < end ? k : end
#define SP_ADD_TO(row, column, v)                                                      \
  {                                                                                    \
    const ga_ssize place =                                                             \
        (ga_ssize)(row) * out_row + (ga_ssize)(column) * out_column;                   \
    out[place] = SP_STORE(SP_ADD(SP_LOAD(out[place]), v));                             \
  }
#define SP_ADD_ROW(row)                                                                \
  for (; k < end; k++) {                                                               \
    const ga_ulong column = (ga_ulong)indices[k];                                      \
    if (column < columns)                                                              \
      SP_ADD_TO(row, column, SP_LOAD(values[k]))                                       \
  }

KERNEL void SP_NAME(GLOBAL_MEM SP_VALUE *out, ga_size out_off, SP_MATRIX, ga_ulong rows,
                    ga_ulong columns, ga_ulong n, ga_long out_row, ga_long out_column) {
  KERNEL_BEGIN;
#if !SP_IS_CPU
  LOCAL_MEM SP_WORK terms[SP_THREADS];
  LOCAL_MEM ga_ulong places[SP_THREADS]; /* columns of the terms */
  LOCAL_MEM ga_uint longs[SP_THREADS];   /* items with a long row */
  LOCAL_MEM ga_uint counts[2];           /* long rows; 1: columns do not ascend */
#endif
  SP_WRITTEN(SP_VALUE, out);
  SP_READ_MATRIX;
#if SP_IS_CPU
  SP_EACH(row, rows) {
#if SP_FORM /* rows in C order, which hold nothing yet */
    GLOBAL_MEM SP_VALUE *to = out + (ga_ssize)row * out_row;
    ga_ulong c = 0;
    for (; c + 8 <= columns; c += 8)
      vstore8((SP_VECTOR)0, 0, to + c);
    for (; c < columns; c++)
      to[c] = 0;
#endif
    SP_BOUNDS(row);
    SP_ADD_ROW(row)
  }
#else
  const ga_uint lid = (ga_uint)LID_0;
  for (ga_ulong first = GID_0 * SP_THREADS; first < rows;
       first += GDIM_0 * SP_THREADS) {
    if (lid == 0)
      counts[0] = 0;
    local_barrier();
    if (first + lid < rows) {
      SP_BOUNDS(first + lid);
      if (end - k > SP_LONG)
        longs[atom_add_Il(counts, 1)] = lid;
      else
        SP_ADD_ROW(first + lid)
    }
    local_barrier();
    const ga_uint count = counts[0];
    for (ga_uint i = 0; i < count; i++) {
      const ga_ulong row = first + longs[i];
      SP_BOUNDS(row);
      for (; k < end; k += SP_THREADS) {
        const ga_uint here = end - k < SP_THREADS ? (ga_uint)(end - k) : SP_THREADS;
        const ga_ulong column = lid < here ? (ga_ulong)indices[k + lid] : columns;
        const SP_WORK term = lid < here ? SP_LOAD(values[k + lid]) : SP_ZERO;
        if (lid == 0)
          counts[1] = 0;
        places[lid] = column;
        terms[lid] = term;
        local_barrier();
        if (lid > 0 && lid < here && column <= places[lid - 1])
          counts[1] = 1;
        local_barrier();
        if (counts[1] == 0) {
          if (column < columns)
            SP_ADD_TO(row, column, term)
        } else {
          for (ga_uint t = 0; t < here; t++) {
            const ga_ulong j = places[t];
            if (j < columns && j % SP_THREADS == lid)
              SP_ADD_TO(row, j, terms[t])
          }
        }
        SP_JOIN_GLOBAL;
      }
    }
    local_barrier();
  }
#endif
}
