/* The times of commands, while somebody profiles a context. */
#ifndef GA_C_PROFILE_H
#define GA_C_PROFILE_H

#include <pthread.h>
#include <stdatomic.h>
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

/* A span whose events have not been read yet; both NULL once they were. */
typedef struct pending {
  void *start, *end; /* `start` NULL: `end` is the command's own event */
} pending;

struct _gpuprofile {
  gpucontext *context;
  atomic_uint references; /* of its owner, and of commands being queued */
  pthread_mutex_t lock;   /* of what follows */
  void *origin;           /* an event of the default queue */
  bool is_over;           /* no more events are read */
  size_t n, room, most, lost;
  size_t n_settled; /* whose times are known */
  gpuspan *spans;
  pending *events;
};

/* Gives up a reference. */
void ga__profile_drop(gpuprofile *p);
/* Reads the events that are done, from the oldest on to the first that is not; with
 * `all`, which the caller has waited for, every one. The lock is held. */
void ga__profile_read(gpuprofile *p, bool all);

#endif
