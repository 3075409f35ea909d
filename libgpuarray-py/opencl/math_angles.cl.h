/* Trigonometric functions, for the same runtimes as math.cl.h. */
#if GA_OWN_MATH

/* Bits of 2 / pi; the first two are above the binary point. Selected constants in place
 * of a table, whose accesses would be gathers. */
#define GA_TURN_0 0x28be60dbu
#define GA_TURN_1 0x9391054au
#define GA_TURN_2 0x7f09d5f4u
#define GA_TURN_3 0x7d4d3770u
#define GA_TURN_4 0x36d8a566u
#define GA_TURN_5 0x4f10e410u
#define GA_TURN_6 0x7f9458eau
#define GA_ONE_OF(at, w0, w1, w2, w3)                                                  \
  ((at) == 0 ? (w0) : (at) == 1 ? (w1) : (at) == 2 ? (w2) : (w3))

/* Payne-Hanek range reduction to quarter turns: the nearest quarter's number, whose low
 * two bits count, and the remainder, |f| <= 0.63. A float is a 24-bit integer times
 * 2^e; 96 bits of 2^e 2 / pi, from weight 2 down, suffice. Below 2^24 the float itself
 * is multiplied. */
GA_INLINE ga_double ga_quarters(ga_float x, ga_ulong *number) {
  const ga_int exponent = (ga_int)((as_uint(x) & 0x7fffffffu) >> 23) - 150;
  const ga_int e = exponent > 0 ? exponent : 0, at = e >> 5, by = e & 31;
  const ga_uint a = GA_ONE_OF(at, GA_TURN_0, GA_TURN_1, GA_TURN_2, GA_TURN_3);
  const ga_uint b = GA_ONE_OF(at, GA_TURN_1, GA_TURN_2, GA_TURN_3, GA_TURN_4);
  const ga_uint c = GA_ONE_OF(at, GA_TURN_2, GA_TURN_3, GA_TURN_4, GA_TURN_5);
  const ga_uint d = GA_ONE_OF(at, GA_TURN_3, GA_TURN_4, GA_TURN_5, GA_TURN_6);
  const ga_uint first = a << by | (b >> 1) >> (31 - by);
  const ga_uint second = b << by | (c >> 1) >> (31 - by);
  const ga_uint third = c << by | (d >> 1) >> (31 - by);
  const ga_double m = (ga_double)x * as_double((ga_ulong)(1023 - e) << 52);
  const ga_double most = (ga_double)(first & ~7u) * 0x1p-30;
  const ga_double more =
      fma((ga_double)second, 0x1p-62, (ga_double)(first & 7u) * 0x1p-30);
  const ga_double rounded = fma(m, most, GA_ROUNDING);
  *number = as_ulong(rounded);
  const ga_double nearest = rounded - GA_ROUNDING;
  const ga_double left = fma(m, more, fma(m, most, -nearest));
  return fma(m, (ga_double)third * 0x1p-94, left);
}

/* Of quarter turns, |f| <= 0.63. */
GA_INLINE ga_double ga_sin_within(ga_double f) {
  const ga_double z = f * f;
  ga_double p = fma(0.00015687798235510984, z, -0.004680507934446379);
  p = fma(fma(p, z, 0.0796924474331896), z, -0.6459640884716554);
  return fma(p, z, 1.5707963267211573) * f;
}

GA_INLINE ga_double ga_cos_within(ga_double f) {
  const ga_double z = f * f;
  ga_double p = fma(-2.4633185080010474e-05, z, 0.0009189995562376895);
  p = fma(fma(p, z, -0.02086342520652789), z, 0.25366950249315956);
  return fma(fma(p, z, -1.2337005499407572), z, 0.9999999999988288);
}

GA_INLINE ga_float ga_sin_from(ga_double f, ga_ulong quarter) {
  const ga_double y = quarter & 1 ? ga_cos_within(f) : ga_sin_within(f);
  return (ga_float)as_double(as_ulong(y) ^ (quarter & 2) << 62);
}

GA_INLINE ga_float ga_sin(ga_float x) {
  ga_ulong quarter;
  const ga_double f = ga_quarters(x, &quarter);
  return ga_sin_from(f, quarter);
}

GA_INLINE ga_float ga_cos(ga_float x) {
  ga_ulong quarter;
  const ga_double f = ga_quarters(x, &quarter);
  return ga_sin_from(f, quarter + 1);
}

GA_INLINE ga_float ga_tan(ga_float x) {
  ga_ulong quarter;
  const ga_double f = ga_quarters(x, &quarter);
  const ga_double s = ga_sin_within(f), c = ga_cos_within(f);
  return (ga_float)(quarter & 1 ? -c / s : s / c);
}

