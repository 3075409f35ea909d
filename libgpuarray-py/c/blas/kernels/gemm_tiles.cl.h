/* Tile loads and stores of an item. Modes: 0 scalar, any strides; 1 and 2 vectors of 16
 * bytes, contiguous along k or across. BL_ALONG and BL_ACROSS: coordinates in the tile,
 * along k and across, of the e-th element that an item loads. */
#include "gemm_words.cl.h"

#define BL_ITEMS (BL_BM / BL_TM * (BL_BN / BL_TN))
#define BL_LDA (BL_BM + BL_GW)
#define BL_LDB (BL_BN + BL_GW)
#define BL_NA (BL_BM * BL_BK / BL_ITEMS)
#define BL_NB (BL_BN * BL_BK / BL_ITEMS)
#define BL_DOWN(r) ((r) / BL_GW * (4 * BL_GW) + (r) % BL_GW)
#define BL_RIGHT(v) ((v) / BL_GW * (8 * BL_GW) + (v) % BL_GW)
#define BL_PACK_OF(e) (item + (e) / BL_GW * BL_ITEMS)
#define BL_ONE_OF(e) (item + (e) * BL_ITEMS)
#define BL_ALONG(e, size, mode, turned)                                                \
  (mode == 1   ? BL_PACK_OF(e) % (BL_BK / BL_GW) * BL_GW + (e) % BL_GW                 \
   : mode == 2 ? BL_PACK_OF(e) / (size / BL_GW)                                        \
   : turned    ? BL_ONE_OF(e) / size                                                   \
               : BL_ONE_OF(e) % BL_BK)
#define BL_ACROSS(e, size, mode, turned)                                               \
  (mode == 1   ? BL_PACK_OF(e) / (BL_BK / BL_GW)                                       \
   : mode == 2 ? BL_PACK_OF(e) % (size / BL_GW) * BL_GW + (e) % BL_GW                  \
   : turned    ? BL_ONE_OF(e) % size                                                   \
               : BL_ONE_OF(e) / BL_BK)

/* Clamps rows and columns at c's edges, whose results are not stored; terms from
 * `terms` on are 0. */
#define BL_FETCH(to, x, count, size, mode, turned, xi, xk, last, sign, terms)          \
  BL_STEPS (e, count, mode == 0 ? 1 : BL_GW) {                                         \
    const int i = BL_ACROSS(e, size, mode, turned);                                    \
    const int p = BL_ALONG(e, size, mode, turned);                                     \
    const BL_INDEX at = (i < last ? i : last) * (BL_INDEX)(xi) + p * (BL_INDEX)(xk);   \
    if ((terms) == BL_BK || p < (terms)) {                                             \
      if (mode == 0)                                                                   \
        BL_LOAD(to[e], x[at], sign)                                                    \
      else                                                                             \
        BL_LOAD_PACK((to + e), (x + at), sign)                                         \
    } else {                                                                           \
      BL_EACH (w, (mode == 0 ? 1 : BL_GW))                                             \
        BL_ZERO(to[e + w]);                                                            \
    }                                                                                  \
  }
#define BL_FETCH_BOTH(terms)                                                           \
  BL_FETCH(next_a, a, BL_NA, BL_BM, BL_A_MODE, a_turned, BL_A_MODE == 2 ? 1 : ai,      \
           a_along, high - (BL_A_MODE == 2 ? BL_GW : 1), a_sign, terms)                \
  BL_FETCH(next_b, b, BL_NB, BL_BN, BL_B_MODE, b_turned, BL_B_MODE == 2 ? 1 : bj,      \
           b_along, wide - (BL_B_MODE == 2 ? BL_GW : 1), b_sign, terms)

/* Loops over the valid vectors of an item's results: r, v, and the place in c. */
#define BL_EACH_PACK(body)                                                             \
  {                                                                                    \
    BL_UNROLL for (int r = 0; r < BL_TM; r++) BL_STEPS (v, BL_TN, BL_GW) {             \
      GLOBAL_MEM BL_S *to = c + BL_DOWN(r) * ci + BL_RIGHT(v);                         \
      if (row + BL_DOWN(r) < high && column + BL_RIGHT(v) < wide)                      \
        body                                                                           \
    }                                                                                  \
  }

#define BL_STASH(tile, x, count, size, ld, mode, turned)                               \
  BL_STEPS (e, count, mode == 2 ? BL_GW : 1) {                                         \
    LOCAL_MEM_ARG BL_T *to = tile + BL_ALONG(e, size, mode, turned) * ld +             \
                             BL_ACROSS(e, size, mode, turned);                         \
    if (mode == 2)                                                                     \
      BL_GIVE(to, (x + e))                                                             \
    else                                                                               \
      *to = x[e];                                                                      \
  }
#define BL_STASH_BOTH                                                                  \
  BL_STASH((as + side * (BL_BK * BL_LDA)), next_a, BL_NA, BL_BM, BL_LDA, BL_A_MODE,    \
           a_turned)                                                                   \
  BL_STASH((bs + side * (BL_BK * BL_LDB)), next_b, BL_NB, BL_BN, BL_LDB, BL_B_MODE,    \
           b_turned)
