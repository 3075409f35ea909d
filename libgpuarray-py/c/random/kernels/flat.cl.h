/* Random numbers of contiguous arrays on GPUs: an item evaluates Philox at a counter,
 * which gives a chunk of RN_PER elements of RN_WORDS words, stored as vectors. Counters
 * whose high words are equal are a segment, within which 32 bits count.
 * random_source.c defines the macros RN_... */
#define RN_MADE                                                                        \
  union {                                                                              \
    RN_TYPE at[RN_CHUNK];                                                              \
    RN_VECTOR vectors[RN_VECTORS];                                                     \
  } made;                                                                              \
  ga_uint w[4];
#define RN_KEEP(behind, value) made.at[k + behind] = RN_STORE(RN_CAP(value))

KERNEL void RN_NAME(GLOBAL_MEM RN_TYPE *x, ga_size x_off, ga_ulong n,
                    RN_STATE RN_PARAMETERS RN_OTHERS) {
  KERNEL_BEGIN;
  RN_LOAD_STATE
  x = (GLOBAL_MEM RN_TYPE *)((GLOBAL_MEM char *)x + x_off);
  const ga_ulong chunks = n / RN_CHUNK + (n % RN_CHUNK != 0);
  const ga_ulong whole = n / RN_CHUNK; /* all but the last */
  const ga_uint item = (ga_uint)(GID_0 * LDIM_0 + LID_0);
  const ga_uint items = (ga_uint)(GDIM_0 * LDIM_0);
  for (ga_ulong begin = 0; begin < chunks;) {
    const ga_uint low = (ga_uint)(position + begin);
    const ga_uint high = (ga_uint)((position + begin) >> 32);
    const ga_ulong most =
        low > 0x80000000u ? 0x80000000u - (low - 0x80000000u) : 0x80000000u;
    const ga_uint length = (ga_uint)(chunks - begin < most ? chunks - begin : most);
    const ga_ulong left = aligned ? whole - begin : 0;
    const ga_uint vectors = (ga_uint)(left < length ? left : length);
    GLOBAL_MEM RN_TYPE *to = x + begin * RN_CHUNK;
    for (ga_uint c = item; c < vectors; c += items) {
      RN_MADE
      ga_philox_at(w, low + c, high, stream, seed);
#include "draws_of_words.cl.h"
#pragma unroll
      for (ga_uint k = 0; k < RN_VECTORS; k++)
        ((GLOBAL_MEM RN_VECTOR *)to)[(ga_size)c * RN_VECTORS + k] = made.vectors[k];
    }
    const ga_ulong rest = n - begin * RN_CHUNK;
    for (ga_uint c = vectors + item; c < length; c += items) {
      RN_MADE
      ga_philox_at(w, low + c, high, stream, seed);
#include "draws_of_words.cl.h"
#pragma unroll
      for (ga_uint k = 0; k < RN_CHUNK; k++)
        if ((ga_ulong)c * RN_CHUNK + k < rest)
          to[(ga_size)c * RN_CHUNK + k] = made.at[k];
    }
    begin += length;
  }
}
