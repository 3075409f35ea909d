/* GpuKernel: a user's kernel, written in CLUDA, on any device.
 *
 * Ownership: a GpuKernel holds one reference to its kernel; GpuKernel_clear gives it
 * back. Waiting: GpuKernel_init compiles, the others queue work and return. Failure: a
 * status, with outputs untouched; GpuKernel_init also gives the compiler's log.
 * Threads: a kernel may be called from several at once with lists of arguments; setarg
 * belongs to one thread at a time.
 *
 * A source is compiled as a program of its own, so that what it says of macros, pragmas
 * and names holds for itself alone. One that a plan is told of, or the preamble of an
 * expression, can say on its first line GA_SELF_CONTAINED: what it defines with #define
 * it ends with #undef, or it defines it the same way wherever it does; it has no pragma
 * beyond a function but OpenCL's FP_CONTRACT OFF; what it declares has names that mean
 * the same in every source. Such sources share programs, which compile sooner. */
#ifndef GPUARRAY_KERNEL_H
#define GPUARRAY_KERNEL_H

#include <gpuarray/array.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
typedef struct _GpuKernel {
  gpukernel *k;
  void **args; /* unused; there for libgpuarray 0.7 */
} GpuKernel;

/* As gpukernel_init, with a status: GA_IMPL_ERROR for a source that does not compile,
 * as in libgpuarray 0.7. The caller owns *k and ends it with
 * GpuKernel_clear. */
int GpuKernel_init(GpuKernel *k, gpucontext *ctx, unsigned int count, const char **strs,
                   const size_t *lens, const char *name, unsigned int argcount,
                   const int *types, int flags, char **err_str);
/* Releases the kernel and zeroes the struct; safe on a zeroed struct. */
void GpuKernel_clear(GpuKernel *k);
/* The context of the kernel: borrowed. */
gpucontext *GpuKernel_context(GpuKernel *k);
/* Sets argument `i` for calls without a list: a gpudata *, or a pointer to a value,
 * which is copied. */
int GpuKernel_setarg(GpuKernel *k, unsigned int i, void *val);
/* Picks blocks and threads that cover `n` one-dimensional work items; what is not 0 is
 * kept. */
int GpuKernel_sched(GpuKernel *k, size_t n, size_t *gs, size_t *ls);
/* As gpukernel_call. */
int GpuKernel_call(GpuKernel *k, unsigned int n, const size_t *gs, const size_t *ls,
                   size_t shared, void **args);
/* The text of the last failure on this thread; both arguments are there for libgpuarray
 * 0.7. */
const char *GpuKernel_error(const GpuKernel *k, int err);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
