/* Parameters of elementwise operations of two matrices by parts of their merged order,
 * and what the count sees in the row pointers. */
#define SP_PARAMETERS                                                                  \
  GLOBAL_MEM SP_OUT *out, ga_size out_off, GLOBAL_MEM SP_INDEX *out_indices,           \
      ga_size out_indices_off, GLOBAL_MEM SP_INDEX *out_indptr,                        \
      ga_size out_indptr_off, GLOBAL_MEM SP_INDEX *words, ga_size words_off,           \
      SP_TWO_MATRICES, ga_ulong rows, ga_ulong columns, ga_ulong an, ga_ulong bn,      \
      ga_ulong parts, ga_ulong room, SP_REAL alpha, SP_REAL alpha_im, SP_REAL beta,    \
      SP_REAL beta_im
#define SP_LOOK_AT_POINTERS                                                            \
  SP_EACH(row, rows + 1) {                                                             \
    const SP_INDEX x = a_indptr[row], y = b_indptr[row];                               \
    has_flaw |=                                                                        \
        row == 0 ? x != 0 || y != 0 : x < a_indptr[row - 1] || y < b_indptr[row - 1];  \
    has_flaw |= row == rows && ((ga_ulong)x != an || (ga_ulong)y != bn);               \
  }                                                                                    \
  if (has_flaw)                                                                        \
    counts[parts] = 1;