/* (atan(t) - t) / t for t^2 <= 0.172. */
GA_INLINE ga_double ga_atan_rest(ga_double t) {
  const ga_double z = t * t;
  ga_double p = fma(-0.017907339484957475, z, 0.03806494970381986);
  p = fma(fma(p, z, -0.05039330557504952), z, 0.05847897312317668);
  p = fma(fma(p, z, -0.06663105441042703), z, 0.07692060360051049);
  p = fma(fma(p, z, -0.09090897766945567), z, 0.11111110783807954);
  p = fma(fma(p, z, -0.14285714280203834), z, 0.1999999999995366);
  return fma(p, z, -0.333333333333332) * z;
}

/* The angle of the point (b, a) in the first quadrant. */
GA_INLINE ga_double ga_angle(ga_double a, ga_double b) {
  const bool is_steep = a > 2.414213562373095 * b,
             is_flat = a <= 0.4142135623730951 * b;
  const ga_double over = is_flat ? a : is_steep ? -b : a - b;
  const ga_double under = is_flat ? b : is_steep ? a : a + b;
  const ga_double t = over / under;
  const ga_double most = is_flat ? 0.0 : is_steep ? GA_HALF_PI : 0.5 * GA_HALF_PI;
  const ga_double rest = is_flat    ? 0.0
                         : is_steep ? GA_HALF_PI_REST
                                    : 0.5 * GA_HALF_PI_REST;
  return most + (t + fma(t, ga_atan_rest(t), rest));
}

GA_INLINE ga_double ga_atan(ga_double x) {
  return ga_signed(ga_angle(ga_magnitude(x), 1.0), x);
}

/* The same for zeros, infinities, and numbers whose sum would overflow. */
GA_INLINE ga_double ga_angle_of_any(ga_double a, ga_double b) {
  const ga_double most = a > b ? a : b;
  const ga_double by = most == (ga_double)INFINITY ? 0.0 : most > 1e300 ? 0.25 : 1.0;
  const ga_double up = a == (ga_double)INFINITY ? 1.0 : a * by;
  const ga_double right = b == (ga_double)INFINITY ? 1.0 : b * by;
  return ga_angle(up, most == 0.0 ? 1.0 : right);
}

GA_INLINE ga_double ga_atan2(ga_double y, ga_double x) {
  const ga_double angle = ga_angle_of_any(ga_magnitude(y), ga_magnitude(x));
  const ga_double turned = (2.0 * GA_HALF_PI - angle) + 2.0 * GA_HALF_PI_REST;
  return ga_signed(as_long(x) < 0 ? turned : angle, y);
}

/* Signs are handled in float: PoCL does not vectorize it with those of double. */
GA_INLINE ga_float ga_atan2(ga_float y, ga_float x) {
  const ga_float a = as_float(as_uint(y) & 0x7fffffffu);
  const ga_float b = as_float(as_uint(x) & 0x7fffffffu);
  const ga_double angle = ga_angle_of_any((ga_double)a, (ga_double)b);
  const ga_float turned = (ga_float)(as_int(x) < 0 ? 2.0 * GA_HALF_PI - angle : angle);
  return as_float(as_uint(turned) | (as_uint(y) & 0x80000000u));
}

/* (asin(s) - s) / s for y = s^2 <= 1/4. */
GA_INLINE ga_double ga_asin_rest(ga_double y) {
  ga_double p = fma(0.0327023107902627, y, -0.0211169801934631);
  p = fma(fma(p, y, 0.021790848638403807), y, 0.003672094867236857);
  p = fma(fma(p, y, 0.010789347081288337), y, 0.01139728804829167);
  p = fma(fma(p, y, 0.013981019191444385), y, 0.017351595442040135);
  p = fma(fma(p, y, 0.022372215909278428), y, 0.030381942675156853);
  p = fma(fma(p, y, 0.04464285717528865), y, 0.07499999999970096);
  return fma(p, y, 0.16666666666666763) * y;
}

/* Above 1/2, by the half-angle formula. */
GA_INLINE ga_double ga_asin(ga_double x) {
  const ga_double a = ga_magnitude(x);
  const ga_double square = a > 0.5 ? 0.5 - 0.5 * a : a * a;
  const ga_double s = a > 0.5 ? sqrt(square) : a;
  const ga_double rest = s * ga_asin_rest(square);
  const ga_double steep = (GA_HALF_PI - 2.0 * s) - fma(2.0, rest, -GA_HALF_PI_REST);
  return ga_signed(a > 0.5 ? steep : s + rest, x);
}

GA_INLINE ga_double ga_acos(ga_double x) {
  const ga_double a = ga_magnitude(x);
  const ga_double square = a > 0.5 ? 0.5 - 0.5 * a : a * a;
  const ga_double s = a > 0.5 ? sqrt(square) : x;
  const ga_double small = fma(s, ga_asin_rest(square), s), twice = 2.0 * small;
  const ga_double flat = GA_HALF_PI - (small - GA_HALF_PI_REST);
  const ga_double left = 2.0 * GA_HALF_PI - (twice - 2.0 * GA_HALF_PI_REST);
  return a > 0.5 ? (x < 0.0 ? left : twice) : flat;
}
#endif
