/* Arrays from values of the host, and comparisons with such. */
#ifndef ARRAY_VALUES_H
#define ARRAY_VALUES_H

#include "check.h"

#include "c/array/array.h"

static inline GpuArray from_host(gpucontext *ctx, const void *values, int typecode,
                                 unsigned int nd, const size_t *dims) {
  GpuArray a = {0};
  CHECK_OK(GpuArray_copy_from_host(&a, ctx, values, typecode, nd, dims, NULL));
  return a;
}

/* Whether the first elements, in C order, are these bytes. */
static inline bool has_bytes(const GpuArray *a, const void *expected, size_t bytes) {
  GpuArray c = {0};
  void *got = calloc(bytes + 1, 1);
  CHECK_OK(GpuArray_copy(&c, a, GA_C_ORDER));
  CHECK_OK(GpuArray_read(got, bytes, &c));
  bool same = memcmp(got, expected, bytes) == 0;
  GpuArray_clear(&c);
  free(got);
  return same;
}

/* Whether all elements are these. */
static inline bool has_values(const GpuArray *a, const void *expected) {
  return has_bytes(a, expected, ga__array_count(a) * GpuArray_ITEMSIZE(a));
}

#endif
