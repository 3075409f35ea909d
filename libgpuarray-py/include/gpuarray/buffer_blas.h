/* BLAS over raw buffers, under the names of libgpuarray 0.7.
 *
 * The letter is the type: h half, b bfloat16, s float, d double, c cfloat, z cdouble.
 * Offsets, increments and leading dimensions are in elements; but gemvBatch and
 * gerBatch have offsets in BYTES, as in 0.7. `order` is the layout of the matrices. A
 * leading dimension is at least the length of a stored row (cb_row) or column
 * (cb_column). A vector with a negative increment begins at its end, as in BLAS. alpha
 * and beta are numbers, for c and z pointers to real and imaginary part; with beta 0
 * the output is not read.
 *
 * All buffers of a call are of one context. Ownership: buffers are borrowed and live
 * until the queued work is done. Waiting: calls queue work and do not wait; inputs that
 * overlap an output are copied. A batch behaves as if its products ran in order, so
 * that several may add to one output; matrices at equal strides in one buffer become
 * one call of the vendor's library. Threads: functions may be called from several at
 * once. Failure: GA_INVALID_ERROR for numbers outside an enum and for nonzero flags;
 * GA_VALUE_ERROR for NULL and for operands that reach outside their buffers or do not
 * fit; GA_DEVSUP_ERROR for types that the device lacks; outputs are then unchanged. */
#ifndef GPUARRAY_BUFFER_BLAS_H
#define GPUARRAY_BUFFER_BLAS_H

#include <gpuarray/buffer.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
typedef enum _cb_order { cb_row = 0, cb_column = 1 } cb_order;
#define cb_c cb_row
#define cb_fortran cb_column

typedef enum _cb_side { cb_left = 0, cb_right = 1 } cb_side;

typedef enum _cb_transpose {
  cb_no_trans = 0,
  cb_trans = 1,
  cb_conj_trans = 2
} cb_transpose;

typedef enum _cb_uplo { cb_upper = 0, cb_lower = 1 } cb_uplo;

/* Opens the vendor's BLAS, which the first product does otherwise; optional. Without
 * such a library our own kernels serve. */
int gpublas_setup(gpucontext *ctx);
/* Does nothing: the library lives as long as the context. */
void gpublas_teardown(gpucontext *ctx);
/* The text of the last failure on this thread. */
const char *gpublas_error(gpucontext *ctx);

/* Z = sum of X[i] Y[i], both of N elements. */
int gpublas_hdot(size_t N, gpudata *X, size_t offX, size_t incX, gpudata *Y,
                 size_t offY, size_t incY, gpudata *Z, size_t offZ);
int gpublas_bdot(size_t N, gpudata *X, size_t offX, size_t incX, gpudata *Y,
                 size_t offY, size_t incY, gpudata *Z, size_t offZ);
int gpublas_sdot(size_t N, gpudata *X, size_t offX, size_t incX, gpudata *Y,
                 size_t offY, size_t incY, gpudata *Z, size_t offZ);
int gpublas_ddot(size_t N, gpudata *X, size_t offX, size_t incX, gpudata *Y,
                 size_t offY, size_t incY, gpudata *Z, size_t offZ);
int gpublas_cdot(size_t N, gpudata *X, size_t offX, size_t incX, gpudata *Y,
                 size_t offY, size_t incY, gpudata *Z, size_t offZ);
int gpublas_zdot(size_t N, gpudata *X, size_t offX, size_t incX, gpudata *Y,
                 size_t offY, size_t incY, gpudata *Z, size_t offZ);

/* Y = alpha op(A) X + beta Y. A is (M, N). */
int gpublas_hgemv(cb_order order, cb_transpose transA, size_t M, size_t N, float alpha,
                  gpudata *A, size_t offA, size_t lda, gpudata *X, size_t offX,
                  int incX, float beta, gpudata *Y, size_t offY, int incY);
int gpublas_bgemv(cb_order order, cb_transpose transA, size_t M, size_t N, float alpha,
                  gpudata *A, size_t offA, size_t lda, gpudata *X, size_t offX,
                  int incX, float beta, gpudata *Y, size_t offY, int incY);
int gpublas_sgemv(cb_order order, cb_transpose transA, size_t M, size_t N, float alpha,
                  gpudata *A, size_t offA, size_t lda, gpudata *X, size_t offX,
                  int incX, float beta, gpudata *Y, size_t offY, int incY);
