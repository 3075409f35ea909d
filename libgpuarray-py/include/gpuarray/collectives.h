/* Collectives over arrays; see <gpuarray/buffer_collectives.h> for cliques and ranks.
 *
 * Elements are exchanged in memory order: a C or F contiguous array as it lies, so that
 * all ranks must agree on one of the two; any other through a copy in C order. Source
 * and destination may differ in shape and layout, and may overlap.
 *
 * Ownership: arrays are borrowed; their buffers live until the queued work is done.
 * Waiting: none waits. Failure: GA_VALUE_ERROR for numbers of elements or types that do
 * not fit, GA_UNALIGNED_ERROR, GA_INVALID_ERROR for a read-only destination; else as
 * the functions of buffer_collectives.h. Threads: one at a time for a communicator. */
#ifndef GPUARRAY_COLLECTIVES_H
#define GPUARRAY_COLLECTIVES_H

#include <gpuarray/array.h>
#include <gpuarray/buffer_collectives.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
/* GpuArray_reduce on a rank that is not the root. */
int GpuArray_reduce_from(const GpuArray *src, int opcode, int root, gpucomm *comm);
/* Reduces `src` over all ranks into `dest` of the rank `root`; other ranks ignore
 * `dest`, which may be NULL. */
int GpuArray_reduce(const GpuArray *src, GpuArray *dest, int opcode, int root,
                    gpucomm *comm);
/* Reduces `src` over all ranks into `dest` of every rank. `dest` may be `src`. */
int GpuArray_all_reduce(const GpuArray *src, GpuArray *dest, int opcode, gpucomm *comm);
/* Reduces `src` over all ranks and scatters the result: rank i gets part i. `src` has
 * the elements of `dest` times the number of ranks. */
int GpuArray_reduce_scatter(const GpuArray *src, GpuArray *dest, int opcode,
                            gpucomm *comm);
/* Broadcasts the elements of the rank `root` to all ranks, in place. Only the receivers
 * must be writeable. */
int GpuArray_broadcast(GpuArray *array, int root, gpucomm *comm);
/* Gathers `src` of every rank, in the order of ranks, into `dest` of every rank, which
 * has the elements of `src` times the number of ranks. */
int GpuArray_all_gather(const GpuArray *src, GpuArray *dest, gpucomm *comm);
/* Sends the elements to the rank `peer`, which receives them. */
int GpuArray_send(const GpuArray *src, int peer, gpucomm *comm);
/* Receives the elements that the rank `peer` sends. */
int GpuArray_receive(GpuArray *dest, int peer, gpucomm *comm);
/* Sends part i of `src` to rank i; part i of `dest` is from rank i. */
int GpuArray_all_to_all(const GpuArray *src, GpuArray *dest, gpucomm *comm);
/* Gathers `src` of every rank, in the order of ranks, into `dest` of the rank `root`;
 * other ranks ignore `dest`, which may be NULL. */
int GpuArray_gather(const GpuArray *src, GpuArray *dest, int root, gpucomm *comm);
/* Scatters `src` of the rank `root`: rank i gets part i into `dest`; other ranks ignore
 * `src`, which may be NULL. */
int GpuArray_scatter(const GpuArray *src, GpuArray *dest, int root, gpucomm *comm);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
