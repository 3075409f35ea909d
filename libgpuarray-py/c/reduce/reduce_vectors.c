/* Explicit SIMD for CPUs: 16 elements at a time, for reductions whose expressions also
 * hold for OpenCL vectors and which compilers do not vectorize. */
#include <stdio.h>
#include <string.h>

#include "c/base/dtype.h"
#include "c/reduce/kernels/many.inc"
#include "c/reduce/reduce_words.h"
#include "c/reduce/reduction.h"

/* OpenCL's scalar type with vector forms; NULL if there is none. */
static const char *vector_name(int typecode) {
  const char kind = ga__dtype_kind(typecode);
  if (ga__dtype_work(typecode) != typecode || kind == 'c' || kind == 0)
    return NULL;
  return typecode == GA_BYTE                           ? "char"
         : typecode == GA_UBYTE || typecode == GA_BOOL ? "uchar"
                                                       : ga__dtype_ctype(typecode) + 3;
}

/* True if `map` is only the input, possibly cast to the accumulator's type. */
static bool is_input(const char *map, const char *name, const char *type) {
  const size_t cast = strlen(type), length = strlen(name);
  if (map[0] == '(' && strncmp(map + 1, type, cast) == 0 && map[cast + 1] == ')')
    map += cast + 2;
  return strcmp(map, name) == 0 ||
         (map[0] == '(' && strncmp(map + 1, name, length) == 0 &&
          strcmp(map + 1 + length, ")") == 0);
}

/* Comparison "a precedes b" if the spec is an extremum (argmax, argmin included); else
 * false. */
static bool find_order(char *to, size_t size, const ga_reduce_spec *spec) {
  const gpureduction_component *own = &spec->components[0];
  const int results = ga__reduce_is_pick(spec) ? GA_EXTREMUM_BOTH : GA_EXTREMUM_VALUE;
  for (int smallest = 0; smallest < 2 && spec->preamble != NULL; smallest++) {
    ga_extremum one;
    if (ga__extremum_spec(&one, own->typecode, smallest, results) != GA_NO_ERROR ||
        strcmp(spec->preamble, one.preamble) != 0 ||
        strcmp(own->combine, one.combine) != 0 ||
        strcmp(spec->components[spec->n_components - 1].combine, one.combine) != 0)
      continue;
    const char *order = strstr(one.preamble, "return ") + strlen("return ");
    snprintf(to, size, "%.*s", (int)strcspn(order, ";"), order);
    return true;
  }
  return false;
}

/* Combination of vectors a and b; false if it is not recognized. */
static bool find_combination(char *to, size_t size, const ga_reduce_spec *spec) {
  static const char *const known[] = {"a + b",
                                      "a * b",
                                      "a > b ? a : b",
                                      "a < b ? a : b",
                                      "(a >= b || a != a) ? a : b",
                                      "(a <= b || a != a) ? a : b"};
  const gpureduction_component *own = &spec->components[0];
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(own->combine, known[i]) == 0) {
      snprintf(to, size, "%s", known[i]);
      return true;
    }
  char order[160];
  if (!find_order(order, sizeof order, spec))
    return false;
  snprintf(to, size, "(%s) ? a : b", order);
  return true;
}

/* Dtype of the elements if the map is only a cast of a single array; else -1. */
static int plain_input(const ga_reduce_spec *spec) {
  const gpureduction_component *own = &spec->components[0];
  if (spec->n_components != 1 + (unsigned int)ga__reduce_is_pick(spec) || spec->n != 1)
    return -1;
  if (spec->is_parts)
    return own->typecode;
  const bool prologue = spec->prologue != NULL && spec->prologue[0] != '\0';
  return ga__elem_is_array(&spec->inputs[0]) && !prologue &&
                 is_input(own->map, spec->inputs[0].name,
                          ga__dtype_ctype(own->typecode))
             ? spec->inputs[0].typecode
             : -1;
}

void ga__reduce_add_vectors(ga_strbuf *sb, const ga_reduce_spec *spec) {
  char text[200];
  const int own = spec->components[0].typecode, input = plain_input(spec);
  const bool is_small = input == GA_HALF || input == GA_BFLOAT16;
  const char *type = vector_name(own);
  if (own == GA_BOOL || type == NULL || (vector_name(input) == NULL && !is_small) ||
      !(ga__reduce_is_pick(spec) ? find_order : find_combination)(text, sizeof text,
                                                                  spec))
    return;
  ga__strbuf_addf(sb,
                  "#define RD_MANY %s16\n#define RD_CONVERT_MANY convert_%s16\n"
                  "#define RD_MANY_HALVES %d\n#define RD_MANY_BFLOATS %d\n"
                  "#define RD_OF_MANY %s\n",
                  type, type, input == GA_HALF, input == GA_BFLOAT16, text);
  ga__strbuf_add(sb, many_text);
}
