/* Contexts on the mock of CUDA, which the environment names. */
#ifndef MOCK_CONTEXT_H
#define MOCK_CONTEXT_H

#include <dlfcn.h>

#include "check.h"
#include "mock_cuda.h"

#include "c/device/context.h"

/* The state of the mock; set by open_mock. */
static mock_cuda *mock;

/* The mock is what the library takes for the driver, NVRTC and cuBLAS. */
static inline void open_mock(void) {
  const char *path = getenv("GPUARRAY_CUDA_DRIVER");
  void *library = path ? dlopen(path, RTLD_NOW) : NULL;
  void *symbol = library ? dlsym(library, "mock_cuda_state") : NULL;
  if (symbol == NULL) {
    fprintf(stderr, "GPUARRAY_CUDA_DRIVER does not name the mock: ctest sets it, for "
                    "names of tests that CMakeLists.txt has\n");
    exit(1);
  }
  mock_cuda *(*get_state)(void);
  memcpy(&get_state, &symbol, sizeof get_state);
  mock = get_state();
  setenv("GPUARRAY_NVRTC", path, 1);
  setenv("GPUARRAY_CUBLAS", path, 1);
  setenv("GPUARRAY_CUBLASLT", path, 1);
  setenv("GPUARRAY_NCCL", path, 1);
  setenv("GPUARRAY_CUSOLVER", path, 1);
  setenv("GPUARRAY_CUFFT", path, 1);
  setenv("GPUARRAY_CUDNN", path, 1);
  setenv("GPUARRAY_CACHE_DIR", "", 1);
}

static inline gpucontext *open_cuda(const char *name) {
  gpucontext *ctx = NULL;
  CHECK_OK(gpucontext_open(&ctx, name));
  if (ctx == NULL)
    exit(1);
  return ctx;
}

/* Everything that was taken from the driver was given back. */
static inline void check_given_back(void) {
  CHECK(mock->contexts == 0);
  CHECK(mock->streams == 0);
  CHECK(mock->events == 0);
  CHECK(mock->allocations == 0);
  CHECK(mock->pinned == 0);
  CHECK(mock->modules == 0);
  CHECK(mock->programs == 0);
  CHECK(mock->graphs == 0);
  CHECK(mock->handles == 0);
  CHECK(mock->comms == 0);
}

#endif
