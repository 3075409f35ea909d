/* Products with a narrow side, between the files that choose and launch their kernels.
 */
#ifndef GA_C_GEMM_SIDES_H
#define GA_C_GEMM_SIDES_H

#include "c/blas/gemm_map.h"

/* The product so turned that c has few columns, or, where the terms are few, that
 * neighbours of c lie along its rows. */
typedef struct ga_sides {
  ga_factor a, b, c;
  bool is_outer;   /* few terms */
  bool is_flipped; /* it is the transposed product */
} ga_sides;

ga_sides ga__sides_of(const ga_product *p);
/* Whether the kernels of narrow sides take them. */
bool ga__sides_fit(const ga_product *p, const ga_sides *s);

#define GA_WIDEST ((size_t)1 << 23) /* columns: a grid is at most 65535 high */

/* The product of few terms; `map`: with what is computed of it, or NULL. */
int ga__product_outer(const ga_product *p, const ga_sides *s, const ga_mapping *map);

#endif
