/* Source generator of random kernels: Philox4x32-10 of Salmon, Moraes, Dror and Shaw,
 * "Parallel random numbers: as easy as 1, 2, 3" (2011). */
#include "c/random/random_source.h"

#include <string.h>

#include "c/base/dtype.h"
#include "c/program/kernel_text.h"
#include "c/random/distribution.h"
#include "c/random/kernels/attempts.inc"
#include "c/random/kernels/draw.inc"
#include "c/random/kernels/flat.inc"
#include "c/random/kernels/philox.inc"
#include "c/random/kernels/random.inc"

static const ga_distribution *distribution(const ga_random_spec *s) {
  return s->kind == GA_RANDOM_DISTRIBUTION ? ga__distribution(s->row) : NULL;
}

static int form(const ga_random_spec *s) {
  const ga_distribution *d = distribution(s);
  return d == NULL ? -1 : d->row.form;
}

enum ga_random_kernel ga__random_kernel(const ga_random_spec *spec, bool is_gpu) {
  const bool is_flat = is_gpu && spec->nd == 0;
  if (spec->arrays == 0 && form(spec) != GA_RANDOM_BY_COUNTS)
    return is_flat ? GA_RANDOM_FLAT : GA_RANDOM_BY_COUNTER;
  return is_flat && distribution(spec)->texts & GA_TEXT_ATTEMPTS ? GA_RANDOM_BY_ATTEMPT
                                                                 : GA_RANDOM_BY_ELEMENT;
}

/* True if elements have counts of their own, or parameters of their own. */
static bool by_element(const ga_random_spec *s) {
  return s->kernel == GA_RANDOM_BY_ELEMENT || s->kernel == GA_RANDOM_BY_ATTEMPT;
}

unsigned int ga__random_words(const ga_random_spec *spec) {
  switch (spec->kind) {
  case GA_RANDOM_INTEGERS:
    return 2;
  case GA_RANDOM_WIDE_INTEGERS:
    return 4;
  case GA_RANDOM_BERNOULLI:
    return 1;
  case GA_RANDOM_BITS:
    return gpuarray_get_elsize(spec->typecode) == 8 ? 2 : 1;
  default:
    return ga__distribution_words(distribution(spec), spec->typecode);
  }
}

static unsigned int per_count(const ga_random_spec *s) {
  return 4 / ga__random_words(s);
}

#define CPU_COUNTS 64 /* more than compilers unroll before they vectorize */

/* Counters per item: enough for a 16-byte store, at most four. */
static unsigned int counts(const ga_random_spec *s) {
  if (s->in_loops)
    return CPU_COUNTS;
  if (s->kernel == GA_RANDOM_FLAT)
    return 1;
  const size_t bytes = per_count(s) * gpuarray_get_elsize(s->typecode);
  return bytes >= 16 || s->nd > 0 ? 1 : bytes == 8 ? 2 : 4;
}

unsigned int ga__random_chunk(const ga_random_spec *spec) {
  if (by_element(spec))
    return spec->in_loops ? CPU_COUNTS : 1;
  return counts(spec) * per_count(spec);
}

static const char *vector_type(const ga_random_spec *s) {
  const size_t bytes = ga__random_chunk(s) * gpuarray_get_elsize(s->typecode);
  return bytes >= 16  ? "ga_uint4"
         : bytes == 8 ? "ga_ulong"
         : bytes == 4 ? "ga_uint"
                      : "ga_ushort";
}

static unsigned int vectors(const ga_random_spec *s) {
  const size_t bytes = ga__random_chunk(s) * gpuarray_get_elsize(s->typecode);
  return bytes > 16 ? (unsigned int)(bytes / 16) : 1;
}

/* ---- what is computed ---- */

static void add_parameters(ga_strbuf *t, const ga_random_spec *s) {
  const ga_distribution *d = distribution(s);
  ga__strbuf_add(t, "#define RN_PARAMETERS ");
  for (unsigned int k = 0; d == NULL && k < 2; k++)
    ga__strbuf_addf(t, ", ga_ulong p%u", k);
  for (unsigned int k = 0; d != NULL && k < d->row.n; k++)
    if (s->arrays & 1u << k)
      ga__strbuf_addf(t, ", GLOBAL_MEM const RN_WORK *a%u, ga_size a%u_off", k, k);
    else
      ga__strbuf_addf(t, ", RN_WORK p%u", k);
  ga__strbuf_add(t, "\n#define RN_GIVEN");
  for (unsigned int k = 0; d != NULL && k < d->row.n; k++)
    ga__strbuf_addf(t, ", p%u", k);
  ga__strbuf_add(t, "\n");
}

static bool is_uniform(const ga_random_spec *s) {
  const ga_distribution *d = distribution(s);
  return d != NULL && strcmp(d->row.name, "uniform") == 0;
}

