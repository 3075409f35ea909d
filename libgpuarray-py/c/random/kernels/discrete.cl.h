/* Poisson, binomial and other numbers of events. Large ones by rejection, whose
 * densities are compared by deviances from the mode (Loader, "Fast and accurate
 * computation of binomial probabilities", 2000): these keep their digits in float, and
 * for large numbers. */

/* log k! less k log k - k + log(2 pi max(k, 1)) / 2: Stirling's series, or for k below
 * 8 its sum. */
GA_INLINE REAL ga_stirling_series(REAL k) {
  const REAL t = R(1.0) / k, z = ga_times(t, t);
  REAL v = fma(z, R(-5.952380952380953e-04), R(7.936507936507937e-04));
  v = fma(z, v, R(-2.777777777777778e-03));
  v = ga_times(t, fma(z, v, R(8.333333333333333e-02)));
  v = k < 8 ? R(0.011896709945891770) : v;
  v = k < 7 ? R(0.013876128823070748) : v;
  v = k < 6 ? R(0.016644691189821193) : v;
  v = k < 5 ? R(0.020790672103765094) : v;
  v = k < 4 ? R(0.027677925684998338) : v;
  v = k < 3 ? R(0.041340695955409294) : v;
  v = k < 2 ? R(0.081061466795327258) : v;
  return k < 1 ? R(-0.91893853320467274) : v;
}
GA_INLINE REAL ga_from_1(REAL k) {
  return k > 1 ? k : 1;
}
/* k log(k / mean) - k + mean. */
GA_INLINE REAL ga_deviance(REAL k, REAL mean) {
  const REAL away = k - mean, sum = k + mean;
  if (fabs(away) >= R(0.1) * sum)
    return k > 0 ? fma(k, ga_real_log(k / mean), -away) : mean;
  const REAL v = away / sum, z = ga_times(v, v);
  REAL series = fma(z, R(6.666666666666667e-02), R(7.692307692307693e-02));
  series = fma(z, series, R(9.090909090909091e-02));
  series = fma(z, series, R(1.111111111111111e-01));
  series = fma(z, series, R(1.428571428571428e-01));
  series = fma(z, series, R(0.2));
  series = fma(z, series, R(0.33333333333333333));
  return fma(away, v, ga_times(ga_times(R(2.0) * k, v), ga_times(z, series)));
}

#define RQ_IS_USED (REAL_IS_DOUBLE && GA_WARP_SIZE >= 32)
#if RQ_IS_USED
/* Acceptance in float, on GPUs: in nearly every warp an item needs the densities. Their
 * terms, and whether the difference is so small that double must decide. */
#ifdef __CUDACC__
#define RQ_LOG(x) __logf(x)
#define RQ_SHARE(x, d) __fdividef(x, d)
#else
#define RQ_LOG(x) log(x)
#define RQ_SHARE(x, d) ((x) / (d))
#endif
GA_INLINE ga_float ga_quick_stirling(ga_float k) {
  const ga_float t = RQ_SHARE(1.0f, k), v = k < 2 ? 0.0811f : k < 3 ? 0.0413f : 0.0277f;
  return k < 1   ? -0.918938533f
         : k < 4 ? v
                 : t * fma(t * t, -2.77777778e-3f, 8.33333333e-2f);
}
GA_INLINE ga_float ga_quick_deviance(ga_float k, ga_float mean, ga_float away) {
  const ga_float sum = k + mean, v = RQ_SHARE(away, sum), z = v * v;
  ga_float series = fma(z, 0.111111111f, 0.142857143f);
  series = fma(z, fma(z, series, 0.2f), 0.333333333f);
  const ga_float near = fma(away, v, 2.0f * k * v * z * series);
  const ga_float far = fma(k, RQ_LOG(RQ_SHARE(k > 0 ? k : 1.0f, mean)), -away);
  return fabs(away) < 0.1f * sum ? near : k > 0 ? far : mean;
}
GA_INLINE ga_int ga_is_unsure(ga_float difference, ga_float size) {
  return !(fabs(difference) > fma(size, 1e-4f, 1e-3f));
}
#endif

/* Poisson's numbers. A plan has what does not depend on random bits; an attempt is a
 * count's part: it returns 1 if *v is the number, else *v is that of a last attempt. */
typedef struct OF_REAL(ga_poisson_plan) {
  REAL lam, least, a, b, quick, inverse;
} OF_REAL(ga_poisson_plan);

