/* The kernel texts of random numbers: Philox4x32-10 of Salmon, Moraes, Dror and Shaw,
 * "Parallel random numbers: as easy as 1, 2, 3" (2011). */
#include "c/random/random_source.h"

#include "c/base/dtype.h"
#include "c/program/kernel_text.h"

static const char philox[] =
    "#ifndef GA_ONCE_PHILOX\n"
    "#define GA_ONCE_PHILOX\n"
    "GA_INLINE void ga_philox(ga_uint *w, ga_ulong position, ga_ulong stream, "
    "ga_ulong seed) {\n"
    "  ga_uint c0 = (ga_uint)position, c1 = (ga_uint)(position >> 32);\n"
    "  ga_uint c2 = (ga_uint)stream, c3 = (ga_uint)(stream >> 32);\n"
    "  ga_uint k0 = (ga_uint)seed, k1 = (ga_uint)(seed >> 32);\n"
    "#pragma unroll\n"
    "  for (ga_int round = 0; round < 10; round++) {\n"
    "    const ga_ulong p0 = (ga_ulong)0xD2511F53u * c0;\n"
    "    const ga_ulong p1 = (ga_ulong)0xCD9E8D57u * c2;\n"
    "    c0 = (ga_uint)(p1 >> 32) ^ c1 ^ k0;\n"
    "    c1 = (ga_uint)p1;\n"
    "    c2 = (ga_uint)(p0 >> 32) ^ c3 ^ k1;\n"
    "    c3 = (ga_uint)p0;\n"
    "    k0 += 0x9E3779B9u;\n"
    "    k1 += 0xBB67AE85u;\n"
    "  }\n"
    "  w[0] = c0; w[1] = c1; w[2] = c2; w[3] = c3;\n"
    "}\n"
    "GA_INLINE ga_ulong ga_random_high(ga_ulong a, ga_ulong b) {\n"
    "  const ga_ulong al = a & 0xffffffffu, ah = a >> 32;\n"
    "  const ga_ulong bl = b & 0xffffffffu, bh = b >> 32;\n"
    "  const ga_ulong m = ah * bl + (al * bl >> 32);\n"
    "  const ga_ulong k = al * bh + (m & 0xffffffffu);\n"
    "  return ah * bh + (m >> 32) + (k >> 32);\n"
    "}\n"
    "#endif\n";

unsigned int ga__random_words(enum ga_random_kind kind, int typecode) {
  const size_t size = gpuarray_get_elsize(typecode);
  switch (kind) {
  case GA_RANDOM_INTEGERS:
    return 2;
  case GA_RANDOM_WIDE_INTEGERS:
    return 4;
  case GA_RANDOM_BERNOULLI:
    return 1;
  default:
    return size == 8 ? 2 : 1;
  }
}

/* Logarithm, root, sine and cosine, for the numbers that come up here alone: no
 * special cases, and of a turn all bits. Coefficients from Cephes (float) and fdlibm,
 * and of the float logarithm a fit to atanh. */
