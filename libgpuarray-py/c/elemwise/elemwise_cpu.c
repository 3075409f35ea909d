/* The kernel text of an elementwise expression over arrays of any strides, for CPUs. */
#include <string.h>

#include "c/elemwise/elemwise_text.h"
#include "c/elemwise/kernels/strided_cpu.inc"

/* Characters of an expression from which on the work on an element outweighs the way it
 * is loaded: such an expression stands once in a kernel, since compilers take their
 * time for each copy. */
#define LONG_TEXT 2000

static bool is_long(const ga_elem_spec *spec) {
  return strlen(spec->expr) > LONG_TEXT;
}

#define PAIR_ITEM 4 /* bytes of an element at most, so that a pair is an integer */

/* The first of two neighbours is the lower half of both. */
#define IS_LITTLE_ENDIAN (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

bool ga__elem_takes_pairs(const ga_elem_spec *spec) {
  unsigned int inputs = 0;
  if (is_long(spec))
    return false;
  for (unsigned int i = 0; i < spec->n; i++) {
    if (ga__elem_is_index(&spec->args[i]))
      return false;
    if (!ga__elem_is_read(&spec->args[i]))
      continue;
    if (ga__elem_is_written(&spec->args[i]) ||
        gpuarray_get_elsize(spec->args[i].typecode) > PAIR_ITEM)
      return false;
    inputs++;
  }
  return IS_LITTLE_ENDIAN && inputs > 0;
}

int ga__elem_strided_cpu(ga_source *out, const ga_elem_spec *spec, unsigned int nd) {
  ga_strbuf text = {0};
  ga__elem_add_words(&text, spec, nd, "ga_ssize", 0);
  ga__elem_add_arrays(&text, spec, 1, 0);
  ga__elem_add_axes(&text, nd, nd - 1);
  ga__strbuf_addf(&text,
                  "#define EL_NDIM %u\n#define EL_IS_LONG %d\n"
                  "#define EL_TAKES_PAIRS %d\n#define EL_ROW ga_i_d%u\n",
                  nd, is_long(spec), ga__elem_takes_pairs(spec), nd - 1);
  return ga__elem_finish(out, spec, &text, strided_cpu_text);
}
