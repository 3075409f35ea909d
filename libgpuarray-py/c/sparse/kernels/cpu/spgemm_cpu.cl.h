/* Products of two matrices on processors, row by row. SP_FORM 0 counts the places of
 * each row (`lengths`, and of each share in `totals`): `marks` has the last row that
 * met each column. 1 fills them, sorted, where out_indptr says: `marks` has a bit for
 * each column that the row has met, a bit for each word of those, and where these are
 * many one for each word of them, so that they are walked in order; `sums` has a sum
 * for each column. Rows of at most SP_FEW terms are sorted by merges instead, as rows
 * of b are runs mostly. Terms are added in the order of a's values. */
#include "shares_cpu.cl.h"

#define SP_FEW 256
/* Loads an element that is needed soon. */
#define SP_TOUCH(p, i) (void)*(GLOBAL_MEM const volatile ga_ubyte *)((p) + (i))

#define SP_BEGIN(row) a_indptr[row]
/* The place of the lowest bit of a word that is not 0. */
#define SP_LOWEST(word) (63 - (ga_ulong)clz((word) & (0 - (word))))
#define SP_BIT(i) ((ga_ulong)1 << ((i) & 63))
/* Puts the columns of word `m` of `mid` in order, and empties it. */
#define SP_PUT_WORD(m)                                                                 \
  {                                                                                    \
    ga_ulong middle = mid[m];                                                          \
    mid[m] = 0;                                                                        \
    for (; middle; middle &= middle - 1) {                                             \
      const ga_ulong w = 64 * (m) + SP_LOWEST(middle);                                 \
      ga_ulong bits = low[w];                                                          \
      low[w] = 0;                                                                      \
      for (; bits; bits &= bits - 1, at++)                                             \
        if (at < room) {                                                               \
          const ga_ulong j = 64 * w + SP_LOWEST(bits);                                 \
          out[at] = SP_STORE(sums[j]);                                                 \
          out_indices[at] = (SP_INDEX)j;                                               \
        }                                                                              \
    }                                                                                  \
  }
/* Counts the terms of a row, as long as they are few, and loads where rows of b begin,
 * which are far apart, beside one another. */
#define SP_MEET(row)                                                                   \
  next_terms = 0;                                                                      \
  if ((row) < last) {                                                                  \
    SP_RANGE(begin, end, a_indptr, an, row);                                           \
    for (ga_ulong k = begin; k < end && next_terms <= SP_FEW; k++) {                   \
      const ga_ulong inner = (ga_ulong)a_indices[k];                                   \
      if (inner < depth) {                                                             \
        SP_RANGE(from, to, b_indptr, bn, inner);                                       \
        if (from < to) {                                                               \
          SP_TOUCH(b_indices, from);                                                   \
          SP_TOUCH_VALUE(from);                                                        \
        }                                                                              \
        next_terms += to - from;                                                       \
      }                                                                                \
    }                                                                                  \
  }
#if SP_FORM
#define SP_TOUCH_VALUE(i) SP_TOUCH(b, i)
#else
#define SP_TOUCH_VALUE(i)
#endif
/* Words of `mid` that are walked one by one. */
#define SP_FEW_WORDS 256