static const char float_functions[] =
    "#ifndef GA_ONCE_RANDOM_FLOAT\n"
    "#define GA_ONCE_RANDOM_FLOAT\n"
    "#ifdef __CUDACC__\n"
    "GA_INLINE ga_uint ga_random_bits(ga_float f) { return __float_as_uint(f); }\n"
    "GA_INLINE ga_float ga_random_float(ga_uint b) { return __uint_as_float(b); }\n"
    "GA_INLINE ga_float ga_random_root(ga_float x) {\n"
    "  ga_float r;\n"
    "  asm(\"sqrt.approx.f32 %0, %1;\" : \"=f\"(r) : \"f\"(x));\n"
    "  return r;\n"
    "}\n"
    "GA_INLINE ga_float ga_random_share_float(ga_float x, ga_float d) {\n"
    "  ga_float r;\n"
    "  asm(\"rcp.approx.ftz.f32 %0, %1;\" : \"=f\"(r) : \"f\"(d));\n"
    "  return x * r;\n"
    "}\n"
    "#else\n"
    "GA_INLINE ga_uint ga_random_bits(ga_float f) { return as_uint(f); }\n"
    "GA_INLINE ga_float ga_random_float(ga_uint b) { return as_float(b); }\n"
    "GA_INLINE ga_float ga_random_root(ga_float x) { return sqrt(x); }\n"
    "GA_INLINE ga_float ga_random_share_float(ga_float x, ga_float d) "
    "{ return x / d; }\n"
    "#endif\n"
    /* -log(u) of 0 < u <= 1. */
    "GA_INLINE ga_float ga_random_wait(ga_float u) {\n"
    "  const ga_uint bits = ga_random_bits(u);\n"
    "  const ga_uint power = (bits - 0x3f3504f3u) & 0xff800000u;\n"
    "  const ga_float m = ga_random_float(bits - power);\n"
    "  const ga_float s = ga_random_share_float(m - 1.0f, m + 1.0f), z = s * s;\n"
    "  ga_float y = fma(0.295814479f, z, 0.399887398f);\n"
    "  y = fma(y, z, 0.666666852f);\n"
    "  y = s * fma(y, z, 2.0f);\n"
    "  return -fma((ga_float)(ga_int)power, 8.262958295e-8f, y);\n"
    "}\n"
    /* Of a turn of 2^32: bit 31 of q is the half, bit 30 the quarter of the half. */
    "GA_INLINE void ga_random_turn(ga_uint w, ga_float *c, ga_float *s) {\n"
    "  const ga_uint q = w + 0x20000000u;\n"
    "  const ga_float x = (ga_float)(ga_int)(w << 2) * 3.657295198167899e-10f;\n"
    "  const ga_float z = x * x;\n"
    "  ga_float a = fma(-1.9515295891e-4f, z, 8.3321608736e-3f);\n"
    "  a = fma(a, z, -1.6666654611e-1f);\n"
    "  a = fma(a, z * x, x);\n"
    "  ga_float b = fma(2.443315711809948e-5f, z, -1.388731625493765e-3f);\n"
    "  b = fma(b, z, 4.166664568298827e-2f);\n"
    "  b = fma(b, z, -0.5f);\n"
    "  b = fma(b, z, 1.0f);\n"
    "  const ga_uint at = ga_random_bits(a), bt = ga_random_bits(b);\n"
    "  const ga_int is_side = (q & 0x40000000u) != 0;\n"
    "  *c = ga_random_float((is_side ? at : bt) ^ ((q + 0x40000000u) & "
    "0x80000000u));\n"
    "  *s = ga_random_float((is_side ? bt : at) ^ (q & 0x80000000u));\n"
    "}\n"
    "#endif\n";

