/* Contexts: opening, closing and synchronizing a device. */
#define _POSIX_C_SOURCE 200809L
#include "c/device/context.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "c/base/dtype.h"
#include "c/device/device_errors.h"
#include "c/system/cache.h"

int ga__context_wait(gpucontext *ctx) {
  GA_TRY(ga__context_waited(ctx, ga__queue_wait_all(ctx)));
  return ga__report_check_all(ctx);
}

static bool is_chosen(const char *variable, const char *wanted) {
  const char *chosen = getenv(variable);
  return chosen != NULL && strcmp(chosen, wanted) == 0;
}

/* GPUARRAY_BLAS=own never opens the vendor's BLAS; GPUARRAY_BLAS=vendor prefers it also
 * where our kernels are faster. For comparisons and tests. */
static void open_blas(gpucontext *ctx) {
  int status = GA_LOAD_ERROR;
  if (!is_chosen("GPUARRAY_BLAS", "own") && ctx->backend->blas &&
      ctx->backend->blas_open)
    status = ctx->backend->blas_open(ctx->device, false);
  if (status != GA_MEMORY_ERROR) /* out of memory may be temporary: try again */
    atomic_store(&ctx->blas.state, status != GA_NO_ERROR ? -1 : 1);
}

const ga_blas *ga__context_blas(gpucontext *ctx) {
  if (atomic_load(&ctx->blas.state) == 0) {
    pthread_mutex_lock(&ctx->blas.lock);
    if (atomic_load(&ctx->blas.state) == 0)
      open_blas(ctx);
    pthread_mutex_unlock(&ctx->blas.lock);
  }
  return atomic_load(&ctx->blas.state) > 0 ? ctx->backend->blas : NULL;
}

/* One call of a vendor's library on this thread's queue. */
typedef struct library_call {
  const char *name;
  gpucontext *context;
  void *device;
  ga_span span;
  unsigned int n;
  const ga_use *uses;
} library_call;

static int begin_call(library_call *c) {
  GA_TRY(ga__context_status(c->context,
                            ga__queue_begin(&c->device, c->context, c->n, c->uses)));
  ga__launches_add(&c->context->errors.launches, c->name,
                   ga__queue_current(c->context)->place);
  c->span = ga__profile_begin(c->context, c->device);
  return GA_NO_ERROR;
}

static int end_call(library_call *c, int status) {
  ga__profile_end(&c->span, c->name, GPUARRAY_SPAN_LIBRARY, 0);
  if (status == GA_NO_ERROR && c->context->is_blocking)
    status = ga__queue_wait(ga__queue_current(c->context));
  ga__queue_end(c->context, c->n, c->uses);
  return ga__context_status(c->context, status);
}

int ga__context_product(gpucontext *ctx, const ga_blas_call *call) {
  const ga_blas *blas = ga__context_blas(ctx);
  ga_use uses[4] = {{call->c.buffer, true},
                    {call->a.buffer, false},
                    {call->b.buffer, false},
                    {call->bias.buffer, false}};
  library_call c = {.name = call->routine == GA_BLAS_GEMM
                                ? "gemm of the vendor's library"
                                : "gemv of the vendor's library",
                    .context = ctx,
                    .n = 4,
                    .uses = uses};
  GA_TRY(begin_call(&c));
  return end_call(&c, blas->call(c.device, call));
}

/* GPUARRAY_DNN=own never opens the vendor's library. For comparisons and tests. */
const ga_dnn *ga__context_dnn(gpucontext *ctx) {
  const ga_dnn *dnn = ctx->backend->dnn;
  if (dnn == NULL || is_chosen("GPUARRAY_DNN", "own") ||
      ga__vendor_enter() != GA_NO_ERROR)
    return NULL;
  const bool is_open = dnn->open(ga__queue_device(ctx)) == GA_NO_ERROR;
  ga__ending_first();
  ga__vendor_leave();
  return is_open ? dnn : NULL;
}

int ga__context_convolution(gpucontext *ctx, const ga_dnn_call *call) {
  ga_use uses[GA_DNN_BUFFERS];
  unsigned int n = 0;
  for (unsigned int i = 0; i < GA_DNN_BUFFERS; i++) {
    bool writes;
    gpudata *buffer = ga__dnn_buffer(&writes, call, i);
    if (buffer != NULL)
      uses[n++] = (ga_use){buffer, writes};
  }
  library_call c = {.name = "convolution of the vendor's library",
                    .context = ctx,
                    .n = n,
                    .uses = uses};
  GA_TRY(begin_call(&c));
  return end_call(&c, ctx->backend->dnn->call(c.device, call));
}

/* ---- options for opening a context ---- */

struct _gpucontext_props {
  int platform, device; /* -1: any */
  size_t initial, max;  /* of the pool, in bytes; max SIZE_MAX: no limit */
  bool is_single;       /* single stream: the default queue only */
  char *cache_folder;   /* NULL: the default folder */
};

