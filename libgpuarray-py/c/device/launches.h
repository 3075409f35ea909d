/* The ring of the latest launches of a context, and what it tells of a failure. */
#ifndef GA_C_LAUNCHES_H
#define GA_C_LAUNCHES_H

#include <stdatomic.h>

#include "c/base/label.h"
#include <gpuarray/queue.h>

typedef struct ga_launch_note {
  atomic_ulong number; /* of the launch; 0: none */
  _Atomic(const char *) kernel, label;
  atomic_uint queue;
} ga_launch_note;

/* More than a caller is told of, for failures to be traced: a graph may have hundreds.
 */
#define GA_RING 1024

typedef struct ga_launches {
  atomic_ulong count; /* launches so far */
  ga_launch_note notes[GA_RING];
} ga_launches;

/* A launch's kernel and label, interned; label "" stands for the thread's own. */
typedef struct ga_named_launch {
  const char *kernel, *label;
} ga_named_launch;

/* Notes launches that are about to be queued at once. */
void ga__launches_add_all(ga_launches *ring, unsigned int n,
                          const ga_named_launch *launches, unsigned int queue);

/* Notes one; `kernel` is interned. */
static inline void ga__launches_add(ga_launches *ring, const char *kernel,
                                    unsigned int queue) {
  ga__launches_add_all(ring, 1, &(ga_named_launch){kernel, ""}, queue);
}

/* Marks how far a queue has come, now and then; to be called when `n` launches were
 * queued on it at once. */
int ga__launches_mark(gpuqueue *q, unsigned int n);

/* Puts behind the thread's message which launches can have caused a failure of the
 * device, and gives `status` back. */
int ga__launches_blame(gpucontext *ctx, int status);

#endif
