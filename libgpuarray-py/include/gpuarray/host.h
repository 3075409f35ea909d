/* Host memory for results, pinned and pooled.
 *
 * A block is pinned where that speeds up transfers. On release its context keeps it for
 * the next result, whose pages then exist already. On a CPU device results lie in host
 * memory and need no copy. gpucontext_set_host_limit or the environment variable
 * GPUARRAY_HOST_SIZE limits a context's bytes, in use and cached; the default is an
 * eighth of the machine's memory; 0: none.
 *
 * Ownership: a gpuhost has one owner, who releases it. It may outlive its context. A
 * forked process can read its content; a release there frees nothing. Waiting: only
 * GpuArray_read_hosts. Failure: a status, with outputs untouched. Threads: every
 * function may be called from several threads at once. */
#ifndef GPUARRAY_HOST_H
#define GPUARRAY_HOST_H

#include <gpuarray/array.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
typedef struct _gpuhost gpuhost;

/* Makes host memory for the elements of `a`, a contiguous array, for
 * GpuArray_read_hosts to fill. The caller owns *res; NULL means that ordinary memory
 * serves: below 16 KiB, above the limit, or out of pinned memory. With `lends` the
 * caller gives `a` up: if the host can access its elements and its buffer has no other
 * user, the block is the memory of `a` itself. */
int GpuArray_host(gpuhost **res, const GpuArray *a, int lends);
/* The address of the memory; NULL for NULL. */
void *gpuhost_bytes(const gpuhost *host);
/* Releases the memory. NULL is allowed. */
void gpuhost_release(gpuhost *host);
/* GpuArray_read_all, where srcs[i] is read into hosts[i], made for it by GpuArray_host,
 * or into dsts[i] if that is NULL. */
int GpuArray_read_hosts(unsigned int n, gpuhost *const *hosts, void *const *dsts,
                        const GpuArray *const *srcs);

/* Limits the context's bytes of host memory; 0: none. Cached memory above the limit is
 * freed at once, memory in use on release. Memory of an array itself does not count. */
int gpucontext_set_host_limit(gpucontext *ctx, size_t bytes);
/* Writes the bytes in use, the cached bytes and the limit of their sum. Any pointer may
 * be NULL. */
int gpucontext_host_memory(gpucontext *ctx, size_t *live, size_t *cached,
                           size_t *limit);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
