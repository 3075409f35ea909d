/* Bytes between the host and an OpenCL device.
 *
 * On a CPU the host touches the buffer itself, as soon as the queue is idle. To a
 * discrete GPU data goes by way of pinned memory, which the driver would otherwise
 * allocate and copy to on each call, with the queue standing still. */
#include "opencl/transfer.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#define PART ((size_t)1 << 20)     /* bytes of a part of pinned memory */
#define AT_ONCE ((size_t)64 << 10) /* bytes that are cheaper to move than to queue */
#define INLINED 4096               /* bytes that travel inside a queued command */

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

/* ---- a device that shares the host's memory ---- */

/* The bytes of a buffer, or NULL if it has none that the host may touch. */
static char *host_bytes(ga_opencl_device *d, void *memory, size_t offset) {
  char *host = NULL;
  if (!d->shares_memory ||
      d->api->clGetMemObjectInfo(memory, CL_MEM_HOST_PTR, sizeof host, &host, NULL) !=
          CL_SUCCESS)
    return NULL;
  return host ? host + offset : NULL;
}

/* What a queued host function is given; the driver copies it. */
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
  OPENCL_TRY(d->api, clEnqueueNativeKernel, d->queue, function, t,
             offsetof(task, bytes) + n_bytes, 0, NULL, NULL, 0, NULL, NULL);
  ga__opencl_note(d);
  return GA_NO_ERROR;
}