static const char double_functions[] =
    "#ifndef GA_ONCE_RANDOM_DOUBLE\n"
    "#define GA_ONCE_RANDOM_DOUBLE\n"
    "#ifdef __CUDACC__\n"
    "GA_INLINE ga_ulong ga_random_word(ga_double f) {\n"
    "  return (ga_ulong)__double_as_longlong(f);\n"
    "}\n"
    "GA_INLINE ga_double ga_random_double(ga_ulong b) {\n"
    "  return __longlong_as_double((long long)b);\n"
    "}\n"
    /* x / d, of 1 < d < 3. */
    "GA_INLINE ga_double ga_random_share(ga_double x, ga_double d) {\n"
    "  ga_double r;\n"
    "  asm(\"rcp.approx.ftz.f64 %0, %1;\" : \"=d\"(r) : \"d\"(d));\n"
    "  r = fma(fma(-d, r, 1.0), r, r);\n"
    "  r = fma(fma(-d, r, 1.0), r, r);\n"
    "  return x * r;\n"
    "}\n"
    "#else\n"
    "GA_INLINE ga_ulong ga_random_word(ga_double f) { return as_ulong(f); }\n"
    "GA_INLINE ga_double ga_random_double(ga_ulong b) { return as_double(b); }\n"
    "GA_INLINE ga_double ga_random_share(ga_double x, ga_double d) "
    "{ return x / d; }\n"
    "#endif\n"
    "GA_INLINE ga_double ga_random_wait_double(ga_double u) {\n"
    "  const ga_ulong bits = ga_random_word(u);\n"
    "  const ga_int e = (ga_int)((ga_uint)(bits >> 32) - 0x3fe6a09eu) >> 20;\n"
    "  const ga_double f = ga_random_double(bits - ((ga_ulong)(ga_long)e << 52)) - "
    "1.0;\n"
    "  const ga_double n = (ga_double)e, s = ga_random_share(f, 2.0 + f);\n"
    "  const ga_double z = s * s, h = 0.5 * f * f;\n"
    "  ga_double r = fma(1.479819860511658591e-01, z, 1.531383769920937332e-01);\n"
    "  r = fma(r, z, 1.818357216161805012e-01);\n"
    "  r = fma(r, z, 2.222219843214978396e-01);\n"
    "  r = fma(r, z, 2.857142874366239149e-01);\n"
    "  r = fma(r, z, 3.999999999940941908e-01);\n"
    "  r = fma(r, z, 6.666666666666735130e-01);\n"
    "  r = fma(s, fma(r, z, h), n * 1.90821492927058770002e-10);\n"
    "  return fma(n, -6.93147180369123816490e-01, (h - r) - f);\n"
    "}\n"
    "GA_INLINE void ga_random_turn_double(ga_ulong w, ga_double *c, ga_double *s) {\n"
    "  const ga_ulong q = (w + ((ga_ulong)1 << 61)) >> 62;\n"
    "  const ga_double x = (ga_double)(ga_long)(w << 2) * 8.515303950216386e-20;\n"
    "  const ga_double z = x * x;\n"
    "  ga_double a = fma(1.58969099521155010221e-10, z, -2.50507602534068634195e-08);\n"
    "  a = fma(a, z, 2.75573137070700676789e-06);\n"
    "  a = fma(a, z, -1.98412698298579493134e-04);\n"
    "  a = fma(a, z, 8.33333333332248946124e-03);\n"
    "  a = fma(a, z, -1.66666666666666324348e-01);\n"
    "  a = fma(a, z * x, x);\n"
    "  ga_double b = fma(-1.13596475577881948265e-11, z, 2.08757232129817482790e-09);\n"
    "  b = fma(b, z, -2.75573143513906633035e-07);\n"
    "  b = fma(b, z, 2.48015872894767294178e-05);\n"
    "  b = fma(b, z, -1.38888888888741095749e-03);\n"
    "  b = fma(b, z, 4.16666666666666019037e-02);\n"
    "  b = fma(b, z, -0.5);\n"
    "  b = fma(b, z, 1.0);\n"
    "  *c = ga_random_double(ga_random_word(q & 1 ? a : b) ^ ((q + 1) & 2) << 62);\n"
    "  *s = ga_random_double(ga_random_word(q & 1 ? b : a) ^ (q & 2) << 62);\n"
    "}\n"
    "#endif\n";

static unsigned int per_count(const ga_random_spec *s) {
  return 4 / ga__random_words((enum ga_random_kind)s->kind, s->typecode);
}

#define CPU_COUNTS 64 /* more than compilers unroll before they make vectors */

/* Counts of an item at once: enough for 16 bytes, four at most. */
static unsigned int counts(const ga_random_spec *s) {
  if (s->in_loops)
    return CPU_COUNTS;
  const size_t bytes = per_count(s) * gpuarray_get_elsize(s->typecode);
  return bytes >= 16 || s->nd > 0 ? 1 : bytes == 8 ? 2 : 4;
}

unsigned int ga__random_chunk(const ga_random_spec *spec) {
  return counts(spec) * per_count(spec);
}

static bool is_double(const ga_random_spec *s) {
  return s->typecode == GA_DOUBLE;
}

