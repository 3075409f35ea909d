/* The texts of our own matrix products, for devices without a vendor's BLAS. */
#ifndef GA_C_BLAS_KERNELS_H
#define GA_C_BLAS_KERNELS_H

#include "c/kernel.h"

/* What they compute, over element strides of any sign (those of y and c not 0):
 * GEMM     c[i, j] = alpha sum_k a[i, k] b[k, j] + beta c[i, j]
 * ROWS     y[i] = alpha sum_j a[i, j] x[j] + beta y[i], fast where a's rows are
 *          contiguous
 * COLUMNS  the same, fast where a's columns are.
 * With beta 0 the output is not read. Each sum has one order, so that the same input
 * gives the same bits. */
enum ga_blas_kind { GA_BLAS_GEMM, GA_BLAS_ROWS, GA_BLAS_COLUMNS };

/* How a kernel was built, which its launch must know. */
typedef struct ga_blas_shape {
  unsigned int lanes; /* items of a CPU's group */
  unsigned int width; /* results side by side of an item */
  unsigned int rows;  /* GEMM: rows of a tile; ROWS: rows at once, on a CPU */
} ga_blas_shape;

ga_blas_shape ga__blas_shape(const gpucontext *ctx, enum ga_blas_kind kind,
                             int typecode);

/* Arguments of GEMM: c, a, b, each with its offset; m, n, k, rows of a tile; strides of
 * a (2), b (2), c (2); alpha, beta. Of the others: y, a, x with offsets; m, n, rows of
 * a group; strides of a (2), x, y; alpha, beta. Integers are 64-bit, alpha and beta of
 * the type. The caller clears out->body. */
int ga__blas_source(ga_source *out, const gpucontext *ctx, enum ga_blas_kind kind,
                    int typecode);

#endif
