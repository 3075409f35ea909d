/* Copies of arrays from one context to another, under way while other work is queued.
 *
 * A peer copy is ordered by events of the two queues, and no host waits. Else the bytes
 * go by host memory: the source's queue writes them there, or they are there already,
 * and the host waits for that when the copy is to arrive. */
#ifndef GA_C_CROSSING_H
#define GA_C_CROSSING_H

#include <gpuarray/array.h>
#include <gpuarray/host.h>

enum ga_crossing_way {
  GA_CROSSING_DONE,   /* nothing is under way */
  GA_CROSSING_PEER,   /* queued on the destination */
  GA_CROSSING_MAPPED, /* the host reads the source's memory */
  GA_CROSSING_PINNED, /* the source's queue copies to pinned memory */
  GA_CROSSING_LATE    /* all is done on arrival */
};

typedef struct ga_crossing {
  enum ga_crossing_way way;
  GpuArray from, to; /* held meanwhile; contiguous */
  gpuhost *staging;
  void *event;      /* of the copy on the destination, or of the source's bytes */
  void *device;     /* the queue of the event */
  gpucontext *here; /* its context */
} ga_crossing;

/* Begins to copy `a` to a new C-contiguous array on `ctx`. Does not wait. The source
 * must not be overwritten before ga__crossing_end. On failure there is nothing to
 * end. */
int ga__crossing_begin(ga_crossing *c, GpuArray *out, gpucontext *ctx,
                       const GpuArray *a);
/* To be called before work on the copy is queued: waits where the host takes part. */
int ga__crossing_arrive(ga_crossing *c);
/* Lets the source go: later work on its queue waits for the copy. Also for a copy that
 * did not arrive, whose bytes are then undefined. */
void ga__crossing_end(ga_crossing *c);

#endif
