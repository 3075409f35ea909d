/* An open device: its backend, pool, cache and handles. */
#define _POSIX_C_SOURCE 200809L
#include "c/context.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "c/cache.h"
#include "c/dtype.h"

/* ---- the process ---- */

static atomic_long process; /* its number; asking the system each time costs more */

static void note_process(void) {
  atomic_store(&process, (long)getpid());
}

static void watch_forks(void) {
  note_process();
  pthread_atfork(NULL, NULL, note_process);
}

bool ga__context_is_ours(const gpucontext *ctx) {
  return (long)ctx->opened_by == atomic_load_explicit(&process, memory_order_relaxed);
}

/* ---- the state of a context ---- */

static char no_cause[] = "the device failed, and the host had no memory for the text";

int ga__context_check(gpucontext *ctx) {
  if (ctx == NULL)
    return GA_FAIL(GA_INVALID_ERROR, "no context was given");
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

int ga__context_status(gpucontext *ctx, int status) {
  if (status == GA_RUN_ERROR)
    mark_lost(ctx);
  return status;
}

int ga__context_wait(gpucontext *ctx) {
  int status = ctx->backend->wait(ctx->device);
  if (status == GA_RUN_ERROR || status == GA_IMPL_ERROR)
    mark_lost(ctx);
  return status;
}

/* GPUARRAY_BLAS=own leaves the vendor's library closed: for comparing, and for tests.
 */
static void open_blas(gpucontext *ctx) {
  const char *wanted = getenv("GPUARRAY_BLAS");
  bool own = wanted != NULL && strcmp(wanted, "own") == 0;
  int status = GA_LOAD_ERROR;
  if (!own && ctx->backend->blas && ctx->backend->blas_open)
    status = ctx->backend->blas_open(ctx->device);
  if (status != GA_MEMORY_ERROR) /* which may be over at the next call */
    atomic_store(&ctx->blas_state, status == GA_NO_ERROR ? 1 : -1);
}

const ga_blas *ga__context_blas(gpucontext *ctx) {
  if (atomic_load(&ctx->blas_state) == 0) {
    pthread_mutex_lock(&ctx->slow_lock);
    if (atomic_load(&ctx->blas_state) == 0)
      open_blas(ctx);
    pthread_mutex_unlock(&ctx->slow_lock);
  }
  return atomic_load(&ctx->blas_state) == 1 ? ctx->backend->blas : NULL;
}

int ga__context_supports(gpucontext *ctx, int typecode, const char *operation) {
  GA_TRY(ga__dtype_check(typecode, operation));
  if (typecode == GA_DOUBLE && !ctx->info.has_double)
    return GA_FAIL(GA_DEVSUP_ERROR,
                   "%s: %s (%s) does not support double precision; use float32",
                   operation, ctx->name, ctx->info.name);
  return GA_NO_ERROR;
}

/* ---- properties of a context to open ---- */

struct _gpucontext_props {
  int platform, device; /* -1: any */
  size_t initial, max;  /* bytes of the pool; max 0: no limit */
  char *cache_folder;   /* NULL: the process's */
};

int gpucontext_props_new(gpucontext_props **res) {
  if (res == NULL)
    return GA_FAIL(GA_INVALID_ERROR, "gpucontext_props_new: nowhere to put it");
  gpucontext_props *p = ga__alloc(1, sizeof *p);
  if (p == NULL)
    return GA_MEMORY_ERROR;
  p->platform = p->device = -1;
  *res = p;
  return GA_NO_ERROR;
}

static int check_props(const gpucontext_props *p, const char *operation) {
  if (p == NULL)
    return GA_FAIL(GA_INVALID_ERROR, "%s: no properties were given", operation);
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
  return check_props(p, __func__); /* A context has one queue in any case. */
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
  p->max = max == SIZE_MAX ? 0 : max;
  return GA_NO_ERROR;
}

void gpucontext_props_del(gpucontext_props *p) {
  if (p)
    ga__free(p->cache_folder);
  ga__free(p);
}

/* ---- opening and closing ---- */

/* Everything but the device itself; ctx->device may be NULL. */
static void free_context(gpucontext *ctx) {
  ga__casts_close(ctx);
  ga__kernels_close(ctx);
  ga__pool_free(ctx->pool);
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
  pthread_mutex_destroy(&ctx->slow_lock);
  ga__free(ctx);
}

/* What the user asked of the pool beforehand; a failure comes up at its first use. */
static void warm_pool(gpucontext *ctx, const gpucontext_props *props) {
  void *memory;
  size_t size;
  ga__pool_set_limit(ctx->pool, props->max);
  if (props->initial == 0)
    return;
  if (ga__pool_get(&memory, &size, ctx->pool, props->initial) == GA_NO_ERROR)
    ga__pool_put(ctx->pool, memory, size);
}

static int open_device(gpucontext *ctx, const ga_address *address) {
  int status = address->backend->open(&ctx->device, &ctx->info, address->platform,
                                      address->index);
  if (status != GA_NO_ERROR) {
    ctx->device = NULL;
    return ga__backend_advise(ga__fail_within(status, "opening %s", ctx->name));
  }
  return ga__pool_new(&ctx->pool, ctx->backend, ctx->device);
}

static int open_context(gpucontext **res, const ga_address *address,
                        const gpucontext_props *props) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_forks);
  gpucontext *ctx = ga__alloc(1, sizeof *ctx);
  if (ctx == NULL)
    return GA_MEMORY_ERROR;
  ctx->backend = address->backend;
  ctx->opened_by = getpid();
  ga__backend_device_name(ctx->name, address);
  atomic_init(&ctx->references, 1);
  atomic_init(&ctx->blas_state, 0);
  atomic_init(&ctx->lost, NULL);
  pthread_mutex_init(&ctx->lock, NULL);
  pthread_mutex_init(&ctx->slow_lock, NULL);
  int status = open_device(ctx, address);
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
  *res = ctx;
  return GA_NO_ERROR;
}

