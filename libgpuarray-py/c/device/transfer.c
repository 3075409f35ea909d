/* Copies, fills, reads and writes of buffers: checks; the backend does the work. */
#include "c/device/device_errors.h"
#include "c/device/host_pool.h"
#include "c/device/pieces.h"
#include "c/device/recorder.h"

#define BOUNCE_SIZE                                                                    \
  ((size_t)16 << 20) /* host staging buffer of a transfer between contexts, bytes */
/* Bytes from which the host pool is asked if the memory is pinned. A pinned write must
 * wait for the device, which pays later than for a read, which waits anyway. */
#define STRAIGHT_READ ((size_t)16 << 10)
#define STRAIGHT_WRITE ((size_t)256 << 10)

/* ---- checks ---- */

/* GA_VALUE_ERROR unless the range lies in the buffer. */
static int check_range(const gpudata *b, size_t offset, size_t size,
                       const char *operation) {
  if (b == NULL)
    return ga__fail_null(operation, "buffer");
  if (offset > b->size || size > b->size - offset)
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: %zu bytes at offset %zu do not fit a buffer of %zu bytes",
                   operation, size, offset, b->size);
  return ga__context_check(b->context);
}

/* The same for transfers with the host, which have no placeholders. */
static int check_host_range(const gpudata *b, size_t offset, size_t size,
                            const void *host, const char *operation) {
  GA_TRY(check_range(b, offset, size, operation));
  if (b->tape)
    return GA_FAIL(GA_UNSUPPORTED_ERROR,
                   "%s: the buffer is of a plan that is being bound and has no bytes "
                   "yet",
                   operation);
  if (host == NULL && size != 0)
    return ga__fail_null(operation, "host memory");
  return GA_NO_ERROR;
}

/* ---- copies on devices ---- */

/* True if the ranges overlap; *apart is the distance from source to destination. */
static bool overlap(ptrdiff_t *apart, const gpudata *dst, size_t dstoff,
                    const gpudata *src, size_t srcoff, size_t sz) {
  ptrdiff_t between;
  if (!ga__buffers_meet(&between, src, dst))
    return false;
  *apart = (ptrdiff_t)dstoff + between - (ptrdiff_t)srcoff;
  return *apart < (ptrdiff_t)sz && -*apart < (ptrdiff_t)sz;
}

/* Queues a copy of disjoint ranges. */
static int copy_bytes(gpudata *dst, size_t dstoff, gpudata *src, size_t srcoff,
                      size_t sz) {
  ga_tape *tape = dst->tape ? dst->tape : src->tape;
  if (tape)
    return ga__recorder(tape)->copy(tape, dst, dstoff, src, srcoff, sz);
  gpucontext *ctx = dst->context;
  ga_use uses[2] = {{dst, true}, {src, false}};
  void *device;
  GA_TRY(ga__context_status(ctx, ga__queue_begin(&device, ctx, 2, uses)));
  ga_span span = ga__profile_begin(ctx, device);
  int status = ctx->backend->copy(device, dst->memory, dstoff, src->memory, srcoff, sz);
  ga__profile_end(&span, "copy", GPUARRAY_SPAN_COPY, sz);
  ga__queue_end(ctx, 2, uses);
  return ga__context_status(ctx, status);
}

/* Copies overlapping ranges through a temporary buffer. */
static int copy_overlapping(gpudata *dst, size_t dstoff, gpudata *src, size_t srcoff,
                            size_t sz) {
  gpudata *between;
  GA_TRY(ga__buffer_new(&between, dst->context, sz));
  int status = copy_bytes(between, 0, src, srcoff, sz);
  GA_THEN(status, copy_bytes(dst, dstoff, between, 0, sz));
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
  ptrdiff_t apart;
  if (sz == 0)
    return GA_NO_ERROR;
  if (!overlap(&apart, dst, dstoff, src, srcoff, sz))
    return copy_bytes(dst, dstoff, src, srcoff, sz);
  return apart == 0 ? GA_NO_ERROR : copy_overlapping(dst, dstoff, src, srcoff, sz);
}

