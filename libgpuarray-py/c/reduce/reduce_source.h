/* The kernel texts of a reduction. */
#ifndef GA_C_REDUCE_SOURCE_H
#define GA_C_REDUCE_SOURCE_H

#include "c/program/kernel.h"
#include <gpuarray/reduction.h>

/* Work items of a block at most; kernels have local memory for as many. */
#define GA_REDUCE_BLOCK 256
#define GA_REDUCE_INPUTS 32
#define GA_REDUCE_VALUES 8 /* components, and results */

enum ga_reduce_kind {
  GA_REDUCE_ROWS,   /* neighbouring items walk along the innermost reduced axis */
  GA_REDUCE_COLUMNS /* neighbouring items own neighbouring results */
};

/* What a kernel computes. Nothing here is owned. Components are never half. */
typedef struct ga_reduce_spec {
  const char *preamble; /* may be NULL */
  const char *prologue; /* statements before the maps; may be NULL */
  unsigned int n, n_components, n_results;
  const gpuelemwise_arg *inputs;
  const gpureduction_component *components;
  const gpureduction_result *results;
  unsigned int flags; /* GA_REDUCTION_... */
  bool is_cpu, is_wide;
  bool is_parts; /* of accumulators: `inputs` is one array, whatever its type */
} ga_reduce_spec;

/* What a work item does at once. */
typedef struct ga_reduce_shape {
  unsigned int width;  /* accumulators, a power of 2 */
  unsigned int vector; /* elements of a packet, a power of 2; 0: there are none */
  unsigned int unroll; /* packets in flight */
  bool is_alone;       /* no other walks along the same row */
} ga_reduce_shape;
ga_reduce_shape ga__reduce_shape(const ga_reduce_spec *spec, enum ga_reduce_kind kind);
/* Bytes of an accumulator. */
size_t ga__reduce_size(const ga_reduce_spec *spec);

/* A kernel for `nk` kept and `nr` reduced axes, both at least 1. Its arguments, in
 * order; counts are 32-bit unless is_wide, strides 64-bit, in bytes but for the
 * results':
 *   each result and its offset, part and its offset;
 *   for each input the array and its offset, or the value of a scalar;
 *   tiles, tiles of a group, results, length of the innermost kept axis;
 *   outer (product of the reduced axes but the innermost), outer of a split;
 *   inner (the innermost reduced axis), inner of a split, splits along it;
 *   items of a block along the outer axes; mode (GA_REDUCE_UNIT, ...);
 *   how many elements were reduced (64-bit); with GA_REDUCTION_INDEX a count, the
 *   position of the first element;
 *   for each kept axis: its length, the results' stride in elements, the arrays';
 *   for each reduced axis: its length, the arrays' strides, with GA_REDUCTION_INDEX a
 *   count, the positions from one element to the next.
 * The grid is groups by splits. The block's first dimension is the neighbours; both are
 * powers of 2, and the second is 1 on a CPU. The caller clears out->body. */
int ga__reduce_source(ga_source *out, const ga_reduce_spec *spec,
                      enum ga_reduce_kind kind, unsigned int nk, unsigned int nr);

#define GA_REDUCE_UNIT 1 /* every array is contiguous in the neighbours' direction */
#define GA_REDUCE_PART 2 /* store accumulators to part[split][result], not to out */
/* Every array is contiguous in the neighbours' direction, or repeated: then bit
 * GA_REDUCE_REPEATED << i is set for input i. Not with more than
 * GA_REDUCE_PACKED_INPUTS inputs. */
#define GA_REDUCE_PACKED 4
#define GA_REDUCE_REPEATED 8
#define GA_REDUCE_PACKED_INPUTS 16
/* Across columns: packets may begin before the first column. */
#define GA_REDUCE_SHIFTED (1 << 20)

#endif
