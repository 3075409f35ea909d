/* Collectives over buffers: reductions and exchanges among devices, by NCCL on CUDA.
 *
 * A communicator is one rank of a clique: a process, or a thread, with its context. All
 * ranks call the same functions in the same order with the same count, type, operation
 * and root. NCCL is opened when it is first needed; where it is missing
 * gpucomm_gen_clique_id and gpucomm_new give GA_LOAD_ERROR with what to do.
 *
 * Ownership: the caller owns a communicator and gives it back by gpucomm_free; it keeps
 * its context alive. Buffers are borrowed until the work that was queued is done.
 * Waiting: gpucomm_new waits until all ranks have joined, gpucomm_free until the
 * context's work is done; the others queue their work and return. Failure: contexts
 * without collectives (OpenCL, null) give GA_UNSUPPORTED_ERROR by gpucomm_new and
 * GA_DEVSUP_ERROR by the others; what NCCL refuses is GA_COMM_ERROR with its text.
 * Threads: one thread at a time may use a communicator; different ones are independent.
 *
 * Offsets are in bytes; counts are in elements and may be over 2^31. Of the arguments
 * of an operation these are refused, in this order: a count over INT_MAX that does not
 * fit its buffer (GA_XLARGE_ERROR), a buffer of another context (GA_VALUE_ERROR), a
 * type (GA_INVALID_ERROR), an operation (GA_INVALID_ERROR), a range that does not fit
 * its buffer or overlaps the other in part (GA_VALUE_ERROR), a root that is no rank
 * (GA_VALUE_ERROR). Reductions take GA_BYTE, GA_UBYTE, GA_INT, GA_UINT, GA_LONG,
 * GA_ULONG, GA_HALF, GA_BFLOAT16, GA_FLOAT and GA_DOUBLE; gpucomm_broadcast and
 * gpucomm_all_gather every dtype. */
#ifndef GPUARRAY_BUFFER_COLLECTIVES_H
#define GPUARRAY_BUFFER_COLLECTIVES_H

#include <gpuarray/buffer.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
typedef struct _gpucomm gpucomm;

/* How elements of different ranks become one. */
enum gpucomm_reduce_ops { GA_SUM = 0, GA_PROD = 1, GA_MAX = 2, GA_MIN = 3 };

#define GA_COMM_ID_BYTES 128

/* What the ranks of a clique find each other by; plain bytes, to be sent around. */
typedef struct _gpucommCliqueId {
  char internal[128];
} gpucommCliqueId;

/* Joins a clique of `ndev` ranks as `rank`. Waits until all have joined. On failure
 * *comm is NULL. */
int gpucomm_new(gpucomm **comm, gpucontext *ctx, gpucommCliqueId comm_id, int ndev,
                int rank);
/* Leaves the clique once the context's work is done. NULL is fine. */
void gpucomm_free(gpucomm *comm);
/* The text of the last failure on this thread; the argument is there for libgpuarray
 * 0.7. */
const char *gpucomm_error(gpucontext *ctx);
/* The context of a communicator: borrowed. */
gpucontext *gpucomm_context(gpucomm *comm);
/* Makes the id of a new clique. One rank calls it and sends the id to the others. */
int gpucomm_gen_clique_id(gpucontext *ctx, gpucommCliqueId *comm_id);
/* How many ranks the clique has. */
int gpucomm_get_count(gpucomm *comm, int *devcount);
/* Which of them this communicator is, from 0 on. */
int gpucomm_get_rank(gpucomm *comm, int *rank);
/* The `count` elements from `offsrc` of every rank, reduced, come to `dest` of the rank
 * `root`; on the others `dest` is ignored and may be NULL. */
int gpucomm_reduce(gpudata *src, size_t offsrc, gpudata *dest, size_t offdest,
                   size_t count, int typecode, int opcode, int root, gpucomm *comm);
/* The same with the result on every rank. `dest` may be `src` at the same offset. */
int gpucomm_all_reduce(gpudata *src, size_t offsrc, gpudata *dest, size_t offdest,
                       size_t count, int typecode, int opcode, gpucomm *comm);
/* Of the reduced elements each rank gets its part, in the order of ranks: `count` is
 * the length of a part, so that `src` has as many parts as there are ranks. */
int gpucomm_reduce_scatter(gpudata *src, size_t offsrc, gpudata *dest, size_t offdest,
                           size_t count, int typecode, int opcode, gpucomm *comm);
/* The elements of the rank `root` come to all others, in place. */
int gpucomm_broadcast(gpudata *array, size_t offset, size_t count, int typecode,
                      int root, gpucomm *comm);
/* The `count` elements of every rank, one after the other in the order of ranks, come
 * to `dest` of every rank. */
int gpucomm_all_gather(gpudata *src, size_t offsrc, gpudata *dest, size_t offdest,
                       size_t count, int typecode, gpucomm *comm);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
