/* Collectives over arrays; see <gpuarray/buffer_collectives.h> for cliques and ranks.
 *
 * Elements are exchanged in the order in which they lie in memory: an array that is C
 * or F contiguous is used as it lies, so that all ranks have to agree on one of the
 * two; any other is taken in C order, by way of a copy. Source and destination may
 * differ in shape, and in layout, and may overlap.
 *
 * Ownership: arrays are borrowed; their buffers live until the queued work is done.
 * Waiting: none waits. Failure: GA_VALUE_ERROR where the number of elements or the
 * types do not fit, GA_UNALIGNED_ERROR, GA_INVALID_ERROR for a destination that is
 * read-only; else as the functions of buffer_collectives.h. Threads: one at a time for
 * a communicator. */
#ifndef GPUARRAY_COLLECTIVES_H
#define GPUARRAY_COLLECTIVES_H

#include <gpuarray/array.h>
#include <gpuarray/buffer_collectives.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
/* The part of a rank that is not the root in GpuArray_reduce. */
int GpuArray_reduce_from(const GpuArray *src, int opcode, int root, gpucomm *comm);
/* The elements of every rank's `src`, reduced, come to `dest` of the rank `root`; on
 * the others `dest` is ignored and may be NULL. */
int GpuArray_reduce(const GpuArray *src, GpuArray *dest, int opcode, int root,
                    gpucomm *comm);
/* The same with the result on every rank. `dest` may be `src`. */
int GpuArray_all_reduce(const GpuArray *src, GpuArray *dest, int opcode, gpucomm *comm);
/* Of the reduced elements each rank gets its part, in the order of ranks: `src` has as
 * many times the elements of `dest` as there are ranks. */
int GpuArray_reduce_scatter(const GpuArray *src, GpuArray *dest, int opcode,
                            gpucomm *comm);
/* The elements of the rank `root` come to all others, in place. Only those that receive
 * must be writeable. */
int GpuArray_broadcast(GpuArray *array, int root, gpucomm *comm);
/* The elements of every rank, in the order of ranks, come to `dest` of every rank,
 * which has as many times the elements of `src` as there are ranks. */
int GpuArray_all_gather(const GpuArray *src, GpuArray *dest, gpucomm *comm);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
