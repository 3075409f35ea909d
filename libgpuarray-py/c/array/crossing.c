/* Copies of arrays between contexts. */
#include "c/array/crossing.h"

#include "c/array/array.h"
#include "c/device/buffer.h"
#include "c/device/device_errors.h"

static size_t bytes_of(const GpuArray *a) {
  return ga__array_count(a) * gpuarray_get_elsize(a->typecode);
}

/* ---- begin ---- */

static int begin_peer(ga_crossing *c) {
  gpudata *to = c->to.data;
  GA_TRY(ga__buffer_copy_peer(&c->event, &c->device, to, c->to.offset, c->from.data,
                              c->from.offset, bytes_of(&c->to)));
  c->here = to->context;
  c->way = GA_CROSSING_PEER;
  return GA_NO_ERROR;
}

/* Queues the copy to pinned memory, if there is any, and an event behind it. */
static int queue_event(ga_crossing *c) {
  gpudata *from = c->from.data;
  gpucontext *ctx = from->context;
  const ga_backend *backend = ctx->backend;
  ga_use use = {from, false};
  void *device;
  GA_TRY(ga__context_status(ctx, ga__queue_begin(&device, ctx, 1, &use)));
  int status = GA_NO_ERROR;
  if (c->staging != NULL) {
    ga_span span = ga__profile_begin(ctx, device);
    status = backend->pinning->read(device, gpuhost_bytes(c->staging), from->memory,
                                    c->from.offset, bytes_of(&c->from));
    ga__profile_end(&span, "read", GPUARRAY_SPAN_READ, bytes_of(&c->from));
  }
  GA_THEN(status, backend->event(&c->event, device, false));
  if (status != GA_NO_ERROR && c->staging != NULL) { /* which may be written yet */
    ga__context_note_wait(ctx);
    backend->wait(device);
  }
  ga__queue_end(ctx, 1, &use);
  c->device = device;
  c->here = ctx;
  return ga__context_status(ctx, status);
}

static int begin_by_host(ga_crossing *c) {
  gpucontext *ctx = c->from.data->context;
  if (ga__buffer_on_host(c->from.data) != NULL) {
    c->way = GA_CROSSING_MAPPED;
    return queue_event(c);
  }
  c->way = GA_CROSSING_LATE;
  if (ctx->backend->pinning == NULL)
    return GA_NO_ERROR;
  c->staging = ga__host_pool_get(ctx->memory.host_pool, bytes_of(&c->from));
  if (c->staging != NULL && c->staging->is_pinned) {
    c->way = GA_CROSSING_PINNED;
    return queue_event(c);
  }
  gpuhost_release(c->staging);
  c->staging = NULL;
  return GA_NO_ERROR;
}

static int begin(ga_crossing *c) {
  int status = GA_DEVSUP_ERROR;
  if (bytes_of(&c->to) == 0)
    return GA_NO_ERROR;
  if (ga__buffer_reaches(c->from.data, c->to.data->context))
    status = begin_peer(c);
  return status == GA_DEVSUP_ERROR ? begin_by_host(c) : status;
}

int ga__crossing_begin(ga_crossing *c, GpuArray *out, gpucontext *ctx,
                       const GpuArray *a) {
  *c = (ga_crossing){.way = GA_CROSSING_DONE};
  if (a->data->tape != NULL)
    return GA_FAIL(GA_UNSUPPORTED_ERROR,
                   "transfer: a plan of several contexts cannot be a step of another "
                   "plan");
  int status = GpuArray_IS_C_CONTIGUOUS(a) ? GpuArray_view(&c->from, a)
                                           : GpuArray_copy(&c->from, a, GA_C_ORDER);
  GA_THEN(status,
          GpuArray_empty(&c->to, ctx, a->typecode, a->nd, a->dimensions, GA_C_ORDER));
  GA_THEN(status, begin(c));
  GA_THEN(status, GpuArray_view(out, &c->to));
  if (status != GA_NO_ERROR)
    ga__crossing_end(c);
  return status;
}

/* ---- arrival ---- */

static int wait_once(ga_crossing *c) {
  const ga_backend *backend = c->here->backend;
  ga__context_note_wait(c->here);
  int status = backend->event_wait(c->device, c->event);
  backend->event_free(c->device, c->event);
  c->event = NULL;
  return ga__context_waited(c->here, status);
}

/* Waits for the bytes of the source, and writes them to the destination. */
static int write_bytes(ga_crossing *c) {
  const gpudata *from = c->from.data;
  GA_TRY(wait_once(c));
  const char *bytes = c->staging ? gpuhost_bytes(c->staging)
                                 : (char *)ga__buffer_on_host(from) + c->from.offset;
  return gpudata_write(c->to.data, c->to.offset, bytes, bytes_of(&c->to));
}

int ga__crossing_arrive(ga_crossing *c) {
  switch (c->way) {
  case GA_CROSSING_MAPPED:
  case GA_CROSSING_PINNED:
    GA_TRY(write_bytes(c));
    break;
  case GA_CROSSING_LATE:
    GA_TRY(gpudata_transfer(c->to.data, c->to.offset, c->from.data, c->from.offset,
                            bytes_of(&c->to)));
    break;
  case GA_CROSSING_PEER: /* by events */
  case GA_CROSSING_DONE:
    return GA_NO_ERROR;
  }
  ga__crossing_end(c);
  return GA_NO_ERROR;
}

/* ---- end ---- */

void ga__crossing_end(ga_crossing *c) {
  if (c->way == GA_CROSSING_PEER) {
    ga__buffer_follow(c->from.data, c->device, c->event);
    c->here->backend->event_free(c->device, c->event);
  } else if (c->event != NULL)
    wait_once(c); /* the memory must be idle before it is used again */
  gpuhost_release(c->staging);
  GpuArray_clear(&c->from);
  GpuArray_clear(&c->to);
  *c = (ga_crossing){.way = GA_CROSSING_DONE};
}
