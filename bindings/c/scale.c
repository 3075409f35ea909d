/* A kernel of one's own, in C. */
#include "scale.h"

#include <gpuarray/kernel.h>

/* One source for CUDA and OpenCL. An array is a pointer to its buffer and where in the
 * buffer it begins, in bytes. */
static const char *const source =
    "KERNEL void scale(GLOBAL_MEM ga_float *a, ga_size offset, ga_size n,\n"
    "                  ga_float factor) {\n"
    "  a = (GLOBAL_MEM ga_float *)((GLOBAL_MEM char *)a + offset);\n"
    "  for (ga_size i = GID_0 * LDIM_0 + LID_0; i < n; i += GDIM_0 * LDIM_0)\n"
    "    a[i] *= factor;\n"
    "}\n";

static size_t count(const GpuArray *a) {
  size_t n = 1;
  for (unsigned int i = 0; i < a->nd; i++)
    n *= a->dimensions[i];
  return n;
}

static int launch(GpuKernel *kernel, GpuArray *a, float factor) {
  size_t n = count(a), blocks = 0, threads = 0;
  void *args[] = {a->data, &a->offset, &n, &factor};
  int status = GpuKernel_sched(kernel, n, &blocks, &threads);
  if (status != GA_NO_ERROR)
    return status;
  return GpuKernel_call(kernel, 1, &blocks, &threads, 0, args);
}

int scale(GpuArray *a, float factor) {
  const int types[] = {GA_BUFFER, GA_SIZE, GA_SIZE, GA_FLOAT};
  GpuKernel kernel;
  if (a->typecode != GA_FLOAT || !GpuArray_IS_C_CONTIGUOUS(a))
    return GA_VALUE_ERROR;
  if (count(a) == 0)
    return GA_NO_ERROR;
  const char *strings[] = {source};
  int status = GpuKernel_init(&kernel, GpuArray_context(a), 1, strings, NULL, "scale",
                              4, types, 0, NULL);
  if (status != GA_NO_ERROR)
    return status;
  status = launch(&kernel, a, factor);
  GpuKernel_clear(&kernel);
  return status;
}
