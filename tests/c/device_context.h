/* The device that a test runs on: $GPUARRAY_TEST_DEVICE, else $DEVICE, else the first
 * OpenCL processor. Without any, the program exits with 77, which ctest shows as
 * skipped. */
#ifndef DEVICE_CONTEXT_H
#define DEVICE_CONTEXT_H

#include "check.h"

#include <gpuarray/buffer.h>

static inline const char *device_name(void) {
  const char *name = getenv("GPUARRAY_TEST_DEVICE");
  return name ? name : getenv("DEVICE");
}

static inline gpucontext *open_device(void) {
  gpucontext *ctx = NULL;
  const char *name = device_name();
  int status = gpucontext_open(&ctx, name ? name : "opencl");
  if (status == GA_NO_ERROR)
    return ctx;
  fprintf(stderr, "no device: %s\n", gpuarray_error_text());
  exit(name ? 1 : 77);
}

#endif
