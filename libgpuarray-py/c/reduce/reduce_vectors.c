/* Reductions whose texts hold for vectors too: what a CPU's kernel combines 16 elements
 * at once with, where a compiler would not make vectors of a loop by itself. */
#include <stdio.h>
#include <string.h>

#include "c/base/dtype.h"
#include "c/reduce/reduce_words.h"
#include "c/reduce/reduction.h"

/* The language's own name of a type of numbers, of which it has vectors; NULL for what
 * is none there. */
static const char *vector_name(int typecode) {
  const char kind = ga__dtype_kind(typecode);
  if (ga__dtype_work(typecode) != typecode || kind == 'c' || kind == 0)
    return NULL;
  return typecode == GA_BYTE                           ? "char"
         : typecode == GA_UBYTE || typecode == GA_BOOL ? "uchar"
                                                       : ga__reduce_type(typecode) + 3;
}

/* The function ga_many2float, of 16 elements that are for storage only, as its text;
 * NULL for other types. Several reductions may stand in one program. */
static const char *many_to_float(int typecode) {
  if (typecode == GA_BFLOAT16)
    return "#ifndef GA_ONCE_MANY_BFLOAT16\n#define GA_ONCE_MANY_BFLOAT16\n"
           "GA_INLINE float16 ga_many2float(const GLOBAL_MEM ga_bfloat16 *p) {\n"
           "  uint16 data = convert_uint16(vload16(0, (const GLOBAL_MEM ushort *)p));\n"
           "  return as_float16(data << 16);\n}\n#endif\n";
  if (typecode == GA_HALF)
    return "#ifndef GA_ONCE_MANY_HALF\n#define GA_ONCE_MANY_HALF\n"
           "GA_INLINE float16 ga_many2float(const GLOBAL_MEM ga_half *p) {\n"
           "  uint16 data = convert_uint16(vload16(0, (const GLOBAL_MEM ushort *)p));\n"
           "  uint16 magnitude = (data & 0x7fff) << 13, sign = (data & 0x8000) << 16;\n"
           "  uint16 small = as_uint16(as_float16(magnitude + (113u << 23)) -\n"
           "                           as_float(113u << 23));\n"
           "  uint16 bits = magnitude >= 0x0f800000u   ? magnitude | 0x7f800000u\n"
           "                : magnitude < 0x00800000u ? small\n"
           "                                          : magnitude + (112u << 23);\n"
           "  return as_float16(bits | sign);\n}\n#endif\n";
  return NULL;
}

/* Whether `map` is the input as it is, or converted to the accumulator's type. */
static bool is_input(const char *map, const char *name, const char *type) {
  const size_t cast = strlen(type), length = strlen(name);
  if (map[0] == '(' && strncmp(map + 1, type, cast) == 0 && map[cast + 1] == ')')
    map += cast + 2;
  return strcmp(map, name) == 0 ||
         (map[0] == '(' && strncmp(map + 1, name, length) == 0 &&
          strcmp(map + 1 + length, ")") == 0);
}

/* Writes whether a goes before b, if the spec is of the greatest or the least element
 * (and of its position, for a pick); else false. */
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

/* Writes the combination of vectors a and b; false where it is not known to hold. */
static bool find_combination(char *to, size_t size, const ga_reduce_spec *spec) {
  static const char *const known[] = {"a + b", "a * b", "a > b ? a : b",
                                      "a < b ? a : b"};
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

/* The dtype of the elements, if there is one array of them and no more to be done than
 * to convert them; or -1. */
static int plain_input(const ga_reduce_spec *spec) {
  const gpureduction_component *own = &spec->components[0];
  if (spec->n_components != 1 + (unsigned int)ga__reduce_is_pick(spec) || spec->n != 1)
    return -1;
  if (spec->is_parts)
    return own->typecode;
  const bool prologue = spec->prologue != NULL && spec->prologue[0] != '\0';
  return ga__reduce_is_array(&spec->inputs[0]) && !prologue &&
                 is_input(own->map, spec->inputs[0].name,
                          ga__reduce_type(own->typecode))
             ? spec->inputs[0].typecode
             : -1;
}

void ga__reduce_add_vectors(ga_strbuf *sb, const ga_reduce_spec *spec) {
  char text[200];
  const bool pick = ga__reduce_is_pick(spec);
  const int own = spec->components[0].typecode, input = plain_input(spec);
  const char *type = vector_name(own), *stored = many_to_float(input);
  if (own == GA_BOOL || type == NULL ||
      (vector_name(input) == NULL && stored == NULL) ||
      !(pick ? find_order : find_combination)(text, sizeof text, spec))
    return;
  ga__strbuf_addf(sb,
                  "%s#define RD_MANY %s16\n#define RD_MANY_AT(p) convert_%s16(%s)\n",
                  stored == NULL ? "" : stored, type, type,
                  stored == NULL ? "vload16(0, p)" : "ga_many2float(p)");
  if (pick)
    ga__strbuf_addf(sb,
                    "GA_INLINE RD_MANY RD_GREATER(RD_MANY a, RD_MANY b) {\n"
                    "  return (%s) ? a : b;\n}\n"
                    "GA_INLINE int RD_ANY_PASSES(RD_MANY b, RD_MANY a) {\n"
                    "  return any(%s);\n}\n"
                    "GA_INLINE int RD_ALL_PASS(RD_MANY b, RD_MANY a) {\n"
                    "  return all(%s);\n}\n",
                    text, text, text);
  else
    ga__strbuf_addf(sb,
                    "GA_INLINE RD_MANY RD_COMBINE(RD_MANY a, RD_MANY b) {\n"
                    "  return %s;\n}\n",
                    text);
}
