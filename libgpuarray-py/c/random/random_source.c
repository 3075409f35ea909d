/* The kernel texts of random numbers: Philox4x32-10 of Salmon, Moraes, Dror and Shaw,
 * "Parallel random numbers: as easy as 1, 2, 3" (2011). */
#include "c/random/random_source.h"

#include "c/base/dtype.h"
#include "c/program/kernel_text.h"
#include "c/random/kernels/double_functions.inc"
#include "c/random/kernels/float_functions.inc"
#include "c/random/kernels/philox.inc"

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
  return is_double(s) ? double_functions_text : float_functions_text;
}

int ga__random_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  const ga_random_spec *s = spec;
  ga_strbuf text = {0};
  (void)ctx;
  add_arguments(&text, s);
  add_body(&text, s);
  ga__strbuf_add(&out->body, philox_text);
  return ga__text_finish(out, "random", functions(s), &text);
}