/* Copies between contexts through host memory, piece by piece. */
static int bounce(gpudata *dst, size_t dstoff, gpudata *src, size_t srcoff, size_t sz) {
  size_t piece = sz < BOUNCE_SIZE ? sz : BOUNCE_SIZE;
  void *host = ga__alloc(piece, 1);
  GA_TRY_MEMORY(host);
  int status = GA_NO_ERROR;
  for (size_t done = 0; done < sz && status == GA_NO_ERROR; done += piece) {
    if (piece > sz - done)
      piece = sz - done;
    status = gpudata_read(host, src, srcoff + done, piece);
    GA_THEN(status, gpudata_write(dst, dstoff + done, host, piece));
  }
  ga__free(host);
  return status;
}

bool ga__buffer_reaches(const gpudata *from, const gpucontext *to) {
  return from->context->backend == to->backend && to->backend->copy_peer != NULL;
}

/* Queues the copy on the destination, behind what the source's queue has; then an
 * event. */
static int queue_peer(void **event, void *to_device, gpudata *dst, size_t dstoff,
                      void *from_device, const gpudata *src, size_t srcoff, size_t sz) {
  const ga_backend *backend = dst->context->backend;
  void *ready;
  GA_TRY(backend->event(&ready, from_device, false));
  int status = backend->event_order(to_device, ready);
  backend->event_free(from_device, ready);
  GA_TRY(status);
  ga_span span = ga__profile_begin(dst->context, to_device);
  status = backend->copy_peer(to_device, dst->memory, dstoff, from_device, src->memory,
                              srcoff, sz);
  ga__profile_end(&span, "copy between contexts", GPUARRAY_SPAN_COPY, sz);
  GA_TRY(status);
  status = backend->event(event, to_device, false);
  if (status != GA_NO_ERROR)
    backend->wait(to_device); /* the source may change or go */
  return status;
}

int ga__buffer_copy_peer(void **event, void **device, gpudata *dst, size_t dstoff,
                         gpudata *src, size_t srcoff, size_t sz) {
  gpucontext *to = dst->context, *from = src->context;
  ga_use writes = {dst, true}, reads = {src, false};
  void *from_device;
  GA_TRY(ga__context_status(to, ga__queue_begin(device, to, 1, &writes)));
  int status = ga__queue_begin(&from_device, from, 1, &reads);
  if (status != GA_NO_ERROR) {
    ga__queue_end(to, 1, &writes);
    return ga__context_status(from, status);
  }
  status = queue_peer(event, *device, dst, dstoff, from_device, src, srcoff, sz);
  ga__queue_end(to, 1, &writes);
  ga__queue_end(from, 1, &reads);
  return status == GA_DEVSUP_ERROR ? status : ga__context_status(to, status);
}

void ga__buffer_follow(gpudata *src, void *device, void *event) {
  gpucontext *ctx = src->context;
  const ga_backend *backend = ctx->backend;
  ga_use use = {src, false};
  void *source;
  int status = ga__queue_begin(&source, ctx, 1, &use);
  if (status == GA_NO_ERROR) {
    status = backend->event_order(source, event);
    ga__queue_end(ctx, 1, &use);
  }
  if (status != GA_NO_ERROR)
    backend->event_wait(device, event);
}

/* Peer copy, on this thread's queues. */
static int transfer_peer(gpudata *dst, size_t dstoff, gpudata *src, size_t srcoff,
                         size_t sz) {
  void *event, *device;
  GA_TRY(ga__buffer_copy_peer(&event, &device, dst, dstoff, src, srcoff, sz));
  ga__buffer_follow(src, device, event);
  dst->context->backend->event_free(device, event);
  return GA_NO_ERROR;
}

