/* CUDA devices: enumeration, opening, memory, queues. */
#include "cuda/device_state.h"

#include <stdio.h>
#include <string.h>

#include "cuda/graph.h"
#include "cuda/library/blas.h"
#include "cuda/library/dnn.h"
#include "cuda/library/fft.h"
#include "cuda/library/solver.h"
#include "cuda/transfer.h"

/* CUdevice_attribute values. */
enum {
  MAX_THREADS_PER_BLOCK = 1,
  MAX_BLOCK_DIM_X = 2,
  MAX_GRID_DIM_X = 5,
  WARP_SIZE = 10,
  MULTIPROCESSOR_COUNT = 16,
  INTEGRATED = 18,
  COMPUTE_CAPABILITY_MAJOR = 75,
  COMPUTE_CAPABILITY_MINOR = 76,
  MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97
};
enum { CUDA_ERROR_NOT_INITIALIZED = 3 };

/* ---- enumeration ---- */

int ga__cuda_platform_count(unsigned int *out) {
  *out = 1;
  return GA_NO_ERROR;
}

int ga__cuda_device_count(unsigned int *out, unsigned int platform) {
  int count = 0;
  (void)platform;
  GA_TRY(ga__cuda_need_driver());
  CUresult result = ga__cuda.cuDeviceGetCount(&count);
  /* cuInit fails where there is no device. */
  if (result == CUDA_ERROR_NO_DEVICE || result == CUDA_ERROR_NOT_INITIALIZED)
    count = 0;
  else if (result != CUDA_SUCCESS)
    return ga__cuda_fail(result, "cuDeviceGetCount");
  *out = (unsigned int)count;
  return GA_NO_ERROR;
}

static int take_device(CUdevice *device, unsigned int index) {
  unsigned int count = 0;
  GA_TRY(ga__cuda_device_count(&count, 0));
  if (index >= count)
    return GA_FAIL(GA_NODEV_ERROR, "cuda%u: the driver has %u device%s%s", index, count,
                   count == 1 ? "" : "s",
                   count == 0 ? "; is the card visible (CUDA_VISIBLE_DEVICES)?" : "");
  CUDA_TRY(cuDeviceGet, device, (int)index);
  return GA_NO_ERROR;
}

/* Reads `n` consecutive attributes from `first` on. */
static int attributes(int *out, int first, int n, CUdevice device) {
  for (int i = 0; i < n; i++)
    CUDA_TRY(cuDeviceGetAttribute, &out[i], first + i, device);
  return GA_NO_ERROR;
}

static int capability(int *out, CUdevice device) {
  int version[2];
  GA_TRY(attributes(version, COMPUTE_CAPABILITY_MAJOR, 2, device));
  *out = version[0] * 10 + version[1];
  return GA_NO_ERROR;
}

static int describe_limits(ga_device_info *info, CUdevice device) {
  int grid[3], block[3], threads, shared, warp, processors, integrated;
  GA_TRY(attributes(grid, MAX_GRID_DIM_X, 3, device));
  GA_TRY(attributes(block, MAX_BLOCK_DIM_X, 3, device));
  GA_TRY(attributes(&threads, MAX_THREADS_PER_BLOCK, 1, device));
  GA_TRY(attributes(&shared, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 1, device));
  GA_TRY(attributes(&warp, WARP_SIZE, 1, device));
  GA_TRY(attributes(&processors, MULTIPROCESSOR_COUNT, 1, device));
  GA_TRY(attributes(&integrated, INTEGRATED, 1, device));
  for (int i = 0; i < 3; i++) {
    info->max_grid[i] = (size_t)grid[i];
    info->max_block[i] = (size_t)block[i];
  }
  info->max_threads = (size_t)threads;
  info->local_memory = (size_t)shared;
  info->warp = (unsigned int)warp;
  info->processors = (unsigned int)processors;
  info->is_gpu = true;
  info->has_progress = true;
  info->is_discrete_gpu = !integrated;
  return GA_NO_ERROR;
}