int gpublas_dgemv(cb_order order, cb_transpose transA, size_t M, size_t N, double alpha,
                  gpudata *A, size_t offA, size_t lda, gpudata *X, size_t offX,
                  int incX, double beta, gpudata *Y, size_t offY, int incY);
int gpublas_cgemv(cb_order order, cb_transpose transA, size_t M, size_t N,
                  const float *alpha, gpudata *A, size_t offA, size_t lda, gpudata *X,
                  size_t offX, int incX, const float *beta, gpudata *Y, size_t offY,
                  int incY);
int gpublas_zgemv(cb_order order, cb_transpose transA, size_t M, size_t N,
                  const double *alpha, gpudata *A, size_t offA, size_t lda, gpudata *X,
                  size_t offX, int incX, const double *beta, gpudata *Y, size_t offY,
                  int incY);

/* C = alpha op(A) op(B) + beta C. op(A) is (M, K), op(B) (K, N). */
int gpublas_hgemm(cb_order order, cb_transpose transA, cb_transpose transB, size_t M,
                  size_t N, size_t K, float alpha, gpudata *A, size_t offA, size_t lda,
                  gpudata *B, size_t offB, size_t ldb, float beta, gpudata *C,
                  size_t offC, size_t ldc);
int gpublas_bgemm(cb_order order, cb_transpose transA, cb_transpose transB, size_t M,
                  size_t N, size_t K, float alpha, gpudata *A, size_t offA, size_t lda,
                  gpudata *B, size_t offB, size_t ldb, float beta, gpudata *C,
                  size_t offC, size_t ldc);
int gpublas_sgemm(cb_order order, cb_transpose transA, cb_transpose transB, size_t M,
                  size_t N, size_t K, float alpha, gpudata *A, size_t offA, size_t lda,
                  gpudata *B, size_t offB, size_t ldb, float beta, gpudata *C,
                  size_t offC, size_t ldc);
int gpublas_dgemm(cb_order order, cb_transpose transA, cb_transpose transB, size_t M,
                  size_t N, size_t K, double alpha, gpudata *A, size_t offA, size_t lda,
                  gpudata *B, size_t offB, size_t ldb, double beta, gpudata *C,
                  size_t offC, size_t ldc);
int gpublas_cgemm(cb_order order, cb_transpose transA, cb_transpose transB, size_t M,
                  size_t N, size_t K, const float *alpha, gpudata *A, size_t offA,
                  size_t lda, gpudata *B, size_t offB, size_t ldb, const float *beta,
                  gpudata *C, size_t offC, size_t ldc);
int gpublas_zgemm(cb_order order, cb_transpose transA, cb_transpose transB, size_t M,
                  size_t N, size_t K, const double *alpha, gpudata *A, size_t offA,
                  size_t lda, gpudata *B, size_t offB, size_t ldb, const double *beta,
                  gpudata *C, size_t offC, size_t ldc);

/* A = alpha X Y^T + A. A is (M, N). */
int gpublas_hger(cb_order order, size_t M, size_t N, float alpha, gpudata *X,
                 size_t offX, int incX, gpudata *Y, size_t offY, int incY, gpudata *A,
                 size_t offA, size_t lda);
int gpublas_bger(cb_order order, size_t M, size_t N, float alpha, gpudata *X,
                 size_t offX, int incX, gpudata *Y, size_t offY, int incY, gpudata *A,
                 size_t offA, size_t lda);
int gpublas_sger(cb_order order, size_t M, size_t N, float alpha, gpudata *X,
                 size_t offX, int incX, gpudata *Y, size_t offY, int incY, gpudata *A,
                 size_t offA, size_t lda);
int gpublas_dger(cb_order order, size_t M, size_t N, double alpha, gpudata *X,
                 size_t offX, int incX, gpudata *Y, size_t offY, int incY, gpudata *A,
                 size_t offA, size_t lda);
int gpublas_cger(cb_order order, size_t M, size_t N, const float *alpha, gpudata *X,
                 size_t offX, int incX, gpudata *Y, size_t offY, int incY, gpudata *A,
                 size_t offA, size_t lda);
int gpublas_zger(cb_order order, size_t M, size_t N, const double *alpha, gpudata *X,
                 size_t offX, int incX, gpudata *Y, size_t offY, int incY, gpudata *A,
                 size_t offA, size_t lda);