GA_INLINE void ga_plan_poisson(OF_REAL(ga_poisson_plan) * p, REAL lam) {
  const REAL b = fma(R(2.53), sqrt(lam), R(0.931));
  p->lam = lam;
  p->least = lam < 10 ? ga_real_exp(-lam) : 0;
  p->a = fma(R(0.02483), b, R(-0.059));
  p->b = b;
  p->quick = R(0.9277) - R(3.6224) / (b - R(2.0));
  p->inverse = R(1.1239) + R(1.1328) / (b - R(3.4));
}
/* The number of uniform factors until their product is exp(-mean). */
GA_INLINE ga_int ga_try_small_poisson(REAL *v, REAL *product,
                                      const OF_REAL(ga_poisson_plan) * p,
                                      const ga_uint *w) {
  for (ga_int j = 0; j < 4; j++) {
    *product = ga_times(*product, ga_word_unit(*product, w[j]));
    if (*product <= p->least)
      return 1;
    *v += 1;
  }
  return 0;
}
/* PTRS of Hoermann, "The transformed rejection method for generating Poisson random
 * variables" (1993), for means from 10 on. */
GA_INLINE ga_int ga_try_large_poisson(REAL *v, const OF_REAL(ga_poisson_plan) * p,
                                      const ga_uint *w) {
  const REAL lam = p->lam, a = p->a, b = p->b, inverse = p->inverse;
  const REAL u = ga_open_unit(ga_first_bits(lam, w)) - R(0.5);
  const REAL part = ga_word_unit(lam, w[2]), edge = R(0.5) - fabs(u);
  const REAL k = floor(fma(R(2.0) * a / edge + b, u, lam + R(0.43)));
  *v = k;
  if (edge >= R(0.07) && part <= p->quick)
    return 1;
  *v = floor(lam);
  if (!(k >= 0) || (edge < R(0.013) && part > edge))
    return 0;
#if RQ_IS_USED
  const ga_float e = (ga_float)edge, f = (ga_float)k;
  const ga_float height =
      (ga_float)part * (ga_float)inverse * e * e / fma((ga_float)b * e, e, (ga_float)a);
  const ga_float far = ga_quick_deviance(f, (ga_float)lam, (ga_float)(k - lam));
  const ga_float d = -far - ga_quick_stirling(f) - 0.918938533f -
                     RQ_LOG(height * sqrt(f > 1 ? f : 1.0f));
  if (!ga_is_unsure(d, far)) {
    *v = d > 0 ? k : *v;
    return d > 0;
  }
#endif
  const REAL hat = a / ga_times(edge, edge) + b;
  if (ga_real_log(ga_times(part, inverse) / hat) <=
      -ga_deviance(k, lam) - ga_stirling_series(k) - R(0.91893853320467274) -
          R(0.5) * ga_real_log(ga_from_1(k))) {
    *v = k;
    return 1;
  }
  return 0;
}
GA_INLINE ga_int ga_try_poisson(REAL *v, REAL *kept, ga_int attempt,
                                const OF_REAL(ga_poisson_plan) * p, const ga_uint *w) {
  if (p->lam >= 10)
    return ga_try_large_poisson(v, p, w);
  if (attempt == 0) {
    *v = 0;
    *kept = 1;
  }
  return ga_try_small_poisson(v, kept, p, w);
}
GA_INLINE REAL ga_poisson_number(REAL v, const OF_REAL(ga_poisson_plan) * p,
                                 ga_ulong first, ga_ulong stream, ga_ulong seed) {
  (void)p, (void)first, (void)stream, (void)seed;
  return v;
}
GA_INLINE REAL ga_poisson_of(ga_ulong first, ga_ulong stream, ga_ulong seed, REAL lam) {
  OF_REAL(ga_poisson_plan) p;
  REAL v = 0, product = 1;
  ga_uint w[4];
  ga_plan_poisson(&p, lam);
  for (ga_int attempt = 0; lam < 10 && attempt < COUNTS; attempt++) {
    ga_philox(w, first + (ga_ulong)attempt, stream, seed);
    if (ga_try_small_poisson(&v, &product, &p, w))
      break;
  }
  for (ga_int attempt = 0; lam >= 10 && attempt < COUNTS; attempt++) {
    ga_philox(w, first + (ga_ulong)attempt, stream, seed);
    if (ga_try_large_poisson(&v, &p, w))
      break;
  }
  return v;
}

/* The logarithm of the probability of k of n, without what does not depend on k and
 * without -log(k (n - k)) / 2, of which ga_pair has the argument. */
