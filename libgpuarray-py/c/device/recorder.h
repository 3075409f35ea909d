/* Recording instead of queueing: what is done with a buffer that is a stand-in.
 *
 * A stand-in (gpudata whose `tape` is set) has no memory: it is of a plan that is being
 * bound. Whoever is given one asks its recorder, which is the tape's: what is above
 * these files records, they know only this table. */
#ifndef GA_C_RECORDER_H
#define GA_C_RECORDER_H

#include "c/device/buffer.h"

typedef struct ga_recorder {
  /* A stand-in of `size` bytes; its release is recorded. */
  int (*buffer)(gpudata **out, ga_tape *tape, size_t size);
  /* The last reference to a stand-in goes; frees the struct. */
  void (*release)(gpudata *stand_in);
  /* Each copies all that it is given. */
  int (*launch)(ga_tape *tape, gpukernel *k, const ga_launch *launch);
  int (*copy)(ga_tape *tape, gpudata *to, size_t to_offset, gpudata *from,
              size_t from_offset, size_t size);
  int (*fill)(ga_tape *tape, gpudata *buffer, size_t offset, unsigned char byte,
              size_t size);
} ga_recorder;

/* What every tape begins with. */
typedef struct ga_recording {
  const ga_recorder *recorder;
  gpucontext *context;
  struct ga_recording *outer; /* while it records: the thread's before it */
} ga_recording;

static inline const ga_recorder *ga__recorder(const ga_tape *tape) {
  return ((const ga_recording *)(const void *)tape)->recorder;
}

/* The tape that new buffers of this context belong to on this thread while a plan is
 * bound, or NULL; the innermost where a step's function binds another plan. */
ga_tape *ga__recording_current(const gpucontext *ctx);
/* Between the two, which are nested as calls are, it is the thread's. */
void ga__recording_enter(ga_recording *r);
void ga__recording_leave(ga_recording *r);
/* Around what is to be done now, not recorded: suspend gives what resume takes. */
ga_recording *ga__recording_suspend(void);
void ga__recording_resume(ga_recording *r);

#endif
