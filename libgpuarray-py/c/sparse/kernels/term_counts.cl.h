/* How many terms of the product of two matrices each value of the first one makes, the
 * length of a row of the second, and 0 behind the last. */
#define SP_READ(type, p)                                                               \
  p = (GLOBAL_MEM const type *)((GLOBAL_MEM const char *)p + p##_off)

KERNEL void SP_NAME(GLOBAL_MEM ga_long *counts, ga_size counts_off,
                    GLOBAL_MEM const SP_INDEX *a_indices, ga_size a_indices_off,
                    GLOBAL_MEM const SP_INDEX *b_indptr, ga_size b_indptr_off,
                    ga_ulong rows, ga_ulong n) {
  KERNEL_BEGIN;
  counts = (GLOBAL_MEM ga_long *)((GLOBAL_MEM char *)counts + counts_off);
  SP_READ(SP_INDEX, a_indices);
  SP_READ(SP_INDEX, b_indptr);
  SP_EACH(k, n + 1) {
    const ga_ulong row = k < n ? (ga_ulong)a_indices[k] : rows;
    const ga_long length =
        row < rows ? (ga_long)b_indptr[row + 1] - (ga_long)b_indptr[row] : 0;
    counts[k] = length > 0 ? length : 0;
  }
}
