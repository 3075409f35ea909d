/* Device buffers: allocation and reference counts. */
#include "c/device/buffer.h"

#include <stdint.h>
#include <stdlib.h>

#include "c/device/recorder.h"
#include "c/system/ending.h"

/* ---- holders, for out-of-memory messages ---- */

#define N_HOLDERS 32 /* distinct labels */
#define N_NAMED 3

typedef struct holder {
  const char *label;
  size_t bytes, count;
} holder;

static int most_first(const void *a, const void *b) {
  size_t x = ((const holder *)a)->bytes, y = ((const holder *)b)->bytes;
  return (x < y) - (x > y);
}

/* Totals per label, largest first, and the size of the largest buffer. Locked. */
static unsigned int count_holders(holder *out, size_t *largest, const gpucontext *ctx) {
  unsigned int n = 0;
  *largest = 0;
  for (const gpudata *b = ctx->memory.live; b; b = b->next) {
    unsigned int i = 0;
    while (i < n && out[i].label != b->label)
      i++;
    if (b->block_size > *largest)
      *largest = b->block_size;
    if (i == N_HOLDERS)
      continue;
    if (i == n)
      out[n++] = (holder){b->label, 0, 0};
    out[i].bytes += b->block_size;
    out[i].count++;
  }
  qsort(out, n, sizeof *out, most_first);
  return n;
}

/* Adds the largest holders to an out-of-memory message. Locked. */
static void name_holders(gpucontext *ctx) {
  holder most[N_HOLDERS];
  size_t largest;
  unsigned int n = count_holders(most, &largest, ctx);
  if (n == 0)
    return;
  ga_strbuf text = {0};
  ga__strbuf_addf(&text, "%s; most is held by ", gpuarray_error_text());
  for (unsigned int i = 0; i < n && i < N_NAMED; i++)
    ga__strbuf_addf(&text, "%s%s (%zu bytes in %zu)", i ? ", " : "",
                    *most[i].label ? most[i].label : "what has no label", most[i].bytes,
                    most[i].count);
  ga__strbuf_addf(&text, "; the largest buffer has %zu bytes", largest);
  if (ga__strbuf_status(&text) == GA_NO_ERROR)
    ga__fail(GA_MEMORY_ERROR, "%s", text.text);
  ga__strbuf_clear(&text);
}

/* ---- allocation ---- */

/* Takes a gpudata from the free list, or allocates one. Locked. */
static gpudata *new_struct(gpucontext *ctx) {
  gpudata *buffer = ctx->memory.spare;
  if (buffer == NULL)
    return ga__alloc(1, sizeof *buffer);
  ctx->memory.spare = buffer->memory;
  return buffer;
}

static void drop_struct(gpucontext *ctx, gpudata *buffer) {
  buffer->memory = ctx->memory.spare;
  ctx->memory.spare = buffer;
}

/* Initializes a buffer on a block and links it into the context's list. Locked. */
static void set_up(gpudata *buffer, gpucontext *ctx, size_t size,
                   const ga_block *block) {
  buffer->memory = block->memory;
  buffer->context = ctx;
  atomic_init(&buffer->references, 1);
  buffer->flags = GA_BUFFER_READ_WRITE;
  buffer->tape = NULL;
  buffer->size = size;
  buffer->block_size = block->size;
  buffer->from = block->from;
  atomic_init(&buffer->is_met, false);
  atomic_init(&buffer->is_last, false);
  buffer->label = ga__label();
  buffer->host = NULL;
  buffer->release = NULL;
  buffer->uses.epoch = 0;
  if (block->uses.epoch != 0) {
    buffer->uses = block->uses; /* every earlier use counts as a write: the first use
                                   must wait for all */
    for (unsigned int i = 0; i < GA_USES; i++)
      buffer->uses.last[i].writes = true;
  }
  buffer->previous = NULL;
  buffer->next = ctx->memory.live;
  if (ctx->memory.live)
    ctx->memory.live->previous = buffer;
  ctx->memory.live = buffer;
  gpucontext_retain(ctx);
}

/* Unlinks a buffer from the context's list. Locked. */
static void take_down(gpudata *buffer) {
  if (buffer->next)
    buffer->next->previous = buffer->previous;
  if (buffer->previous)
    buffer->previous->next = buffer->next;
  else
    buffer->context->memory.live = buffer->next;
}

int ga__buffer_new(gpudata **out, gpucontext *ctx, size_t size) {
  return ga__buffer_new_at(out, ctx, size, NULL);
}

int ga__buffer_new_at(gpudata **out, gpucontext *ctx, size_t size, const void *wanted) {
  GA_TRY(ga__context_check(ctx));
  ga_tape *tape = ga__recording_current(ctx);
  if (tape)
    return ga__recorder(tape)->buffer(out, tape, size);

  ga_block block;
  int status = GA_MEMORY_ERROR;
  unsigned int place = ga__queue_current(ctx)->place;
  pthread_mutex_lock(&ctx->lock);
  gpudata *buffer = new_struct(ctx);
  if (buffer) {
    status = ga__pool_get(&block, ctx->memory.pool, size, place, wanted);
    if (status == GA_NO_ERROR)
      set_up(buffer, ctx, size, &block);
    else
      drop_struct(ctx, buffer);
  }
  if (status == GA_MEMORY_ERROR)
    name_holders(ctx);
  pthread_mutex_unlock(&ctx->lock);
  if (status != GA_NO_ERROR)
    return status == GA_MEMORY_ERROR ? ga__fail_within(status, "%s", ctx->name)
                                     : ga__context_status(ctx, status);
  *out = buffer;
  return GA_NO_ERROR;
}

