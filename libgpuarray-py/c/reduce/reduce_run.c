/* Accumulators of a run: the reduction's, or narrower integers where its expressions
 * are recognized (sum, max, min of small integers). */
#include <stdio.h>
#include <string.h>

#include "c/base/dtype.h"
#include "c/reduce/reduce_words.h"
#include "c/reduce/reduction.h"

/* Recognized meaning of a reduction of one array of small integers. */
typedef enum meaning { UNKNOWN, SUM, GREATEST, LEAST } meaning;

static bool is_empty(const char *text) {
  return text == NULL || text[0] == '\0';
}

/* True if `map` is only the input, possibly cast to a wider type. */
static bool is_plain(const char *map, const char *name) {
  static const char *const casts[] = {"(ga_int)",   "(ga_uint)",  "(ga_long)",
                                      "(ga_ulong)", "(ga_float)", "(ga_double)"};
  for (size_t i = 0; i < sizeof casts / sizeof *casts; i++)
    if (strncmp(map, casts[i], strlen(casts[i])) == 0) {
      map += strlen(casts[i]);
      break;
    }
  const size_t length = strlen(name);
  const bool wrapped = map[0] == '(' && strlen(map) == length + 2;
  return strcmp(map, name) == 0 ||
         (wrapped && map[length + 1] == ')' && strncmp(map + 1, name, length) == 0);
}

/* Recognizes GpuReduction_extremum's spec for the input. */
static meaning extremum_meaning(const ga_reduce_spec *spec) {
  const int results = ga__reduce_is_pick(spec) ? GA_EXTREMUM_BOTH : GA_EXTREMUM_VALUE;
  ga_extremum one;
  for (int smallest = 0; smallest < 2; smallest++)
    if (ga__extremum_spec(&one, spec->inputs[0].typecode, smallest, results) ==
            GA_NO_ERROR &&
        spec->preamble != NULL && strcmp(spec->preamble, one.preamble) == 0 &&
        strcmp(spec->components[0].combine, one.combine) == 0)
      return smallest ? LEAST : GREATEST;
  return UNKNOWN;
}

static meaning combine_meaning(const char *combine, int typecode) {
  if (strcmp(combine, "a > b ? a : b") == 0)
    return GREATEST;
  if (strcmp(combine, "a < b ? a : b") == 0)
    return LEAST;
  if (typecode == GA_BOOL && strcmp(combine, "a != 0 || b != 0") == 0)
    return GREATEST;
  if (typecode == GA_BOOL && strcmp(combine, "a != 0 && b != 0") == 0)
    return LEAST;
  return UNKNOWN;
}

/* Recognizes sums whose accumulator is wider than the run's 32 bits (or a float), and
 * extrema of bytes, four to a word. */
static meaning find_meaning(const ga_reduce_spec *spec) {
  if (spec->is_parts || spec->n != 1 || !ga__elem_is_array(&spec->inputs[0]) ||
      !is_empty(spec->prologue))
    return UNKNOWN;
  const int typecode = spec->inputs[0].typecode;
  const size_t size = gpuarray_get_elsize(typecode);
  const char kind = ga__dtype_kind(typecode);
  if (size > 2 || (kind != 'b' && kind != 'i' && kind != 'u') ||
      !is_plain(spec->components[0].map, spec->inputs[0].name))
    return UNKNOWN;
  const int own = spec->components[0].typecode;
  if (ga__reduce_is_pick(spec))
    return own == typecode ? extremum_meaning(spec) : UNKNOWN;
  if (spec->n_components > 1)
    return UNKNOWN;
  if (strcmp(spec->components[0].combine, "a + b") == 0)
    return own == GA_LONG || own == GA_ULONG || own == GA_FLOAT || own == GA_DOUBLE
               ? SUM
               : UNKNOWN;
  if (own != typecode || size > 1)
    return UNKNOWN;
  const meaning known = combine_meaning(spec->components[0].combine, typecode);
  return known != UNKNOWN ? known : extremum_meaning(spec);
}

