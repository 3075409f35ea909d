/* Discrete Fourier transforms by the vendor's library (cuFFT on CUDA).
 *
 * Ownership: arrays are borrowed. Waiting: calls queue work and do not wait, unless a
 * new shape evicts a cached plan of the library, which waits for the queue. Threads:
 * functions may be called from several at once. Failure: GA_INVALID_ERROR (dtypes),
 * GA_VALUE_ERROR (ranks, shapes, contexts, layouts, a read-only output),
 * GA_UNALIGNED_ERROR, GA_DEVSUP_ERROR if the context has no such library,
 * GA_UNSUPPORTED_ERROR in a plan that is being bound, GA_MEMORY_ERROR; arrays are then
 * untouched. */
#ifndef GPUARRAY_FFT_H
#define GPUARRAY_FFT_H

#include <gpuarray/array.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
/* 1 if the context has GpuArray_fft, else 0. The first call opens the vendor's library.
 */
int gpuarray_transforms(gpucontext *ctx);

/* FFT over the last `rank` axes (1 to 3), batched over those before; unscaled. With
 * `inverse` the exponents are positive. Both arrays are C-contiguous and of one shape;
 * but where one is real and has n elements along the last axis, the complex one has n /
 * 2 + 1: a real input is transformed with negative exponents, a real output with
 * positive ones. A complex input of a real output is overwritten; else `out` may be
 * `a`. Types: cfloat, cdouble, float with cfloat, double with cdouble. */
int GpuArray_fft(GpuArray *out, GpuArray *a, unsigned int rank, int inverse);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
