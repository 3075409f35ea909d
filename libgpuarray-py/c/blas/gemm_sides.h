/* Skinny and small-K products: orientation. */
#ifndef GA_C_GEMM_SIDES_H
#define GA_C_GEMM_SIDES_H

#include "c/blas/gemm_map.h"

/* The product, transposed where needed so that c has few columns (skinny), or is
 * contiguous along its rows (small K). */
typedef struct ga_sides {
  ga_factor a, b, c;
  bool is_outer;   /* small K */
  bool is_flipped; /* transposed */
} ga_sides;

ga_sides ga__sides_of(const ga_product *p);
/* True if the special kernels support it. */
bool ga__sides_fit(const ga_product *p, const ga_sides *s);

#define GA_WIDEST ((size_t)1 << 23) /* columns: a grid's y is at most 65535 */

/* Small-K product, with the epilogue `map` unless it is NULL. */
int ga__product_outer(const ga_product *p, const ga_sides *s, const ga_mapping *map);

#endif
