/* Gradient by the image of a convolution to few channels on GPUs, which is a transposed
 * convolution: of a group, c[batch, channel, place] is the sum of a[term, channel, f]
 * b[batch, term, o] over terms and places o with o * stride + f = place + padding.
 *
 * Places of c that are a stride apart form a coarse grid. An item computes CV_TALL by
 * CV_WIDE points of it: all CV_S1 by CV_S2 places and CV_C channels of each, in
 * registers, so that what it reads of b serves all of these. Which elements of the
 * filters reach a place is known to the compiler: no product is one with zero but for
 * those beyond the edges of b. 32 items are a team with a tile of 16 columns; the teams
 * of a group share filters in local memory, CV_SOME terms at a time, which divides all.
 *
 * CV_N1 by CV_N2 is the extent of filters, CV_P1 and CV_P2 the padding modulo the
 * stride. */
#include "conv_packs.cl.h"
#include "conv_words.cl.h"

#define CV_KERNEL KERNEL_SIZED(32 * CV_TEAMS, CV_BLOCKS)

/* Of element f, with n, s, p of its axis: the place modulo the stride that it reaches,
 * and the place in b where it meets coarse point 0, without whole strides of padding.
 */
#define CV_PHASE(f, s, p) (((f) + (s) - (p)) % (s))
#define CV_MEETS(f, n, s, p) (((p) - (f) + (s) * (n) + (s) - 1) / (s) - (n))
#define CV_LEAST1 CV_MEETS(CV_N1 - 1, CV_N1, CV_S1, CV_P1)
#define CV_LEAST2 CV_MEETS(CV_N2 - 1, CV_N2, CV_S2, CV_P2)
#define CV_SHIFT1(f) (CV_MEETS(f, CV_N1, CV_S1, CV_P1) - CV_LEAST1)
#define CV_SHIFT2(f) (CV_MEETS(f, CV_N2, CV_S2, CV_P2) - CV_LEAST2)

/* Rows and columns of b that an item reads, and its team. */
#define CV_UP(n) (((n) + CV_GW - 1) / CV_GW * CV_GW)
#define CV_LINES (CV_TALL + CV_SHIFT1(0))
#define CV_LINE CV_UP(CV_WIDE + CV_SHIFT2(0))
#define CV_ACROSS (16 / CV_WIDE)
#define CV_DOWN (32 / CV_ACROSS)
#define CV_TILE_ROWS (CV_DOWN * CV_TALL + CV_SHIFT1(0))
#define CV_TILE_COLUMNS (16 - CV_WIDE + CV_LINE)
#define CV_TILE (CV_TILE_ROWS * CV_PITCH)
#define CV_TURNS ((CV_TILE_ROWS * CV_TILE_COLUMNS + 31) / 32)
/* Filters of a term: a row of elements, of each the channels. */
#define CV_TAPS (CV_N2 * CV_C)
#define CV_ROW CV_UP(CV_TAPS)
#define CV_FILTER (CV_N1 * CV_ROW)
/* Results on their way to c: of one channel and one row of each item. */
#define CV_OUT_COLUMNS (16 * CV_S2)
#define CV_STAGE (CV_S1 * CV_DOWN * (CV_OUT_COLUMNS + 1))
#define CV_TERMS (CV_SOME * (CV_FILTER + CV_TEAMS * CV_TILE))
#define CV_STAGES (CV_TEAMS * CV_STAGE)
#define CV_LOCAL (CV_TERMS > CV_STAGES ? CV_TERMS : CV_STAGES)

