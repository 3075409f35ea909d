/* Solves triangular systems in place, row by row: SP_LANES items share the values of a
 * row, and a work group has one column of x. SP_FORM: bit 0 upper, bit 1 ones for the
 * diagonal. Values of the other triangle are not read; those of a place are summed. */
#ifdef CLK_GLOBAL_MEM_FENCE
#define SP_JOIN barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#else
#define SP_JOIN local_barrier()
#endif
#define SP_READ(type, p)                                                               \
  p = (GLOBAL_MEM const type *)((GLOBAL_MEM const char *)p + p##_off)

KERNEL void SP_NAME(GLOBAL_MEM SP_VALUE *x, ga_size x_off,
                    GLOBAL_MEM const SP_VALUE *values, ga_size values_off,
                    GLOBAL_MEM const SP_INDEX *indices, ga_size indices_off,
                    GLOBAL_MEM const SP_INDEX *indptr, ga_size indptr_off,
                    ga_ulong rows, ga_ulong n, ga_ulong width, ga_long x_row,
                    ga_long x_column) {
  KERNEL_BEGIN;
  LOCAL_MEM SP_WORK sums[2 * SP_THREADS];
  x = (GLOBAL_MEM SP_VALUE *)((GLOBAL_MEM char *)x + x_off);
  SP_READ(SP_VALUE, values);
  SP_READ(SP_INDEX, indices);
  SP_READ(SP_INDEX, indptr);
  const ga_uint lid = (ga_uint)LID_0;
  for (ga_ulong column = GID_0; column < width; column += GDIM_0)
    for (ga_ulong turn = 0; turn < rows; turn++) {
      const ga_ulong row = SP_FORM % 2 ? rows - 1 - turn : turn;
      ga_ulong k = (ga_ulong)indptr[row], end = (ga_ulong)indptr[row + 1];
      end = end < n ? end : n;
      SP_WORK sum = SP_ZERO, diagonal = SP_ZERO;
      for (k += lid; k < end; k += SP_THREADS) {
        const ga_ulong j = (ga_ulong)indices[k];
        if (j == row)
          diagonal = SP_ADD(diagonal, SP_LOAD(values[k]));
        else if (SP_FORM % 2 ? j > row && j < rows : j < row)
          sum = SP_ADD(
              sum,
              SP_MUL(SP_LOAD(values[k]),
                     SP_LOAD(x[(ga_ssize)j * x_row + (ga_ssize)column * x_column])));
      }
      sums[lid] = sum;
      sums[SP_THREADS + lid] = diagonal;
      for (ga_uint step = SP_THREADS / 2; step > 0; step /= 2) {
        local_barrier();
        if (lid < step) {
          sums[lid] = SP_ADD(sums[lid], sums[lid + step]);
          sums[SP_THREADS + lid] =
              SP_ADD(sums[SP_THREADS + lid], sums[SP_THREADS + lid + step]);
        }
      }
      if (lid == 0) {
        const ga_ssize place = (ga_ssize)row * x_row + (ga_ssize)column * x_column;
        const SP_WORK rest = SP_SUB(SP_LOAD(x[place]), sums[0]);
        x[place] = SP_STORE(SP_FORM / 2 ? rest : SP_DIV(rest, sums[SP_THREADS]));
      }
      SP_JOIN;
    }
}
