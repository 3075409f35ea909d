/* GEMM with a fused bias epilogue, by cuBLASLt. */
#ifndef GA_CUDA_BLASLT_H
#define GA_CUDA_BLASLT_H

#include "cuda/device_state.h"

/* True if cuBLASLt is installed and supports the product; loads it. */
bool ga__cuda_lt_serves(void *device, const ga_blas_call *call);
/* The BLAS lock is held and the context current. */
int ga__cuda_lt_product(ga_cuda_device *device, const ga_blas_call *call);
/* Creates handle and workspace, which is not possible during capture; the BLAS lock is
 * held. */
int ga__cuda_lt_open(ga_cuda_device *device);
void ga__cuda_lt_close(ga_cuda_device *device);

#endif