/* gemm of each A[i], B[i], C[i], at offsets offA[i], offB[i], offC[i] in elements. */
int gpublas_hgemmBatch(cb_order order, cb_transpose transA, cb_transpose transB,
                       size_t M, size_t N, size_t K, float alpha, gpudata **A,
                       size_t *offA, size_t lda, gpudata **B, size_t *offB, size_t ldb,
                       float beta, gpudata **C, size_t *offC, size_t ldc,
                       size_t batchCount, int flags);
int gpublas_bgemmBatch(cb_order order, cb_transpose transA, cb_transpose transB,
                       size_t M, size_t N, size_t K, float alpha, gpudata **A,
                       size_t *offA, size_t lda, gpudata **B, size_t *offB, size_t ldb,
                       float beta, gpudata **C, size_t *offC, size_t ldc,
                       size_t batchCount, int flags);
int gpublas_sgemmBatch(cb_order order, cb_transpose transA, cb_transpose transB,
                       size_t M, size_t N, size_t K, float alpha, gpudata **A,
                       size_t *offA, size_t lda, gpudata **B, size_t *offB, size_t ldb,
                       float beta, gpudata **C, size_t *offC, size_t ldc,
                       size_t batchCount, int flags);
int gpublas_dgemmBatch(cb_order order, cb_transpose transA, cb_transpose transB,
                       size_t M, size_t N, size_t K, double alpha, gpudata **A,
                       size_t *offA, size_t lda, gpudata **B, size_t *offB, size_t ldb,
                       double beta, gpudata **C, size_t *offC, size_t ldc,
                       size_t batchCount, int flags);
int gpublas_cgemmBatch(cb_order order, cb_transpose transA, cb_transpose transB,
                       size_t M, size_t N, size_t K, const float *alpha, gpudata **A,
                       size_t *offA, size_t lda, gpudata **B, size_t *offB, size_t ldb,
                       const float *beta, gpudata **C, size_t *offC, size_t ldc,
                       size_t batchCount, int flags);
int gpublas_zgemmBatch(cb_order order, cb_transpose transA, cb_transpose transB,
                       size_t M, size_t N, size_t K, const double *alpha, gpudata **A,
                       size_t *offA, size_t lda, gpudata **B, size_t *offB, size_t ldb,
                       const double *beta, gpudata **C, size_t *offC, size_t ldc,
                       size_t batchCount, int flags);

/* gemm of `batchCount` matrices at equal strides: strideA, strideB, strideC elements.
 */
int gpublas_hgemm3D(cb_order order, cb_transpose transA, cb_transpose transB, size_t M,
                    size_t N, size_t K, float alpha, gpudata *A, size_t offA,
                    size_t lda, ssize_t strideA, gpudata *B, size_t offB, size_t ldb,
                    ssize_t strideB, float beta, gpudata *C, size_t offC, size_t ldc,
                    ssize_t strideC, size_t batchCount, int flags);
int gpublas_bgemm3D(cb_order order, cb_transpose transA, cb_transpose transB, size_t M,
                    size_t N, size_t K, float alpha, gpudata *A, size_t offA,
                    size_t lda, ssize_t strideA, gpudata *B, size_t offB, size_t ldb,
                    ssize_t strideB, float beta, gpudata *C, size_t offC, size_t ldc,
                    ssize_t strideC, size_t batchCount, int flags);
int gpublas_sgemm3D(cb_order order, cb_transpose transA, cb_transpose transB, size_t M,
                    size_t N, size_t K, float alpha, gpudata *A, size_t offA,
                    size_t lda, ssize_t strideA, gpudata *B, size_t offB, size_t ldb,
                    ssize_t strideB, float beta, gpudata *C, size_t offC, size_t ldc,
                    ssize_t strideC, size_t batchCount, int flags);
int gpublas_dgemm3D(cb_order order, cb_transpose transA, cb_transpose transB, size_t M,
                    size_t N, size_t K, double alpha, gpudata *A, size_t offA,
                    size_t lda, ssize_t strideA, gpudata *B, size_t offB, size_t ldb,
                    ssize_t strideB, double beta, gpudata *C, size_t offC, size_t ldc,
                    ssize_t strideC, size_t batchCount, int flags);
int gpublas_cgemm3D(cb_order order, cb_transpose transA, cb_transpose transB, size_t M,
                    size_t N, size_t K, const float *alpha, gpudata *A, size_t offA,
                    size_t lda, ssize_t strideA, gpudata *B, size_t offB, size_t ldb,
                    ssize_t strideB, const float *beta, gpudata *C, size_t offC,
                    size_t ldc, ssize_t strideC, size_t batchCount, int flags);
