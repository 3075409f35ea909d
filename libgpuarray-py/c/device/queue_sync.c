/* Synchronization of buffer uses across the queues of a context. */
#include "c/device/buffer.h"
#include "c/system/ending.h"

static bool has_queues(gpucontext *ctx) {
  return atomic_load_explicit(&ctx->queues.are_many, memory_order_acquire);
}

/* ---- dependencies, on the device ---- */

/* Makes `q` wait for another queue up to `ticket`; `anew`: for all it has queued.
 * queues.lock is held. */
static int wait_for(gpuqueue *q, gpuqueue *other, uint64_t ticket, bool anew) {
  gpucontext *ctx = q->context;
  const ga_backend *backend = ctx->backend;
  if (other == NULL || other == q ||
      (!anew && (ticket <= other->done || ticket <= q->seen[other->place])))
    return GA_NO_ERROR;
  if (other->event == NULL || anew || other->event_ticket < ticket) {
    void *event;
    GA_TRY(backend->event(&event, other->device, false));
    if (other->event)
      backend->event_free(other->device, other->event);
    other->event = event;
    other->event_ticket = other->ticket;
  }
  GA_TRY(backend->event_order(q->device, other->event));
  q->seen[other->place] = other->event_ticket;
  return GA_NO_ERROR;
}

/* Makes `q` wait for conflicting uses of a buffer (read after write, write after
 * any). */
static int order_after(gpuqueue *q, const ga_uses *uses, bool writes) {
  gpucontext *ctx = q->context;
  if (uses->epoch !=
      ctx->queues.epoch) /* used while there was only the default queue */
    return wait_for(q, ctx->queues.list[0], 0, true);
  for (unsigned int i = 0; i < uses->n; i++)
    if (writes || uses->last[i].writes)
      GA_TRY(wait_for(q, ctx->queues.list[uses->last[i].queue], uses->last[i].ticket,
                      false));
  return GA_NO_ERROR;
}

int ga__queue_follow_all(gpuqueue *q) {
  gpucontext *ctx = q->context;
  int status = GA_NO_ERROR;
  if (!has_queues(ctx))
    return status;
  pthread_mutex_lock(&ctx->queues.lock);
  for (unsigned int i = 0; i < GPUARRAY_MAX_QUEUES && status == GA_NO_ERROR; i++)
    status = wait_for(q, ctx->queues.list[i], 0, true);
  pthread_mutex_unlock(&ctx->queues.lock);
  return status;
}

/* ---- recording uses ---- */

/* Records a read. If the list is full it replaces a read of another queue, for which
 * `q` then waits, so that waiting for `q` covers it. */
static void record_read(gpuqueue *q, ga_uses *uses, uint64_t ticket) {
  unsigned int place = 0;
  for (unsigned int i = 0; i < uses->n; i++) {
    if (uses->last[i].queue == q->place) {
      uses->last[i].ticket = ticket; /* covers a write of the same queue too */
      return;
    }
    if (!uses->last[i].writes)
      place = i;
  }
  bool writes = false;
  if (uses->n < GA_USES) {
    place = uses->n++;
  } else {
    ga_last_use *old = &uses->last[place];
    writes = old->writes;
    if (wait_for(q, q->context->queues.list[old->queue], old->ticket, false) !=
        GA_NO_ERROR) {
      ga__context_note_wait(q->context);
      q->context->backend->wait(q->context->queues.list[old->queue]->device);
    }
  }
  uses->last[place] = (ga_last_use){(unsigned char)q->place, writes, ticket};
}

static void record_use(gpuqueue *q, ga_uses *uses, bool writes, uint64_t ticket) {
  if (uses->epoch != q->context->queues.epoch || writes) {
    /* `q` has waited for all earlier uses. */
    uses->epoch = q->context->queues.epoch;
    uses->n = 1;
    uses->last[0] = (ga_last_use){(unsigned char)q->place, true, ticket};
    return;
  }
  record_read(q, uses, ticket);
}

/* ---- around work on buffers ---- */

/* A use of aliased memory, to be ordered after uses by way of other buffers. */
typedef struct aliased_use {
  gpuqueue *q;
  bool writes;
  int status;
} aliased_use;

static void follow(void *with, gpudata *other) {
  aliased_use *turn = with;
  gpucontext *ctx = other->context;
  pthread_mutex_lock(&ctx->queues.lock);
  if (turn->status == GA_NO_ERROR)
    turn->status = order_after(turn->q, &other->uses, turn->writes);
  pthread_mutex_unlock(&ctx->queues.lock);
}

/* Makes `q` wait for the uses of aliasing buffers. */
static int follow_others(gpuqueue *q, unsigned int n, const ga_use *uses) {
  for (unsigned int i = 0; i < n; i++) {
    aliased_use turn = {q, uses[i].writes, GA_NO_ERROR};
    if (uses[i].buffer)
      ga__buffer_each_met(uses[i].buffer, follow, &turn);
    GA_TRY(turn.status);
  }
  return GA_NO_ERROR;
}

