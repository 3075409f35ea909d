/* GpuKernel: a user's kernel, written in CLUDA, on any device.
 *
 * Ownership: a GpuKernel holds one reference to its kernel; GpuKernel_clear releases
 * it. Waiting: GpuKernel_init compiles, the others queue work and return. Failure: a
 * status, with outputs untouched; GpuKernel_init also gives the compiler's log.
 * Threads: several threads may call a kernel at once with lists of arguments; setarg is
 * for one thread at a time.
 *
 * A source is compiled as a program of its own, so that its macros, pragmas and names
 * affect nothing else. A source that GpuPlan_needs_kernel declares, or the preamble of
 * an expression, may say GA_SELF_CONTAINED on its first line to share a program, which
 * compiles sooner. It then ends each of its #defines with #undef, or defines the same
 * everywhere; it has no pragma outside a function but OpenCL's FP_CONTRACT OFF; and a
 * name that it declares means the same in every source.
 *
 * A kernel that is alone in its source may begin by the statement KERNEL_BEGIN; and is
 * then started sooner in CUDA's graphs, from compute capability 9.0 on. GA_RESTRICT and
 * __ldg, by which the compiler may read memory before that statement, prevent it. */
#ifndef GPUARRAY_KERNEL_H
#define GPUARRAY_KERNEL_H

#include <gpuarray/array.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
typedef struct _GpuKernel {
  gpukernel *k;
  void **args; /* unused; there for libgpuarray 0.7 */
} GpuKernel;

/* gpukernel_init with a status: GA_IMPL_ERROR for a source that does not compile, as in
 * libgpuarray 0.7. The caller owns *k and releases it by GpuKernel_clear. */
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
/* Chooses the grid *gs and block *ls for `n` one-dimensional work items; a value that
 * is not 0 is kept. */
int GpuKernel_sched(GpuKernel *k, size_t n, size_t *gs, size_t *ls);
/* Queues a launch; arguments as gpukernel_call. */
int GpuKernel_call(GpuKernel *k, unsigned int n, const size_t *gs, const size_t *ls,
                   size_t shared, void **args);
/* The text of the last failure on this thread. The arguments are ignored; they are
 * there for libgpuarray 0.7. */
const char *GpuKernel_error(const GpuKernel *k, int err);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
