/* Built-in BLAS kernels: what they compute, and their arguments. */
#ifndef GA_C_BLAS_KERNELS_H
#define GA_C_BLAS_KERNELS_H

#include "c/elemwise/elemwise_spec.h"

/* Kernels; element strides of any sign (the output's not 0). Deterministic: every sum
 * has a fixed order. The output is read only if beta is not 0.
 *
 * GEMM: c[i, j] = alpha sum_k a[i, k] b[k, j] + beta c[i, j], batched. On GPUs SMALL
 * and LARGE differ in tile size; PACKED has LARGE's tiles and vector loads (16 bytes,
 * or four halves), for a (first letter) and b (second) contiguous along k (K) or across
 * (X), everything else aligned to that; MEDIUM is PACKED with half the tile, FINE with
 * a sixteenth, for float and shorter types. DEEP has tiles of 16 by 16 results (WIDE:
 * 16 by 32, BROAD: 32 by 32), whose terms the teams of a group share: one product of
 * real type, not batched.
 *
 * GEMV ROWS: y[i] = alpha sum_j a[i, j] x[j] + beta y[i], fast for contiguous rows;
 * COLUMNS: fast for contiguous columns; PACKS: with vector loads. DOT PARTS: part[g] =
 * sum of group g's terms a[j] x[j], in the work type; SUM: c = alpha sum_j part[j] +
 * beta c.
 *
 * NARROW: skinny GEMM, c with 1 to GA_BLAS_SIDES columns, also as a split-K part; real
 * types on GPUs; a kind per number of columns, for 1, then 2, then 4 rows per item.
 * OUTER: small-K GEMM, a kind per number of terms. PARTS_SUM: second pass of split-K, c
 * = alpha (sum of parts) + beta c. */
enum ga_blas_kind {
  GA_GEMM_SMALL, /* the only one on CPUs */
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
  GA_GEMM_DEEP_KK,
  GA_GEMM_DEEP_KX,
  GA_GEMM_DEEP_XK,
  GA_GEMM_DEEP_XX,
  GA_GEMM_WIDE_KK,
  GA_GEMM_WIDE_KX,
  GA_GEMM_WIDE_XK,
  GA_GEMM_WIDE_XX,
  GA_GEMM_BROAD_KK,
  GA_GEMM_BROAD_KX,
  GA_GEMM_BROAD_XK,
  GA_GEMM_BROAD_XX,
  GA_GEMV_ROWS,
  GA_GEMV_ROWS_PACKS,
  GA_GEMV_COLUMNS,
  GA_GEMV_COLUMNS_PACKS,
  GA_DOT_PARTS,
  GA_DOT_SUM,
  GA_PARTS_SUM,
  GA_NARROW
};
#define GA_GEMM_LAST GA_GEMM_BROAD_XX
#define GA_BLAS_SIDES 16
#define GA_SIDE_ITEMS 256 /* block size of NARROW and OUTER; PARTS_SUM has fewer */
#define GA_OUTER (GA_NARROW + 3 * GA_BLAS_SIDES)
#define GA_BLAS_KIND_COUNT (GA_OUTER + GA_BLAS_SIDES)

/* Blocking parameters of a kernel, also needed by its launch. */
typedef struct ga_blas_shape {
  unsigned int lanes;   /* CPU: items per work group */
  unsigned int width;   /* CPU: adjacent results per item */
  unsigned int rows;    /* GEMM: rows of a tile; CPU ROWS: rows at once; OUTER: maximum
                           rows per group */
  unsigned int columns; /* GEMM: columns of a tile */
  unsigned int depth;   /* K-depth of a tile */
  unsigned int tall, broad; /* GPU: register tile of an item; OUTER: broad only */
  unsigned int fold;        /* NARROW: rows reduced at a time */
  unsigned int local;       /* NARROW, DEEP: elements of local memory */
  unsigned int teams;       /* DEEP: parts of a group */
  unsigned int items;       /* block size of GEMM, NARROW and OUTER */
  unsigned int pack;        /* elements of a vector load */
} ga_blas_shape;

/* Index of the type, or -1 if there are no products of it. */
int ga__blas_type_index(int typecode);

ga_blas_shape ga__blas_shape(const gpucontext *ctx, enum ga_blas_kind kind,
                             int typecode);

/* Source of a kernel. Arguments: arrays with byte offsets, 64-bit integers except the
 * last, reals in the work type:
 *
 * GEMM: c, a, b; m, n, k, rows of a tile, terms per split-K part or 0; strides of a
 * (2), b (2), c (2); batch strides of a, b, c; alpha (2), beta (2); signs of the
 * imaginary parts of a and b (conjugation); c is read (int32). GEMV: y, a, x; m, n,
 * rows per group; strides of a (2), x, y; alpha, beta, signs, y is read. PARTS: part,
 * a, x; n, terms per group; strides of a, x; signs. SUM: c, part; n; alpha, beta; c is
 * read. NARROW: c, a, b; m, k, terms per group of dimension 1, stride of c's parts;
 * strides of a (2), b (2), c (2); alpha, beta (real); c is read; dimension 0 of a block
 * runs over rows, not along k (int32). OUTER: a, b; m, n, rows per group; strides of a
 * (2), b (2); c and its strides (2); alpha, beta, c is read. DEEP: the same, with k in
 * place of rows per group. PARTS_SUM: parts; elements
 * of c, number of parts, columns of c; c, its strides (2); alpha, beta, c is read.
 *
 * The caller clears out->body. */
int ga__blas_source(ga_source *out, const gpucontext *ctx, enum ga_blas_kind kind,
                    int typecode);

/* Source of an OUTER or a DEEP kind, or PARTS_SUM, with an epilogue: stores an
 * expression of each sum, its argument spec->made. In place of c and all after it the
 * kernel takes the other arguments, arrays with strides (2). */
int ga__blas_mapped_source(ga_source *out, const gpucontext *ctx,
                           enum ga_blas_kind kind, int typecode,
                           const ga_elem_spec *spec);

/* The kernel, cached by the context. */
int ga__blas_kernel(gpukernel **out, gpucontext *ctx, enum ga_blas_kind kind,
                    int typecode);

#endif