/* Integers that do not fit become the greatest; nan becomes -1. */
static void add_store(ga_strbuf *t, const ga_random_spec *s) {
  const char kind = ga__dtype_kind(s->typecode);
  const unsigned int bits = 8 * (unsigned int)gpuarray_get_elsize(s->typecode);
  ga__strbuf_add(t, "\n#define RN_STORE(v) ");
  if (distribution(s) == NULL || (kind != 'i' && kind != 'u'))
    ga__strbuf_fill(t, ga__dtype_store(s->typecode), "v");
  else
    ga__strbuf_addf(
        t,
        "((v) != (v) ? (RN_TYPE)-1 : (v) >= (RN_WORK)((ga_ulong)1 << %u) * 2"
        " ? (RN_TYPE)((ga_ulong)-1 >> %u) : (RN_TYPE)(v))",
        bits - 1 - (kind == 'i'), 64 - bits + (kind == 'i'));
  ga__strbuf_add(t, "\n#define RN_CAP(v) ");
  if (is_uniform(s) && s->typecode == GA_HALF)
    ga__strbuf_add(t, "ga_capped(v, p0, p1, 13, 16777216.0f)");
  else if (is_uniform(s) && s->typecode == GA_BFLOAT16)
    ga__strbuf_add(t, "ga_capped(v, p0, p1, 16, INFINITY)");
  else
    ga__strbuf_add(t, "(v)");
  ga__strbuf_add(t, "\n");
}

static void add_attempt(ga_strbuf *t, const ga_distribution *d, int real) {
  const char *name = d->row.name;
  ga__strbuf_addf(t,
                  "#define RN_PLAN ga_%s_plan_%s\n#define RN_MAKE_PLAN ga_plan_%s\n"
                  "#define RN_TRY ga_try_%s\n#define RN_NUMBER ga_%s_number\n"
                  "#define RN_COUNTS %u\n",
                  name, real == GA_DOUBLE ? "double" : "float", name, name, name,
                  d->row.counts);
}

static void add_value(ga_strbuf *t, const ga_random_spec *s) {
  static const char *const kinds[] = {"BITS", "INTEGERS", "WIDE_INTEGERS", "BERNOULLI",
                                      "DISTRIBUTION"};
  const ga_distribution *d = distribution(s);
  const int work = d == NULL ? s->typecode : ga__distribution_real(s->typecode);
  ga__strbuf_addf(t,
                  "#define RN_IS_%s 1\n#define RN_IS_PAIR %d\n#define RN_AT_ONCE %d\n"
                  "#define RN_HAS_LONG %d\n#define RN_TYPE %s\n#define RN_WORK %s\n",
                  kinds[s->kind], form(s) == GA_RANDOM_BY_PAIR,
                  form(s) == GA_RANDOM_BY_PAIR ? 2 : 1,
                  gpuarray_get_elsize(s->typecode) == 8, ga__dtype_ctype(s->typecode),
                  ga__dtype_work_ctype(work));
  if (s->kernel == GA_RANDOM_BY_ATTEMPT)
    add_attempt(t, d, work);
  else if (s->kernel == GA_RANDOM_BY_ELEMENT)
    ga__strbuf_addf(t, "#define RN_OF ga_draw_%s\n", d->row.name);
  else if (d != NULL)
    ga__strbuf_addf(t, "#define RN_OF ga_%s_of\n#define RN_BITS(e) %s\n", d->row.name,
                    ga__random_words(s) == 1 ? "w[e]"
                                             : "((ga_ulong)w[(e) + 1] << 32 | w[e])");
  add_parameters(t, s);
  add_store(t, s);
}

static void add_state(ga_strbuf *t, const ga_random_spec *s) {
  static const char *const words[] = {"seed", "stream", "position"};
  ga__strbuf_add(t, "#define RN_STATE ");
  for (size_t k = 0; k < 3; k++)
    ga__strbuf_addf(t,
                    s->in_memory ? "%sGLOBAL_MEM const ga_ulong *%s_at, ga_size %s_off"
                                 : "%sga_ulong %s",
                    k > 0 ? ", " : "", words[k], words[k]);
  ga__strbuf_add(t, "\n#define RN_LOAD_STATE");
  for (size_t k = 0; s->in_memory && k < 3; k++)
    ga__strbuf_addf(t,
                    " const ga_ulong %s = *(GLOBAL_MEM const ga_ulong *)"
                    "((GLOBAL_MEM const char *)%s_at + %s_off);",
                    words[k], words[k], words[k]);
  ga__strbuf_add(t, "\n");
}

/* ---- where it is stored ---- */

static void add_sizes(ga_strbuf *t, const ga_random_spec *s) {
  ga__strbuf_addf(t,
                  "#define RN_IN_LOOPS %d\n#define RN_AXES %u\n#define RN_CHUNK %u\n"
                  "#define RN_INT %s\n#define RN_COUNTER %s\n",
                  s->in_loops, s->nd, ga__random_chunk(s), ga__text_position(s->wide),
                  s->wide ? "ga_ulong" : "ga_uint");
  if (by_element(s))
    return;
  ga__strbuf_addf(t,
                  "#define RN_COUNTS %u\n#define RN_PER %u\n#define RN_WORDS %u\n"
                  "#define RN_VECTOR %s\n#define RN_VECTORS %u\n",
                  counts(s), per_count(s), ga__random_words(s), vector_type(s),
                  vectors(s));
}

