/* Arrays that differ in which of the last two axes has their neighbours, on a GPU. A
 * block of threads takes a square of both, EL_TILE elements wide: squares of EL_VECTOR
 * vectors, of which a thread takes EL_SQUARES, EL_STEP rows of them apart. The arrays
 * that are `turned` go through local memory, where a row has a vector more than it
 * needs, so that neither walking a row nor a column meets a bank of it twice. */
#include "split.cl.h"

#define EL_PITCH (EL_LANES + 1)
#define EL_LINE (EL_TILE + EL_VECTOR)
#define EL_IN(own, there) own = there;
#define EL_OUT(own, there) there = own;

/* Where the tile of array i is in local memory, and the strides along the axis of its
 * neighbours (ga_i_f) and along the other (ga_i_g). */
#define EL_TILE_OF(i, T, V)                                                            \
  const bool ga_i_z##i = ga_i_turned >> i & 1;                                         \
  LOCAL_MEM_ARG V *ga_i_l##i = (LOCAL_MEM_ARG V *)(ga_i_pool + ga_i_used);             \
  ga_i_used += ga_i_z##i ? EL_ROOM_##i : 0;                                            \
  const EL_INT ga_i_f##i = ga_i_z##i ? EL_STRIDE_Y(i) : EL_STRIDE(i);                  \
  const EL_INT ga_i_g##i = ga_i_z##i ? EL_STRIDE(i) : EL_STRIDE_Y(i);
/* Where it begins in the array. */
#define EL_BEGIN(i, T, V)                                                              \
  GLOBAL_MEM T *ga_i_p##i = ga_i_##i +                                                 \
                            EL_TILE * (EL_Y * EL_STRIDE_Y(i) + EL_X * EL_STRIDE(i)) +  \
                            EL_OUTER(i);

/* ---- whole tiles, by vectors ---- */

/* A loop over the thread's vectors: number ga_i_s is vector ga_i_j of a square that
 * lies ga_i_b squares below the thread's first. */
#define EL_EACH_VECTOR                                                                 \
  _Pragma("unroll") for (int ga_i_s = 0; ga_i_s < EL_SQUARES * EL_VECTOR; ga_i_s++)
#define EL_SQUARE                                                                      \
  const int ga_i_j = ga_i_s % EL_VECTOR, ga_i_b = ga_i_s / EL_VECTOR * EL_STEP;        \
  (void)ga_i_j, (void)ga_i_b;
#define EL_EACH_OF_VECTOR                                                              \
  _Pragma("unroll") for (int ga_i_w = 0; ga_i_w < EL_VECTOR; ga_i_w++)

/* The vectors of array i, which are the thread's in the array's own order. */
#define EL_VECTORS(i, T, V)                                                            \
  union {                                                                              \
    V v;                                                                               \
    T e[EL_VECTOR];                                                                    \
  } ga_i_v##i[EL_SQUARES * EL_VECTOR];                                                 \
  GLOBAL_MEM T *ga_i_q##i =                                                            \
      ga_i_p##i + ga_i_lane * EL_VECTOR * ga_i_f##i + ga_i_a * EL_VECTOR * ga_i_g##i;
#define EL_ROW(i) ga_i_q##i + (ga_i_b * EL_VECTOR + ga_i_j) * ga_i_g##i

