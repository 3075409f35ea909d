/* Arrays of any strides, on a CPU. Each group walks a run of pieces of rows, its items
 * side by side; pieces that follow each other are below each other, so that short ones
 * make a transposition go block by block. Positions within a piece take 32 bits, which
 * makes gathers twice as fast. */
#define EL_LENGTH(k) , ga_size ga_i_d##k
#define EL_SPLIT(k)                                                                    \
  const ga_size ga_i_q##k = ga_i_r / ga_i_d##k;                                        \
  const EL_INT ga_i_x##k = (EL_INT)(ga_i_r - ga_i_q##k * ga_i_d##k);                   \
  ga_i_r = ga_i_q##k;
/* Where the piece begins in array i. */
#define EL_BEGIN(i, T, V) GLOBAL_MEM T *ga_i_a##i = ga_i_##i + (EL_PLACE(i));
#define EL_OF_PIECE(i) ga_i_a##i[ga_i_x]

/* Where the piece begins in index i, and the number of an element of it. */
#define EL_BEGIN_INDEX(i, T, V) const EL_INT ga_i_a##i = EL_PLACE(i);
#define EL_NUMBER(i, x) (ga_i_o##i + (ga_ulong)(ga_i_a##i + (EL_INT)(x) * EL_STRIDE(i)))
#define EL_OF_PIECE_INDEX(i) EL_NUMBER(i, ga_i_x)
#define EL_OF_UNIT_INDEX(i) EL_NUMBER(i, ga_i_x)
#define EL_OF_ELEMENT_INDEX(i) EL_NUMBER(i, ga_i_x)
#define EL_OF_CHUNK_INDEX(i) EL_NUMBER(i, ga_i_u + ga_i_k)

/* Strides of 0 and 1: what has stride 0 is loaded before the row, else the compiler
 * would gather it. */
#define EL_FIRST(i, T, V) const T ga_i_f##i = *ga_i_a##i;
#define EL_OF_UNIT(i) (EL_STRIDE(i) ? ga_i_a##i[ga_i_x] : ga_i_f##i)

/* Inputs of stride 2, outputs of stride 1: neighbours are loaded in pairs, as one
 * integer wherever it begins, whose second is dropped; no gather keeps up with that. */
#define EL_PAIR(i, T, V)                                                               \
  union {                                                                              \
    V v;                                                                               \
    T e;                                                                               \
  } ga_i_w##i;                                                                         \
  ga_i_w##i.v = (V)((GLOBAL_MEM ga_i_pair_##V *)ga_i_a##i)[ga_i_x].v;
#define EL_OF_PAIR(i) ga_i_w##i.e

/* Any strides. Those of 1 and -1 are told apart, once for all lanes of a vector, since
 * others are gathered and scattered. */
