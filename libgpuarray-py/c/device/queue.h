/* Queues of a context, and the order of work on one buffer across them.
 *
 * A buffer remembers its latest uses: on which queue, and the ticket of that use, a
 * count of the queue's. Work on another queue first waits, on the device, for an event
 * behind the tickets that it needs; one event covers all tickets before it. With one
 * queue in the context nothing of this runs. */
#ifndef GA_C_QUEUE_H
#define GA_C_QUEUE_H

#include <stdatomic.h>

#include "c/backend/uses.h"
#include <gpuarray/queue.h>

struct _gpuqueue {
  gpucontext *context;
  void *device; /* the backend's queue, given to it in the place of the device */
  atomic_uint references; /* of the default queue: not used, the context's serve */
  unsigned int place;     /* in the context's list; 0: the default one */
  uint64_t serial;        /* no other queue ever has it; 0: a default one */
  uint64_t ticket;        /* of the latest use; of the context's queues.lock */
  uint64_t done;          /* tickets known to be done */
  void *event;            /* the backend's, behind event_ticket; or NULL */
  uint64_t event_ticket;
  uint64_t seen[GPUARRAY_MAX_QUEUES]; /* tickets of others that it waited for */
  atomic_bool reports;                /* launches queued here may report an index */
  atomic_ulong marked; /* the context's count of launches at the latest mark here */
  atomic_ulong waited; /* the context's count of launches when a wait here began */
};

typedef struct ga_use {
  gpudata *buffer;
  bool writes;
} ga_use;

/* The queues that a thread has chosen, of as many contexts. */
#define GA_MOST_CHOSEN 16
typedef struct ga_chosen {
  gpuqueue *list[GA_MOST_CHOSEN];
  unsigned int n;
} ga_chosen;
/* Those of this thread. */
ga_chosen *ga__queue_chosen(void);
/* The queue of this thread on a context. */
gpuqueue *ga__queue_current(gpucontext *ctx);
/* What the backend is given for work of this thread. */
void *ga__queue_device(gpucontext *ctx);

/* Around the queuing of work on buffers, of this thread on its queue, and around the
 * vendor's calls in it. begin makes the queue wait for earlier work on others, where
 * there are several; end notes the use.
 * *device is what the backend is given. Where begin fails nothing is to be queued and
 * end is not called. */
int ga__queue_begin(void **device, gpucontext *ctx, unsigned int n, const ga_use *uses);
void ga__queue_end(gpucontext *ctx, unsigned int n, const ga_use *uses);
/* The same for the buffers of a launch. */
int ga__queue_begin_launch(void **device, gpucontext *ctx, const ga_launch *launch);
void ga__queue_end_launch(gpucontext *ctx, const ga_launch *launch);

/* Makes a queue wait, on the device, for what all others have queued. */
int ga__queue_follow_all(gpuqueue *q);

/* While a thread records a graph the two do nothing; the graph is ordered as one. */
void ga__queue_record(bool on);
bool ga__queue_is_recording(void);

/* The queue at a place, with a reference but for the default one, which lives with the
 * context; NULL if there is none. */
gpuqueue *ga__queue_take(gpucontext *ctx, unsigned int place);
/* Waits for a queue; the backend's status. */
int ga__queue_wait(gpuqueue *q);
/* Waits for all work on a buffer. */
int ga__queue_wait_buffer(gpudata *buffer);
/* Waits for every queue of the context; the backend's status. */
int ga__queue_wait_all(gpucontext *ctx);

void ga__queues_open(gpucontext *ctx);
/* The context is closed: no other queue is left. */
void ga__queues_close(gpucontext *ctx);

#endif
