/* Collectives over buffers, among devices, by NCCL on CUDA: reduce, broadcast, gather.
 *
 * A communicator is one rank of a clique: a process, or a thread, with its context. All
 * ranks call the same functions in the same order with the same count, type, operation
 * and root. NCCL is opened on demand; without it gpucomm_gen_clique_id and gpucomm_new
 * give GA_LOAD_ERROR with what to do.
 *
 * Ownership: the caller owns a communicator and frees it by gpucomm_free; it keeps its
 * context alive. Buffers are borrowed until the queued work is done. Waiting:
 * gpucomm_new waits until all ranks have joined, gpucomm_free until the context's work
 * is done; the others queue their work and return. In a plan that is bound, a call is
 * recorded, and each run of the plan queues it: between graphs, never in one, for NCCL
 * wants all ranks to capture alike; beside the plan's other work where nothing needs
 * its result yet. Failure: on contexts without collectives (OpenCL, null) gpucomm_new
 * gives GA_UNSUPPORTED_ERROR and the others GA_DEVSUP_ERROR; an error of NCCL is
 * GA_COMM_ERROR with its text. Threads: a communicator is for one thread at a time;
 * different ones are independent.
 *
 * Offsets are in bytes; counts are in elements and may exceed 2^31. Arguments are
 * checked in this order: a count over INT_MAX that does not fit its buffer
 * (GA_XLARGE_ERROR), a buffer of another context (GA_VALUE_ERROR), the type
 * (GA_INVALID_ERROR), the operation (GA_INVALID_ERROR), a range that does not fit its
 * buffer or partly overlaps the other (GA_VALUE_ERROR), a root that is no rank
 * (GA_VALUE_ERROR). Reductions take GA_BYTE, GA_UBYTE, GA_INT, GA_UINT, GA_LONG,
 * GA_ULONG, GA_HALF, GA_BFLOAT16, GA_FLOAT and GA_DOUBLE; functions that only move
 * elements take every dtype. */
#ifndef GPUARRAY_BUFFER_COLLECTIVES_H
#define GPUARRAY_BUFFER_COLLECTIVES_H

#include <gpuarray/buffer.h>
#include <gpuarray/queue.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
typedef struct _gpucomm gpucomm;

/* Operations of a reduction over ranks. */
enum gpucomm_reduce_ops { GA_SUM = 0, GA_PROD = 1, GA_MAX = 2, GA_MIN = 3 };

#define GA_COMM_ID_BYTES 128

/* The id of a clique, by which its ranks find each other: plain bytes to send. */
typedef struct _gpucommCliqueId {
  char internal[128];
} gpucommCliqueId;

/* Joins a clique of `ndev` ranks as `rank`. Waits until all have joined. On failure
 * *comm is NULL. */
int gpucomm_new(gpucomm **comm, gpucontext *ctx, gpucommCliqueId comm_id, int ndev,
                int rank);
/* Leaves the clique once the context's work is done. NULL is allowed. */
void gpucomm_free(gpucomm *comm);
/* The text of the last failure on this thread. The argument is ignored; it is there for
 * libgpuarray 0.7. */
const char *gpucomm_error(gpucontext *ctx);
/* The communicator's context; borrowed. */
gpucontext *gpucomm_context(gpucomm *comm);
/* Makes the id of a new clique. One rank calls it and sends the id to the others. */
int gpucomm_gen_clique_id(gpucontext *ctx, gpucommCliqueId *comm_id);
/* Writes the number of ranks in the clique. */
int gpucomm_get_count(gpucomm *comm, int *devcount);
/* Writes the communicator's rank, from 0 on. */
int gpucomm_get_rank(gpucomm *comm, int *rank);
/* Reduces `count` elements from `offsrc` of every rank into `dest` of the rank `root`;
 * other ranks ignore `dest`, which may be NULL. */
int gpucomm_reduce(gpudata *src, size_t offsrc, gpudata *dest, size_t offdest,
                   size_t count, int typecode, int opcode, int root, gpucomm *comm);
/* Reduces `count` elements of every rank into `dest` of every rank. `dest` may be `src`
 * at the same offset. */
int gpucomm_all_reduce(gpudata *src, size_t offsrc, gpudata *dest, size_t offdest,
                       size_t count, int typecode, int opcode, gpucomm *comm);
/* Reduces over all ranks and scatters the result: rank i gets part i, of `count`
 * elements; `src` has one part for each rank. */
int gpucomm_reduce_scatter(gpudata *src, size_t offsrc, gpudata *dest, size_t offdest,
                           size_t count, int typecode, int opcode, gpucomm *comm);
/* Broadcasts `count` elements of the rank `root` to all ranks, in place. */
int gpucomm_broadcast(gpudata *array, size_t offset, size_t count, int typecode,
                      int root, gpucomm *comm);
/* Gathers `count` elements of every rank, in the order of ranks, into `dest` of every
 * rank. */
int gpucomm_all_gather(gpudata *src, size_t offsrc, gpudata *dest, size_t offdest,
                       size_t count, int typecode, gpucomm *comm);
/* Sends `count` elements to the rank `peer`, which receives them. Queued: work behind
 * it waits until that rank has received. */
int gpucomm_send(gpudata *array, size_t offset, size_t count, int typecode, int peer,
                 gpucomm *comm);
/* Receives `count` elements from the rank `peer`, which sends them. */
int gpucomm_receive(gpudata *array, size_t offset, size_t count, int typecode, int peer,
                    gpucomm *comm);
/* Sends part i of `src`, of `count` elements, to rank i; part i of `dest` is from rank
 * i. The two may not overlap. */
int gpucomm_all_to_all(gpudata *src, size_t offsrc, gpudata *dest, size_t offdest,
                       size_t count, int typecode, gpucomm *comm);
/* Gathers `count` elements of every rank, in the order of ranks, into `dest` of the
 * rank `root`; other ranks ignore `dest`, which may be NULL. */
int gpucomm_gather(gpudata *src, size_t offsrc, gpudata *dest, size_t offdest,
                   size_t count, int typecode, int root, gpucomm *comm);
/* Scatters `src` of the rank `root`: rank i gets part i, of `count` elements, into
 * `dest`; other ranks ignore `src`, which may be NULL. */
int gpucomm_scatter(gpudata *src, size_t offsrc, gpudata *dest, size_t offdest,
                    size_t count, int typecode, int root, gpucomm *comm);
/* Ends the communicator at once, when another rank will never answer: what is queued
 * ends with undefined results, and later calls give GA_COMM_ERROR. Another thread may
 * be waiting for the context; a call that it is queuing is waited for, two seconds at
 * most. The communicator is still to be freed. */
int gpucomm_abort(gpucomm *comm);
/* GA_COMM_ERROR, with a text, if work that was queued has failed, or the communicator
 * was aborted. Does not wait. */
int gpucomm_state(gpucomm *comm);

/* What was called, for a program that compares the calls of ranks or watches them. The
 * functions below may be called by another thread. */

/* Sets the mark of the next calls, a number of the program's: whenever one is queued,
 * now or by a run of the plan that has recorded it, its mark is logged. 0, the mark at
 * first, is not. */
int gpucomm_mark(gpucomm *comm, unsigned int mark);
/* Moves the oldest logged marks, at most `most`, to `marks`, and writes how many. */
int gpucomm_log(gpucomm *comm, unsigned int *marks, size_t most, size_t *n);
/* Writes how many calls were begun, how many of them are queued or have failed, and how
 * many of these the device has done, as far as is known. Does not wait. */
int gpucomm_progress(gpucomm *comm, size_t *begun, size_t *queued, size_t *done);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