static void add_layout_parameters(ga_strbuf *t, const ga_random_spec *s) {
  ga__strbuf_addf(t, "#define RN_OTHERS %s",
                  s->kernel == GA_RANDOM_BY_ATTEMPT ? ", ga_uint rows"
                  : s->nd == 0 && !by_element(s)    ? ", ga_uint aligned"
                                                    : "");
  for (unsigned int axis = 1; axis < s->nd; axis++)
    ga__strbuf_addf(t, ", ga_uint d%u", axis);
  for (unsigned int axis = 0; axis < s->nd; axis++)
    ga__strbuf_addf(t, ", RN_INT s%u", axis);
  for (unsigned int k = 0; k < GA_RANDOM_PARAMETERS; k++)
    for (unsigned int axis = 0; s->arrays & 1u << k && axis < s->nd; axis++)
      ga__strbuf_addf(t, ", RN_INT a%u_s%u", k, axis);
  ga__strbuf_add(t, "\n");
}

/* From the counter `rest` of an element to its place `p`, but for the first axis. */
static void add_walk(ga_strbuf *t, const ga_random_spec *s) {
  ga__strbuf_add(t, "#define RN_WALK");
  for (unsigned int axis = s->nd; axis-- > 1;)
    ga__strbuf_addf(t, " p += (RN_INT)(rest %% d%u) * s%u; rest /= d%u;", axis, axis,
                    axis);
  ga__strbuf_add(t, "\n");
}

/* The same for an element i, whose parameters' places are b0, b1, ... */
static void add_element_walk(ga_strbuf *t, const ga_random_spec *s) {
  ga__strbuf_add(t, "#define RN_STARTS");
  for (unsigned int k = 0; k < GA_RANDOM_PARAMETERS; k++)
    if (s->arrays & 1u << k)
      ga__strbuf_addf(
          t,
          " a%u = (GLOBAL_MEM const RN_WORK *)((GLOBAL_MEM const char *)a%u "
          "+ a%u_off);",
          k, k, k);
  ga__strbuf_add(t, "\n#define RN_WALK");
  if (s->nd > 0)
    ga__strbuf_add(t, " RN_COUNTER rest = (RN_COUNTER)i; RN_INT at, p = 0;");
  for (unsigned int k = 0; k < GA_RANDOM_PARAMETERS; k++)
    if (s->arrays & 1u << k)
      ga__strbuf_addf(t, " RN_INT b%u = 0;", k);
  for (unsigned int axis = s->nd; axis-- > 0;) {
    if (axis > 0)
      ga__strbuf_addf(t, " at = (RN_INT)(rest %% d%u); rest /= d%u; p += at * s%u;",
                      axis, axis, axis);
    else
      ga__strbuf_add(t, " at = (RN_INT)rest; p += at * s0;");
    for (unsigned int k = 0; k < GA_RANDOM_PARAMETERS; k++)
      if (s->arrays & 1u << k)
        ga__strbuf_addf(t, " b%u += at * a%u_s%u;", k, k, axis);
  }
  ga__strbuf_add(t, "\n#define RN_LOADS");
  for (unsigned int k = 0; k < GA_RANDOM_PARAMETERS; k++)
    if (s->arrays & 1u << k)
      ga__strbuf_addf(t, " const RN_WORK p%u = a%u[b%u];", k, k, k);
  ga__strbuf_addf(t, "\n#define RN_PLACE %s\n", s->nd > 0 ? "p" : "i");
}

/* ---- the source ---- */

static void add_functions(ga_strbuf *t, const ga_random_spec *s) {
  const ga_distribution *d = distribution(s);
  const int real = ga__distribution_real(s->typecode);
  if (d == NULL)
    ga__strbuf_add(t, philox_text);
  else if (s->kernel == GA_RANDOM_BY_ELEMENT)
    ga__distribution_element(t, d, real);
  else
    ga__distribution_functions(t, d, real);
}

int ga__random_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  static const char *const kernels[] = {draw_text, attempts_text, random_text,
                                        flat_text};
  const ga_random_spec *s = spec;
  ga_strbuf text = {0}, functions = {0};
  (void)ctx;
  add_state(&text, s);
  add_value(&text, s);
  add_sizes(&text, s);
  add_layout_parameters(&text, s);
  if (s->kernel == GA_RANDOM_BY_ELEMENT)
    add_element_walk(&text, s);
  else
    add_walk(&text, s);
  ga__strbuf_add(&text, kernels[s->kernel]);
  out->is_closed = true;
  add_functions(&functions, s);
  if (functions.failed)
    text.failed = true;
  const int status = ga__text_finish_named(out, "random", functions.text,
                                           "#define RN_NAME %\n", &text);
  ga__strbuf_clear(&functions);
  return status;
}
