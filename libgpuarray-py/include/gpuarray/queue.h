/* Queues (streams) of a context, events in them, and the list of recent launches.
 *
 * A context has a default queue, and more on request. Work on one queue runs in order;
 * work on different queues may overlap. Each thread has a current queue on each
 * context, the default one until it chooses another, for all that it calls: launches,
 * copies, fills, products, reads and writes. The library synchronises queues on the
 * device: a reader of a buffer waits for its last writer, a writer for all earlier
 * users; buffers that alias one memory count as one. A user's kernel counts as a writer
 * of each of its buffers. Bare device addresses are not tracked: order them with
 * events.
 *
 * Ownership: `gpuqueue` and `gpuevent` carry atomic reference counts or have one owner,
 * as said below, and keep their context alive. Waiting: functions named wait and sync,
 * gpuevent_seconds, and the release of a queue. Failure: a status, with outputs
 * untouched. Threads: every function may be called from several threads at once. */
#ifndef GPUARRAY_QUEUE_H
#define GPUARRAY_QUEUE_H

#include <gpuarray/buffer.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
typedef struct _gpuqueue gpuqueue;
typedef struct _gpuevent gpuevent;

/* ---- queues ---- */

#define GPUARRAY_MAX_QUEUES 32 /* per context, with the default queue */

/* Makes another queue of the context, behind all work queued so far; the caller owns
 * *res. GA_UNSUPPORTED_ERROR above GPUARRAY_MAX_QUEUES, or if the context was opened
 * with gpucontext_props_set_single_stream. */
int gpuqueue_new(gpuqueue **res, gpucontext *ctx);
/* Adds a reference to the queue. NULL is allowed. */
void gpuqueue_retain(gpuqueue *q);
/* Drops a reference; the last one waits for the queue. NULL is allowed. */
void gpuqueue_release(gpuqueue *q);
/* Waits until all work on the queue is done; reports its failures. */
int gpuqueue_sync(gpuqueue *q);
/* The context of a queue; borrowed. NULL for NULL. */
gpucontext *gpuqueue_context(gpuqueue *q);

/* Makes `q` this thread's current queue on the context; NULL is the default queue. The
 * thread holds a reference, which keeps the context open, until it chooses another
 * queue or ends. GA_INVALID_ERROR if the queue is of another context. */
int gpucontext_use_queue(gpucontext *ctx, gpuqueue *q);
/* This thread's queue on the context; borrowed. NULL for NULL. */
gpuqueue *gpucontext_queue(gpucontext *ctx);

/* ---- events ---- */

/* Records an event in a queue: it is done when all work queued before it is. The caller
 * owns *res. A NULL `q` is an error; gpucontext_queue gives the current one. */
int gpuevent_record(gpuevent **res, gpuqueue *q);
/* Waits until the event is done; reports failures of the work before it. */
int gpuevent_wait(gpuevent *e);
/* Writes 1 to *done if the event is done, else 0; does not wait. */
int gpuevent_query(gpuevent *e, int *done);
/* Seconds of device time between two events of one context; waits for both. */
int gpuevent_seconds(double *seconds, gpuevent *start, gpuevent *end);
/* Frees the event. NULL is allowed. */
void gpuevent_release(gpuevent *e);
/* Makes later work on `q` wait, on the device, for an event of any queue of the same
 * context. */
int gpuqueue_wait_event(gpuqueue *q, gpuevent *e);

/* ---- recent launches ---- */

/* Labels the work of this thread from now on, such as an operation with the user's line
 * that asked for it; errors that the device reports later show it. Copied, cut at 255
 * bytes; NULL or "" ends it. GA_MEMORY_ERROR if the host has no memory. */
int gpuarray_set_label(const char *text);
/* The label of this thread; "" if there is none. Stays valid until the process ends. */
const char *gpuarray_label(void);

#define GPUARRAY_LAUNCHES 256 /* length of a context's list of recent launches */

/* A launch. Its texts stay valid until the process ends. */
typedef struct _gpulaunch {
  unsigned long long number; /* from 1 on, in the order of the calls */
  const char *kernel;        /* its name */
  const char *label;         /* of the thread; "" if there was none */
  unsigned int queue;        /* 0: the default one */
  int is_done;               /* known to be done */
} gpulaunch;

/* Writes the latest launches on a context, newest first: at most `capacity` to `list`,
 * their count to *count. Launches of a plan have the labels of its steps. With the
 * environment variable GPUARRAY_LAUNCH_BLOCKING=1 or CUDA_LAUNCH_BLOCKING=1 set when
 * the context is opened, each launch waits, so that a failure is of the newest one. */
int gpucontext_launches(gpucontext *ctx, unsigned int capacity, gpulaunch *list,
                        unsigned int *count);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
