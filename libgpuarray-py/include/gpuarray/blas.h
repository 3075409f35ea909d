/* Products of matrices and vectors over arrays of any strides.
 *
 * Types: half, bfloat16, float, double, cfloat and cdouble; all arrays of a call have
 * one. half and bfloat16 are summed in float. float stays float unless
 * gpucontext_set_tf32 allows less. Outputs are never copied; with beta 0 they are not
 * read. `nocopy` is 0 where an input may be copied: one that overlaps the output, or
 * one of a layout that the vendor's library cannot read, in a product so large that the
 * copy pays. Otherwise the first is GA_COPY_ERROR, and the second is made by our own
 * kernels, which read every layout.
 *
 * Ownership: arrays are borrowed; their buffers live until the queued work is done.
 * Waiting: all calls are queued and do not wait, with one exception that nobody can
 * observe but by a clock: on an OpenCL CPU device a product that the host's BLAS makes
 * runs on the calling thread if the queue is idle and the product is small. Threads:
 * they may be called from several at once. Failure: GA_INVALID_ERROR for a dtype that
 * is not among those above, GA_VALUE_ERROR for dtypes, ranks, shapes or contexts that
 * do not fit and for an output that may not be written or repeats elements,
 * GA_UNALIGNED_ERROR, GA_COPY_ERROR and GA_MEMORY_ERROR; outputs are untouched then. */
#ifndef GPUARRAY_BLAS_H
#define GPUARRAY_BLAS_H

#include <gpuarray/array.h>
#include <gpuarray/buffer_blas.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
/* Z = the sum of X[i] Y[i]. X and Y are vectors of one length, Z is 0-d. */
int GpuArray_rdot(GpuArray *X, GpuArray *Y, GpuArray *Z, int nocopy);
/* The same with the conjugates of X (NumPy's vdot). */
int GpuArray_rdotc(GpuArray *X, GpuArray *Y, GpuArray *Z, int nocopy);
/* Y = alpha op(A) X + beta Y. op(A) is (m, n), X a vector of n, Y of m. */
int GpuArray_rgemv(cb_transpose transA, double alpha, GpuArray *A, GpuArray *X,
                   double beta, GpuArray *Y, int nocopy);
/* C = alpha op(A) op(B) + beta C. op(A) is (m, k), op(B) (k, n), C (m, n). */
int GpuArray_rgemm(cb_transpose transA, cb_transpose transB, double alpha, GpuArray *A,
                   GpuArray *B, double beta, GpuArray *C, int nocopy);
/* A = alpha X Y^T + A. X is a vector of m, Y of n, A is (m, n). */
int GpuArray_rger(double alpha, GpuArray *X, GpuArray *Y, GpuArray *A, int nocopy);
/* C[i] = alpha op(A[i]) op(B[i]) + beta C[i] for each i of the leading axis, which in A
 * and B may be 1 long (or have stride 0) where one matrix is used over and over. */
int GpuArray_rgemmBatch_3d(cb_transpose transA, cb_transpose transB, double alpha,
                           GpuArray *A, GpuArray *B, double beta, GpuArray *C,
                           int nocopy);

/* As those of the same name above, for complex factors: each is a pointer to its real
 * and its imaginary part. The imaginary part must be 0 where the type is not complex
 * (GA_VALUE_ERROR). */
int GpuArray_cgemv(cb_transpose transA, const double *alpha, GpuArray *A, GpuArray *X,
                   const double *beta, GpuArray *Y, int nocopy);
/* As GpuArray_rgemm, for complex factors. */
int GpuArray_cgemm(cb_transpose transA, cb_transpose transB, const double *alpha,
                   GpuArray *A, GpuArray *B, const double *beta, GpuArray *C,
                   int nocopy);
/* As GpuArray_rger, for a complex factor. */
int GpuArray_cgeru(const double *alpha, GpuArray *X, GpuArray *Y, GpuArray *A,
                   int nocopy);
/* A = alpha X Y^H + A. */
int GpuArray_cgerc(const double *alpha, GpuArray *X, GpuArray *Y, GpuArray *A,
                   int nocopy);
/* As GpuArray_rgemmBatch_3d, for complex factors. */
int GpuArray_cgemmBatch_3d(cb_transpose transA, cb_transpose transB,
                           const double *alpha, GpuArray *A, GpuArray *B,
                           const double *beta, GpuArray *C, int nocopy);

#define GA_ACTIVATION_NONE 0
#define GA_ACTIVATION_RELU 1

/* C = activation(op(A) op(B) + bias): bias is a vector of n, added to every row. By one
 * call of the vendor's library where that was timed faster, else a product and one pass
 * over C. Real types only. GA_ACTIVATION_RELU is max(0, x), which keeps NaN. */
int GpuArray_gemm_bias(cb_transpose transA, cb_transpose transB, GpuArray *A,
                       GpuArray *B, GpuArray *bias, int activation, GpuArray *C,
                       int nocopy);

/* Whether products of float may round their factors to tf32 (10 bits of mantissa) for
 * tensor cores: 0 at first. For what is queued from now on, from all threads; a plan
 * keeps what held when it was bound. Devices without tf32 ignore it. */
int gpucontext_set_tf32(gpucontext *ctx, int on);

/* Compiles the library's own kernels of products of float for an architecture ("sm_90"
 * of the backend "cuda"), on a machine that may lack such a device, into a folder of
 * that name in `folder`; both are made if need be. It waits for that: 20 s of a
 * processor. A library takes kernels from "gpuarray-kernels" beside it, or from what
 * GPUARRAY_SHIPPED_KERNELS names, in place of compiling them, if they are of its own
 * sources; those for "sm_80" serve "sm_86", too. *n is how many there are.
 * GA_UNSUPPORTED_ERROR: the backend compiles for devices that are there alone;
 * GA_DEVSUP_ERROR: its compiler does not know the architecture; GA_LOAD_ERROR: there is
 * no compiler; GA_SYS_ERROR: the folder cannot be written to. */
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
