/* Pieces of text that the generators of reduction kernels share. */
#ifndef GA_C_REDUCE_WORDS_H
#define GA_C_REDUCE_WORDS_H

#include "c/reduce/reduce_source.h"

static inline bool ga__reduce_is_array(const gpuelemwise_arg *arg) {
  return !(arg->flags & GE_SCALAR);
}

static inline bool ga__reduce_has_index(const ga_reduce_spec *spec) {
  return (spec->flags & GA_REDUCTION_INDEX) && !spec->is_parts;
}

static inline bool ga__reduce_is_pick(const ga_reduce_spec *spec) {
  return (spec->flags & GA_REDUCTION_FIRST) && !spec->is_parts;
}

static inline const char *ga__reduce_type(int typecode) {
  return gpuarray_get_type(typecode)->cluda_name;
}

/* Adds `form` with "@" for the number of an input, "$" for its type, "#" for an axis.
 */
void ga__reduce_add_form(ga_strbuf *sb, const char *form, unsigned int i,
                         const char *type, unsigned int axis);

/* Of component `k`, whose positions have a width of their own. */
const char *ga__reduce_component_type(const ga_reduce_spec *spec, unsigned int k);

/* Adds RD_ACC, RD_MAP, RD_COMBINE, RD_NOTHING and, for each result m, RD_FINISH(m): the
 * accumulator's type, the map of one element of each input, the combination of two
 * accumulators, that of no elements, and what is stored of one. Of a pick also RD_KEY,
 * RD_ACC_KEY(acc), the first component's type and value, and RD_PASSES(a, b), whether
 * the value b of a later element is picked. RD_JOIN(a, b, fresh) combines with a later
 * element; a pick's takes it if it is `fresh`. */
void ga__reduce_add_functions(ga_strbuf *sb, const ga_reduce_spec *spec);

/* Of a CPU: adds RD_MANY, 16 accumulators, RD_MANY_AT(p), the maps of as many elements
 * from p on, and RD_COMBINE of both; nothing where the texts are not known to hold for
 * vectors. Of a pick they are keys, with RD_GREATER for RD_COMBINE, and with
 * RD_ANY_PASSES and RD_ALL_PASS, of which RD_PASSES holds for any or for all. */
void ga__reduce_add_vectors(ga_strbuf *sb, const ga_reduce_spec *spec);

/* Adds RD_RUN, the type of what a run of packets is accumulated in, RD_RUN_NOTHING,
 * RD_RUN_ADD(run, u, v, q, fresh, ordinal), with element v of packet u, which is q of
 * the reduced axis, and RD_RUN_END(run), the accumulator. `ordinal` counts the packets
 * of a column. */
void ga__reduce_add_run(ga_strbuf *sb, const ga_reduce_spec *spec,
                        enum ga_reduce_kind kind, unsigned int nr);
/* Whether that reads packets in words of 32 bits, p<i>[u].w. */
bool ga__reduce_has_words(const ga_reduce_spec *spec);

#endif
