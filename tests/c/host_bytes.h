/* Bytes that tests of transfers send, and arrays of them. */
#ifndef HOST_BYTES_H
#define HOST_BYTES_H

#include <gpuarray/array.h>
#include <stdlib.h>

#include "check.h"

/* Bytes that differ by place and seed; the caller frees them. */
static inline unsigned char *pattern(size_t size, unsigned int seed) {
  unsigned char *bytes = malloc(size);
  for (size_t i = 0; i < size; i++)
    bytes[i] = (unsigned char)((i + seed) * 2654435761u >> 24);
  return bytes;
}

static inline GpuArray bytes_of(gpucontext *ctx, const unsigned char *bytes, size_t n) {
  GpuArray a = {0};
  CHECK_OK(GpuArray_copy_from_host(&a, ctx, bytes, GA_UBYTE, 1, &n, NULL));
  return a;
}

#endif
