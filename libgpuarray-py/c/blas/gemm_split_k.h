/* Split-K: the terms are summed in parts by independent groups. */
#ifndef GA_C_GEMM_SPLIT_K_H
#define GA_C_GEMM_SPLIT_K_H

#include "c/blas/gemm_map.h"

/* True if parts can have c's type: it is the work type. */
bool ga__parts_fit(const ga_product *p);

/* Allocates `n` parts of c, each C-contiguous; the caller releases parts->data. */
int ga__parts_new(ga_factor *parts, const ga_product *p, const ga_factor *c, size_t n);

/* c = alpha (sum of parts) + beta c, for real types; or the epilogue `map` of the
 * sum. */
int ga__parts_sum(const ga_product *p, const ga_factor *c, const ga_factor *parts,
                  size_t n, const ga_mapping *map);

/* Split-K product with `terms` per part; `map` is an epilogue or NULL. */
int ga__product_in_parts(const ga_product *p, size_t terms, const ga_mapping *map);

#endif
