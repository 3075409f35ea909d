/* Memory of OpenCL that an application made, and the library's buffers on it. */
#ifndef APPLICATION_MEMORY_H
#define APPLICATION_MEMORY_H

#include "discrete_gpu.h"

#include <gpuarray/extension.h>

#include "opencl/transfer.h"

enum { BYTES = 1 << 18 };
static unsigned char bytes[BYTES];

/* Memory that an application made, which the host may not touch as it is. */
static cl_mem make_memory(gpucontext *ctx) {
  ga_opencl_device *d = device_of(ctx);
  cl_int made = CL_SUCCESS;
  cl_mem memory =
      api->clCreateBuffer(d->context, CL_MEM_READ_WRITE, BYTES, NULL, &made);
  CHECK(memory != NULL && made == CL_SUCCESS);
  OPENCL_QUEUE(&made, d, clEnqueueWriteBuffer, memory, 1, 0, BYTES, bytes, 0, NULL,
               NULL);
  CHECK(made == CL_SUCCESS);
  return memory;
}

static gpudata *make_buf(gpucontext *ctx, cl_mem memory) {
  void *symbol = gpuarray_get_extension("cl_make_buf");
  gpudata *(*function)(gpucontext *, cl_mem);
  memcpy(&function, &symbol, sizeof function);
  return function(ctx, memory);
}

#endif
