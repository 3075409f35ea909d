/* Sampled products: for each place of a matrix the dot product of a row of x and a
 * column of y, alpha (x y) + beta out. SP_LANES items take the terms in turn, with
 * SP_PACKS four adjacent ones each, of SP_AHEAD places at once; on processors one item
 * does, and SP_PER sums at a time. Terms are adjacent in memory. */
#include "pack_words.cl.h"

#ifdef GA_HAS_SHUFFLES
#define SP_JOIN ga_warp_barrier()
#else
#define SP_JOIN local_barrier()
#endif
#define SP_AHEAD 4
#define SP_PLAIN(place) (place)
#define SP_PUT(k, sum)                                                                 \
  {                                                                                    \
    SP_WORK value = SP_MUL(SP_NUMBER(alpha, alpha_im), sum);                           \
    if (has_beta)                                                                      \
      value = SP_ADD(value, SP_MUL(SP_NUMBER(beta, beta_im), SP_LOAD(out[k])));        \
    out[k] = SP_STORE(value);                                                          \
  }

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
  LOCAL_MEM SP_WORK sums[SP_AHEAD * SP_THREADS];
#endif
  SP_WRITTEN(SP_VALUE, out);
  SP_READ(SP_INDEX, lines);
  SP_READ(SP_INDEX, indices);
  SP_READ(SP_VALUE, x);
  SP_READ(SP_VALUE, y);
#if SP_LANES > 1
  const ga_uint lid = (ga_uint)LID_0, lane = lid % SP_LANES;
  const ga_ulong at_once = SP_AHEAD * (SP_THREADS / SP_LANES);
  for (ga_ulong first = GID_0 * at_once; first < n; first += GDIM_0 * at_once) {
    const ga_ulong k = first + SP_AHEAD * (lid / SP_LANES);
    SP_WORK sum[SP_AHEAD];
    GLOBAL_MEM const SP_VALUE *from[SP_AHEAD], *other[SP_AHEAD];
    ga_int is_here[SP_AHEAD];
#pragma unroll
    for (ga_uint u = 0; u < SP_AHEAD; u++) {
      const ga_ulong at = k + u < n ? k + u : n - 1;
      const ga_ulong row = (ga_ulong)lines[at], column = (ga_ulong)indices[at];
      sum[u] = SP_ZERO;
      is_here[u] = k + u < n && row < rows && column < columns;
      from[u] = x + (is_here[u] ? (ga_ssize)row * x_row : 0);
      other[u] = y + (is_here[u] ? (ga_ssize)column * y_column : 0);
    }
#if SP_PACKS
    for (ga_ulong t = 4 * lane; t < depth; t += 4 * SP_LANES) {
      SP_FOUR(SP_VALUE, SP_PACKS) a[SP_AHEAD];
      SP_FOUR(SP_VALUE, SP_PACKS) b[SP_AHEAD];
#pragma unroll
      for (ga_uint u = 0; u < SP_AHEAD; u++) {
        if (is_here[u]) {
          SP_LOAD_FOUR(SP_PLAIN, a[u], from[u] + t, SP_PACKS)
          SP_LOAD_FOUR(SP_PLAIN, b[u], other[u] + t, SP_PACKS)
        }
      }
#pragma unroll
      for (ga_uint u = 0; u < SP_AHEAD; u++)
#pragma unroll
        for (ga_uint v = 0; v < 4 && is_here[u]; v++)
          sum[u] = SP_ADD(sum[u], SP_MUL(SP_LOAD(a[u].own[v]), SP_LOAD(b[u].own[v])));
    }
#else
    for (ga_ulong t = lane; t < depth; t += SP_LANES)
#pragma unroll
      for (ga_uint u = 0; u < SP_AHEAD; u++)
        if (is_here[u])
          sum[u] = SP_ADD(sum[u], SP_MUL(SP_LOAD(from[u][t]), SP_LOAD(other[u][t])));
#endif
    SP_JOIN;
#pragma unroll
    for (ga_uint u = 0; u < SP_AHEAD; u++)
      sums[u * SP_THREADS + lid] = sum[u];
    for (ga_uint step = SP_LANES / 2; step > 0; step /= 2) {
      SP_JOIN;
      if (lane < step)
#pragma unroll
        for (ga_uint u = 0; u < SP_AHEAD; u++) {
          sum[u] = SP_ADD(sum[u], sums[u * SP_THREADS + lid + step]);
          sums[u * SP_THREADS + lid] = sum[u];
        }
    }
    SP_JOIN;
    for (ga_uint u = lane; u < SP_AHEAD; u += SP_LANES) {
      if (k + u >= n)
        break;
      const SP_WORK own = sums[u * SP_THREADS + lid - lane];
      SP_PUT(k + u, own)
    }
  }
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
    SP_PUT(k, sum)
  }
#endif
}
