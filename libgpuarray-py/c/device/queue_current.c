/* The current queue of a thread, and whether it captures a graph. */
#include "c/device/context.h"

static _Thread_local ga_chosen chosen;

ga_chosen *ga__queue_chosen(void) {
  return &chosen;
}

gpuqueue *ga__queue_current(gpucontext *ctx) {
  if (atomic_load_explicit(&ctx->queues.are_many, memory_order_acquire))
    for (unsigned int i = 0; i < chosen.n; i++)
      if (chosen.list[i]->context == ctx)
        return chosen.list[i];
  return &ctx->queues.main;
}

void *ga__queue_device(gpucontext *ctx) {
  return ga__queue_current(ctx)->device;
}

static _Thread_local bool is_recording;

void ga__queue_record(bool on) {
  is_recording = on;
}

bool ga__queue_is_recording(void) {
  return is_recording;
}