static int describe(ga_device_info *out, CUdevice device) {
  ga_device_info info = {.has_double = true};
  int sm;
  char compiler[200];
  CUDA_TRY(cuDeviceGetName, info.name, (int)sizeof info.name, device);
  CUDA_TRY(cuDeviceGetPCIBusId, info.unique_id, (int)sizeof info.unique_id, device);
  CUDA_TRY(cuDeviceTotalMem, &info.total_memory, device);
  info.max_alloc = info.total_memory;
  GA_TRY(describe_limits(&info, device));
  GA_TRY(capability(&sm, device));
  info.has_half = sm >= 53;
  GA_TRY(ga__cuda_nvrtc_id(compiler, sizeof compiler));
  snprintf(info.arch, sizeof info.arch, "sm_%d", sm);
  snprintf(info.bin_id, sizeof info.bin_id, "%s %s", info.arch, compiler);
  *out = info;
  return GA_NO_ERROR;
}

int ga__cuda_probe(ga_device_info *out, unsigned int platform, unsigned int index) {
  CUdevice device;
  (void)platform;
  GA_TRY(take_device(&device, index));
  return describe(out, device);
}

/* ---- opening ---- */

/* Releases the primary context; it must not stay current once the driver destroys
 * it. */
static void release_context(const ga_cuda_device *d) {
  unsigned int flags;
  int is_active = 1;
  CUcontext current = NULL;
  ga__cuda.cuDevicePrimaryCtxRelease(d->device);
  ga__cuda.cuDevicePrimaryCtxGetState(d->device, &flags, &is_active);
  ga__cuda.cuCtxGetCurrent(&current);
  if (!is_active && current == d->context)
    ga__cuda.cuCtxSetCurrent(NULL);
}

/* Closes a device or queue that may be opened in part. */
static void close_device(ga_cuda_device *d) {
  CUcontext previous = NULL;
  if (d->context && ga__cuda_enter(&previous, d) == GA_NO_ERROR) {
    if (d->stream)
      ga__cuda.cuStreamSynchronize(d->stream);
    ga__cuda_dnn_close(d);
    ga__cuda_fft_close(d);
    ga__cuda_solver_close(d);
    ga__cuda_blas_close(d);
    ga__cuda_staging_close(&d->writes);
    ga__cuda_staging_close(&d->reads);
    ga__cuda_graph_close(d);
    if (d->stream)
      ga__cuda.cuStreamDestroy(d->stream);
    if (atomic_load(&d->progress))
      ga__cuda.cuMemFreeHost(atomic_load(&d->progress));
    ga__cuda_leave(d, previous);
  }
  if (d->context && d->owner == NULL && !d->is_borrowed)
    release_context(d);
  pthread_mutex_destroy(&d->writes.lock);
  pthread_mutex_destroy(&d->reads.lock);
  pthread_mutex_destroy(&d->blas_lock);
  ga__free(d);
}

static int take_primary(ga_cuda_device *d) {
  CUDA_TRY(cuDevicePrimaryCtxRetain, &d->context, d->device);
  return GA_NO_ERROR;
}

static int open_stream(ga_cuda_device *d) {
  enum { DEFAULT_STREAM = 0 };
  CUDA_RETURN(d, cuStreamCreate, &d->stream, DEFAULT_STREAM);
}

static ga_cuda_device *new_device(CUdevice ordinal) {
  ga_cuda_device *d = ga__alloc(1, sizeof *d);
  if (d == NULL)
    return NULL;
  d->device = ordinal;
  pthread_mutex_init(&d->writes.lock, NULL);
  pthread_mutex_init(&d->reads.lock, NULL);
  pthread_mutex_init(&d->blas_lock, NULL);
  return d;
}

