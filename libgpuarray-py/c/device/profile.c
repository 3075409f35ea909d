/* The times of commands, while somebody profiles a context. */
#include "c/device/profile.h"

#include "c/device/context.h"

#define MOST ((size_t)1000000) /* spans, unless the caller says otherwise */
#define AT_ONCE 512 /* events in flight before those that are done are read */

/* A span whose events have not been read yet; both NULL once they were. */
typedef struct pending {
  void *start, *end; /* `start` NULL: `end` is the command's own event */
} pending;

struct _gpuprofile {
  gpucontext *context;
  atomic_uint references; /* of its owner, and of commands being queued */
  pthread_mutex_t lock;   /* of what follows */
  void *origin;           /* an event of the default queue */
  bool is_over;           /* no more events are read */
  size_t n, room, most, lost;
  size_t n_settled; /* whose times are known */
  gpuspan *spans;
  pending *events;
};

/* ---- life ---- */

static void drop(gpuprofile *p) {
  if (atomic_fetch_sub(&p->references, 1) != 1)
    return;
  gpucontext *ctx = p->context;
  pthread_mutex_destroy(&p->lock);
  ga__free(p->spans);
  ga__free(p->events);
  ga__free(p);
  gpucontext_deref(ctx);
}

/* The profile that runs, with a reference; NULL if there is none. */
static gpuprofile *take_running(gpucontext *ctx) {
  pthread_mutex_lock(&ctx->queue_lock);
  gpuprofile *p = atomic_load(&ctx->profile);
  if (p)
    atomic_fetch_add(&p->references, 1);
  pthread_mutex_unlock(&ctx->queue_lock);
  return p;
}

/* Puts `p` in the place of the context's profile, if that is `expected`. */
static bool exchange_running(gpucontext *ctx, gpuprofile *expected, gpuprofile *p) {
  pthread_mutex_lock(&ctx->queue_lock);
  bool fits = atomic_load(&ctx->profile) == expected;
  if (fits)
    atomic_store(&ctx->profile, p);
  pthread_mutex_unlock(&ctx->queue_lock);
  return fits;
}

/* An event of the default queue, from which time counts. Asked at once what time it
 * is, for a queue that keeps no times says so only then. */
static int open_origin(void **out, gpucontext *ctx) {
  const ga_backend *backend = ctx->backend;
  double none;
  GA_TRY(backend->event(out, ctx->device, true));
  ga__context_note_wait(ctx);
  int status = backend->event_wait(ctx->device, *out);
  if (status == GA_NO_ERROR &&
      backend->event_seconds(&none, ctx->device, *out, *out) != GA_NO_ERROR)
    status = GA_FAIL(GA_DEVSUP_ERROR,
                     "gpuprofile_start: the queue of %s keeps no times (%s)", ctx->name,
                     gpuarray_error_text());
  if (status != GA_NO_ERROR)
    backend->event_free(ctx->device, *out);
  return status;
}

int gpuprofile_start(gpuprofile **res, gpucontext *ctx, size_t most) {
  GA_TRY(ga__context_check(ctx));
  if (res == NULL)
    return ga__fail_null("gpuprofile_start", "place for the profile");
  gpuprofile *p = ga__alloc(1, sizeof *p);
  if (p == NULL)
    return GA_MEMORY_ERROR;
  int status = open_origin(&p->origin, ctx);
  if (status != GA_NO_ERROR) {
    ga__free(p);
    return ga__context_status(ctx, status);
  }
  p->context = ctx;
  p->most = most ? most : MOST;
  atomic_init(&p->references, 1);
  pthread_mutex_init(&p->lock, NULL);
  gpucontext_retain(ctx);
  if (!exchange_running(ctx, NULL, p)) {
    ctx->backend->event_free(ctx->device, p->origin);
    status = GA_FAIL(GA_UNSUPPORTED_ERROR,
                     "gpuprofile_start: %s is being profiled already; stop that first",
                     ctx->name);
    drop(p);
    return status;
  }
  *res = p;
  return GA_NO_ERROR;
}

/* ---- reading events ---- */

static int read_times(gpuspan *s, const gpuprofile *p, const pending *e) {
  const ga_backend *backend = p->context->backend;
  void *device = p->context->device;
  double lasted;
  if (e->start == NULL)
    return backend->event_span(&s->start, &s->end, device, p->origin, e->end);
  GA_TRY(backend->event_seconds(&s->start, device, p->origin, e->start));
  GA_TRY(backend->event_seconds(&lasted, device, e->start, e->end));
  s->end = s->start + lasted; /* exact, however long ago the origin was */
  return GA_NO_ERROR;
}

static void free_events(const gpuprofile *p, pending *e) {
  if (e->start)
    p->context->backend->event_free(p->context->device, e->start);
  if (e->end)
    p->context->backend->event_free(p->context->device, e->end);
  *e = (pending){NULL, NULL};
}

/* Reads the events that are done, from the oldest on to the first that is not; with
 * `all`, which the caller has waited for, every one. The lock is held. */
