/* Transfers between host and devices.
 *
 * Pageable host memory is staged through a ring of pinned parts: the host copies one
 * part while the device copies others. A write returns once its last byte is staged.
 * Small writes are packed into a part, so that an event guards a part, not a write. */
#include "cuda/transfer.h"

#include <string.h>

#include "c/base/counts.h"

#define PART_SIZE ((size_t)1 << 20)
#define ALIGNMENT 256
enum { EVENT_DISABLE_TIMING = 2 };

static CUdeviceptr address(void *memory, size_t offset) {
  return (CUdeviceptr)(uintptr_t)memory + offset;
}

/* ---- staging ---- */

static int staging_open(ga_cuda_staging *s) {
  if (s->memory)
    return GA_NO_ERROR;
  for (int i = 0; i < GA_CUDA_PARTS; i++)
    if (s->events[i] == NULL)
      CUDA_TRY(cuEventCreate, &s->events[i], EVENT_DISABLE_TIMING);
  void *memory;
  CUDA_TRY(cuMemAllocHost, &memory, GA_CUDA_PARTS * PART_SIZE);
  s->memory = memory;
  return GA_NO_ERROR;
}

void ga__cuda_staging_close(ga_cuda_staging *s) {
  for (int i = 0; i < GA_CUDA_PARTS; i++)
    if (s->events[i])
      ga__cuda.cuEventDestroy(s->events[i]);
  if (s->memory)
    ga__cuda.cuMemFreeHost(s->memory);
}

/* ---- writing ---- */

