/* Products whose elements are read by an expression, and by nothing else. */
#ifndef GA_C_GEMM_MAP_H
#define GA_C_GEMM_MAP_H

#include "c/blas/gemm_args.h"
#include "c/elemwise/elemwise_run.h"

/* An expression of at most GA_MAPPED_ARGS arguments whose input `made` is the product;
 * `values` has all but that one. Arrays are aligned and broadcast to the product's
 * shape, which the outputs have; none of them overlaps what is multiplied, and an input
 * that overlaps an output is that array. */
typedef struct ga_mapping {
  const GpuElemwise *ge;
  unsigned int made;
  void *const *values;
} ga_mapping;
#define GA_MAPPED_ARGS 16

/* The kernel of a kind, for `map` if it is not NULL: see ga__blas_mapped_source. */
int ga__mapped_kernel(gpukernel **out, const ga_product *p, enum ga_blas_kind kind,
                      const ga_mapping *map);
/* What the kernel is given after what is multiplied: c and the scale, or, with `map`,
 * what the expression reads and writes. `is_flipped`: c is transposed. */
void ga__mapped_args(ga_args *args, const ga_product *p, const ga_factor *c,
                     bool is_flipped, const ga_mapping *map);

#endif
