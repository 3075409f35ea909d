/* log2, sqrt, sin and cos in float, for arguments of the generators only: no special
 * cases; the angle is an exact fraction of a turn. Coefficients from Cephes; the
 * logarithm's are a fit to atanh. */
#ifndef GA_ONCE_RANDOM_FLOAT
#define GA_ONCE_RANDOM_FLOAT
#ifdef __CUDACC__
GA_INLINE ga_uint ga_random_bits(ga_float f) {
  return __float_as_uint(f);
}
GA_INLINE ga_float ga_random_float(ga_uint b) {
  return __uint_as_float(b);
}
GA_INLINE ga_float ga_random_root(ga_float x) {
  ga_float r;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
GA_INLINE ga_float ga_random_share_float(ga_float x, ga_float d) {
  ga_float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(d));
  return x * r;
}
/* log2(p) for a power of two; PTX promises a relative error of 2^-22. */
GA_INLINE ga_float ga_random_power(ga_float p) {
  ga_float r;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(p));
  return r;
}
GA_INLINE ga_uint ga_random_quarter(ga_uint q) {
  ga_uint r; /* a test of this is its own instruction: of the expression it is three */
  asm("and.b32 %0, %1, 0x40000000;" : "=r"(r) : "r"(q));
  return r;
}
GA_INLINE ga_float ga_random_least(ga_float a, ga_float b) {
  return fmin(a, b); /* one instruction: a comparison and a choice are two */
}
#else
GA_INLINE ga_uint ga_random_bits(ga_float f) {
  return as_uint(f);
}
GA_INLINE ga_float ga_random_float(ga_uint b) {
  return as_float(b);
}
GA_INLINE ga_float ga_random_root(ga_float x) {
  return sqrt(x);
}
GA_INLINE ga_float ga_random_share_float(ga_float x, ga_float d) {
  return x / d;
}
GA_INLINE ga_float ga_random_power(ga_float p) {
  return fma((ga_float)(ga_int)as_uint(p), 1.1920928955078125e-7f, -127.0f);
}
GA_INLINE ga_uint ga_random_quarter(ga_uint q) {
  return q & 0x40000000u;
}
GA_INLINE ga_float ga_random_least(ga_float a, ga_float b) {
  return a < b ? a : b;
}
#endif

/* -log2(u) for 2^-33 <= u <= 1: of the power of two that is nearest, and of the rest by
 * atanh. */
GA_INLINE ga_float ga_random_halvings(ga_float u) {
  const ga_float p = ga_random_float((ga_random_bits(u) + 0x004afb0du) & 0xff800000u);
  const ga_float s = ga_random_share_float(p - u, p + u), z = s * s;
  ga_float y = fma(0.431776322f, z, 0.576712894f);
  y = fma(y, z, 0.961798861f);
  y = fma(y, z, 2.885390080f);
  return fma(s, y, -ga_random_power(p));
}

/* The sine of w / 2^32 turns less `q`, the nearest quarter. */
GA_INLINE ga_float ga_random_sine(ga_uint w) {
  const ga_float x = (ga_float)(ga_int)(w << 2) * 3.657295198167899e-10f;
  const ga_float z = x * x;
  ga_float a = fma(-1.9515295891e-4f, z, 8.3321608736e-3f);
  a = fma(a, z, -1.6666654611e-1f);
  return fma(a, z * x, x);
}

/* sincos of w / 2^32 turns: bit 31 of q is the half turn, bit 30 the quarter. */
GA_INLINE void ga_random_turn(ga_uint w, ga_float *c, ga_float *s) {
  const ga_uint q = w + 0x20000000u;
  const ga_float x = (ga_float)(ga_int)(w << 2) * 3.657295198167899e-10f;
  const ga_float z = x * x, a = ga_random_sine(w);
  ga_float b = fma(2.443315711809948e-5f, z, -1.388731625493765e-3f);
  b = fma(b, z, 4.166664568298827e-2f);
  b = fma(b, z, -0.5f);
  b = fma(b, z, 1.0f);
  const ga_uint at = ga_random_bits(a), bt = ga_random_bits(b);
  const ga_int is_side = (ga_int)(q << 1) < 0;
  *c = ga_random_float((is_side ? at : bt) ^ ((q + 0x40000000u) & 0x80000000u));
  *s = ga_random_float((is_side ? bt : at) ^ (q & 0x80000000u));
}

/* The same to rounding, the cosine by the root of what the sine leaves: *c and *s times
 * the result, which is r or -r. */
GA_INLINE ga_float ga_random_turn_near(ga_float r, ga_uint w, ga_float *c,
                                       ga_float *s) {
  const ga_uint q = w + 0x20000000u;
  const ga_float a = ga_random_sine(w), b = ga_random_root(fma(-a, a, 1.0f));
  const ga_int is_side = ga_random_quarter(q) != 0;
  *c = is_side ? -a : b;
  *s = is_side ? b : a;
  return ga_random_float(ga_random_bits(r) ^ (q & 0x80000000u));
}
#endif
