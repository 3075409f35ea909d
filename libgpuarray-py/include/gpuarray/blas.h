/* Matrix products over arrays of any strides. */
#ifndef GPUARRAY_BLAS_H
#define GPUARRAY_BLAS_H

#include <gpuarray/array.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
typedef enum _cb_transpose {
  cb_no_trans = 0,
  cb_trans = 1,
  cb_conj_trans = 2
} cb_transpose;

/* Y = alpha op(A) X + beta Y. A is (m, n), X and Y are vectors; all of one type, float
 * or double. With beta 0, Y is not read. `nocopy`: GA_COPY_ERROR rather than a hidden
 * copy of an input. */
int GpuArray_rgemv(cb_transpose transA, double alpha, GpuArray *A, GpuArray *X,
                   double beta, GpuArray *Y, int nocopy);
/* C = alpha op(A) op(B) + beta C. C may have any strides with a unit stride in one
 * axis. */
int GpuArray_rgemm(cb_transpose transA, cb_transpose transB, double alpha, GpuArray *A,
                   GpuArray *B, double beta, GpuArray *C, int nocopy);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
