/* Terms of the product of two matrices, with their rows and columns; `owners` are the
 * values of the first matrix that make them. */
#define SP_READ(type, p)                                                               \
  p = (GLOBAL_MEM const type *)((GLOBAL_MEM const char *)p + p##_off)

KERNEL void SP_NAME(GLOBAL_MEM SP_VALUE *out, ga_size out_off,
                    GLOBAL_MEM SP_INDEX *out_rows, ga_size out_rows_off,
                    GLOBAL_MEM SP_INDEX *out_indices, ga_size out_indices_off,
                    GLOBAL_MEM const SP_INDEX *owners, ga_size owners_off,
                    GLOBAL_MEM const SP_INDEX *begins, ga_size begins_off,
                    GLOBAL_MEM const SP_VALUE *a, ga_size a_off,
                    GLOBAL_MEM const SP_INDEX *a_rows, ga_size a_rows_off,
                    GLOBAL_MEM const SP_INDEX *a_indices, ga_size a_indices_off,
                    GLOBAL_MEM const SP_VALUE *b, ga_size b_off,
                    GLOBAL_MEM const SP_INDEX *b_indices, ga_size b_indices_off,
                    GLOBAL_MEM const SP_INDEX *b_indptr, ga_size b_indptr_off,
                    ga_ulong rows, ga_ulong bn, ga_ulong room) {
  KERNEL_BEGIN;
  out = (GLOBAL_MEM SP_VALUE *)((GLOBAL_MEM char *)out + out_off);
  out_rows = (GLOBAL_MEM SP_INDEX *)((GLOBAL_MEM char *)out_rows + out_rows_off);
  out_indices =
      (GLOBAL_MEM SP_INDEX *)((GLOBAL_MEM char *)out_indices + out_indices_off);
  SP_READ(SP_INDEX, owners);
  SP_READ(SP_INDEX, begins);
  SP_READ(SP_VALUE, a);
  SP_READ(SP_INDEX, a_rows);
  SP_READ(SP_INDEX, a_indices);
  SP_READ(SP_VALUE, b);
  SP_READ(SP_INDEX, b_indices);
  SP_READ(SP_INDEX, b_indptr);
  SP_EACH(k, room) {
    const ga_ulong owner = (ga_ulong)owners[k], row = (ga_ulong)a_indices[owner];
    const ga_ulong from =
        (row < rows ? (ga_ulong)b_indptr[row] : bn) + (k - (ga_ulong)begins[owner]);
    const ga_int is_here = from < bn;
    out[k] = SP_STORE(is_here ? SP_MUL(SP_LOAD(a[owner]), SP_LOAD(b[from])) : SP_ZERO);
    out_rows[k] = a_rows[owner];
    out_indices[k] = is_here ? b_indices[from] : 0;
  }
}
