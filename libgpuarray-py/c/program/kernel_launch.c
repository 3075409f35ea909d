/* Launches of kernels. */
#include "c/device/device_errors.h"
#include "c/device/recorder.h"
#include "c/program/kernel.h"

size_t ga__kernel_threads(gpukernel *k) {
  return ga__kernel_ready(k) == GA_NO_ERROR ? k->threads : 1;
}

bool ga__kernel_takes(gpukernel *k, size_t threads) {
  return (!atomic_load_explicit(&k->is_open, memory_order_acquire) &&
          threads <= k->context->backend->sure_threads) ||
         threads <= ga__kernel_threads(k);
}

/* After a launch: notes a possible report, waits in blocking mode, or marks
 * progress. */
static int note_launch(gpucontext *ctx, gpuqueue *q, bool reports) {
  if (reports)
    atomic_store(&q->reports, true);
  if (!ctx->is_blocking)
    return ga__launches_mark(q, 1);
  GA_TRY(ga__queue_wait(q));
  return ga__report_check(q);
}

/* Queues a launch on this thread's queue. `reports`: it has the error word. */
static int queue_launch(gpukernel *k, const ga_launch *launch, bool reports) {
  gpucontext *ctx = k->context;
  gpuqueue *q = &ctx->queues.main;
  void *device = ctx->device;
  if (atomic_load_explicit(&ctx->queues.are_many, memory_order_acquire)) {
    q = ga__queue_current(ctx);
    GA_TRY(ga__queue_begin_launch(&device, ctx, launch));
  }
  ga__launches_add(&ctx->errors.launches, k->shown, q->place);
  ga_span span = ga__profile_begin(ctx, device);
  if (reports)
    ga__report_enter(ctx);
  int status = ctx->backend->launch(device, k->kernel, launch);
  if (reports)
    ga__report_leave(ctx);
  ga__profile_end(&span, k->shown, GPUARRAY_SPAN_LAUNCH, 0);
  if (status == GA_NO_ERROR && (reports || ctx->is_blocking || ctx->backend->mark))
    status = note_launch(ctx, q, reports);
  if (atomic_load_explicit(&ctx->queues.are_many, memory_order_acquire))
    ga__queue_end_launch(ctx, launch);
  return status;
}

int ga__kernel_launch(gpukernel *k, const ga_launch *launch) {
  gpucontext *ctx = k->context;
  bool reports = false;
  GA_TRY(ga__context_check(ctx));
  if (launch->n_args > GA_MAX_ARGS)
    return GA_FAIL(GA_UNSUPPORTED_ERROR,
                   "kernel %s: %u arguments are more than the %d a launch may have",
                   k->name, launch->n_args, GA_MAX_ARGS);
  for (unsigned int i = 0; i < launch->nd; i++)
    if (launch->grid[i] == 0 || launch->block[i] == 0)
      return GA_NO_ERROR;
  for (const ga_arg *a = launch->args; a < launch->args + launch->n_args; a++) {
    if (a->kind != GA_ARG_MEMORY)
      continue;
    if (a->buffer->tape)
      return ga__recorder(a->buffer->tape)->launch(a->buffer->tape, k, launch);
    reports |= (a->buffer->flags & GA_BUFFER_WORD) != 0;
  }
  int status = ga__kernel_ready(k);
  GA_THEN(status, queue_launch(k, launch, reports));
  if (status == GA_NO_ERROR)
    return status;
  return ga__context_status(ctx, ga__fail_within(status, "kernel %s", k->name));
}

int ga__kernel_launch_work(gpukernel *k, const ga_args *args, size_t items,
                           size_t threads, size_t most, size_t work) {
  while (!ga__kernel_takes(k, threads))
    threads /= 2;
  const size_t blocks = (items - 1) / threads + 1;
  const ga_launch launch = {.nd = 1,
                            .grid = {blocks < most ? blocks : most, 1, 1},
                            .block = {threads, 1, 1},
                            .work = work,
                            .n_args = args->n,
                            .args = args->list};
  return ga__kernel_launch(k, &launch);
}

int ga__kernel_launch_items(gpukernel *k, const ga_args *args, size_t items,
                            size_t threads, size_t most) {
  return ga__kernel_launch_work(k, args, items, threads, most, 0);
}
