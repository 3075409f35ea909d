/* Reference-counted device memory: checks here, work in the backend. */
#include "c/buffer.h"

#include <stdint.h>
#include <stdlib.h>

#include "c/report.h"
#include "c/tape.h"

#define BOUNCE_SIZE ((size_t)16 << 20) /* of the host's part in a transfer */

void *ga__buffer_memory(const gpudata *buffer) {
  return buffer->memory;
}

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

/* What each label holds, the most first; *largest is the bytes of one buffer. Locked. */
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

/* The opposite. Locked. */
static void take_down(gpudata *buffer) {
  gpucontext *ctx = buffer->context;
  if (buffer->next)
    buffer->next->previous = buffer->previous;
  if (buffer->previous)
    buffer->previous->next = buffer->next;
  else
    ctx->live = buffer->next;
  drop_struct(ctx, buffer);
}

int ga__buffer_new(gpudata **out, gpucontext *ctx, size_t size) {
  GA_TRY(ga__context_check(ctx));
  ga_tape *tape = ga__tape_current(ctx);
  if (tape)
    return ga__tape_buffer(out, tape, size);

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

/* A buffer that is not the pool's. */
static int new_foreign(gpudata **out, gpucontext *ctx, void *memory, size_t size) {
  ga_block block = {.memory = memory, .size = size};
  pthread_mutex_lock(&ctx->lock);
  gpudata *buffer = new_struct(ctx);
  if (buffer)
    set_up(buffer, ctx, size, &block);
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
  if (ga__tape_current(ctx))
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

/* ---- references ---- */

void gpudata_retain(gpudata *b) {
  if (b)
    atomic_fetch_add_explicit(&b->references, 1, memory_order_relaxed);
}

/* Lets memory go that is not the pool's. What waiting for it reports comes up at the next
 * call that can fail. */
static void release_foreign(gpudata *b) {
  gpucontext *ctx = b->context;
  bool is_host = b->flags & GA_BUFFER_HOST;
  if (is_host || b->release)
    ga__context_waited(ctx, ga__queue_wait_buffer(b));
  if (is_host)
    ctx->backend->host_free(ctx->device, b->memory, b->host);
  else if (ctx->backend->forget)
    ctx->backend->forget(ctx->device);
  if (b->release)
    b->release(b->owner);
}

void gpudata_release(gpudata *b) {
  if (b == NULL ||
      atomic_fetch_sub_explicit(&b->references, 1, memory_order_acq_rel) != 1)
    return;
  if (b->tape) {
    ga__tape_release(b);
    return;
  }
  gpucontext *ctx = b->context;
  if (!ga__context_is_ours(ctx))
    return; /* Neither the lock nor the memory is this process's. */
  if (b->from == NULL)
    release_foreign(b);
  pthread_mutex_lock(&ctx->lock);
  if (b->from) {
    ga_block block = {b->memory, b->block_size, b->from, {.epoch = 0}};
    if (b->uses.epoch != 0)
      block.uses = b->uses;
    ga__pool_put(ctx->pool, &block);
  }
  take_down(b);
  pthread_mutex_unlock(&ctx->lock);
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

/* ---- checks ---- */

/* GA_VALUE_ERROR unless `size` bytes from `offset` lie in the buffer. */
static int check_range(const gpudata *b, size_t offset, size_t size,
                       const char *operation) {
  if (b == NULL)
    return GA_FAIL(GA_INVALID_ERROR, "%s: no buffer was given", operation);
  if (offset > b->size || size > b->size - offset)
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: %zu bytes at offset %zu do not fit a buffer of %zu bytes",
                   operation, size, offset, b->size);
  return ga__context_check(b->context);
}

/* As check_range, for what exchanges bytes with the host. */
static int check_host_range(const gpudata *b, size_t offset, size_t size,
                            const void *host, const char *operation) {
  GA_TRY(check_range(b, offset, size, operation));
  if (b->tape)
    return GA_FAIL(GA_UNSUPPORTED_ERROR,
                   "%s: the buffer is of a plan that is being bound and has no bytes "
                   "yet",
                   operation);
  if (host == NULL && size != 0)
    return GA_FAIL(GA_INVALID_ERROR, "%s: no host memory was given", operation);
  return GA_NO_ERROR;
}

/* ---- bytes ---- */

static bool overlap(const gpudata *dst, size_t dstoff, const gpudata *src,
                    size_t srcoff, size_t sz) {
  return dst == src && dstoff < srcoff + sz && srcoff < dstoff + sz;
}

/* Queues a copy of ranges that do not overlap. */
static int copy_bytes(gpudata *dst, size_t dstoff, gpudata *src, size_t srcoff,
                      size_t sz) {
  ga_tape *tape = dst->tape ? dst->tape : src->tape;
  if (tape)
    return ga__tape_copy(tape, dst, dstoff, src, srcoff, sz);
  gpucontext *ctx = dst->context;
  ga_use uses[2] = {{dst, true}, {src, false}};
  void *device;
  GA_TRY(ga__context_status(ctx, ga__queue_begin(&device, ctx, 2, uses)));
  int status =
      ctx->backend->copy(device, dst->memory, dstoff, src->memory, srcoff, sz);
  ga__queue_end(ctx, 2, uses);
  return ga__context_status(ctx, status);
}

/* Copies ranges that overlap, by way of a third buffer. */
static int copy_overlapping(gpudata *dst, size_t dstoff, gpudata *src, size_t srcoff,
                            size_t sz) {
  gpudata *between;
  GA_TRY(ga__buffer_new(&between, dst->context, sz));
  int status = copy_bytes(between, 0, src, srcoff, sz);
  if (status == GA_NO_ERROR)
    status = copy_bytes(dst, dstoff, between, 0, sz);
  gpudata_release(between);
  return status;
}

int gpudata_move(gpudata *dst, size_t dstoff, gpudata *src, size_t srcoff, size_t sz) {
  GA_TRY(check_range(dst, dstoff, sz, "gpudata_move, destination"));
  GA_TRY(check_range(src, srcoff, sz, "gpudata_move, source"));
  if (dst->context != src->context)
    return GA_FAIL(GA_VALUE_ERROR,
                   "gpudata_move: the buffers are of two contexts, %s and %s; use "
                   "gpudata_transfer",
                   dst->context->name, src->context->name);
  if (sz == 0 || (dst == src && dstoff == srcoff))
    return GA_NO_ERROR;
  if (overlap(dst, dstoff, src, srcoff, sz))
    return copy_overlapping(dst, dstoff, src, srcoff, sz);
  return copy_bytes(dst, dstoff, src, srcoff, sz);
}

/* Copies between contexts through host memory, piece by piece. */
static int bounce(gpudata *dst, size_t dstoff, gpudata *src, size_t srcoff, size_t sz) {
  size_t piece = sz < BOUNCE_SIZE ? sz : BOUNCE_SIZE;
  void *host = ga__alloc(piece, 1);
  if (host == NULL)
    return GA_MEMORY_ERROR;
  int status = GA_NO_ERROR;
  for (size_t done = 0; done < sz && status == GA_NO_ERROR; done += piece) {
    if (piece > sz - done)
      piece = sz - done;
    status = gpudata_read(host, src, srcoff + done, piece);
    if (status == GA_NO_ERROR)
      status = gpudata_write(dst, dstoff + done, host, piece);
  }
  ga__free(host);
  return status;
}

/* Between two devices of one backend, on this thread's queues there. */
static int transfer_peer(gpudata *dst, size_t dstoff, gpudata *src, size_t srcoff,
                         size_t sz) {
  gpucontext *to = dst->context, *from = src->context;
  ga_use writes = {dst, true}, reads = {src, false};
  void *to_device, *from_device;
  GA_TRY(ga__context_status(to, ga__queue_begin(&to_device, to, 1, &writes)));
  GA_TRY(ga__context_status(from, ga__queue_begin(&from_device, from, 1, &reads)));
  int status = to->backend->copy_peer(to_device, dst->memory, dstoff, from_device,
                                      src->memory, srcoff, sz);
  ga__queue_end(to, 1, &writes);
  ga__queue_end(from, 1, &reads);
  return status == GA_DEVSUP_ERROR ? status : ga__context_status(to, status);
}

int gpudata_transfer(gpudata *dst, size_t dstoff, gpudata *src, size_t srcoff,
                     size_t sz) {
  if (dst && src && dst->context == src->context)
    return gpudata_move(dst, dstoff, src, srcoff, sz);
  GA_TRY(check_range(dst, dstoff, sz, "gpudata_transfer, destination"));
  GA_TRY(check_range(src, srcoff, sz, "gpudata_transfer, source"));
  if (dst->tape || src->tape)
    return GA_FAIL(GA_UNSUPPORTED_ERROR,
                   "gpudata_transfer: a plan does not copy between contexts");
  if (sz == 0)
    return GA_NO_ERROR;
  if (dst->context->backend == src->context->backend &&
      dst->context->backend->copy_peer) {
    int status = transfer_peer(dst, dstoff, src, srcoff, sz);
    if (status != GA_DEVSUP_ERROR) /* which is for devices that do not reach so far */
      return status;
  }
  return bounce(dst, dstoff, src, srcoff, sz);
}

int ga__buffer_read(void *dst, gpudata *src, size_t srcoff, size_t sz) {
  gpucontext *ctx = src->context;
  ga_use use = {src, false};
  void *device;
  GA_TRY(ga__context_status(ctx, ga__queue_begin(&device, ctx, 1, &use)));
  int status = ctx->backend->read(device, dst, src->memory, srcoff, sz);
  ga__queue_end(ctx, 1, &use);
  return ga__context_status(ctx, status);
}

int gpudata_read(void *dst, gpudata *src, size_t srcoff, size_t sz) {
  GA_TRY(check_host_range(src, srcoff, sz, dst, __func__));
  if (sz == 0)
    return GA_NO_ERROR;
  gpucontext *ctx = src->context;
  gpuqueue *q = ga__queue_current(ctx);
  unsigned long launches = atomic_load_explicit(&ctx->launches.count,
                                                memory_order_relaxed);
  GA_TRY(ga__buffer_read(dst, src, srcoff, sz));
  atomic_store_explicit(&q->waited, launches, memory_order_relaxed);
  return ga__report_check(q);
}

int gpudata_write(gpudata *dst, size_t dstoff, const void *src, size_t sz) {
  GA_TRY(check_host_range(dst, dstoff, sz, src, __func__));
  if (sz == 0)
    return GA_NO_ERROR;
  gpucontext *ctx = dst->context;
  ga_use use = {dst, true};
  void *device;
  GA_TRY(ga__context_status(ctx, ga__queue_begin(&device, ctx, 1, &use)));
  int status = ctx->backend->write(device, dst->memory, dstoff, src, sz);
  ga__queue_end(ctx, 1, &use);
  return ga__context_status(ctx, status);
}

int ga__buffer_fill(gpudata *buffer, size_t offset, unsigned char byte, size_t size) {
  GA_TRY(check_range(buffer, offset, size, "gpudata_memset"));
  if (size == 0)
    return GA_NO_ERROR;
  if (buffer->tape)
    return ga__tape_fill(buffer->tape, buffer, offset, byte, size);
  gpucontext *ctx = buffer->context;
  ga_use use = {buffer, true};
  void *device;
  GA_TRY(ga__context_status(ctx, ga__queue_begin(&device, ctx, 1, &use)));
  int status = ctx->backend->fill(device, buffer->memory, offset, byte, size);
  ga__queue_end(ctx, 1, &use);
  return ga__context_status(ctx, status);
}

int gpudata_memset(gpudata *dst, size_t dstoff, int data) {
  GA_TRY(check_range(dst, dstoff, 0, __func__));
  if (dst->flags & GA_BUFFER_READ_ONLY)
    return GA_FAIL(GA_READONLY_ERROR, "gpudata_memset: the buffer is read-only");
  return ga__buffer_fill(dst, dstoff, (unsigned char)data, dst->size - dstoff);
}

int gpudata_sync(gpudata *b) {
  GA_TRY(check_range(b, 0, 0, __func__));
  if (b->tape)
    return GA_NO_ERROR;
  GA_TRY(ga__context_waited(b->context, ga__queue_wait_buffer(b)));
  return ga__report_check_all(b->context);
}

/* ---- questions ---- */

int gpudata_share(gpudata *a, gpudata *b, int *ret) {
  if (a == NULL || b == NULL) {
    int status = GA_FAIL(GA_INVALID_ERROR, "gpudata_share: two buffers are needed");
    if (ret)
      *ret = status;
    return -1;
  }
  if (a == b)
    return 1;
  if (a->context != b->context || a->memory == NULL || b->memory == NULL)
    return 0;
  const ga_sharing *sharing = a->context->backend->sharing;
  if (sharing == NULL || !sharing->is_address)
    return a->memory == b->memory;
  const char *x = a->memory, *y = b->memory;
  return x < y + b->size && y < x + a->size;
}

int gpudata_property(gpudata *buf, int prop_id, void *res) {
  if (buf == NULL || res == NULL)
    return GA_FAIL(GA_INVALID_ERROR,
                   "gpudata_property: a buffer and a place for the answer are needed");
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
    if (buf->host == NULL)
      return GA_FAIL(GA_DEVSUP_ERROR,
                     "gpudata_property: the host does not reach this buffer; allocate "
                     "it with GA_BUFFER_HOST on a device that offers it, or use "
                     "gpudata_read and gpudata_write");
    *(void **)res = buf->host;
    return GA_NO_ERROR;
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
