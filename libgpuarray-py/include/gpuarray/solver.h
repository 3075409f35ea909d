/* Factorizations of dense matrices and linear solves, by the vendor's library (cuSOLVER
 * on CUDA); gpuarray_solves tells if the context has one.
 *
 * Arrays are stacks of matrices, (..., m, n), of float, double, cfloat or cdouble.
 * Matrices are overwritten in place and column-major: a column is contiguous, and the
 * axes before the last two collapse into one (the transposed view of a C-contiguous
 * array is such a stack). Their vectors, (..., k), are C-contiguous. `info` is a
 * C-contiguous GA_INT array of one element for each matrix, 0 where the routine
 * succeeds; if it is NULL, the next wait on the context fails once with
 * GA_LINALG_ERROR.
 *
 * Ownership: arrays are borrowed; those of one call do not overlap. Waiting: calls
 * queue work and do not wait, except GpuArray_eig, which computes in part on the host.
 * Threads: functions may be called from several at once. Failure: GA_INVALID_ERROR
 * (dtypes), GA_VALUE_ERROR (ranks, shapes, contexts, layouts, a read-only output),
 * GA_UNALIGNED_ERROR, GA_DEVSUP_ERROR if the context has no such library or too old a
 * one, GA_UNSUPPORTED_ERROR in a plan that is being bound, GA_MEMORY_ERROR; arrays are
 * then untouched. */
#ifndef GPUARRAY_SOLVER_H
#define GPUARRAY_SOLVER_H

#include <gpuarray/blas.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
/* 1 if the context has the functions below, else 0. The first call opens the vendor's
 * library. */
int gpuarray_solves(gpucontext *ctx);

/* Cholesky: A = L L^H, or U^H U. One triangle of the (n, n) matrices is read and
 * replaced by the factor, the other stays. Matrices that are not positive definite
 * fail. */
int GpuArray_cholesky(GpuArray *A, cb_uplo uplo, GpuArray *info);

/* LU with partial pivoting: A = P L U. `pivots` (GA_LONG, min(m, n)) is, counted from
 * 1, the row that each row was exchanged with. Matrices with a pivot of 0 fail; their
 * factors are complete nevertheless. */
int GpuArray_lu(GpuArray *A, GpuArray *pivots, GpuArray *info);

/* Solves op(A) X = B; X overwrites B, (n, k). LU and pivots are those of the (n, n)
 * matrices A. */
int GpuArray_lu_solve(cb_transpose trans, GpuArray *LU, GpuArray *pivots, GpuArray *B);

/* QR: A = Q R. R is the upper triangle; below it and in `tau` (min(m, n), of A's type)
 * are the Householder reflectors of Q. */
int GpuArray_qr(GpuArray *A, GpuArray *tau);

/* Q from its reflectors, `tau` (k) and the first k columns of A (m, n) as GpuArray_qr
 * leaves them: A becomes n orthonormal columns. k <= n <= m. */
int GpuArray_qr_vectors(GpuArray *A, GpuArray *tau);

/* SVD: A = U diag(S) V^H for m >= n. S (n, of the real type) descends. U is (m, n) or
 * (m, m), Vh (n, n); both may be NULL. Matrices that do not converge fail. */
int GpuArray_svd(GpuArray *A, GpuArray *S, GpuArray *U, GpuArray *Vh, GpuArray *info);

/* Eigenvalues W (n, of the real type, ascending) of Hermitian (n, n) matrices, of which
 * one triangle is read. With `vectors` A becomes the eigenvectors, else undefined. */
int GpuArray_eigh(GpuArray *A, cb_uplo uplo, int vectors, GpuArray *W, GpuArray *info);

/* Eigenvalues W (n) and eigenvectors V (n, n) or NULL of complex (n, n) matrices. */
int GpuArray_eig(GpuArray *A, GpuArray *W, GpuArray *V, GpuArray *info);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
