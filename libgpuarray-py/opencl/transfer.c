/* Transfers between host and OpenCL device.
 *
 * On a CPU the host accesses the buffer itself once the queue is idle. For a discrete
 * GPU small writes are staged in pinned memory, so that they need not wait for the
 * queue; drivers do large ones well themselves. */
#include "opencl/transfer.h"

#include <stddef.h>
#include <string.h>

#define PART ((size_t)256 << 10)   /* bytes of a part of the staging memory */
#define AT_ONCE ((size_t)64 << 10) /* bytes that are faster to copy than to enqueue */
/* Intel's runtime copies by a kernel whose work groups divide the number of elements:
 * of a prime number each element is a group. A multiple of this many bytes is fast. */
#define COPY_UNIT ((size_t)4096)
#define INLINED 4096 /* bytes that are copied into a queued command */

/* ---- shared memory ---- */

char *ga__opencl_host_bytes(ga_opencl_device *d, void *memory, size_t offset) {
  char *host = NULL;
  if (!d->shares_memory ||
      d->api->clGetMemObjectInfo(memory, CL_MEM_HOST_PTR, sizeof host, &host, NULL) !=
          CL_SUCCESS)
    return NULL;
  return host ? host + offset : NULL;
}

/* Argument of a native kernel; the driver copies it. */
typedef struct task {
  char *to;
  size_t size;
  int byte;
  char bytes[INLINED];
} task;

static void run_fill(void *argument) {
  const task *t = argument;
  memset(t->to, t->byte, t->size);
}

static void run_write(void *argument) {
  const task *t = argument;
  memcpy(t->to, t->bytes, t->size);
}

static int queue_task(ga_opencl_device *d, void (*function)(void *), task *t,
                      size_t n_bytes) {
  OPENCL_QUEUE_TRY(d, clEnqueueNativeKernel, function, t,
                   offsetof(task, bytes) + n_bytes, 0, NULL, NULL, 0, NULL,
                   ga__opencl_event_place(d));
  return ga__opencl_bound(d);
}

static int write_shared(ga_opencl_device *d, char *to, const void *host, size_t size,
                        bool *waited) {
  bool is_idle = ga__opencl_is_idle(d);
  if (size <= INLINED && !is_idle) {
    task t;
    t.to = to;
    t.size = size;
    t.byte = 0;
    memcpy(t.bytes, host, size);
    return queue_task(d, run_write, &t, size);
  }
  if (!is_idle) {
    *waited = true;
    GA_TRY(ga__opencl_wait(d));
  }
  memcpy(to, host, size);
  return GA_NO_ERROR;
}

static int fill_shared(ga_opencl_device *d, char *to, unsigned char byte, size_t size) {
  if (size <= AT_ONCE && ga__opencl_is_idle(d)) {
    memset(to, byte, size);
    return GA_NO_ERROR;
  }
  task t;
  t.to = to;
  t.size = size;
  t.byte = byte;
  return queue_task(d, run_fill, &t, 0);
}

/* ---- staging ---- */

static int staging_open(ga_opencl_device *d) {
  ga_opencl_staging *s = &d->staging;
  const size_t size = GA_OPENCL_PARTS * PART;
  cl_int code = CL_SUCCESS;
  if (s->memory)
    return GA_NO_ERROR;
  cl_mem memory = d->api->clCreateBuffer(
      d->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size, NULL, &code);
  if (memory == NULL)
    return ga__opencl_fail(code, "clCreateBuffer");
  ga__opencl_enter(d);
  s->mapped = d->api->clEnqueueMapBuffer(d->queue, memory, 1, CL_MAP_WRITE, 0, size, 0,
                                         NULL, NULL, &code);
  ga__opencl_leave(d);
  if (code != CL_SUCCESS) {
    d->api->clReleaseMemObject(memory);
    return ga__opencl_fail(code, "clEnqueueMapBuffer");
  }
  s->memory = memory;
  return GA_NO_ERROR;
}

void ga__opencl_staging_close(ga_opencl_device *device) {
  const ga_opencl_api *api = device->api;
  ga_opencl_staging *s = &device->staging;
  if (s->memory == NULL)
    return;
  for (unsigned int i = 0; i < GA_OPENCL_PARTS; i++)
    if (s->events[i])
      api->clReleaseEvent(s->events[i]);
  api->clEnqueueUnmapMemObject(device->queue, s->memory, s->mapped, 0, NULL, NULL);
  api->clFinish(device->queue);
  api->clReleaseMemObject(s->memory);
}

/* Moves to the next part, once its last transfer is complete. */
static int next_part(ga_opencl_device *d, bool *waited) {
  ga_opencl_staging *s = &d->staging;
  s->part = (s->part + 1) % GA_OPENCL_PARTS;
  s->used = 0;
  cl_event event = s->events[s->part];
  if (event == NULL)
    return GA_NO_ERROR;
  s->events[s->part] = NULL;
  bool is_done = false;
  int status = ga__opencl_event_done(&is_done, d, event);
  if (!is_done)
    *waited = true;
  cl_int code = d->api->clWaitForEvents(1, &event);
  d->api->clReleaseEvent(event);
  GA_TRY(status);
  return code == CL_SUCCESS ? GA_NO_ERROR : ga__opencl_fail(code, "clWaitForEvents");
}

