/* Products whose elements are read by an expression, and by nothing else. */
#ifndef GA_C_GEMM_EPILOGUE_H
#define GA_C_GEMM_EPILOGUE_H

#include "c/blas/gemm_map.h"

/* Whether what an expression makes of each element is stored by the product's last
 * launch (gemm_epilogue.h). */
bool ga__product_is_mapped(const ga_product *p);
/* A product that ga__product_is_mapped says yes to, with what is computed of it; alpha
 * is 1 and beta 0, and c has no data. GA_DEVSUP_ERROR: the expression takes too many
 * registers for the GA_SIDE_ITEMS items of a group, and nothing was queued. */
int ga__product_mapped(const ga_product *p, const ga_mapping *map);

#endif
