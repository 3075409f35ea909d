/* Host memory for reading arrays: lent (zero-copy), pinned or pageable. */
#include "c/array/array.h"
#include "c/base/dtype.h"
#include "c/device/host_pool.h"
#include "c/tape/record_replay.h"

#define LEAST ((size_t)16 << 10) /* bytes; below, pooled memory does not pay */

/* True if the buffer has one owner; a plan that keeps it for reuse does not count. */
static bool has_one_owner(const gpudata *b) {
  unsigned int others = atomic_load_explicit(&b->references, memory_order_acquire) - 1;
  return others == 0 ||
         (others == 1 && atomic_load_explicit(&b->is_last, memory_order_acquire));
}

/* Address for zero-copy access, or NULL: also for a small part of a buffer, which a
 * view would keep alive. */
static char *lendable_address(const GpuArray *a, size_t size) {
  const gpudata *b = a->data;
  if (b->from == NULL || size < b->size / 2 || !has_one_owner(b))
    return NULL;
  char *bytes = ga__buffer_on_host(b);
  bool is_aligned =
      ((uintptr_t)bytes + a->offset) % gpuarray_get_elsize(a->typecode) == 0;
  return bytes && is_aligned ? bytes + a->offset : NULL;
}

static gpuhost *lend(const GpuArray *a, char *bytes, size_t size) {
  gpuhost *h = ga__alloc(1, sizeof *h);
  if (h == NULL)
    return NULL;
  gpudata_retain(a->data);
  h->lent = a->data;
  h->bytes = bytes;
  h->size = size;
  return h;
}

int GpuArray_host(gpuhost **res, const GpuArray *a, int lends) {
  if (res == NULL)
    return ga__fail_null(__func__, "pointer for the memory");
  GA_TRY(ga__array_check(a, "read"));
  size_t size = ga__array_count(a) * gpuarray_get_elsize(a->typecode);
  *res = NULL;
  if (size < LEAST || a->data->tape != NULL || !ga__context_is_ours(a->data->context))
    return GA_NO_ERROR;
  char *bytes = lends && GpuArray_ISONESEGMENT(a) ? lendable_address(a, size) : NULL;
  *res = bytes ? lend(a, bytes, size)
               : ga__host_pool_get(a->data->context->memory.host_pool, size);
  return GA_NO_ERROR;
}

int gpucontext_set_host_limit(gpucontext *ctx, size_t bytes) {
  GA_TRY(ga__context_check(ctx));
  ga__host_pool_set_limit(ctx->memory.host_pool, bytes);
  return GA_NO_ERROR;
}

int gpucontext_host_memory(gpucontext *ctx, size_t *live, size_t *cached,
                           size_t *limit) {
  size_t counts[3];
  GA_TRY(ga__context_check(ctx));
  ga__host_pool_count(ctx->memory.host_pool, &counts[0], &counts[1], &counts[2]);
  if (live)
    *live = counts[0];
  if (cached)
    *cached = counts[1];
  if (limit)
    *limit = counts[2];
  return GA_NO_ERROR;
}

static enum ga_reading_way way_to(const gpuhost *h) {
  if (h == NULL)
    return GA_READ_COPIES;
  if (h->lent)
    return GA_READ_LENT;
  return h->is_pinned ? GA_READ_PINNED : GA_READ_COPIES;
}

/* GA_VALUE_ERROR unless the memory is large enough and of this context. */
static int check_memory(const gpuhost *h, const GpuArray *a, size_t size) {
  bool fits =
      h->size >= size &&
      (h->lent ? h->lent == a->data : h->pool == a->data->context->memory.host_pool);
  return fits ? GA_NO_ERROR
              : GA_FAIL(GA_VALUE_ERROR,
                        "read: the host memory is not from GpuArray_host for this "
                        "array of %zu bytes; pass the pointer that it returned",
                        size);
}

/* Appends the read of an array, unless it is empty. */
static int add_reading(ga_reading *list, unsigned int *count, gpuhost *h, void *dst,
                       const GpuArray *a) {
  GA_TRY(ga__array_check(a, "read"));
  size_t size = ga__array_count(a) * gpuarray_get_elsize(a->typecode);
  GA_TRY(ga__array_check_block(a, size, "read"));
  if (h)
    GA_TRY(check_memory(h, a, size));
  if (size > 0)
    list[(*count)++] =
        (ga_reading){way_to(h), h ? h->bytes : dst, a->data, NULL, a->offset, size};
  return GA_NO_ERROR;
}

/* Arrays of one context share a wait. */
static bool same_context(const GpuArray *a, const GpuArray *b) {
  return a == b || a == NULL || b == NULL || a->data == NULL || b->data == NULL ||
         a->data->context == b->data->context;
}

int GpuArray_read_hosts(unsigned int n, gpuhost *const *hosts, void *const *dsts,
                        const GpuArray *const *srcs) {
  if (n > 0 && (dsts == NULL || srcs == NULL))
    return ga__fail_null("read", "list");
  for (unsigned int done = 0; done < n;) {
    ga_reading list[GA_READ_AT_ONCE];
    unsigned int count = 0, first = done;
    for (; done < n && count < GA_READ_AT_ONCE && same_context(srcs[first], srcs[done]);
         done++)
      GA_TRY(add_reading(list, &count, hosts ? hosts[done] : NULL, dsts[done],
                         srcs[done]));
    GA_TRY(ga__buffers_read(count, list));
  }
  return GA_NO_ERROR;
}

int GpuArray_read_all(unsigned int n, void *const *dsts, const GpuArray *const *srcs) {
  return GpuArray_read_hosts(n, NULL, dsts, srcs);
}
