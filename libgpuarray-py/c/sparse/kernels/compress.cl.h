/* Where each row begins among sorted row indices: binary searches. */
KERNEL void SP_NAME(GLOBAL_MEM SP_INDEX *indptr, ga_size indptr_off,
                    GLOBAL_MEM const SP_INDEX *indices, ga_size indices_off,
                    ga_ulong rows, ga_ulong n) {
  KERNEL_BEGIN;
  indptr = (GLOBAL_MEM SP_INDEX *)((GLOBAL_MEM char *)indptr + indptr_off);
  indices =
      (GLOBAL_MEM const SP_INDEX *)((GLOBAL_MEM const char *)indices + indices_off);
  SP_EACH(row, rows + 1) {
    ga_ulong low = 0, high = n;
    while (low < high) {
      const ga_ulong middle = low + (high - low) / 2;
      if ((ga_ulong)indices[middle] < row)
        low = middle + 1;
      else
        high = middle;
    }
    indptr[row] = (SP_INDEX)low;
  }
}