/* The device that a backend's name and properties mean. */
static int find_device(ga_address *out, const char *name,
                       const gpucontext_props *props) {
  const ga_backend *backend = ga__backend_find(name);
  if (backend == NULL)
    return GA_FAIL(GA_INVALID_ERROR,
                   "gpucontext_init: \"%s\" is no backend; there are %s",
                   name ? name : "", ga__backend_names());
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
    status = GA_FAIL(GA_INVALID_ERROR, "gpucontext_init: nowhere to put the context");
  if (status == GA_NO_ERROR)
    status = find_device(&address, name, props);
  if (status == GA_NO_ERROR)
    status = open_context(res, &address, props);
  gpucontext_props_del(props);
  return status;
}

int gpucontext_open(gpucontext **res, const char *name) {
  ga_address address;
  if (res == NULL)
    return GA_FAIL(GA_INVALID_ERROR, "gpucontext_open: nowhere to put the context");
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
  return open_context(res, &address, NULL);
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

/* ---- questions ---- */

const char *gpucontext_name(const gpucontext *ctx) {
  return ctx ? ctx->name : "";
}

static size_t free_memory(gpucontext *ctx) {
  size_t bytes;
  gpucontext_memory held;
  if (ctx->backend->free_memory(&bytes, ctx->device) == GA_NO_ERROR)
    return bytes;
  gpucontext_memory_info(ctx, &held);
  size_t used = held.live + held.cached;
  return used < ctx->info.total_memory ? ctx->info.total_memory - used : 0;
}

static int unknown_property(int id) {
  if (id >= GA_BUFFER_PROP_START)
    return GA_FAIL(
        GA_VALUE_ERROR,
        "gpucontext_property: %d is a property of a buffer or kernel, not of "
        "a context",
        id);
  return GA_FAIL(GA_INVALID_ERROR, "gpucontext_property: there is no property %d", id);
}

int gpucontext_property(gpucontext *ctx, int prop_id, void *res) {
  if (ctx == NULL || res == NULL)
    return GA_FAIL(GA_INVALID_ERROR,
                   "gpucontext_property: a context and a place for the answer are "
                   "needed");
  const ga_device_info *info = &ctx->info;
  switch (prop_id) {
  case GA_CTX_PROP_DEVNAME:
    memcpy(res, info->name, sizeof info->name);
    break;
  case GA_CTX_PROP_LMEMSIZE:
    *(size_t *)res = info->local_memory;
    break;
  case GA_CTX_PROP_NUMPROCS:
    *(unsigned int *)res = info->processors;
    break;
  case GA_CTX_PROP_BIN_ID:
    *(const char **)res = info->bin_id;
    break;
  case GA_CTX_PROP_TOTAL_GMEM:
    *(size_t *)res = info->total_memory;
    break;
  case GA_CTX_PROP_FREE_GMEM:
    GA_TRY(ga__context_check(ctx));
    *(size_t *)res = free_memory(ctx);
    break;
  case GA_CTX_PROP_NATIVE_FLOAT16:
    *(int *)res = info->has_half;
    break;
  case GA_CTX_PROP_MAXGSIZE0:
  case GA_CTX_PROP_MAXGSIZE1:
  case GA_CTX_PROP_MAXGSIZE2:
    *(size_t *)res = info->max_grid[prop_id - GA_CTX_PROP_MAXGSIZE0];
    break;
  case GA_CTX_PROP_MAXLSIZE0:
  case GA_CTX_PROP_MAXLSIZE1:
  case GA_CTX_PROP_MAXLSIZE2:
    *(size_t *)res = info->max_block[prop_id - GA_CTX_PROP_MAXLSIZE0];
    break;
  case GA_CTX_PROP_UNIQUE_ID:
    if (info->unique_id[0] == '\0')
      return GA_FAIL(GA_DEVSUP_ERROR, "%s does not tell its place on the bus",
                     ctx->name);
    memcpy(res, info->unique_id, sizeof info->unique_id);
    break;
  case GA_CTX_PROP_LARGEST_MEMBLOCK:
    *(size_t *)res = info->max_alloc;
    break;
  case GA_CTX_PROP_HAS_DOUBLE:
    *(int *)res = info->has_double;
    break;
  case GA_CTX_PROP_IS_CPU:
    *(int *)res = info->is_cpu;
    break;
  default:
    return unknown_property(prop_id);
  }
  return GA_NO_ERROR;
}

const char *gpucontext_error(gpucontext *ctx, int err) {
  (void)ctx, (void)err;
  return gpuarray_error_text();
}

/* For calls that only look at what the host knows. */
static int check_answer(gpucontext *ctx, const void *res, const char *operation) {
  if (res == NULL)
    return GA_FAIL(GA_INVALID_ERROR, "%s: nowhere to put the answer", operation);
  return ga__context_check(ctx);
}

int gpucontext_memory_info(gpucontext *ctx, gpucontext_memory *res) {
  GA_TRY(check_answer(ctx, res, __func__));
  pthread_mutex_lock(&ctx->lock);
  ga__pool_info(ctx->pool, res);
  pthread_mutex_unlock(&ctx->lock);
  return GA_NO_ERROR;
}

int gpucontext_trim(gpucontext *ctx) {
  GA_TRY(ga__context_check(ctx));
  pthread_mutex_lock(&ctx->lock);
  int status = ga__pool_trim(ctx->pool);
  pthread_mutex_unlock(&ctx->lock);
  return ga__context_status(ctx, status);
}

int gpucontext_set_limit(gpucontext *ctx, size_t bytes) {
  GA_TRY(ga__context_check(ctx));
  pthread_mutex_lock(&ctx->lock);
  gpucontext_memory held;
  ga__pool_set_limit(ctx->pool, bytes);
  ga__pool_info(ctx->pool, &held);
  int status = GA_NO_ERROR;
  if (bytes != 0 && held.live + held.cached > bytes)
    status = ga__pool_trim(ctx->pool);
  pthread_mutex_unlock(&ctx->lock);
  return ga__context_status(ctx, status);
}

int gpucontext_cache_info(gpucontext *ctx, gpucontext_cache *res) {
  GA_TRY(check_answer(ctx, res, __func__));
  pthread_mutex_lock(&ctx->lock);
  *res = ctx->cache;
  pthread_mutex_unlock(&ctx->lock);
  return GA_NO_ERROR;
}
