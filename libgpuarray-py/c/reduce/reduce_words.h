/* Text helpers shared by the generators of reduction kernels. */
#ifndef GA_C_REDUCE_WORDS_H
#define GA_C_REDUCE_WORDS_H

#include "c/elemwise/elemwise_text.h"
#include "c/reduce/reduce_kernel.h"

static inline bool ga__reduce_is_walked(const gpuelemwise_arg *arg) {
  return !(arg->flags & GE_SCALAR);
}

bool ga__reduce_has_numbers(const ga_reduce_spec *spec);

static inline bool ga__reduce_has_index(const ga_reduce_spec *spec) {
  return (spec->flags & GA_REDUCTION_INDEX) && !spec->is_parts;
}

static inline bool ga__reduce_is_pick(const ga_reduce_spec *spec) {
  return (spec->flags & GA_REDUCTION_FIRST) && !spec->is_parts;
}

/* Adds `form` with "@" for an input's number, "$" for its type, "#" for an axis. */
void ga__reduce_add_form(ga_strbuf *sb, const char *form, unsigned int i,
                         const char *type, unsigned int axis);

/* Type of component `k`; positions have their own width. */
const char *ga__reduce_component_type(const ga_reduce_spec *spec, unsigned int k);

/* Adds RD_ACC (accumulator type), RD_MAP, RD_COMBINE, RD_NOTHING (identity) and
 * RD_FINISH(m) (conversion to result m). For argmax and argmin also RD_KEY and
 * RD_ACC_KEY(acc), type and value of the first component, and RD_PASSES(a, b): a later
 * element's key b wins. RD_JOIN(a, b, fresh) combines with a later element; argmax
 * takes it unconditionally if `fresh`. */
void ga__reduce_add_functions(ga_strbuf *sb, const ga_reduce_spec *spec);

/* CPU: adds the SIMD type RD_MANY (16 accumulators), RD_MANY_AT(p) (maps of 16 elements
 * from p on) and RD_COMBINE; nothing if the expressions are not recognized. For argmax
 * and argmin vectors of keys, with RD_GREATER, and RD_ANY_PASSES and RD_ALL_PASS
 * (RD_PASSES for any, for all). */
void ga__reduce_add_vectors(ga_strbuf *sb, const ga_reduce_spec *spec);

/* Adds RD_RUN (accumulator type of a run), RD_RUN_NOTHING, RD_RUN_ADD(run, u, v, q,
 * fresh, ordinal) for element v of vector u, which is q of the reduced axis, and
 * RD_RUN_END(run), the accumulator. `ordinal` counts a column's vectors in the run. */
void ga__reduce_add_run(ga_strbuf *sb, const ga_reduce_spec *spec,
                        enum ga_reduce_kind kind, unsigned int nr);
/* True if runs read vectors as 32-bit words, p<i>[u].w. */
bool ga__reduce_has_words(const ga_reduce_spec *spec);

#endif