/* Stages a piece that fits a part, and enqueues its copy. */
static int write_piece(ga_cuda_device *d, CUdeviceptr to, const char *host, size_t size,
                       bool *waited) {
  ga_cuda_staging *s = &d->writes;
  GA_TRY(staging_open(s));
  if (s->used + size > PART_SIZE) {
    CUDA_TRY(cuEventRecord, s->events[s->part], d->stream);
    s->part = (s->part + 1) % GA_CUDA_PARTS;
    s->used = 0;
    if (ga__cuda.cuEventQuery(s->events[s->part]) != CUDA_SUCCESS)
      *waited = true;
    CUDA_TRY(cuEventSynchronize, s->events[s->part]);
  }
  char *pinned = s->memory + s->part * PART_SIZE + s->used;
  memcpy(pinned, host, size);
  CUDA_TRY(cuMemcpyHtoDAsync, to, pinned, size, d->stream);
  s->used += (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  return GA_NO_ERROR;
}

int ga__cuda_write(void *device, void *memory, size_t offset, const void *host,
                   size_t size, bool *waited) {
  ga_cuda_device *d = device;
  int status = GA_NO_ERROR;
  CUcontext previous;
  GA_TRY(ga__cuda_enter(&previous, d));
  for (size_t at = 0; at < size && status == GA_NO_ERROR; at += PART_SIZE) {
    pthread_mutex_lock(&d->writes.lock);
    status = write_piece(d, address(memory, offset + at), (const char *)host + at,
                         ga__smaller(PART_SIZE, size - at), waited);
    pthread_mutex_unlock(&d->writes.lock);
  }
  ga__cuda_leave(d, previous);
  return status;
}

/* ---- reading ---- */

static int read_pieces(ga_cuda_device *d, char *host, CUdeviceptr from, size_t size) {
  ga_cuda_staging *s = &d->reads;
  size_t queued = 0;
  GA_TRY(staging_open(s));
  for (size_t taken = 0; taken < size; taken += PART_SIZE) {
    for (; queued < size && queued - taken < GA_CUDA_PARTS * PART_SIZE;
         queued += PART_SIZE) {
      size_t part = queued / PART_SIZE % GA_CUDA_PARTS;
      CUDA_TRY(cuMemcpyDtoHAsync, s->memory + part * PART_SIZE, from + queued,
               ga__smaller(PART_SIZE, size - queued), d->stream);
      CUDA_TRY(cuEventRecord, s->events[part], d->stream);
    }
    size_t part = taken / PART_SIZE % GA_CUDA_PARTS;
    CUDA_TRY(cuEventSynchronize, s->events[part]);
    memcpy(host + taken, s->memory + part * PART_SIZE,
           ga__smaller(PART_SIZE, size - taken));
  }
  return GA_NO_ERROR;
}

int ga__cuda_read(void *device, void *host, void *memory, size_t offset, size_t size) {
  ga_cuda_device *d = device;
  CUcontext previous;
  GA_TRY(ga__cuda_enter(&previous, d));
  pthread_mutex_lock(&d->reads.lock);
  int status = read_pieces(d, host, address(memory, offset), size);
  pthread_mutex_unlock(&d->reads.lock);
  ga__cuda_leave(d, previous);
  return status;
}

/* Offset of the next piece. */
static size_t after(size_t at, size_t size) {
  return at + (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Packs the arrays into the staging memory, which holds all, for one wait. */
static int read_small(ga_cuda_device *d, unsigned int n, const ga_reading *list) {
  ga_cuda_staging *s = &d->reads;
  size_t at = 0;
  GA_TRY(staging_open(s));
  for (unsigned int i = 0; i < n; at = after(at, list[i++].size))
    CUDA_TRY(cuMemcpyDtoHAsync, s->memory + at, address(list[i].memory, list[i].offset),
             list[i].size, d->stream);
  CUDA_TRY(cuEventRecord, s->events[0], d->stream);
  CUDA_TRY(cuEventSynchronize, s->events[0]);
  at = 0;
  for (unsigned int i = 0; i < n; at = after(at, list[i++].size))
    memcpy(list[i].host, s->memory + at, list[i].size);
  return GA_NO_ERROR;
}

int ga__cuda_read_all(void *device, unsigned int n, const ga_reading *list) {
  ga_cuda_device *d = device;
  int status = GA_NO_ERROR;
  CUcontext previous;
  size_t all = 0;
  for (unsigned int i = 0; i < n; i++)
    all = after(all, list[i].size);
  GA_TRY(ga__cuda_enter(&previous, d));
  pthread_mutex_lock(&d->reads.lock);
  if (all <= GA_CUDA_PARTS * PART_SIZE)
    status = read_small(d, n, list);
  else
    for (unsigned int i = 0; status == GA_NO_ERROR && i < n; i++)
      status = read_pieces(d, list[i].host, address(list[i].memory, list[i].offset),
                           list[i].size);
  pthread_mutex_unlock(&d->reads.lock);
  ga__cuda_leave(d, previous);
  return status;
}

/* ---- on devices ---- */

int ga__cuda_copy(void *device, void *to, size_t to_offset, void *from,
                  size_t from_offset, size_t size) {
  const ga_cuda_device *d = device;
  CUDA_RETURN(d, cuMemcpyDtoDAsync, address(to, to_offset), address(from, from_offset),
              size, ga__cuda_stream(d));
}

int ga__cuda_fill(void *device, void *memory, size_t offset, unsigned char byte,
                  size_t size) {
  const ga_cuda_device *d = device;
  CUDA_RETURN(d, cuMemsetD8Async, address(memory, offset), byte, size,
              ga__cuda_stream(d));
}

/* Enables peer access, once. Where there is none the driver stages copies through host
 * memory, so a refusal is ignored. */
static int reach_peer(ga_cuda_device *device, const ga_cuda_device *peer) {
  if (atomic_load(&device->reached) == peer->context ||
      ga__cuda.cuCtxEnablePeerAccess == NULL)
    return GA_NO_ERROR;
  CUcontext previous;
  GA_TRY(ga__cuda_enter(&previous, device));
  atomic_store(&device->reached, peer->context);
  ga__cuda.cuCtxEnablePeerAccess(peer->context, 0);
  ga__cuda_leave(device, previous);
  return GA_NO_ERROR;
}

static int queue_copy_peer(const ga_cuda_device *to_device, CUdeviceptr to,
                           const ga_cuda_device *from_device, CUdeviceptr from,
                           size_t size) {
  CUDA_RETURN(to_device, cuMemcpyPeerAsync, to, to_device->context, from,
              from_device->context, size, to_device->stream);
}

int ga__cuda_copy_peer(void *to_device, void *to, size_t to_offset, void *from_device,
                       void *from, size_t from_offset, size_t size) {
  const ga_cuda_device *first = to_device, *second = from_device;
  if (first->context == second->context) /* one device, opened twice */
    return ga__cuda_copy(to_device, to, to_offset, from, from_offset, size);
  GA_TRY(reach_peer(to_device, from_device));
  return queue_copy_peer(to_device, address(to, to_offset), from_device,
                         address(from, from_offset), size);
}