CV_KERNEL void CV_NAME(GLOBAL_MEM CV_OUT *c, ga_size c_off,
                       GLOBAL_MEM const CV_TYPE *GA_APART a, ga_size a_off,
                       GLOBAL_MEM const CV_TYPE *GA_APART b, ga_size b_off, int tiles,
                       int down, int across, int terms, int image1, int image2,
                       int length1, int length2, int before1, int before2, int a_o,
                       int a_m, int a_1, int a_2, int b_n, int b_k, int b_1, int b_2,
                       int c_o, int c_m, int c_1, int c_2, int a_group, int b_group,
                       int c_group) {
  KERNEL_BEGIN;
  LOCAL_MEM CV_PACK packs[CV_UP(CV_LOCAL) / CV_GW];
  LOCAL_MEM_ARG CV_ACC *filters = (LOCAL_MEM_ARG CV_ACC *)packs;
  const int item = (int)LID_0, lane = item % 32, team = item / 32;
  const int row = lane / CV_ACROSS * CV_TALL, column = lane % CV_ACROSS * CV_WIDE;
  LOCAL_MEM_ARG CV_ACC *tile =
      filters + CV_SOME * CV_FILTER + team * (CV_SOME * CV_TILE);
  LOCAL_MEM_ARG CV_ACC *stage = filters + team * CV_STAGE;
  CV_ACC acc[CV_S1][CV_C][CV_TALL][CV_WIDE * CV_S2];
  int rest = (int)GID_0 * CV_TEAMS + team;
  const bool is_tile = rest < tiles;
  rest = is_tile ? rest : tiles - 1;
  CV_NEXT(right, across)
  CV_NEXT(below, down)
  const int top = below * (CV_DOWN * CV_TALL), left = right * 16;
  const int first1 = top + before1 + CV_LEAST1, first2 = left + before2 + CV_LEAST2;
  const int out2 = left * CV_S2 + lane % 16;
  a = CV_AT(const CV_TYPE, a, a_off) + (int)GID_1 * a_group;
  b = CV_AT(const CV_TYPE, b, b_off) + (int)GID_1 * b_group + rest * b_n;
  c = CV_AT(CV_OUT, c, c_off) + (int)GID_1 * c_group + rest * c_o;
  CV_EACH (s1, CV_S1)
    CV_EACH (m, CV_C)
      CV_EACH (r, CV_TALL)
        CV_EACH (v, CV_WIDE * CV_S2)
          acc[s1][m][r][v] = 0;
  for (int from = 0; from < terms; from += CV_SOME) {
    for (int e = item; e < CV_FILTER; e += 32 * CV_TEAMS) {
      const int place = e % CV_ROW;
      GLOBAL_MEM const CV_TYPE *at =
          a + place % CV_C * a_m + e / CV_ROW * a_1 + place / CV_C * a_2;
      CV_EACH (q, CV_SOME)
        filters[q * CV_FILTER + e] = place < CV_TAPS ? CV_LOAD(at[q * a_o]) : 0;
    }
    _Pragma("unroll 4") for (int turn = 0; turn < CV_TURNS; turn++) {
      const int e = turn * 32 + lane;
      const int y = e / CV_TILE_COLUMNS, x = e % CV_TILE_COLUMNS;
      const int at1 = first1 + y, at2 = first2 + x;
      GLOBAL_MEM const CV_TYPE *at = b + (at1 * b_1 + at2 * b_2);
      const bool is_inside =
          ((ga_uint)at1 < (ga_uint)length1) & ((ga_uint)at2 < (ga_uint)length2);
      if (e < CV_TILE_ROWS * CV_TILE_COLUMNS)
        CV_EACH (q, CV_SOME) {
          tile[q * CV_TILE + y * CV_PITCH + x] = is_inside ? CV_LOAD(*at) : 0;
          at += b_k;
        }
    }
    a += CV_SOME * a_o;
    b += CV_SOME * b_k;
    local_barrier();
    _Pragma("unroll 1") for (int q = 0; q < CV_SOME; q++) {
      LOCAL_MEM_ARG const CV_ACC *near = tile + q * CV_TILE + row * CV_PITCH + column;
      LOCAL_MEM_ARG const CV_ACC *filter = filters + q * CV_FILTER;
      CV_ACC lines[CV_LINES][CV_LINE];
      CV_EACH (shift, CV_SHIFT1(0) + 1) {
        CV_EACH (y, CV_LINES)
          if (y == shift + CV_TALL - 1 || (shift == 0 && y < CV_TALL))
            CV_EACH (v, CV_LINE / CV_GW)
              CV_TAKE((lines[y] + v * CV_GW), (near + y * CV_PITCH + v * CV_GW))
        CV_EACH (f1, CV_N1)
          if (CV_SHIFT1(f1) == shift) {
            CV_ACC w[CV_ROW];
            CV_EACH (v, CV_ROW / CV_GW)
              CV_TAKE((w + v * CV_GW), (filter + f1 * CV_ROW + v * CV_GW))
            CV_EACH (f2, CV_N2)
              CV_EACH (m, CV_C)
                CV_EACH (r, CV_TALL)
                  CV_EACH (v, CV_WIDE)
                    acc[CV_PHASE(f1, CV_S1, CV_P1)][m][r]
                       [v * CV_S2 + CV_PHASE(f2, CV_S2, CV_P2)] +=
                        lines[shift + r][v + CV_SHIFT2(f2)] * w[f2 * CV_C + m];
          }
      }
    }
    local_barrier();
  }
  CV_EACH (m, CV_C)
    CV_EACH (r, CV_TALL) {
      CV_EACH (s1, CV_S1)
        CV_EACH (v, CV_WIDE * CV_S2)
          stage[(s1 * CV_DOWN + lane / CV_ACROSS) * (CV_OUT_COLUMNS + 1) +
                column * CV_S2 + v] = acc[s1][m][r][v];
      local_barrier();
      CV_EACH (s1, CV_S1)
        CV_EACH (turn, CV_DOWN / 2) {
          const int y = turn * 2 + lane / 16,
                    at1 = (top + y * CV_TALL + r) * CV_S1 + s1;
          GLOBAL_MEM CV_OUT *to = c + (m * c_m + at1 * c_1 + out2 * c_2);
          CV_EACH (k, CV_S2)
            if (is_tile & (at1 < image1) & (out2 + k * 16 < image2))
              to[k * 16 * c_2] =
                  CV_STORE(stage[(s1 * CV_DOWN + y) * (CV_OUT_COLUMNS + 1) + lane % 16 +
                                 k * 16]);
        }
      local_barrier();
    }
}