int ga__queue_begin(void **device, gpucontext *ctx, unsigned int n,
                    const ga_use *uses) {
  GA_TRY(ga__vendor_enter());
  if (!has_queues(ctx)) {
    *device = ctx->device;
    return GA_NO_ERROR;
  }
  gpuqueue *q = ga__queue_current(ctx);
  int status = GA_NO_ERROR;
  *device = q->device;
  if (ga__queue_is_recording())
    return GA_NO_ERROR;
  pthread_mutex_lock(&ctx->queues.lock);
  for (unsigned int i = 0; i < n && status == GA_NO_ERROR; i++)
    if (uses[i].buffer)
      status = order_after(q, &uses[i].buffer->uses, uses[i].writes);
  pthread_mutex_unlock(&ctx->queues.lock);
  GA_THEN(status, follow_others(q, n, uses));
  if (status != GA_NO_ERROR)
    ga__vendor_leave();
  return status;
}

/* Records the uses if there are several queues. */
static void record_uses(gpucontext *ctx, unsigned int n, const ga_use *uses) {
  if (!has_queues(ctx) || ga__queue_is_recording())
    return;
  gpuqueue *q = ga__queue_current(ctx);
  pthread_mutex_lock(&ctx->queues.lock);
  uint64_t ticket = ++q->ticket;
  for (unsigned int i = 0; i < n; i++)
    if (uses[i].buffer)
      record_use(q, &uses[i].buffer->uses, uses[i].writes, ticket);
  pthread_mutex_unlock(&ctx->queues.lock);
}

void ga__queue_end(gpucontext *ctx, unsigned int n, const ga_use *uses) {
  record_uses(ctx, n, uses);
  ga__vendor_leave();
}

/* The buffers of a launch; one may occur twice, as input and as output. */
static unsigned int uses_of(ga_use *uses, const ga_launch *launch) {
  unsigned int n = 0;
  for (const ga_arg *a = launch->args; a < launch->args + launch->n_args; a++)
    if (a->kind == GA_ARG_MEMORY && !(a->buffer->flags & GA_BUFFER_WORD))
      uses[n++] = (ga_use){a->buffer, !a->is_read_only};
  return n;
}

int ga__queue_begin_launch(void **device, gpucontext *ctx, const ga_launch *launch) {
  ga_use uses[GA_MAX_ARGS];
  return ga__queue_begin(device, ctx, uses_of(uses, launch), uses);
}

void ga__queue_end_launch(gpucontext *ctx, const ga_launch *launch) {
  ga_use uses[GA_MAX_ARGS];
  ga__queue_end(ctx, uses_of(uses, launch), uses);
}

/* ---- waiting, on the host ---- */

/* Waits for a queue, and notes its earlier work as complete. */
static int wait_queue(gpucontext *ctx, gpuqueue *q) {
  unsigned long launches = atomic_load(&ctx->errors.launches.count);
  pthread_mutex_lock(&ctx->queues.lock);
  uint64_t ticket = q->ticket;
  pthread_mutex_unlock(&ctx->queues.lock);
  ga__context_note_wait(ctx);
  GA_TRY(ctx->backend->wait(q->device));
  pthread_mutex_lock(&ctx->queues.lock);
  if (q->done < ticket)
    q->done = ticket;
  pthread_mutex_unlock(&ctx->queues.lock);
  if (atomic_load(&q->waited) < launches)
    atomic_store(&q->waited, launches);
  return GA_NO_ERROR;
}

/* Waits for the queue at an index, if any (a released one was waited for then). Keeps
 * the first failure in *status. */
static void wait_place(int *status, gpucontext *ctx, unsigned int place) {
  gpuqueue *q = ga__queue_take(ctx, place);
  if (q == NULL)
    return;
  const int waited = wait_queue(ctx, q);
  if (*status == GA_NO_ERROR)
    *status = waited;
  if (place != 0)
    gpuqueue_release(q);
}

int ga__queue_wait_all(gpucontext *ctx) {
  int status = wait_queue(ctx, &ctx->queues.main);
  for (unsigned int i = 1; i < GPUARRAY_MAX_QUEUES && has_queues(ctx); i++)
    wait_place(&status, ctx, i);
  return status;
}

int ga__queue_wait(gpuqueue *q) {
  return wait_queue(q->context, q);
}

/* Bit mask of the queues that used a buffer. queues.lock is held. */
static unsigned int queues_of(const gpudata *buffer) {
  const ga_uses *uses = &buffer->uses;
  unsigned int places = 0;
  if (uses->epoch != buffer->context->queues.epoch)
    return 1; /* there was only the default queue */
  for (unsigned int i = 0; i < uses->n; i++)
    places |= 1u << uses->last[i].queue;
  return places;
}

static void add_queues(void *with, gpudata *buffer) {
  unsigned int *places = with;
  pthread_mutex_lock(&buffer->context->queues.lock);
  *places |= queues_of(buffer);
  pthread_mutex_unlock(&buffer->context->queues.lock);
}

int ga__queue_wait_buffer(gpudata *buffer) {
  gpucontext *ctx = buffer->context;
  unsigned int places = 0;
  if (!has_queues(ctx))
    return wait_queue(ctx, &ctx->queues.main);
  add_queues(&places, buffer);
  ga__buffer_each_met(buffer, add_queues, &places);
  int status = GA_NO_ERROR;
  for (unsigned int i = 0; i < GPUARRAY_MAX_QUEUES; i++)
    if (places >> i & 1u)
      wait_place(&status, ctx, i);
  return status;
}