static int write_shared(ga_opencl_device *d, char *to, const void *host, size_t size) {
  if (size <= INLINED && !ga__opencl_is_idle(d)) {
    task t;
    t.to = to;
    t.size = size;
    t.byte = 0;
    memcpy(t.bytes, host, size);
    return queue_task(d, run_write, &t, size);
  }
  GA_TRY(ga__opencl_settle(d));
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

/* ---- pinned memory ---- */

static int staging_open(ga_opencl_device *d, ga_opencl_staging *s) {
  const size_t size = GA_OPENCL_PARTS * PART;
  cl_int code = CL_SUCCESS;
  if (s->memory)
    return GA_NO_ERROR;
  cl_mem memory = d->api->clCreateBuffer(
      d->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size, NULL, &code);
  if (memory == NULL)
    return ga__opencl_fail(code, "clCreateBuffer");
  s->mapped = d->api->clEnqueueMapBuffer(
      d->queue, memory, 1, CL_MAP_READ | CL_MAP_WRITE, 0, size, 0, NULL, NULL, &code);
  if (code != CL_SUCCESS) {
    d->api->clReleaseMemObject(memory);
    return ga__opencl_fail(code, "clEnqueueMapBuffer");
  }
  s->memory = memory;
  return GA_NO_ERROR;
}

void ga__opencl_staging_close(ga_opencl_device *device, ga_opencl_staging *staging) {
  const ga_opencl_api *api = device->api;
  if (staging->memory == NULL)
    return;
  for (unsigned int i = 0; i < GA_OPENCL_PARTS; i++)
    if (staging->events[i])
      api->clReleaseEvent(staging->events[i]);
  api->clEnqueueUnmapMemObject(device->queue, staging->memory, staging->mapped, 0, NULL,
                               NULL);
  api->clFinish(device->queue);
  api->clReleaseMemObject(staging->memory);
}

/* Waits until a part's last transfer is over. */
static int part_wait(ga_opencl_device *d, ga_opencl_staging *s, unsigned int part) {
  if (s->events[part] == NULL)
    return GA_NO_ERROR;
  cl_int code = d->api->clWaitForEvents(1, &s->events[part]);
  d->api->clReleaseEvent(s->events[part]);
  s->events[part] = NULL;
  return code == CL_SUCCESS ? GA_NO_ERROR : ga__opencl_fail(code, "clWaitForEvents");
}

/* Queues the next bytes to the device; *done says how many. */
static int write_some(size_t *done, ga_opencl_device *d, cl_mem memory, size_t offset,
                      const void *host, size_t size) {
  ga_opencl_staging *s = &d->writes;
  if (s->used == PART) {
    s->part = (s->part + 1) % GA_OPENCL_PARTS;
    s->used = 0;
    GA_TRY(part_wait(d, s, s->part));
  }
  char *bytes = s->mapped + s->part * PART + s->used;
  size_t n = smaller(size, PART - s->used);
  cl_event event;
  memcpy(bytes, host, n);
  OPENCL_TRY(d->api, clEnqueueWriteBuffer, d->queue, memory, 0, offset, n, bytes, 0,
             NULL, &event);
  ga__opencl_note(d);
  if (s->events[s->part])
    d->api->clReleaseEvent(s->events[s->part]);
  s->events[s->part] = event;
  s->used = smaller(PART, (s->used + n + 63) / 64 * 64);
  *done = n;
  return GA_NO_ERROR;
}

static int write_staged(ga_opencl_device *d, cl_mem memory, size_t offset,
                        const char *host, size_t size) {
  int status = staging_open(d, &d->writes);
  while (size > 0 && status == GA_NO_ERROR) {
    size_t n = 0;
    status = write_some(&n, d, memory, offset, host, size);
    offset += n;
    host += n;
    size -= n;
  }
  d->api->clFlush(d->queue);
  return status;
}

/* Reads ahead into the parts while those that came are copied out. */
static int read_staged(ga_opencl_device *d, char *host, cl_mem memory, size_t offset,
                       size_t size) {
  ga_opencl_staging *s = &d->reads;
  GA_TRY(staging_open(d, s));
  size_t n = (size + PART - 1) / PART, asked = 0;
  for (size_t i = 0; i < n; i++) {
    for (; asked < n && asked < i + GA_OPENCL_PARTS; asked++) {
      unsigned int part = (unsigned int)(asked % GA_OPENCL_PARTS);
      OPENCL_TRY(d->api, clEnqueueReadBuffer, d->queue, memory, 0,
                 offset + asked * PART, smaller(PART, size - asked * PART),
                 s->mapped + part * PART, 0, NULL, &s->events[part]);
      ga__opencl_note(d);
    }
    d->api->clFlush(d->queue);
    unsigned int part = (unsigned int)(i % GA_OPENCL_PARTS);
    GA_TRY(part_wait(d, s, part));
    memcpy(host + i * PART, s->mapped + part * PART, smaller(PART, size - i * PART));
  }
  return GA_NO_ERROR;
}

/* Leaves no event behind after a failure. */
static void drop_events(ga_opencl_device *d, ga_opencl_staging *s) {
  for (unsigned int i = 0; i < GA_OPENCL_PARTS; i++)
    part_wait(d, s, i);
}

/* ---- the table's entries ---- */

int ga__opencl_read(void *device, void *host, void *memory, size_t offset,
                    size_t size) {
  ga_opencl_device *d = device;
  if (size == 0)
    return GA_NO_ERROR;
  const char *bytes = host_bytes(d, memory, offset);
  if (bytes) {
    GA_TRY(ga__opencl_settle(d));
    memcpy(host, bytes, size);
    return GA_NO_ERROR;
  }
  if (d->is_discrete && size > AT_ONCE) {
    pthread_mutex_lock(&d->reads.lock);
    int status = read_staged(d, host, memory, offset, size);
    if (status != GA_NO_ERROR)
      drop_events(d, &d->reads);
    pthread_mutex_unlock(&d->reads.lock);
    return status;
  }
  OPENCL_TRY(d->api, clEnqueueReadBuffer, d->queue, memory, 1, offset, size, host, 0,
             NULL, NULL);
  return GA_NO_ERROR;
}

int ga__opencl_write(void *device, void *memory, size_t offset, const void *host,
                     size_t size) {
  ga_opencl_device *d = device;
  if (size == 0)
    return GA_NO_ERROR;
  char *bytes = host_bytes(d, memory, offset);
  if (bytes)
    return write_shared(d, bytes, host, size);
  if (d->is_discrete) {
    pthread_mutex_lock(&d->writes.lock);
    int status = write_staged(d, memory, offset, host, size);
    pthread_mutex_unlock(&d->writes.lock);
    return status;
  }
  OPENCL_TRY(d->api, clEnqueueWriteBuffer, d->queue, memory, 1, offset, size, host, 0,
             NULL, NULL);
  return GA_NO_ERROR;
}

int ga__opencl_copy(void *device, void *to, size_t to_offset, void *from,
                    size_t from_offset, size_t size) {
  ga_opencl_device *d = device;
  if (size == 0)
    return GA_NO_ERROR;
  if (d->shares_memory && size <= AT_ONCE && ga__opencl_is_idle(d)) {
    char *out = host_bytes(d, to, to_offset);
    const char *in = host_bytes(d, from, from_offset);
    if (in && out) {
      memcpy(out, in, size);
      return GA_NO_ERROR;
    }
  }
  OPENCL_TRY(d->api, clEnqueueCopyBuffer, d->queue, from, to, from_offset, to_offset,
             size, 0, NULL, NULL);
  ga__opencl_note(d);
  return GA_NO_ERROR;
}

int ga__opencl_fill(void *device, void *memory, size_t offset, unsigned char byte,
                    size_t size) {
  ga_opencl_device *d = device;
  if (size == 0)
    return GA_NO_ERROR;
  char *bytes = host_bytes(d, memory, offset);
  if (bytes)
    return fill_shared(d, bytes, byte, size);
  /* A pattern must divide both offset and size; a wide one is faster. */
  unsigned char pattern[16];
  size_t width = (offset | size) % sizeof pattern == 0 ? sizeof pattern
                 : (offset | size) % 4 == 0            ? 4
                                                       : 1;
  memset(pattern, byte, sizeof pattern);
  OPENCL_TRY(d->api, clEnqueueFillBuffer, d->queue, memory, pattern, width, offset,
             size, 0, NULL, NULL);
  ga__opencl_note(d);
  return GA_NO_ERROR;
}
