/* Pinned host memory for discrete GPUs: allocated by OpenCL and kept mapped, for
 * drivers pin it. It lives, with the vendor's context, until it is freed. */
#include "opencl/pinned.h"

/* Frees the memory without the device. */
typedef struct pinned {
  const ga_opencl_api *api;
  cl_mem memory;
} pinned;

static int map(void **host, ga_opencl_device *d, cl_mem memory, size_t size) {
  cl_int code = CL_SUCCESS;
  ga__opencl_enter(d);
  *host = d->api->clEnqueueMapBuffer(d->queue, memory, 1, CL_MAP_READ | CL_MAP_WRITE, 0,
                                     size, 0, NULL, NULL, &code);
  ga__opencl_note(d);
  ga__opencl_leave(d);
  return code == CL_SUCCESS ? GA_NO_ERROR : ga__opencl_fail(code, "clEnqueueMapBuffer");
}

static int pinned_alloc(void **handle, void **host, void *device, size_t size) {
  ga_opencl_device *d = device;
  cl_int code = CL_SUCCESS;
  if (!d->is_discrete)
    return GA_FAIL(GA_DEVSUP_ERROR, "the device is not a GPU with its own memory");
  pinned *p = ga__alloc(1, sizeof *p);
  GA_TRY_MEMORY(p);
  p->api = d->api;
  p->memory = d->api->clCreateBuffer(
      d->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size, NULL, &code);
  int status = p->memory ? map(host, d, p->memory, size)
                         : ga__opencl_fail(code, "clCreateBuffer");
  if (status == GA_NO_ERROR) {
    *handle = p;
    return GA_NO_ERROR;
  }
  if (p->memory)
    d->api->clReleaseMemObject(p->memory);
  ga__free(p);
  return status;
}

static void pinned_leave(void *device, void *handle, void *host) {
  (void)device, (void)handle, (void)host;
}

static void pinned_free(void *device, void *handle, void *host, size_t size) {
  ga_opencl_device *d = device;
  pinned *p = handle;
  (void)size;
  if (d) {
    cl_int code;
    OPENCL_QUEUE(&code, d, clEnqueueUnmapMemObject, p->memory, host, 0, NULL, NULL);
    (void)code; /* without a working queue the release unmaps it */
  }
  p->api->clReleaseMemObject(p->memory);
  ga__free(p);
}

static int pinned_read(void *device, void *host, void *memory, size_t offset,
                       size_t size) {
  ga_opencl_device *d = device;
  OPENCL_QUEUE_TRY(d, clEnqueueReadBuffer, memory, 0, offset, size, host, 0, NULL,
                   ga__opencl_event_place(d));
  return ga__opencl_bound(d);
}

static int pinned_write(void *device, void *memory, size_t offset, const void *host,
                        size_t size) {
  ga_opencl_device *d = device;
  OPENCL_QUEUE_TRY(d, clEnqueueWriteBuffer, memory, 0, offset, size, host, 0, NULL,
                   ga__opencl_event_place(d));
  return ga__opencl_bound(d);
}

const ga_pinning ga__opencl_pinning = {.alloc = pinned_alloc,
                                       .free = pinned_free,
                                       .leave = pinned_leave,
                                       .read = pinned_read,
                                       .write = pinned_write};
