/* What only CUDA has. */
#ifndef GPUARRAY_EXT_CUDA_H
#define GPUARRAY_EXT_CUDA_H

#include <gpuarray/error.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
/* Compiles CLUDA source for an architecture such as "sm_90", on a machine with NVRTC
 * and no GPU, to see whether it compiles; "compute_90" stops at PTX. *size is how many
 * bytes of code there are; where `size` is NULL the code is not optimised, which takes
 * a fraction of the time. GA_COMPILE_ERROR: the text has the compiler's log and the
 * numbered source; GA_DEVSUP_ERROR: NVRTC does not know the architecture;
 * GA_LOAD_ERROR: there is no NVRTC. */
int gpuarray_cuda_compile(const char *source, const char *arch, size_t *size);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