#define EL_STEP(i, T, V) const ga_int ga_i_s##i = (ga_int)EL_STRIDE(i);
#define EL_ELEMENT(i, T, V) T ga_i_e##i;
#define EL_LOAD(i, T, V)                                                               \
  if (ga_i_s##i == 1)                                                                  \
    ga_i_e##i = ga_i_a##i[ga_i_x];                                                     \
  else if (ga_i_s##i == -1)                                                            \
    ga_i_e##i = ga_i_a##i[-ga_i_x];                                                    \
  else                                                                                 \
    ga_i_e##i = ga_i_a##i[ga_i_x * ga_i_s##i];
#define EL_STORE(i, T, V)                                                              \
  if (ga_i_s##i == 1)                                                                  \
    ga_i_a##i[ga_i_x] = ga_i_e##i;                                                     \
  else                                                                                 \
    ga_i_a##i[ga_i_x * ga_i_s##i] = ga_i_e##i;
#define EL_OF_ELEMENT(i) ga_i_e##i

/* The same in chunks, few enough elements for the nearest cache, whatever the arrays.
 * Each array's part of it is brought together first, in a loop of its own for each
 * stride that is worth one: so that the expression is a loop over neighbours, of which
 * compilers make vectors. */
#define EL_CHUNK 64
#define EL_CHUNK_OF(i, T, V) T ga_i_e##i[EL_CHUNK];
#define EL_IN(own, place)                                                              \
  for (ga_int ga_i_k = 0; ga_i_k < ga_i_many; ga_i_k++)                                \
    own[ga_i_k] = place;
#define EL_OUT(own, place)                                                             \
  for (ga_int ga_i_k = 0; ga_i_k < ga_i_many; ga_i_k++)                                \
    place = own[ga_i_k];
#define EL_MOVE_CHUNK(i, MOVE)                                                         \
  if (ga_i_s##i == 1)                                                                  \
    MOVE(ga_i_e##i, ga_i_a##i[ga_i_u + ga_i_k])                                        \
  else if (ga_i_s##i == -1)                                                            \
    MOVE(ga_i_e##i, ga_i_a##i[-ga_i_u - ga_i_k])                                       \
  else if (ga_i_s##i == 2)                                                             \
    MOVE(ga_i_e##i, ga_i_a##i[2 * (ga_i_u + ga_i_k)])                                  \
  else                                                                                 \
    MOVE(ga_i_e##i, (ga_i_a##i + ga_i_u * ga_i_s##i)[ga_i_k * ga_i_s##i])
#define EL_GATHER(i, T, V)                                                             \
  if (ga_i_s##i == 0)                                                                  \
    EL_IN(ga_i_e##i, ga_i_f##i)                                                        \
  else                                                                                 \
    EL_MOVE_CHUNK(i, EL_IN)
#define EL_SCATTER(i, T, V) EL_MOVE_CHUNK(i, EL_OUT)
#define EL_OF_CHUNK(i) ga_i_e##i[ga_i_k]

KERNEL void EL_NAME(ga_size ga_i_rows, ga_size ga_i_pieces, ga_size ga_i_piece,
                    ga_uint ga_i_row EL_LENGTHS(EL_LENGTH) EL_PARAMETERS) {
  KERNEL_BEGIN;
#if EL_TAKES_PAIRS
  typedef struct __attribute__((packed)) {
    ga_ushort v;
  } ga_i_pair_ga_ubyte;
  typedef struct __attribute__((packed)) {
    ga_uint v;
  } ga_i_pair_ga_ushort;
  typedef struct __attribute__((packed)) {
    ga_ulong v;
  } ga_i_pair_ga_uint;
#endif
  EL_STARTS
  const ga_size ga_i_n = ga_i_rows * ga_i_pieces;
  const ga_size ga_i_run = (ga_i_n + GDIM_0 - 1) / GDIM_0;
  const ga_size ga_i_start = GID_0 * ga_i_run;
  const ga_size ga_i_end =
      ga_i_start + ga_i_run < ga_i_n ? ga_i_start + ga_i_run : ga_i_n;
  for (ga_size ga_i_i = ga_i_start; ga_i_i < ga_i_end; ga_i_i++) {
    const ga_size ga_i_from = ga_i_i / ga_i_rows * ga_i_piece;
    const EL_INT EL_X = (EL_INT)ga_i_from;
    const ga_int ga_i_length =
        (ga_int)(EL_ROW - ga_i_from < ga_i_piece ? EL_ROW - ga_i_from : ga_i_piece);
    ga_size ga_i_r = ga_i_i % ga_i_rows;
    EL_AXES(EL_SPLIT)
#if EL_NDIM > 1
    const EL_INT ga_i_x0 = (EL_INT)ga_i_r;
#endif
    EL_ARRAYS(EL_BEGIN)
    EL_INDICES(EL_BEGIN_INDEX)
/* Where items run side by side they are the vectors; else loops are. */
#if GA_WARP_SIZE == 1
#if EL_TAKES_PAIRS
    if (ga_i_row == 2)
      for (ga_int ga_i_x = 0; ga_i_x < ga_i_length; ga_i_x++) {
        EL_READS(EL_PAIR)
        EL_VALUES(EL_OF_PAIR)
        EL_EXPRESSION
        EL_RESULTS(EL_OF_PIECE)
      }
    else
#endif
    {
      EL_ARRAYS(EL_STEP)
      EL_READS(EL_FIRST)
      for (ga_int ga_i_u = 0; ga_i_u < ga_i_length; ga_i_u += EL_CHUNK) {
        const ga_int ga_i_many =
            ga_i_length - ga_i_u < EL_CHUNK ? ga_i_length - ga_i_u : EL_CHUNK;
        EL_ARRAYS(EL_CHUNK_OF)
        EL_READS(EL_GATHER)
        for (ga_int ga_i_k = 0; ga_i_k < ga_i_many; ga_i_k++) {
          EL_VALUES(EL_OF_CHUNK)
          EL_EXPRESSION
          EL_RESULTS(EL_OF_CHUNK)
        }
        EL_WRITES(EL_SCATTER)
      }
    }
#else
    /* Full steps without a condition, then what is left of the piece. */
    const ga_int ga_i_step = (ga_int)LDIM_0, ga_i_full = ga_i_length - ga_i_step;
    ga_int ga_i_u = 0;
#if !EL_IS_LONG
    if (ga_i_row == 1) {
      EL_READS(EL_FIRST)
      for (; ga_i_u <= ga_i_full; ga_i_u += ga_i_step) {
        const ga_int ga_i_x = ga_i_u + (ga_int)LID_0;
        EL_VALUES(EL_OF_UNIT)
        EL_EXPRESSION
        EL_RESULTS(EL_OF_PIECE)
      }
    }
#endif
#if EL_TAKES_PAIRS
    if (ga_i_row == 2)
      for (; ga_i_u <= ga_i_full; ga_i_u += ga_i_step) {
        const ga_int ga_i_x = ga_i_u + (ga_int)LID_0;
        EL_READS(EL_PAIR)
        EL_VALUES(EL_OF_PAIR)
        EL_EXPRESSION
        EL_RESULTS(EL_OF_PIECE)
      }
#endif
    EL_ARRAYS(EL_STEP)
#if !EL_IS_LONG
    for (; ga_i_u <= ga_i_full; ga_i_u += ga_i_step) {
      const ga_int ga_i_x = ga_i_u + (ga_int)LID_0;
      EL_ARRAYS(EL_ELEMENT)
      EL_READS(EL_LOAD)
      EL_VALUES(EL_OF_ELEMENT)
      EL_EXPRESSION
      EL_RESULTS(EL_OF_ELEMENT)
      EL_WRITES(EL_STORE)
    }
#endif
    for (; ga_i_u < ga_i_length; ga_i_u += ga_i_step) {
      const ga_int ga_i_x = ga_i_u + (ga_int)LID_0;
      if (ga_i_x < ga_i_length) {
        EL_ARRAYS(EL_ELEMENT)
        EL_READS(EL_LOAD)
        EL_VALUES(EL_OF_ELEMENT)
        EL_EXPRESSION
        EL_RESULTS(EL_OF_ELEMENT)
        EL_WRITES(EL_STORE)
      }
    }
#endif
  }
}
