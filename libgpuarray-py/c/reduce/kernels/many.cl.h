/* CPU SIMD: loads and converts 16 elements to the vector RD_MANY, and combines a and b
 * by RD_OF_MANY; for argmax and argmin that is the comparison. */
#if RD_MANY_HALVES
GA_INLINE float16 RD_FLOATS(const GLOBAL_MEM ga_half *p) {
  uint16 data = convert_uint16(vload16(0, (const GLOBAL_MEM ushort *)p));
  uint16 magnitude = (data & 0x7fff) << 13, sign = (data & 0x8000) << 16;
  uint16 small = as_uint16(as_float16(magnitude + (113u << 23)) - as_float(113u << 23));
  uint16 bits = magnitude >= 0x0f800000u  ? magnitude | 0x7f800000u
                : magnitude < 0x00800000u ? small
                                          : magnitude + (112u << 23);
  return as_float16(bits | sign);
}
#elif RD_MANY_BFLOATS
GA_INLINE float16 RD_FLOATS(const GLOBAL_MEM ga_bfloat16 *p) {
  uint16 data = convert_uint16(vload16(0, (const GLOBAL_MEM ushort *)p));
  return as_float16(data << 16);
}
#endif
#if RD_MANY_HALVES || RD_MANY_BFLOATS
#define RD_MANY_AT(p) RD_CONVERT_MANY(RD_FLOATS(p))
#else
#define RD_MANY_AT(p) RD_CONVERT_MANY(vload16(0, p))
#endif

#if RD_PICK
GA_INLINE RD_MANY RD_GREATER(RD_MANY a, RD_MANY b) {
  return (RD_OF_MANY) ? a : b;
}
GA_INLINE int RD_ANY_PASSES(RD_MANY b, RD_MANY a) {
  return any(RD_OF_MANY);
}
GA_INLINE int RD_ALL_PASS(RD_MANY b, RD_MANY a) {
  return all(RD_OF_MANY);
}
#else
GA_INLINE RD_MANY RD_COMBINE(RD_MANY a, RD_MANY b) {
  return RD_OF_MANY;
}
#endif
