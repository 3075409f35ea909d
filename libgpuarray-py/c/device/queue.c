/* Queues and events of a context, and the queue that a thread has chosen. */
#include "c/device/queue.h"

#include "c/device/context.h"
#include "c/device/report.h"

/* ---- the queue of a thread ---- */

#define MOST_CHOSEN 16 /* contexts on which one thread has a queue of its own */

static _Thread_local gpuqueue *chosen[MOST_CHOSEN];
static _Thread_local unsigned int n_chosen;
static pthread_key_t at_thread_end;
static bool has_key;

static void drop_chosen(void *unused) {
  (void)unused;
  while (n_chosen > 0)
    gpuqueue_release(chosen[--n_chosen]);
}

static void make_key(void) {
  has_key = pthread_key_create(&at_thread_end, drop_chosen) == 0;
}

gpuqueue *ga__queue_current(gpucontext *ctx) {
  if (atomic_load_explicit(&ctx->has_queues, memory_order_acquire))
    for (unsigned int i = 0; i < n_chosen; i++)
      if (chosen[i]->context == ctx)
        return chosen[i];
  return &ctx->main_queue;
}

void *ga__queue_device(gpucontext *ctx) {
  return ga__queue_current(ctx)->device;
}

/* The place in `chosen` of this context's queue, or n_chosen. */
static unsigned int find_chosen(const gpucontext *ctx) {
  unsigned int i = 0;
  while (i < n_chosen && chosen[i]->context != ctx)
    i++;
  return i;
}

static int choose(gpuqueue *q) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  unsigned int i = find_chosen(q->context);
  if (i == MOST_CHOSEN)
    return GA_FAIL(GA_UNSUPPORTED_ERROR,
                   "gpucontext_use_queue: this thread uses queues of %d contexts "
                   "already; give one up with NULL",
                   MOST_CHOSEN);
  pthread_once(&once, make_key);
  if (!has_key || pthread_setspecific(at_thread_end, chosen) != 0)
    return GA_FAIL(GA_SYS_ERROR,
                   "gpucontext_use_queue: the system has no key for the thread");
  gpuqueue_retain(q);
  if (i < n_chosen)
    gpuqueue_release(chosen[i]);
  else
    n_chosen++;
  chosen[i] = q;
  return GA_NO_ERROR;
}

int gpucontext_use_queue(gpucontext *ctx, gpuqueue *q) {
  if (q || ctx == NULL) /* one of a lost context can still be given up */
    GA_TRY(ga__context_check(ctx));
  if (q && q->context != ctx)
    return GA_FAIL(GA_INVALID_ERROR,
                   "gpucontext_use_queue: the queue is of another context, %s, not %s",
                   q->context->name, ctx->name);
  if (q && q->place != 0)
    return choose(q);
  unsigned int i = find_chosen(ctx);
  if (i < n_chosen) {
    gpuqueue *given_up = chosen[i];
    chosen[i] = chosen[--n_chosen];
    gpuqueue_release(given_up);
  }
  return GA_NO_ERROR;
}

gpuqueue *gpucontext_queue(gpucontext *ctx) {
  return ctx ? ga__queue_current(ctx) : NULL;
}

/* ---- life ---- */

void ga__queues_open(gpucontext *ctx) {
  ctx->main_queue.context = ctx;
  ctx->main_queue.device = ctx->device;
  ctx->queues[0] = &ctx->main_queue;
  ctx->epoch = 0;
}

void ga__queues_close(gpucontext *ctx) {
  if (ctx->main_queue.event)
    ctx->backend->event_free(ctx->device, ctx->main_queue.event);
  ctx->main_queue.event = NULL;
}

/* Puts the queue in a free place; what is used from now on is noted. */
static int add_queue(gpuqueue *q) {
  gpucontext *ctx = q->context;
  unsigned int place = 1;
  pthread_mutex_lock(&ctx->queue_lock);
  while (place < GPUARRAY_MAX_QUEUES && ctx->queues[place])
    place++;
  if (place < GPUARRAY_MAX_QUEUES) {
    q->place = place;
    q->ticket = q->done = ctx->tickets[place];
    ctx->queues[place] = q;
    if (!atomic_load(&ctx->has_queues))
      ctx->epoch++;
    atomic_store_explicit(&ctx->has_queues, true, memory_order_release);
  }
  pthread_mutex_unlock(&ctx->queue_lock);
  if (place == GPUARRAY_MAX_QUEUES)
    return GA_FAIL(GA_UNSUPPORTED_ERROR,
                   "gpuqueue_new: %s has %d queues already; release one", ctx->name,
                   GPUARRAY_MAX_QUEUES);
  return GA_NO_ERROR;
}

static atomic_ulong made; /* queues, in this process */

