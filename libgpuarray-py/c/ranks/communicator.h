/* Communicators: one rank of a clique, with what its calls are counted and logged
 * by. */
#ifndef GA_C_COMMUNICATOR_H
#define GA_C_COMMUNICATOR_H

#include <pthread.h>
#include <stdatomic.h>

#include "c/device/buffer.h"
#include "c/device/queue.h"
#include <gpuarray/buffer_collectives.h>

/* The marks of queued calls that nobody has read yet (gpucomm_log). */
typedef struct ga_comm_log {
  pthread_mutex_t lock;
  unsigned int *marks;
  size_t n, capacity;
} ga_comm_log;

/* How far the device has come, by an event behind some of the queued calls. */
typedef struct ga_comm_watch {
  pthread_mutex_t lock;
  gpuevent *event; /* NULL: none */
  size_t behind;   /* calls */
  size_t done;
} ga_comm_watch;

struct _gpucomm {
  gpucontext *context;  /* first, as consumers of libgpuarray expect */
  _Atomic(void *) comm; /* the backend's; NULL once it was closed or aborted */
  int ranks, rank;
  atomic_uint references; /* the owner's, and those of recorded calls */
  pthread_mutex_t lock;   /* held while a call is queued */
  gpudata turn; /* without memory; each call writes it, so that calls on several queues
                   keep their order */
  gpuqueue *beside;            /* its own queue, made when needed; or NULL */
  atomic_uint place;           /* of the queue of the latest call */
  atomic_size_t begun, queued; /* calls; queued, or failed */
  unsigned int mark;           /* of the next call */
  ga_comm_log log;
  ga_comm_watch watch;
};

void ga__comm_retain(gpucomm *comm);
/* Frees the struct with the last reference. */
void ga__comm_release(gpucomm *comm);
/* Adds the mark, unless it is 0. */
int ga__comm_note(gpucomm *comm, unsigned int mark);
/* GA_COMM_ERROR: the communicator was closed or aborted. */
int ga__comm_fail_ended(const char *operation);

#endif
