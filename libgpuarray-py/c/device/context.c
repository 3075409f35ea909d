/* An open device: its backend, pool, cache and handles. */
#define _POSIX_C_SOURCE 200809L
#include "c/device/context.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "c/base/dtype.h"
#include "c/device/report.h"
#include "c/system/cache.h"

/* ---- the process ---- */

static atomic_long process; /* its number; asking the system each time costs more */
static atomic_uint forks;   /* that it made */

static void note_process(void) {
  atomic_store(&process, (long)getpid());
}

static void note_fork(void) {
  atomic_fetch_add(&forks, 1);
}

static void watch_forks(void) {
  note_process();
  pthread_atfork(NULL, note_fork, note_process);
}

long ga__process(void) {
  return atomic_load_explicit(&process, memory_order_relaxed);
}

unsigned int ga__forks(void) {
  return atomic_load_explicit(&forks, memory_order_relaxed);
}

bool ga__context_is_ours(const gpucontext *ctx) {
  return (long)ctx->opened_by == ga__process();
}

/* ---- the state of a context ---- */

static char no_cause[] = "the device failed, and the host had no memory for the text";

int ga__context_check(gpucontext *ctx) {
  if (ctx == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "no context was given");
  const char *cause = atomic_load_explicit(&ctx->lost, memory_order_acquire);
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
                   ctx->name, (long)ctx->opened_by);
  return GA_NO_ERROR;
}

static void mark_lost(gpucontext *ctx) {
  char *cause = ga__strdup(gpuarray_error_text()), *none = NULL;
  if (cause == NULL)
    cause = no_cause;
  if (!atomic_compare_exchange_strong(&ctx->lost, &none, cause) && cause != no_cause)
    ga__free(cause);
}

/* The failure that makes a context lost is told with what can have caused it; those
 * that other threads meet at the same time are its consequences. */
static int lose(gpucontext *ctx, int status) {
  if (atomic_load_explicit(&ctx->lost, memory_order_acquire) == NULL)
    ga__launches_blame(ctx, status);
  mark_lost(ctx);
  return status;
}

int ga__context_status(gpucontext *ctx, int status) {
  return status == GA_RUN_ERROR ? lose(ctx, status) : status;
}

int ga__context_waited(gpucontext *ctx, int status) {
  return status == GA_RUN_ERROR || status == GA_IMPL_ERROR ? lose(ctx, status) : status;
}

int ga__context_wait(gpucontext *ctx) {
  GA_TRY(ga__context_waited(ctx, ga__queue_wait_all(ctx)));
  return ga__report_check_all(ctx);
}

static bool is_blas(const char *wanted) {
  const char *chosen = getenv("GPUARRAY_BLAS");
  return chosen != NULL && strcmp(chosen, wanted) == 0;
}

/* GPUARRAY_BLAS=own leaves the vendor's library closed, GPUARRAY_BLAS=vendor takes it
 * also where our kernels are faster: for comparing, and for tests. */
static void open_blas(gpucontext *ctx) {
  int status = GA_LOAD_ERROR;
  if (!is_blas("own") && ctx->backend->blas && ctx->backend->blas_open)
    status = ctx->backend->blas_open(ctx->device, false);
  if (status != GA_MEMORY_ERROR) /* which may be over at the next call */
    atomic_store(&ctx->blas_state, status != GA_NO_ERROR ? -1 : 1);
}

const ga_blas *ga__context_blas(gpucontext *ctx) {
  if (atomic_load(&ctx->blas_state) == 0) {
    pthread_mutex_lock(&ctx->blas_lock);
    if (atomic_load(&ctx->blas_state) == 0)
      open_blas(ctx);
    pthread_mutex_unlock(&ctx->blas_lock);
  }
  return atomic_load(&ctx->blas_state) > 0 ? ctx->backend->blas : NULL;
}

