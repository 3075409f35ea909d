/* Macros (EL_...) shared by the elementwise kernel templates. Pure. */
#ifndef GA_C_ELEMWISE_TEXT_H
#define GA_C_ELEMWISE_TEXT_H

#include "c/elemwise/elemwise_spec.h"

/* The number of the element: it has offset and strides, as an array, but no memory. */
static inline bool ga__elem_is_index(const gpuelemwise_arg *arg) {
  return arg->flags & GE_INDEX;
}

static inline bool ga__elem_is_array(const gpuelemwise_arg *arg) {
  return !(arg->flags & (GE_SCALAR | GE_INDEX));
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
/* Largest element size of the arrays but those in `single`, in bytes. */
size_t ga__elem_largest(const ga_elem_spec *spec, uint64_t single);

/* Declares the variable of argument i, initialized with the stored `element` unless it
 * is NULL. */
void ga__elem_add_value(ga_strbuf *sb, const ga_elem_spec *spec, unsigned int i,
                        const char *element);
/* Stores the variable of argument i into `element`. */
void ga__elem_add_result(ga_strbuf *sb, const ga_elem_spec *spec, unsigned int i,
                         const char *element);
/* Macros of an expression on one element: EL_INT, the type of indices and strides,
 * EL_PARAMETERS, EL_STARTS, EL_CONSTANTS, EL_VALUES, EL_RESULTS. Inputs in `single`
 * have one element, of a kernel with axes one for each place of all but the last;
 * loaded by EL_CONSTANTS. */
void ga__elem_add_words(ga_strbuf *sb, const ga_elem_spec *spec, unsigned int nd,
                        const char *position, uint64_t single);
/* EL_ARRAYS(F), EL_READS(F), EL_WRITES(F), EL_INDICES(F): F(i, stored type, vector
 * type) for each array, input, output or index; a vector has EL_VECTOR elements. */
void ga__elem_add_arrays(ga_strbuf *sb, const ga_elem_spec *spec, unsigned int vector,
                         uint64_t single);
/* EL_PLACE(i): offset of an element of array i; EL_X, EL_STRIDE(i): index and stride of
 * the last axis; EL_LENGTHS(F): F(k) for each axis whose length is a parameter;
 * EL_AXES(F): F(k) for each axis split off a linear index over `n_split` axes, last
 * axis first. */
void ga__elem_add_axes(ga_strbuf *sb, unsigned int nd, unsigned int n_split);
/* `word`(i): offset in argument i, the sum of index (ga_i_x0 ..) times stride over `nd`
 * axes. */
void ga__elem_add_sum(ga_strbuf *sb, const char *word, unsigned int nd);
/* Assembles preamble, macros (`words`, cleared) and a template of kernels/, with the
 * expression for EL_EXPRESSION. */
int ga__elem_finish(ga_source *out, const ga_elem_spec *spec, ga_strbuf *words,
                    const char *text);

/* CPU variant of the strided kernel. */
int ga__elem_strided_cpu(ga_source *out, const ga_elem_spec *spec, unsigned int nd);

#endif
