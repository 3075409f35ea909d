/* A product whose elements are read by an expression, and by nothing else. */
#ifndef GA_C_PRODUCT_MAPPED_H
#define GA_C_PRODUCT_MAPPED_H

#include "c/blas.h"
#include "c/elemwise_run.h"

/* One launch of a product that ga__product_is_mapped says yes to, by an expression of
 * at most GA_MAPPED_ARGS arguments whose input `made` is the product, alpha 1 and beta
 * 0; `values` has all but that one. Arrays are aligned and broadcast to the product's
 * shape, which the outputs have; none of them overlaps what is multiplied, and an input
 * that overlaps an output is that array. */
int ga__product_mapped(const ga_product *p, const GpuElemwise *ge, unsigned int made,
                       void *const *values);
#define GA_MAPPED_ARGS 16

#endif
