/* Reference-counted device memory: its life, and what it tells. */
#include "c/device/buffer.h"

#include <stdint.h>
#include <stdlib.h>

#include "c/device/recorder.h"
#include "c/system/ending.h"

/* ---- who holds most ---- */

#define N_HOLDERS 32 /* labels that are told apart */
#define N_NAMED 3

typedef struct holder {
  const char *label;
  size_t bytes, count;
} holder;

static int most_first(const void *a, const void *b) {
  size_t x = ((const holder *)a)->bytes, y = ((const holder *)b)->bytes;
  return (x < y) - (x > y);
}

/* What each label holds, the most first, and the bytes of the largest buffer. Locked.
 */
static unsigned int count_holders(holder *out, size_t *largest, const gpucontext *ctx) {
  unsigned int n = 0;
  *largest = 0;
  for (const gpudata *b = ctx->live; b; b = b->next) {
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

/* Puts behind the message of a failed allocation who holds most. Locked. */
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

/* ---- life ---- */

/* A struct for a buffer, from those released before if there is one. Locked. */
static gpudata *new_struct(gpucontext *ctx) {
  gpudata *buffer = ctx->spare;
  if (buffer == NULL)
    return ga__alloc(1, sizeof *buffer);
  ctx->spare = buffer->memory;
  return buffer;
}

static void drop_struct(gpucontext *ctx, gpudata *buffer) {
  buffer->memory = ctx->spare;
  ctx->spare = buffer;
}

/* Fills in a new buffer on a block, and counts it among the context's. Locked. */
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
    buffer->uses = block->uses; /* all are waited for, whatever the first use is */
    for (unsigned int i = 0; i < GA_USES; i++)
      buffer->uses.last[i].writes = true;
  }
  buffer->previous = NULL;
  buffer->next = ctx->live;
  if (ctx->live)
    ctx->live->previous = buffer;
  ctx->live = buffer;
  gpucontext_retain(ctx);
}

/* Takes a buffer out of the context's list. Locked. */
static void take_down(gpudata *buffer) {
  if (buffer->next)
    buffer->next->previous = buffer->previous;
  if (buffer->previous)
    buffer->previous->next = buffer->next;
  else
    buffer->context->live = buffer->next;
}

