/* Rows of whole aligned vectors, on a GPU: every array has stride 1 along the last
 * axis, or stride 0, and is one value a row then, which the compiler takes out of the
 * loop with what follows from it.
 *
 * 32 items take a piece of a row: the last axis counts pieces, of ga_i_length vectors.
 * So an item splits its number into places once for several vectors. */
#include "split.cl.h"

#define EL_ROW(i, T, V)                                                                \
  GLOBAL_MEM V *ga_i_a##i = (GLOBAL_MEM V *)(ga_i_##i + (EL_OUTER(i)));
#define EL_VECTOR_OF(i, T, V)                                                          \
  union {                                                                              \
    V v;                                                                               \
    T e[EL_VECTOR];                                                                    \
  } ga_i_v##i;
#define EL_LOAD(i, T, V) ga_i_v##i.v = ga_i_a##i[ga_i_at];
#define EL_STORE(i, T, V) ga_i_a##i[ga_i_at] = ga_i_v##i.v;
#define EL_OF_VECTOR(i) ga_i_v##i.e[ga_i_k]

KERNEL void EL_NAME(ga_uint ga_i_n, ga_uint ga_i_row,
                    ga_uint ga_i_length EL_LENGTHS(EL_LENGTH) EL_PARAMETERS) {
  KERNEL_BEGIN;
  EL_STARTS
  for (ga_uint ga_i_i = (ga_uint)(GID_0 * LDIM_0 + LID_0) / 32; ga_i_i < ga_i_n;
       ga_i_i += (ga_uint)(GDIM_0 * LDIM_0) / 32) {
    ga_uint ga_i_r = ga_i_i;
    EL_AXES(EL_SPLIT)
    const EL_INT ga_i_x0 = (EL_INT)ga_i_r;
    EL_ARRAYS(EL_ROW)
    EL_CONSTANTS
    const ga_uint ga_i_first = (ga_uint)EL_X * ga_i_length;
    const ga_uint ga_i_end =
        ga_i_row - ga_i_first < ga_i_length ? ga_i_row : ga_i_first + ga_i_length;
    for (ga_uint ga_i_at = ga_i_first + (ga_uint)LID_0 % 32; ga_i_at < ga_i_end;
         ga_i_at += 32) {
      EL_ARRAYS(EL_VECTOR_OF)
#include "vector.cl.h"
    }
  }
}
