/* The kernel texts of an elementwise expression. Pure: text from a description. */
#ifndef GA_C_ELEMWISE_SOURCE_H
#define GA_C_ELEMWISE_SOURCE_H

#include "c/kernel.h"
#include <gpuarray/elemwise.h>

/* What the texts are made from. */
typedef struct ga_elem_spec {
  const char *preamble; /* or NULL */
  const char *expr;
  unsigned int n;
  const gpuelemwise_arg *args;
  bool convert_half; /* half arrays are float variables */
  bool is_cpu;       /* the device wants few groups that walk long runs */
} ga_elem_spec;

/* Words of the kernels that are not arguments of the expression. */
#define GA_ELEM_PREFIX "ga_i_"

/* Elements that a thread of the flat GPU kernel takes: 16 bytes of the largest type. */
unsigned int ga__elem_vector(const ga_elem_spec *spec);
/* Elements that a thread of the strided GPU kernel takes. */
#define GA_ELEM_STRIDED 4

/* All arrays are one block in the same order; the inputs whose bit is set in `single`
 * (bit i: args[i]) have one element. The kernel's arguments: ga_size n, ga_uint aligned
 * (GPU: whole vectors may be loaded), then for each argument the value of a scalar or
 * the pointer and the ga_size byte offset of an array. */
int ga__elem_flat_source(ga_source *out, const ga_elem_spec *spec, uint64_t single);

/* Arrays of any strides, over `nd` axes, of which the last one belongs to neighbouring
 * threads. On a GPU the arguments are n and, for each axis but the first, its length,
 * the factor and the shift that divide by it (lengths below 2^31 only; `wide`: 64-bit
 * lengths alone). On a CPU, always 64-bit: rows, pieces of a row, elements of a piece,
 * whether the last axis has strides 0 and 1 only (ga_uint), and the lengths of all axes
 * but the first (of one axis, its own). Then the arguments as in the flat kernel, each
 * array followed by its strides, in elements. */
int ga__elem_strided_source(ga_source *out, const ga_elem_spec *spec, unsigned int nd,
                            bool wide);

#endif