int ga__buffer_new(gpudata **out, gpucontext *ctx, size_t size) {
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
    status = ga__pool_get(&block, ctx->pool, size, place);
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

/* Notes of a buffer that is not the pool's, and of those on whose memory it lies, that
 * they are met. Locked. */
static void note_met(gpudata *buffer) {
  ptrdiff_t between;
  for (gpudata *b = buffer->context->live; b; b = b->next)
    if (b != buffer && ga__buffers_meet(&between, buffer, b)) {
      atomic_store(&b->is_met, true);
      atomic_store(&buffer->is_met, true);
    }
}

/* A buffer that is not the pool's. */
static int new_foreign(gpudata **out, gpucontext *ctx, void *memory, size_t size) {
  ga_block block = {.memory = memory, .size = size};
  pthread_mutex_lock(&ctx->lock);
  gpudata *buffer = new_struct(ctx);
  if (buffer) {
    set_up(buffer, ctx, size, &block);
    note_met(buffer);
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

static int new_on_host(gpudata **out, gpucontext *ctx, size_t size) {
  void *memory, *host = NULL;
  if (ctx->backend->host_alloc == NULL)
    return GA_FAIL(GA_DEVSUP_ERROR,
                   "gpudata_alloc: %s does not offer memory that the host reaches "
                   "(GA_BUFFER_HOST); use gpudata_read and gpudata_write",
                   ctx->name);
  if (ga__recording_current(ctx))
    return GA_FAIL(GA_UNSUPPORTED_ERROR,
                   "gpudata_alloc: a plan has no memory of the host");
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

void ga__buffer_each_met(const gpudata *b, void (*visit)(void *with, gpudata *other),
                         void *with) {
  gpucontext *ctx = b->context;
  ptrdiff_t between;
  if (!atomic_load(&b->is_met))
    return;
  pthread_mutex_lock(&ctx->lock);
  for (gpudata *other = ctx->live; other; other = other->next)
    if (other != b && atomic_load(&other->is_met) &&
        ga__buffers_meet(&between, b, other))
      visit(with, other);
  pthread_mutex_unlock(&ctx->lock);
}

/* ---- references ---- */

void gpudata_retain(gpudata *b) {
  if (b)
    atomic_fetch_add_explicit(&b->references, 1, memory_order_relaxed);
}

/* Lets memory go that is not the pool's, once no other thread finds it in the list.
 * What waiting for it reports comes up at the next call that can fail. */
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

/* Gives memory back to the pool. */
static void release_block(gpudata *b) {
  gpucontext *ctx = b->context;
  ga_block block = {b->memory, b->block_size, b->from, {.epoch = 0}};
  pthread_mutex_lock(&ctx->lock);
  if (b->uses.epoch != 0)
    block.uses = b->uses;
  ga__pool_put(ctx->pool, &block);
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
    return; /* Neither the lock nor the memory is this process's. */
  if (b->from == NULL)
    release_foreign(b);
  else
    release_block(b);
  gpucontext_deref(ctx);
}

static int check_flags(int flags, const void *data) {
  const int one_way = GA_BUFFER_READ_ONLY | GA_BUFFER_WRITE_ONLY;
  if (flags & ~(one_way | GA_BUFFER_INIT | GA_BUFFER_HOST))
    return GA_FAIL(GA_VALUE_ERROR, "gpudata_alloc: flags 0x%x are not all known",
                   (unsigned int)flags);
  if ((flags & one_way) == one_way)
    return GA_FAIL(GA_VALUE_ERROR,
                   "gpudata_alloc: a buffer is not both read-only and write-only");
  if (flags & GA_BUFFER_INIT && data == NULL)
    return GA_FAIL(GA_VALUE_ERROR,
                   "gpudata_alloc: GA_BUFFER_INIT needs the data to copy");
  return GA_NO_ERROR;
}

static int alloc_buffer(gpudata **out, gpucontext *ctx, size_t sz, const void *data,
                        int flags) {
  gpudata *buffer;
  GA_TRY(check_flags(flags, data));
  if (flags & GA_BUFFER_HOST)
    GA_TRY(ga__context_check(ctx));
  GA_TRY(flags & GA_BUFFER_HOST ? new_on_host(&buffer, ctx, sz)
                                : ga__buffer_new(&buffer, ctx, sz));
  if (flags & GA_BUFFER_INIT) {
    int status = gpudata_write(buffer, 0, data, sz);
    if (status != GA_NO_ERROR) {
      gpudata_release(buffer);
      return status;
    }
  }
  buffer->flags = flags & ~GA_BUFFER_INIT;
  *out = buffer;
  return GA_NO_ERROR;
}

gpudata *gpudata_alloc(gpucontext *ctx, size_t sz, void *data, int flags, int *ret) {
  gpudata *buffer = NULL;
  int status = alloc_buffer(&buffer, ctx, sz, data, flags);
  if (status != GA_NO_ERROR && ret)
    *ret = status;
  return buffer;
}

/* ---- where memory lies ---- */

/* An address, where there are any, else a handle and how many bytes after it. */
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

/* ---- questions ---- */

int gpudata_share(gpudata *a, gpudata *b, int *ret) {
  if (a == NULL || b == NULL) {
    int status = GA_FAIL(GA_VALUE_ERROR, "gpudata_share: two buffers are needed");
    if (ret)
      *ret = status;
    return -1;
  }
  ptrdiff_t between;
  return a == b || (a->context == b->context && ga__buffers_meet(&between, a, b));
}

void *ga__buffer_on_host(const gpudata *b) {
  const gpucontext *ctx = b->context;
  return b->tape == NULL && ctx->backend->host_address
             ? ctx->backend->host_address(ctx->device, b->memory)
             : NULL;
}

static int host_address(void **out, const gpudata *b) {
  void *host = b->host ? b->host : ga__buffer_on_host(b);
  if (host == NULL)
    return GA_FAIL(GA_DEVSUP_ERROR,
                   "gpudata_property: the host does not reach this buffer; allocate "
                   "it with GA_BUFFER_HOST on a device that offers it, or use "
                   "gpudata_read and gpudata_write");
  *out = host;
  return GA_NO_ERROR;
}

int gpudata_property(gpudata *buf, int prop_id, void *res) {
  if (buf == NULL || res == NULL)
    return ga__fail_null(__func__, "buffer, or no place for the answer");
  if (prop_id < GA_BUFFER_PROP_START)
    return gpucontext_property(buf->context, prop_id, res);
  switch (prop_id) {
  case GA_BUFFER_PROP_CTX:
    *(gpucontext **)res = buf->context;
    return GA_NO_ERROR;
  case GA_BUFFER_PROP_REFCNT:
    *(unsigned int *)res = atomic_load(&buf->references);
    return GA_NO_ERROR;
  case GA_BUFFER_PROP_HOST:
    return host_address(res, buf);
  case GA_BUFFER_PROP_SIZE:
    *(size_t *)res = buf->size;
    return GA_NO_ERROR;
  }
  return GA_FAIL(prop_id >= GA_KERNEL_PROP_START ? GA_VALUE_ERROR : GA_INVALID_ERROR,
                 "gpudata_property: a buffer has no property %d", prop_id);
}

gpucontext *gpudata_context(gpudata *b) {
  return b ? b->context : NULL;
}
