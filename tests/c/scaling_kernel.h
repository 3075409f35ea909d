/* A kernel that multiplies by a number, for the mock driver. */
#ifndef GA_TESTS_SCALING_KERNEL_H
#define GA_TESTS_SCALING_KERNEL_H

#include "mock_context.h"

#define GPUARRAY_NO_CUDA /* cuda/api.h has its names */
#include <gpuarray/ext_cuda.h>
#include <gpuarray/kernel.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "c/device/buffer.h"

static const char scale_text[] = "KERNEL void scale(GLOBAL_MEM ga_float *x, "
                                 "ga_size offset, ga_float factor) { /* ... */ }";
static const int scale_types[] = {GA_BUFFER, GA_SIZE, GA_FLOAT};

static int init_kernel(GpuKernel *k, gpucontext *ctx, const char *text,
                       const char *name) {
  const size_t length = strlen(text);
  return GpuKernel_init(k, ctx, 1, &text, &length, name, 3, scale_types, 0, NULL);
}

#endif