static bool has_float_parameters(const ga_random_spec *s) {
  return s->kind == GA_RANDOM_UNIFORM || s->kind == GA_RANDOM_NORMAL ||
         s->kind == GA_RANDOM_EXPONENTIAL;
}

static const char *work_type(const ga_random_spec *s) {
  return gpuarray_get_type(ga__dtype_work(s->typecode))->cluda_name;
}

/* ---- values ---- */

/* `u` of words at `e`: a fraction in [0, 1) of as many bits as the type has. */
static void add_fraction(ga_strbuf *t, const ga_random_spec *s) {
  if (is_double(s))
    ga__strbuf_add(t, "const ga_double u = (ga_double)(((ga_ulong)w[e + 1] << 32 | "
                      "w[e]) >> 11) * 1.1102230246251565e-16;\n");
  else
    ga__strbuf_add(t, "const ga_float u = (ga_float)(w[e] >> 8) * "
                      "5.9604644775390625e-8f;\n");
}

/* The same above 0 and up to 1, with more bits near 0, from words at `e`. */
static void add_positive(ga_strbuf *t, const ga_random_spec *s, const char *e) {
  if (is_double(s))
    ga__strbuf_addf(t,
                    "const ga_double u = fma((ga_double)((ga_ulong)w[%s + 1] << 32 | "
                    "w[%s]), 5.4210108624275222e-20, 2.7105054312137611e-20);\n",
                    e, e);
  else
    ga__strbuf_addf(t,
                    "const ga_float u = fma((ga_float)w[%s], 2.3283064365386963e-10f, "
                    "1.1641532182693481e-10f);\n",
                    e);
}

/* Two numbers, `v` and `other`: the first word of the pair gives the radius, the
 * second the angle, both words of 64 bits for double. */
static void add_normal(ga_strbuf *t, const ga_random_spec *s) {
  add_positive(t, s, "e");
  if (is_double(s))
    ga__strbuf_add(t, "const ga_double radius = p1 * sqrt(2.0 * "
                      "ga_random_wait_double(u));\n"
                      "ga_random_turn_double((ga_ulong)w[e + 3] << 32 | w[e + 2], &v, "
                      "&other);\n");
  else
    ga__strbuf_add(t, "const ga_float radius = p1 * 1.41421356f * "
                      "ga_random_root(ga_random_wait(u));\n"
                      "ga_random_turn(w[e + 1], &v, &other);\n");
  ga__strbuf_add(t, "v = fma(radius, v, p0);\n"
                    "other = fma(radius, other, p0);\n");
}

/* floor(r * count / 2^64) of two words, or with 2^128 of four. */
static void add_integer(ga_strbuf *t, const ga_random_spec *s) {
  if (s->kind == GA_RANDOM_INTEGERS)
    /* p1 is 2^32 where its lower half is 0. */
    ga__strbuf_add(t, "const ga_uint p = (ga_uint)p1;\n"
                      "const ga_ulong r = p == 0 ? w[e + 1] : ((ga_ulong)w[e + 1] * p "
                      "+ ((ga_ulong)w[e] * p >> 32)) >> 32;\n");
  else
    ga__strbuf_add(t, "const ga_ulong r0 = (ga_ulong)w[1] << 32 | w[0];\n"
                      "const ga_ulong r1 = (ga_ulong)w[3] << 32 | w[2];\n"
                      "const ga_ulong low = r1 * p1, up = ga_random_high(r0, p1);\n"
                      "const ga_ulong r = p1 == 0 ? r1 : ga_random_high(r1, p1) + "
                      "(low + up < low);\n");
  ga__strbuf_addf(t, "v = (%s)(p0 + r);\n", work_type(s));
}

