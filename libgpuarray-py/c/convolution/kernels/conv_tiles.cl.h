/* Convolution on GPUs as a product of matrices that never are in memory (implicit
 * GEMM): c[m, n] is the sum over k of a[m, k] b[k, n], where columns n and terms k are
 * each an outer index and up to three axes, and b is an array read at the sum of the
 * two, or 0 outside of it.
 *
 * A group computes a tile of CV_BM by CV_BN elements, an item CV_TM by CV_TN of them in
 * registers, its warp as 4 by 8 items. The next CV_BK terms are loaded to registers
 * while the last ones, in local memory, are used. What a term adds to an address and to
 * coordinates is computed by one item for the group, a tile ahead.
 *
 * With CV_IS_MASKED the axes of terms have at most 32 elements together, and a column
 * has a bit for each that is inside of b. In float on an H200, 64 x 64 x 56 x 56 by 64
 * filters of 3 x 3 are 36 TFLOP/s, 33 without masks and with CV_BK 8. */
#include "conv_packs.cl.h"
#include "conv_words.cl.h"

#define CV_KERNEL KERNEL_SIZED(CV_ITEMS, CV_BLOCKS)
#define CV_ITEMS (CV_BM / CV_TM * (CV_BN / CV_TN))
#define CV_LDA (CV_BM + CV_GW)
#define CV_LDB (CV_BN + CV_GW)
/* Elements of a that an item loads; columns of b, and terms of each. */
#define CV_NA ((CV_BM * CV_BK + CV_ITEMS - 1) / CV_ITEMS)
#define CV_WIDE (CV_BN > CV_ITEMS ? CV_BN / CV_ITEMS : 1)
#define CV_STEP (CV_BN > CV_ITEMS ? 1 : CV_ITEMS / CV_BN)
#define CV_NB (CV_BK / CV_STEP)
#define CV_ACROSS (CV_BN / (8 * CV_TN)) /* warps */
#define CV_GM (CV_TM < CV_GW ? CV_TM : CV_GW)
#define CV_DOWN(r) ((r) / CV_GM * (4 * CV_GM) + (r) % CV_GM)
#define CV_RIGHT(v) ((v) / CV_GW * (8 * CV_GW) + (v) % CV_GW)

/* Unrolling of the loop over a tile's terms. In two rounds NVRTC takes a third less
 * time for 16 terms of 8 by 8 elements. Where registers spill that is no longer to run,
 * else by up to 1 %. */
#if CV_TM * CV_TN * CV_BK > 512 && CV_BM < 128 && CV_AXES == 2
#define CV_UNROLLED (CV_BK / 2)
#define CV_UNROLL _Pragma("unroll 1")
#else
#define CV_UNROLLED 1
#define CV_UNROLL GA_TILE_TERMS
#endif

#define CV_SUM acc[r][v]
#define CV_STORED *to
/* Row r of an item's results, and the way from it to the next one. */
#if CV_IS_MAPPED
#define CV_ROW(r) const int ga_i_x1 = top + row + CV_DOWN(r);
#define CV_BELOW(r)
#else
#define CV_ROW(r)
#define CV_BELOW(r) to += (CV_DOWN(r + 1) - CV_DOWN(r)) * (ga_ssize)c_m;
#endif

#if CV_AXES == 3
#define CV_NEXT0(name, length) CV_NEXT(name, length)
#define CV_IS_INSIDE0(x) &((ga_uint)(x) < (ga_uint)length0)
#else
#define CV_NEXT0(name, length) const int name = 0;
#define CV_IS_INSIDE0(x)
#endif

/* What a term adds: to the addresses of a and b; to coordinates, or its bit. */
typedef struct CV_TERM {
  int a, b;
#if CV_IS_MASKED
  ga_uint bit;
#else
  int at0, at1, at2;
#endif
} CV_TERM;

#if CV_TM < CV_GW
#define CV_TAKE_ROWS(r, q)                                                             \
  CV_EACH (i_, CV_GM)                                                                  \
    (r)[i_] = (q)[i_];
#else
#define CV_TAKE_ROWS(r, q) CV_TAKE(r, q)
#endif

#if CV_IS_MASKED
#define CV_IS_INSIDE(t, w) (((t)->bit & mask[w]) != 0)
#define CV_PLACE(t, k0, k1, k2, is_term)                                               \
  (t)->bit = (is_term) ? 1u << (((k0) * k_1 + (k1)) * k_2 + (k2)) : 0;
#else
/* Without branches, which && would make. */
#define CV_IS_INSIDE(t, w)                                                             \
  (((ga_uint)((t)->at2 + at2[w]) < (ga_uint)length2) &                                 \
   ((ga_uint)((t)->at1 + at1[w]) < (ga_uint)length1) CV_IS_INSIDE0((t)->at0 + at0[w]))
