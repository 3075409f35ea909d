/* Parameters at their offsets, of what is read and of what is written; those of a
 * matrix, and of two. */
#define SP_READ(type, p)                                                               \
  p = (GLOBAL_MEM const type *)((GLOBAL_MEM const char *)p + p##_off)
#define SP_WRITTEN(type, p) p = (GLOBAL_MEM type *)((GLOBAL_MEM char *)p + p##_off)
#define SP_MATRIX                                                                      \
  GLOBAL_MEM const SP_VALUE *values, ga_size values_off,                               \
      GLOBAL_MEM const SP_INDEX *indices, ga_size indices_off,                         \
      GLOBAL_MEM const SP_INDEX *indptr, ga_size indptr_off
#define SP_READ_MATRIX                                                                 \
  SP_READ(SP_VALUE, values);                                                           \
  SP_READ(SP_INDEX, indices);                                                          \
  SP_READ(SP_INDEX, indptr)
#define SP_TWO_MATRICES                                                                \
  GLOBAL_MEM const SP_VALUE *a, ga_size a_off, GLOBAL_MEM const SP_INDEX *a_indices,   \
      ga_size a_indices_off, GLOBAL_MEM const SP_INDEX *a_indptr,                      \
      ga_size a_indptr_off, GLOBAL_MEM const SP_VALUE *b, ga_size b_off,               \
      GLOBAL_MEM const SP_INDEX *b_indices, ga_size b_indices_off,                     \
      GLOBAL_MEM const SP_INDEX *b_indptr, ga_size b_indptr_off
#define SP_READ_TWO                                                                    \
  SP_READ(SP_VALUE, a);                                                                \
  SP_READ(SP_INDEX, a_indices);                                                        \
  SP_READ(SP_INDEX, a_indptr);                                                         \
  SP_READ(SP_VALUE, b);                                                                \
  SP_READ(SP_INDEX, b_indices);                                                        \
  SP_READ(SP_INDEX, b_indptr)
