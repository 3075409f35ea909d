/* Arrays of any strides, on a GPU: by vectors of rows where ga_i_row is set, else by
 * elements. */
#include "split.cl.h"

/* A vector of array i, where it begins, and the stride of its elements. */
#define EL_ROW(i, T, V) const EL_INT ga_i_p##i = EL_OUTER(i);
#define EL_VECTOR_OF(i, T, V)                                                          \
  union {                                                                              \
    V v;                                                                               \
    T e[EL_VECTOR];                                                                    \
  } ga_i_v##i;                                                                         \
  GLOBAL_MEM T *ga_i_a##i = ga_i_##i + (ga_i_p##i + ga_i_x * EL_STRIDE(i));            \
  const EL_INT ga_i_j##i = (EL_INT)ga_i_gap * EL_STRIDE(i);
#define EL_IS_WHOLE(i, V) (ga_i_units >> i & 1) && (ga_size)ga_i_a##i % sizeof(V) == 0
#define EL_EACH _Pragma("unroll") for (int ga_i_k = 0; ga_i_k < EL_VECTOR; ga_i_k++)

/* The vector: whole where it lies so, else its elements. */
#define EL_LOAD(i, T, V)                                                               \
  if (EL_IS_WHOLE(i, V)) {                                                             \
    ga_i_v##i.v = *(GLOBAL_MEM V *)ga_i_a##i;                                          \
  } else if (ga_i_ones >> i & 1) {                                                     \
    const T ga_i_s = *ga_i_a##i;                                                       \
    EL_EACH ga_i_v##i.e[ga_i_k] = ga_i_s;                                              \
  } else {                                                                             \
    EL_EACH ga_i_v##i.e[ga_i_k] = ga_i_a##i[ga_i_k * ga_i_j##i];                       \
  }
#define EL_STORE(i, T, V)                                                              \
  if (EL_IS_WHOLE(i, V)) {                                                             \
    *(GLOBAL_MEM V *)ga_i_a##i = ga_i_v##i.v;                                          \
  } else {                                                                             \
    EL_EACH ga_i_a##i[ga_i_k * ga_i_j##i] = ga_i_v##i.e[ga_i_k];                       \
  }

/* Elements of vectors before the place of array i. */
#define EL_AHEAD(i, T) ((ga_size)(ga_i_##i + ga_i_p##i) / sizeof(T) % EL_VECTOR)

#define EL_OF_VECTOR(i) ga_i_v##i.e[ga_i_k]
#define EL_OF_ROW(i) ga_i_##i[ga_i_p##i + ga_i_k * EL_STRIDE(i)]
#define EL_OF_VECTOR_INDEX(i)                                                          \
  (ga_i_o##i +                                                                         \
   (ga_ulong)(EL_OUTER(i) + (ga_i_x + ga_i_k * (EL_INT)ga_i_gap) * EL_STRIDE(i)))
#define EL_OF_ROW_INDEX(i) (ga_i_o##i + (ga_ulong)(EL_OUTER(i) + ga_i_k * EL_STRIDE(i)))

/* Positions and values of elements that are a block apart. */
#define EL_PLACES(i, T, V) EL_INT ga_i_p##i[EL_APART];
#define EL_LOADED(i, T, V) T ga_i_v##i[EL_APART];
#define EL_FIND(i, T, V) ga_i_p##i[ga_i_k] = EL_PLACE(i);
#define EL_LOAD_ONE(i, T, V) ga_i_v##i[ga_i_k] = ga_i_##i[ga_i_p##i[ga_i_k]];
#define EL_OF_LOADED(i) ga_i_v##i[ga_i_k]
#define EL_OF_ARRAY(i) ga_i_##i[ga_i_p##i[ga_i_k]]
#define EL_OF_LOADED_INDEX(i) (ga_i_o##i + (ga_ulong)ga_i_p##i[ga_i_k])

KERNEL void EL_NAME(ga_uint ga_i_n, ga_uint ga_i_row, ga_uint ga_i_apart,
                    ga_ulong ga_i_units,
                    ga_ulong ga_i_ones EL_LENGTHS(EL_LENGTH) EL_PARAMETERS) {
  KERNEL_BEGIN;
  EL_STARTS
#if EL_VECTOR > 1
  /* A thread takes a vector of a row: one split of its number gives the row's place in
   * every array. Vectors begin where the leader's do in memory, so that the first and
   * the last of a row may be cut short. Or it takes as many elements apart, of whole
   * rows. */
  const ga_uint ga_i_gap = EL_GAP;
  if (ga_i_row) {
    for (ga_uint ga_i_i = (ga_uint)(GID_0 * LDIM_0 + LID_0); ga_i_i < ga_i_n;
         ga_i_i += (ga_uint)(GDIM_0 * LDIM_0)) {
      ga_uint ga_i_r = ga_i_i;
      EL_AXES(EL_SPLIT)
      const EL_INT ga_i_x0 = (EL_INT)ga_i_r;
      EL_ARRAYS(EL_ROW)
      const EL_INT ga_i_x =
          ga_i_gap > 1 ? EL_X : EL_X * EL_VECTOR - (EL_INT)EL_LEADER(EL_AHEAD);
      if (ga_i_gap > 1 || (ga_i_x >= 0 && ga_i_x + EL_VECTOR <= (EL_INT)ga_i_row)) {
        EL_ARRAYS(EL_VECTOR_OF)
#include "vector.cl.h"
      } else {
#pragma unroll 1
        for (EL_INT ga_i_k = ga_i_x < 0 ? 0 : ga_i_x;
             ga_i_k < ga_i_x + EL_VECTOR && ga_i_k < (EL_INT)ga_i_row; ga_i_k++) {
          EL_VALUES(EL_OF_ROW)
          EL_EXPRESSION
          EL_RESULTS(EL_OF_ROW)
        }
      }
    }
    return;
  }
#endif
  /* A thread takes elements that are a block apart and loads all of them before the
   * first use. Positions come from multiplications: no division. */
  const ga_uint ga_i_block = (ga_uint)LDIM_0 * EL_APART;
  for (ga_uint ga_i_start = (ga_uint)GID_0 * ga_i_block + (ga_uint)LID_0;
       ga_i_start < ga_i_n; ga_i_start += (ga_uint)GDIM_0 * ga_i_block) {
    EL_ARRAYS(EL_PLACES)
    EL_INDICES(EL_PLACES)
    EL_READS(EL_LOADED)
#pragma unroll
    for (int ga_i_k = 0; ga_i_k < EL_APART; ga_i_k++) {
      ga_uint ga_i_r = ga_i_start + (ga_uint)ga_i_k * (ga_uint)LDIM_0;
      if (ga_i_r < ga_i_n) {
        EL_AXES(EL_SPLIT)
        const EL_INT ga_i_x0 = (EL_INT)ga_i_r;
        EL_ARRAYS(EL_FIND)
        EL_INDICES(EL_FIND)
        EL_READS(EL_LOAD_ONE)
      }
    }
#pragma unroll
    for (int ga_i_k = 0; ga_i_k < EL_APART; ga_i_k++) {
      if (ga_i_start + (ga_uint)ga_i_k * (ga_uint)LDIM_0 < ga_i_n) {
        EL_VALUES(EL_OF_LOADED)
        EL_EXPRESSION
        EL_RESULTS(EL_OF_ARRAY)
      }
    }
  }
}