int gpuqueue_new(gpuqueue **res, gpucontext *ctx) {
  GA_TRY(ga__context_check(ctx));
  if (res == NULL)
    return ga__fail_null(__func__, "place for the queue");
  if (ctx->is_single || ctx->backend->queue_new == NULL)
    return GA_FAIL(GA_UNSUPPORTED_ERROR,
                   ctx->is_single
                       ? "gpuqueue_new: %s was opened for a single stream"
                       : "gpuqueue_new: the backend of %s has one queue a device",
                   ctx->name);
  gpuqueue *q = ga__alloc(1, sizeof *q);
  if (q == NULL)
    return GA_MEMORY_ERROR;
  q->context = ctx;
  q->serial = atomic_fetch_add(&made, 1) + 1;
  atomic_init(&q->references, 1);
  atomic_init(&q->waited, atomic_load(&ctx->launches.count));
  atomic_init(&q->marked, atomic_load(&ctx->launches.count));
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

/* Takes the queue out of the context, with its tickets done. */
static void remove_queue(gpuqueue *q) {
  gpucontext *ctx = q->context;
  pthread_mutex_lock(&ctx->queue_lock);
  ctx->tickets[q->place] = q->ticket;
  ctx->queues[q->place] = NULL;
  bool is_last = true;
  for (unsigned int i = 1; i < GPUARRAY_MAX_QUEUES; i++)
    is_last = is_last && ctx->queues[i] == NULL;
  if (is_last)
    atomic_store(&ctx->has_queues, false);
  pthread_mutex_unlock(&ctx->queue_lock);
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

static int check_queue(const gpuqueue *q, const char *operation) {
  if (q == NULL)
    return ga__fail_null(operation, "queue");
  return ga__context_check(q->context);
}

int gpuqueue_sync(gpuqueue *q) {
  GA_TRY(check_queue(q, __func__));
  GA_TRY(ga__context_waited(q->context, ga__queue_wait(q)));
  return ga__report_check(q);
}

gpucontext *gpuqueue_context(gpuqueue *q) {
  return q ? q->context : NULL;
}

/* ---- events ---- */

struct _gpuevent {
  gpuqueue *queue;
  void *event; /* the backend's */
};

static int check_event(const gpuevent *e, const char *operation) {
  if (e == NULL)
    return ga__fail_null(operation, "event");
  return ga__context_check(e->queue->context);
}

int gpuevent_record(gpuevent **res, gpuqueue *q) {
  GA_TRY(check_queue(q, __func__));
  if (res == NULL)
    return ga__fail_null(__func__, "place for the event");
  gpuevent *e = ga__alloc(1, sizeof *e);
  if (e == NULL)
    return GA_MEMORY_ERROR;
  int status = q->context->backend->event(&e->event, q->device, true);
  if (status != GA_NO_ERROR) {
    ga__free(e);
    return ga__context_status(q->context, status);
  }
  gpuqueue_retain(q);
  e->queue = q;
  *res = e;
  return GA_NO_ERROR;
}

int gpuevent_wait(gpuevent *e) {
  GA_TRY(check_event(e, __func__));
  gpucontext *ctx = e->queue->context;
  ga__context_note_wait(ctx);
  GA_TRY(ga__context_waited(ctx, ctx->backend->event_wait(e->queue->device, e->event)));
  return ga__report_check(e->queue);
}

int gpuevent_query(gpuevent *e, int *done) {
  GA_TRY(check_event(e, __func__));
  if (done == NULL)
    return ga__fail_null(__func__, "place for the answer");
  gpucontext *ctx = e->queue->context;
  bool is_done = false;
  GA_TRY(ga__context_waited(
      ctx, ctx->backend->event_done(&is_done, e->queue->device, e->event)));
  *done = is_done;
  return GA_NO_ERROR;
}

int gpuevent_seconds(double *seconds, gpuevent *start, gpuevent *end) {
  GA_TRY(check_event(start, __func__));
  GA_TRY(check_event(end, __func__));
  gpucontext *ctx = start->queue->context;
  if (seconds == NULL)
    return ga__fail_null(__func__, "place for the answer");
  if (ctx != end->queue->context)
    return GA_FAIL(GA_INVALID_ERROR,
                   "gpuevent_seconds: the events are of two contexts, %s and %s",
                   ctx->name, end->queue->context->name);
  GA_TRY(gpuevent_wait(start));
  GA_TRY(gpuevent_wait(end));
  return ga__context_status(
      ctx, ctx->backend->event_seconds(seconds, ctx->device, start->event, end->event));
}

void gpuevent_release(gpuevent *e) {
  if (e == NULL)
    return;
  gpuqueue *q = e->queue;
  if (ga__context_is_ours(q->context))
    q->context->backend->event_free(q->device, e->event);
  ga__free(e);
  gpuqueue_release(q);
}

int gpuqueue_wait_event(gpuqueue *q, gpuevent *e) {
  GA_TRY(check_queue(q, __func__));
  GA_TRY(check_event(e, __func__));
  gpucontext *ctx = q->context;
  if (ctx != e->queue->context)
    return GA_FAIL(GA_INVALID_ERROR,
                   "gpuqueue_wait_event: the queue is of %s, the event of %s",
                   ctx->name, e->queue->context->name);
  if (q == e->queue)
    return GA_NO_ERROR;
  if (ctx->backend->event_order == NULL)
    return GA_FAIL(GA_UNSUPPORTED_ERROR,
                   "gpuqueue_wait_event: the backend of %s has one queue a device",
                   ctx->name);
  return ga__context_status(ctx, ctx->backend->event_order(q->device, e->event));
}
