/* log, sin and cos in double, for arguments of the generators only: no special cases;
 * the angle is an exact fraction of a turn. Coefficients from fdlibm. */
#ifndef GA_ONCE_RANDOM_DOUBLE
#define GA_ONCE_RANDOM_DOUBLE
#ifdef __CUDACC__
GA_INLINE ga_ulong ga_random_word(ga_double f) {
  return (ga_ulong)__double_as_longlong(f);
}
GA_INLINE ga_double ga_random_double(ga_ulong b) {
  return __longlong_as_double((long long)b);
}

/* x / d for 1 < d < 3. */
GA_INLINE ga_double ga_random_share(ga_double x, ga_double d) {
  ga_double r;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(d));
  r = fma(fma(-d, r, 1.0), r, r);
  r = fma(fma(-d, r, 1.0), r, r);
  return x * r;
}
#else
GA_INLINE ga_ulong ga_random_word(ga_double f) {
  return as_ulong(f);
}
GA_INLINE ga_double ga_random_double(ga_ulong b) {
  return as_double(b);
}
GA_INLINE ga_double ga_random_share(ga_double x, ga_double d) {
  return x / d;
}
#endif
/* Conversions of 64 bits, rounded once. Where items are lanes of a processor's vectors
 * both halves are mantissas of numbers whose exponents are their weights: Intel's
 * compiler converts one lane after the other. */
#if !defined(__CUDACC__) && GA_WARP_SIZE > 1
GA_INLINE ga_double ga_random_halves(ga_ulong high, ga_ulong low, ga_double excess) {
  const ga_double upper = ga_random_double(high | (ga_ulong)0x4530000000000000);
  return upper - excess + ga_random_double(low | (ga_ulong)0x4330000000000000);
}
GA_INLINE ga_double ga_random_whole(ga_ulong bits) {
  return ga_random_halves(bits >> 32, bits & 0xffffffffu, 19342813118337666422669312.0);
}
GA_INLINE ga_double ga_random_signed(ga_ulong bits) {
  return ga_random_halves(bits >> 32 ^ 0x80000000u, bits & 0xffffffffu,
                          19342822341709703277445120.0);
}
#else
GA_INLINE ga_double ga_random_whole(ga_ulong bits) {
  return (ga_double)bits;
}
GA_INLINE ga_double ga_random_signed(ga_ulong bits) {
  return (ga_double)(ga_long)bits;
}
#endif
GA_INLINE ga_double ga_random_least(ga_double a, ga_double b) {
  return a < b ? a : b;
}
/* Of log((1 + s) / (1 - s)), z = s * s: the terms behind 2 s, over s. */
GA_INLINE ga_double ga_random_log_series(ga_double z) {
  ga_double r = fma(1.479819860511658591e-01, z, 1.531383769920937332e-01);
  r = fma(r, z, 1.818357216161805012e-01);
  r = fma(r, z, 2.222219843214978396e-01);
  r = fma(r, z, 2.857142874366239149e-01);
  r = fma(r, z, 3.999999999940941908e-01);
  r = fma(r, z, 6.666666666666735130e-01);
  return r;
}
GA_INLINE ga_double ga_random_wait_double(ga_double u) {
  const ga_ulong bits = ga_random_word(u);
  const ga_int e = (ga_int)((ga_uint)(bits >> 32) - 0x3fe6a09eu) >> 20;
  const ga_double f = ga_random_double(bits - ((ga_ulong)(ga_long)e << 52)) - 1.0;
  const ga_double n = (ga_double)e, s = ga_random_share(f, 2.0 + f);
  const ga_double z = s * s, h = 0.5 * f * f;
  ga_double r = ga_random_log_series(z);
  r = fma(s, fma(r, z, h), n * 1.90821492927058770002e-10);
  return fma(n, -6.93147180369123816490e-01, (h - r) - f);
}
GA_INLINE void ga_random_turn_double(ga_ulong w, ga_double *c, ga_double *s) {
  const ga_ulong q = (w + ((ga_ulong)1 << 61)) >> 62;
  const ga_double x = ga_random_signed(w << 2) * 8.515303950216386e-20;
  const ga_double z = x * x;
  ga_double a = fma(1.58969099521155010221e-10, z, -2.50507602534068634195e-08);
  a = fma(a, z, 2.75573137070700676789e-06);
  a = fma(a, z, -1.98412698298579493134e-04);
  a = fma(a, z, 8.33333333332248946124e-03);
  a = fma(a, z, -1.66666666666666324348e-01);
  a = fma(a, z * x, x);
  ga_double b = fma(-1.13596475577881948265e-11, z, 2.08757232129817482790e-09);
  b = fma(b, z, -2.75573143513906633035e-07);
  b = fma(b, z, 2.48015872894767294178e-05);
  b = fma(b, z, -1.38888888888741095749e-03);
  b = fma(b, z, 4.16666666666666019037e-02);
  b = fma(b, z, -0.5);
  b = fma(b, z, 1.0);
  *c = ga_random_double(ga_random_word(q & 1 ? a : b) ^ ((q + 1) & 2) << 62);
  *s = ga_random_double(ga_random_word(q & 1 ? b : a) ^ (q & 2) << 62);
}
#endif
