/* Fused epilogue of a product: an expression is its only reader. */
#ifndef GA_C_GEMM_MAP_H
#define GA_C_GEMM_MAP_H

#include "c/blas/gemm_args.h"
#include "c/elemwise/elemwise_run.h"

/* An epilogue: an expression of at most GA_MAPPED_ARGS arguments; input `made` is the
 * product, `values` has all others. Arrays are aligned and broadcast to the product's
 * shape, which the outputs have. No output aliases a factor; an input that aliases an
 * output is the same array. */
typedef struct ga_mapping {
  GpuElemwise *ge;
  unsigned int made;
  void *const *values;
} ga_mapping;
#define GA_MAPPED_ARGS 16

/* Kernel of a kind, with the epilogue `map` if not NULL: see ga__blas_mapped_source. */
int ga__mapped_kernel(gpukernel **out, const ga_product *p, enum ga_blas_kind kind,
                      const ga_mapping *map);
/* Arguments after the factors: c and the scale, or the epilogue's. `is_flipped`: c is
 * transposed. */
void ga__mapped_args(ga_args *args, const ga_product *p, const ga_factor *c,
                     bool is_flipped, const ga_mapping *map);

#endif
