/* The merged order of two sorted matrices without duplicates: by rows, then columns, at
 * equal places the value of `a` first. It is cut into `parts` parts of SP_MERGED
 * values; two at one place stay together. For each part, and behind the last, `words`
 * have how many values of `a` and of `b` come before it, and how many rows have begun;
 * then counts of the parts begin, of which the last two are zeroed. */
#include "merged_row.cl.h"

#define SP_OF_ROW_A(k) a_indices[a_begin + (k)]
#define SP_OF_ROW_B(k) b_indices[b_begin + (k)]
#define SP_BOUND(count, indptr, row, n)                                                \
  SP_COUNT count = (SP_COUNT)indptr[row];                                              \
  count = count < (SP_COUNT)(n) ? count : (SP_COUNT)(n)

KERNEL void SP_NAME(GLOBAL_MEM SP_INDEX *words, ga_size words_off,
                    GLOBAL_MEM const SP_INDEX *a_indices, ga_size a_indices_off,
                    GLOBAL_MEM const SP_INDEX *a_indptr, ga_size a_indptr_off,
                    GLOBAL_MEM const SP_INDEX *b_indices, ga_size b_indices_off,
                    GLOBAL_MEM const SP_INDEX *b_indptr, ga_size b_indptr_off,
                    ga_ulong rows, ga_ulong an, ga_ulong bn, ga_ulong parts) {
  KERNEL_BEGIN;
  SP_WRITTEN(SP_INDEX, words);
  SP_READ(SP_INDEX, a_indices);
  SP_READ(SP_INDEX, a_indptr);
  SP_READ(SP_INDEX, b_indices);
  SP_READ(SP_INDEX, b_indptr);
  SP_EACH(part, parts + 1) {
    const ga_ulong all = an + bn, given = part * SP_MERGED;
    const SP_COUNT before = (SP_COUNT)(given < all ? given : all);
    SP_COUNT i = 0, j = 0, begun = 0;
    if (before > 0 && rows > 0) { /* the row of the value before the part */
      SP_COUNT row = 0;
      for (SP_COUNT high = (SP_COUNT)rows - 1; row < high;) {
        const SP_COUNT middle = row + (high - row) / 2;
        if ((SP_COUNT)a_indptr[middle + 1] + (SP_COUNT)b_indptr[middle + 1] < before)
          row = middle + 1;
        else
          high = middle;
      }
      SP_BOUND(a_end, a_indptr, row + 1, an);
      SP_BOUND(b_end, b_indptr, row + 1, bn);
      SP_BOUND(a_begin, a_indptr, row, a_end);
      SP_BOUND(b_begin, b_indptr, row, b_end);
      const SP_COUNT a_own = a_end - a_begin, b_own = b_end - b_begin;
      SP_COUNT own = before - a_begin - b_begin; /* any number, of wrong pointers */
      own = own < a_own + b_own ? own : a_own + b_own;
      SP_CUT_ROW(SP_COUNT, of_a, own, a_own, b_own, SP_OF_ROW_A, SP_OF_ROW_B)
      i = a_begin + of_a;
      j = b_begin + own - of_a;
      j += of_a > 0 && j < b_end && a_indices[i - 1] == b_indices[j];
      begun = row + 1;
    }
    words[3 * part] = (SP_INDEX)i;
    words[3 * part + 1] = (SP_INDEX)j;
    words[3 * part + 2] = (SP_INDEX)begun;
    if (part == parts)
      for (ga_int last = 0; last < 2; last++)
        words[3 * (parts + 1) + parts + last] = 0;
  }
}
