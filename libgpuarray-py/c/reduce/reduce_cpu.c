/* The parts of reduction kernels that CPUs alone have: rows and tiles of columns. */
#include <stdio.h>
#include <string.h>

#include "c/reduce/reduce_elements.h"

/* RD_FOUR_ELEMENT(f, k): the map of element f + k, of which the compiler sees that the
 * four share a random count; RD_IN_FOURS: true if they do from element i on. */
static void add_fours(ga_strbuf *sb, const ga_reduce_spec *spec, unsigned int nr) {
  ga_reduce_spec known = *spec; /* the state of a stream has stride 0 */
  ga__strbuf_add(sb, "#define RD_IN_FOURS 1");
  for (unsigned int i = 0; i < spec->n && i < GA_REDUCE_PACKED_INPUTS; i++)
    if (ga__elem_is_array(&spec->inputs[i]) && spec->inputs[i].typecode == GA_ULONG) {
      known.repeated |= 1u << i;
      ga__reduce_add_form(sb, " && r@_# == 0", i, "", nr - 1);
    }
  ga__reduce_add_numbers(sb, spec, " && r@_# == 1 && ((y@ + (ga_ulong)i) & 3) == 0",
                         nr - 1);
  ga__strbuf_add(sb, "\n#define RD_FOUR_ELEMENT(f, k) ");
  ga__reduce_add_map(
      sb, &known,
      (ga_element_text){.array = "*(GLOBAL_MEM const $ *)((GLOBAL_MEM const char *)y@ "
                                 "+ ((f) + (k)) * r@_#)",
                        .number = "((y@ + (ga_ulong)(f)) | (ga_ulong)(k))",
                        .repeated = "*y@"},
      nr - 1, "(f) + (k)", nr - 1);
  ga__strbuf_add(sb, "\n");
}

/* Longer texts of random numbers are not repeated: their draws have counts of their
 * own, and take long to compile. */
#define SHORT_TEXT 14000

static bool takes_fours(const ga_reduce_spec *spec) {
  return ga__reduce_has_numbers(spec) && !ga__reduce_is_pick(spec) &&
         (spec->preamble == NULL || strlen(spec->preamble) < SHORT_TEXT);
}

/* RD_MIXED_ELEMENT, for arrays that are contiguous or have stride 0: RD_FIRSTS loads
 * those before a row. Only of several arrays some have stride 0. */
void ga__reduce_add_rows_cpu(ga_strbuf *sb, const ga_reduce_spec *spec,
                             unsigned int nr) {
  ga__reduce_add_row_element(
      sb, spec, "RD_UNIT_ELEMENT",
      (ga_element_text){.array = "y@[p]", .number = "(y@ + (ga_ulong)(p))"}, nr);
  ga__reduce_add_row_element(sb, spec, "RD_STRIDED_ELEMENT",
                             GA_REDUCE_STRIDED("y", "r"), nr);
  ga__strbuf_addf(sb, "#define RD_FOURS %d\n", takes_fours(spec));
  if (takes_fours(spec))
    add_fours(sb, spec, nr);
  if (ga__reduce_count_walked(spec) < 2 || ga__reduce_has_numbers(spec) ||
      spec->n > GA_REDUCE_PACKED_INPUTS)
    return;
  ga__strbuf_addf(sb, "#define RD_REPEATS(i) (mode & (%d << (i)))\n#define RD_FIRSTS ",
                  GA_REDUCE_REPEATED);
  ga__reduce_add_arrays(sb, spec, "const $ f@ = *y@; ", 0);
  ga__strbuf_add(sb, "\n");
  ga__reduce_add_row_element(sb, spec, "RD_MIXED_ELEMENT",
                             (ga_element_text){.array = "(RD_REPEATS(@) ? f@ : y@[p])",
                                               .number = "(y@ + (ga_ulong)(p))"},
                             nr);
}

/* Accumulators of a CPU tile as a struct of arrays, to be vectorized. RD_TOTALS
 * declares them, RD_LOAD_TOTAL(c) declares `total`, a copy of column c's,
 * RD_KEEP_TOTAL(c, a) sets it. */
static void add_totals(ga_strbuf *sb, const ga_reduce_spec *spec) {
  if (spec->n_components == 1) {
    ga__strbuf_add(sb, "#define RD_TOTALS RD_ACC totals[RD_WIDTH];\n"
                       "#define RD_LOAD_TOTAL(c) const RD_ACC total = totals[c];\n"
                       "#define RD_KEEP_TOTAL(c, a) totals[c] = a;\n");
    return;
  }
  ga__strbuf_add(sb, "#define RD_TOTALS");
  for (unsigned int k = 0; k < spec->n_components; k++)
    ga__reduce_add_form(sb, " $ totals#[RD_WIDTH];", 0,
                        ga__reduce_component_type(spec, k), k);
  ga__strbuf_add(sb, "\n#define RD_LOAD_TOTAL(c) RD_ACC total;");
  for (unsigned int k = 0; k < spec->n_components; k++)
    ga__reduce_add_form(sb, " total.v# = totals#[c];", 0, "", k);
  ga__strbuf_add(sb, "\n#define RD_KEEP_TOTAL(c, a) { const RD_ACC kept_ = a;");
  for (unsigned int k = 0; k < spec->n_components; k++)
    ga__reduce_add_form(sb, " totals#[c] = kept_.v#;", 0, "", k);
  ga__strbuf_add(sb, " }\n");
}

/* Defines `word`(q, p): the map of element p of row q of a CPU tile, at the offset
 * `place` in the row. */
static void add_tile_element(ga_strbuf *sb, const ga_reduce_spec *spec,
                             const char *word, ga_element_text place, unsigned int nk,
                             unsigned int nr) {
  char array[160], number[80];
  const ga_element_text form = {.array = array, .number = number};
  snprintf(array, sizeof array,
           "*(GLOBAL_MEM const $ *)((GLOBAL_MEM const char *)y@ + (q) * r@_%u + %s)",
           nr - 1, place.array);
  snprintf(number, sizeof number, "(y@ + (ga_ulong)((q) * r@_%u + %s))", nr - 1,
           place.number);
  ga__strbuf_addf(sb, "#define %s(q, p) ", word);
  ga__reduce_add_map(sb, spec, form, nk - 1, "q", nr - 1);
  ga__strbuf_add(sb, "\n");
}

void ga__reduce_add_columns_cpu(ga_strbuf *sb, const ga_reduce_spec *spec,
                                unsigned int nk, unsigned int nr) {
  add_totals(sb, spec);
  ga__strbuf_add(sb, "#define RD_UNIT_LINE(q) ");
  ga__reduce_add_arrays(
      sb, spec, "((GLOBAL_MEM const $ *)((GLOBAL_MEM const char *)y@ + (q) * r@_#))",
      nr - 1);
  ga__strbuf_add(sb, "\n");
  add_tile_element(sb, spec, "RD_UNIT_ELEMENT",
                   (ga_element_text){.array = "(ga_ssize)(p) * (ga_ssize)sizeof($)",
                                     .number = "(p)"},
                   nk, nr);
  add_tile_element(sb, spec, "RD_STRIDED_ELEMENT",
                   (ga_element_text){.array = "(p) * k@_#", .number = "(p) * k@_#"}, nk,
                   nr);
}
