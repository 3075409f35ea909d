/* GPU GEMM. A group computes a tile of BL_BM by BL_BN elements of c, an item BL_TM by
 * BL_TN in registers, as vectors interleaved over 4 by 8 items: a warp reads local
 * memory without bank conflicts, each 8 items 2 vectors of a and 4 of b (10 % faster
 * than 1 and 8 on an H100). Double buffering: the next tile is loaded to registers
 * while one is used. Groups are rasterized in bands of BL_BAND tiles, whose operands
 * stay in the L2 cache. */
#include "gemm_tiles.cl.h"

KERNEL void BL_NAME(BL_GEMM_PARAMETERS) {
  KERNEL_BEGIN;
  BL_GEMM_BEGIN;
  LOCAL_MEM BL_PACK a_packs[2 * BL_BK * BL_LDA / BL_GW];
  LOCAL_MEM BL_PACK b_packs[2 * BL_BK * BL_LDB / BL_GW];
  LOCAL_MEM_ARG BL_T *as = (LOCAL_MEM_ARG BL_T *)a_packs;
  LOCAL_MEM_ARG BL_T *bs = (LOCAL_MEM_ARG BL_T *)b_packs;
  const int item = (int)LID_0, lane = item % 32, warp = item / 32;
  const int row =
      warp / (BL_BN / (8 * BL_TN)) * (4 * BL_TM) + GA_TILE_ROW(lane) * BL_GW;
  const int column =
      warp % (BL_BN / (8 * BL_TN)) * (8 * BL_TN) + GA_TILE_COLUMN(lane) * BL_GW;
  const ga_uint across = (ga_uint)((n + BL_BN - 1) / BL_BN);
  const ga_uint down = (ga_uint)((m + BL_BM - 1) / BL_BM), group = (ga_uint)GID_0;
  const ga_uint first = group / (BL_BAND * across) * BL_BAND;
  const ga_uint height = down - first < BL_BAND ? down - first : BL_BAND;
  const ga_uint place = group - first * across;
  const ga_ssize top = (ga_ssize)(first + place % height) * BL_BM;
  const ga_ssize left = (ga_ssize)(place / height) * BL_BN;
  /* Valid size of the tile. */
  const int high = (int)(m - top < BL_BM ? m - top : BL_BM);
  const int wide = (int)(n - left < BL_BN ? n - left : BL_BN);
  /* Contiguous axis: |ai| < |ak|, |bj| < |bk|. */
  const int a_turned = (ai < ak) != (ai < -ak);
  const int b_turned = (bj < bk) != (bj < -bk);
  const ga_ssize a_along = BL_A_MODE == 1 ? 1 : ak;
  const ga_ssize b_along = BL_B_MODE == 1 ? 1 : bk;
  BL_T acc[BL_TM][BL_TN], next_a[BL_NA], next_b[BL_NB];
  int side = 0;
  a += top * ai;
  b += left * bj;
  c += (top + row) * ci + (left + column) * cj;
  BL_EACH (r, BL_TM)
    BL_EACH (v, BL_TN)
      BL_ZERO(acc[r][v]);
  /* The first tile takes the remainder of k. */
  const int begin = k > 0 ? (int)((k - 1) % BL_BK) + 1 : 0;
  BL_FETCH_BOTH(begin)
  a += begin * a_along;
  b += begin * b_along;
  for (ga_ssize rest = k - begin;; rest -= BL_BK) {
    BL_STASH_BOTH
    local_barrier();
    if (rest > 0) {
      BL_FETCH_BOTH(BL_BK)
    }
    LOCAL_MEM_ARG const BL_T *at = as + side * (BL_BK * BL_LDA) + row;
    LOCAL_MEM_ARG const BL_T *bt = bs + side * (BL_BK * BL_LDB) + column;
    GA_TILE_TERMS
    for (int p = 0; p < BL_BK; p++) {
      BL_T fa[BL_TM], fb[BL_TN];
      BL_STEPS (r, BL_TM, BL_GW)
        BL_TAKE((fa + r), (at + p * BL_LDA + BL_DOWN(r)))
      BL_STEPS (v, BL_TN, BL_GW)
        BL_TAKE((fb + v), (bt + p * BL_LDB + BL_RIGHT(v)))
      BL_EACH (r, BL_TM)
        BL_EACH (v, BL_TN)
          BL_MAD(acc[r][v], fa[r], fb[v]);
    }
    if (rest <= 0)
      break;
    a += BL_BK * a_along;
    b += BL_BK * b_along;
    side = 1 - side;
  }
  if (cj == 1 && ci % BL_GW == 0 && n % BL_GW == 0 &&
      (ga_size)c % (BL_GW * sizeof(BL_S)) == 0) {
    BL_EACH (r, BL_TM)
      BL_EACH (v, BL_TN) {
        const BL_T sum = acc[r][v];
        BL_ZERO(acc[r][v]);
        BL_MAD(acc[r][v], alpha, sum);
      }
    if (reads_c)
      BL_EACH_PACK({
        BL_T old[BL_GW];
        BL_LOAD_PACK(old, to, 1)
        BL_EACH (w, BL_GW)
          BL_MAD(acc[r][v + w], beta, old[w]);
      })
    BL_EACH_PACK(BL_SAVE_PACK(to, (acc[r] + v)))
  } else {
    BL_T one[BL_TM * BL_TN];
    BL_EACH (x, BL_TM * BL_TN)
      one[x] = acc[x / BL_TN][x % BL_TN];
#pragma unroll 1
    for (int x = 0; x < BL_TM * BL_TN; x++) {
      const int i = BL_DOWN(x / BL_TN), j = BL_RIGHT(x % BL_TN);
      if (row + i < high && column + j < wide)
        BL_FINISH(c[i * ci + j * cj], one[x])
    }
  }
}