KERNEL void SP_NAME(GLOBAL_MEM SP_VALUE *out, ga_size out_off,
                    GLOBAL_MEM SP_INDEX *out_indices, ga_size out_indices_off,
                    GLOBAL_MEM SP_INDEX *out_indptr, ga_size out_indptr_off,
                    GLOBAL_MEM ga_ulong *totals, ga_size totals_off,
                    GLOBAL_MEM ga_ulong *marks, ga_size marks_off,
                    GLOBAL_MEM SP_WORK *sums, ga_size sums_off, SP_TWO_MATRICES,
                    ga_ulong rows, ga_ulong depth, ga_ulong columns, ga_ulong an,
                    ga_ulong bn, ga_ulong room) {
  KERNEL_BEGIN;
  SP_WRITTEN(SP_INDEX, out_indptr);
  SP_WRITTEN(ga_ulong, marks);
  SP_READ(SP_INDEX, a_indices);
  SP_READ(SP_INDEX, a_indptr);
  SP_READ(SP_INDEX, b_indices);
  SP_READ(SP_INDEX, b_indptr);
#if SP_FORM
  SP_WRITTEN(SP_VALUE, out);
  SP_WRITTEN(SP_INDEX, out_indices);
  SP_WRITTEN(SP_WORK, sums);
  SP_READ(SP_VALUE, a);
  SP_READ(SP_VALUE, b);
  const ga_ulong n_low = (columns + 63) / 64, n_mid = (n_low + 63) / 64;
  const ga_ulong n_top = (n_mid + 63) / 64, n_marks = n_low + n_mid + n_top;
  GLOBAL_MEM ga_ulong *low = marks + GID_0 * n_marks;
  GLOBAL_MEM ga_ulong *mid = low + n_low, *top = mid + n_mid;
  const ga_int has_top = n_mid > SP_FEW_WORDS;
  sums += GID_0 * columns;
  for (ga_ulong w = 0; w < n_marks; w++)
    low[w] = 0;
#else
  SP_WRITTEN(ga_ulong, totals);
  GLOBAL_MEM SP_INDEX *last_row = (GLOBAL_MEM SP_INDEX *)marks + GID_0 * columns;
  ga_ulong total = 0;
  for (ga_ulong j = 0; j < columns; j++)
    last_row[j] = -1;
#endif
  SP_SHARE(first, GID_0, GDIM_0, rows, an, SP_BEGIN)
  SP_SHARE(last, GID_0 + 1, GDIM_0, rows, an, SP_BEGIN)
  ga_ulong next_terms;
  SP_MEET(first)
  for (ga_ulong row = first; row < last; row++) {
    SP_RANGE(begin, end, a_indptr, an, row);
#if SP_FORM
    const ga_ulong terms = next_terms;
#endif
    SP_MEET(row + 1)
#if SP_FORM
    if (terms <= SP_FEW) {
      ga_ulong keys[2 * SP_FEW]; /* columns and, in 8 bits, terms */
      SP_WORK products[SP_FEW];
      ga_ushort runs[SP_FEW + 1]; /* where each begins */
      ga_uint n = 0, n_runs = 0, own = 0;
      SP_COUNT before = 0;
      for (ga_ulong k = begin; k < end; k++) {
        const ga_ulong inner = (ga_ulong)a_indices[k];
        if (inner >= depth)
          continue;
        SP_RANGE(from, to, b_indptr, bn, inner);
        const SP_WORK factor = SP_LOAD(a[k]);
        for (ga_ulong t = from; t < to; t++) {
          const SP_COUNT j = (SP_COUNT)b_indices[t];
          if (j >= (SP_COUNT)columns)
            continue;
          keys[n] = (ga_ulong)j << 8 | n;
          products[n] = SP_MUL(factor, SP_LOAD(b[t]));
          runs[n_runs] = (ga_ushort)n;
          n_runs += n == 0 || j < before;
          before = j;
          n++;
        }
      }
      for (; n_runs > 1; n_runs = (n_runs + 1) / 2) {
        const ga_ulong *of = keys + own;
        own = SP_FEW - own;
        ga_ulong *merged = keys + own;
        for (ga_uint r = 0; r < n_runs; r += 2) {
          ga_uint left = runs[r], at = left;
          const ga_uint middle = r + 1 < n_runs ? runs[r + 1] : n;
          const ga_uint stop = r + 2 < n_runs ? runs[r + 2] : n;
          ga_uint right = middle;
          while (left < middle && right < stop) { /* no branch depends on the keys */
            const ga_ulong x = of[left], y = of[right];
            const ga_int is_left = x < y;
            merged[at++] = is_left ? x : y;
            left += (ga_uint)is_left;
            right += (ga_uint)!is_left;
          }
          while (left < middle)
            merged[at++] = of[left++];
          while (right < stop)
            merged[at++] = of[right++];
          runs[r / 2] = runs[r];
        }
      }
      SP_WORK sum = SP_ZERO;
      ga_ulong at = (ga_ulong)out_indptr[row];
      for (ga_uint i = 0; i < n; i++) {
        const ga_ulong key = keys[own + i];
        const SP_WORK term = products[key & 255];
        const ga_int is_first = i == 0 || key >> 8 != keys[own + i - 1] >> 8;
        const SP_WORK both = SP_ADD(sum, term);
        sum = is_first ? term : both;
        at += (ga_ulong)(is_first && i > 0);
        if (at < room) {
          out[at] = SP_STORE(sum);
          out_indices[at] = (SP_INDEX)(key >> 8);
        }
      }
      continue;
    }
#else
    ga_ulong length = 0;
#endif
    for (ga_ulong k = begin; k < end; k++) {
      const ga_ulong inner = (ga_ulong)a_indices[k];
      if (inner >= depth)
        continue;
      SP_RANGE(from, to, b_indptr, bn, inner);
#if SP_FORM
      const SP_WORK factor = SP_LOAD(a[k]);
#endif
      for (ga_ulong t = from; t < to; t++) { /* no branch depends on what was met */
        const SP_COUNT j = (SP_COUNT)b_indices[t];
        if (j >= (SP_COUNT)columns)
          continue;
#if SP_FORM
        const ga_ulong word = low[j >> 6];
        const SP_WORK term = SP_MUL(factor, SP_LOAD(b[t])), sum = sums[j];
        const SP_WORK both = SP_ADD(sum, term);
        sums[j] = word & SP_BIT(j) ? both : term;
        low[j >> 6] = word | SP_BIT(j);
        mid[j >> 12] |= SP_BIT(j >> 6);
        if (has_top)
          top[j >> 18] |= SP_BIT(j >> 12);
#else
        length += last_row[j] != (SP_INDEX)row;
        last_row[j] = (SP_INDEX)row;
#endif
      }
    }
#if SP_FORM
    ga_ulong at = (ga_ulong)out_indptr[row];
    if (has_top) {
      for (ga_ulong t = 0; t < n_top; t++) {
        for (ga_ulong upper = top[t]; upper; upper &= upper - 1) {
          const ga_ulong m = 64 * t + SP_LOWEST(upper);
          SP_PUT_WORD(m)
        }
        top[t] = 0;
      }
    } else {
      for (ga_ulong m = 0; m < n_mid; m++)
        SP_PUT_WORD(m)
    }
#else
    out_indptr[row] = (SP_INDEX)length;
    total += length;
#endif
  }
#if !SP_FORM
  totals[GID_0] = total;
  if (GID_0 == 0)
    out_indptr[rows] = 0;
#endif
}
