/* cuBLASLt: products that add a bias on their way. */
#ifndef GA_CUDA_BLASLT_H
#define GA_CUDA_BLASLT_H

#include "cuda/device.h"

/* Whether the library is there and makes this product; opens it. */
bool ga__cuda_lt_serves(void *device, const ga_blas_call *call);
/* The BLAS lock is held and the device's context is current. */
int ga__cuda_lt_product(ga_cuda_device *device, const ga_blas_call *call);
/* Makes the handle and its workspace, which a recording does not; the BLAS lock is
 * held. */
int ga__cuda_lt_open(ga_cuda_device *device);
void ga__cuda_lt_close(ga_cuda_device *device);

#endif
