/* The kernel texts of a reduction. */
#ifndef GA_C_REDUCE_SOURCE_H
#define GA_C_REDUCE_SOURCE_H

#include "c/kernel.h"
#include <gpuarray/reduction.h>

/* Work items of a block at most; kernels have local memory for as many. */
#define GA_REDUCE_BLOCK 256

enum ga_reduce_kind {
  GA_REDUCE_ROWS,   /* neighbouring items walk along the innermost reduced axis */
  GA_REDUCE_COLUMNS /* neighbouring items own neighbouring results */
};

/* What a kernel computes. Nothing here is owned. */
typedef struct ga_reduce_spec {
  const char *preamble; /* may be NULL */
  const char *prologue; /* statements before `map`; may be NULL */
  const char *map, *combine, *identity;
  int acc, out; /* acc is never half */
  unsigned int n;
  const gpuelemwise_arg *inputs;
  unsigned int width; /* accumulators of an item, a power of 2 */
  bool is_cpu, is_wide;
} ga_reduce_spec;

/* A kernel for `nk` kept and `nr` reduced axes, both at least 1. Its arguments, in
 * order; counts are 32-bit unless is_wide, strides 64-bit, in bytes but for the
 * result's:
 *   out and its offset, part and its offset;
 *   for each input the array and its offset, or the value of a scalar;
 *   tiles, tiles of a group, results, length of the innermost kept axis;
 *   outer (product of the reduced axes but the innermost), outer of a split;
 *   inner (the innermost reduced axis), inner of a split, splits along it;
 *   items of a block along the outer axes; mode (GA_REDUCE_UNIT, GA_REDUCE_PART);
 *   for each kept axis: its length, the result's stride in elements, the arrays';
 *   for each reduced axis: its length, the arrays' strides.
 * The grid is groups by splits. The block's first dimension is the neighbours; both are
 * powers of 2, and the second is 1 on a CPU. The caller clears out->body. */
int ga__reduce_source(ga_source *out, const ga_reduce_spec *spec,
                      enum ga_reduce_kind kind, unsigned int nk, unsigned int nr);

#define GA_REDUCE_UNIT 1 /* every array is contiguous in the neighbours' direction */
#define GA_REDUCE_PART 2 /* store accumulators to part[split][result], not to out */

#endif
