/* Functions of a reduction kernel: the user's expressions, and the accumulator. */
#include <string.h>

#include "c/base/dtype.h"
#include "c/reduce/kernels/pick.inc"
#include "c/reduce/reduce_words.h"

/* ---- accumulator layout ---- */

static size_t component_size(const ga_reduce_spec *spec, unsigned int k) {
  int typecode = spec->components[k].typecode;
  if (typecode == GA_SIZE)
    return spec->is_wide ? 8 : 4;
  return gpuarray_get_elsize(typecode);
}

/* Offset of component `k` in an accumulator; past the last one: its size. Each is
 * aligned to its size, so that no compiler adds padding. */
static size_t component_place(const ga_reduce_spec *spec, unsigned int k) {
  size_t place = 0, largest = 1;
  for (unsigned int i = 0;; i++) {
    size_t size = i < spec->n_components ? component_size(spec, i) : largest;
    place = (place + size - 1) / size * size;
    if (i == k)
      return place;
    place += size;
    largest = size > largest ? size : largest;
  }
}

size_t ga__reduce_size(const ga_reduce_spec *spec) {
  return component_place(spec, spec->n_components);
}

/* Largest power of 2 that is at most `n`, or 1. */
static unsigned int power_below(size_t n) {
  unsigned int power = 1;
  while (2 * power <= n)
    power *= 2;
  return power;
}

/* Bytes of accumulators of a CPU tile of columns. */
#define CPU_TILE 16384

bool ga__reduce_has_numbers(const ga_reduce_spec *spec) {
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_index(&spec->inputs[i]))
      return true;
  return false;
}

/* With numbers at least 4, for random words come in fours; the state of a stream,
 * uint64 of stride 0, does not count then. */
static size_t largest_item(const ga_reduce_spec *spec) {
  const bool has_numbers = ga__reduce_has_numbers(spec);
  size_t largest = has_numbers ? 4 : 1;
  for (unsigned int i = 0; i < spec->n; i++) {
    size_t size = gpuarray_get_elsize(spec->inputs[i].typecode);
    const bool is_state = has_numbers && spec->inputs[i].typecode == GA_ULONG;
    if (ga__elem_is_array(&spec->inputs[i]) && !is_state && size > largest)
      largest = size;
  }
  return largest;
}

/* CPU: accumulators fill vector registers, one per component. GPU: as many as fit
 * beside the vectors in flight; for columns one per vector element. */
ga_reduce_shape ga__reduce_shape(const ga_reduce_spec *spec, enum ga_reduce_kind kind) {
  const size_t acc = ga__reduce_size(spec);
  const unsigned int most = power_below(64 / acc);
  if (spec->is_cpu && kind == GA_REDUCE_ROWS && ga__reduce_is_pick(spec))
    return (ga_reduce_shape){1, 64, 1, true};
  if (spec->is_cpu && kind == GA_REDUCE_COLUMNS)
    return (ga_reduce_shape){power_below(CPU_TILE / acc), 0, 0, true};
  /* Texts of random numbers are long: few copies of them compile sooner, and leave
   * registers. */
  if (spec->is_cpu && ga__reduce_has_numbers(spec))
    return (ga_reduce_shape){spec->is_vector ? 1 : 4, 0, 0, false};
  if (spec->is_cpu)
    return (ga_reduce_shape){spec->n_components > 1 ? 4 : 16, 0, 0, false};
  const bool is_plain_row = kind == GA_REDUCE_ROWS && !ga__reduce_is_pick(spec);
  if (spec->is_parts || spec->n > GA_REDUCE_PACKED_INPUTS ||
      (ga__reduce_has_numbers(spec) && !is_plain_row))
    return (ga_reduce_shape){most < 4 ? most : 4, 0, 0, false};
  const size_t largest = largest_item(spec);
  unsigned int vector = (unsigned int)(16 / largest);
  if (kind == GA_REDUCE_ROWS && ga__reduce_is_pick(spec))
    return (ga_reduce_shape){most < 4 ? most : 4, vector, 4, false};
  if (ga__reduce_has_numbers(spec))
    return (ga_reduce_shape){most < 4 ? most : 4, vector, 1, false};
  /* Few registers, for two blocks a multiprocessor or more. */
  if (spec->repeated != 0)
    return (ga_reduce_shape){most < 4 ? most : 4, vector, 2, false};
  if (kind == GA_REDUCE_ROWS)
    return (ga_reduce_shape){most < 8 ? most : 8, vector, spec->n > 2 ? 2 : 4, false};
  vector = vector > most ? most : vector > 8 ? 8 : vector;
  unsigned int unroll = vector * largest < 16 ? 8 : 4;
  return (ga_reduce_shape){vector, vector, spec->n > 2 ? 2 : unroll, false};
}

