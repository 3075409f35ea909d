/* Properties, memory and cache figures, and limits of a context. */
#include <string.h>

#include "c/device/device_errors.h"

/* ---- properties ---- */

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
  return GA_FAIL(GA_INVALID_ERROR, "gpucontext_property: unknown property %d", id);
}

int gpucontext_property(gpucontext *ctx, int prop_id, void *res) {
  if (ctx == NULL || res == NULL)
    return ga__fail_null(__func__, "context, or no pointer for the result");
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
  case GA_CTX_PROP_ERRBUF:
    GA_TRY(ga__context_check(ctx));
    return ga__report_user_buffer(res, ctx);
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
      return GA_FAIL(GA_DEVSUP_ERROR, "%s does not report its bus address", ctx->name);
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
  case GA_CTX_PROP_WAITS:
    *(size_t *)res = atomic_load(&ctx->waits);
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

/* Checks for calls that read host-side state only. */
static int check_answer(gpucontext *ctx, const void *res, const char *operation) {
  if (res == NULL)
    return ga__fail_null(operation, "pointer for the result");
  return ga__context_check(ctx);
}

int gpucontext_memory_info(gpucontext *ctx, gpucontext_memory *res) {
  GA_TRY(check_answer(ctx, res, __func__));
  pthread_mutex_lock(&ctx->lock);
  ga__pool_info(ctx->memory.pool, res);
  pthread_mutex_unlock(&ctx->lock);
  return GA_NO_ERROR;
}

int gpucontext_trim(gpucontext *ctx) {
  GA_TRY(ga__context_check(ctx));
  pthread_mutex_lock(&ctx->lock);
  int status = ga__pool_trim(ctx->memory.pool);
  pthread_mutex_unlock(&ctx->lock);
  ga__host_pool_trim(ctx->memory.host_pool);
  return ga__context_status(ctx, status);
}

int gpucontext_set_limit(gpucontext *ctx, size_t bytes) {
  GA_TRY(ga__context_check(ctx));
  pthread_mutex_lock(&ctx->lock);
  gpucontext_memory held;
  ga__pool_set_limit(ctx->memory.pool, bytes);
  ga__pool_info(ctx->memory.pool, &held);
  int status = GA_NO_ERROR;
  if (bytes != 0 && held.live + held.cached > bytes)
    status = ga__pool_trim(ctx->memory.pool);
  pthread_mutex_unlock(&ctx->lock);
  return ga__context_status(ctx, status);
}

int gpucontext_cache_info(gpucontext *ctx, gpucontext_cache *res) {
  GA_TRY(check_answer(ctx, res, __func__));
  pthread_mutex_lock(&ctx->lock);
  *res = ctx->cache.counters;
  pthread_mutex_unlock(&ctx->lock);
  return GA_NO_ERROR;
}

int gpucontext_set_allocator(gpucontext *ctx, const gpuarray_allocator *allocator) {
  gpuarray_allocator copied = {0};
  GA_TRY(ga__context_check(ctx));
  if (allocator) {
    size_t size = allocator->struct_size;
    if (size < offsetof(gpuarray_allocator, in_order) || size > sizeof copied)
      return GA_FAIL(GA_VALUE_ERROR,
                     "gpucontext_set_allocator: struct_size is %zu, expected %zu; set "
                     "it to sizeof(gpuarray_allocator)",
                     size, sizeof copied);
    memcpy(&copied, allocator, size);
    if (copied.alloc == NULL || copied.free == NULL)
      return ga__fail_null(__func__, "function for one of alloc and free");
  }
  pthread_mutex_lock(&ctx->lock);
  int status = ga__pool_set_allocator(ctx->memory.pool, allocator ? &copied : NULL);
  pthread_mutex_unlock(&ctx->lock);
  return ga__context_status(ctx, status);
}
