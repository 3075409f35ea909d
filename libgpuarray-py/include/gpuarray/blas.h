/* BLAS over arrays of any strides: dot, gemv, gemm, ger and batched gemm.
 *
 * Types: half, bfloat16, float, double, cfloat and cdouble; all arrays of a call have
 * the same. half and bfloat16 accumulate in float. float stays float unless
 * gpucontext_set_tf32 allows less. Outputs are never copied; with beta 0 they are not
 * read. `nocopy` 0 permits copies of inputs: one that overlaps the output, or one whose
 * layout the vendor's library cannot read, where the product is large enough for the
 * copy to pay. With `nocopy` an overlap is GA_COPY_ERROR, and other layouts go to our
 * own kernels, which read any.
 *
 * Ownership: arrays are borrowed; their buffers live until the queued work is done.
 * Waiting: calls queue work and do not wait; except that on an OpenCL CPU device a
 * small product by the host's BLAS runs on the calling thread if the queue is idle.
 * Threads: functions may be called from several at once. Failure: GA_INVALID_ERROR for
 * a dtype other than those above; GA_VALUE_ERROR for dtypes, ranks, shapes or contexts
 * that do not fit and for an output that is read-only or repeats elements;
 * GA_UNALIGNED_ERROR, GA_COPY_ERROR and GA_MEMORY_ERROR; outputs are then untouched. */
#ifndef GPUARRAY_BLAS_H
#define GPUARRAY_BLAS_H

#include <gpuarray/array.h>
#include <gpuarray/buffer_blas.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
/* Z = sum of X[i] Y[i]. X and Y are vectors of the same length, Z is 0-d. */
int GpuArray_rdot(GpuArray *X, GpuArray *Y, GpuArray *Z, int nocopy);
/* GpuArray_rdot with the conjugates of X, as numpy.vdot. */
int GpuArray_rdotc(GpuArray *X, GpuArray *Y, GpuArray *Z, int nocopy);
/* Y = alpha op(A) X + beta Y. op(A) is (m, n), X (n), Y (m). */
int GpuArray_rgemv(cb_transpose transA, double alpha, GpuArray *A, GpuArray *X,
                   double beta, GpuArray *Y, int nocopy);
/* C = alpha op(A) op(B) + beta C. op(A) is (m, k), op(B) (k, n), C (m, n). */
int GpuArray_rgemm(cb_transpose transA, cb_transpose transB, double alpha, GpuArray *A,
                   GpuArray *B, double beta, GpuArray *C, int nocopy);
/* A = alpha X Y^T + A. X is (m), Y (n), A (m, n). */
int GpuArray_rger(double alpha, GpuArray *X, GpuArray *Y, GpuArray *A, int nocopy);
/* C[i] = alpha op(A[i]) op(B[i]) + beta C[i] for each i of the leading axis. In A and B
 * that axis may have length 1 or stride 0, to use one matrix throughout. */
int GpuArray_rgemmBatch_3d(cb_transpose transA, cb_transpose transB, double alpha,
                           GpuArray *A, GpuArray *B, double beta, GpuArray *C,
                           int nocopy);

/* The functions above for complex alpha and beta, each a pointer to real and imaginary
 * part. GA_VALUE_ERROR for a nonzero imaginary part if the type is not complex. */
int GpuArray_cgemv(cb_transpose transA, const double *alpha, GpuArray *A, GpuArray *X,
                   const double *beta, GpuArray *Y, int nocopy);
/* GpuArray_rgemm for complex alpha and beta. */
int GpuArray_cgemm(cb_transpose transA, cb_transpose transB, const double *alpha,
                   GpuArray *A, GpuArray *B, const double *beta, GpuArray *C,
                   int nocopy);
/* GpuArray_rger for complex alpha. */
int GpuArray_cgeru(const double *alpha, GpuArray *X, GpuArray *Y, GpuArray *A,
                   int nocopy);
/* A = alpha X Y^H + A. */
int GpuArray_cgerc(const double *alpha, GpuArray *X, GpuArray *Y, GpuArray *A,
                   int nocopy);
/* GpuArray_rgemmBatch_3d for complex alpha and beta. */
int GpuArray_cgemmBatch_3d(cb_transpose transA, cb_transpose transB,
                           const double *alpha, GpuArray *A, GpuArray *B,
                           const double *beta, GpuArray *C, int nocopy);

#define GA_ACTIVATION_NONE 0
#define GA_ACTIVATION_RELU 1

/* A product with bias and activation as its epilogue: C = activation(op(A) op(B) +
 * bias). `bias`, a vector of n, is added to each row. One call of the vendor's library
 * where that was measured faster, else a product and one pass over C. Real types only.
 * GA_ACTIVATION_RELU is max(0, x) and keeps NaN. */
int GpuArray_gemm_bias(cb_transpose transA, cb_transpose transB, GpuArray *A,
                       GpuArray *B, GpuArray *bias, int activation, GpuArray *C,
                       int nocopy);

/* Permits tf32 (10 bits of mantissa) for the factors of float products and of
 * convolutions by the vendor's library, for tensor cores; off by default. Applies to
 * work queued from now on by all threads; a plan keeps the setting of its binding.
 * Devices without tf32 ignore it. */
int gpucontext_set_tf32(gpucontext *ctx, int on);

/* Precompiles the library's own gemm kernels of float for an architecture ("sm_90" of
 * the backend "cuda"), without such a device, into the folder of that name in `folder`;
 * makes both folders. Waits about 20 s of processor time. A library loads kernels from
 * "gpuarray-kernels" beside it, or from the folder that the environment variable
 * GPUARRAY_SHIPPED_KERNELS names, if they were made from its own sources; those for
 * "sm_80" also serve "sm_86". *n is the number of kernels. GA_UNSUPPORTED_ERROR: the
 * backend compiles only for devices that are present; GA_DEVSUP_ERROR: its compiler
 * does not know the architecture; GA_LOAD_ERROR: there is no compiler; GA_SYS_ERROR:
 * the folder cannot be written. */
int gpuarray_keep_products(const char *backend, const char *arch, const char *folder,
                           unsigned int *n);
/* cdef: end */

#define GpuArray_hdot GpuArray_rdot
#define GpuArray_sdot GpuArray_rdot
#define GpuArray_ddot GpuArray_rdot
#define GpuArray_hgemv GpuArray_rgemv
#define GpuArray_sgemv GpuArray_rgemv
#define GpuArray_dgemv GpuArray_rgemv
#define GpuArray_hgemm GpuArray_rgemm
#define GpuArray_sgemm GpuArray_rgemm
#define GpuArray_dgemm GpuArray_rgemm
#define GpuArray_hger GpuArray_rger
#define GpuArray_sger GpuArray_rger
#define GpuArray_dger GpuArray_rger
#define GpuArray_hgemmBatch_3d GpuArray_rgemmBatch_3d
#define GpuArray_sgemmBatch_3d GpuArray_rgemmBatch_3d
#define GpuArray_dgemmBatch_3d GpuArray_rgemmBatch_3d

GPUARRAY_END_DECLS

#endif
