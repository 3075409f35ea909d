/* Programs and kernels of CUDA: source to binary to launch. */
#ifndef GA_CUDA_KERNEL_H
#define GA_CUDA_KERNEL_H

#include "cuda/device.h"

/* Compiles complete source (prelude included) without a device. `arch` is "sm_90" for
 * machine code, "compute_90" for PTX, which the driver compiles when it is loaded.
 * *bytes is made with ga__alloc and owned by the caller; where `bytes` is NULL the
 * compiler is told to be quick, and what it makes is dropped. GA_COMPILE_ERROR leaves
 * the log in `log`; GA_DEVSUP_ERROR if NVRTC does not know the architecture. */
int ga__cuda_compile_for(const char *source, const char *arch, void **bytes,
                         size_t *size, ga_strbuf *log);

/* The words of the kernel language, in CUDA C++. */
extern const char ga__cuda_prelude[];

/* The entries of the backend's table; see c/backend/backend.h. */
int ga__cuda_compile(void **program, void *device, const char *source, ga_strbuf *log);
int ga__cuda_binary(void **bytes, size_t *size, void *device, void *program);
int ga__cuda_load(void **program, void *device, const void *bytes, size_t size);
void ga__cuda_unload(void *device, void *program);
int ga__cuda_kernel(void **kernel, void *device, void *program, const char *name);
void ga__cuda_kernel_free(void *device, void *kernel);
int ga__cuda_kernel_threads(size_t *out, void *device, void *kernel);
int ga__cuda_kernel_parameters(unsigned int *out, void *device, void *kernel);
int ga__cuda_launch(void *device, void *kernel, const ga_launch *launch);

#endif
