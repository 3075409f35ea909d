/* Solves triangular systems in place on GPUs: a work group has one column of x, and
 * takes adjacent rows, an item each, in turns: in a turn an item goes on through the
 * values of its row until one needs an element that no turn before has found. A row of
 * more than SP_LONG values is taken alone, by all items. SP_FORM: bit 0 upper, bit 1
 * ones for the diagonal. Values of the other triangle are not read; those of a place
 * are summed. */
#include "group_words.cl.h"

#define SP_LONG 1024
#define SP_IS_UPPER (SP_FORM % 2)
/* Rows by the order in which they are solved. */
#define SP_ORDER(row) (SP_IS_UPPER ? rows - 1 - (row) : (row))

KERNEL void SP_NAME(GLOBAL_MEM SP_VALUE *x, ga_size x_off, SP_MATRIX, ga_ulong rows,
                    ga_ulong n, ga_ulong width, ga_long x_row, ga_long x_column) {
  KERNEL_BEGIN;
  LOCAL_MEM SP_WORK own[SP_THREADS];
  LOCAL_MEM SP_WORK diagonals[SP_THREADS];
  LOCAL_MEM ga_uint is_ready[SP_THREADS];
  LOCAL_MEM ga_uint counts[2]; /* rows before a long one; rows that are ready */
  SP_WRITTEN(SP_VALUE, x);
  SP_READ_MATRIX;
  const ga_uint lid = (ga_uint)LID_0;
  for (ga_ulong column = GID_0; column < width; column += GDIM_0) {
    GLOBAL_MEM SP_VALUE *of = x + (ga_ssize)column * x_column;
    ga_ulong base = 0;
    while (base < rows) {
      const ga_ulong own_row = base + lid < rows ? SP_ORDER(base + lid) : 0;
      ga_ulong k = (ga_ulong)indptr[own_row], end = (ga_ulong)indptr[own_row + 1];
      end = end < n ? end : n;
      k = k < end ? k : end;
      if (lid == 0) {
        counts[0] = rows - base < SP_THREADS ? (ga_uint)(rows - base) : SP_THREADS;
        counts[1] = 0;
      }
      is_ready[lid] = 0;
      local_barrier();
      if (base + lid < rows && end - k > SP_LONG)
        atom_min_Il(counts, lid);
      local_barrier();
      const ga_uint count = counts[0];
      SP_WORK sum = SP_ZERO, diagonal = SP_ZERO;
      if (count == 0) { /* one long row: all that it needs is there */
        const ga_ulong row = SP_ORDER(base);
        k = (ga_ulong)indptr[row];
        end = (ga_ulong)indptr[row + 1];
        end = end < n ? end : n;
        for (k += lid; k < end; k += SP_THREADS) {
          const ga_ulong j = (ga_ulong)indices[k];
          if (j == row)
            diagonal = SP_ADD(diagonal, SP_LOAD(values[k]));
          else if (j < rows && SP_ORDER(j) < base)
            sum = SP_ADD(sum,
                         SP_MUL(SP_LOAD(values[k]), SP_LOAD(of[(ga_ssize)j * x_row])));
        }
        own[lid] = sum;
        diagonals[lid] = diagonal;
        for (ga_uint step = SP_THREADS / 2; step > 0; step /= 2) {
          local_barrier();
          if (lid < step) {
            own[lid] = SP_ADD(own[lid], own[lid + step]);
            diagonals[lid] = SP_ADD(diagonals[lid], diagonals[lid + step]);
          }
        }
        if (lid == 0) {
          const ga_ssize place = (ga_ssize)row * x_row;
          const SP_WORK rest = SP_SUB(SP_LOAD(of[place]), own[0]);
          of[place] = SP_STORE(SP_FORM / 2 ? rest : SP_DIV(rest, diagonals[0]));
        }
        base++;
      } else {
        ga_int is_open = lid < count;
        do {
          ga_int is_whole = is_open;
          while (is_whole && k < end) {
            const ga_ulong j = (ga_ulong)indices[k];
            const ga_ulong at = j < rows ? SP_ORDER(j) : rows;
            if (at == base + lid)
              diagonal = SP_ADD(diagonal, SP_LOAD(values[k]));
            else if (at < base)
              sum = SP_ADD(
                  sum, SP_MUL(SP_LOAD(values[k]), SP_LOAD(of[(ga_ssize)j * x_row])));
            else if (at < base + lid) {
              is_whole = is_ready[at - base] != 0;
              if (is_whole)
                sum = SP_ADD(sum, SP_MUL(SP_LOAD(values[k]), own[at - base]));
            }
            k += (ga_ulong)is_whole;
          }
          local_barrier();
          if (is_whole) {
            const ga_ssize place = (ga_ssize)own_row * x_row;
            const SP_WORK rest = SP_SUB(SP_LOAD(of[place]), sum);
            of[place] = SP_STORE(SP_FORM / 2 ? rest : SP_DIV(rest, diagonal));
            own[lid] = SP_LOAD(of[place]);
            is_ready[lid] = 1;
            is_open = 0;
            atom_add_Il(counts + 1, 1);
          }
          local_barrier();
        } while (counts[1] < count);
        base += count;
      }
      SP_JOIN_GLOBAL;
    }
  }
}
