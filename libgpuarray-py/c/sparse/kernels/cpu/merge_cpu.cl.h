/* Elementwise operations of two matrices on processors, row by row: SP_FORM 0 their
 * sum, alpha a + beta b, 1 their product, 2 a combination of elements, of which there
 * are as many as of a sum; 3 sums the duplicates of a alone. Each share
 * of rows is merged to where it would begin if no place were shared (of products, if
 * all of a's were); `ends` is how many values a share has up to the end of each row,
 * `shares` the first row, the place and the number of values of each share. `flaw`
 * becomes 1 for rows that are not sorted or have duplicates, indices out of range and
 * wrong pointers. */
#include "shares_cpu.cl.h"

#if SP_FORM == 3
#define SP_BEGIN(row) a_indptr[row]
#else
#define SP_BEGIN(row) a_indptr[row] + (ga_ulong)b_indptr[row]
#endif
#define SP_CHECK(begin, end, indptr, indices, n, row)                                  \
  SP_RANGE(begin, end, indptr, n, row);                                                \
  {                                                                                    \
    ga_int is_wrong = begin != (ga_ulong)indptr[row] ||                                \
                      end != (ga_ulong)indptr[(row) + 1] ||                            \
                      (row == 0 && begin != 0) || (row == rows - 1 && end != n);       \
    if (begin < end)                                                                   \
      is_wrong |= indices[begin] < 0 || (ga_ulong)indices[end - 1] >= columns;         \
    ga_ulong k;                                                                        \
    SP_INDEXES are_wrong = 0;                                                          \
    SP_EACH_8(k, begin + 1, end) {                                                     \
      const SP_INDEXES own = vload8(0, indices + k);                                   \
      const SP_INDEXES before = vload8(0, indices + k - 1);                            \
      are_wrong |= SP_FORM == 3 ? own < before : own <= before;                        \
    }                                                                                  \
    is_wrong |= any(are_wrong);                                                        \
    for (; k < end; k++)                                                               \
      is_wrong |=                                                                      \
          SP_FORM == 3 ? indices[k] < indices[k - 1] : indices[k] <= indices[k - 1];   \
    has_flaw |= is_wrong;                                                              \
  }

KERNEL void SP_NAME(GLOBAL_MEM SP_OUT *out, ga_size out_off,
                    GLOBAL_MEM SP_INDEX *out_indices, ga_size out_indices_off,
                    GLOBAL_MEM SP_INDEX *ends, ga_size ends_off,
                    GLOBAL_MEM ga_ulong *shares, ga_size shares_off, SP_TWO_MATRICES,
                    ga_ulong rows, ga_ulong columns, ga_ulong an, ga_ulong bn,
                    ga_ulong room, SP_REAL alpha, SP_REAL alpha_im, SP_REAL beta,
                    SP_REAL beta_im) {
  KERNEL_BEGIN;
  SP_WRITTEN(SP_OUT, out);
  SP_WRITTEN(SP_INDEX, out_indices);
  SP_WRITTEN(SP_INDEX, ends);
  SP_WRITTEN(ga_ulong, shares);
  SP_READ_TWO;
  SP_SHARE(first, GID_0, GDIM_0, rows, an + bn, SP_BEGIN)
  SP_SHARE(last, GID_0 + 1, GDIM_0, rows, an + bn, SP_BEGIN)
  ga_ulong base = 0, at;
  ga_int has_flaw = 0;
  if (first < rows) {
    const ga_ulong a_first = (ga_ulong)a_indptr[first];
    const ga_ulong b_first = (ga_ulong)b_indptr[first];
    base = SP_IS_UNION ? a_first + b_first : a_first;
    base = base < room ? base : room;
  }
  at = base;
  for (ga_ulong row = first; row < last; row++) {
    SP_CHECK(i, a_end, a_indptr, a_indices, an, row)
#if SP_FORM == 3
    const ga_ulong j = 0, b_end = 0;
#else
    SP_CHECK(j, b_end, b_indptr, b_indices, bn, row)
#endif
    if ((SP_IS_UNION ? a_end - i + b_end - j : a_end - i) > room - at) {
      has_flaw = 1;
      ends[row] = (SP_INDEX)(at - base);
      continue;
    }
#if SP_FORM == 3
    while (i < a_end) {
      const SP_INDEX own = a_indices[i];
      SP_WORK sum = SP_LOAD(a[i]);
      for (i++; i < a_end && a_indices[i] == own; i++)
        sum = SP_ADD(sum, SP_LOAD(a[i]));
      out[at] = SP_STORE(sum);
      out_indices[at] = own;
      at++;
    }
#else
    while (i < a_end && j < b_end) { /* no branch depends on the indices */
      const SP_INDEX left = a_indices[i], right = b_indices[j];
      const ga_int is_left = left <= right, is_right = right <= left;
#if SP_FORM == 1
      if (is_left & is_right) {
        out[at] = SP_STORE_OUT(SP_OF_BOTH(SP_LOAD(a[i]), SP_LOAD(b[j])));
        out_indices[at] = left;
        at++;
      }
#else
      const SP_WORK x = SP_LOAD(a[i]), y = SP_LOAD(b[j]);
      const SP_RESULT both = SP_OF_BOTH(x, y);
      const SP_RESULT one = is_left ? SP_OF_A(x) : SP_OF_B(y);
      out[at] = SP_STORE_OUT(is_left & is_right ? both : one);
      out_indices[at] = is_left ? left : right;
      at++;
#endif
      i += (ga_ulong)is_left;
      j += (ga_ulong)is_right;
    }
#if SP_IS_UNION
    for (; i < a_end; i++, at++) {
      out[at] = SP_STORE_OUT(SP_OF_A(SP_LOAD(a[i])));
      out_indices[at] = a_indices[i];
    }
    for (; j < b_end; j++, at++) {
      out[at] = SP_STORE_OUT(SP_OF_B(SP_LOAD(b[j])));
      out_indices[at] = b_indices[j];
    }
#endif
#endif
    ends[row] = (SP_INDEX)(at - base);
  }
  shares[3 * GID_0] = first;
  shares[3 * GID_0 + 1] = base;
  shares[3 * GID_0 + 2] = at - base;
  if (has_flaw)
    shares[3 * GDIM_0] = 1;
}
