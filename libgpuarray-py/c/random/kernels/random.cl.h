/* Random numbers: an item evaluates Philox at RN_COUNTS counters, which give RN_PER
 * elements of RN_WORDS words each, and stores them as vectors if it can.
 * random_source.c defines the macros RN_... */
#define RN_KEEP(behind, value)                                                         \
  made.at[m * RN_PER + k + behind] = RN_STORE(RN_CAP(value))

KERNEL void RN_NAME(GLOBAL_MEM RN_TYPE *x, ga_size x_off, ga_ulong n,
                    RN_STATE RN_PARAMETERS RN_OTHERS) {
  KERNEL_BEGIN;
  RN_LOAD_STATE
  x = (GLOBAL_MEM RN_TYPE *)((GLOBAL_MEM char *)x + x_off);
  const ga_ulong chunks = n / RN_CHUNK + (n % RN_CHUNK != 0);
  for (ga_ulong c = GID_0 * LDIM_0 + LID_0; c < chunks; c += GDIM_0 * LDIM_0) {
    const ga_ulong i = c * RN_CHUNK;
    union {
      RN_TYPE at[RN_CHUNK];
      RN_VECTOR vectors[RN_VECTORS];
    } made;
    /* `w`: the words of counter m. For CPUs all words are computed first, in short
     * loops that compilers vectorize. */
#if RN_IN_LOOPS
    ga_uint words[4 * RN_COUNTS];
    for (ga_int m = 0; m < RN_COUNTS; m++)
      ga_philox(words + 4 * m, position + c * RN_COUNTS + (ga_ulong)m, stream, seed);
    for (ga_int m = 0; m < RN_COUNTS; m++) {
      const ga_uint *w = words + 4 * m;
#else
    for (ga_uint m = 0; m < RN_COUNTS; m++) {
      ga_uint w[4];
      ga_philox(w, position + c * RN_COUNTS + m, stream, seed);
#endif
#include "draws_of_words.cl.h"
    }
#if RN_AXES == 0 && RN_IN_LOOPS
    const ga_int most = n - i < RN_CHUNK ? (ga_int)(n - i) : RN_CHUNK;
    for (ga_int k = 0; k < most; k++)
      x[i + k] = made.at[k];
    (void)aligned;
#elif RN_AXES == 0
    if (aligned && i + RN_CHUNK <= n) {
#pragma unroll
      for (ga_uint k = 0; k < RN_VECTORS; k++)
        ((GLOBAL_MEM RN_VECTOR *)(x + i))[k] = made.vectors[k];
    } else
      for (ga_uint k = 0; k < RN_CHUNK && i + k < n; k++)
        x[i + k] = made.at[k];
#else
  for (ga_uint k = 0; k < RN_CHUNK && i + k < n; k++) {
    RN_COUNTER rest = (RN_COUNTER)(i + k);
    RN_INT p = 0;
    RN_WALK
    x[p + (RN_INT)rest * s0] = made.at[k];
  }
#endif
  }
}
