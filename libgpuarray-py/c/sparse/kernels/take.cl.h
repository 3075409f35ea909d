/* Rows of a matrix by index: their values and indices; `lines` are the new rows of the
 * new values. */
#define SP_ROW(i) (taken[i] < 0 ? taken[i] + (ga_long)rows : taken[i])

KERNEL void SP_NAME(GLOBAL_MEM SP_VALUE *out, ga_size out_off,
                    GLOBAL_MEM SP_INDEX *out_indices, ga_size out_indices_off,
                    GLOBAL_MEM const SP_INDEX *lines, ga_size lines_off,
                    GLOBAL_MEM const SP_INDEX *begins, ga_size begins_off, SP_MATRIX,
                    GLOBAL_MEM const ga_long *taken, ga_size taken_off, ga_ulong rows,
                    ga_ulong n, ga_ulong room) {
  KERNEL_BEGIN;
  SP_WRITTEN(SP_VALUE, out);
  SP_WRITTEN(SP_INDEX, out_indices);
  SP_READ(SP_INDEX, lines);
  SP_READ(SP_INDEX, begins);
  SP_READ_MATRIX;
  SP_READ(ga_long, taken);
  SP_EACH(k, room) {
    const ga_ulong line = (ga_ulong)lines[k], row = (ga_ulong)SP_ROW(line);
    if (row >= rows)
      continue;
    const ga_ulong from = (ga_ulong)indptr[row] + (k - (ga_ulong)begins[line]);
    if (from < n) {
      out[k] = values[from];
      out_indices[k] = indices[from];
    }
  }
}
