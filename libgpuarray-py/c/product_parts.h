/* Products whose terms are summed in parts, by groups that do not wait for each other.
 */
#ifndef GA_C_PRODUCT_PARTS_H
#define GA_C_PRODUCT_PARTS_H

#include "c/product_args.h"

/* Memory for `n` parts of c, one after the other in C order; the caller releases
 * parts->data. Their type is c's, which must be that of the work. */
int ga__parts_new(ga_factor *parts, const ga_product *p, const ga_factor *c, size_t n);

/* c = alpha (the sum of its parts) + beta c, of real types. */
int ga__parts_sum(const ga_product *p, const ga_factor *c, const ga_factor *parts,
                  size_t n);

#endif
