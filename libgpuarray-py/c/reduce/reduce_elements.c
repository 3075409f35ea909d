/* Texts of the elements of a reduction's inputs, for the generators of its kernels. */
#include "c/reduce/reduce_elements.h"

#include <string.h>

#include "c/base/dtype.h"

const char *ga__reduce_input_type(const ga_reduce_spec *spec, unsigned int i) {
  return spec->is_parts ? "RD_ACC" : ga__dtype_ctype(spec->inputs[i].typecode);
}

/* Adds `form` once per array. */
void ga__reduce_add_arrays(ga_strbuf *sb, const ga_reduce_spec *spec, const char *form,
                           unsigned int axis) {
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_array(&spec->inputs[i]))
      ga__reduce_add_form(sb, form, i, ga__reduce_input_type(spec, i), axis);
}

/* Adds `form` once per number of an element. */
void ga__reduce_add_numbers(ga_strbuf *sb, const ga_reduce_spec *spec, const char *form,
                            unsigned int axis) {
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_index(&spec->inputs[i]))
      ga__reduce_add_form(sb, form, i, "", axis);
}

/* Adds `form` once per array or number. */
void ga__reduce_add_walked(ga_strbuf *sb, const ga_reduce_spec *spec, const char *form,
                           unsigned int axis) {
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__reduce_is_walked(&spec->inputs[i]))
      ga__reduce_add_form(sb, form, i, ga__reduce_input_type(spec, i), axis);
}

unsigned int ga__reduce_count_walked(const ga_reduce_spec *spec) {
  unsigned int n = 0;
  for (unsigned int i = 0; i < spec->n; i++)
    n += ga__reduce_is_walked(&spec->inputs[i]);
  return n;
}

bool ga__reduce_is_repeated(const ga_reduce_spec *spec, unsigned int i) {
  return i < GA_REDUCE_PACKED_INPUTS && spec->repeated >> i & 1;
}

/* Map of an element; `at` is its index along the innermost reduced axis. */
void ga__reduce_add_map(ga_strbuf *sb, const ga_reduce_spec *spec, ga_element_text form,
                        unsigned int axis, const char *at, unsigned int last) {
  ga__strbuf_add(sb, "RD_MAP(");
  for (unsigned int i = 0; i < spec->n; i++) {
    const gpuelemwise_arg *arg = &spec->inputs[i];
    ga__strbuf_add(sb, i ? ", " : "");
    if (!ga__elem_is_array(arg)) {
      ga__reduce_add_form(sb, ga__elem_is_index(arg) ? form.number : "s@", i, "", axis);
      continue;
    }
    const char *load = spec->is_parts ? "%" : ga__dtype_load(arg->typecode);
    const char *place = strchr(load, '%');
    ga__strbuf_addn(sb, load, (size_t)(place - load));
    const bool is_one = form.repeated != NULL && ga__reduce_is_repeated(spec, i);
    ga__reduce_add_form(sb, is_one ? form.repeated : form.array, i,
                        ga__reduce_input_type(spec, i), axis);
    ga__strbuf_add(sb, place + 1);
  }
  if (ga__reduce_has_index(spec))
    ga__strbuf_addf(sb, ", (RD_INDEX)(begun + (%s) * rp%u)", at, last);
  ga__strbuf_add(sb, ")");
}

/* Row kernels: defines `word`(p), the map of element p of the inner axis. */
void ga__reduce_add_row_element(ga_strbuf *sb, const ga_reduce_spec *spec,
                                const char *word, ga_element_text form,
                                unsigned int nr) {
  ga__strbuf_addf(sb, "#define %s(p) ", word);
  ga__reduce_add_map(sb, spec, form, nr - 1, "p", nr - 1);
  ga__strbuf_add(sb, "\n");
}
