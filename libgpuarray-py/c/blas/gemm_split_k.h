/* Products whose terms are summed in parts, by groups that do not wait for each other.
 */
#ifndef GA_C_GEMM_SPLIT_K_H
#define GA_C_GEMM_SPLIT_K_H

#include "c/blas/gemm_map.h"

/* Whether parts can be stored in c's type: it is that of the work. */
bool ga__parts_fit(const ga_product *p);

/* Memory for `n` parts of c, which fit, one after the other in C order; the caller
 * releases parts->data. */
int ga__parts_new(ga_factor *parts, const ga_product *p, const ga_factor *c, size_t n);

/* c = alpha (the sum of its parts) + beta c, of real types; or, with `map`, what is
 * computed of the sum. */
int ga__parts_sum(const ga_product *p, const ga_factor *c, const ga_factor *parts,
                  size_t n, const ga_mapping *map);

/* The product in parts of so many terms; `map` is NULL or as above. */
int ga__product_in_parts(const ga_product *p, size_t terms, const ga_mapping *map);

#endif
