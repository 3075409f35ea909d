/* Factorizations of dense matrices, and what is solved with them.
 *
 * They are made by the vendor's library (cuSOLVER on CUDA); gpuarray_solves tells
 * whether the context has one. Arrays are stacks of matrices, (..., m, n), of float,
 * double, cfloat or cdouble. Matrices are overwritten in place and column-major: an
 * element lies right behind the one above it, and the axes before the last two have
 * steps as if they were one (the transposed view of a C-contiguous array is such a
 * stack). Vectors that belong to them, (..., k), are C-contiguous. `info` is a
 * C-contiguous GA_INT array of one element for each matrix, which is set to 0 where the
 * routine succeeds; where it is NULL a failure is told by the next wait on the context,
 * once, as GA_LINALG_ERROR.
 *
 * Ownership: arrays are borrowed; those of one call do not overlap. Waiting: all calls
 * are queued and do not wait, with the exception of GpuArray_eig, part of which the
 * host computes. Threads: they may be called from several at once. Failure:
 * GA_INVALID_ERROR (dtypes), GA_VALUE_ERROR (ranks, shapes, contexts, layouts, a
 * read-only output), GA_UNALIGNED_ERROR, GA_DEVSUP_ERROR where the context's vendor has
 * no such library or an older one, GA_UNSUPPORTED_ERROR in a plan that is being bound,
 * GA_MEMORY_ERROR; arrays are untouched then. */
#ifndef GPUARRAY_SOLVER_H
#define GPUARRAY_SOLVER_H

#include <gpuarray/blas.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
/* Whether the functions below are offered on this context, 1 or 0. Opens the vendor's
 * library when it is first asked. */
int gpuarray_solves(gpucontext *ctx);

/* A = L L^H, or U^H U: one triangle of the (n, n) matrices is read and replaced by the
 * factor, the other stays. They fail that are not positive definite. */
int GpuArray_cholesky(GpuArray *A, cb_uplo uplo, GpuArray *info);

/* A = P L U with row exchanges. `pivots` (GA_LONG, min(m, n)) has, counted from 1, the
 * row that each row was exchanged with. They fail of which a pivot is 0; the factors
 * are complete nevertheless. */
int GpuArray_lu(GpuArray *A, GpuArray *pivots, GpuArray *info);

/* B = the solution X of op(A) X = B, where LU and pivots are those of the (n, n)
 * matrices A, and B is (n, k). */
int GpuArray_lu_solve(cb_transpose trans, GpuArray *LU, GpuArray *pivots, GpuArray *B);

/* A = Q R: R in the upper triangle, below it and in `tau` (min(m, n), A's type) the
 * reflectors that Q is made of. */
int GpuArray_qr(GpuArray *A, GpuArray *tau);

/* Q from its reflectors: of `tau` (k) and the first k columns of A (m, n), as
 * GpuArray_qr leaves them, n orthonormal columns in A. k <= n <= m. */
int GpuArray_qr_vectors(GpuArray *A, GpuArray *tau);

/* A = U diag(S) V^H for m >= n. S (n, of the real type) is in descending order. U is
 * (m, n) or (m, m), Vh (n, n); both may be NULL. They fail that do not converge. */
int GpuArray_svd(GpuArray *A, GpuArray *S, GpuArray *U, GpuArray *Vh, GpuArray *info);

/* Eigenvalues W (n, of the real type, ascending) of (n, n) matrices that are Hermitian,
 * of which one triangle is read; with `vectors` A becomes the eigenvectors, else
 * undefined. */
int GpuArray_eigh(GpuArray *A, cb_uplo uplo, int vectors, GpuArray *W, GpuArray *info);

/* Eigenvalues W (n) and eigenvectors V (n, n) or NULL of complex (n, n) matrices. */
int GpuArray_eig(GpuArray *A, GpuArray *W, GpuArray *V, GpuArray *info);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
