/* Source generator of reduction kernels. */
#ifndef GA_C_REDUCE_KERNEL_H
#define GA_C_REDUCE_KERNEL_H

#include "c/program/kernel.h"
#include <gpuarray/reduction.h>

/* Maximum block size; sizes the kernels' local memory. */
#define GA_REDUCE_BLOCK 256
#define GA_REDUCE_INPUTS 32
#define GA_REDUCE_VALUES 8 /* maximum of components, and of results */

enum ga_reduce_kind {
  GA_REDUCE_ROWS,   /* adjacent items take adjacent reduced elements */
  GA_REDUCE_COLUMNS /* adjacent items own adjacent results */
};

/* What a kernel computes. Owns nothing. Components are never half. */
typedef struct ga_reduce_spec {
  const char *preamble; /* may be NULL */
  const char *prologue; /* statements before the maps; may be NULL */
  unsigned int n, n_components, n_results;
  const gpuelemwise_arg *inputs;
  const gpureduction_component *components;
  const gpureduction_result *results;
  unsigned int flags; /* GA_REDUCTION_... */
  bool is_cpu, is_wide;
  bool is_vector;        /* CPU: the items of a group are the lanes of a vector */
  bool is_parts;         /* second pass: `inputs` is one array of accumulators */
  unsigned int repeated; /* rows of GPUs: if not 0, the bits of GA_REDUCE_REPEATED that
                            `mode` has in every launch */
} ga_reduce_spec;

/* Register blocking of a work item. */
typedef struct ga_reduce_shape {
  unsigned int width;  /* accumulators, a power of 2 */
  unsigned int vector; /* elements of a vector load, a power of 2; 0: none */
  unsigned int unroll; /* vector loads in flight */
  bool is_alone;       /* one item per row */
} ga_reduce_shape;
ga_reduce_shape ga__reduce_shape(const ga_reduce_spec *spec, enum ga_reduce_kind kind);
/* Bytes of an accumulator. */
size_t ga__reduce_size(const ga_reduce_spec *spec);

/* Source of a kernel for `nk` kept and `nr` reduced axes, at least 1 each. Arguments in
 * order; counts are 32-bit unless is_wide, strides 64-bit bytes (results': elements):
 * each result and its offset, part and its offset; for each input the array and its
 * offset, the first number, or a scalar's value; tiles, tiles per group, results,
 * length of the innermost kept axis; outer (product of the reduced axes but the
 * innermost), outer per split; inner (the innermost reduced axis), inner per split,
 * splits along it; items along the outer axes; mode (GA_REDUCE_UNIT, ...); number of
 * reduced elements (64-bit); with GA_REDUCTION_INDEX the first position (a count); per
 * kept axis: length, results' stride, arrays' strides; per reduced axis: length,
 * arrays' strides, and with GA_REDUCTION_INDEX the positions' stride (a count).
 *
 * The grid is groups by splits. A block's first dimension is the adjacent items; both
 * are powers of 2, the second is 1 on a CPU. The caller clears out->body. */
int ga__reduce_source(ga_source *out, const ga_reduce_spec *spec,
                      enum ga_reduce_kind kind, unsigned int nk, unsigned int nr);

#define GA_REDUCE_UNIT 1 /* every array is contiguous across adjacent items */
#define GA_REDUCE_PART 2 /* first pass: stores accumulators to part[split][result] */
/* Every array is contiguous across adjacent items, or has stride 0: bit
 * GA_REDUCE_REPEATED << i for input i. At most GA_REDUCE_PACKED_INPUTS inputs. */
#define GA_REDUCE_PACKED 4
#define GA_REDUCE_REPEATED 8
#define GA_REDUCE_PACKED_INPUTS 16
/* Columns: vectors may begin before the first column. */
#define GA_REDUCE_SHIFTED (1 << 20)

#endif