static void settle(gpuprofile *p, bool all) {
  const ga_backend *backend = p->context->backend;
  for (; p->n_settled < p->n; p->n_settled++) {
    pending *e = &p->events[p->n_settled];
    bool done = all;
    if (!all &&
        (backend->event_done(&done, p->context->device, e->end) != GA_NO_ERROR ||
         !done))
      return;
    gpuspan *s = &p->spans[p->n_settled];
    if (read_times(s, p, e) != GA_NO_ERROR)
      s->start = s->end = -1;
    free_events(p, e);
  }
}

void ga__profile_settle(gpucontext *ctx) {
  if (atomic_load_explicit(&ctx->profile, memory_order_relaxed) == NULL)
    return;
  gpuprofile *p = take_running(ctx);
  if (p == NULL)
    return;
  pthread_mutex_lock(&p->lock);
  settle(p, false);
  pthread_mutex_unlock(&p->lock);
  drop(p);
}

/* ---- around a command ---- */

ga_span ga__profile_begin(gpucontext *ctx, void *device) {
  ga_span none = {NULL, NULL, NULL};
  if (atomic_load_explicit(&ctx->profile, memory_order_relaxed) == NULL ||
      ga__queue_is_recording())
    return none;
  ga_span span = {take_running(ctx), device, NULL};
  if (span.profile == NULL)
    return none;
  if (ctx->backend->watch) {
    ctx->backend->watch(device);
  } else if (ctx->backend->event(&span.start, device, true) != GA_NO_ERROR) {
    drop(span.profile);
    return none;
  }
  return span;
}

/* Room for one more span. The lock is held. */
static bool make_room(gpuprofile *p) {
  if (p->n < p->room)
    return true;
  size_t room = p->room ? 2 * p->room : 256;
  if (p->n >= p->most)
    return false;
  gpuspan *spans = ga__realloc(p->spans, room, sizeof *spans);
  if (spans)
    p->spans = spans;
  pending *events = spans ? ga__realloc(p->events, room, sizeof *events) : NULL;
  if (events == NULL)
    return false;
  p->events = events;
  p->room = room;
  return true;
}

/* Notes a span, or loses it; also where the profile stopped as it was queued. */
static void add(gpuprofile *p, const gpuspan *span, pending events) {
  pthread_mutex_lock(&p->lock);
  if (p->n - p->n_settled >= AT_ONCE)
    settle(p, false);
  if (!p->is_over && events.end && p->n < p->most && make_room(p)) {
    p->spans[p->n] = *span;
    p->events[p->n++] = events;
  } else {
    p->lost++;
    free_events(p, &events);
  }
  pthread_mutex_unlock(&p->lock);
}

void ga__profile_end(ga_span *span, const char *name, int kind, size_t bytes) {
  gpuprofile *p = span->profile;
  if (p == NULL)
    return;
  gpucontext *ctx = p->context;
  pending events = {span->start, NULL};
  if (ctx->backend->watch)
    events.end = ctx->backend->watched(span->device);
  else if (ctx->backend->event(&events.end, span->device, true) != GA_NO_ERROR)
    events.end = NULL;
  gpuspan noted = {.name = name,
                   .label = ga__label(),
                   .kind = kind,
                   .queue = ga__queue_current(ctx)->place,
                   .bytes = bytes};
  add(p, &noted, events);
  drop(p);
}

/* ---- what came out ---- */

int gpuprofile_stop(gpuprofile *p) {
  if (p == NULL)
    return ga__fail_null("gpuprofile_stop", "profile");
  gpucontext *ctx = p->context;
  if (!exchange_running(ctx, p, NULL))
    return GA_NO_ERROR;
  int status = ga__context_check(ctx);
  if (status == GA_NO_ERROR)
    status = ga__context_wait(ctx);
  if (!ga__context_is_ours(ctx))
    return status; /* the events are another process's */
  pthread_mutex_lock(&p->lock);
  settle(p, true);
  p->is_over = true;
  ctx->backend->event_free(ctx->device, p->origin);
  pthread_mutex_unlock(&p->lock);
  return status;
}

int gpuprofile_spans(gpuprofile *p, size_t first, size_t capacity, gpuspan *list,
                     size_t *count, size_t *total, size_t *lost) {
  if (p == NULL || count == NULL || total == NULL || (list == NULL && capacity > 0))
    return ga__fail_null("gpuprofile_spans", "profile, or no place for the answers");
  if (atomic_load(&p->context->profile) == p)
    return GA_FAIL(GA_INVALID_ERROR,
                   "gpuprofile_spans: the profile still runs; stop it first");
  pthread_mutex_lock(&p->lock);
  size_t n = 0;
  for (size_t i = first; i < p->n && n < capacity; i++)
    list[n++] = p->spans[i];
  *count = n;
  *total = p->n;
  if (lost)
    *lost = p->lost;
  pthread_mutex_unlock(&p->lock);
  return GA_NO_ERROR;
}

void gpuprofile_release(gpuprofile *p) {
  if (p == NULL)
    return;
  (void)gpuprofile_stop(p);
  drop(p);
}
