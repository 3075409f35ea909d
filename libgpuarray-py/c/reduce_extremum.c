/* The reduction that finds the greatest or the least element and where it first is. */
#include <stdio.h>

#include "c/reduction.h"

/* Whether `a` goes before `b`, of one type, and whether they are level. */
typedef struct order {
  const char *before, *level;
} order;

#define IS_NAN(v) "(" v " != " v ")"
#define IS_CNAN(v) "((" v ".x != " v ".x) | (" v ".y != " v ".y))"

/* `@` stands for the comparison. No branches, so that compilers make vectors of it. */
static const order of_integers = {"a @ b", "a == b"};
static const order of_floats = {"(a @ b) | (" IS_NAN("a") " & (b == b))",
                                "(a == b) | (" IS_NAN("a") " & " IS_NAN("b") ")"};
static const order of_complex = {
    "!" IS_CNAN("b") " & (" IS_CNAN(
        "a") " | (a.x @ b.x) | ((a.x == b.x) & (a.y @ b.y)))",
    "((a.x == b.x) & (a.y == b.y)) | (" IS_CNAN("a") " & " IS_CNAN("b") ")"};

/* What goes before nothing: an expression, for the type that is computed in. */
static const char *loser(int typecode, bool smallest) {
  switch (typecode) {
  case GA_BOOL:
  case GA_UBYTE:
  case GA_USHORT:
  case GA_UINT:
  case GA_ULONG:
    return smallest ? "~(ga_ulong)0" : "0";
  case GA_BYTE:
    return smallest ? "127" : "-128";
  case GA_SHORT:
    return smallest ? "32767" : "-32768";
  case GA_INT:
    return smallest ? "2147483647" : "-2147483647 - 1";
  case GA_LONG:
    return smallest ? "9223372036854775807L" : "-9223372036854775807L - 1";
  case GA_CFLOAT:
    return smallest ? "ga_complex((ga_float)INFINITY, (ga_float)INFINITY)"
                    : "ga_complex(-(ga_float)INFINITY, -(ga_float)INFINITY)";
  case GA_CDOUBLE:
    return smallest ? "ga_complex((ga_double)INFINITY, (ga_double)INFINITY)"
                    : "ga_complex(-(ga_double)INFINITY, -(ga_double)INFINITY)";
  default:
    return smallest ? "INFINITY" : "-INFINITY";
  }
}

/* `text` with `sign` for "@". */
static void add_order(char *to, const char *text, char sign) {
  for (; *text != '\0'; text++)
    *to++ = *text == '@' ? sign : *text;
  *to = '\0';
}

/* ga_greatest_<type>(a, b) or ga_least_<type>: whether a goes before b;
 * ga_level_<type>: whether the two are level. */
static void write_preamble(char *to, size_t size, const char *name, int typecode,
                           bool smallest) {
  const char kind = ga__dtype_kind(typecode);
  const order *by = kind == 'c' ? &of_complex : kind == 'f' ? &of_floats : &of_integers;
  const char *type = gpuarray_get_type(typecode)->cluda_name;
  char before[160];
  add_order(before, by->before, smallest ? '<' : '>');
  snprintf(to, size,
           "#ifndef GA_ONCE_%s_%s\n#define GA_ONCE_%s_%s\n"
           "GA_INLINE int ga_%s_%s(%s a, %s b) {\n  return %s;\n}\n#endif\n"
           "#ifndef GA_ONCE_level_%s\n#define GA_ONCE_level_%s\n"
           "GA_INLINE int ga_level_%s(%s a, %s b) {\n  return %s;\n}\n#endif",
           name, type, name, type, name, type, type, type, before, type, type, type,
           type, type, by->level);
}

/* The earlier position stays where the values are level. */
static void write_combine(char *to, size_t size, const char *name, int typecode,
                          bool with_position) {
  const char *type = gpuarray_get_type(typecode)->cluda_name;
  if (with_position)
    snprintf(to, size,
             "(ga_%s_%s(a0, b0) | (ga_level_%s(a0, b0) & (a1 <= b1))) ? a : b", name,
             type, type);
  else
    snprintf(to, size, "ga_%s_%s(a, b) ? a : b", name, type);
}

int ga__extremum_spec(ga_extremum *out, int typecode, bool smallest, int results) {
  const int work = ga__dtype_work(typecode);
  const char *name = smallest ? "least" : "greatest";
  const bool value = results & GA_EXTREMUM_VALUE;
  const bool position = results & GA_EXTREMUM_POSITION;
  if (results < GA_EXTREMUM_VALUE || results > GA_EXTREMUM_BOTH)
    return GA_FAIL(
        GA_INVALID_ERROR,
        "extremum: results %d, expected GA_EXTREMUM_VALUE, _POSITION or _BOTH",
        results);
  GA_TRY(ga__dtype_check(typecode, "extremum"));
  write_preamble(out->preamble, sizeof out->preamble, name, work, smallest);
  write_combine(out->combine, sizeof out->combine, name, work, position);
  out->input = (gpuelemwise_arg){.name = "x", .typecode = typecode, .flags = GE_READ};
  out->components[0] =
      (gpureduction_component){"x", out->combine, loser(work, smallest), work};
  out->components[1] = (gpureduction_component){"i", out->combine, "-1", GA_SIZE};
  out->results[0] = (gpureduction_result){"v0", typecode};
  out->results[value] =
      position ? (gpureduction_result){"v1", GA_LONG} : out->results[value];
  out->spec = (gpureduction_spec){.size = sizeof out->spec,
                                  .preamble = out->preamble,
                                  .n = 1,
                                  .inputs = &out->input,
                                  .flags = GA_REDUCTION_NEEDS_ELEMENTS |
                                           (position ? GA_REDUCTION_INDEX : 0),
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

/* ---- those that a context keeps ---- */

/* One of one type; never removed while the context lives. */
struct ga_extrema {
  int typecode, results;
  bool smallest;
  GpuReduction *reduction;
  struct ga_extrema *next;
};

void ga__extrema_close(gpucontext *ctx) {
  ga_extrema *next;
  for (ga_extrema *e = atomic_exchange(&ctx->extrema, NULL); e != NULL; e = next) {
    next = e->next;
    GpuReduction_free(e->reduction);
    ga__free(e);
  }
}

int ga__extremum_get(GpuReduction **out, gpucontext *ctx, int typecode, bool smallest,
                     int results) {
  for (ga_extrema *e = atomic_load(&ctx->extrema); e != NULL; e = e->next)
    if (e->typecode == typecode && e->smallest == smallest && e->results == results) {
      *out = e->reduction;
      return GA_NO_ERROR;
    }
  ga_extremum extremum;
  GA_TRY(ga__extremum_spec(&extremum, typecode, smallest, results));
  ga_extrema *made = ga__alloc(1, sizeof *made);
  if (made == NULL)
    return GA_MEMORY_ERROR;
  *made = (ga_extrema){.typecode = typecode, .results = results, .smallest = smallest};
  int status = ga__reduction_new(&made->reduction, ctx, &extremum.spec, true);
  if (status != GA_NO_ERROR) {
    ga__free(made);
    return status;
  }
  made->next = atomic_load(&ctx->extrema);
  while (!atomic_compare_exchange_weak(&ctx->extrema, &made->next, made))
    ;
  *out = made->reduction;
  return GA_NO_ERROR;
}
