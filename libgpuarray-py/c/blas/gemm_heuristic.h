/* GEMM heuristic: tile kinds and split-K. */
#ifndef GA_C_GEMM_HEURISTIC_H
#define GA_C_GEMM_HEURISTIC_H

#include "c/blas/products.h"

/* True if vector loads are aligned along the axis of stride 1: the other stride and the
 * batch stride are multiples of the vector. */
bool ga__has_packs(const ga_factor *f, ssize_t other, size_t pack, size_t itemsize);

/* Tile kind for the batch of p with these operands; `part`: terms per part of a split-K
 * product, else 0. */
enum ga_blas_kind ga__tile_kind(const ga_product *p, const ga_factor *a,
                                const ga_factor *b, size_t part);

/* How one product runs: by a kind (one of DEEP, or GA_BLAS_KIND_COUNT for tiles), and
 * tiles by split-K, with `terms` per part, enough parts to occupy a GPU; 0 if not
 * splitting is faster. */
typedef struct ga_division {
  enum ga_blas_kind deep;
  size_t terms;
} ga_division;
ga_division ga__product_division(const ga_product *p);

#endif
