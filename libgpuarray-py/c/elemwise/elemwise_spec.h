/* Source generators of elementwise kernels. Pure. */
#ifndef GA_C_ELEMWISE_SPEC_H
#define GA_C_ELEMWISE_SPEC_H

#include "c/program/kernel.h"
#include <gpuarray/elemwise.h>

/* The expression. */
typedef struct ga_elem_spec {
  const char *preamble; /* or NULL */
  const char *expr;
  unsigned int n;
  const gpuelemwise_arg *args;
  bool convert_half; /* half and bfloat16 compute in float */
  bool is_cpu;       /* few work groups with long loops */
  const unsigned int
      *made; /* or NULL: the input computed in the kernel (fused), as ga_i_s */
} ga_elem_spec;

/* Prefix of reserved names, not allowed for arguments. */
#define GA_ELEM_PREFIX "ga_i_"

/* Vector width in elements: 16 bytes of the largest type, of the flat kernel without
 * the arrays in `single`. */
unsigned int ga__elem_vector(const ga_elem_spec *spec, uint64_t single);
/* The argument that determines the order of axes: the first output. */
unsigned int ga__elem_leader(const ga_elem_spec *spec);
/* True if the strided GPU kernel can take elements `gap` apart instead of vectors. Not
 * for vectors of bytes: register pressure. */
bool ga__elem_takes_gaps(const ga_elem_spec *spec);
/* Elements per thread of the strided GPU kernel without vectors: fewer with more
 * inputs, whose loads are enough in flight, as text and registers grow with both. */
unsigned int ga__elem_apart(const ga_elem_spec *spec);

/* Flat kernel: all arrays contiguous in the same order; inputs in `single` (bit i:
 * args[i]) have one element. Arguments: ga_size n, ga_uint aligned (GPU: vector loads
 * allowed), then per argument a scalar's value, or an array's pointer and ga_size byte
 * offset. */
int ga__elem_flat_source(ga_source *out, const ga_elem_spec *spec, uint64_t single);

/* Strided kernel: any strides over `nd` axes; adjacent threads take adjacent elements
 * of the last axis. Arguments end as for the flat kernel, with each array's strides, in
 * elements.
 *
 * GPU arguments begin with ga_uint n, row and gap, ga_ulong units, ga_ulong ones and,
 * per axis but the first, length, and factor and shift of the division by it. If `row`
 * is 0, n counts elements. Else `row` is the length of the last axis, and n and the
 * last axis count vectors: rows are cut at the leader's vector boundaries, so a row may
 * need one vector more. Bit i of `units`: argument i is contiguous along the row, so
 * aligned vectors are moved whole; bit i of `ones`: stride 0 along the row. If `gap` is
 * not 1 (and gaps are supported), rows are `gap` vectors, whose elements are `gap`
 * apart, and `units` is 0. n is below 2^31; `wide`: 64-bit strides and offsets.
 *
 * CPU arguments are 64-bit: rows, pieces per row, elements per piece, row mode (enum
 * ga_elem_row, ga_uint), and the lengths of all axes but the first (of one axis, its
 * own). */
int ga__elem_strided_source(ga_source *out, const ga_elem_spec *spec, unsigned int nd,
                            bool wide);

/* Rows kernel, of GPUs: along the last axis inputs in `single` have stride 0, all other
 * arrays stride 1 and whole aligned vectors; none is an index. Arguments: ga_uint n,
 * pieces in all; ga_uint vectors of a row and of a piece; then those of the strided
 * kernel from the lengths on, of the last axis in pieces. 32 items take a piece. */
int ga__elem_rows_source(ga_source *out, const ga_elem_spec *spec, unsigned int nd,
                         bool wide, uint64_t single);

/* Row mode of the CPU kernel. */
enum ga_elem_row {
  GA_ELEM_ROW_ANY,
  GA_ELEM_ROW_UNIT, /* strides 0 and 1 */
  /* If ga__elem_takes_pairs: inputs of stride 2, outputs of stride 1. An element is
   * loaded with the one behind it, which must be in the buffer and not be written. */
  GA_ELEM_ROW_PAIRS
};
bool ga__elem_takes_pairs(const ga_elem_spec *spec);

/* Tiled GPU kernel, for arrays contiguous along different ones of the last two axes. A
 * block of ga__elem_tile_threads takes a square tile; arrays contiguous along the last
 * axis but one are transposed in shared memory. Arguments: ga_uint n, of tiles; per
 * axis but the first length, factor and shift, the last two axes in tiles; the lengths
 * of the last two in elements (ga_uint); ga_ulong turned, a bit per transposed
 * argument; ga_ulong vectors, a bit per argument with vector access
 * (ga__elem_tile_vector); then those of the strided kernel, with 64-bit strides.
 * Dynamic shared memory: ga__elem_tile_bytes per transposed argument. */
int ga__elem_tiled_source(ga_source *out, const ga_elem_spec *spec, unsigned int nd);
unsigned int ga__elem_tile_threads(const ga_elem_spec *spec);
unsigned int ga__elem_tile(const ga_elem_spec *spec); /* elements per side */
unsigned int ga__elem_tile_vector(const ga_elem_spec *spec);
size_t ga__elem_tile_bytes(const ga_elem_spec *spec, unsigned int i);

#endif
