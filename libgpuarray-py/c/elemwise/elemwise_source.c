/* The kernel texts of an elementwise expression: what the words (EL_...) of the files
 * in kernels/ stand for. */
#include "c/elemwise/elemwise_spec.h"

#include <string.h>

#include "c/elemwise/elemwise_text.h"
#include "c/elemwise/kernels/flat_cpu.inc"
#include "c/elemwise/kernels/flat_gpu.inc"
#include "c/elemwise/kernels/rows_gpu.inc"
#include "c/elemwise/kernels/strided_gpu.inc"

unsigned int ga__elem_vector(const ga_elem_spec *spec, uint64_t single) {
  return (unsigned int)(16 / ga__elem_largest(spec, single));
}

bool ga__elem_takes_gaps(const ga_elem_spec *spec) {
  unsigned int vector = ga__elem_vector(spec, 0);
  return vector > 1 && vector <= 8;
}

unsigned int ga__elem_leader(const ga_elem_spec *spec) {
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_written(&spec->args[i]))
      return i;
  return 0;
}

unsigned int ga__elem_apart(const ga_elem_spec *spec) {
  unsigned int reads = 0;
  for (unsigned int i = 0; i < spec->n; i++)
    reads += ga__elem_is_read(&spec->args[i]);
  return reads <= 4 ? 4 : reads <= 8 ? 2 : 1;
}

/* Longer texts of random numbers are not repeated: their draws have counts of their
 * own, and take long to compile. */
#define SHORT_TEXT 14000

/* Neighbours that an item of the flat kernel for CPUs takes: the words of a random
 * count, where the expression reads numbers of elements. */
static unsigned int neighbours(const ga_elem_spec *spec, uint64_t single) {
  const bool is_short = spec->preamble == NULL || strlen(spec->preamble) < SHORT_TEXT;
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_index(&spec->args[i]) && !(single >> i & 1))
      return is_short ? 4 : 1;
  return 1;
}

int ga__elem_flat_source(ga_source *out, const ga_elem_spec *spec, uint64_t single) {
  ga_strbuf text = {0};
  ga__elem_add_words(&text, spec, 0, "ga_size", single);
  const unsigned int round = neighbours(spec, single);
  if (!spec->is_cpu || round > 1)
    ga__elem_add_arrays(&text, spec, ga__elem_vector(spec, single), single);
  if (spec->is_cpu)
    ga__strbuf_addf(&text, "#define EL_ROUND %u\n", round);
  return ga__elem_finish(out, spec, &text,
                         spec->is_cpu ? flat_cpu_text : flat_gpu_text);
}

int ga__elem_rows_source(ga_source *out, const ga_elem_spec *spec, unsigned int nd,
                         bool wide, uint64_t single) {
  ga_strbuf text = {0};
  ga__elem_add_words(&text, spec, nd, wide ? "ga_ssize" : "ga_int", single);
  ga__elem_add_arrays(&text, spec, ga__elem_vector(spec, single), single);
  ga__elem_add_axes(&text, nd, nd);
  ga__elem_add_sum(&text, "EL_OUTER", nd - 1);
  return ga__elem_finish(out, spec, &text, rows_gpu_text);
}

static int strided_gpu(ga_source *out, const ga_elem_spec *spec, unsigned int nd,
                       bool wide) {
  const unsigned int leader = ga__elem_leader(spec);
  ga_strbuf text = {0};
  ga__elem_add_words(&text, spec, nd, wide ? "ga_ssize" : "ga_int", 0);
  ga__elem_add_arrays(&text, spec, ga__elem_vector(spec, 0), 0);
  ga__elem_add_axes(&text, nd, nd);
  ga__elem_add_sum(&text, "EL_OUTER", nd - 1);
  ga__strbuf_addf(&text,
                  "#define EL_LEADER(F) F(%u, %s)\n#define EL_GAP %s\n"
                  "#define EL_APART %u\n",
                  leader, ga__elem_stored(&spec->args[leader]),
                  ga__elem_takes_gaps(spec) ? "ga_i_apart" : "1", ga__elem_apart(spec));
  return ga__elem_finish(out, spec, &text, strided_gpu_text);
}

int ga__elem_strided_source(ga_source *out, const ga_elem_spec *spec, unsigned int nd,
                            bool wide) {
  return spec->is_cpu ? ga__elem_strided_cpu(out, spec, nd)
                      : strided_gpu(out, spec, nd, wide);
}
