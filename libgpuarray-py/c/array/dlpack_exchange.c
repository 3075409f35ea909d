/* DLPack's exchange API table, whose functions know a device but no context. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "c/array/dlpack.h"
#include "c/device/context.h"
#include <gpuarray/dlpack.h>

#define MAX_DEVICES 64

/* Contexts opened by the table's functions, one per device, for the life of the
 * process: the table has no state of its own. */
static struct {
  pthread_mutex_t lock;
  unsigned int n;
  struct {
    int type, id;
    gpucontext *context;
  } of[MAX_DEVICES];
} devices = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int open_device(gpucontext **out, int type, int id) {
  char name[GA_DEVICE_NAME];
  if (type == kDLCUDA)
    snprintf(name, sizeof name, "cuda%d", id);
  else if (type == kDLOpenCL)
    snprintf(name, sizeof name, "opencl%d:%d", id >> 16, id & 0xffff);
  else if (type == kDLCPU)
    snprintf(name, sizeof name, "null");
  else
    return GA_FAIL(GA_DEVSUP_ERROR,
                   "DLPack: got device type %d, id %d, expected type %d (CUDA), %d "
                   "(OpenCL) or %d (host)",
                   type, id, kDLCUDA, kDLOpenCL, kDLCPU);
  return gpucontext_open(out, name);
}

/* The context of a device, borrowed. The lock is held. */
static int find_device(gpucontext **out, int type, int id) {
  for (unsigned int i = 0; i < devices.n; i++)
    if (devices.of[i].type == type && devices.of[i].id == id) {
      *out = devices.of[i].context;
      return GA_NO_ERROR;
    }
  if (devices.n == MAX_DEVICES)
    return GA_FAIL(GA_MISC_ERROR,
                   "DLPack: the exchange table serves at most %d devices; transfer "
                   "arrays of other devices by __dlpack__",
                   MAX_DEVICES);
  GA_TRY(open_device(out, type, id));
  devices.of[devices.n].type = type;
  devices.of[devices.n].id = id;
  devices.of[devices.n++].context = *out;
  return GA_NO_ERROR;
}

static int context_of(gpucontext **out, DLDevice device) {
  pthread_mutex_lock(&devices.lock);
  int status = find_device(out, (int)device.device_type, (int)device.device_id);
  pthread_mutex_unlock(&devices.lock);
  return status;
}

static int allocate(DLManagedTensorVersioned **out, const DLTensor *prototype) {
  size_t dims[GA_MAX_NDIM];
  gpucontext *ctx = NULL;
  int typecode = 0;
  GpuArray made;
  if (out == NULL || prototype == NULL || prototype->ndim < 0 ||
      prototype->ndim > GA_MAX_NDIM)
    return GA_FAIL(GA_VALUE_ERROR,
                   "DLPack's allocator: got NULL or another number of axes, expected a "
                   "prototype of 0 to %d axes and a pointer for the tensor",
                   GA_MAX_NDIM);
  for (int i = 0; i < prototype->ndim; i++) {
    if (prototype->shape[i] < 0)
      return GA_FAIL(GA_VALUE_ERROR,
                     "DLPack's allocator: axis %d has length %lld, expected 0 or more",
                     i, (long long)prototype->shape[i]);
    dims[i] = (size_t)prototype->shape[i];
  }
  GA_TRY(ga__dlpack_typecode(&typecode, prototype->dtype, "DLPack's allocator"));
  GA_TRY(context_of(&ctx, prototype->device));
  GA_TRY(GpuArray_empty(&made, ctx, typecode, (unsigned int)prototype->ndim, dims,
                        GA_C_ORDER));
  int status = GpuArray_to_dlpack(out, &made, -1);
  GpuArray_clear(&made);
  return status;
}

static int managed_tensor_allocator(DLTensor *prototype, DLManagedTensorVersioned **out,
                                    void *error_ctx,
                                    void (*set_error)(void *error_ctx, const char *kind,
                                                      const char *message)) {
  int status = allocate(out, prototype);
  if (status == GA_NO_ERROR)
    return 0;
  if (set_error)
    set_error(error_ctx, status == GA_MEMORY_ERROR ? "MemoryError" : "BufferError",
              gpuarray_error_text());
  return -1;
}

static int from_array(void *array, DLManagedTensorVersioned **out) {
  DLDevice device;
  int status = GpuArray_dlpack_device(&device, array);
  GA_THEN(status, device.device_type == kDLCPU ? GpuArray_to_dlpack_host(out, array)
                                               : GpuArray_to_dlpack(out, array, -1));
  return status == GA_NO_ERROR ? 0 : -1;
}

/* The context for a tensor. Of another major version the device cannot be read;
 * GpuArray_from_dlpack reports that. */
static int context_of_tensor(gpucontext **out, const DLManagedTensorVersioned *tensor) {
  const DLDevice host = {kDLCPU, 0};
  bool is_readable = tensor->version.major == DLPACK_MAJOR_VERSION;
  return context_of(out, is_readable ? tensor->dl_tensor.device : host);
}

static int to_array(DLManagedTensorVersioned *tensor, void **out) {
  gpucontext *ctx = NULL;
  GpuArray made;
  if (tensor == NULL || out == NULL) {
    ga__fail_null("DLPack's table", "tensor, or no pointer for an array");
    return -1;
  }
  GpuArray *kept = ga__alloc(1, sizeof *kept); /* the caller frees it with free() */
  if (kept == NULL)
    return -1;
  if (context_of_tensor(&ctx, tensor) != GA_NO_ERROR ||
      GpuArray_from_dlpack(&made, ctx, tensor, -1) != GA_NO_ERROR) {
    free(kept);
    return -1;
  }
  *kept = made;
  *out = kept;
  return 0;
}

/* NULL, the legacy default stream, synchronizes with every context's stream. */
static int current_work_stream(DLDeviceType type, int32_t id, void **out) {
  (void)type, (void)id;
  *out = NULL;
  return 0;
}

const DLPackExchangeAPI *gpuarray_dlpack_exchange_api(void) {
  static const DLPackExchangeAPI table = {
      .header = {.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION}},
      .managed_tensor_allocator = managed_tensor_allocator,
      .managed_tensor_from_py_object_no_sync = from_array,
      .managed_tensor_to_py_object_no_sync = to_array,
      .current_work_stream = current_work_stream};
  return &table;
}
