/* Compilation and launch of CUDA kernels. */
#ifndef GA_CUDA_KERNEL_H
#define GA_CUDA_KERNEL_H

#include "cuda/device.h"

/* Compiles source (with its prelude) without a device. `arch` is "sm_90" for machine
 * code or "compute_90" for PTX, which the driver's JIT compiles. The caller frees
 * *bytes by ga__free; without `bytes` it only checks, and does not optimize.
 * GA_COMPILE_ERROR leaves the log in `log`; GA_DEVSUP_ERROR if NVRTC does not know the
 * architecture. */
int ga__cuda_compile_for(const char *source, const char *arch, void **bytes,
                         size_t *size, ga_strbuf *log);

/* The prelude: CLUDA in CUDA C++. */
extern const char ga__cuda_prelude[];

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
