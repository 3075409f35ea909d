/* Programs and kernels of a CUDA device. */
#ifndef GA_CUDA_KERNEL_H
#define GA_CUDA_KERNEL_H

#include "cuda/device_state.h"

/* Backend table entries; see c/backend/backend.h. */
int ga__cuda_compile(void **program, void *device, const char *source, ga_strbuf *log);
int ga__cuda_binary(void **bytes, size_t *size, void *device, void *program);
int ga__cuda_load(void **program, void *device, const void *bytes, size_t size);
void ga__cuda_unload(void *device, void *program);
int ga__cuda_kernel(void **kernel, void *device, void *program, const char *name,
                    bool waits);
void ga__cuda_kernel_free(void *device, void *kernel);
int ga__cuda_kernel_threads(size_t *out, void *device, void *kernel);
int ga__cuda_kernel_parameters(unsigned int *out, void *device, void *kernel);
int ga__cuda_launch(void *device, void *kernel, const ga_launch *launch);

#endif
