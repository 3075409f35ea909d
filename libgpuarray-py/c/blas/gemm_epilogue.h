/* GEMM with a fused elementwise epilogue: an expression is the only reader of the
 * product. */
#ifndef GA_C_GEMM_EPILOGUE_H
#define GA_C_GEMM_EPILOGUE_H

#include "c/blas/gemm_map.h"

/* True if the expression can be fused into the product's last launch. */
bool ga__product_is_mapped(const ga_product *p);
/* Runs product and epilogue; only if ga__product_is_mapped. alpha is 1, beta 0, and c
 * has no data. GA_DEVSUP_ERROR, with nothing queued, if register pressure forbids
 * GA_SIDE_ITEMS items per group. */
int ga__product_mapped(const ga_product *p, const ga_mapping *map);

#endif