/* Sets `v` of the work type, from words of which the element's begin at `e`. */
static void add_value(ga_strbuf *t, const ga_random_spec *s) {
  switch ((enum ga_random_kind)s->kind) {
  case GA_RANDOM_BITS:
    if (gpuarray_get_elsize(s->typecode) == 8)
      ga__strbuf_addf(t, "v = (%s)((ga_ulong)w[e + 1] << 32 | w[e]);\n", work_type(s));
    else
      ga__strbuf_addf(t, "v = (%s)w[e];\n", work_type(s));
    return;
  case GA_RANDOM_UNIFORM:
    add_fraction(t, s);
    ga__strbuf_add(t, "v = fma(u, p1, p0);\nv = v < p2 ? v : p2;\n");
    return;
  case GA_RANDOM_NORMAL:
    add_normal(t, s);
    return;
  case GA_RANDOM_EXPONENTIAL:
    add_positive(t, s, "e");
    ga__strbuf_addf(t, "v = p0 * ga_random_wait%s(u);\n",
                    is_double(s) ? "_double" : "");
    return;
  case GA_RANDOM_INTEGERS:
  case GA_RANDOM_WIDE_INTEGERS:
    add_integer(t, s);
    return;
  case GA_RANDOM_BERNOULLI:
    ga__strbuf_addf(t, "v = (%s)(w[e] < p0 ? 1 : 0);\n", work_type(s));
    return;
  }
}

/* Makes `v`, of the work type, an element of the chunk. */
static void add_stored(ga_strbuf *t, const ga_random_spec *s, const char *v,
                       unsigned int behind) {
  ga__strbuf_addf(t, "made.at[m * %u + k + %u] = ", per_count(s), behind);
  for (const char *c = ga__dtype_store(s->typecode); *c != 0; c++)
    if (*c == '%')
      ga__strbuf_add(t, v);
    else
      ga__strbuf_addn(t, c, 1);
  ga__strbuf_add(t, ";\n");
}

/* ---- kernels ---- */

static void add_arguments(ga_strbuf *t, const ga_random_spec *s) {
  const char *type = gpuarray_get_type(s->typecode)->cluda_name;
  const char *parameter = has_float_parameters(s) ? work_type(s) : "ga_ulong";
  ga__strbuf_addf(t,
                  "(GLOBAL_MEM %s *x, ga_size x_off, ga_ulong n, ga_ulong seed, "
                  "ga_ulong stream, ga_ulong position, %s p0, %s p1",
                  type, parameter, parameter);
  if (s->kind == GA_RANDOM_UNIFORM)
    ga__strbuf_addf(t, ", %s p2", parameter);
  if (s->nd == 0)
    ga__strbuf_add(t, ", ga_uint aligned");
  for (unsigned int axis = 1; axis < s->nd; axis++)
    ga__strbuf_addf(t, ", ga_uint d%u", axis);
  for (unsigned int axis = 0; axis < s->nd; axis++)
    ga__strbuf_addf(t, ", %s s%u", s->wide ? "ga_long" : "ga_int", axis);
  ga__strbuf_addf(t,
                  ") {\n  x = (GLOBAL_MEM %s *)((GLOBAL_MEM char *)x + x_off);\n"
                  "  (void)p1;\n",
                  type);
}

/* Stores the chunk's elements from `i` on, as many as there are. */
static void add_store(ga_strbuf *t, const ga_random_spec *s, const char *vector) {
  const unsigned int chunk = ga__random_chunk(s);
  if (s->nd == 0 && s->in_loops) {
    ga__strbuf_addf(t,
                    "    const ga_int most = n - i < %u ? (ga_int)(n - i) : %u;\n"
                    "    for (ga_int k = 0; k < most; k++) x[i + k] = made.at[k];\n"
                    "    (void)aligned;\n",
                    chunk, chunk);
    return;
  }
  if (s->nd == 0) {
    ga__strbuf_addf(t,
                    "    if (aligned && i + %u <= n)\n"
                    "      *(GLOBAL_MEM %s *)(x + i) = made.whole;\n"
                    "    else\n"
                    "      for (ga_uint k = 0; k < %u && i + k < n; k++)\n"
                    "        x[i + k] = made.at[k];\n",
                    chunk, vector, chunk);
    return;
  }
  const char *type = s->wide ? "ga_long" : "ga_int";
  const char *counter = s->wide ? "ga_ulong" : "ga_uint";
  ga__strbuf_addf(t,
                  "    for (ga_uint k = 0; k < %u && i + k < n; k++) {\n"
                  "      %s rest = (%s)(i + k);\n      %s p = 0;\n",
                  chunk, counter, counter, type);
  for (unsigned int axis = s->nd - 1u; axis > 0; axis--)
    ga__strbuf_addf(t, "      p += (%s)(rest %% d%u) * s%u;\n      rest /= d%u;\n",
                    type, axis, axis, axis);
  ga__strbuf_addf(t, "      x[p + (%s)rest * s0] = made.at[k];\n    }\n", type);
}