int gpudata_transfer(gpudata *dst, size_t dstoff, gpudata *src, size_t srcoff,
                     size_t sz) {
  if (dst && src && dst->context == src->context)
    return gpudata_move(dst, dstoff, src, srcoff, sz);
  GA_TRY(check_range(dst, dstoff, sz, "gpudata_transfer, destination"));
  GA_TRY(check_range(src, srcoff, sz, "gpudata_transfer, source"));
  if (dst->tape || src->tape)
    return GA_FAIL(
        GA_UNSUPPORTED_ERROR,
        "gpudata_transfer: copies between contexts cannot be recorded in a plan");
  if (sz == 0)
    return GA_NO_ERROR;
  if (ga__buffer_reaches(src, dst->context)) {
    int status = transfer_peer(dst, dstoff, src, srcoff, sz);
    if (status != GA_DEVSUP_ERROR) /* no peer access: go by the host */
      return status;
  }
  return bounce(dst, dstoff, src, srcoff, sz);
}

/* Waits for the queue by reading one byte, the cheapest way of the backends. */
static int wait_by_reading(gpucontext *ctx, void *device, const gpudata *b) {
  char byte;
  return ctx->backend->read(device, &byte, b->memory, 0, 1);
}

static int read_pinned(gpucontext *ctx, void *device, const ga_reading *r) {
  const ga_backend *backend = ctx->backend;
  int status =
      backend->pinning->read(device, r->host, r->buffer->memory, r->offset, r->size);
  int waited = backend->wait(device); /* also after a failure */
  return status == GA_NO_ERROR ? waited : status;
}

/* Pipelined if large, where the backend has pinned memory. */
static int read_copying(gpucontext *ctx, void *device, const ga_reading *r) {
  int status = GA_DEVSUP_ERROR;
  if (r->size >= GA_PIECES_LEAST)
    status = ga__pieces_copy(ctx, device, r->buffer->memory, r->offset, r->host,
                             r->size, false);
  return status == GA_DEVSUP_ERROR
             ? ctx->backend->read(device, r->host, r->buffer->memory, r->offset,
                                  r->size)
             : status;
}

static int read_one(gpucontext *ctx, void *device, const ga_reading *r) {
  switch (r->way) {
  case GA_READ_LENT:
    return wait_by_reading(ctx, device, r->buffer);
  case GA_READ_PINNED:
    return read_pinned(ctx, device, r);
  default:
    return read_copying(ctx, device, r);
  }
}

/* Direct DMA if the destination is pinned, as earlier results (NumPy arrays) are. */
static void choose_way(ga_reading *r) {
  const gpucontext *ctx = r->buffer->context;
  if (r->way == GA_READ_COPIES && r->size >= STRAIGHT_READ && ctx->backend->pinning &&
      ga__host_pool_pinned(ctx->memory.host_pool, r->host, r->size))
    r->way = GA_READ_PINNED;
}

/* Reads without a look at the error word. */
static int read_unchecked(const ga_reading *r) {
  gpucontext *ctx = r->buffer->context;
  ga_use use = {r->buffer, false};
  void *device;
  GA_TRY(ga__context_status(ctx, ga__queue_begin(&device, ctx, 1, &use)));
  ga__context_note_wait(ctx);
  ga_span span = ga__profile_begin(ctx, device);
  int status = read_one(ctx, device, r);
  ga__profile_end(&span, "read", GPUARRAY_SPAN_READ, r->size);
  ga__queue_end(ctx, 1, &use);
  return ga__context_status(ctx, status);
}

int ga__buffer_read(void *dst, gpudata *src, size_t srcoff, size_t sz) {
  ga_reading r = {GA_READ_COPIES, dst, src, NULL, srcoff, sz};
  choose_way(&r);
  return read_unchecked(&r);
}

static int read_alone(const ga_reading *r) {
  gpucontext *ctx = r->buffer->context;
  gpuqueue *q = ga__queue_current(ctx);
  unsigned long launches =
      atomic_load_explicit(&ctx->errors.launches.count, memory_order_relaxed);
  GA_TRY(read_unchecked(r));
  atomic_store_explicit(&q->waited, launches, memory_order_relaxed);
  return ga__report_check(q);
}

