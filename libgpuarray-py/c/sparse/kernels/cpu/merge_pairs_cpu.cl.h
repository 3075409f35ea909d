/* Elementwise operations of two matrices on processors, by the parts of merge.cl.h:
 * each item has a range of them, and walks its rows. */
#include "../pair_words.cl.h"
#include "shares_cpu.cl.h"

#define SP_BOUND(count, pointer, first, last)                                          \
  ga_ulong count = (ga_ulong)(pointer);                                                \
  count = count < (last) ? count : (last);                                             \
  count = count > (first) ? count : (first)
/* Where a part begins among the values of both, and how many rows have begun. */
#define SP_CUT(i, j, begun, part)                                                      \
  SP_BOUND(i, words[3 * (part)], 0, an);                                               \
  SP_BOUND(j, words[3 * (part) + 1], 0, bn);                                           \
  SP_BOUND(begun, words[3 * (part) + 2], 0, rows)
#if SP_IS_COUNT
/* Sees whether the values of a row from `begin` to `end` are not as they should be. */
#define SP_LOOK(indptr, indices, begin, end)                                           \
  if (begin < end) {                                                                   \
    ga_ulong k = begin;                                                                \
    SP_INDEXES are_wrong = 0;                                                          \
    if (k == 0 || k == (ga_ulong)indptr[row]) /* nothing is before it */               \
      has_flaw |= indices[k++] < 0;                                                    \
    has_flaw |= (ga_ulong)indices[end - 1] >= columns;                                 \
    for (; k + 8 <= end; k += 8)                                                       \
      are_wrong |= vload8(0, indices + k) <= vload8(0, indices + k - 1);               \
    has_flaw |= any(are_wrong);                                                        \
    for (; k < end; k++)                                                               \
      has_flaw |= indices[k] <= indices[k - 1];                                        \
  }
#else
/* Behind the room only of wrong counts. */
#define SP_PUT(value, index)                                                           \
  {                                                                                    \
    const ga_ulong place = at < room ? at : room - 1;                                  \
    out[place] = SP_STORE_OUT(value);                                                  \
    out_indices[place] = index;                                                        \
    at++;                                                                              \
  }
#endif

KERNEL void SP_NAME(SP_PARAMETERS) {
  KERNEL_BEGIN;
  SP_WRITTEN(SP_INDEX, words);
  SP_READ(SP_INDEX, a_indices);
  SP_READ(SP_INDEX, a_indptr);
  SP_READ(SP_INDEX, b_indices);
  SP_READ(SP_INDEX, b_indptr);
  GLOBAL_MEM SP_INDEX *counts = words + 3 * (parts + 1);
  const ga_ulong first = parts * GID_0 / GDIM_0, last = parts * (GID_0 + 1) / GDIM_0;
#if !SP_IS_COUNT
  SP_WRITTEN(SP_OUT, out);
  SP_WRITTEN(SP_INDEX, out_indices);
  SP_WRITTEN(SP_INDEX, out_indptr);
  SP_READ(SP_VALUE, a);
  SP_READ(SP_VALUE, b);
  const ga_ulong step = last - first, stop = room > 0 ? last : first;
#else
  ga_int has_flaw = 0;
  const ga_ulong step = 1, stop = last;
#endif
  for (ga_ulong part = first; part < stop; part += step) {
    SP_CUT(i, j, begun, part);
    SP_CUT(a_last, b_last, next, part + step);
#if !SP_IS_COUNT
    const ga_ulong shared = (ga_ulong)counts[part];
    ga_ulong at = SP_IS_UNION ? i + j - shared : shared;
#else
    ga_ulong shared = 0;
#endif
    for (ga_ulong row = begun > 0 ? begun - 1 : 0;
         row < rows && (i < a_last || j < b_last); row++) {
      SP_BOUND(a_end, a_indptr[row + 1], i, a_last);
      SP_BOUND(b_end, b_indptr[row + 1], j, b_last);
#if !SP_IS_COUNT
      if (row >= begun)
        out_indptr[row] = (SP_INDEX)at;
#else
      SP_LOOK(a_indptr, a_indices, i, a_end)
      SP_LOOK(b_indptr, b_indices, j, b_end)
      const ga_ulong a_next = a_end, b_next = b_end;
      while (i + 1 < a_end && j + 1 < b_end) { /* from both ends, side by side */
        const SP_INDEX left = a_indices[i], right = b_indices[j];
        const SP_INDEX a_back = a_indices[a_end - 1], b_back = b_indices[b_end - 1];
        shared += (ga_ulong)(left == right) + (ga_ulong)(a_back == b_back);
        i += (ga_ulong)(left <= right);
        j += (ga_ulong)(right <= left);
        a_end -= (ga_ulong)(a_back >= b_back);
        b_end -= (ga_ulong)(b_back >= a_back);
      }
#endif
      while (i < a_end && j < b_end) { /* no branch depends on the indices of a sum */
        const SP_INDEX left = a_indices[i], right = b_indices[j];
        const ga_int is_left = left <= right, is_right = right <= left;
#if SP_IS_COUNT
        shared += (ga_ulong)(is_left & is_right);
#elif SP_IS_UNION
        const SP_WORK x = SP_LOAD(a[i]), y = SP_LOAD(b[j]);
        const SP_RESULT both = SP_OF_BOTH(x, y);
        const SP_RESULT one = is_left ? SP_OF_A(x) : SP_OF_B(y);
        SP_PUT(is_left & is_right ? both : one, is_left ? left : right)
#else
        if (is_left & is_right)
          SP_PUT(SP_OF_BOTH(SP_LOAD(a[i]), SP_LOAD(b[j])), left)
#endif
        i += (ga_ulong)is_left;
        j += (ga_ulong)is_right;
      }
#if SP_IS_COUNT
      i = a_next;
      j = b_next;
#elif SP_IS_UNION
      for (; i < a_end; i++)
        SP_PUT(SP_OF_A(SP_LOAD(a[i])), a_indices[i])
      for (; j < b_end; j++)
        SP_PUT(SP_OF_B(SP_LOAD(b[j])), b_indices[j])
#else
      i = a_end;
      j = b_end;
#endif
    }
#if SP_IS_COUNT
    counts[part] = (SP_INDEX)shared;
#endif
  }
#if !SP_IS_COUNT
  if (GID_0 + 1 == GDIM_0) { /* rows behind the last value */
    ga_ulong row = room > 0 ? (ga_ulong)words[3 * parts + 2] : 0;
    for (; row <= rows; row++)
      out_indptr[row] = (SP_INDEX)room;
  }
#else
  SP_LOOK_AT_POINTERS
#endif
}
