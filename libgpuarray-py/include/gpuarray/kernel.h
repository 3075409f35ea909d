/* GpuKernel: a user's kernel, written in CLUDA, on any device. */
#ifndef GPUARRAY_KERNEL_H
#define GPUARRAY_KERNEL_H

#include <gpuarray/buffer.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
typedef struct _GpuKernel {
  gpukernel *k;
  void **args; /* unused; there for libgpuarray 0.7 */
} GpuKernel;

int GpuKernel_init(GpuKernel *k, gpucontext *ctx, unsigned int count, const char **strs,
                   const size_t *lens, const char *name, unsigned int argcount,
                   const int *types, int flags, char **err_str);
void GpuKernel_clear(GpuKernel *k);
gpucontext *GpuKernel_context(GpuKernel *k);
int GpuKernel_setarg(GpuKernel *k, unsigned int i, void *val);
/* Picks blocks and threads that cover `n` one-dimensional work items; what is not 0 is
 * kept. */
int GpuKernel_sched(GpuKernel *k, size_t n, size_t *gs, size_t *ls);
int GpuKernel_call(GpuKernel *k, unsigned int n, const size_t *gs, const size_t *ls,
                   size_t shared, void **args);
const char *GpuKernel_error(const GpuKernel *k, int err);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
