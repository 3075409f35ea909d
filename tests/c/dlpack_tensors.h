/* Tensors of other libraries, for DLPack. */
#ifndef GA_TESTS_DLPACK_TENSORS_H
#define GA_TESTS_DLPACK_TENSORS_H

#include "mock_context.h"
#include "null_context.h"

#include <gpuarray/dlpack.h>
#include <pthread.h>

#include "c/array/array.h"

#define SHAPE(...)                                                                     \
  (const size_t[]) {                                                                   \
    __VA_ARGS__                                                                        \
  }

static unsigned int references(const GpuArray *a) {
  unsigned int n = 0;
  CHECK_OK(gpudata_property(a->data, GA_BUFFER_PROP_REFCNT, &n));
  return n;
}

static GpuArray numbers(gpucontext *ctx, unsigned int nd, const size_t *dims) {
  GpuArray a;
  float values[24];
  for (int i = 0; i < 24; i++)
    values[i] = (float)i;
  CHECK_OK(GpuArray_copy_from_host(&a, ctx, values, GA_FLOAT, nd, dims, NULL));
  return a;
}

/* ---- in ---- */

static int deleted;

static void count_deletion(DLManagedTensorVersioned *self) {
  (void)self;
  deleted++;
}

static int64_t some_shape[2] = {2, 3}, some_strides[2] = {4, 1};
static _Alignas(256) float some_memory[64];

/* A foreign tensor of host memory. */
static DLManagedTensorVersioned foreign(void) {
  return (DLManagedTensorVersioned){.version = {1, 0},
                                    .deleter = count_deletion,
                                    .dl_tensor = {.data = some_memory,
                                                  .device = {kDLCPU, 0},
                                                  .ndim = 2,
                                                  .dtype = {kDLFloat, 32, 1},
                                                  .shape = some_shape,
                                                  .strides = some_strides,
                                                  .byte_offset = 8}};
}

static void refused(gpucontext *ctx, int status, DLManagedTensorVersioned t,
                    const char *text) {
  GpuArray out, untouched;
  memset(&out, 0x5a, sizeof out);
  untouched = out;
  deleted = 0;
  CHECK_STATUS(status, GpuArray_from_dlpack(&out, ctx, &t, -1));
  CHECK_TEXT(text);
  CHECK(deleted == 0);
  CHECK(memcmp(&out, &untouched, sizeof out) == 0);
}

#define REFUSED(ctx, status, text, ...)                                                \
  do {                                                                                 \
    DLManagedTensorVersioned t = foreign();                                            \
    __VA_ARGS__;                                                                       \
    refused(ctx, status, t, text);                                                     \
  } while (0)

#endif