static const char *vector_type(const ga_random_spec *s) {
  const size_t bytes = ga__random_chunk(s) * gpuarray_get_elsize(s->typecode);
  return bytes >= 16 ? "ga_uint4" : bytes == 8 ? "ga_ulong" : "ga_uint";
}

/* `w`: the words of count m of the chunk. In loops, all words come first: compilers
 * make vectors of short loops. */
static void add_words(ga_strbuf *t, const ga_random_spec *s) {
  const unsigned int n = counts(s);
  if (s->in_loops)
    ga__strbuf_addf(t,
                    "    ga_uint words[4 * %u];\n"
                    "    for (ga_int m = 0; m < %u; m++)\n"
                    "      ga_philox(words + 4 * m, position + c * %u + (ga_ulong)m, "
                    "stream, seed);\n"
                    "    for (ga_int m = 0; m < %u; m++) {\n"
                    "      const ga_uint *w = words + 4 * m;\n",
                    n, n, n, n);
  else
    ga__strbuf_addf(t,
                    "    for (ga_uint m = 0; m < %u; m++) {\n"
                    "      ga_uint w[4];\n"
                    "      ga_philox(w, position + c * %u + m, stream, seed);\n",
                    n, n);
}

static void add_body(ga_strbuf *t, const ga_random_spec *s) {
  const unsigned int chunk = ga__random_chunk(s), per = per_count(s);
  const bool is_pair = s->kind == GA_RANDOM_NORMAL;
  const char *vector = vector_type(s), *work = work_type(s);
  ga__strbuf_addf(t,
                  "  const ga_ulong chunks = n / %u + (n %% %u != 0);\n"
                  "  for (ga_ulong c = GID_0 * LDIM_0 + LID_0; c < chunks; "
                  "c += GDIM_0 * LDIM_0) {\n"
                  "    const ga_ulong i = c * %u;\n"
                  "    union { %s at[%u]; %s whole; } made;\n",
                  chunk, chunk, chunk, gpuarray_get_type(s->typecode)->cluda_name,
                  chunk, vector);
  add_words(t, s);
  ga__strbuf_addf(t,
                  "#pragma unroll\n"
                  "      for (ga_uint k = 0; k < %u; k += %d) {\n"
                  "        const ga_uint e = k * %u;\n"
                  "        %s v%s;\n        (void)e;\n",
                  per, is_pair ? 2 : 1, 4 / per, work, is_pair ? ", other" : "");
  add_value(t, s);
  add_stored(t, s, "v", 0);
  if (is_pair)
    add_stored(t, s, "other", 1);
  ga__strbuf_add(t, "      }\n    }\n");
  add_store(t, s, vector);
  ga__strbuf_add(t, "  }\n}\n");
}

static const char *functions(const ga_random_spec *s) {
  if (s->kind != GA_RANDOM_NORMAL && s->kind != GA_RANDOM_EXPONENTIAL)
    return "";
  return is_double(s) ? double_functions : float_functions;
}

int ga__random_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  const ga_random_spec *s = spec;
  ga_strbuf text = {0};
  (void)ctx;
  add_arguments(&text, s);
  add_body(&text, s);
  ga__strbuf_add(&out->body, philox);
  return ga__text_finish(out, "random", functions(s), &text);
}
