/* Aliasing of buffers: which ones overlap in memory. */
#include "c/device/buffer.h"
#include "c/system/ending.h"

void *ga__buffer_on_host(const gpudata *b) {
  const gpucontext *ctx = b->context;
  return b->tape == NULL && ctx->backend->host_address
             ? ctx->backend->host_address(ctx->device, b->memory)
             : NULL;
}

/* A comparable address: a pointer, or an opaque handle and an offset. */
typedef struct place {
  const void *handle;
  uintptr_t at;
} place;

static place place_of(const gpudata *b) {
  const gpucontext *ctx = b->context;
  const ga_sharing *sharing = ctx->backend->sharing;
  const void *host = ga__buffer_on_host(b);
  if (host != NULL || (sharing != NULL && sharing->is_address))
    return (place){NULL, (uintptr_t)(host ? host : b->memory)};
  void *memory = b->memory;
  size_t offset = 0;
  if (sharing != NULL && sharing->whole != NULL && ga__vendor_enter() == GA_NO_ERROR) {
    sharing->whole(&memory, &offset, ctx->device);
    ga__vendor_leave();
  }
  return (place){memory, offset};
}

bool ga__buffers_meet_foreign(ptrdiff_t *between, const gpudata *a, const gpudata *b) {
  if (a->tape != NULL || b->tape != NULL || a->memory == NULL || b->memory == NULL)
    return false;
  const place x = place_of(a), y = place_of(b);
  *between = (ptrdiff_t)(y.at - x.at);
  return x.handle == y.handle && x.at < y.at + b->size && y.at < x.at + a->size;
}

void ga__buffer_each_met(const gpudata *b, void (*visit)(void *with, gpudata *other),
                         void *with) {
  gpucontext *ctx = b->context;
  ptrdiff_t between;
  if (!atomic_load(&b->is_met))
    return;
  pthread_mutex_lock(&ctx->lock);
  for (gpudata *other = ctx->memory.live; other; other = other->next)
    if (other != b && atomic_load(&other->is_met) &&
        ga__buffers_meet(&between, b, other))
      visit(with, other);
  pthread_mutex_unlock(&ctx->lock);
}
