/* The parts that the kernel texts of an elementwise expression have in common. Pure. */
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

/* The type of elements in memory: "ga_half". */
const char *ga__elem_stored(const gpuelemwise_arg *arg);
/* The unsigned type of so many bytes, at most 16. */
const char *ga__elem_bytes_type(size_t bytes);
/* The largest element of the arrays, in bytes. */
size_t ga__elem_largest(const ga_elem_spec *spec);

/* Adds `form` with `i` for each "@". */
void ga__elem_add_place(ga_strbuf *sb, const char *form, unsigned int i);
/* The expression on one element: variables, statements, stores. `from` is where array
 * elements are read, `to` where they are written (with "@" for the number of the
 * argument); those of the inputs in `single` are in ga_i_s<i>. */
void ga__elem_add_body(ga_strbuf *sb, const ga_elem_spec *spec, uint64_t single,
                       const char *indent, const char *from, const char *to);
/* The arguments of the expression; each array with `nd` strides of type `stride`. */
void ga__elem_add_parameters(ga_strbuf *sb, const ga_elem_spec *spec, unsigned int nd,
                             const char *stride);
/* Moves the pointers to where the arrays begin, and loads single elements. */
void ga__elem_add_pointers(ga_strbuf *sb, const ga_elem_spec *spec, uint64_t single);
/* Splits ga_i_r into positions ga_i_x0 .. along `nd` axes; `quotient` is the form of a
 * division by the length ga_i_d@ of axis @. */
void ga__elem_add_split(ga_strbuf *sb, unsigned int nd, const char *indent,
                        const char *index, const char *position, const char *quotient);
/* The sum of the positions times the strides of argument i. */
void ga__elem_add_sum(ga_strbuf *sb, unsigned int nd, unsigned int i);
/* Puts preamble, `kind` ("KERNEL"), name and text together; `text`, which is cleared,
 * begins behind the name. */
int ga__elem_finish(ga_source *out, const ga_elem_spec *spec, const char *kind,
                    ga_strbuf *text);

/* For CPUs: the body of the flat kernel; the strided kernel. */
void ga__elem_add_flat_cpu(ga_strbuf *sb, const ga_elem_spec *spec, uint64_t single);
int ga__elem_strided_cpu(ga_source *out, const ga_elem_spec *spec, unsigned int nd);

/* A division of numbers below 2^31 by multiplication. */
#define GA_ELEM_QUOTIENT "(ga_uint)(((ga_ulong)ga_i_r * ga_i_m@) >> ga_i_h@)"

#endif
