/* Compilation and launch of OpenCL kernels; see c/backend/backend.h. */
#ifndef GA_OPENCL_KERNEL_H
#define GA_OPENCL_KERNEL_H

#include "opencl/device_state.h"

int ga__opencl_compile(void **program, void *device, const char *source,
                       ga_strbuf *log);
int ga__opencl_binary(void **bytes, size_t *size, void *device, void *program);
int ga__opencl_load_program(void **program, void *device, const void *bytes,
                            size_t size);
void ga__opencl_unload(void *device, void *program);
int ga__opencl_kernel(void **kernel, void *device, void *program, const char *name,
                      bool waits);
void ga__opencl_kernel_free(void *device, void *kernel);
int ga__opencl_kernel_threads(size_t *out, void *device, void *kernel);
int ga__opencl_launch(void *device, void *kernel, const ga_launch *launch);

#endif
