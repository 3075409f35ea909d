/* Profiling: device times of commands. */
#ifndef GA_C_PROFILE_H
#define GA_C_PROFILE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <gpuarray/profile.h>

/* A command being queued; `profile` NULL: not profiled. */
typedef struct ga_span {
  gpuprofile *profile;
  void *device; /* the backend's queue */
  void *start;  /* event before the command; NULL where it has its own */
} ga_span;

/* Around the queuing of a command. One that cannot be timed counts as lost; never
 * fails. */
ga_span ga__profile_begin(gpucontext *ctx, void *device);
void ga__profile_end(ga_span *span, const char *name, int kind, size_t bytes);

/* Reads the events of a queue that is to be freed. It is idle. */
void ga__profile_settle(gpucontext *ctx);

/* Events not read yet; both NULL afterwards. */
typedef struct pending {
  void *start, *end; /* `start` NULL: `end` is the command's own event */
} pending;

struct _gpuprofile {
  gpucontext *context;
  atomic_uint references; /* the owner's, and one per command being queued */
  pthread_mutex_t lock;   /* guards the rest */
  void *origin;           /* time zero, on the default queue */
  bool is_over;           /* stopped: no more events are read */
  size_t n, room, most, lost;
  size_t n_settled; /* spans with times */
  gpuspan *spans;
  pending *events;
};

/* Drops a reference. */
void ga__profile_drop(gpuprofile *p);
/* Reads events in order, up to the first that is not done; with `all` every one, which
 * the caller has waited for. Locked. */
void ga__profile_read(gpuprofile *p, bool all);

#endif