int gpucontext_props_new(gpucontext_props **res) {
  if (res == NULL)
    return ga__fail_null(__func__, "pointer for the properties");
  gpucontext_props *p = ga__alloc(1, sizeof *p);
  GA_TRY_MEMORY(p);
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
  return GA_NO_ERROR; /* a hint, ignored */
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

/* ---- opening and closing ---- */

static void wait_at_exit(void *ctx) {
  (void)ga__queue_wait_all(ctx);
}

/* Frees everything. ctx->device may be NULL. */
static void free_context(gpucontext *ctx) {
  if (ctx->life.at_end.wait)
    ga__ending_remove(&ctx->life.at_end);
  ga__context_free_attached(ctx);
  ga__reports_close(ctx);
  ga__queues_close(ctx);
  ga__pool_free(ctx->memory.pool);
  ga__host_pool_close(ctx->memory.host_pool);
  if (ctx->device)
    ctx->backend->close(ctx->device);
  while (ctx->memory.spare) {
    void *next = *(void **)ctx->memory.spare;
    ga__free(ctx->memory.spare);
    ctx->memory.spare = next;
  }
  ga__context_forget_cause(ctx);
  ga__free(ctx->cache.folder);
  pthread_mutex_destroy(&ctx->lock);
  pthread_mutex_destroy(&ctx->attachments.lock);
  pthread_mutex_destroy(&ctx->slow_lock);
  pthread_mutex_destroy(&ctx->blas.lock);
  pthread_mutex_destroy(&ctx->queues.lock);
  ga__free(ctx);
}

/* Applies the options for the pool. A failed reservation shows at the first
 * allocation. */
static void warm_pool(gpucontext *ctx, const gpucontext_props *props) {
  if (props->max == 0)
    ga__pool_keep_nothing(ctx->memory.pool);
  else if (props->max != SIZE_MAX)
    ga__pool_set_limit(ctx->memory.pool, props->max);
  if (props->initial == 0)
    return;
  ga_block block;
  if (ga__pool_get(&block, ctx->memory.pool, props->initial, 0, NULL) == GA_NO_ERROR)
    ga__pool_put(ctx->memory.pool, &block);
}

/* Opens the device at an address, or adopts the native context `native`, and names
 * it. */
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
  GA_TRY(ga__host_pool_new(&ctx->memory.host_pool, backend, ctx->device));
  return ga__pool_new(&ctx->memory.pool, backend, ctx->device, ga__queue_wait_all, ctx);
}

/* True if an environment variable is set to something other than 0. */
static bool is_on(const char *variable) {
  const char *value = getenv(variable);
  return value && *value && strcmp(value, "0") != 0;
}

/* Allocates a context with nothing open. */
static gpucontext *new_context(const ga_backend *backend) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, ga__process_watch);
  gpucontext *ctx = ga__alloc(1, sizeof *ctx);
  if (ctx == NULL)
    return NULL;
  ctx->backend = backend;
  ctx->life.close = free_context;
  ctx->life.opened_by = getpid();
  atomic_init(&ctx->life.references, 1);
  atomic_init(&ctx->blas.state, 0);
  ctx->blas.wants_vendor = is_chosen("GPUARRAY_BLAS", "vendor");
  atomic_init(&ctx->errors.lost, NULL);
  pthread_mutex_init(&ctx->lock, NULL);
  pthread_mutex_init(&ctx->attachments.lock, NULL);
  pthread_mutex_init(&ctx->slow_lock, NULL);
  pthread_mutex_init(&ctx->blas.lock, NULL);
  pthread_mutex_init(&ctx->queues.lock, NULL);
  ctx->is_blocking = is_on("GPUARRAY_LAUNCH_BLOCKING") || is_on("CUDA_LAUNCH_BLOCKING");
  return ctx;
}

static int open_context(gpucontext **res, ga_address *address, void *native,
                        const gpucontext_props *props) {
  gpucontext *ctx = new_context(address->backend);
  GA_TRY_MEMORY(ctx);
  ctx->queues.is_single = props && props->is_single;
  int status = open_device(ctx, address, native);
  if (status != GA_NO_ERROR) {
    free_context(ctx);
    return status;
  }
  if (props && props->cache_folder)
    ctx->cache.folder = ga__strdup(props->cache_folder);
  else
    ctx->cache.folder = ga__cache_folder();
  if (props)
    warm_pool(ctx, props);
  if (ctx->info.is_cpu) {
    ctx->life.at_end = (ga_waited){.wait = wait_at_exit, .argument = ctx};
    ga__ending_add(&ctx->life.at_end);
  }
  *res = ctx;
  return GA_NO_ERROR;
}

int ga__context_adopt(gpucontext **out, const ga_backend *backend, void *native,
                      const gpucontext_props *props) {
  ga_address address = {.backend = backend};
  return open_context(out, &address, native, props);
}

/* Resolves a backend's name and options to a device. */
static int find_device(ga_address *out, const char *name,
                       const gpucontext_props *props) {
  if (name == NULL)
    return ga__fail_null("gpucontext_init", "name of a backend");
  const ga_backend *backend = ga__backend_find(name);
  if (backend == NULL)
    return GA_FAIL(GA_INVALID_ERROR,
                   "gpucontext_init: \"%s\" is not a backend; expected one of %s", name,
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
    status = ga__fail_null(__func__, "pointer for the context");
  GA_THEN(status, find_device(&address, name, props));
  GA_THEN(status, open_context(res, &address, NULL, props));
  gpucontext_props_del(props);
  return status;
}

int gpucontext_open(gpucontext **res, const char *name) {
  ga_address address;
  if (res == NULL)
    return ga__fail_null(__func__, "pointer for the context");
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
