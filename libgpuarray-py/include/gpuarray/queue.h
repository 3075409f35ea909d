/* Queues of a context, events in them, and what was launched.
 *
 * A context has one queue from the start, and more where they are asked for. Work on a
 * queue is done in the order it was queued; work on two queues may be done at once.
 * Each thread has a current queue on each context, the default one unless it chose
 * another, and all that it calls goes there: launches, copies, fills, products, reads
 * and writes. The library keeps the order of work on one buffer, and on several
 * that lie on one memory, across queues by itself, on the device: whoever reads waits
 * for whoever wrote, whoever writes for all.
 * A user's kernel counts as writing to each of its buffers. What is passed as a bare
 * address is not seen: order that with events.
 *
 * Ownership: `gpuqueue` and `gpuevent` carry atomic reference counts or have one owner,
 * as said below, and keep their context alive. Waiting: functions named wait and sync,
 * gpuevent_seconds, and the release of a queue. Failure: a status, with outputs
 * untouched. Threads: every function may be called
 * from several threads at once. */
#ifndef GPUARRAY_QUEUE_H
#define GPUARRAY_QUEUE_H

#include <gpuarray/buffer.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
typedef struct _gpuqueue gpuqueue;
typedef struct _gpuevent gpuevent;

/* ---- queues ---- */

#define GPUARRAY_MAX_QUEUES 32 /* of a context, the default one among them */

/* Makes another queue of the context; the caller owns *res. It sees all that was queued
 * before. GA_UNSUPPORTED_ERROR where there are as many as there can be, or the context
 * was opened with gpucontext_props_set_single_stream. */
int gpuqueue_new(gpuqueue **res, gpucontext *ctx);
/* One more reference to the queue. NULL is fine. */
void gpuqueue_retain(gpuqueue *q);
/* The last reference to go waits for the queue. NULL is fine. */
void gpuqueue_release(gpuqueue *q);
/* Waits until all work on the queue is done; reports what failed meanwhile. */
int gpuqueue_sync(gpuqueue *q);
/* The context of a queue; borrowed. NULL for NULL. */
gpucontext *gpuqueue_context(gpuqueue *q);

/* Makes `q` this thread's queue on the context; NULL is the default one. The thread
 * holds a reference, and so keeps the context open, until it chooses another queue or
 * ends. GA_INVALID_ERROR if the queue is of another context. */
int gpucontext_use_queue(gpucontext *ctx, gpuqueue *q);
/* This thread's queue on the context; borrowed. NULL for NULL. */
gpuqueue *gpucontext_queue(gpucontext *ctx);

/* ---- events ---- */

/* A point in a queue, done when all that was queued before is. The caller owns *res.
 * `q` NULL is an error; gpucontext_queue gives the current one. */
int gpuevent_record(gpuevent **res, gpuqueue *q);
/* Waits until the event is done; reports what failed meanwhile. */
int gpuevent_wait(gpuevent *e);
/* Writes 1 to *done if the event is done, else 0; does not wait. */
int gpuevent_query(gpuevent *e, int *done);
/* Seconds of device time between two events of one context; waits for both. */
int gpuevent_seconds(double *seconds, gpuevent *start, gpuevent *end);
/* Frees the event. NULL is fine. */
void gpuevent_release(gpuevent *e);
/* What is queued on `q` from now on waits, on the device, for the event; of any queue
 * of the same context. */
int gpuqueue_wait_event(gpuqueue *q, gpuevent *e);

/* ---- what was launched ---- */

/* Names what this thread does from now on: an operation, and the user's line that asked
 * for it. Shown where the device reports a failure later. Copied, cut at 255 bytes;
 * NULL or "" ends it. GA_MEMORY_ERROR if the host has no memory. */
int gpuarray_set_label(const char *text);
/* The label of this thread; "" if there is none. Stays valid until the process ends. */
const char *gpuarray_label(void);

#define GPUARRAY_LAUNCHES 256 /* a context remembers so many */

/* A launch: the texts stay valid until the process ends. */
typedef struct _gpulaunch {
  unsigned long long number; /* from 1 on, in the order of the calls */
  const char *kernel;        /* its name */
  const char *label;         /* of the thread; "" if there was none */
  unsigned int queue;        /* 0: the default one */
  int is_done;               /* known to be done */
} gpulaunch;

/* The latest launches on a context, newest first: writes at most `capacity` to `list`
 * and their count to *count. The launches of a plan have the labels of its steps. The
 * variables GPUARRAY_LAUNCH_BLOCKING=1 and CUDA_LAUNCH_BLOCKING=1, looked at when a
 * context is opened, make each launch wait, so that a failure is of the newest one. */
int gpucontext_launches(gpucontext *ctx, unsigned int capacity, gpulaunch *list,
                        unsigned int *count);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
