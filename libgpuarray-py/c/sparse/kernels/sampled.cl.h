/* Sampled products: for each place of a matrix the dot product of a row of x and a
 * column of y, alpha (x y) + beta out. SP_LANES items take the terms in turn; on
 * processors one item does, and SP_PER sums at a time. Terms are adjacent in memory. */
#ifdef GA_HAS_SHUFFLES
#define SP_JOIN ga_warp_barrier()
#else
#define SP_JOIN local_barrier()
#endif
#define SP_READ(type, p)                                                               \
  p = (GLOBAL_MEM const type *)((GLOBAL_MEM const char *)p + p##_off)

KERNEL void SP_NAME(GLOBAL_MEM SP_VALUE *out, ga_size out_off,
                    GLOBAL_MEM const SP_INDEX *lines, ga_size lines_off,
                    GLOBAL_MEM const SP_INDEX *indices, ga_size indices_off,
                    GLOBAL_MEM const SP_VALUE *x, ga_size x_off,
                    GLOBAL_MEM const SP_VALUE *y, ga_size y_off, ga_ulong rows,
                    ga_ulong columns, ga_ulong n, ga_ulong depth, ga_long x_row,
                    ga_long y_column, SP_REAL alpha, SP_REAL alpha_im, SP_REAL beta,
                    SP_REAL beta_im, ga_int has_beta) {
  KERNEL_BEGIN;
#if SP_LANES > 1
  LOCAL_MEM SP_WORK sums[SP_THREADS];
#endif
  out = (GLOBAL_MEM SP_VALUE *)((GLOBAL_MEM char *)out + out_off);
  SP_READ(SP_INDEX, lines);
  SP_READ(SP_INDEX, indices);
  SP_READ(SP_VALUE, x);
  SP_READ(SP_VALUE, y);
#if SP_LANES > 1
  const ga_uint lid = (ga_uint)LID_0, lane = lid % SP_LANES;
  const ga_ulong at_once = SP_THREADS / SP_LANES;
  for (ga_ulong first = GID_0 * at_once; first < n; first += GDIM_0 * at_once) {
    const ga_ulong k = first + lid / SP_LANES;
    SP_WORK sum = SP_ZERO;
    const ga_ulong row = k < n ? (ga_ulong)lines[k] : rows;
    const ga_ulong column = k < n ? (ga_ulong)indices[k] : columns;
    if (row < rows && column < columns)
      for (ga_ulong t = lane; t < depth; t += SP_LANES)
        sum =
            SP_ADD(sum, SP_MUL(SP_LOAD(x[(ga_ssize)row * x_row + (ga_ssize)t]),
                               SP_LOAD(y[(ga_ssize)column * y_column + (ga_ssize)t])));
    SP_JOIN;
    sums[lid] = sum;
    for (ga_uint step = SP_LANES / 2; step > 0; step /= 2) {
      SP_JOIN;
      if (lane < step) {
        sum = SP_ADD(sum, sums[lid + step]);
        sums[lid] = sum;
      }
    }
    if (lane != 0 || k >= n)
      continue;
#else
  SP_EACH(k, n) {
    SP_WORK sum = SP_ZERO;
    const ga_ulong row = (ga_ulong)lines[k], column = (ga_ulong)indices[k];
    if (row < rows && column < columns) {
      GLOBAL_MEM const SP_VALUE *from = x + (ga_ssize)row * x_row;
      GLOBAL_MEM const SP_VALUE *other = y + (ga_ssize)column * y_column;
      ga_ulong t = 0;
      SP_WORK parts[SP_PER];
      for (ga_int p = 0; p < SP_PER; p++)
        parts[p] = SP_ZERO;
      for (; t + SP_PER <= depth; t += SP_PER)
        for (ga_int p = 0; p < SP_PER; p++)
          parts[p] =
              SP_ADD(parts[p], SP_MUL(SP_LOAD(from[t + p]), SP_LOAD(other[t + p])));
      for (; t < depth; t++)
        sum = SP_ADD(sum, SP_MUL(SP_LOAD(from[t]), SP_LOAD(other[t])));
      for (ga_int p = 0; p < SP_PER; p++)
        sum = SP_ADD(sum, parts[p]);
    }
#endif
    SP_WORK value = SP_MUL(SP_NUMBER(alpha, alpha_im), sum);
    if (has_beta)
      value = SP_ADD(value, SP_MUL(SP_NUMBER(beta, beta_im), SP_LOAD(out[k])));
    out[k] = SP_STORE(value);
  }
}
