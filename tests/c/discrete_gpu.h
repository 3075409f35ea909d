/* A processor that says it is a GPU with memory of its own, for what the library does
 * on one alone. */
#ifndef DISCRETE_GPU_H
#define DISCRETE_GPU_H

#include "device_context.h"

#include "c/device/context.h"
#include "opencl/device_state.h"

static ga_opencl_api *api; /* of the driver, whose functions are exchanged here */

static inline ga_opencl_device *device_of(gpucontext *ctx) {
  return ctx->device;
}

/* A context of OpenCL, whose driver is `api` from here on; what has none is skipped. */
static inline gpucontext *open_opencl(void) {
  gpucontext *ctx = open_device();
  if (ctx->backend != &ga__opencl_backend) {
    gpucontext_deref(ctx);
    exit(77);
  }
  memcpy(&api, &device_of(ctx)->api, sizeof api);
  return ctx;
}

static cl_int (*real_info)(cl_device_id device, cl_uint what, size_t size, void *value,
                           size_t *real_size);

static cl_int info_of_gpu(cl_device_id device, cl_uint what, size_t size, void *value,
                          size_t *real_size) {
  const cl_ulong gpu = CL_DEVICE_TYPE_GPU;
  cl_int got = real_info(device, what, size, value, real_size);
  if (got == CL_SUCCESS && value && what == CL_DEVICE_TYPE)
    memcpy(value, &gpu, sizeof gpu);
  if (got == CL_SUCCESS && value && what == CL_DEVICE_HOST_UNIFIED_MEMORY)
    memset(value, 0, size < 4 ? size : 4);
  return got;
}

/* Devices that are opened until it is undone are such GPUs. */
static inline void pretend_gpu(void) {
  real_info = api->clGetDeviceInfo;
  api->clGetDeviceInfo = info_of_gpu;
}

static inline void pretend_nothing(void) {
  api->clGetDeviceInfo = real_info;
}

#endif
