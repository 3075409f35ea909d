/* Extremum reductions: max, min, argmax, argmin. */
#include <stdio.h>

#include "c/program/kept_objects.h"
#include "c/reduce/reduction.h"

/* Comparison "a precedes b"; `@` stands for < or >, `#` for <= or >=. Branch-free, to
 * be vectorized. */
static const char order_of_integers[] = "a @ b";
static const char order_of_floats[] = "!(a # b) & (b == b)"; /* NaN compares false */
#define IS_NAN(v) "((" v ".x != " v ".x) | (" v ".y != " v ".y))"
static const char order_of_complex[] =
    "!" IS_NAN("b") " & (" IS_NAN("a") " | (a.x @ b.x) | ((a.x == b.x) & (a.y @ b.y)))";

/* Substitutes the comparison operators. */
static void add_order(char *to, const char *text, bool smallest) {
  for (; *text != '\0'; text++)
    if (*text == '#') {
      *to++ = smallest ? '>' : '<';
      *to++ = '=';
    } else {
      *to++ = *text != '@' ? *text : smallest ? '<' : '>';
    }
  *to = '\0';
}

/* Defines ga_greatest_<type>(a, b) or ga_least_<type>: true if a precedes b. */
static void write_preamble(char *to, size_t size, const char *name, int typecode,
                           bool smallest) {
  const char kind = ga__dtype_kind(typecode);
  const char *type = ga__dtype_ctype(typecode);
  char before[160];
  add_order(before,
            kind == 'c'   ? order_of_complex
            : kind == 'f' ? order_of_floats
                          : order_of_integers,
            smallest);
  snprintf(to, size,
           "GA_SELF_CONTAINED\n#ifndef GA_ONCE_%s_%s\n#define GA_ONCE_%s_%s\n"
           "GA_INLINE int ga_%s_%s(%s a, %s b) {\n  return %s;\n}\n#endif",
           name, type, name, type, name, type, type, type, before);
}

/* Ties keep the lower position. */
static void write_combine(char *to, size_t size, const char *name, int typecode,
                          bool with_position) {
  const char *type = ga__dtype_ctype(typecode);
  if (with_position)
    snprintf(to, size, "(a1 <= b1 ? !ga_%s_%s(b0, a0) : ga_%s_%s(a0, b0)) ? a : b",
             name, type, name, type);
  else
    snprintf(to, size, "ga_%s_%s(a, b) ? a : b", name, type);
}

int ga__extremum_spec(ga_extremum *out, int typecode, bool smallest, int results) {
  const int work = ga__dtype_work(typecode);
  const char *name = smallest ? "least" : "greatest";
  const bool value = results & GA_EXTREMUM_VALUE;
  const bool position = results & GA_EXTREMUM_POSITION;
  if (results < GA_EXTREMUM_VALUE || results > GA_EXTREMUM_BOTH)
    return GA_FAIL(GA_INVALID_ERROR,
                   "extremum: results is %d, expected GA_EXTREMUM_VALUE, "
                   "GA_EXTREMUM_POSITION or GA_EXTREMUM_BOTH",
                   results);
  GA_TRY(ga__dtype_check(typecode, "extremum"));
  write_preamble(out->preamble, sizeof out->preamble, name, work, smallest);
  write_combine(out->combine, sizeof out->combine, name, work, position);
  out->input = (gpuelemwise_arg){.name = "x", .typecode = typecode, .flags = GE_READ};
  out->components[0] = (gpureduction_component){
      "x", out->combine, ga__dtype_extreme(work, smallest), work};
  out->components[1] = (gpureduction_component){"i", out->combine, "-1", GA_SIZE};
  out->results[0] = (gpureduction_result){"v0", typecode};
  out->results[value] =
      position ? (gpureduction_result){"v1", GA_LONG} : out->results[value];
  out->spec = (gpureduction_spec){
      .size = sizeof out->spec,
      .preamble = out->preamble,
      .n = 1,
      .inputs = &out->input,
      .flags = GA_REDUCTION_NEEDS_ELEMENTS |
               (position ? GA_REDUCTION_INDEX | GA_REDUCTION_FIRST : 0),
      .n_components = position ? 2 : 1,
      .components = out->components,
      .n_results = value && position ? 2 : 1,
      .results = out->results};
  return GA_NO_ERROR;
}

GpuReduction *GpuReduction_extremum(gpucontext *ctx, int typecode, int smallest,
                                    int results, int *ret) {
  ga_extremum extremum;
  int status = ga__extremum_spec(&extremum, typecode, smallest != 0, results);
  if (status == GA_NO_ERROR)
    return GpuReduction_new(ctx, &extremum.spec, ret);
  if (ret != NULL)
    *ret = status;
  return NULL;
}

/* ---- cached per context ---- */

static void free_extremum(void *reduction) {
  GpuReduction_free(reduction);
}

static void free_extrema(gpucontext *ctx, void *extrema) {
  (void)ctx;
  ga__objects_free(extrema, free_extremum);
}

int ga__extremum_get(GpuReduction **out, gpucontext *ctx, int typecode, bool smallest,
                     int results) {
  const int key[GA_OBJECT_KEY] = {typecode, smallest, results};
  ga_extremum extremum;
  void *extrema;
  GA_TRY(ga__context_attach(&extrema, ctx, GA_ATTACHED_USERS, sizeof(ga_kept_objects),
                            free_extrema));
  *out = ga__object_find(extrema, key);
  if (*out != NULL)
    return GA_NO_ERROR;
  GA_TRY(ga__extremum_spec(&extremum, typecode, smallest, results));
  GA_TRY(ga__reduction_new(out, ctx, &extremum.spec, true));
  return ga__object_add(extrema, key, *out, free_extremum);
}
