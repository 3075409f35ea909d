/* GPU skinny GEMM, BL_SIDE columns: items of dimension 0 (of 1 if is_turned, for a
 * contiguous along columns) share the terms of BL_MANY rows of c and keep all their
 * sums; those of the other dimension have other rows. b passes through local memory,
 * BL_PIECE terms at a time. Split-K: groups of dimension 1 sum `terms` terms each, into
 * parts of c `part` elements apart. */
#include "words.cl.h"

#define BL_FETCH                                                                       \
  BL_EACH (u, BL_AT_ONCE)                                                              \
    if (p + u * lanes < count)                                                         \
      BL_EACH (r, BL_MANY) {                                                           \
        BL_LOAD(now[u][r], *row[r], 1)                                                 \
        row[r] += step;                                                                \
      }

KERNEL void BL_NAME(GLOBAL_MEM BL_S *c, ga_size c_off,
                    GLOBAL_MEM const BL_S *GA_APART a, ga_size a_off,
                    GLOBAL_MEM const BL_S *GA_APART b, ga_size b_off, ga_ssize m,
                    ga_ssize k, ga_ssize terms, ga_ssize part, ga_ssize ai, ga_ssize ak,
                    ga_ssize bk, ga_ssize bj, ga_ssize ci, ga_ssize cj, BL_R alpha,
                    BL_R beta, ga_int reads_c, ga_int is_turned) {
  KERNEL_BEGIN;
  LOCAL_MEM BL_PACK packs[(BL_LOCAL + BL_GW - 1) / BL_GW];
  LOCAL_MEM_ARG BL_T *shared = (LOCAL_MEM_ARG BL_T *)packs;
  LOCAL_MEM_ARG BL_T *sums = shared + BL_FOLD * BL_SIDE * BL_LINE;
  const ga_uint item = (ga_uint)(LID_1 * LDIM_0 + LID_0);
  const int lanes = (int)(is_turned ? LDIM_1 : LDIM_0);
  const int teams = (int)(is_turned ? LDIM_0 : LDIM_1);
  const int lane = (int)(is_turned ? LID_1 : LID_0);
  const int team = (int)(is_turned ? LID_0 : LID_1);
  const ga_ssize top = (ga_ssize)GID_0 * (BL_MANY * teams);
  const ga_ssize first = (ga_ssize)GID_1 * terms, step = lanes * ak;
  const ga_ssize last = first + terms < k ? first + terms : k;
  const int lines = BL_FOLD * BL_SIDE;
  GLOBAL_MEM const BL_S *row[BL_MANY];
  BL_T acc[BL_MANY][BL_SIDE];
  c = BL_AT(BL_S, c, c_off) + (ga_ssize)GID_1 * part;
  a = BL_AT(const BL_S, a, a_off) + (first + lane) * ak;
  b = BL_AT(const BL_S, b, b_off) + first * bk;
  BL_EACH (r, BL_MANY) {
    const ga_ssize i = top + team + r * teams;
    row[r] = a + (i < m ? i : m - 1) * ai;
    BL_EACH (j, BL_SIDE)
      BL_ZERO(acc[r][j]);
  }
  for (ga_ssize from = first; from < last; from += BL_PIECE) {
    const int count = (int)(last - from < BL_PIECE ? last - from : BL_PIECE);
    BL_T now[BL_AT_ONCE][BL_MANY];
    int p = lane;
    BL_FETCH
    if (from > first)
      local_barrier();
    if ((bk < bj) != (bk < -bj)) { /* |bk| < |bj| */
      for (int q = (int)item; q < count; q += BL_ITEMS)
        BL_EACH (j, BL_SIDE)
          BL_LOAD(shared[q * BL_LDB + j], b[q * bk + j * bj], 1)
    } else {
      const ga_uint all = (ga_uint)(count * BL_SIDE);
      for (ga_uint x = item; x < all; x += BL_SOME * BL_ITEMS) {
        BL_T some[BL_SOME];
        BL_EACH (u, BL_SOME) {
          const ga_uint at = x + u * BL_ITEMS;
          if (at < all)
            BL_LOAD(some[u], b[at / BL_SIDE * bk + at % BL_SIDE * bj], 1)
        }
        BL_EACH (u, BL_SOME) {
          const ga_uint at = x + u * BL_ITEMS;
          if (at < all)
            shared[at / BL_SIDE * BL_LDB + at % BL_SIDE] = some[u];
        }
      }
    }
    b += BL_PIECE * bk;
    local_barrier();
    while (p < count) {
      BL_EACH (u, BL_AT_ONCE)
        if (p + u * lanes < count) {
          LOCAL_MEM_ARG const BL_T *line = shared + (p + u * lanes) * BL_LDB;
          BL_T factor[BL_LDB];
          BL_STEPS (j, BL_SIDE, BL_GW)
            BL_TAKE((factor + j), (line + j))
          BL_EACH (j, BL_SIDE)
            BL_EACH (r, BL_MANY)
              BL_MAD(acc[r][j], now[u][r], factor[j]);
        }
      p += BL_AT_ONCE * lanes;
      BL_FETCH
    }
  }

  /* Reduction over the items that share terms, BL_FOLD rows at a time, in a fixed
   * order: 16 adjacent items, then their sums. */
  BL_STEPS (r0, BL_MANY, BL_FOLD) {
    local_barrier();
    BL_EACH (r, BL_FOLD)
      BL_EACH (j, BL_SIDE)
        shared[(r * BL_SIDE + j) * BL_LINE + team * lanes + lane] = acc[r0 + r][j];
    local_barrier();
    for (int x = (int)item; x < lines * (BL_ITEMS / 16); x += BL_ITEMS) {
      LOCAL_MEM_ARG const BL_T *given = shared + x % lines * BL_LINE + x / lines * 16;
      BL_T sum[4];
      BL_EACH (v, 4)
        sum[v] = given[v];
#pragma unroll
      for (int l = 4; l < 16; l += 4)
        BL_EACH (v, 4)
          BL_ADD(sum[v], given[l + v]);
      BL_ADD(sum[0], sum[1]);
      BL_ADD(sum[2], sum[3]);
      BL_ADD(sum[0], sum[2]);
      sums[x] = sum[0];
      if (lines <= 16)
        break; /* one iteration is enough */
    }
    local_barrier();
    for (int x = (int)item; x < lines * (BL_ITEMS / 16); x += BL_ITEMS) {
      const int line = x % lines, at = x / lines, each = lanes / 16;
      const ga_ssize i = top + at + (r0 + line / BL_SIDE) * teams;
      const int j = line % BL_SIDE;
      if (at < teams && i < m) {
        BL_T sum;
        BL_ZERO(sum);
#pragma unroll 1
        for (int g = 0; g < each; g += 4)
          BL_EACH (v, 4)
            if (g + v < each)
              BL_ADD(sum, sums[(at * each + g + v) * lines + line]);
        BL_FINISH(c[i * ci + j * cj], sum)
      }
      if (lines <= 16)
        break;
    }
  }
}