int ga__context_product(gpucontext *ctx, const ga_blas_call *call) {
  const ga_blas *blas = ga__context_blas(ctx);
  ga_use uses[4] = {{call->c.buffer, true},
                    {call->a.buffer, false},
                    {call->b.buffer, false},
                    {call->bias.buffer, false}};
  void *device;
  GA_TRY(ga__context_status(ctx, ga__queue_begin(&device, ctx, 4, uses)));
  gpuqueue *q = ga__queue_current(ctx);
  ga__launches_add(&ctx->launches,
                   call->routine == GA_BLAS_GEMM ? "gemm of the vendor's library"
                                                 : "gemv of the vendor's library",
                   q->place);
  ga_span span = ga__profile_begin(ctx, device);
  int status = blas->call(device, call);
  ga__profile_end(&span,
                  call->routine == GA_BLAS_GEMM ? "gemm of the vendor's library"
                                                : "gemv of the vendor's library",
                  GPUARRAY_SPAN_LIBRARY, 0);
  if (status == GA_NO_ERROR && ctx->is_blocking)
    status = ga__queue_wait(q);
  ga__queue_end(ctx, 4, uses);
  return ga__context_status(ctx, status);
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

/* ---- properties of a context to open ---- */

struct _gpucontext_props {
  int platform, device; /* -1: any */
  size_t initial, max;  /* bytes of the pool; max SIZE_MAX: no limit */
  bool is_single;       /* no queue but the default one */
  char *cache_folder;   /* NULL: the process's */
};

int gpucontext_props_new(gpucontext_props **res) {
  if (res == NULL)
    return ga__fail_null(__func__, "place for the properties");
  gpucontext_props *p = ga__alloc(1, sizeof *p);
  if (p == NULL)
    return GA_MEMORY_ERROR;
  p->platform = p->device = -1;
  p->max = SIZE_MAX;
  *res = p;
  return GA_NO_ERROR;
}

static int check_props(const gpucontext_props *p, const char *operation) {
  if (p == NULL)
    return ga__fail_null(operation, "properties");
  return GA_NO_ERROR;
}

int gpucontext_props_cuda_dev(gpucontext_props *p, int devno) {
  GA_TRY(check_props(p, __func__));
  p->platform = 0;
  p->device = devno;
  return GA_NO_ERROR;
}

int gpucontext_props_opencl_dev(gpucontext_props *p, int platno, int devno) {
  GA_TRY(check_props(p, __func__));
  p->platform = platno;
  p->device = devno;
  return GA_NO_ERROR;
}

int gpucontext_props_sched(gpucontext_props *p, int sched) {
  GA_TRY(check_props(p, __func__));
  if (sched < GA_CTX_SCHED_AUTO || sched > GA_CTX_SCHED_MULTI)
    return GA_FAIL(GA_INVALID_ERROR,
                   "gpucontext_props_sched: %d is none of the GA_CTX_SCHED values 0, 1 "
                   "and 2",
                   sched);
  return GA_NO_ERROR; /* A hint that no backend needs. */
}

int gpucontext_props_set_single_stream(gpucontext_props *p) {
  GA_TRY(check_props(p, __func__));
  p->is_single = true;
  return GA_NO_ERROR;
}

int gpucontext_props_kernel_cache(gpucontext_props *p, const char *path) {
  GA_TRY(check_props(p, __func__));
  char *copy = NULL;
  if (path && (copy = ga__strdup(path)) == NULL)
    return GA_MEMORY_ERROR;
  ga__free(p->cache_folder);
  p->cache_folder = copy;
  return GA_NO_ERROR;
}

int gpucontext_props_alloc_cache(gpucontext_props *p, size_t initial, size_t max) {
  GA_TRY(check_props(p, __func__));
  if (initial > max)
    return GA_FAIL(
        GA_VALUE_ERROR,
        "gpucontext_props_alloc_cache: an initial size of %zu bytes is above "
        "the maximum of %zu",
        initial, max);
  p->initial = initial;
  p->max = max;
  return GA_NO_ERROR;
}

void gpucontext_props_del(gpucontext_props *p) {
  if (p)
    ga__free(p->cache_folder);
  ga__free(p);
}

/* ---- what is attached to a context ---- */

struct ga_attachment {
  ga_attachment *next;
  ga_attachment_free free;
  void *object;
};

void *ga__context_attached(gpucontext *ctx, enum ga_attached kind,
                           ga_attachment_free free) {
  const ga_attachment *a =
      atomic_load_explicit(&ctx->attached[kind], memory_order_acquire);
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
  *a = (ga_attachment){atomic_load(&ctx->attached[kind]), free, object};
  atomic_store_explicit(&ctx->attached[kind], a, memory_order_release);
  return object;
}

int ga__context_attach(void **out, gpucontext *ctx, enum ga_attached kind, size_t size,
                       ga_attachment_free free) {
  *out = ga__context_attached(ctx, kind, free);
  if (*out != NULL)
    return GA_NO_ERROR;
  pthread_mutex_lock(&ctx->attach_lock);
  *out = ga__context_attached(ctx, kind, free);
  if (*out == NULL)
    *out = attach_new(ctx, kind, size, free);
  pthread_mutex_unlock(&ctx->attach_lock);
  return *out ? GA_NO_ERROR : GA_MEMORY_ERROR;
}

static void free_attached(gpucontext *ctx) {
  for (unsigned int kind = 0; kind < GA_ATTACHED; kind++) {
    ga_attachment *a;
    while ((a = atomic_load(&ctx->attached[kind])) != NULL) {
      a->free(ctx, a->object); /* which threads that it waits for may look up */
      atomic_store(&ctx->attached[kind], a->next);
      ga__free(a);
    }
  }
}

/* ---- opening and closing ---- */

static void wait_at_end(void *ctx) {
  (void)ga__queue_wait_all(ctx);
}

/* Everything but the device itself; ctx->device may be NULL. */
static void free_context(gpucontext *ctx) {
  if (ctx->at_end.wait)
    ga__ending_remove(&ctx->at_end);
  free_attached(ctx);
  ga__reports_close(ctx);
  ga__queues_close(ctx);
  ga__pool_free(ctx->pool);
  ga__host_pool_close(ctx->host_pool);
  if (ctx->device)
    ctx->backend->close(ctx->device);
  while (ctx->spare) {
    void *next = *(void **)ctx->spare;
    ga__free(ctx->spare);
    ctx->spare = next;
  }
  char *cause = atomic_load(&ctx->lost);
  if (cause != no_cause)
    ga__free(cause);
  ga__free(ctx->cache_folder);
  pthread_mutex_destroy(&ctx->lock);
  pthread_mutex_destroy(&ctx->attach_lock);
  pthread_mutex_destroy(&ctx->slow_lock);
  pthread_mutex_destroy(&ctx->blas_lock);
  pthread_mutex_destroy(&ctx->queue_lock);
  ga__free(ctx);
}

/* What the user asked of the pool beforehand; a failure comes up at its first use. */
static void warm_pool(gpucontext *ctx, const gpucontext_props *props) {
  if (props->max == 0)
    ga__pool_keep_nothing(ctx->pool);
  else if (props->max != SIZE_MAX)
    ga__pool_set_limit(ctx->pool, props->max);
  if (props->initial == 0)
    return;
  ga_block block;
  if (ga__pool_get(&block, ctx->pool, props->initial, 0) == GA_NO_ERROR)
    ga__pool_put(ctx->pool, &block);
}

/* Opens the device of an address, or the one that `native` is of, and names it. */
static int open_device(gpucontext *ctx, ga_address *address, void *native) {
  const ga_backend *backend = address->backend;
  int status = ga__backend_check_fork(backend);
  if (status == GA_NO_ERROR && native) {
    status = backend->adopt(&ctx->device, &ctx->info, &address->platform,
                            &address->index, native);
    ga__backend_note_asked(backend);
  } else if (status == GA_NO_ERROR)
    status = backend->open(&ctx->device, &ctx->info, address->platform, address->index);
  ga__backend_device_name(ctx->name, address);
  if (status != GA_NO_ERROR) {
    ctx->device = NULL;
    return native
               ? status
               : ga__backend_advise(ga__fail_within(status, "opening %s", ctx->name));
  }
  ga__queues_open(ctx);
  GA_TRY(ga__host_pool_new(&ctx->host_pool, backend, ctx->device));
  return ga__pool_new(&ctx->pool, backend, ctx->device, ga__queue_wait_all, ctx);
}

/* Whether a variable of the environment is set to something but 0. */
static bool is_on(const char *variable) {
  const char *value = getenv(variable);
  return value && *value && strcmp(value, "0") != 0;
}

/* A context of which nothing is open yet. */
static gpucontext *new_context(const ga_backend *backend) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_forks);
  gpucontext *ctx = ga__alloc(1, sizeof *ctx);
  if (ctx == NULL)
    return NULL;
  ctx->backend = backend;
  ctx->opened_by = getpid();
  atomic_init(&ctx->references, 1);
  atomic_init(&ctx->blas_state, 0);
  ctx->wants_vendor = is_blas("vendor");
  atomic_init(&ctx->lost, NULL);
  pthread_mutex_init(&ctx->lock, NULL);
  pthread_mutex_init(&ctx->attach_lock, NULL);
  pthread_mutex_init(&ctx->slow_lock, NULL);
  pthread_mutex_init(&ctx->blas_lock, NULL);
  pthread_mutex_init(&ctx->queue_lock, NULL);
  ctx->is_blocking = is_on("GPUARRAY_LAUNCH_BLOCKING") || is_on("CUDA_LAUNCH_BLOCKING");
  return ctx;
}

