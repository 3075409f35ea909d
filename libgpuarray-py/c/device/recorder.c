/* The stack of recordings that a thread is in. */
#include "c/device/recorder.h"

static _Thread_local ga_recording *current;

static ga_recording *recording_of(const gpucontext *ctx) {
  ga_recording *r = current;
  while (r != NULL && r->context != ctx)
    r = r->outer;
  return r;
}

ga_tape *ga__recording_current(const gpucontext *ctx) {
  return (ga_tape *)(void *)recording_of(ctx);
}

bool ga__recording_drop(const gpucontext *ctx) {
  ga_recording *r = recording_of(ctx);
  if (r == NULL || !r->is_rehearsal)
    return false;
  r->is_void = true;
  return true;
}

void ga__recording_enter(ga_recording *r) {
  r->outer = current;
  current = r;
}

void ga__recording_leave(ga_recording *r) {
  current = r->outer;
  r->outer = NULL;
}

ga_recording *ga__recording_suspend(void) {
  ga_recording *r = current;
  current = NULL;
  return r;
}

void ga__recording_resume(ga_recording *r) {
  current = r;
}