#define CV_PLACE(t, k0, k1, k2, is_term)                                               \
  (t)->at0 = (k0) * by_0;                                                              \
  (t)->at1 = (k1) * by_1;                                                              \
  (t)->at2 = (is_term) ? (k2) * by_2 : 1 << 30;
#endif

/* Loads the tile whose terms are described in slot `side`. */
#define CV_FETCH(side)                                                                 \
  CV_EACH (e, CV_NA) {                                                                 \
    const int r = item / CV_BK + e * (CV_ITEMS / CV_BK);                               \
    const int row = top + r < m ? top + r : m - 1;                                     \
    LOCAL_MEM_ARG const CV_TERM *t = terms + (side) * CV_BK + item % CV_BK;            \
    next_a[e] = t->a < 0 ? 0 : CV_LOAD(a[row * a_m + t->a]);                           \
  }                                                                                    \
  CV_EACH (e, CV_NB) {                                                                 \
    LOCAL_MEM_ARG const CV_TERM *t =                                                   \
        terms + (side) * CV_BK + item / CV_BN + e * CV_STEP;                           \
    CV_EACH (w, CV_WIDE)                                                               \
      next_b[w][e] = CV_IS_INSIDE(t, w) ? CV_LOAD(b[base[w] + t->b]) : 0;              \
  }
#define CV_STASH(side)                                                                 \
  CV_EACH (e, CV_NA) {                                                                 \
    const int r = item / CV_BK + e * (CV_ITEMS / CV_BK);                               \
    if (CV_BM * CV_BK % CV_ITEMS == 0 || r < CV_BM)                                    \
      as[(side) * CV_BK * CV_LDA + item % CV_BK * CV_LDA + r] = next_a[e];             \
  }                                                                                    \
  CV_EACH (w, CV_WIDE)                                                                 \
    CV_EACH (e, CV_NB)                                                                 \
      bs[((side) * CV_BK + item / CV_BN + e * CV_STEP) * CV_LDB + item % CV_BN +       \
         w * CV_ITEMS] = next_b[w][e];
/* Describes terms `from` + item. Those behind the last have no place in b. */
#define CV_DESCRIBE(side, from)                                                        \
  if (item < CV_BK) {                                                                  \
    LOCAL_MEM_ARG CV_TERM *t = terms + (side) * CV_BK + item;                          \
    int rest = (from) + item;                                                          \
    const bool is_term = rest < last;                                                  \
    CV_NEXT(k2, k_2)                                                                   \
    CV_NEXT(k1, k_1)                                                                   \
    CV_NEXT0(k0, k_0)                                                                  \
    t->a = is_term ? rest * a_o + k0 * a_0 + k1 * a_1 + k2 * a_2 + a_first : -1;       \
    t->b = rest * b_k + k0 * by_0 * b_0 + k1 * by_1 * b_1 + k2 * by_2 * b_2;           \
    CV_PLACE(t, k0, k1, k2, is_term)                                                   \
  }

#define CV_PARAMETERS                                                                  \
  GLOBAL_MEM CV_OUT *c, ga_size c_off, GLOBAL_MEM const CV_TYPE *GA_APART a,           \
      ga_size a_off, GLOBAL_MEM const CV_TYPE *GA_APART b, ga_size b_off, int m,       \
      int n, int k, int part, int n_0, int n_1, int n_2, int k_0, int k_1, int k_2,    \
      int step_0, int step_1, int step_2, int first_0, int first_1, int first_2,       \
      int by_0, int by_1, int by_2, int length0, int length1, int length2, int b_n,    \
      int b_k, int b_0, int b_1, int b_2, int a_first, int a_m, int a_o, int a_0,      \
      int a_1, int a_2, int c_m, int c_o, int c_0, int c_1, int c_2, int a_group,      \
      int b_group, int c_group, int c_part CV_MAPPED

