/* Philox4x32-10: four words of a seed's stream at a position; single words of a draw.
 * And the high half of a 64-bit product. */
#ifndef GA_ONCE_PHILOX
#define GA_ONCE_PHILOX
/* All 64 bits of a product. NVRTC adds zeros to the high half of one of longs. */
GA_INLINE ga_ulong ga_philox_product(ga_uint a, ga_uint b) {
#ifdef __CUDACC__
  ga_ulong product;
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b));
  return product;
#else
  return (ga_ulong)a * b;
#endif
}
/* The words at position `c1` 2^32 + `c0`. */
GA_INLINE void ga_philox_at(ga_uint *w, ga_uint c0, ga_uint c1, ga_ulong stream,
                            ga_ulong seed) {
  ga_uint c2 = (ga_uint)stream, c3 = (ga_uint)(stream >> 32);
  ga_uint k0 = (ga_uint)seed, k1 = (ga_uint)(seed >> 32);
#pragma unroll
  for (ga_int round = 0; round < 10; round++) {
    const ga_ulong p0 = ga_philox_product(0xD2511F53u, c0);
    const ga_ulong p1 = ga_philox_product(0xCD9E8D57u, c2);
    c0 = (ga_uint)(p1 >> 32) ^ c1 ^ k0;
    c1 = (ga_uint)p1;
    c2 = (ga_uint)(p0 >> 32) ^ c3 ^ k1;
    c3 = (ga_uint)p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  w[0] = c0;
  w[1] = c1;
  w[2] = c2;
  w[3] = c3;
}
GA_INLINE void ga_philox(ga_uint *w, ga_ulong position, ga_ulong stream,
                         ga_ulong seed) {
  ga_philox_at(w, (ga_uint)position, (ga_uint)(position >> 32), stream, seed);
}
/* Word i, and pair i of words (low first), of a draw that begins at a position. */
GA_INLINE ga_uint ga_philox_word(ga_ulong position, ga_ulong i, ga_ulong stream,
                                 ga_ulong seed) {
  ga_uint w[4];
  ga_philox(w, position + (i >> 2), stream, seed);
  return i & 2 ? (i & 1 ? w[3] : w[2]) : (i & 1 ? w[1] : w[0]);
}
GA_INLINE ga_ulong ga_philox_pair(ga_ulong position, ga_ulong i, ga_ulong stream,
                                  ga_ulong seed) {
  ga_uint w[4];
  ga_philox(w, position + (i >> 1), stream, seed);
  return i & 1 ? (ga_ulong)w[3] << 32 | w[2] : (ga_ulong)w[1] << 32 | w[0];
}
GA_INLINE ga_ulong ga_random_high(ga_ulong a, ga_ulong b) {
  const ga_ulong al = a & 0xffffffffu, ah = a >> 32;
  const ga_ulong bl = b & 0xffffffffu, bh = b >> 32;
  const ga_ulong m = ah * bl + (al * bl >> 32);
  const ga_ulong k = al * bh + (m & 0xffffffffu);
  return ah * bh + (m >> 32) + (k >> 32);
}
#endif
