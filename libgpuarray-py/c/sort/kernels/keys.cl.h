/* Keys and digits, over the macros that sort_source.c defines.
 *
 * Keys are moved as stored and compared by their code: an order-preserving unsigned
 * encoding, in which -0.0 equals 0.0 and every NaN comes last. A complex key compares
 * by which parts are NaN, then real part, then imaginary part. All sorts are stable. */

#if SO_IS_INDEX
#define SO_INDEX(i) ((SO_VALUE)(i))
#define SO_NUMBER(value) (value)
#else
#define SO_INDEX(i) vin[0]
#define SO_NUMBER(value) 0
#endif

#if SO_IS_LARGE
#define SO_COUNT ga_ulong
#define SO_PREFIX ((ga_ulong)2 << 62)
#define SO_TOTAL ((ga_ulong)1 << 62)
#define SO_ADD(p, v) atom_add_Lg(p, v)
#else
#define SO_COUNT ga_uint
#define SO_PREFIX (2u << 30)
#define SO_TOTAL (1u << 30)
#define SO_ADD(p, v) atom_add_Ig(p, v)
#endif

#if SO_IS_CPU
#define SO_COUNT_LOCAL(x) (x)++
#else
#define SO_COUNT_LOCAL(x) atom_add_Il(&(x), 1u)
#endif

/* Order-preserving unsigned code of a key, or of a complex key's part. */
GA_INLINE SO_CODE SO_ENCODE(SO_PART raw) {
#if SO_IS_SIGNED
  return (SO_CODE)raw ^ ((SO_CODE)1 << SO_SIGN);
#elif SO_IS_FLOAT
  const SO_CODE sign = (SO_CODE)1 << SO_SIGN;
  const SO_CODE code = (SO_CODE)raw, size = code & (sign - 1);
  if (size > SO_INFINITY)
    return ~(SO_CODE)0;
  return code & sign ? (sign - size) : code | sign;
#else
  return (SO_CODE)raw;
#endif
}

#if SO_IS_COMPLEX
GA_INLINE ga_uint SO_CLASS(SO_KEY key) {
  return (SO_ENCODE(key.x) == ~(SO_CODE)0 ? 2u : 0u) |
         (SO_ENCODE(key.y) == ~(SO_CODE)0 ? 1u : 0u);
}
GA_INLINE ga_uint SO_DIGIT(SO_KEY key, int pass, int mode) {
  const int half_passes = (SO_WIDTH + SO_BITS - 1) / SO_BITS;
  ga_uint digit;
  if (pass < half_passes)
    digit = (ga_uint)(SO_ENCODE(key.y) >> (pass * SO_BITS));
  else if (pass < 2 * half_passes)
    digit = (ga_uint)(SO_ENCODE(key.x) >> ((pass - half_passes) * SO_BITS));
  else
    digit = SO_CLASS(key);
  return (digit ^ (mode & 8 ? ~0u : 0u)) & (SO_RADIX - 1);
}
GA_INLINE int SO_BEFORE(SO_KEY a, ga_uint ia, SO_KEY b, ga_uint ib, int mode) {
  const ga_uint na = SO_CLASS(a), nb = SO_CLASS(b);
  const int down = (mode & 8) != 0;
  if (na != nb)
    return (na < nb) != down;
  const SO_CODE xa = SO_ENCODE(a.x), xb = SO_ENCODE(b.x);
  if (xa != xb)
    return (xa < xb) != down;
  const SO_CODE ya = SO_ENCODE(a.y), yb = SO_ENCODE(b.y);
  if (ya != yb)
    return (ya < yb) != down;
  return ia < ib;
}
#else
GA_INLINE ga_uint SO_DIGIT(SO_KEY key, int pass, int mode) {
  const ga_uint digit = (ga_uint)(SO_ENCODE(key) >> (pass * SO_BITS));
  return (digit ^ (mode & 8 ? ~0u : 0u)) & (SO_RADIX - 1);
}
GA_INLINE int SO_BEFORE(SO_KEY a, ga_uint ia, SO_KEY b, ga_uint ib, int mode) {
  const SO_CODE ca = SO_ENCODE(a), cb = SO_ENCODE(b);
  if (ca != cb)
    return (ca < cb) != ((mode & 8) != 0);
  return ia < ib;
}
#endif

#define SO_ARRAYS                                                                      \
  GLOBAL_MEM const SO_KEY *in, ga_size in_off, GLOBAL_MEM SO_KEY *out,                 \
      ga_size out_off, GLOBAL_MEM const SO_VALUE *vin, ga_size vin_off,                \
      GLOBAL_MEM SO_VALUE *vout, ga_size vout_off, GLOBAL_MEM ga_long *indices,        \
      ga_size indices_off
#define SO_BEGIN                                                                       \
  in = (GLOBAL_MEM const SO_KEY *)((GLOBAL_MEM const char *)in + in_off);              \
  out = (GLOBAL_MEM SO_KEY *)((GLOBAL_MEM char *)out + out_off);                       \
  vin = (GLOBAL_MEM const SO_VALUE *)((GLOBAL_MEM const char *)vin + vin_off);         \
  vout = (GLOBAL_MEM SO_VALUE *)((GLOBAL_MEM char *)vout + vout_off);                  \
  indices = (GLOBAL_MEM ga_long *)((GLOBAL_MEM char *)indices + indices_off)
