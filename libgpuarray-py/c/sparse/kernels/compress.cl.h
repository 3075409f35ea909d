/* Where each row begins among sorted row indices: binary searches. */
KERNEL void SP_NAME(GLOBAL_MEM SP_INDEX *indptr, ga_size indptr_off,
                    GLOBAL_MEM const SP_INDEX *indices, ga_size indices_off,
                    ga_ulong rows, ga_ulong n) {
  KERNEL_BEGIN;
  indptr = (GLOBAL_MEM SP_INDEX *)((GLOBAL_MEM char *)indptr + indptr_off);
  indices =
      (GLOBAL_MEM const SP_INDEX *)((GLOBAL_MEM const char *)indices + indices_off);
  SP_EACH(row, rows + 1) {
    SP_COUNT low = 0, high = (SP_COUNT)n;
    while (low < high) {
      const SP_COUNT middle = low + (high - low) / 2;
      if ((SP_COUNT)indices[middle] < (SP_COUNT)row)
        low = middle + 1;
      else
        high = middle;
    }
    indptr[row] = (SP_INDEX)low;
  }
}
