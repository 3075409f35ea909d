/* Adds the values of compressed rows to a dense matrix: an item takes a row. */
KERNEL void SP_NAME(GLOBAL_MEM SP_VALUE *out, ga_size out_off,
                    GLOBAL_MEM const SP_VALUE *values, ga_size values_off,
                    GLOBAL_MEM const SP_INDEX *indices, ga_size indices_off,
                    GLOBAL_MEM const SP_INDEX *indptr, ga_size indptr_off,
                    ga_ulong rows, ga_ulong columns, ga_ulong n, ga_long out_row,
                    ga_long out_column) {
  KERNEL_BEGIN;
  out = (GLOBAL_MEM SP_VALUE *)((GLOBAL_MEM char *)out + out_off);
  values = (GLOBAL_MEM const SP_VALUE *)((GLOBAL_MEM const char *)values + values_off);
  indices =
      (GLOBAL_MEM const SP_INDEX *)((GLOBAL_MEM const char *)indices + indices_off);
  indptr = (GLOBAL_MEM const SP_INDEX *)((GLOBAL_MEM const char *)indptr + indptr_off);
  SP_EACH(row, rows) {
    ga_ulong k = (ga_ulong)indptr[row], end = (ga_ulong)indptr[row + 1];
    for (end = end < n ? end : n; k < end; k++) {
      const ga_ulong column = (ga_ulong)indices[k];
      if (column >= columns)
        continue;
      const ga_ssize place = (ga_ssize)row * out_row + (ga_ssize)column * out_column;
      out[place] = SP_STORE(SP_ADD(SP_LOAD(out[place]), SP_LOAD(values[k])));
    }
  }
}
