/* Profiling: recording spans around commands, and reading their events. */
#include "c/device/context.h"

#define AT_ONCE 512 /* pending events before completed ones are read */

void ga__profile_drop(gpuprofile *p) {
  if (atomic_fetch_sub(&p->references, 1) != 1)
    return;
  gpucontext *ctx = p->context;
  pthread_mutex_destroy(&p->lock);
  ga__free(p->spans);
  ga__free(p->events);
  ga__free(p);
  gpucontext_deref(ctx);
}

/* The running profile, retained; NULL if none. */
static gpuprofile *take_running(gpucontext *ctx) {
  pthread_mutex_lock(&ctx->queues.lock);
  gpuprofile *p = atomic_load(&ctx->profile);
  if (p)
    atomic_fetch_add(&p->references, 1);
  pthread_mutex_unlock(&ctx->queues.lock);
  return p;
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
  s->end = s->start + lasted; /* exact, however old the origin is */
  return GA_NO_ERROR;
}

static void free_events(const gpuprofile *p, pending *e) {
  if (e->start)
    p->context->backend->event_free(p->context->device, e->start);
  if (e->end)
    p->context->backend->event_free(p->context->device, e->end);
  *e = (pending){NULL, NULL};
}

void ga__profile_read(gpuprofile *p, bool all) {
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
  ga__profile_read(p, false);
  pthread_mutex_unlock(&p->lock);
  ga__profile_drop(p);
}

/* ---- recording ---- */

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
    ga__profile_drop(span.profile);
    return none;
  }
  return span;
}

/* Reserves a span. Locked. */
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

/* Records a span, or counts it as lost (also if the profile was stopped meanwhile). */
static void add(gpuprofile *p, const gpuspan *span, pending events) {
  pthread_mutex_lock(&p->lock);
  if (p->n - p->n_settled >= AT_ONCE)
    ga__profile_read(p, false);
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
  gpuspan recorded = {.name = name,
                      .label = ga__label(),
                      .kind = kind,
                      .queue = ga__queue_current(ctx)->place,
                      .bytes = bytes};
  add(p, &recorded, events);
  ga__profile_drop(p);
}
