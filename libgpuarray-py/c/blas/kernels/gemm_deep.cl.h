/* GPU GEMM of few tiles with many terms: the BL_TEAMS teams of a group share the terms
 * of its tile, and their sums meet in local memory. */
#include "gemm_tiles.cl.h"

/* Sum at (ga_i_x0, ga_i_x1), for the epilogue. */
#define BL_SUM sum

#if BL_ITEMS == 32 && defined(ga_warp_barrier)
#define BL_TEAM_BARRIER ga_warp_barrier()
#else
#define BL_TEAM_BARRIER local_barrier()
#endif
/* BL_TN elements of b. */
#if BL_TN % BL_GW == 0
#define BL_TAKE_B(r, q)                                                                \
  BL_STEPS (v, BL_TN, BL_GW)                                                           \
    BL_TAKE((r + v), (q + v))
#else
#define BL_TAKE_B(r, q)                                                                \
  {                                                                                    \
    const ga_float2 w_ = *(LOCAL_MEM_ARG const ga_float2 *)(q);                        \
    (r)[0] = w_.x;                                                                     \
    (r)[1] = w_.y;                                                                     \
  }
#endif
#define BL_POOL GA_DECL_SHARED_PARAM(BL_PACK, packs)
/* The next tile's terms of a team; `left_over` of them are its own. */
#define BL_FETCH_TEAM                                                                  \
  {                                                                                    \
    const int terms = left_over < BL_BK ? (int)left_over : BL_BK;                      \
    BL_FETCH(next_a, a, BL_NA, BL_BM, BL_A_MODE, 0, BL_A_MODE == 2 ? 1 : ai,           \
             BL_A_MODE == 1 ? 1 : ak, high - (BL_A_MODE == 2 ? BL_GW : 1), 1, terms)   \
    BL_FETCH(next_b, b, BL_NB, BL_BN, BL_B_MODE, 0, BL_B_MODE == 2 ? 1 : bj,           \
             BL_B_MODE == 1 ? 1 : bk, wide - (BL_B_MODE == 2 ? BL_GW : 1), 1, terms)   \
  }

KERNEL_SIZED(BL_ITEMS *BL_TEAMS, 1)
void BL_NAME(GLOBAL_MEM const BL_S *GA_APART a, ga_size a_off,
             GLOBAL_MEM const BL_S *GA_APART b, ga_size b_off, ga_ssize m, ga_ssize n,
             ga_ssize k, ga_ssize ai, ga_ssize ak, ga_ssize bk,
             ga_ssize bj BL_OUTPUTS BL_POOL) {
  KERNEL_BEGIN;
  GA_DECL_SHARED_BODY(BL_PACK, packs)
  BL_START
  const int item = (int)LID_0 % BL_ITEMS, team = (int)LID_0 / BL_ITEMS;
  const int row = item / (BL_BN / BL_TN) * BL_TM;
  const int column = item % (BL_BN / BL_TN) * BL_TN;
  const ga_uint across = (ga_uint)((n + BL_BN - 1) / BL_BN);
  const ga_ssize top = (ga_ssize)((ga_uint)GID_0 / across) * BL_BM;
  const ga_ssize left = (ga_ssize)((ga_uint)GID_0 % across) * BL_BN;
  const int high = (int)(m - top < BL_BM ? m - top : BL_BM);
  const int wide = (int)(n - left < BL_BN ? n - left : BL_BN);
  const ga_ssize share = (k + BL_TEAMS * BL_BK - 1) / (BL_TEAMS * BL_BK) * BL_BK;
  ga_ssize left_over = k - team * share < share ? k - team * share : share;
  LOCAL_MEM_ARG BL_T *sums = (LOCAL_MEM_ARG BL_T *)packs;
  LOCAL_MEM_ARG BL_T *as = sums + team * (2 * BL_BK * BL_LDA);
  LOCAL_MEM_ARG BL_T *bs =
      sums + BL_TEAMS * (2 * BL_BK * BL_LDA) + team * (2 * BL_BK * BL_LDB);
  BL_T acc[BL_TM][BL_TN], next_a[BL_NA], next_b[BL_NB];
  int side = 0;
  a = BL_AT(const BL_S, a, a_off) + top * ai + team * share * ak;
  b = BL_AT(const BL_S, b, b_off) + left * bj + team * share * bk;
  BL_EACH (r, BL_TM)
    BL_EACH (v, BL_TN)
      BL_ZERO(acc[r][v]);
  BL_FETCH_TEAM
  for (ga_ssize rest = share; rest > 0; rest -= BL_BK) {
    BL_STASH((as + side * (BL_BK * BL_LDA)), next_a, BL_NA, BL_BM, BL_LDA, BL_A_MODE, 0)
    BL_STASH((bs + side * (BL_BK * BL_LDB)), next_b, BL_NB, BL_BN, BL_LDB, BL_B_MODE, 0)
    BL_TEAM_BARRIER;
    a += BL_BK * ak;
    b += BL_BK * bk;
    left_over -= BL_BK;
    if (rest > BL_BK)
      BL_FETCH_TEAM
    LOCAL_MEM_ARG const BL_T *at = as + side * (BL_BK * BL_LDA) + row;
    LOCAL_MEM_ARG const BL_T *bt = bs + side * (BL_BK * BL_LDB) + column;
    GA_TILE_TERMS
    for (int p = 0; p < BL_BK; p++) {
      BL_T fa[BL_TM], fb[BL_TN];
      BL_STEPS (r, BL_TM, BL_GW)
        BL_TAKE((fa + r), (at + p * BL_LDA + r))
      BL_TAKE_B(fb, bt + p * BL_LDB)
      BL_EACH (r, BL_TM)
        BL_EACH (v, BL_TN)
          BL_MAD(acc[r][v], fa[r], fb[v]);
    }
    side = 1 - side;
  }
  local_barrier();
  BL_EACH (r, BL_TM)
    BL_EACH (v, BL_TN)
      sums[team * (BL_BM * BL_BN) + (row + r) * BL_BN + column + v] = acc[r][v];
  local_barrier();
  for (int x = (int)LID_0; x < BL_BM * BL_BN; x += BL_ITEMS * BL_TEAMS) {
    const ga_ssize ga_i_x0 = top + x / BL_BN, ga_i_x1 = left + x % BL_BN;
    BL_T sum = sums[x];
    BL_EACH (t, BL_TEAMS - 1)
      BL_ADD(sum, sums[(t + 1) * (BL_BM * BL_BN) + x]);
    if (ga_i_x0 < m && ga_i_x1 < n) {
      BL_STORE
    }
  }
}
