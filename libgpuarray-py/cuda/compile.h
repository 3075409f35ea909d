/* Compiles CLUDA source by NVRTC, without a device. */
#ifndef GA_CUDA_COMPILE_H
#define GA_CUDA_COMPILE_H

#include "c/base/strbuf.h"
#include "cuda/api.h"

/* Compiles source (with its prelude) without a device. `arch` is "sm_90" for machine
 * code or "compute_90" for PTX, which the driver's JIT compiles. The caller frees
 * *bytes by ga__free; without `bytes` it only checks, and does not optimize.
 * GA_COMPILE_ERROR leaves the log in `log`; GA_DEVSUP_ERROR if NVRTC does not know the
 * architecture. */
int ga__cuda_compile_for(const char *source, const char *arch, void **bytes,
                         size_t *size, ga_strbuf *log);

/* The prelude: CLUDA in CUDA C++. */
extern const char ga__cuda_prelude[];

#endif
