/* The kernel texts of an elementwise expression. Pure: text from a description. */
#ifndef GA_C_ELEMWISE_SOURCE_H
#define GA_C_ELEMWISE_SOURCE_H

#include "c/program/kernel.h"
#include <gpuarray/elemwise.h>

/* What the texts are made from. */
typedef struct ga_elem_spec {
  const char *preamble; /* or NULL */
  const char *expr;
  unsigned int n;
  const gpuelemwise_arg *args;
  bool convert_half;        /* half and bfloat16 are float variables */
  bool is_cpu;              /* the device wants few groups that walk long runs */
  const unsigned int *made; /* or NULL: the input whose value the text has, in ga_i_s */
} ga_elem_spec;

/* Words of the kernels that are not arguments of the expression. */
#define GA_ELEM_PREFIX "ga_i_"

/* Elements of a vector: 16 bytes of the largest type. */
unsigned int ga__elem_vector(const ga_elem_spec *spec);
/* The argument whose order is followed: the first that is written. */
unsigned int ga__elem_leader(const ga_elem_spec *spec);
/* Whether the strided GPU kernel takes elements apart instead of vectors where asked.
 * Where vectors are of bytes it would lack the registers. */
bool ga__elem_takes_gaps(const ga_elem_spec *spec);
/* Elements that a thread of the strided GPU kernel takes where it takes no vectors. */
#define GA_ELEM_APART 4

/* All arrays are one block in the same order; the inputs whose bit is set in `single`
 * (bit i: args[i]) have one element. The kernel's arguments: ga_size n, ga_uint aligned
 * (GPU: whole vectors may be loaded), then for each argument the value of a scalar or
 * the pointer and the ga_size byte offset of an array. */
int ga__elem_flat_source(ga_source *out, const ga_elem_spec *spec, uint64_t single);

/* Arrays of any strides, over `nd` axes, of which the last one belongs to neighbouring
 * threads. The arguments end as in the flat kernel, each array followed by its strides,
 * in elements.
 *
 * On a GPU they begin with ga_uint n, row and gap, ga_ulong units, ga_ulong ones and,
 * for each axis but the first, its length and the factor and shift that divide by it.
 * Where `row` is 0, n counts elements. Where it is the length of the last axis, n
 * counts vectors, and so does the last axis: rows are cut into vectors at whole
 * multiples of a vector of the leader, so that a row may need one more than it is long;
 * vectors of argument i are moved whole, where they happen to be aligned, if bit i of
 * `units` says that its elements are neighbours; bit i of `ones` says that it has one
 * element along a row. Where `gap` is not 1, and gaps are taken, rows are `gap` vectors
 * long, whose elements are `gap` apart, and `units` is 0. n is below 2^31; `wide` is
 * for strides and positions beyond.
 *
 * On a CPU all is 64-bit: rows, pieces of a row, elements of a piece, how the last axis
 * is walked (an enum ga_elem_row, as ga_uint), and the lengths of all axes but the
 * first (of one axis, its own). */
int ga__elem_strided_source(ga_source *out, const ga_elem_spec *spec, unsigned int nd,
                            bool wide);

/* How a CPU walks along the last axis. */
enum ga_elem_row {
  GA_ELEM_ROW_ANY,
  GA_ELEM_ROW_UNIT, /* strides of 0 and 1 */
  /* Where ga__elem_takes_pairs: inputs of stride 2, outputs of stride 1. An element is
   * loaded with the one behind it, which must be the buffer's, and not be written. */
  GA_ELEM_ROW_PAIRS
};
bool ga__elem_takes_pairs(const ga_elem_spec *spec);

/* For a GPU: arrays that differ in which of the last two axes has their neighbours. A
 * block of ga__elem_tile_threads takes a square of the two; arrays whose neighbours are
 * along the last axis but one go through local memory. The arguments: ga_uint n, of
 * tiles; for each axis but the first its length, factor and shift, where the last two
 * axes count in tiles; the lengths of the last two, in elements (ga_uint each);
 * ga_ulong turned, with a bit for each argument that goes through local memory;
 * ga_ulong vectors, with a bit for each whose elements may be taken
 * ga__elem_tile_vector at once; then those of the expression as in the strided kernel,
 * with 64-bit strides. Its dynamic local memory is ga__elem_tile_bytes for each turned
 * argument. */
int ga__elem_tiled_source(ga_source *out, const ga_elem_spec *spec, unsigned int nd);
unsigned int ga__elem_tile_threads(const ga_elem_spec *spec);
unsigned int ga__elem_tile(const ga_elem_spec *spec); /* elements of a side */
unsigned int ga__elem_tile_vector(const ga_elem_spec *spec);
size_t ga__elem_tile_bytes(const ga_elem_spec *spec, unsigned int i);

#endif
