/* The times of commands, while somebody profiles a context. */
#ifndef GA_C_PROFILE_H
#define GA_C_PROFILE_H

#include <stdbool.h>

#include <gpuarray/profile.h>

/* A command that is being queued; `profile` NULL: nobody wants to know. */
typedef struct ga_span {
  gpuprofile *profile;
  void *device; /* the backend's queue */
  void *start;  /* an event before the command; or NULL where it has its own */
} ga_span;

/* Around the queuing of one command of this thread on a queue of the context. What
 * cannot be timed is counted as lost, never a failure. */
ga_span ga__profile_begin(gpucontext *ctx, void *device);
void ga__profile_end(ga_span *span, const char *name, int kind, size_t bytes);

/* The events of a queue that is about to be freed are read. Its work is done. */
void ga__profile_settle(gpucontext *ctx);

#endif
