/* Profiling: device times of commands. */
#include "c/device/profile.h"

#include "c/device/context.h"

#define MOST ((size_t)1000000) /* default capacity, in spans */

/* ---- start ---- */

/* Compare-and-exchange of the context's running profile. */
static bool exchange_running(gpucontext *ctx, gpuprofile *expected, gpuprofile *p) {
  pthread_mutex_lock(&ctx->queues.lock);
  bool fits = atomic_load(&ctx->profile) == expected;
  if (fits)
    atomic_store(&ctx->profile, p);
  pthread_mutex_unlock(&ctx->queues.lock);
  return fits;
}

/* Records the event that is time zero and queries it at once: a queue without profiling
 * says so only then. */
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
    return ga__fail_null("gpuprofile_start", "pointer for the profile");
  gpuprofile *p = ga__alloc(1, sizeof *p);
  GA_TRY_MEMORY(p);
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
    ga__profile_drop(p);
    return status;
  }
  *res = p;
  return GA_NO_ERROR;
}

/* ---- results ---- */

int gpuprofile_stop(gpuprofile *p) {
  if (p == NULL)
    return ga__fail_null("gpuprofile_stop", "profile");
  gpucontext *ctx = p->context;
  if (!exchange_running(ctx, p, NULL))
    return GA_NO_ERROR;
  int status = ga__context_check(ctx);
  GA_THEN(status, ga__context_wait(ctx));
  if (!ga__context_is_ours(ctx))
    return status; /* after a fork the events belong to the parent */
  pthread_mutex_lock(&p->lock);
  ga__profile_read(p, true);
  p->is_over = true;
  ctx->backend->event_free(ctx->device, p->origin);
  pthread_mutex_unlock(&p->lock);
  return status;
}

int gpuprofile_spans(gpuprofile *p, size_t first, size_t capacity, gpuspan *list,
                     size_t *count, size_t *total, size_t *lost) {
  if (p == NULL || count == NULL || total == NULL || (list == NULL && capacity > 0))
    return ga__fail_null("gpuprofile_spans", "profile, or no pointer for the results");
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
  ga__profile_drop(p);
}
