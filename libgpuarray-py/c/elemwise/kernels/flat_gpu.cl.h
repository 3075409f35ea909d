/* Arrays that are one block each in the same order, on a GPU. A block of threads takes
 * ga_i_block elements, its threads load whole vectors side by side, all before the
 * first use. The last block, and arrays that are not aligned, go element by element.
 * Blocks repeat if the grid was too small. */
#define EL_VECTORS(i, T, V)                                                            \
  union {                                                                              \
    V v;                                                                               \
    T e[EL_VECTOR];                                                                    \
  } ga_i_v##i;
#define EL_LOAD(i, T, V) ga_i_v##i.v = ((GLOBAL_MEM V *)ga_i_##i)[ga_i_at];
#define EL_STORE(i, T, V) ((GLOBAL_MEM V *)ga_i_##i)[ga_i_at] = ga_i_v##i.v;
#define EL_OF_VECTOR(i) ga_i_v##i.e[ga_i_k]
#define EL_OF_ARRAY(i) ga_i_##i[ga_i_i]
/* The offset is a multiple of the vector, as the host makes sure: written so, the
 * compiler sees what neighbours have in common, as the words of one random count. */
#define EL_OF_VECTOR_INDEX(i)                                                          \
  ((ga_i_o##i / EL_VECTOR + ga_i_at) * EL_VECTOR | (ga_ulong)ga_i_k)
#define EL_OF_ARRAY_INDEX(i) (ga_i_o##i + ga_i_i)

KERNEL void EL_NAME(ga_size ga_i_n, ga_uint ga_i_aligned EL_PARAMETERS) {
  KERNEL_BEGIN;
  EL_STARTS
  EL_CONSTANTS
  const ga_size ga_i_block = (ga_size)LDIM_0 * EL_VECTOR;
  for (ga_size ga_i_start = GID_0 * ga_i_block; ga_i_start < ga_i_n;
       ga_i_start += GDIM_0 * ga_i_block) {
    if (ga_i_aligned && ga_i_n - ga_i_start >= ga_i_block) {
      const ga_size ga_i_at = ga_i_start / EL_VECTOR + LID_0;
      EL_ARRAYS(EL_VECTORS)
#include "vector.cl.h"
    } else {
      const ga_size ga_i_end =
          ga_i_n - ga_i_start < ga_i_block ? ga_i_n : ga_i_start + ga_i_block;
      for (ga_size ga_i_i = ga_i_start + LID_0; ga_i_i < ga_i_end; ga_i_i += LDIM_0) {
        EL_VALUES(EL_OF_ARRAY)
        EL_EXPRESSION
        EL_RESULTS(EL_OF_ARRAY)
      }
    }
  }
}