int gpudata_read(void *dst, gpudata *src, size_t srcoff, size_t sz) {
  ga_reading r = {GA_READ_COPIES, dst, src, NULL, srcoff, sz};
  GA_TRY(check_host_range(src, srcoff, sz, dst, __func__));
  if (sz == 0)
    return GA_NO_ERROR;
  choose_way(&r);
  return read_alone(&r);
}

/* Number of reads to pinned memory. */
static unsigned int n_pinned(unsigned int n, const ga_reading *list) {
  unsigned int count = 0;
  for (unsigned int i = 0; i < n; i++)
    count += list[i].way == GA_READ_PINNED;
  return count;
}

/* Queues the reads to pinned memory; those to pageable memory go into `rest`. */
static int queue_pinned(gpucontext *ctx, void *device, unsigned int n,
                        const ga_reading *list, ga_reading *rest,
                        unsigned int *n_rest) {
  for (unsigned int i = 0; i < n; i++) {
    const ga_reading *r = &list[i];
    if (r->way == GA_READ_PINNED)
      GA_TRY(
          ctx->backend->pinning->read(device, r->host, r->memory, r->offset, r->size));
    else if (r->way == GA_READ_COPIES)
      rest[(*n_rest)++] = *r;
  }
  return GA_NO_ERROR;
}

/* Pageable reads come last: they wait, and all earlier reads are complete by then. */
static int read_list(gpucontext *ctx, void *device, unsigned int n,
                     const ga_reading *list) {
  const ga_backend *backend = ctx->backend;
  ga_reading rest[GA_READ_AT_ONCE];
  unsigned int n_rest = 0;
  int status = queue_pinned(ctx, device, n, list, rest, &n_rest);
  if (status == GA_NO_ERROR && n_rest > 1 && backend->read_all)
    status = backend->read_all(device, n_rest, rest);
  else
    for (unsigned int i = 0; i < n_rest && status == GA_NO_ERROR; i++)
      status = read_copying(ctx, device, &rest[i]);
  if (status == GA_NO_ERROR && n_rest > 0)
    return status;
  /* Also after a failure: the pinned memory must be idle when it is reused. */
  int waited = n_pinned(n, list) > 0 ? backend->wait(device)
                                     : wait_by_reading(ctx, device, list[0].buffer);
  return status == GA_NO_ERROR ? waited : status;
}

/* Reads a few ranges with one wait. */
static int read_at_once(gpucontext *ctx, unsigned int n, const ga_reading *list) {
  ga_use uses[GA_READ_AT_ONCE] = {{NULL, false}};
  void *device;
  for (unsigned int i = 0; i < n; i++)
    uses[i] = (ga_use){list[i].buffer, false};
  GA_TRY(ga__context_status(ctx, ga__queue_begin(&device, ctx, n, uses)));
  gpuqueue *q = ga__queue_current(ctx);
  unsigned long launches =
      atomic_load_explicit(&ctx->errors.launches.count, memory_order_relaxed);
  ga__context_note_wait(ctx);
  int status = read_list(ctx, device, n, list);
  ga__queue_end(ctx, n, uses);
  GA_TRY(ga__context_status(ctx, status));
  atomic_store_explicit(&q->waited, launches, memory_order_relaxed);
  return ga__report_check(q);
}

int ga__buffers_read(unsigned int n, ga_reading *list) {
  gpucontext *ctx = n > 0 ? list[0].buffer->context : NULL;
  for (unsigned int i = 0; i < n; i++) {
    GA_TRY(check_host_range(list[i].buffer, list[i].offset, list[i].size, list[i].host,
                            "read"));
    if (list[i].buffer->context != ctx)
      return GA_FAIL(GA_VALUE_ERROR, "read: the buffers are of two contexts, %s and %s",
                     ctx->name, list[i].buffer->context->name);
    list[i].memory = list[i].buffer->memory;
    choose_way(&list[i]);
  }
  /* A profile needs one command for each. */
  if (n > 1 && atomic_load(&ctx->profile) == NULL)
    return read_at_once(ctx, n, list);
  for (unsigned int i = 0; i < n; i++)
    GA_TRY(read_alone(&list[i]));
  return GA_NO_ERROR;
}