/* Between array i and the thread's registers: whole vectors where they are aligned. */
#define EL_MOVE_VECTORS(i, V, MOVE)                                                    \
  EL_EACH_VECTOR {                                                                     \
    EL_SQUARE                                                                          \
    MOVE(ga_i_v##i[ga_i_s].v, *(GLOBAL_MEM V *)(EL_ROW(i)))                            \
  }
#define EL_MOVE_ELEMENTS(i, MOVE)                                                      \
  EL_EACH_VECTOR {                                                                     \
    EL_SQUARE                                                                          \
    EL_EACH_OF_VECTOR MOVE(ga_i_v##i[ga_i_s].e[ga_i_w],                                \
                           (EL_ROW(i))[ga_i_w * ga_i_f##i])                            \
  }
#if EL_VECTOR == 1
#define EL_LOAD(i, T, V) EL_MOVE_VECTORS(i, V, EL_IN)
#define EL_STORE(i, T, V) EL_MOVE_VECTORS(i, V, EL_OUT)
#else
#define EL_LOAD(i, T, V)                                                               \
  if (ga_i_vectors >> i & 1) {                                                         \
    EL_MOVE_VECTORS(i, V, EL_IN)                                                       \
  }                                                                                    \
  EL_SHIFTED_##V(i) else {                                                             \
    EL_MOVE_ELEMENTS(i, EL_IN)                                                         \
  }
#define EL_STORE(i, T, V)                                                              \
  if (ga_i_vectors >> i & 1) {                                                         \
    EL_MOVE_VECTORS(i, V, EL_OUT)                                                      \
  } else {                                                                             \
    EL_MOVE_ELEMENTS(i, EL_OUT)                                                        \
  }
#endif
/* Vectors of 4 bytes that are not aligned: two aligned words hold each. */
#define EL_SHIFTED_ga_uint(i)                                                          \
  else if (ga_i_f##i == 1) {                                                           \
    EL_EACH_VECTOR {                                                                   \
      EL_SQUARE                                                                        \
      const ga_size ga_i_at = (ga_size)(EL_ROW(i));                                    \
      GLOBAL_MEM ga_uint *ga_i_word = (GLOBAL_MEM ga_uint *)(ga_i_at - ga_i_at % 4);   \
      ga_i_v##i[ga_i_s].v =                                                            \
          (ga_uint)(((ga_ulong)ga_i_word[1] << 32 | ga_i_word[0]) >> ga_i_at % 4 * 8); \
    }                                                                                  \
  }
#define EL_SHIFTED_ga_ubyte(i)
#define EL_SHIFTED_ga_ushort(i)
#define EL_SHIFTED_ga_uint2(i)
#define EL_SHIFTED_ga_uint4(i)

/* Between the thread's registers and the tile of array i in local memory, in the order
 * in which the expression is computed. */
#define EL_MOVE_STRAIGHT(i, MOVE)                                                      \
  if (ga_i_z##i) {                                                                     \
    EL_EACH_VECTOR {                                                                   \
      EL_SQUARE                                                                        \
      MOVE(ga_i_v##i[ga_i_s].v, ga_i_l##i[ga_i_j * EL_LANES * EL_PITCH +               \
                                          (ga_i_a + ga_i_b) * EL_PITCH + ga_i_lane])   \
    }                                                                                  \
  }
#define EL_FROM_LOCAL(i, T, V) EL_MOVE_STRAIGHT(i, EL_IN)
#define EL_TO_LOCAL(i, T, V) EL_MOVE_STRAIGHT(i, EL_OUT)

/* The same in the array's own order: squares change place, and turn in registers. */
#define EL_ACROSS(i)                                                                   \
  ga_i_l##i[ga_i_j * EL_LANES * EL_PITCH + ga_i_lane * EL_PITCH + ga_i_a + ga_i_b]
#define EL_TURN_VECTOR(i, MOVE)                                                        \
  EL_EACH_OF_VECTOR MOVE(ga_i_u.e[ga_i_w],                                             \
                         ga_i_v##i[ga_i_s - ga_i_j + ga_i_w].e[ga_i_j])
#define EL_TURN_IN(i, T, V)                                                            \
  if (ga_i_z##i) {                                                                     \
    EL_EACH_VECTOR {                                                                   \
      EL_SQUARE                                                                        \
      union {                                                                          \
        V v;                                                                           \
        T e[EL_VECTOR];                                                                \
      } ga_i_u;                                                                        \
      EL_TURN_VECTOR(i, EL_IN)                                                         \
      EL_ACROSS(i) = ga_i_u.v;                                                         \
    }                                                                                  \
  }
#define EL_TURN_OUT(i, T, V)                                                           \
  if (ga_i_z##i) {                                                                     \
    EL_EACH_VECTOR {                                                                   \
      EL_SQUARE                                                                        \
      union {                                                                          \
        V v;                                                                           \
        T e[EL_VECTOR];                                                                \
      } ga_i_u;                                                                        \
      ga_i_u.v = EL_ACROSS(i);                                                         \
      EL_TURN_VECTOR(i, EL_OUT)                                                        \
    }                                                                                  \
  }
#define EL_TURN_AND_STORE(i, T, V)                                                     \
  EL_TURN_OUT(i, T, V)                                                                 \
  EL_STORE(i, T, V)
#define EL_OF_VECTOR(i) ga_i_v##i[ga_i_s].e[ga_i_w]

/* ---- tiles at the ends, by elements ---- */

/* A loop over the elements of the tile: ga_i_w along a row, ga_i_b down. */
#define EL_EACH_ELEMENT                                                                \
  _Pragma("unroll 1") for (int ga_i_s = (int)LID_0; ga_i_s < EL_TILE * EL_TILE;        \
                           ga_i_s += EL_THREADS)
#define EL_AT const int ga_i_b = ga_i_s / EL_TILE, ga_i_w = ga_i_s % EL_TILE;
#define EL_LOCAL(i, T, row, column)                                                    \
  ((LOCAL_MEM_ARG T *)ga_i_l##i)[row * EL_LINE + column]
#define EL_GLOBAL(i) ga_i_p##i[ga_i_w * ga_i_f##i + ga_i_b * ga_i_g##i]

/* Between array i, if it is turned, and local memory. */
#define EL_TURN_ELEMENTS(i, T, MOVE)                                                   \
  if (ga_i_z##i) {                                                                     \
    EL_EACH_ELEMENT {                                                                  \
      EL_AT                                                                            \
      if (ga_i_b < ga_i_wide && ga_i_w < ga_i_high)                                    \
        MOVE(EL_LOCAL(i, T, ga_i_b, ga_i_w), EL_GLOBAL(i))                             \
    }                                                                                  \
  }
#define EL_TURN_ELEMENTS_IN(i, T, V) EL_TURN_ELEMENTS(i, T, EL_IN)
#define EL_TURN_ELEMENTS_OUT(i, T, V) EL_TURN_ELEMENTS(i, T, EL_OUT)

/* The element of array i at ga_i_w, ga_i_b into ga_i_e, or back. */
#define EL_MOVE_ELEMENT(i, T, MOVE)                                                    \
  if (ga_i_z##i)                                                                       \
    MOVE(ga_i_e##i, EL_LOCAL(i, T, ga_i_w, ga_i_b))                                    \
  else                                                                                 \
    MOVE(ga_i_e##i, EL_GLOBAL(i))
#define EL_ELEMENT(i, T, V) T ga_i_e##i;
#define EL_LOAD_ELEMENT(i, T, V) EL_MOVE_ELEMENT(i, T, EL_IN)
#define EL_STORE_ELEMENT(i, T, V) EL_MOVE_ELEMENT(i, T, EL_OUT)
#define EL_OF_ELEMENT(i) ga_i_e##i

#define EL_POOL_PARAMETER GA_DECL_SHARED_PARAM(ga_uint4, ga_i_pool)
EL_KERNEL void EL_NAME(ga_uint ga_i_n EL_LENGTHS(EL_LENGTH), ga_uint ga_i_height,
                       ga_uint ga_i_width, ga_ulong ga_i_turned,
                       ga_ulong ga_i_vectors EL_PARAMETERS EL_POOL_PARAMETER) {
  KERNEL_BEGIN;
  GA_DECL_SHARED_BODY(ga_uint4, ga_i_pool)
  EL_STARTS
  const int ga_i_lane = (int)LID_0 % EL_LANES;
  const int ga_i_a = (int)LID_0 / EL_LANES;
  ga_uint ga_i_used = 0;
  EL_ARRAYS(EL_TILE_OF)
  for (ga_uint ga_i_i = (ga_uint)GID_0; ga_i_i < ga_i_n; ga_i_i += (ga_uint)GDIM_0) {
    ga_uint ga_i_r = ga_i_i;
    EL_AXES(EL_SPLIT)
    const EL_INT ga_i_x0 = (EL_INT)ga_i_r;
    EL_ARRAYS(EL_BEGIN)
    const int ga_i_high = (int)(ga_i_height - (ga_uint)EL_Y * EL_TILE);
    const int ga_i_wide = (int)(ga_i_width - (ga_uint)EL_X * EL_TILE);
    if (ga_i_high >= EL_TILE && ga_i_wide >= EL_TILE
#if EL_VECTOR > 1
        && (ga_i_vectors == EL_EVERY ||
            (EL_Y > 0 && EL_X > 0 && ga_i_high >= EL_LINE && ga_i_wide >= EL_LINE))
#endif
    ) {
      /* Turned arrays are loaded in their own order, and exchanged over local memory;
       * all loads come before the first wait. */
      EL_ARRAYS(EL_VECTORS)
      EL_READS(EL_LOAD)
      EL_READS(EL_TURN_IN)
      local_barrier();
      EL_READS(EL_FROM_LOCAL)
      EL_EACH_VECTOR {
        EL_SQUARE
#pragma unroll
        for (int ga_i_w = 0; ga_i_w < EL_VECTOR; ga_i_w++) {
          EL_VALUES(EL_OF_VECTOR)
          EL_EXPRESSION
          EL_RESULTS(EL_OF_VECTOR)
        }
      }
      EL_WRITES(EL_TO_LOCAL)
      if (ga_i_turned & EL_EVERY_OUTPUT)
        local_barrier();
      EL_WRITES(EL_TURN_AND_STORE)
    } else {
      /* Some elements may be missing: short rather than fast. */
      EL_READS(EL_TURN_ELEMENTS_IN)
      local_barrier();
      EL_EACH_ELEMENT {
        EL_AT
        if (ga_i_b < ga_i_high && ga_i_w < ga_i_wide) {
          EL_ARRAYS(EL_ELEMENT)
          EL_READS(EL_LOAD_ELEMENT)
          EL_VALUES(EL_OF_ELEMENT)
          EL_EXPRESSION
          EL_RESULTS(EL_OF_ELEMENT)
          EL_WRITES(EL_STORE_ELEMENT)
        }
      }
      if (ga_i_turned & EL_EVERY_OUTPUT)
        local_barrier();
      EL_WRITES(EL_TURN_ELEMENTS_OUT)
    }
    local_barrier();
  }
}