/* Opens a device on a borrowed context, or on the primary one where that is NULL. */
static int open_device(void **device, CUdevice ordinal, CUcontext borrowed) {
  ga_cuda_device *d = new_device(ordinal);
  GA_TRY_MEMORY(d);
  d->context = borrowed;
  d->is_borrowed = borrowed != NULL;
  int status = capability(&d->capability, ordinal);
  GA_THEN(status,
          attributes(&d->most_shared, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 1, ordinal));
  if (status == GA_NO_ERROR && borrowed == NULL)
    status = take_primary(d);
  GA_THEN(status, open_stream(d));
  if (status != GA_NO_ERROR) {
    close_device(d);
    return status;
  }
  *device = d;
  return GA_NO_ERROR;
}

int ga__cuda_open(void **device, ga_device_info *info, unsigned int platform,
                  unsigned int index) {
  CUdevice ordinal;
  (void)platform;
  GA_TRY(take_device(&ordinal, index));
  GA_TRY(describe(info, ordinal));
  return open_device(device, ordinal, NULL);
}

int ga__cuda_adopt(void **device, ga_device_info *info, unsigned int *platform,
                   unsigned int *index, void *native) {
  const ga_cuda_device borrowed = {.context = native};
  CUdevice ordinal = 0;
  CUcontext previous;
  GA_TRY(ga__cuda_need_driver());
  GA_TRY(ga__cuda_enter(&previous, &borrowed));
  CUresult result = ga__cuda.cuCtxGetDevice(&ordinal);
  ga__cuda_leave(&borrowed, previous);
  if (result != CUDA_SUCCESS)
    return ga__cuda_fail(result, "cuCtxGetDevice");
  GA_TRY(describe(info, ordinal));
  *platform = 0;
  *index = (unsigned int)ordinal;
  return open_device(device, ordinal, native);
}

void ga__cuda_close(void *device) {
  close_device(device);
}

int ga__cuda_queue_new(void **queue, void *device) {
  ga_cuda_device *d = device;
  ga_cuda_device *q = new_device(d->device);
  GA_TRY_MEMORY(q);
  q->capability = d->capability;
  q->most_shared = d->most_shared;
  q->context = d->context;
  q->owner = d;
  int status = open_stream(q);
  if (status != GA_NO_ERROR) {
    close_device(q);
    return status;
  }
  *queue = q;
  return GA_NO_ERROR;
}

void ga__cuda_queue_free(void *queue) {
  close_device(queue);
}

/* ---- memory ---- */

int ga__cuda_alloc(void **memory, void *device, size_t size) {
  const ga_cuda_device *d = device;
  CUdeviceptr address = 0;
  CUcontext previous;
  GA_TRY(ga__cuda_enter(&previous, d));
  CUresult result = ga__cuda.cuMemAlloc(&address, size ? size : 1);
  ga__cuda_leave(d, previous);
  if (result != CUDA_SUCCESS) {
    char call[64];
    snprintf(call, sizeof call, "cuMemAlloc of %zu bytes", size);
    return ga__cuda_fail(result, call);
  }
  *memory = (void *)(uintptr_t)address;
  return GA_NO_ERROR;
}

void ga__cuda_free(void *device, void *memory) {
  CUDA_RELEASE(device, cuMemFree, (CUdeviceptr)(uintptr_t)memory);
}

int ga__cuda_free_memory(size_t *out, void *device) {
  const ga_cuda_device *d = device;
  size_t total;
  CUDA_RETURN(d, cuMemGetInfo, out, &total);
}

/* Pinned memory, with one address for host and device (unified addressing). */
int ga__cuda_host_alloc(void **memory, void **host, void *device, size_t size) {
  const ga_cuda_device *d = device;
  CUcontext previous;
  void *pinned = NULL;
  GA_TRY(ga__cuda_enter(&previous, d));
  CUresult result = ga__cuda.cuMemAllocHost(&pinned, size ? size : 1);
  ga__cuda_leave(d, previous);
  if (result != CUDA_SUCCESS)
    return ga__cuda_fail(result, "cuMemAllocHost");
  *memory = *host = pinned;
  return GA_NO_ERROR;
}

void ga__cuda_host_free(void *device, void *memory, void *host) {
  (void)memory;
  CUDA_RELEASE(device, cuMemFreeHost, host);
}