/* Waits: afterwards the host may change the bytes. */
static int write_pinned(gpucontext *ctx, void *device, const gpudata *dst,
                        size_t offset, const void *src, size_t size) {
  const ga_backend *backend = ctx->backend;
  int status = backend->pinning->write(device, dst->memory, offset, src, size);
  int waited = backend->wait(device); /* also after a failure */
  return status == GA_NO_ERROR ? waited : status;
}

/* Direct DMA from pinned memory; pipelined if large, where the backend can. */
static int write_bytes(gpucontext *ctx, void *device, const gpudata *dst, size_t offset,
                       const void *src, size_t size, bool *waited) {
  if (size >= STRAIGHT_WRITE && ctx->backend->pinning &&
      ga__host_pool_pinned(ctx->memory.host_pool, src, size)) {
    *waited = true;
    return write_pinned(ctx, device, dst, offset, src, size);
  }
  if (size >= GA_PIECES_LEAST) {
    int status =
        ga__pieces_copy(ctx, device, dst->memory, offset, (void *)src, size, true);
    if (status != GA_DEVSUP_ERROR) {
      *waited = true;
      return status;
    }
  }
  return ctx->backend->write(device, dst->memory, offset, src, size, waited);
}

int gpudata_write(gpudata *dst, size_t dstoff, const void *src, size_t sz) {
  GA_TRY(check_host_range(dst, dstoff, sz, src, __func__));
  if (sz == 0)
    return GA_NO_ERROR;
  gpucontext *ctx = dst->context;
  ga_use use = {dst, true};
  void *device;
  GA_TRY(ga__context_status(ctx, ga__queue_begin(&device, ctx, 1, &use)));
  bool waited = false;
  ga_span span = ga__profile_begin(ctx, device);
  int status = write_bytes(ctx, device, dst, dstoff, src, sz, &waited);
  ga__profile_end(&span, "write", GPUARRAY_SPAN_WRITE, sz);
  if (waited)
    ga__context_note_wait(ctx);
  ga__queue_end(ctx, 1, &use);
  return ga__context_status(ctx, status);
}

int ga__buffer_fill(gpudata *buffer, size_t offset, unsigned char byte, size_t size) {
  GA_TRY(check_range(buffer, offset, size, "gpudata_memset"));
  if (size == 0)
    return GA_NO_ERROR;
  if (buffer->tape)
    return ga__recorder(buffer->tape)->fill(buffer->tape, buffer, offset, byte, size);
  gpucontext *ctx = buffer->context;
  ga_use use = {buffer, true};
  void *device;
  GA_TRY(ga__context_status(ctx, ga__queue_begin(&device, ctx, 1, &use)));
  ga_span span = ga__profile_begin(ctx, device);
  int status = ctx->backend->fill(device, buffer->memory, offset, byte, size);
  ga__profile_end(&span, "fill", GPUARRAY_SPAN_FILL, size);
  ga__queue_end(ctx, 1, &use);
  return ga__context_status(ctx, status);
}

int gpudata_memset(gpudata *dst, size_t dstoff, int data) {
  GA_TRY(check_range(dst, dstoff, 0, __func__));
  if (dst->flags & GA_BUFFER_READ_ONLY)
    return GA_FAIL(GA_READONLY_ERROR, "gpudata_memset: the buffer is read-only");
  const size_t from = dstoff < dst->begins ? dst->begins : dstoff;
  return ga__buffer_fill(dst, from, (unsigned char)data, dst->size - from);
}

int gpudata_sync(gpudata *b) {
  GA_TRY(check_range(b, 0, 0, __func__));
  if (b->tape)
    return GA_NO_ERROR;
  GA_TRY(ga__context_waited(b->context, ga__queue_wait_buffer(b)));
  return ga__report_check_all(b->context);
}
