/* The kernels of our own products: what they compute, and how each is to be launched.
 */
#ifndef GA_C_BLAS_KERNELS_H
#define GA_C_BLAS_KERNELS_H

#include "c/elemwise/elemwise_source.h"

/* What they compute, over element strides of any sign (those of the output not 0):
 * GEMM     c[i, j] = alpha sum_k a[i, k] b[k, j] + beta c[i, j], a batch of them.
 *          On GPUs SMALL and LARGE differ in their tiles; PACKED has the tiles of LARGE
 *          and reads packs, of 16 bytes or four halves, where a (the first letter) and
 *          b (the second) are contiguous along k (K) or across (X), all else being
 *          multiples of that;
 *          MEDIUM does so with half the tile, FINE with a sixteenth, of float and
 *          shorter types.
 * ROWS     y[i] = alpha sum_j a[i, j] x[j] + beta y[i], fast where a's rows are
 *          contiguous; with PACKS, read so.
 * COLUMNS  the same, fast where a's columns are.
 * PARTS    part[g] = the sum of group g's terms a[j] x[j], in the type of the work.
 * SUM      c = alpha sum_j part[j] + beta c.
 * NARROW   c = alpha a b + beta c, where c has few columns; or parts of it, of some
 *          terms each. Of real types, on GPUs; a kind for each number of columns from 1
 *          to GA_BLAS_SIDES, of 1, then 2, then 4 rows an item.
 * OUTER    the same where the sums have few terms, a kind for each number of them.
 * PARTS_SUM  c = alpha (the sum of parts of c) + beta c.
 * The output is not read unless asked for. Each sum has one order, so that the same
 * input gives the same bits. */
enum ga_blas_kind {
  GA_GEMM_SMALL, /* the only one of CPUs */
  GA_GEMM_LARGE,
  GA_GEMM_PACKED_KK,
  GA_GEMM_PACKED_KX,
  GA_GEMM_PACKED_XK,
  GA_GEMM_PACKED_XX,
  GA_GEMM_MEDIUM_KK,
  GA_GEMM_MEDIUM_KX,
  GA_GEMM_MEDIUM_XK,
  GA_GEMM_MEDIUM_XX,
  GA_GEMM_FINE_KK,
  GA_GEMM_FINE_KX,
  GA_GEMM_FINE_XK,
  GA_GEMM_FINE_XX,
  GA_GEMV_ROWS,
  GA_GEMV_ROWS_PACKS,
  GA_GEMV_COLUMNS,
  GA_GEMV_COLUMNS_PACKS,
  GA_DOT_PARTS,
  GA_DOT_SUM,
  GA_PARTS_SUM,
  GA_NARROW
};
#define GA_GEMM_LAST GA_GEMM_FINE_XX
#define GA_BLAS_SIDES 16
#define GA_SIDE_ITEMS 256 /* of a group of NARROW and OUTER; PARTS_SUM has fewer */
#define GA_OUTER (GA_NARROW + 3 * GA_BLAS_SIDES)
#define GA_BLAS_KIND_COUNT (GA_OUTER + GA_BLAS_SIDES)

/* How a kernel is built, which its launch must know. */
typedef struct ga_blas_shape {
  unsigned int lanes;       /* items of a CPU's group */
  unsigned int width;       /* results side by side of an item */
  unsigned int rows;        /* of c in a tile of GEMM; ROWS: rows at once, on a CPU;
                               OUTER: the most of a group */
  unsigned int columns;     /* of c in a tile of GEMM */
  unsigned int depth;       /* terms of a tile */
  unsigned int tall, broad; /* of a GPU's tile, what one item makes; OUTER: broad */
  unsigned int fold;        /* NARROW: of the `tall` rows, those summed up at a time */
  unsigned int local;       /* NARROW: elements of local memory */
  unsigned int items;       /* of a group of GEMM, NARROW and OUTER */
  unsigned int pack;        /* elements read at a time where that is possible */
} ga_blas_shape;

/* -1 unless there are products of this type. */
int ga__blas_type_index(int typecode);

ga_blas_shape ga__blas_shape(const gpucontext *ctx, enum ga_blas_kind kind,
                             int typecode);

/* The source of a kernel. Its arguments are, each array with its offset, integers in 64
 * bits but for the last, real numbers of the type of the work:
 * GEMM     c, a, b; m, n, k, rows of a tile, terms of a part if the batch is of those,
 *          or 0; strides of a (2), b (2), c (2); steps of the batch of a, b, c; alpha
 * (2), beta (2); the signs of the imaginary parts of a and b; whether c is read (int32)
 * GEMV     y, a, x; m, n, rows of a group; strides of a (2), x, y; alpha, beta, signs,
 *          whether y is read as above
 * PARTS    part, a, x; n, terms of a group; strides of a, x; signs
 * SUM      c, part; n; alpha, beta; whether c is read
 * NARROW   c, a, b; m, k, terms of a group of dimension 1, distance of the parts of c;
 *          strides of a (2), b (2), c (2); alpha, beta (real); whether c is read, and
 *          whether dimension 0 of a group goes down the rows, not along k (int32)
 * OUTER    a, b; m, n, rows of a group; strides of a (2), b (2); c and its strides (2);
 *          alpha, beta, whether c is read
 * PARTS_SUM  parts; elements of c, number of parts, columns of c; c, its strides (2);
 *          alpha, beta, whether c is read
 *
 * The caller clears out->body. */
int ga__blas_source(ga_source *out, const gpucontext *ctx, enum ga_blas_kind kind,
                    int typecode);

/* A kind of OUTER, or PARTS_SUM, that stores what an expression makes of each sum, its
 * argument spec->made: instead of c and what comes after it the kernel takes the
 * others, each array with its strides (2). */
int ga__blas_mapped_source(ga_source *out, const gpucontext *ctx,
                           enum ga_blas_kind kind, int typecode,
                           const ga_elem_spec *spec);

/* The kernel, which the context keeps. */
int ga__blas_kernel(gpukernel **out, gpucontext *ctx, enum ga_blas_kind kind,
                    int typecode);

#endif