bool ga__reduce_has_words(const ga_reduce_spec *spec) {
  const meaning known = find_meaning(spec);
  return known == GREATEST || known == LEAST;
}

/* Compares elements as 32-bit words: the element in the top bits decides; the bits
 * below, its neighbours or an argmax's ordinal in the run, only break ties. */
static void add_words(ga_strbuf *sb, const ga_reduce_spec *spec, bool smallest,
                      unsigned int axis) {
  const int typecode = spec->inputs[0].typecode;
  const unsigned int bits = 8 * (unsigned int)gpuarray_get_elsize(typecode);
  const unsigned int low = 32 - bits;
  const bool is_signed = ga__dtype_kind(typecode) == 'i';
  const char *type = is_signed ? "ga_int" : "ga_uint";
  ga__strbuf_addf(sb, "#define RD_RUN %s\n#define RD_RUN_NOTHING %s\n", type,
                  smallest ? (is_signed ? "2147483647" : "0xffffffffu")
                           : (is_signed ? "(-2147483647 - 1)" : "0u"));
  ga__strbuf_addf(sb,
                  "#define RD_WORD(u, v) "
                  "(p0[u].w[(v) / %u] << (%u - (v) %% %u * %u))\n",
                  32 / bits, low, 32 / bits, bits);
  if (ga__reduce_is_pick(spec)) {
    const unsigned int mask = (1u << low) - 1;
    const char *turned = smallest ? "" : "~";
    char from[16] = "";
    if (!smallest)
      snprintf(from, sizeof from, "0x%xu - ", mask);
    ga__strbuf_addf(sb,
                    "#define RD_RUN_ADD(run, u, v, q, fresh, ordinal) "
                    "RD_MORE(run, (%s)((RD_WORD(u, v) & 0x%xu) + "
                    "(%s(ga_uint)(ordinal))))\n",
                    type, ~mask, from);
    ga__strbuf_addf(sb,
                    "#define RD_RUN_END(run) RD_MAP((%s)((run) >> %u), "
                    "(RD_INDEX)(begun + (begin + (RD_INT)(%s(ga_uint)(run) & 0x%xu) * "
                    "step_inner) * rp%u))\n",
                    ga__dtype_ctype(typecode), low, turned, mask, axis);
  } else {
    ga__strbuf_addf(sb,
                    "#define RD_RUN_ADD(run, u, v, q, fresh, ordinal) "
                    "RD_MORE(run, (%s)RD_WORD(u, v))\n"
                    "#define RD_RUN_END(run) (RD_ACC)((run) >> %u)\n",
                    type, low);
  }
  ga__strbuf_addf(sb, "#define RD_MORE(a, b) ((a) %c (b) ? (a) : (b))\n",
                  smallest ? '<' : '>');
}

void ga__reduce_add_run(ga_strbuf *sb, const ga_reduce_spec *spec,
                        enum ga_reduce_kind kind, unsigned int nr) {
  meaning known = find_meaning(spec);
  if (kind == GA_REDUCE_ROWS && ga__reduce_is_pick(spec))
    known = UNKNOWN; /* rows compare whole vectors */
  if (known == UNKNOWN)
    ga__strbuf_add(sb, "#define RD_RUN RD_ACC\n#define RD_RUN_NOTHING RD_IDENTITY\n"
                       "#define RD_RUN_ADD(run, u, v, q, fresh, ordinal) "
                       "RD_JOIN(run, RD_PACKED(u, v, q), fresh)\n"
                       "#define RD_RUN_END(run) run\n");
  else if (known == SUM)
    ga__strbuf_add(sb, "#define RD_RUN ga_int\n#define RD_RUN_NOTHING 0\n"
                       "#define RD_RUN_ADD(run, u, v, q, fresh, ordinal) "
                       "((run) + (ga_int)p0[u].e[v])\n"
                       "#define RD_RUN_END(run) (RD_ACC)(run)\n");
  else
    add_words(sb, spec, known == LEAST, nr - 1);
}
