/* Queues of a context, and synchronization of buffer uses across them.
 *
 * A buffer remembers its latest uses as (queue, ticket), a ticket being a count of the
 * queue's work. Work on another queue first waits, on the device, for an event recorded
 * after the tickets it depends on; one event covers all earlier tickets. With one queue
 * none of this runs. */
#ifndef GA_C_QUEUE_H
#define GA_C_QUEUE_H

#include <stdatomic.h>

#include "c/backend/uses.h"
#include <gpuarray/queue.h>

struct _gpuqueue {
  gpucontext *context;
  void *device;           /* the backend's queue; passed where a device is expected */
  atomic_uint references; /* unused for the default queue, which the context owns */
  unsigned int place;     /* index in the context's list; 0: default queue */
  uint64_t serial;        /* unique in the process; 0: a default queue */
  uint64_t ticket;        /* of the latest use; guarded by queues.lock */
  uint64_t done;          /* tickets known to be complete */
  void *event;            /* recorded after event_ticket; or NULL */
  uint64_t event_ticket;
  uint64_t seen[GPUARRAY_MAX_QUEUES]; /* tickets of other queues already waited for */
  atomic_bool reports;                /* launches here may set the error word */
  atomic_ulong marked;                /* launch count at the latest progress mark */
  atomic_ulong waited;                /* launch count at the start of the latest wait */
};

typedef struct ga_use {
  gpudata *buffer;
  bool writes;
} ga_use;

/* The current queues of a thread, one per context. */
#define GA_MOST_CHOSEN 16
typedef struct ga_chosen {
  gpuqueue *list[GA_MOST_CHOSEN];
  unsigned int n;
} ga_chosen;
/* Those of this thread. */
ga_chosen *ga__queue_chosen(void);
/* This thread's current queue. */
gpuqueue *ga__queue_current(gpucontext *ctx);
/* The backend's handle of it. */
void *ga__queue_device(gpucontext *ctx);

/* Around the queuing of work on buffers and the vendor calls in it. begin waits, on the
 * device, for conflicting work on other queues; end records the uses. *device is the
 * backend's queue. If begin fails, queue nothing and do not call end. */
int ga__queue_begin(void **device, gpucontext *ctx, unsigned int n, const ga_use *uses);
void ga__queue_end(gpucontext *ctx, unsigned int n, const ga_use *uses);
/* The same for the buffers of a launch. */
int ga__queue_begin_launch(void **device, gpucontext *ctx, const ga_launch *launch);
void ga__queue_end_launch(gpucontext *ctx, const ga_launch *launch);

/* Makes a queue wait, on the device, for all others. */
int ga__queue_follow_all(gpuqueue *q);

/* While a thread captures a graph, begin and end order nothing; the graph is ordered as
 * a whole. */
void ga__queue_record(bool on);
bool ga__queue_is_recording(void);

/* The queue at an index, retained (except the default one, which the context owns);
 * NULL if there is none. */
gpuqueue *ga__queue_take(gpucontext *ctx, unsigned int place);
/* Waits for a queue; the backend's status. */
int ga__queue_wait(gpuqueue *q);
/* Waits for all work on a buffer. */
int ga__queue_wait_buffer(gpudata *buffer);
/* Waits for every queue of the context; the backend's status. */
int ga__queue_wait_all(gpucontext *ctx);

void ga__queues_open(gpucontext *ctx);
/* Frees the default queue's event; no other queue is left. */
void ga__queues_close(gpucontext *ctx);

#endif
