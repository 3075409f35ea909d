/* Discrete Fourier transforms by the vendor's library (cuFFT on CUDA).
 *
 * Ownership: arrays are borrowed. Waiting: calls are queued and do not wait, but a
 * shape that makes room for its plan among those kept waits for the queue. Threads:
 * they may be called from several at once. Failure: GA_INVALID_ERROR (dtypes),
 * GA_VALUE_ERROR (ranks, shapes, contexts, layouts, a read-only output),
 * GA_UNALIGNED_ERROR, GA_DEVSUP_ERROR where the context's vendor has no such library,
 * GA_UNSUPPORTED_ERROR in a plan that is being bound, GA_MEMORY_ERROR; arrays are
 * untouched then. */
#ifndef GPUARRAY_FFT_H
#define GPUARRAY_FFT_H

#include <gpuarray/array.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
/* Whether GpuArray_fft is offered on this context, 1 or 0. Opens the vendor's library
 * when it is first asked. */
int gpuarray_transforms(gpucontext *ctx);

/* The transform over the last `rank` axes (1 to 3); those before are a batch. Nothing
 * is scaled; with `inverse` the exponents are positive. Both arrays are C-contiguous
 * and have one shape, but of a real and a complex one the complex has n / 2 + 1
 * elements along the last axis where the real has n: a real input is transformed with
 * negative exponents, a real output with positive ones. A complex input of a real
 * output is overwritten; else `out` may be `a`. Types: cfloat, cdouble, float with
 * cfloat, double with cdouble. */
int GpuArray_fft(GpuArray *out, GpuArray *a, unsigned int rank, int inverse);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
