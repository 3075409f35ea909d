/* DEEP GEMM: few tiles with many terms, which the teams of a group share. */
#ifndef GA_C_GEMM_DEEP_H
#define GA_C_GEMM_DEEP_H

#include "c/blas/gemm_map.h"

/* c = alpha a b + beta c by a DEEP kind; or the epilogue `map` of the product. */
int ga__product_deep(const ga_product *p, enum ga_blas_kind kind,
                     const ga_mapping *map);

#endif
