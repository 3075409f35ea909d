/* Decoupled look-back: warp shuffles of accumulators, and values published to other
 * work groups. */

#if SC_WARPS
/* Shuffles of an accumulator's words: from the lane `by` below; from lane `by`. */
#define SC_SHUFFLES(NAME, shuffle)                                                     \
  GA_INLINE SC_ACC NAME(SC_ACC value, int by) {                                        \
    union {                                                                            \
      SC_ACC value;                                                                    \
      ga_uint words[SC_WORDS];                                                         \
    } u;                                                                               \
    u.words[0] = 0;                                                                    \
    u.value = value;                                                                   \
    for (int w = 0; w < SC_WORDS; w++)                                                 \
      u.words[w] = shuffle(u.words[w], by);                                            \
    return u.value;                                                                    \
  }
SC_SHUFFLES(SC_UP, ga_shuffle_up)
SC_SHUFFLES(SC_FROM, ga_shuffle)
#endif

#if SC_LOOKS
/* A published value: each 64-bit word carries 32 bits and a ready flag, so that a
 * reader can spin on it. */
GA_INLINE void SC_PUT(volatile GLOBAL_MEM ga_ulong *p, SC_ACC value) {
  union {
    SC_ACC value;
    ga_uint words[SC_WORDS];
  } u;
  for (int w = 0; w < SC_WORDS; w++)
    u.words[w] = 0;
  u.value = value;
  for (int w = 0; w < SC_WORDS; w++)
    p[w] = ((ga_ulong)1 << 32) | u.words[w];
}
GA_INLINE SC_ACC SC_GET(const volatile GLOBAL_MEM ga_ulong *p) {
  union {
    SC_ACC value;
    ga_uint words[SC_WORDS];
  } u;
  for (int w = 0; w < SC_WORDS; w++) {
    ga_ulong word;
    do
      word = p[w];
    while ((word >> 32) == 0);
    u.words[w] = (ga_uint)word;
  }
  return u.value;
}
#endif

/* Inclusive scan of a value per item in local memory (Hillis-Steele), double buffered
 * in `sums`. */
#define SC_SCAN(value, n)                                                              \
  turn = 0;                                                                            \
  sums[SC_POS(SC_I)] = (value);                                                        \
  local_barrier();                                                                     \
  for (int s = 1; s < (n); s <<= 1) {                                                  \
    SC_ACC sum = sums[turn + SC_POS(SC_I)];                                            \
    if (SC_I >= s)                                                                     \
      sum = SC_COMBINE(sums[turn + SC_POS(SC_I - s)], sum);                            \
    turn = SC_BLOCK - turn;                                                            \
    sums[turn + SC_POS(SC_I)] = sum;                                                   \
    local_barrier();                                                                   \
  }
#if SC_WARPS
/* Inclusive scan in the first `n` lanes of a warp, of which this is lane `one`. */
#define SC_SCAN_WARP(value, one, n)                                                    \
  for (int s = 1; s < (n); s <<= 1) {                                                  \
    const SC_ACC below = SC_UP(value, s);                                              \
    if ((one) >= s)                                                                    \
      value = SC_COMBINE(below, value);                                                \
  }
#endif