static int open_context(gpucontext **res, ga_address *address, void *native,
                        const gpucontext_props *props) {
  gpucontext *ctx = new_context(address->backend);
  if (ctx == NULL)
    return GA_MEMORY_ERROR;
  ctx->is_single = props && props->is_single;
  int status = open_device(ctx, address, native);
  if (status != GA_NO_ERROR) {
    free_context(ctx);
    return status;
  }
  if (props && props->cache_folder)
    ctx->cache_folder = ga__strdup(props->cache_folder);
  else
    ctx->cache_folder = ga__cache_folder();
  if (props)
    warm_pool(ctx, props);
  if (ctx->info.is_cpu) {
    ctx->at_end = (ga_waited){.wait = wait_at_end, .argument = ctx};
    ga__ending_add(&ctx->at_end);
  }
  *res = ctx;
  return GA_NO_ERROR;
}

int ga__context_adopt(gpucontext **out, const ga_backend *backend, void *native,
                      const gpucontext_props *props) {
  ga_address address = {.backend = backend};
  return open_context(out, &address, native, props);
}

/* The device that a backend's name and properties mean. */
static int find_device(ga_address *out, const char *name,
                       const gpucontext_props *props) {
  if (name == NULL)
    return ga__fail_null("gpucontext_init", "name of a backend");
  const ga_backend *backend = ga__backend_find(name);
  if (backend == NULL)
    return GA_FAIL(GA_INVALID_ERROR,
                   "gpucontext_init: \"%s\" is no backend; there are %s", name,
                   ga__backend_names());
  if (props == NULL || props->device < 0)
    return ga__backend_device(out, name);
  if (props->platform < 0)
    return GA_FAIL(GA_VALUE_ERROR, "gpucontext_init: there is no platform %d",
                   props->platform);
  ga_address wanted = {backend, (unsigned int)props->platform,
                       (unsigned int)props->device};
  char text[GA_DEVICE_NAME];
  ga__backend_device_name(text, &wanted);
  return ga__backend_device(out, text);
}

