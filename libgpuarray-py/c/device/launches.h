/* Ring buffer of the latest launches, to name the suspects of an asynchronous
 * failure. */
#ifndef GA_C_LAUNCHES_H
#define GA_C_LAUNCHES_H

#include <stdatomic.h>

#include "c/base/label.h"
#include <gpuarray/queue.h>

typedef struct ga_launch_note {
  atomic_ulong number; /* of the launch; 0: empty */
  _Atomic(const char *) kernel, label;
  atomic_uint queue;
} ga_launch_note;

/* Entries; more than GPUARRAY_LAUNCHES, since a graph may have hundreds. */
#define GA_RING 1024

typedef struct ga_launches {
  atomic_ulong count; /* launches so far */
  ga_launch_note notes[GA_RING];
} ga_launches;

/* Interned names of a launch; label "" means the thread's. */
typedef struct ga_named_launch {
  const char *kernel, *label;
} ga_named_launch;

/* Records launches that will be queued at once. */
void ga__launches_add_all(ga_launches *ring, unsigned int n,
                          const ga_named_launch *launches, unsigned int queue);

/* Records one; `kernel` is interned. */
static inline void ga__launches_add(ga_launches *ring, const char *kernel,
                                    unsigned int queue) {
  ga__launches_add_all(ring, 1, &(ga_named_launch){kernel, ""}, queue);
}

/* Queues a progress mark now and then; call it after `n` launches were queued at
 * once. */
int ga__launches_mark(gpuqueue *q, unsigned int n);

/* Appends the suspects to the thread's message; returns `status`. */
int ga__launches_blame(gpucontext *ctx, int status);

#endif