/* Marks a foreign buffer, and all that overlap it, as aliased. Locked. */
static void mark_aliased(gpudata *buffer) {
  ptrdiff_t between;
  for (gpudata *b = buffer->context->memory.live; b; b = b->next)
    if (b != buffer && ga__buffers_meet(&between, buffer, b)) {
      atomic_store(&b->is_met, true);
      atomic_store(&buffer->is_met, true);
    }
}

/* A buffer on foreign memory (not the pool's). */
static int new_foreign(gpudata **out, gpucontext *ctx, void *memory, size_t size) {
  ga_block block = {.memory = memory, .size = size};
  pthread_mutex_lock(&ctx->lock);
  gpudata *buffer = new_struct(ctx);
  if (buffer) {
    set_up(buffer, ctx, size, &block);
    mark_aliased(buffer);
  }
  pthread_mutex_unlock(&ctx->lock);
  *out = buffer;
  return buffer ? GA_NO_ERROR : GA_MEMORY_ERROR;
}

int ga__buffer_wrap(gpudata **out, gpucontext *ctx, void *memory, size_t size,
                    void (*release)(void *owner), void *owner) {
  gpudata *buffer;
  GA_TRY(ga__context_check(ctx));
  GA_TRY(new_foreign(&buffer, ctx, memory, size));
  buffer->release = release;
  buffer->owner = owner;
  *out = buffer;
  return GA_NO_ERROR;
}

int ga__buffer_new_on_host(gpudata **out, gpucontext *ctx, size_t size) {
  void *memory, *host = NULL;
  if (ctx->backend->host_alloc == NULL)
    return GA_FAIL(GA_DEVSUP_ERROR,
                   "gpudata_alloc: %s has no host-accessible memory (GA_BUFFER_HOST); "
                   "use gpudata_read and gpudata_write",
                   ctx->name);
  if (ga__recording_current(ctx))
    return GA_FAIL(GA_UNSUPPORTED_ERROR,
                   "gpudata_alloc: a plan cannot allocate host memory");
  GA_TRY(ga__context_status(
      ctx, ctx->backend->host_alloc(&memory, &host, ctx->device, size)));
  int status = new_foreign(out, ctx, memory, size);
  if (status != GA_NO_ERROR) {
    ctx->backend->host_free(ctx->device, memory, host);
    return status;
  }
  (*out)->flags = GA_BUFFER_HOST;
  (*out)->host = host;
  return GA_NO_ERROR;
}

/* ---- reference counts ---- */

void gpudata_retain(gpudata *b) {
  if (b)
    atomic_fetch_add_explicit(&b->references, 1, memory_order_relaxed);
}

/* Releases foreign memory. The failure of the wait is reported by the next call that
 * can fail. The struct is freed last: until it is unlinked other threads can find
 * it. */
static void release_foreign(gpudata *b) {
  gpucontext *ctx = b->context;
  bool is_host = b->flags & GA_BUFFER_HOST;
  if (is_host || b->release || atomic_load(&b->is_met))
    ga__context_waited(ctx, ga__queue_wait_buffer(b));
  pthread_mutex_lock(&ctx->lock);
  take_down(b);
  pthread_mutex_unlock(&ctx->lock);
  if (is_host)
    ctx->backend->host_free(ctx->device, b->memory, b->host);
  else if (ctx->backend->forget)
    ctx->backend->forget(ctx->device);
  if (b->release)
    b->release(b->owner);
  pthread_mutex_lock(&ctx->lock);
  drop_struct(ctx, b);
  pthread_mutex_unlock(&ctx->lock);
}

/* Returns a block to the pool. */
static void release_block(gpudata *b) {
  gpucontext *ctx = b->context;
  ga_block block = {b->memory, b->block_size, b->from, {.epoch = 0}};
  pthread_mutex_lock(&ctx->lock);
  if (b->uses.epoch != 0)
    block.uses = b->uses;
  ga__pool_put(ctx->memory.pool, &block);
  take_down(b);
  drop_struct(ctx, b);
  pthread_mutex_unlock(&ctx->lock);
}

void gpudata_release(gpudata *b) {
  if (b == NULL ||
      atomic_fetch_sub_explicit(&b->references, 1, memory_order_acq_rel) != 1)
    return;
  if (b->tape) {
    ga__recorder(b->tape)->release(b);
    return;
  }
  gpucontext *ctx = b->context;
  if (!ga__context_is_ours(ctx))
    return; /* after a fork the lock and the memory belong to the parent */
  if (b->from == NULL)
    release_foreign(b);
  else
    release_block(b);
  gpucontext_deref(ctx);
}