GA_INLINE REAL ga_log_binomial(REAL k, REAL n, REAL mean) {
  return -ga_deviance(k, mean) - ga_deviance(n - k, n - mean) - ga_stirling_series(k) -
         ga_stirling_series(n - k);
}
GA_INLINE REAL ga_pair(REAL k, REAL n) {
  return ga_times(ga_from_1(k), ga_from_1(n - k));
}

/* Binomial numbers by plans and attempts, as Poisson's. `p` is at most 1/2, and may be
 * the probability of failures. */
typedef struct OF_REAL(ga_binomial_plan) {
  REAL n, p, mean, rate, a, b, quick, alpha, mode, pair, peak;
  ga_int is_large, is_failures;
} OF_REAL(ga_binomial_plan);

GA_INLINE void ga_plan_binomial(OF_REAL(ga_binomial_plan) * s, REAL n, REAL p) {
  const REAL rare = p > R(0.5) ? R(1.0) - p : p;
  s->n = n;
  s->p = rare;
  s->is_failures = p > R(0.5);
  s->is_large = n * rare >= 10;
  if (!s->is_large) {
    s->rate = -ga_real_log1p(-rare);
    return;
  }
  const REAL mean = ga_times(n, rare), spread = sqrt(ga_times(mean, R(1.0) - rare));
  const REAL b = fma(R(2.53), spread, R(1.15));
  s->mean = mean;
  s->b = b;
  s->a = fma(R(0.0248), b, fma(R(0.01), rare, R(-0.0873)));
  s->quick = R(0.92) - R(4.2) / b;
  s->alpha = ga_times(R(2.83) + R(5.1) / b, spread);
  s->mode = floor(ga_times(n + R(1.0), rare));
  s->pair = ga_pair(s->mode, n);
  s->peak = ga_log_binomial(s->mode, n, mean);
}
/* The gaps between successes; *at is the trial of the last one. */
GA_INLINE ga_int ga_try_small_binomial(REAL *v, REAL *at,
                                       const OF_REAL(ga_binomial_plan) * s,
                                       const ga_uint *w) {
  if (!(s->p > 0))
    return 1;
#if REAL_IS_DOUBLE
  for (ga_int j = 0; j < 4; j += 2) {
    const BITS bits = (BITS)w[j + 1] << 32 | w[j];
#else
  for (ga_int j = 0; j < 4; j++) {
    const BITS bits = w[j];
#endif
    *at += floor(ga_fine_wait_of(bits) / s->rate) + R(1.0);
    if (*at > s->n)
      return 1;
    *v += 1;
  }
  return 0;
}
/* BTRS of Hoermann, "The generation of binomial random variates" (1993), for means from
 * 10 on. */
GA_INLINE ga_int ga_try_large_binomial(REAL *v, const OF_REAL(ga_binomial_plan) * s,
                                       const ga_uint *w) {
  const REAL n = s->n, mean = s->mean, a = s->a, b = s->b, alpha = s->alpha;
  const REAL u = ga_open_unit(ga_first_bits(n, w)) - R(0.5);
  const REAL part = ga_word_unit(n, w[2]), edge = R(0.5) - fabs(u);
  const REAL k = floor(fma(R(2.0) * a / edge + b, u, mean + R(0.5)));
  *v = k;
  if (edge >= R(0.07) && part <= s->quick)
    return 1;
  *v = s->mode;
  if (!(k >= 0 && k <= n))
    return 0;
#if RQ_IS_USED
  const ga_float e = (ga_float)edge, f = (ga_float)k, rest = (ga_float)(n - k);
  const ga_float away = (ga_float)(k - mean);
  const ga_float height =
      (ga_float)part * (ga_float)alpha * e * e / fma((ga_float)b * e, e, (ga_float)a);
  const ga_float far = ga_quick_deviance(f, (ga_float)mean, away) +
                       ga_quick_deviance(rest, (ga_float)(n - mean), -away);
  const ga_float pairs = (f > 1 ? f : 1.0f) * (rest > 1 ? rest : 1.0f);
  const ga_float d = -far - ga_quick_stirling(f) - ga_quick_stirling(rest) -
                     (ga_float)s->peak -
                     RQ_LOG(height * sqrt(pairs / (ga_float)s->pair));
  if (!ga_is_unsure(d, far)) {
    *v = d > 0 ? k : *v;
    return d > 0;
  }
#endif
  const REAL hat = a / ga_times(edge, edge) + b;
  const REAL bound = ga_log_binomial(k, n, mean) - s->peak;
  if (ga_real_log(ga_times(part, alpha) / hat) <=
      fma(R(-0.5), ga_real_log(ga_pair(k, n) / s->pair), bound)) {
    *v = k;
    return 1;
  }
  return 0;
}
GA_INLINE ga_int ga_try_binomial(REAL *v, REAL *kept, ga_int attempt,
                                 const OF_REAL(ga_binomial_plan) * s,
                                 const ga_uint *w) {
  if (s->is_large)
    return ga_try_large_binomial(v, s, w);
  if (attempt == 0)
    *v = *kept = 0;
  return ga_try_small_binomial(v, kept, s, w);
}
GA_INLINE REAL ga_binomial_number(REAL v, const OF_REAL(ga_binomial_plan) * s,
                                  ga_ulong first, ga_ulong stream, ga_ulong seed) {
  (void)first, (void)stream, (void)seed;
  return s->is_failures ? s->n - v : v;
}
GA_INLINE REAL ga_binomial_of(ga_ulong first, ga_ulong stream, ga_ulong seed, REAL n,
                              REAL p) {
  OF_REAL(ga_binomial_plan) s;
  REAL v = 0, at = 0;
  ga_uint w[4];
  ga_plan_binomial(&s, n, p);
  for (ga_int attempt = 0; !s.is_large && attempt < COUNTS; attempt++) {
    ga_philox(w, first + (ga_ulong)attempt, stream, seed);
    if (ga_try_small_binomial(&v, &at, &s, w))
      break;
  }
  for (ga_int attempt = 0; s.is_large && attempt < COUNTS; attempt++) {
    ga_philox(w, first + (ga_ulong)attempt, stream, seed);
    if (ga_try_large_binomial(&v, &s, w))
      break;
  }
  return ga_binomial_number(v, &s, first, stream, seed);
}

/* Failures before n successes: Poisson numbers whose means have a gamma distribution.
 */
GA_INLINE REAL ga_negative_binomial_of(ga_ulong first, ga_ulong stream, ga_ulong seed,
                                       REAL n, REAL p) {
  const REAL lam = ga_gamma_of(first, stream, seed, n, (R(1.0) - p) / p);
  return ga_poisson_of(first + COUNTS, stream, seed, lam);
}

/* Sum of squares of normal numbers about means whose squares have the sum `nonc`. */
GA_INLINE REAL ga_noncentral_chisquare_of(ga_ulong first, ga_ulong stream,
                                          ga_ulong seed, REAL df, REAL nonc) {
  if (df > 1) {
    ga_uint w[4];
    ga_philox(w, first + COUNTS, stream, seed);
    const REAL x = ga_count_normal(df, w) + sqrt(nonc);
    const REAL others = R(0.5) * df - R(0.5);
    return fma(x, x, ga_gamma_of(first, stream, seed, others, R(2.0)));
  }
  const REAL k = ga_poisson_of(first + COUNTS, stream, seed, R(0.5) * nonc);
  return ga_gamma_of(first, stream, seed, fma(R(0.5), df, k), R(2.0));
}

/* Hypergeometric: good ones among `sample` of `good` and `bad`, one by one. */
GA_INLINE REAL ga_small_hypergeometric(ga_ulong first, ga_ulong stream, ga_ulong seed,
                                       REAL good, REAL bad, REAL sample) {
  REAL k = 0, left = good + bad;
  for (ga_int j = 0; j < 10; j++) {
    ga_uint w[4];
    if (j >= sample)
      break;
    ga_philox(w, first + (ga_ulong)j, stream, seed);
    if (ga_times(ga_unit(ga_first_bits(good, w)), left) < good - k)
      k += 1;
    left -= 1;
  }
  return k;
}
/* The same of two binomial numbers with the sum `sample`. */
GA_INLINE REAL ga_log_hypergeometric(REAL k, REAL good, REAL bad, REAL sample) {
  const REAL share = sample / (good + bad);
  return ga_log_binomial(k, good, ga_times(good, share)) +
         ga_log_binomial(sample - k, bad, ga_times(bad, share));
}
/* HRUA of Stadlober, "The ratio of uniforms approach for generating discrete random
 * variates" (1990), for good at most bad and sample at most half of all. */
GA_INLINE REAL ga_large_hypergeometric(ga_ulong first, ga_ulong stream, ga_ulong seed,
                                       REAL good, REAL bad, REAL sample) {
  const REAL all = good + bad, p = good / all, mean = ga_times(sample, p);
  const REAL apart = (all - sample) / (all - R(1.0));
  const REAL spread = sqrt(fma(ga_times(mean, R(1.0) - p), apart, R(0.5)));
  const REAL width = fma(R(1.7155277699214135), spread, R(0.8989161620588988));
  const REAL mode = floor(ga_times(sample + R(1.0), (good + R(1.0)) / (all + R(2.0))));
  const REAL peak = ga_log_hypergeometric(mode, good, bad, sample);
  const REAL pairs = ga_times(ga_pair(mode, good), ga_pair(sample - mode, bad));
  const REAL greatest = sample < good ? sample : good;
  for (ga_int attempt = 0; attempt < COUNTS; attempt++) {
    ga_uint w[4];
    ga_philox(w, first + (ga_ulong)attempt, stream, seed);
    const REAL u = ga_open_unit(ga_first_bits(good, w));
    const REAL v = ga_word_unit(good, w[2]) - R(0.5);
    const REAL k = floor(fma(width, v / u, mean + R(0.5)));
    if (!(k >= 0 && k <= greatest))
      continue;
    const REAL bound = ga_log_hypergeometric(k, good, bad, sample) - peak;
    const REAL others = ga_times(ga_pair(k, good), ga_pair(sample - k, bad));
    if (R(2.0) * ga_real_log(u) <= fma(R(-0.5), ga_real_log(others / pairs), bound))
      return k;
  }
  return mode;
}
GA_INLINE REAL ga_hypergeometric_of(ga_ulong first, ga_ulong stream, ga_ulong seed,
                                    REAL ngood, REAL nbad, REAL nsample) {
  const REAL all = ngood + nbad;
  const ga_int is_rest = nsample > R(0.5) * all, is_bad = ngood > nbad;
  const REAL sample = is_rest ? all - nsample : nsample;
  const REAL good = is_bad ? nbad : ngood, bad = all - good;
  REAL k = sample <= 10
               ? ga_small_hypergeometric(first, stream, seed, good, bad, sample)
               : ga_large_hypergeometric(first, stream, seed, good, bad, sample);
  k = is_bad ? sample - k : k;
  return is_rest ? ngood - k : k;
}

/* Zipf by Devroye, "Non-uniform random variate generation" (1986), X.6.1; numbers above
 * 2^63 (float: 2^31) are drawn again. */
GA_INLINE REAL ga_zipf_of(ga_ulong first, ga_ulong stream, ga_ulong seed, REAL a) {
  const REAL power = a - R(1.0), ln2 = R(0.69314718055994531);
  const REAL most = REAL_IS_DOUBLE ? R(63.0) : R(31.0);
  if (power > 100)
    return 1;
  const REAL least = ga_real_exp(-ga_times(power, most * ln2));
  const REAL b = ga_real_exp(ga_times(power, ln2)),
             rise = ga_real_expm1(ga_times(power, ln2));
  for (ga_int attempt = 0; attempt < COUNTS; attempt++) {
    ga_uint w[4];
    ga_philox(w, first + (ga_ulong)attempt, stream, seed);
    const REAL u = ga_open_unit(ga_first_bits(a, w)), v = ga_word_unit(a, w[2]);
    const REAL x =
        floor(ga_real_exp(-ga_real_log(fma(u, R(1.0) - least, least)) / power));
    const REAL growth = ga_times(power, ga_real_log1p(R(1.0) / x));
    const REAL t = ga_real_expm1(growth);
    if (ga_times(ga_times(v, x), t / rise) <= (R(1.0) + t) / b)
      return x;
  }
  return 1;
}

/* Logarithmic series, by Kemp, "Efficient generation of logarithmically distributed
 * pseudo-random variables" (1981). */
GA_INLINE REAL ga_logseries_of(ga_ulong first, ga_ulong stream, ga_ulong seed, REAL p) {
  ga_uint w[4];
  ga_philox(w, first, stream, seed);
  const REAL v = ga_open_unit(ga_first_bits(p, w));
  if (v >= p)
    return 1;
  const REAL u = ga_word_unit(p, w[2]);
  const REAL q = -ga_real_expm1(ga_times(ga_real_log1p(-p), u));
  if (v > ga_times(q, q))
    return v >= q ? 1 : 2;
  return floor(R(1.0) + ga_real_log(v) / ga_real_log(q));
}
#undef RQ_IS_USED
#undef RQ_LOG
#undef RQ_SHARE
