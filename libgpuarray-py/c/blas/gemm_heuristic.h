/* The tiles and parts that products of matrices are made in, between the file that
 * chooses them and those that launch their kernels. */
#ifndef GA_C_GEMM_HEURISTIC_H
#define GA_C_GEMM_HEURISTIC_H

#include "c/blas/blas.h"

/* Whether packs can be read along the axis of stride 1: the stride of the other axis,
 * and the step of the batch, keep them aligned. */
bool ga__has_packs(const ga_factor *f, ssize_t other, size_t pack, size_t itemsize);

/* The kind of tiles for the batch of p, of these factors; where it is of parts of one
 * product, they have `part` terms each, or else 0. */
enum ga_blas_kind ga__tile_kind(const ga_product *p, const ga_factor *a,
                                const ga_factor *b, size_t part);

/* How many terms a part of a product of matrices has, of which there are so many that
 * they keep a GPU busy; 0 where it is better done at once. */
size_t ga__product_terms(const ga_product *p);

#endif