int gpucontext_init(gpucontext **res, const char *name, gpucontext_props *props) {
  ga_address address;
  int status = GA_NO_ERROR;
  if (res == NULL)
    status = ga__fail_null(__func__, "place for the context");
  if (status == GA_NO_ERROR)
    status = find_device(&address, name, props);
  if (status == GA_NO_ERROR)
    status = open_context(res, &address, NULL, props);
  gpucontext_props_del(props);
  return status;
}

int gpucontext_open(gpucontext **res, const char *name) {
  ga_address address;
  if (res == NULL)
    return ga__fail_null(__func__, "place for the context");
  if (name && *name) {
    int status = ga__backend_device(&address, name);
    if (status != GA_NO_ERROR)
      return strstr(gpuarray_error_text(), name)
                 ? status
                 : ga__fail_within(status, "\"%s\"", name);
  } else {
    const char *chosen = getenv("GPUARRAY_DEVICE");
    bool is_set = chosen && *chosen;
    int status = ga__backend_device(&address, is_set ? chosen : NULL);
    if (status != GA_NO_ERROR)
      return is_set ? ga__fail_within(status, "GPUARRAY_DEVICE") : status;
  }
  return open_context(res, &address, NULL, NULL);
}

void gpucontext_retain(gpucontext *ctx) {
  if (ctx)
    atomic_fetch_add_explicit(&ctx->references, 1, memory_order_relaxed);
}

void gpucontext_deref(gpucontext *ctx) {
  if (ctx == NULL ||
      atomic_fetch_sub_explicit(&ctx->references, 1, memory_order_acq_rel) != 1)
    return;
  if (!ga__context_is_ours(ctx))
    return; /* The driver's state belongs to the parent: touching it may hang. */
  ctx->backend->wait(ctx->device);
  free_context(ctx);
}

int gpucontext_sync(gpucontext *ctx) {
  GA_TRY(ga__context_check(ctx));
  return ga__context_wait(ctx);
}

int gpucontext_set_blocking(gpucontext *ctx, int on) {
  GA_TRY(ga__context_check(ctx));
  atomic_store(&ctx->is_blocking, on != 0);
  return GA_NO_ERROR;
}

int gpucontext_blocking(gpucontext *ctx) {
  return ctx != NULL && atomic_load(&ctx->is_blocking);
}
