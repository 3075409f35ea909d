/* Memory of the host that results are brought to.
 *
 * A block is pinned where the device reads and writes such memory at the speed of its
 * bus, and when it is released its context keeps it for the next result, so that the
 * pages of a new one need not be made. Of a processor that computes in the host's
 * memory a result is there already, and need not be copied at all. A context holds as
 * many bytes as gpucontext_set_host_limit or the variable GPUARRAY_HOST_SIZE says, in
 * use and kept; an eighth of the machine's memory where neither does; 0: none.
 *
 * Ownership: a gpuhost has one owner, who releases it. It may outlive its context, and
 * what it holds can be read in a process that is forked, which does not get it back.
 * Waiting: only GpuArray_read_hosts. Failure: a status, with outputs untouched.
 * Threads: every function may be called from several threads at once. */
#ifndef GPUARRAY_HOST_H
#define GPUARRAY_HOST_H

#include <gpuarray/array.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
typedef struct _gpuhost gpuhost;

/* Memory for the elements of `a`, which is one block, as GpuArray_read_hosts fills it.
 * The caller owns *res; NULL where memory of the caller's own does as well: for less
 * than 16 KiB, beyond the limit, and where there is no more. With `lends` the caller
 * gives `a` up: where the host reaches its elements and nobody else has its buffer, the
 * memory is that of `a` itself. */
int GpuArray_host(gpuhost **res, const GpuArray *a, int lends);
/* Where the memory is; NULL for NULL. */
void *gpuhost_bytes(const gpuhost *host);
/* Gives the memory back. NULL is fine. */
void gpuhost_release(gpuhost *host);
/* As GpuArray_read_all, but srcs[i] is brought to hosts[i], which GpuArray_host gave
 * for it, and to dsts[i] only where that is NULL. */
int GpuArray_read_hosts(unsigned int n, gpuhost *const *hosts, void *const *dsts,
                        const GpuArray *const *srcs);

/* From now on the context holds at most so many bytes of such memory; 0: none. What is
 * kept beyond it goes back to the system at once, what is in use when it is released.
 * Memory of an array itself does not count. */
int gpucontext_set_host_limit(gpucontext *ctx, size_t bytes);
/* The bytes that are in use, those kept for the next results, and the limit of both
 * together. Any of the pointers may be NULL. */
int gpucontext_host_memory(gpucontext *ctx, size_t *live, size_t *cached,
                           size_t *limit);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
