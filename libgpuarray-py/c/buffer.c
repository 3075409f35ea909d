/* Reference-counted device memory: checks here, work in the backend. */
#include "c/buffer.h"

#include <stdint.h>

#include "c/tape.h"

#define BOUNCE_SIZE ((size_t)16 << 20) /* of the host's part in a transfer */

void *ga__buffer_memory(const gpudata *buffer) {
  return buffer->memory;
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

int ga__buffer_new(gpudata **out, gpucontext *ctx, size_t size) {
  GA_TRY(ga__context_check(ctx));
  ga_tape *tape = ga__tape_current(ctx);
  if (tape)
    return ga__tape_buffer(out, tape, size);

  void *memory;
  size_t block_size;
  int status = GA_MEMORY_ERROR;
  pthread_mutex_lock(&ctx->lock);
  gpudata *buffer = new_struct(ctx);
  if (buffer) {
    status = ga__pool_get(&memory, &block_size, ctx->pool, size);
    if (status != GA_NO_ERROR)
      drop_struct(ctx, buffer);
  }
  pthread_mutex_unlock(&ctx->lock);
  if (status != GA_NO_ERROR)
    return status == GA_MEMORY_ERROR ? ga__fail_within(status, "%s", ctx->name)
                                     : ga__context_status(ctx, status);

  buffer->memory = memory;
  buffer->context = ctx;
  atomic_init(&buffer->references, 1);
  buffer->size = size;
  buffer->block_size = block_size;
  buffer->flags = GA_BUFFER_READ_WRITE;
  buffer->tape = NULL;
  gpucontext_retain(ctx);
  *out = buffer;
  return GA_NO_ERROR;
}

void gpudata_retain(gpudata *b) {
  if (b)
    atomic_fetch_add_explicit(&b->references, 1, memory_order_relaxed);
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
  pthread_mutex_lock(&ctx->lock);
  ga__pool_put(ctx->pool, b->memory, b->block_size);
  drop_struct(ctx, b);
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
  if (flags & GA_BUFFER_HOST)
    return GA_FAIL(
        GA_DEVSUP_ERROR,
        "gpudata_alloc: memory that the host reaches (GA_BUFFER_HOST) is not "
        "offered; use gpudata_read and gpudata_write");
  if (flags & GA_BUFFER_INIT && data == NULL)
    return GA_FAIL(GA_VALUE_ERROR,
                   "gpudata_alloc: GA_BUFFER_INIT needs the data to copy");
  return GA_NO_ERROR;
}

static int alloc_buffer(gpudata **out, gpucontext *ctx, size_t sz, const void *data,
                        int flags) {
  gpudata *buffer;
  GA_TRY(check_flags(flags, data));
  GA_TRY(ga__buffer_new(&buffer, ctx, sz));
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
  return ga__context_status(ctx, ctx->backend->copy(ctx->device, dst->memory, dstoff,
                                                    src->memory, srcoff, sz));
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
  gpucontext *to = dst->context, *from = src->context;
  if (to->backend == from->backend && to->backend->copy_peer) {
    int status = to->backend->copy_peer(to->device, dst->memory, dstoff, from->device,
                                        src->memory, srcoff, sz);
    if (status != GA_DEVSUP_ERROR) /* which is for devices that do not reach so far */
      return ga__context_status(to, status);
  }
  return bounce(dst, dstoff, src, srcoff, sz);
}

int gpudata_read(void *dst, gpudata *src, size_t srcoff, size_t sz) {
  GA_TRY(check_host_range(src, srcoff, sz, dst, __func__));
  if (sz == 0)
    return GA_NO_ERROR;
  gpucontext *ctx = src->context;
  return ga__context_status(
      ctx, ctx->backend->read(ctx->device, dst, src->memory, srcoff, sz));
}

int gpudata_write(gpudata *dst, size_t dstoff, const void *src, size_t sz) {
  GA_TRY(check_host_range(dst, dstoff, sz, src, __func__));
  if (sz == 0)
    return GA_NO_ERROR;
  gpucontext *ctx = dst->context;
  return ga__context_status(
      ctx, ctx->backend->write(ctx->device, dst->memory, dstoff, src, sz));
}

int ga__buffer_fill(gpudata *buffer, size_t offset, unsigned char byte, size_t size) {
  GA_TRY(check_range(buffer, offset, size, "gpudata_memset"));
  if (size == 0)
    return GA_NO_ERROR;
  if (buffer->tape)
    return ga__tape_fill(buffer->tape, buffer, offset, byte, size);
  gpucontext *ctx = buffer->context;
  return ga__context_status(
      ctx, ctx->backend->fill(ctx->device, buffer->memory, offset, byte, size));
}

int gpudata_memset(gpudata *dst, size_t dstoff, int data) {
  GA_TRY(check_range(dst, dstoff, 0, __func__));
  if (dst->flags & GA_BUFFER_READ_ONLY)
    return GA_FAIL(GA_READONLY_ERROR, "gpudata_memset: the buffer is read-only");
  return ga__buffer_fill(dst, dstoff, (unsigned char)data, dst->size - dstoff);
}

int gpudata_sync(gpudata *b) {
  GA_TRY(check_range(b, 0, 0, __func__));
  return b->tape ? GA_NO_ERROR : ga__context_wait(b->context);
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
  return a->context == b->context && a->memory && a->memory == b->memory;
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
