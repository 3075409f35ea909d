/* Creation and release of queues. */
#include "c/device/context.h"

void ga__queues_open(gpucontext *ctx) {
  ga_context_queues *all = &ctx->queues;
  all->main.context = ctx;
  all->main.device = ctx->device;
  all->list[0] = &all->main;
  all->epoch = 0;
}

void ga__queues_close(gpucontext *ctx) {
  if (ctx->queues.main.event)
    ctx->backend->event_free(ctx->device, ctx->queues.main.event);
  ctx->queues.main.event = NULL;
}

/* Gives the queue a free index; buffer uses are recorded from now on. */
static int add_queue(gpuqueue *q) {
  ga_context_queues *all = &q->context->queues;
  unsigned int place = 1;
  pthread_mutex_lock(&all->lock);
  while (place < GPUARRAY_MAX_QUEUES && all->list[place])
    place++;
  if (place < GPUARRAY_MAX_QUEUES) {
    q->place = place;
    q->ticket = q->done = all->tickets[place];
    all->list[place] = q;
    if (!atomic_load(&all->are_many))
      all->epoch++;
    atomic_store_explicit(&all->are_many, true, memory_order_release);
  }
  pthread_mutex_unlock(&all->lock);
  if (place == GPUARRAY_MAX_QUEUES)
    return GA_FAIL(GA_UNSUPPORTED_ERROR,
                   "gpuqueue_new: %s has %d queues already; release one",
                   q->context->name, GPUARRAY_MAX_QUEUES);
  return GA_NO_ERROR;
}

static atomic_ulong n_created; /* queues of this process, ever */

int gpuqueue_new(gpuqueue **res, gpucontext *ctx) {
  GA_TRY(ga__context_check(ctx));
  if (res == NULL)
    return ga__fail_null(__func__, "pointer for the queue");
  if (ctx->queues.is_single || ctx->backend->queue_new == NULL)
    return GA_FAIL(GA_UNSUPPORTED_ERROR,
                   ctx->queues.is_single
                       ? "gpuqueue_new: %s was opened for a single stream"
                       : "gpuqueue_new: the backend of %s has one queue per device",
                   ctx->name);
  gpuqueue *q = ga__alloc(1, sizeof *q);
  GA_TRY_MEMORY(q);
  q->context = ctx;
  q->serial = atomic_fetch_add(&n_created, 1) + 1;
  atomic_init(&q->references, 1);
  atomic_init(&q->waited, atomic_load(&ctx->errors.launches.count));
  atomic_init(&q->marked, atomic_load(&ctx->errors.launches.count));
  int status = ctx->backend->queue_new(&q->device, ctx->device);
  if (status == GA_NO_ERROR) {
    status = add_queue(q);
    if (status != GA_NO_ERROR)
      ctx->backend->queue_free(q->device);
  }
  if (status != GA_NO_ERROR) {
    ga__free(q);
    return ga__context_status(ctx, status);
  }
  gpucontext_retain(ctx);
  *res = q;
  return GA_NO_ERROR;
}

void gpuqueue_retain(gpuqueue *q) {
  if (q && q->place == 0)
    gpucontext_retain(q->context);
  else if (q)
    atomic_fetch_add_explicit(&q->references, 1, memory_order_relaxed);
}

/* Removes an idle queue; its index goes on with its ticket count. */
static void remove_queue(gpuqueue *q) {
  ga_context_queues *all = &q->context->queues;
  pthread_mutex_lock(&all->lock);
  all->tickets[q->place] = q->ticket;
  all->list[q->place] = NULL;
  bool is_last = true;
  for (unsigned int i = 1; i < GPUARRAY_MAX_QUEUES; i++)
    is_last = is_last && all->list[i] == NULL;
  if (is_last)
    atomic_store(&all->are_many, false);
  pthread_mutex_unlock(&all->lock);
}

void gpuqueue_release(gpuqueue *q) {
  if (q == NULL)
    return;
  gpucontext *ctx = q->context;
  if (q->place == 0) {
    gpucontext_deref(ctx);
    return;
  }
  if (atomic_fetch_sub_explicit(&q->references, 1, memory_order_acq_rel) != 1)
    return;
  if (!ga__context_is_ours(ctx))
    return;
  ga__context_note_wait(ctx);
  ga__context_status(ctx, ctx->backend->wait(q->device));
  ga__profile_settle(ctx);
  remove_queue(q);
  if (q->event)
    ctx->backend->event_free(q->device, q->event);
  ctx->backend->queue_free(q->device);
  ga__free(q);
  gpucontext_deref(ctx);
}

/* Retains unless the count is 0 already. */
static bool retain_live(gpuqueue *q) {
  unsigned int n = atomic_load(&q->references);
  while (n != 0)
    if (atomic_compare_exchange_weak(&q->references, &n, n + 1))
      return true;
  return false;
}

/* A queue that another thread is about to free is waited for. */
gpuqueue *ga__queue_take(gpucontext *ctx, unsigned int place) {
  pthread_mutex_lock(&ctx->queues.lock);
  gpuqueue *q = ctx->queues.list[place];
  if (q && place != 0 && !retain_live(q)) { /* the context owns the default one */
    ctx->backend->wait(q->device);
    q = NULL;
  }
  pthread_mutex_unlock(&ctx->queues.lock);
  return q;
}
