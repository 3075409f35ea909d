/* State of a context: process, error state, references, attachments. */
#include "c/base/dtype.h"
#include "c/device/context.h"

bool ga__context_is_ours(const gpucontext *ctx) {
  return (long)ctx->life.opened_by == ga__process();
}

static char no_cause[] = "the device failed, and the host had no memory for the text";

int ga__context_check(gpucontext *ctx) {
  if (ctx == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "got no context");
  const char *cause = atomic_load_explicit(&ctx->errors.lost, memory_order_acquire);
  if (cause)
    return GA_FAIL(GA_LOST_ERROR,
                   "the context %s is lost; its arrays cannot be used any more, and on "
                   "some devices only a new process helps. The first cause: %s",
                   ctx->name, cause);
  if (!ga__context_is_ours(ctx))
    return GA_FAIL(GA_FORK_ERROR,
                   "the context %s was opened by process %ld, from which this one was "
                   "forked; open a context after the fork only (with multiprocessing, "
                   "use the start method \"spawn\")",
                   ctx->name, (long)ctx->life.opened_by);
  return GA_NO_ERROR;
}

static void mark_lost(gpucontext *ctx) {
  char *cause = ga__strdup(gpuarray_error_text()), *none = NULL;
  if (cause == NULL)
    cause = no_cause;
  if (!atomic_compare_exchange_strong(&ctx->errors.lost, &none, cause) &&
      cause != no_cause)
    ga__free(cause);
}

/* Marks the context as lost. Only the first failure names its suspects: later ones are
 * consequences. */
static int note_device_failure(gpucontext *ctx, int status) {
  if (atomic_load_explicit(&ctx->errors.lost, memory_order_acquire) == NULL)
    ga__launches_blame(ctx, status);
  mark_lost(ctx);
  return status;
}

int ga__context_status(gpucontext *ctx, int status) {
  return status == GA_RUN_ERROR ? note_device_failure(ctx, status) : status;
}

int ga__context_waited(gpucontext *ctx, int status) {
  return status == GA_RUN_ERROR || status == GA_IMPL_ERROR
             ? note_device_failure(ctx, status)
             : status;
}

void ga__context_forget_cause(gpucontext *ctx) {
  char *cause = atomic_load(&ctx->errors.lost);
  if (cause != no_cause)
    ga__free(cause);
}

int ga__context_supports(gpucontext *ctx, int typecode, const char *operation) {
  GA_TRY(ga__dtype_check(typecode, operation));
  bool needs_double = typecode == GA_DOUBLE || typecode == GA_CDOUBLE;
  if (needs_double && !ctx->info.has_double)
    return GA_FAIL(GA_DEVSUP_ERROR,
                   "%s: %s (%s) has no double precision, which %s needs; use %s",
                   operation, ctx->name, ctx->info.name, ga__dtype_name(typecode),
                   typecode == GA_DOUBLE ? "float32" : "complex64");
  return GA_NO_ERROR;
}

void gpucontext_retain(gpucontext *ctx) {
  if (ctx)
    atomic_fetch_add_explicit(&ctx->life.references, 1, memory_order_relaxed);
}

void gpucontext_deref(gpucontext *ctx) {
  if (ctx == NULL ||
      atomic_fetch_sub_explicit(&ctx->life.references, 1, memory_order_acq_rel) != 1)
    return;
  if (!ga__context_is_ours(ctx))
    return; /* after a fork the driver's state is the parent's: touching it may hang */
  ctx->backend->wait(ctx->device);
  ctx->life.close(ctx);
}

/* ---- attachments ---- */

struct ga_attachment {
  ga_attachment *next;
  ga_attachment_free free;
  void *object;
};

void *ga__context_attached(gpucontext *ctx, enum ga_attached kind,
                           ga_attachment_free free) {
  const ga_attachment *a =
      atomic_load_explicit(&ctx->attachments.list[kind], memory_order_acquire);
  while (a != NULL && a->free != free)
    a = a->next;
  return a ? a->object : NULL;
}

static void *attach_new(gpucontext *ctx, enum ga_attached kind, size_t size,
                        ga_attachment_free free) {
  ga_attachment *a = ga__alloc(1, sizeof *a);
  void *object = ga__alloc(1, size);
  if (a == NULL || object == NULL) {
    ga__free(a);
    ga__free(object);
    return NULL;
  }
  *a = (ga_attachment){atomic_load(&ctx->attachments.list[kind]), free, object};
  atomic_store_explicit(&ctx->attachments.list[kind], a, memory_order_release);
  return object;
}

int ga__context_attach(void **out, gpucontext *ctx, enum ga_attached kind, size_t size,
                       ga_attachment_free free) {
  *out = ga__context_attached(ctx, kind, free);
  if (*out != NULL)
    return GA_NO_ERROR;
  pthread_mutex_lock(&ctx->attachments.lock);
  *out = ga__context_attached(ctx, kind, free);
  if (*out == NULL)
    *out = attach_new(ctx, kind, size, free);
  pthread_mutex_unlock(&ctx->attachments.lock);
  return *out ? GA_NO_ERROR : GA_MEMORY_ERROR;
}

void ga__context_free_attached(gpucontext *ctx) {
  for (unsigned int kind = 0; kind < GA_ATTACHED; kind++) {
    ga_attachment *a;
    while ((a = atomic_load(&ctx->attachments.list[kind])) != NULL) {
      a->free(ctx, a->object); /* threads that `free` waits for may still look it up */
      atomic_store(&ctx->attachments.list[kind], a->next);
      ga__free(a);
    }
  }
}
