/* Fused epilogue of a product: an expression is its only reader. */
#ifndef GA_C_GEMM_MAP_H
#define GA_C_GEMM_MAP_H

#include "c/blas/gemm_args.h"
#include "c/elemwise/elemwise_map.h"

/* Kernel of a kind, with the epilogue `map` if not NULL: see ga__blas_mapped_source. */
int ga__product_kernel(gpukernel **out, const ga_product *p, enum ga_blas_kind kind,
                       const ga_mapping *map);
/* Arguments after the factors: c and the scale, or the epilogue's. `is_flipped`: c is
 * transposed. */
void ga__product_args(ga_args *args, const ga_product *p, const ga_factor *c,
                      bool is_flipped, const ga_mapping *map);

#endif