/* ---- text helpers ---- */

/* Type of component `k`; positions have their own width. */
const char *ga__reduce_component_type(const ga_reduce_spec *spec, unsigned int k) {
  int typecode = spec->components[k].typecode;
  return typecode == GA_SIZE ? "RD_INDEX" : ga__dtype_ctype(typecode);
}

void ga__reduce_add_form(ga_strbuf *sb, const char *form, unsigned int i,
                         const char *type, unsigned int axis) {
  for (;; form++) {
    size_t plain = strcspn(form, "@$#");
    ga__strbuf_addn(sb, form, plain);
    form += plain;
    if (*form == '\0')
      return;
    if (*form == '$')
      ga__strbuf_add(sb, type);
    else
      ga__strbuf_addf(sb, "%u", *form == '@' ? i : axis);
  }
}

/* A user's expression, cast to the work type of `typecode`. */
static void add_conversion(ga_strbuf *sb, int typecode, const char *expression) {
  typecode = ga__dtype_work(typecode);
  if (typecode == GA_BOOL)
    ga__strbuf_addf(sb, "((%s) != 0)", expression);
  else if (ga__dtype_kind(typecode) == 'c')
    ga__strbuf_addf(sb, "(%s)", expression);
  else
    ga__strbuf_addf(sb, "((%s)(%s))",
                    typecode == GA_SIZE ? "RD_INDEX" : ga__dtype_ctype(typecode),
                    expression);
}

/* ---- the functions ---- */

/* RD_ACC: the component's type, or a struct with explicit padding. */
static void add_accumulator(ga_strbuf *sb, const ga_reduce_spec *spec) {
  if (spec->n_components == 1) {
    ga__strbuf_addf(sb, "#define RD_ACC %s\n", ga__reduce_component_type(spec, 0));
    return;
  }
  ga__strbuf_add(sb, "typedef struct RD_ACC {");
  size_t end = 0;
  for (unsigned int k = 0; k <= spec->n_components; k++) {
    size_t place = component_place(spec, k);
    if (place > end)
      ga__strbuf_addf(sb, " ga_ubyte gap%u[%zu];", k, place - end);
    if (k < spec->n_components) {
      ga__strbuf_addf(sb, " %s v%u;", ga__reduce_component_type(spec, k), k);
      end = place + component_size(spec, k);
    }
  }
  ga__strbuf_add(sb, " } RD_ACC;\n");
}

/* Evaluates one expression per component into `r_`, or returns the only component's.
 * `text` selects map, combine or identity. */
static void add_components(ga_strbuf *sb, const ga_reduce_spec *spec,
                           const char *(*text)(const gpureduction_component *),
                           const char *before) {
  if (spec->n_components == 1) {
    ga__strbuf_add(sb, "  return ");
    add_conversion(sb, spec->components[0].typecode, text(&spec->components[0]));
    ga__strbuf_add(sb, ";\n");
    return;
  }
  ga__strbuf_add(sb, "  RD_ACC r_;\n");
  for (unsigned int k = 0; k < spec->n_components; k++) {
    ga__strbuf_add(sb, "  { ");
    ga__reduce_add_form(sb, before, 0, ga__reduce_component_type(spec, k), k);
    ga__strbuf_addf(sb, "r_.v%u = ", k);
    add_conversion(sb, spec->components[k].typecode, text(&spec->components[k]));
    ga__strbuf_add(sb, "; }\n");
  }
  ga__strbuf_add(sb, "  return r_;\n");
}

static const char *map_text(const gpureduction_component *c) {
  return c->map;
}

static const char *combine_text(const gpureduction_component *c) {
  return c->combine;
}

static const char *identity_text(const gpureduction_component *c) {
  return c->identity;
}

