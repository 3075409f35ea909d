/* The ring of the latest launches of a context, and what it tells of a failure. */
#ifndef GA_C_LAUNCHES_H
#define GA_C_LAUNCHES_H

#include <stdatomic.h>

#include "c/label.h"
#include <gpuarray/queue.h>

typedef struct ga_launch_note {
  atomic_ulong number; /* of the launch; 0: none */
  _Atomic(const char *) kernel, label;
  atomic_uint queue;
} ga_launch_note;

typedef struct ga_launches {
  atomic_ulong count; /* launches so far */
  ga_launch_note notes[GPUARRAY_LAUNCHES];
} ga_launches;

/* Notes a launch that is about to be queued; `kernel` is interned. */
static inline void ga__launches_add(ga_launches *ring, const char *kernel,
                                    unsigned int queue) {
  unsigned long number =
      atomic_fetch_add_explicit(&ring->count, 1, memory_order_relaxed) + 1;
  ga_launch_note *note = &ring->notes[number % GPUARRAY_LAUNCHES];
  atomic_store_explicit(&note->number, number, memory_order_relaxed);
  atomic_store_explicit(&note->kernel, kernel, memory_order_relaxed);
  atomic_store_explicit(&note->label, ga__label(), memory_order_relaxed);
  atomic_store_explicit(&note->queue, queue, memory_order_relaxed);
}

/* Marks how far a queue has come, now and then; to be called when the latest `n`
 * launches were queued on it. */
int ga__launches_mark(gpuqueue *q, unsigned long n);

/* Puts behind the thread's message which launches can have caused a failure of the
 * device, and gives `status` back. */
int ga__launches_blame(gpucontext *ctx, int status);

#endif
