/* CUDA only: compiling without a device, and the functions of gpuarray/extension.h as
 * pointers, which setup_ext_cuda() fills.
 *
 * Ownership: as extension.h says of each. Waiting: compiling takes milliseconds to
 * seconds on the calling thread. Failure: a status, or a NULL pointer. Threads:
 * functions may be called from several at once, after setup_ext_cuda(). */
#ifndef GPUARRAY_EXT_CUDA_H
#define GPUARRAY_EXT_CUDA_H

#include <gpuarray/extension.h>

/* CUDA's types, from its header if that exists. With GPUARRAY_NO_CUDA defined the
 * pointers, which need them, are left out. */
#ifndef GPUARRAY_NO_CUDA
#ifdef __has_include
#if __has_include(<cuda.h>)
#define GPUARRAY_HAS_CUDA_H
#endif
#endif
#ifdef GPUARRAY_HAS_CUDA_H
#include <cuda.h>
#else
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef unsigned long long CUdeviceptr;
#endif
#endif

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
/* Compiles CLUDA source for an architecture such as "sm_90" with NVRTC and without a
 * GPU, to check it; "compute_90" stops at PTX. *size is the size of the code in bytes;
 * with `size` NULL the code is not optimised, which takes a fraction of the time.
 * GA_COMPILE_ERROR: the text has the compiler's log and the numbered source;
 * GA_DEVSUP_ERROR: NVRTC does not know the architecture; GA_LOAD_ERROR: there is no
 * NVRTC. */
int gpuarray_cuda_compile(const char *source, const char *arch, size_t *size);
/* cdef: end */

#ifndef GPUARRAY_NO_CUDA
#if defined(__GNUC__) || defined(__clang__)
#define GPUARRAY_MAYBE_UNUSED __attribute__((unused))
#else
#define GPUARRAY_MAYBE_UNUSED
#endif

/* NULL until setup_ext_cuda() was called in this file; see gpuarray/extension.h. */
GPUARRAY_MAYBE_UNUSED static void (*cuda_enter)(gpucontext *ctx);
GPUARRAY_MAYBE_UNUSED static void (*cuda_exit)(gpucontext *ctx);
GPUARRAY_MAYBE_UNUSED static gpucontext *(*cuda_make_ctx)(CUcontext ctx,
                                                          gpucontext_props *props);
GPUARRAY_MAYBE_UNUSED static CUstream (*cuda_get_stream)(gpucontext *ctx);
GPUARRAY_MAYBE_UNUSED static gpudata *(*cuda_make_buf)(gpucontext *ctx, CUdeviceptr p,
                                                       size_t sz);
GPUARRAY_MAYBE_UNUSED static size_t (*cuda_get_sz)(gpudata *g);
GPUARRAY_MAYBE_UNUSED static int (*cuda_wait)(gpudata *g, int flags);
GPUARRAY_MAYBE_UNUSED static int (*cuda_record)(gpudata *g, int flags);
GPUARRAY_MAYBE_UNUSED static int (*cuda_get_device)(CUdeviceptr p, int *number);
GPUARRAY_MAYBE_UNUSED static int (*cuda_get_ipc_handle)(gpudata *g,
                                                        GpuArrayIpcMemHandle *h);
GPUARRAY_MAYBE_UNUSED static gpudata *(*cuda_open_ipc_handle)(gpucontext *ctx,
                                                              GpuArrayIpcMemHandle *h,
                                                              size_t sz);

/* Fills the pointers above, of the file that calls it. */
GPUARRAY_MAYBE_UNUSED static void setup_ext_cuda(void) {
  /* C has no conversion from void * to a function, but the systems have. */
#define GPUARRAY_FILL(name) *(void **)(&name) = gpuarray_get_extension(#name)
  GPUARRAY_FILL(cuda_enter);
  GPUARRAY_FILL(cuda_exit);
  GPUARRAY_FILL(cuda_make_ctx);
  GPUARRAY_FILL(cuda_get_stream);
  GPUARRAY_FILL(cuda_make_buf);
  GPUARRAY_FILL(cuda_get_sz);
  GPUARRAY_FILL(cuda_wait);
  GPUARRAY_FILL(cuda_record);
  GPUARRAY_FILL(cuda_get_device);
  GPUARRAY_FILL(cuda_get_ipc_handle);
  GPUARRAY_FILL(cuda_open_ipc_handle);
#undef GPUARRAY_FILL
}
#endif

GPUARRAY_END_DECLS

#endif