/* RD_MAP, RD_COMBINE and RD_NOTHING: map of an element, combination, identity. */
static void add_functions(ga_strbuf *sb, const ga_reduce_spec *spec) {
  ga__strbuf_add(sb, "GA_INLINE RD_ACC RD_MAP(");
  if (spec->is_parts) {
    ga__strbuf_add(sb, "RD_ACC part) {\n  return part;\n");
  } else {
    for (unsigned int i = 0; i < spec->n; i++)
      ga__strbuf_addf(sb, "%s%s %s", i ? ", " : "",
                      ga__dtype_ctype(ga__dtype_work(spec->inputs[i].typecode)),
                      spec->inputs[i].name);
    ga__strbuf_addf(sb, "%s) {\n%s\n", ga__reduce_has_index(spec) ? ", RD_INDEX i" : "",
                    spec->prologue ? spec->prologue : "");
    add_components(sb, spec, map_text, "");
  }
  bool single = spec->n_components == 1;
  ga__strbuf_addf(sb, "}\nGA_INLINE RD_ACC RD_COMBINE(RD_ACC %s, RD_ACC %s) {\n",
                  single ? "a" : "a_", single ? "b" : "b_");
  for (unsigned int k = 0; k < spec->n_components && !single; k++)
    ga__reduce_add_form(sb, "  const $ a# = a_.v#, b# = b_.v#; (void)a#; (void)b#;\n",
                        0, ga__reduce_component_type(spec, k), k);
  add_components(sb, spec, combine_text, "const $ a = a#, b = b#; (void)a; (void)b; ");
  ga__strbuf_add(sb, "}\nGA_INLINE RD_ACC RD_NOTHING(void) {\n");
  add_components(sb, spec, identity_text, "");
  ga__strbuf_add(sb, "}\n");
}

/* Adds the value of result `m`: its epilogue in v, v0, v1, ... and n, or the
 * component. */
static void add_epilogue(ga_strbuf *sb, const ga_reduce_spec *spec, unsigned int m,
                         unsigned int own) {
  const gpureduction_result *result = &spec->results[m];
  ga_strbuf value = {0};
  if (result->epilogue != NULL)
    add_conversion(&value, result->typecode, result->epilogue);
  else
    ga__dtype_convert(&value, "v", spec->components[own].typecode, result->typecode);
  if (ga__strbuf_status(&value) == GA_NO_ERROR)
    ga__strbuf_fill(sb, ga__dtype_store(result->typecode), value.text);
  else
    sb->failed = true;
  ga__strbuf_clear(&value);
}

/* RD_FINISH(m): converts an accumulator to result m. */
static void add_results(ga_strbuf *sb, const ga_reduce_spec *spec) {
  bool single = spec->n_components == 1;
  for (unsigned int m = 0; m < spec->n_results; m++) {
    unsigned int own = m < spec->n_components ? m : spec->n_components - 1;
    ga__strbuf_addf(sb, "GA_INLINE %s RD_FINISH(%u)(RD_ACC v_, ga_long n) {\n",
                    ga__dtype_ctype(spec->results[m].typecode), m);
    for (unsigned int k = 0; k < spec->n_components; k++)
      ga__reduce_add_form(sb,
                          single ? "  const $ v# = v_; (void)v#;\n"
                                 : "  const $ v# = v_.v#; (void)v#;\n",
                          0, ga__reduce_component_type(spec, k), k);
    ga__strbuf_addf(sb, "  const %s v = v%u;\n  (void)v; (void)n;\n  return ",
                    ga__reduce_component_type(spec, own), own);
    add_epilogue(sb, spec, m, own);
    ga__strbuf_add(sb, ";\n}\n");
  }
}

void ga__reduce_add_functions(ga_strbuf *sb, const ga_reduce_spec *spec) {
  add_accumulator(sb, spec);
  add_functions(sb, spec);
  if (ga__reduce_is_pick(spec)) {
    ga__strbuf_addf(sb, "#define RD_KEY %s\n", ga__reduce_component_type(spec, 0));
    ga__strbuf_add(sb, pick_text);
  } else
    ga__strbuf_add(sb, "#define RD_JOIN(a, b, fresh) RD_COMBINE(a, b)\n");
  add_results(sb, spec);
}
