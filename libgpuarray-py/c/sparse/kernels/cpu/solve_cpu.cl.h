/* Solves triangular systems in place on processors, row by row: an item has SP_PER
 * columns of x at a time. SP_FORM: bit 0 upper, bit 1 ones for the diagonal. Values of
 * the other triangle are not read; those of a place are summed. */
#include "../group_words.cl.h"

KERNEL void SP_NAME(GLOBAL_MEM SP_VALUE *x, ga_size x_off, SP_MATRIX, ga_ulong rows,
                    ga_ulong n, ga_ulong width, ga_long x_row, ga_long x_column) {
  KERNEL_BEGIN;
  SP_WRITTEN(SP_VALUE, x);
  SP_READ_MATRIX;
  const ga_ulong step = SP_PER * GDIM_0;
  for (ga_ulong column = SP_PER * GID_0; column < width; column += step) {
    const ga_ulong here = width - column < SP_PER ? width - column : SP_PER;
    for (ga_ulong turn = 0; turn < rows; turn++) {
      const ga_ulong row = SP_FORM % 2 ? rows - 1 - turn : turn;
      ga_ulong k = (ga_ulong)indptr[row], end = (ga_ulong)indptr[row + 1];
      end = end < n ? end : n;
      SP_WORK diagonal = SP_ZERO, sums[SP_PER];
      for (ga_int p = 0; p < SP_PER; p++)
        sums[p] = SP_ZERO;
      for (; k < end; k++) {
        const ga_ulong j = (ga_ulong)indices[k];
        const SP_WORK v = SP_LOAD(values[k]);
        if (j == row)
          diagonal = SP_ADD(diagonal, v);
        else if (SP_FORM % 2 ? j > row && j < rows : j < row) {
          GLOBAL_MEM const SP_VALUE *from =
              x + (ga_ssize)j * x_row + (ga_ssize)column * x_column;
          if (here == SP_PER) {
            for (ga_int p = 0; p < SP_PER; p++)
              sums[p] = SP_ADD(sums[p], SP_MUL(v, SP_LOAD(from[p * x_column])));
          } else {
            for (ga_ulong p = 0; p < here; p++)
              sums[p] = SP_ADD(sums[p], SP_MUL(v, SP_LOAD(from[p * x_column])));
          }
        }
      }
      GLOBAL_MEM SP_VALUE *to = x + (ga_ssize)row * x_row + (ga_ssize)column * x_column;
      for (ga_ulong p = 0; p < here; p++) {
        const SP_WORK rest = SP_SUB(SP_LOAD(to[p * x_column]), sums[p]);
        to[p * x_column] = SP_STORE(SP_FORM / 2 ? rest : SP_DIV(rest, diagonal));
      }
    }
  }
}
