/* Recording instead of queueing: operations on placeholder buffers.
 *
 * A placeholder (gpudata with a `tape`) has no memory; it belongs to a plan that is
 * being recorded. Functions that get one call its recorder, which the tape above this
 * layer implements: a table of functions, so that this layer need not know the tape. */
#ifndef GA_C_RECORDER_H
#define GA_C_RECORDER_H

#include "c/device/buffer.h"

struct ga_collective;

typedef struct ga_recorder {
  /* A placeholder of `size` bytes; its release is recorded. */
  int (*buffer)(gpudata **out, ga_tape *tape, size_t size);
  /* The last reference to a placeholder is dropped; frees the struct. */
  void (*release)(gpudata *stand_in);
  /* Each copies its arguments. */
  int (*launch)(ga_tape *tape, gpukernel *k, const ga_launch *launch);
  int (*copy)(ga_tape *tape, gpudata *to, size_t to_offset, gpudata *from,
              size_t from_offset, size_t size);
  int (*fill)(ga_tape *tape, gpudata *buffer, size_t offset, unsigned char byte,
              size_t size);
  int (*collective)(ga_tape *tape, const struct ga_collective *c);
} ga_recorder;

/* First member of every tape. */
typedef struct ga_recording {
  const ga_recorder *recorder;
  gpucontext *context;
  struct ga_recording *outer; /* the thread's enclosing recording */
  bool is_rehearsal;          /* may be dropped, and recorded once more */
  bool is_void;               /* is to be */
} ga_recording;

static inline const ga_recorder *ga__recorder(const ga_tape *tape) {
  return ((const ga_recording *)(const void *)tape)->recorder;
}

/* The tape to which this thread's new buffers of the context belong, or NULL. The
 * innermost one, where a step's function records another plan. */
ga_tape *ga__recording_current(const gpucontext *ctx);
/* True if what this thread records is a rehearsal, which is then dropped: a choice by
 * time may begin what it needs there, kernels above all, and is made in the next
 * recording, so that the kernels of all choices compile at once. */
bool ga__recording_drop(const gpucontext *ctx);
/* Push and pop on the thread's stack of recordings. */
void ga__recording_enter(ga_recording *r);
void ga__recording_leave(ga_recording *r);
/* Suspends recording, for work to be done now; pass the result to resume. */
ga_recording *ga__recording_suspend(void);
void ga__recording_resume(ga_recording *r);

#endif