CV_KERNEL void CV_NAME(CV_PARAMETERS) {
  KERNEL_BEGIN;
  CV_STARTS
  LOCAL_MEM CV_PACK a_packs[2 * CV_BK * CV_LDA / CV_GW];
  LOCAL_MEM CV_PACK b_packs[2 * CV_BK * CV_LDB / CV_GW];
  LOCAL_MEM CV_TERM terms[2 * CV_BK];
  LOCAL_MEM int places[CV_BN]; /* of columns in c */
  LOCAL_MEM_ARG CV_ACC *as = (LOCAL_MEM_ARG CV_ACC *)a_packs;
  LOCAL_MEM_ARG CV_ACC *bs = (LOCAL_MEM_ARG CV_ACC *)b_packs;
  const int item = (int)LID_0, lane = item % 32, warp = item / 32;
  const int row = warp / CV_ACROSS * (4 * CV_TM) + GA_TILE_ROW(lane) * CV_GM;
  const int column = warp % CV_ACROSS * (8 * CV_TN) + GA_TILE_COLUMN(lane) * CV_GW;
  /* Tiles of the same columns, which read the same of b, run together. */
  const int down = (m + CV_BM - 1) / CV_BM;
  const int top = (int)GID_0 % down * CV_BM, left = (int)GID_0 / down * CV_BN;
  const int begin = (int)GID_1 * part;
  const int last = k - begin < part ? k : begin + part;
  int base[CV_WIDE], at0[CV_WIDE], at1[CV_WIDE], at2[CV_WIDE];
#if CV_IS_MASKED
  ga_uint mask[CV_WIDE];
#endif
  CV_ACC acc[CV_TM][CV_TN], next_a[CV_NA], next_b[CV_WIDE][CV_NB];
  int side = 0;
  a = CV_AT(const CV_TYPE, a, a_off) + (int)GID_2 * a_group;
  b = CV_AT(const CV_TYPE, b, b_off) + (int)GID_2 * b_group;
  c = CV_AT(CV_OUT, c, c_off) + (int)GID_2 * c_group + (int)GID_1 * c_part;
  CV_EACH (w, CV_WIDE) {
    int rest = left + item % CV_BN + w * CV_ITEMS;
    rest = rest < n ? rest : n - 1;
    CV_NEXT(i2, n_2)
    CV_NEXT(i1, n_1)
    CV_NEXT0(i0, n_0)
    at0[w] = i0 * step_0 + first_0;
    at1[w] = i1 * step_1 + first_1;
    at2[w] = i2 * step_2 + first_2;
    if (item < CV_BN)
      places[item % CV_BN + w * CV_ITEMS] = rest * c_o + i0 * c_0 + i1 * c_1 + i2 * c_2;
    base[w] = rest * b_n + at0[w] * b_0 + at1[w] * b_1 + at2[w] * b_2;
#if CV_IS_MASKED
    ga_uint inside = 0, bit = 1;
    for (int k0 = 0; k0 < (CV_AXES == 3 ? k_0 : 1); k0++)
      for (int k1 = 0; k1 < k_1; k1++)
        for (int k2 = 0; k2 < k_2; k2++, bit <<= 1)
          if (((ga_uint)(at2[w] + k2 * by_2) < (ga_uint)length2) &
              ((ga_uint)(at1[w] + k1 * by_1) < (ga_uint)length1)
                  CV_IS_INSIDE0(at0[w] + k0 * by_0))
            inside |= bit;
    mask[w] = inside;
#endif
  }
  CV_EACH (r, CV_TM)
    CV_EACH (v, CV_TN)
      acc[r][v] = 0;
#pragma unroll 1
  for (int slot = 0; slot < 2; slot++)
    CV_DESCRIBE(slot, begin + slot * CV_BK)
  local_barrier();
  CV_FETCH(0)
  CV_STASH(0)
  local_barrier();
  /* The last round loads a tile of no terms: a branch takes longer. */
  for (int from = begin; from < last; from += CV_BK) {
    CV_FETCH(1 - side)
    CV_DESCRIBE(side, from + 2 * CV_BK)
    LOCAL_MEM_ARG const CV_ACC *at = as + side * (CV_BK * CV_LDA) + row;
    LOCAL_MEM_ARG const CV_ACC *bt = bs + side * (CV_BK * CV_LDB) + column;
    CV_UNROLL
    for (int p = 0; p < CV_BK; p += CV_UNROLLED) {
      CV_EACH (q, CV_UNROLLED) {
        CV_ACC fa[CV_TM], fb[CV_TN];
        CV_EACH (r, CV_TM / CV_GM)
          CV_TAKE_ROWS((fa + r * CV_GM), (at + q * CV_LDA + r * (4 * CV_GM)))
        CV_EACH (v, CV_TN / CV_GW)
          CV_TAKE((fb + v * CV_GW), (bt + q * CV_LDB + v * (8 * CV_GW)))
        CV_EACH (r, CV_TM)
          CV_EACH (v, CV_TN)
            acc[r][v] += fa[r] * fb[v];
      }
      at += CV_UNROLLED * CV_LDA;
      bt += CV_UNROLLED * CV_LDB;
    }
    CV_STASH(1 - side)
    side = 1 - side;
    local_barrier();
  }
  const int high = m - top - row; /* valid rows */
  c += (ga_ssize)(top + row) * c_m;
  CV_EACH (v, CV_TN) {
    const int at = column + CV_RIGHT(v);
    if (left + at < n) {
#if CV_IS_MAPPED
      int rest = left + at;
      CV_NEXT(ga_i_x5, n_2)
      CV_NEXT(ga_i_x4, n_1)
      CV_NEXT0(ga_i_x3, n_0)
      const int ga_i_x0 = (int)GID_2, ga_i_x2 = rest;
#else
      GLOBAL_MEM CV_OUT *to = c + places[at];
#endif
      CV_EACH (r, CV_TM) {
        if (CV_DOWN(r) < high) {
          CV_ROW(r)
          CV_PUT
        }
        CV_BELOW(r)
      }
    }
  }
}
