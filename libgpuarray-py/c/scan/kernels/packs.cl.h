/* Long contiguous rows, read once, with vector loads.
 *
 * A warp's elements are adjacent: in each of SC_ROUNDS rounds a lane loads and stores
 * SC_PACK elements as a vector. So no transpose in local memory is needed, and a tile
 * fills the group's registers. The alignment attribute stands before the name: NVRTC
 * ignores it behind the braces, and would move single elements. */
#include "words.cl.h"

typedef struct __attribute__((aligned(SC_ALIGN_IN))) SC_PACK_IN {
  SC_IN e[SC_PACK];
} SC_PACK_IN;
typedef struct __attribute__((aligned(SC_ALIGN_OUT))) SC_PACK_OUT {
  SC_OUT e[SC_PACK];
} SC_PACK_OUT;

#include "lookback.cl.h"

SC_KERNEL void SC_NAME(SC_PARAMETERS) {
  KERNEL_BEGIN;
  SC_BEGIN;
#define SC_I id
  LOCAL_MEM SC_ACC sums[SC_BLOCK / 32];
  LOCAL_MEM SC_ACC ahead[1];
  LOCAL_MEM ga_uint ticket[1];
  const int id = (int)LID_0, lane = id & 31, warp = id >> 5, valid = 1;
  if (id == 0)
    ticket[0] = atom_add_Ig((GLOBAL_MEM ga_uint *)part, 1);
  part++;
  local_barrier();
  const SC_INT turn = (SC_INT)ticket[0], at_chunk = turn / rows;
  const SC_INT row = turn - at_chunk * rows, from = at_chunk * chunk;
  const SC_INT column = 0;
  const int count = (int)(length - from < chunk ? length - from : chunk);
  const int first = (warp * (32 * SC_ROUNDS) + lane) * SC_PACK;
#define SC_AT(r, v) (first + (r) * (32 * SC_PACK) + (v))
  SC_LINE
  /* Full unrolling keeps the arrays in registers. */
  GLOBAL_MEM const SC_IN *xt = (GLOBAL_MEM const SC_IN *)xp + from;
  GLOBAL_MEM SC_OUT *ot = (GLOBAL_MEM SC_OUT *)op + from;
  SC_ACC acc[SC_ROUNDS][SC_PACK], sum[SC_ROUNDS];
  if (count == SC_BLOCK * SC_ROUNDS * SC_PACK) {
#pragma unroll
    for (int r = 0; r < SC_ROUNDS; r++) {
      const SC_PACK_IN pack = *(GLOBAL_MEM const SC_PACK_IN *)(xt + SC_AT(r, 0));
#pragma unroll
      for (int v = 0; v < SC_PACK; v++)
        acc[r][v] = SC_READ(pack.e[v]);
    }
  } else {
#pragma unroll
    for (int r = 0; r < SC_ROUNDS; r++) {
#pragma unroll
      for (int v = 0; v < SC_PACK; v++) {
        acc[r][v] = SC_IDENTITY;
        if (SC_AT(r, v) < count)
          acc[r][v] = SC_LOAD(xt + SC_AT(r, v));
      }
    }
  }

/* sum[r]: exclusive scan of the packs in the warp. */
#pragma unroll
  for (int r = 0; r < SC_ROUNDS; r++) {
#pragma unroll
    for (int v = 1; v < SC_PACK; v++)
      acc[r][v] = SC_COMBINE(acc[r][v - 1], acc[r][v]);
    sum[r] = acc[r][SC_PACK - 1];
  }
  for (int s = 1; s < 32; s <<= 1) {
#pragma unroll
    for (int r = 0; r < SC_ROUNDS; r++) {
      const SC_ACC other = SC_UP(sum[r], s);
      if (lane >= s)
        sum[r] = SC_COMBINE(other, sum[r]);
    }
  }
  SC_ACC total = SC_IDENTITY, carry = total, before = total;
  int has_carry = 0;
#pragma unroll
  for (int r = 0; r < SC_ROUNDS; r++) {
    const SC_ACC all = SC_FROM(sum[r], 31), other = SC_UP(sum[r], 1);
    sum[r] = r == 0 ? other : lane > 0 ? SC_COMBINE(total, other) : total;
    total = r == 0 ? all : SC_COMBINE(total, all);
  }
  if (lane == 0)
    sums[warp] = total;
  local_barrier();
  for (int w = 0; w < SC_BLOCK / 32; w++) {
    if (w == warp)
      before = total;
    total = w > 0 ? SC_COMBINE(total, sums[w]) : sums[0];
  }
#include "lookback_prefix.cl.h"
  const int has_warp = has_carry || warp > 0;
  if (has_carry)
    before = warp > 0 ? SC_COMBINE(carry, before) : carry;
#pragma unroll
  for (int r = 0; r < SC_ROUNDS; r++) {
    const int has_own = r > 0 || lane > 0, has = has_own || has_warp;
    SC_ACC base = before;
    if (has_own)
      base = has_warp ? SC_COMBINE(before, sum[r]) : sum[r];
    SC_PACK_OUT pack;
#pragma unroll
    for (int v = 0; v < SC_PACK; v++)
      if (has)
        acc[r][v] = SC_COMBINE(base, acc[r][v]);
    if (mode & 1) {
#pragma unroll
      for (int v = SC_PACK - 1; v > 0; v--)
        acc[r][v] = acc[r][v - 1];
      acc[r][0] = has ? base : SC_IDENTITY;
    }
#pragma unroll
    for (int v = 0; v < SC_PACK; v++)
      pack.e[v] = SC_KEEP(acc[r][v]);
    if (SC_AT(r, SC_PACK - 1) < count) {
      *(GLOBAL_MEM SC_PACK_OUT *)(ot + SC_AT(r, 0)) = pack;
    } else {
#pragma unroll
      for (int v = 0; v < SC_PACK; v++)
        if (SC_AT(r, v) < count)
          ot[SC_AT(r, v)] = pack.e[v];
    }
  }
}
