/* Source generator of random kernels: Philox4x32-10 of Salmon, Moraes, Dror and Shaw,
 * "Parallel random numbers: as easy as 1, 2, 3" (2011). */
#include "c/random/random_source.h"

#include "c/base/dtype.h"
#include "c/program/kernel_text.h"
#include "c/random/kernels/double_functions.inc"
#include "c/random/kernels/float_functions.inc"
#include "c/random/kernels/philox.inc"
#include "c/random/kernels/random.inc"

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

#define CPU_COUNTS 64 /* more than compilers unroll before they vectorize */

/* Counters per item: enough for a 16-byte store, at most four. */
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

static const char *vector_type(const ga_random_spec *s) {
  const size_t bytes = ga__random_chunk(s) * gpuarray_get_elsize(s->typecode);
  return bytes >= 16 ? "ga_uint4" : bytes == 8 ? "ga_ulong" : "ga_uint";
}

/* ---- macros ---- */

static void add_sizes(ga_strbuf *t, const ga_random_spec *s) {
  static const char *const kinds[] = {"BITS",        "UNIFORM",  "NORMAL",
                                      "EXPONENTIAL", "INTEGERS", "WIDE_INTEGERS",
                                      "BERNOULLI"};
  const unsigned int per = per_count(s);
  ga__strbuf_addf(t,
                  "#define RN_IS_%s 1\n#define RN_IS_DOUBLE %d\n"
                  "#define RN_HAS_LONG %d\n#define RN_IN_LOOPS %d\n"
                  "#define RN_AXES %u\n#define RN_CHUNK %u\n#define RN_COUNTS %u\n"
                  "#define RN_PER %u\n#define RN_AT_ONCE %d\n#define RN_WORDS %u\n",
                  kinds[s->kind], is_double(s), gpuarray_get_elsize(s->typecode) == 8,
                  s->in_loops, s->nd, ga__random_chunk(s), counts(s), per,
                  s->kind == GA_RANDOM_NORMAL ? 2 : 1, 4 / per);
  ga__strbuf_addf(
      t,
      "#define RN_TYPE %s\n#define RN_WORK %s\n#define RN_PARAMETER %s\n"
      "#define RN_VECTOR %s\n#define RN_INT %s\n#define RN_COUNTER %s\n",
      ga__dtype_ctype(s->typecode), ga__dtype_work_ctype(s->typecode),
      has_float_parameters(s) ? ga__dtype_work_ctype(s->typecode) : "ga_ulong",
      vector_type(s), ga__text_position(s->wide), s->wide ? "ga_ulong" : "ga_uint");
}

static void add_words(ga_strbuf *t, const ga_random_spec *s) {
  ga__strbuf_add(t, "#define RN_STORE(v) ");
  ga__strbuf_fill(t, ga__dtype_store(s->typecode), "v");
  ga__strbuf_addf(t, "\n#define RN_OTHERS %s%s",
                  s->kind == GA_RANDOM_UNIFORM ? ", RN_PARAMETER p2" : "",
                  s->nd == 0 ? ", ga_uint aligned" : "");
  for (unsigned int axis = 1; axis < s->nd; axis++)
    ga__strbuf_addf(t, ", ga_uint d%u", axis);
  for (unsigned int axis = 0; axis < s->nd; axis++)
    ga__strbuf_addf(t, ", RN_INT s%u", axis);
  ga__strbuf_add(t, "\n#define RN_WALK");
  for (unsigned int axis = s->nd; axis-- > 1;)
    ga__strbuf_addf(t, " p += (RN_INT)(rest %% d%u) * s%u; rest /= d%u;", axis, axis,
                    axis);
  ga__strbuf_add(t, "\n");
}

static const char *functions(const ga_random_spec *s) {
  if (s->kind != GA_RANDOM_NORMAL && s->kind != GA_RANDOM_EXPONENTIAL)
    return NULL;
  return is_double(s) ? double_functions_text : float_functions_text;
}

int ga__random_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  const ga_random_spec *s = spec;
  ga_strbuf text = {0};
  (void)ctx;
  add_sizes(&text, s);
  add_words(&text, s);
  ga__strbuf_add(&text, random_text);
  ga__strbuf_add(&out->body, philox_text);
  out->is_closed = true;
  return ga__text_finish_named(out, "random", functions(s), "#define RN_NAME %\n",
                               &text);
}
