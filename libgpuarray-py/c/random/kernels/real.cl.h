/* Functions of real numbers with the same bits on every device: of fma, division,
 * square root and integers, which round alike everywhere. A product that may meet a sum
 * is ga_times(a, b), which is never contracted. */
GA_INLINE REAL ga_times(REAL a, REAL b) {
#if defined(__CUDACC__) && REAL_IS_DOUBLE
  return __dmul_rn(a, b);
#elif defined(__CUDACC__)
  return __fmul_rn(a, b);
#else
#pragma OPENCL FP_CONTRACT OFF
  return a * b;
#endif
}

#if defined(__CUDACC__) && !REAL_IS_DOUBLE
/* n / d, and the square root, rounded as everywhere but without tests for numbers that
 * are too large or small: d is from 1 to 3, n from -1 to 1; x is 0 or from 2^-30 to 64.
 * Both were compared with the compiler's for all d and x. */
GA_INLINE ga_float ga_near_share(ga_float n, ga_float d) {
  ga_float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(d));
  r = fma(r, fma(-d, r, 1.0f), r);
  const ga_float q = __fmul_rn(n, r);
  return fma(fma(-d, q, n), r, q);
}
GA_INLINE ga_float ga_near_root(ga_float x) {
  ga_float r;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x + 1e-30f));
  const ga_float s = __fmul_rn(x, r), h = __fmul_rn(0.5f, r);
  return fma(fma(-s, s, x), h, s);
}
#else
GA_INLINE REAL ga_near_share(REAL n, REAL d) {
  return n / d;
}
GA_INLINE REAL ga_near_root(REAL x) {
  return sqrt(x);
}
#endif

/* log(x) for normal numbers above 0. */
GA_INLINE REAL ga_real_log(REAL x) {
#if REAL_IS_DOUBLE
  const ga_ulong bits = ga_random_word(x);
  const ga_int e = (ga_int)((ga_uint)(bits >> 32) - 0x3fe6a09eu) >> 20;
  const ga_double f = ga_random_double(bits - ((ga_ulong)(ga_long)e << 52)) - 1.0;
  const ga_double n = (ga_double)e, s = f / (2.0 + f);
  const ga_double z = ga_times(s, s), h = ga_times(0.5 * f, f);
  ga_double r = ga_random_log_series(z);
  r = fma(s, fma(r, z, h), ga_times(n, 1.90821492927058770002e-10));
  return fma(n, 6.93147180369123816490e-01, f - (h - r));
#else
  const ga_uint bits = ga_random_bits(x);
  const ga_uint power = (bits - 0x3f3504f3u) & 0xff800000u;
  const ga_float m = ga_random_float(bits - power);
  const ga_float s = ga_near_share(m - 1.0f, m + 1.0f), z = ga_times(s, s);
  ga_float y = fma(0.295814479f, z, 0.399887398f);
  y = fma(y, z, 0.666666852f);
  y = ga_times(s, fma(y, z, 2.0f));
  return fma((ga_float)(ga_int)power, 8.262958295e-8f, y);
#endif
}

/* 2^n in the range of normal numbers; `like` gives the type. */
GA_INLINE REAL ga_real_power_of_2(REAL like, ga_int n) {
  (void)like;
#if REAL_IS_DOUBLE
  return ga_random_double((ga_ulong)(n + 1023) << 52);
#else
  return ga_random_float((ga_uint)(n + 127) << 23);
#endif
}

/* exp(x): n ln 2 is taken off, and the rest is Taylor's series. */
GA_INLINE REAL ga_real_exp(REAL x) {
#if REAL_IS_DOUBLE
  if (x > 709.8)
    return INFINITY;
  if (!(x > -745.2))
    return 0;
  const REAL n = floor(fma(x, 1.4426950408889634, 0.5));
  const REAL r =
      fma(n, -1.90821492927058770002e-10, fma(n, -6.93147180369123816490e-01, x));
  REAL y = fma(r, 1.6059043836821613e-10, 2.0876756987868099e-09);
  y = fma(y, r, 2.5052108385441719e-08);
  y = fma(y, r, 2.7557319223985891e-07);
  y = fma(y, r, 2.7557319223985893e-06);
  y = fma(y, r, 2.4801587301587302e-05);
  y = fma(y, r, 1.9841269841269841e-04);
  y = fma(y, r, 1.3888888888888889e-03);
  y = fma(y, r, 8.3333333333333332e-03);
#else
  if (x > 88.73f)
    return INFINITY;
  if (!(x > -103.98f))
    return 0;
  const REAL n = floor(fma(x, 1.44269504f, 0.5f));
  const REAL r = fma(n, -1.42860677e-6f, fma(n, -0.693145752f, x));
  REAL y = fma(r, 1.98412698e-4f, 1.38888889e-3f);
  y = fma(y, r, 8.33333333e-3f);
#endif
  y = fma(y, r, R(4.1666666666666664e-02));
  y = fma(y, r, R(1.6666666666666666e-01));
  y = fma(y, r, R(0.5));
  y = fma(y, r, R(1.0));
  y = fma(y, r, R(1.0));
  const ga_int whole = (ga_int)n, halved = whole >> 1;
  return ga_times(ga_times(y, ga_real_power_of_2(y, halved)),
                  ga_real_power_of_2(y, whole - halved));
}

/* log(1 + x) for x > -1, and exp(x) - 1, by what rounding takes from 1 + x and exp(x):
 * Kahan's. */
GA_INLINE REAL ga_real_log1p(REAL x) {
  const REAL u = R(1.0) + x;
  return u == R(1.0) ? x : ga_times(ga_real_log(u), x / (u - R(1.0)));
}
GA_INLINE REAL ga_real_expm1(REAL x) {
  const REAL u = ga_real_exp(x), v = u - R(1.0);
  if (u == R(1.0))
    return x;
  if (v == R(-1.0) || u > R(1e30))
    return v;
  return ga_times(v, x / ga_real_log(u));
}

/* atan(y / x) for y and x not negative, one of them not 0. Coefficients of Cephes and
 * fdlibm. */
GA_INLINE REAL ga_real_atan(REAL y, REAL x) {
  const ga_int is_steep = y > x;
  const REAL t = is_steep ? x / y : y / x;
  const ga_int is_far = t > R(0.4142135623730950);
  const REAL u = is_far ? (t - R(1.0)) / (t + R(1.0)) : t, z = ga_times(u, u);
#if REAL_IS_DOUBLE
  REAL v = fma(1.62858201153657823623e-02, z, -3.65315727442169155270e-02);
  v = fma(v, z, 4.97687799461593236017e-02);
  v = fma(v, z, -5.83357013379057348645e-02);
  v = fma(v, z, 6.66107313738753120669e-02);
  v = fma(v, z, -7.69187620504482999495e-02);
  v = fma(v, z, 9.09088713343650656196e-02);
  v = fma(v, z, -1.11111104054623557880e-01);
  v = fma(v, z, 1.42857142725034663711e-01);
  v = fma(v, z, -1.99999999998764832476e-01);
  v = fma(v, z, 3.33333333333329318027e-01);
  v = fma(-v, ga_times(z, u), u);
#else
  REAL v = fma(8.05374449538e-2f, z, -1.38776856032e-1f);
  v = fma(v, z, 1.99777106478e-1f);
  v = fma(v, z, -3.33329491539e-1f);
  v = fma(v, ga_times(z, u), u);
#endif
  v = is_far ? v + R(0.78539816339744831) : v;
  return is_steep ? R(1.5707963267948966) - v : v;
}
