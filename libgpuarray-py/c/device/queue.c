/* The current queue of a thread, synchronization, and events. */
#include "c/device/queue.h"

#include "c/device/context.h"
#include "c/device/device_errors.h"

/* ---- the current queue ---- */

static pthread_key_t at_thread_end;
static bool has_key;

static void drop_chosen(void *unused) {
  ga_chosen *c = ga__queue_chosen();
  (void)unused;
  while (c->n > 0)
    gpuqueue_release(c->list[--c->n]);
}

static void make_key(void) {
  has_key = pthread_key_create(&at_thread_end, drop_chosen) == 0;
}

/* Index of this context's queue in the list, or its end. */
static unsigned int find_chosen(const ga_chosen *c, const gpucontext *ctx) {
  unsigned int i = 0;
  while (i < c->n && c->list[i]->context != ctx)
    i++;
  return i;
}

static int choose(gpuqueue *q) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  ga_chosen *c = ga__queue_chosen();
  unsigned int i = find_chosen(c, q->context);
  if (i == GA_MOST_CHOSEN)
    return GA_FAIL(GA_UNSUPPORTED_ERROR,
                   "gpucontext_use_queue: this thread uses queues of %d contexts "
                   "already; give one up with NULL",
                   GA_MOST_CHOSEN);
  pthread_once(&once, make_key);
  if (!has_key || pthread_setspecific(at_thread_end, c) != 0)
    return GA_FAIL(GA_SYS_ERROR,
                   "gpucontext_use_queue: the system has no key for the thread");
  gpuqueue_retain(q);
  if (i < c->n)
    gpuqueue_release(c->list[i]);
  else
    c->n++;
  c->list[i] = q;
  return GA_NO_ERROR;
}

int gpucontext_use_queue(gpucontext *ctx, gpuqueue *q) {
  if (q || ctx == NULL) /* a queue of a lost context can still be given up */
    GA_TRY(ga__context_check(ctx));
  if (q && q->context != ctx)
    return GA_FAIL(GA_INVALID_ERROR,
                   "gpucontext_use_queue: the queue is of another context, %s, not %s",
                   q->context->name, ctx->name);
  if (q && q->place != 0)
    return choose(q);
  ga_chosen *c = ga__queue_chosen();
  unsigned int i = find_chosen(c, ctx);
  if (i < c->n) {
    gpuqueue *given_up = c->list[i];
    c->list[i] = c->list[--c->n];
    gpuqueue_release(given_up);
  }
  return GA_NO_ERROR;
}

gpuqueue *gpucontext_queue(gpucontext *ctx) {
  return ctx ? ga__queue_current(ctx) : NULL;
}

/* ---- synchronization ---- */

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
    return ga__fail_null(__func__, "pointer for the event");
  gpuevent *e = ga__alloc(1, sizeof *e);
  GA_TRY_MEMORY(e);
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
    return ga__fail_null(__func__, "pointer for the result");
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
    return ga__fail_null(__func__, "pointer for the result");
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
                   "gpuqueue_wait_event: the backend of %s has one queue per device",
                   ctx->name);
  return ga__context_status(ctx, ctx->backend->event_order(q->device, e->event));
}