/* At most a part; the lock is held. */
static int write_staged(ga_opencl_device *d, cl_mem memory, size_t offset,
                        const void *host, size_t size, bool *waited) {
  ga_opencl_staging *s = &d->staging;
  cl_event event;
  GA_TRY(staging_open(d));
  if (size > PART - s->used)
    GA_TRY(next_part(d, waited));
  char *bytes = s->mapped + s->part * PART + s->used;
  memcpy(bytes, host, size);
  OPENCL_QUEUE_TRY(d, clEnqueueWriteBuffer, memory, 0, offset, size, bytes, 0, NULL,
                   &event);
  if (s->events[s->part])
    d->api->clReleaseEvent(s->events[s->part]);
  s->events[s->part] = event;
  s->used += (size + 63) / 64 * 64;
  return GA_NO_ERROR;
}

/* ---- backend table ---- */

void *ga__opencl_host_address(void *device, void *memory) {
  return ga__opencl_host_bytes(device, memory, 0);
}

int ga__opencl_read(void *device, void *host, void *memory, size_t offset,
                    size_t size) {
  ga_opencl_device *d = device;
  if (size == 0)
    return GA_NO_ERROR;
  const char *bytes = ga__opencl_host_bytes(d, memory, offset);
  if (bytes) {
    GA_TRY(ga__opencl_settle(d));
    memcpy(host, bytes, size);
    return GA_NO_ERROR;
  }
  OPENCL_QUEUE_TRY(d, clEnqueueReadBuffer, memory, 1, offset, size, host, 0, NULL,
                   ga__opencl_event_place(d));
  return GA_NO_ERROR;
}

int ga__opencl_write(void *device, void *memory, size_t offset, const void *host,
                     size_t size, bool *waited) {
  ga_opencl_device *d = device;
  if (size == 0)
    return GA_NO_ERROR;
  char *bytes = ga__opencl_host_bytes(d, memory, offset);
  if (bytes)
    return write_shared(d, bytes, host, size, waited);
  if (d->is_discrete && size <= PART) {
    pthread_mutex_lock(&d->staging.lock);
    int status = write_staged(d, memory, offset, host, size, waited);
    pthread_mutex_unlock(&d->staging.lock);
    return status;
  }
  if (!ga__opencl_is_idle(d))
    *waited = true;
  OPENCL_QUEUE_TRY(d, clEnqueueWriteBuffer, memory, 1, offset, size, host, 0, NULL,
                   ga__opencl_event_place(d));
  return GA_NO_ERROR;
}

int ga__opencl_copy(void *device, void *to, size_t to_offset, void *from,
                    size_t from_offset, size_t size) {
  ga_opencl_device *d = device;
  if (size == 0)
    return GA_NO_ERROR;
  if (d->shares_memory && size <= AT_ONCE && ga__opencl_is_idle(d)) {
    char *out = ga__opencl_host_bytes(d, to, to_offset);
    const char *in = ga__opencl_host_bytes(d, from, from_offset);
    if (in && out) {
      memcpy(out, in, size);
      return GA_NO_ERROR;
    }
  }
  const size_t rest = d->shares_memory && size > AT_ONCE ? size % COPY_UNIT : 0;
  if (rest > 0) { /* in front, since a profile keeps the last event */
    const size_t done = size - rest;
    OPENCL_QUEUE_TRY(d, clEnqueueCopyBuffer, from, to, from_offset + done,
                     to_offset + done, rest, 0, NULL, NULL);
  }
  OPENCL_QUEUE_TRY(d, clEnqueueCopyBuffer, from, to, from_offset, to_offset,
                   size - rest, 0, NULL, ga__opencl_event_place(d));
  return ga__opencl_bound(d);
}

int ga__opencl_fill(void *device, void *memory, size_t offset, unsigned char byte,
                    size_t size) {
  ga_opencl_device *d = device;
  if (size == 0)
    return GA_NO_ERROR;
  char *bytes = ga__opencl_host_bytes(d, memory, offset);
  if (bytes)
    return fill_shared(d, bytes, byte, size);
  /* The pattern must divide offset and size; a wide one is faster. */
  unsigned char pattern[16];
  size_t width = (offset | size) % sizeof pattern == 0 ? sizeof pattern
                 : (offset | size) % 4 == 0            ? 4
                                                       : 1;
  memset(pattern, byte, sizeof pattern);
  OPENCL_QUEUE_TRY(d, clEnqueueFillBuffer, memory, pattern, width, offset, size, 0,
                   NULL, ga__opencl_event_place(d));
  return ga__opencl_bound(d);
}
