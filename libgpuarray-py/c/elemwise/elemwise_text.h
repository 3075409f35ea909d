/* Shared parts of elementwise kernel sources. Pure. */
#ifndef GA_C_ELEMWISE_TEXT_H
#define GA_C_ELEMWISE_TEXT_H

#include "c/elemwise/elemwise_source.h"

static inline bool ga__elem_is_array(const gpuelemwise_arg *arg) {
  return !(arg->flags & GE_SCALAR);
}

static inline bool ga__elem_is_read(const gpuelemwise_arg *arg) {
  return ga__elem_is_array(arg) && (arg->flags & GE_READ);
}

static inline bool ga__elem_is_written(const gpuelemwise_arg *arg) {
  return ga__elem_is_array(arg) && (arg->flags & GE_WRITE);
}

/* Stored type: "ga_half". */
const char *ga__elem_stored(const gpuelemwise_arg *arg);
/* Unsigned type of `bytes`, at most 16. */
const char *ga__elem_bytes_type(size_t bytes);
/* Largest element size of the arrays, in bytes. */
size_t ga__elem_largest(const ga_elem_spec *spec);

/* Adds `form` with `i` in place of each "@". */
void ga__elem_add_place(ga_strbuf *sb, const char *form, unsigned int i);
/* The expression on one element: loads, statements, stores. `from` and `to` are the
 * places of loads and stores ("@": number of the argument); inputs in `single` are in
 * ga_i_s<i>. */
void ga__elem_add_body(ga_strbuf *sb, const ga_elem_spec *spec, uint64_t single,
                       const char *indent, const char *from, const char *to);
/* Parameters of the expression; each array with `nd` strides of type `stride`. */
void ga__elem_add_parameters(ga_strbuf *sb, const ga_elem_spec *spec, unsigned int nd,
                             const char *stride);
/* Adds offsets to the pointers; loads single elements. */
void ga__elem_add_pointers(ga_strbuf *sb, const ga_elem_spec *spec, uint64_t single);
/* Splits the linear index ga_i_r into indices ga_i_x0 .. along `nd` axes; `quotient` is
 * the division by the length ga_i_d@ of axis @. */
void ga__elem_add_split(ga_strbuf *sb, unsigned int nd, const char *indent,
                        const char *index, const char *position, const char *quotient);
/* Offset of argument i: sum of index times stride. */
void ga__elem_add_sum(ga_strbuf *sb, unsigned int nd, unsigned int i);
/* Assembles preamble, `kind` ("KERNEL"), name and `text`, which begins behind the name
 * and is cleared. */
int ga__elem_finish(ga_source *out, const ga_elem_spec *spec, const char *kind,
                    ga_strbuf *text);

/* CPU variants: body of the flat kernel; strided kernel. */
void ga__elem_add_flat_cpu(ga_strbuf *sb, const ga_elem_spec *spec, uint64_t single);
int ga__elem_strided_cpu(ga_source *out, const ga_elem_spec *spec, unsigned int nd);

/* Division by an invariant below 2^31, as a multiplication and shift. */
#define GA_ELEM_QUOTIENT "(ga_uint)(((ga_ulong)ga_i_r * ga_i_m@) >> ga_i_h@)"

#endif
