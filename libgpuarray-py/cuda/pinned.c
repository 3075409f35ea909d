/* Pinned (page-locked) host memory: pages of the process, registered with the driver,
 * so that they outlive the context and a forked child gets copies. */
#include "cuda/pinned.h"

#include "c/system/pages.h"

enum { EVERY_CONTEXT = 1 };

static int lock_pages(const ga_cuda_device *d, void *pages, size_t size) {
  CUDA_RETURN(d, cuMemHostRegister, pages, size, EVERY_CONTEXT);
}

static int pinned_alloc(void **handle, void **host, void *device, size_t size) {
  void *pages = ga__pages_new(size);
  if (pages == NULL)
    return GA_FAIL(GA_MEMORY_ERROR, "the host cannot pin %zu bytes", size);
  int status = lock_pages(device, pages, size);
  if (status != GA_NO_ERROR) {
    ga__pages_free(pages, size);
    return status;
  }
  *handle = NULL;
  *host = pages;
  return GA_NO_ERROR;
}

/* The driver has forgotten the pages of a failed context. */
static void pinned_leave(void *device, void *handle, void *host) {
  (void)handle;
  CUDA_RELEASE(device, cuMemHostUnregister, host);
}

static void pinned_free(void *device, void *handle, void *host, size_t size) {
  if (device)
    pinned_leave(device, handle, host);
  ga__pages_free(host, size);
}

static int pinned_read(void *device, void *host, void *memory, size_t offset,
                       size_t size) {
  const ga_cuda_device *d = device;
  CUDA_RETURN(d, cuMemcpyDtoHAsync, host, (CUdeviceptr)(uintptr_t)memory + offset, size,
              d->stream);
}

static int pinned_write(void *device, void *memory, size_t offset, const void *host,
                        size_t size) {
  const ga_cuda_device *d = device;
  CUDA_RETURN(d, cuMemcpyHtoDAsync, (CUdeviceptr)(uintptr_t)memory + offset, host, size,
              d->stream);
}

const ga_pinning ga__cuda_pinning = {.alloc = pinned_alloc,
                                     .free = pinned_free,
                                     .leave = pinned_leave,
                                     .read = pinned_read,
                                     .write = pinned_write};