int gpublas_zgemm3D(cb_order order, cb_transpose transA, cb_transpose transB, size_t M,
                    size_t N, size_t K, const double *alpha, gpudata *A, size_t offA,
                    size_t lda, ssize_t strideA, gpudata *B, size_t offB, size_t ldb,
                    ssize_t strideB, const double *beta, gpudata *C, size_t offC,
                    size_t ldc, ssize_t strideC, size_t batchCount, int flags);

/* gemv of each A[i], x[i], y[i]; offsets in bytes. */
int gpublas_hgemvBatch(cb_order order, cb_transpose transA, size_t M, size_t N,
                       float alpha, gpudata **A, size_t *offA, size_t lda, gpudata **x,
                       size_t *offX, size_t incX, float beta, gpudata **y, size_t *offY,
                       size_t incY, size_t batchCount, int flags);
int gpublas_bgemvBatch(cb_order order, cb_transpose transA, size_t M, size_t N,
                       float alpha, gpudata **A, size_t *offA, size_t lda, gpudata **x,
                       size_t *offX, size_t incX, float beta, gpudata **y, size_t *offY,
                       size_t incY, size_t batchCount, int flags);
int gpublas_sgemvBatch(cb_order order, cb_transpose transA, size_t M, size_t N,
                       float alpha, gpudata **A, size_t *offA, size_t lda, gpudata **x,
                       size_t *offX, size_t incX, float beta, gpudata **y, size_t *offY,
                       size_t incY, size_t batchCount, int flags);
int gpublas_dgemvBatch(cb_order order, cb_transpose transA, size_t M, size_t N,
                       double alpha, gpudata **A, size_t *offA, size_t lda, gpudata **x,
                       size_t *offX, size_t incX, double beta, gpudata **y,
                       size_t *offY, size_t incY, size_t batchCount, int flags);
int gpublas_cgemvBatch(cb_order order, cb_transpose transA, size_t M, size_t N,
                       const float *alpha, gpudata **A, size_t *offA, size_t lda,
                       gpudata **x, size_t *offX, size_t incX, const float *beta,
                       gpudata **y, size_t *offY, size_t incY, size_t batchCount,
                       int flags);
int gpublas_zgemvBatch(cb_order order, cb_transpose transA, size_t M, size_t N,
                       const double *alpha, gpudata **A, size_t *offA, size_t lda,
                       gpudata **x, size_t *offX, size_t incX, const double *beta,
                       gpudata **y, size_t *offY, size_t incY, size_t batchCount,
                       int flags);

/* ger of each x[i], y[i], A[i]; offsets in bytes. */
int gpublas_hgerBatch(cb_order order, size_t M, size_t N, float alpha, gpudata **x,
                      size_t *offX, size_t incX, gpudata **y, size_t *offY, size_t incY,
                      gpudata **A, size_t *offA, size_t lda, size_t batchCount,
                      int flags);
int gpublas_bgerBatch(cb_order order, size_t M, size_t N, float alpha, gpudata **x,
                      size_t *offX, size_t incX, gpudata **y, size_t *offY, size_t incY,
                      gpudata **A, size_t *offA, size_t lda, size_t batchCount,
                      int flags);
int gpublas_sgerBatch(cb_order order, size_t M, size_t N, float alpha, gpudata **x,
                      size_t *offX, size_t incX, gpudata **y, size_t *offY, size_t incY,
                      gpudata **A, size_t *offA, size_t lda, size_t batchCount,
                      int flags);
int gpublas_dgerBatch(cb_order order, size_t M, size_t N, double alpha, gpudata **x,
                      size_t *offX, size_t incX, gpudata **y, size_t *offY, size_t incY,
                      gpudata **A, size_t *offA, size_t lda, size_t batchCount,
                      int flags);
int gpublas_cgerBatch(cb_order order, size_t M, size_t N, const float *alpha,
                      gpudata **x, size_t *offX, size_t incX, gpudata **y, size_t *offY,
                      size_t incY, gpudata **A, size_t *offA, size_t lda,
                      size_t batchCount, int flags);
int gpublas_zgerBatch(cb_order order, size_t M, size_t N, const double *alpha,
                      gpudata **x, size_t *offX, size_t incX, gpudata **y, size_t *offY,
                      size_t incY, gpudata **A, size_t *offA, size_t lda,
                      size_t batchCount, int flags);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
