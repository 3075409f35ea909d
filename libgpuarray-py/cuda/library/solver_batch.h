/* Batched factorizations of small matrices. */
#ifndef GA_CUDA_SOLVER_BATCH_H
#define GA_CUDA_SOLVER_BATCH_H

#include "cuda/device_state.h"

/* Fails with the text of a cuSOLVER status. */
static inline int ga__cuda_solver_fail(cusolverStatus result, const char *call) {
  return GA_FAIL(result == 2 /* ALLOC_FAILED */ ? GA_MEMORY_ERROR : GA_IMPL_ERROR,
                 "%s: error %d of cuSOLVER", call, result);
}

/* True if a batched routine exists: CHOLESKY, LU and LU_SOLVE of enough small
 * matrices. */
bool ga__cuda_batch_serves(const ga_solver_call *call);
size_t ga__cuda_batch_workspace(const ga_solver_call *call);
/* The device is current, the handles' lock held, and both handles open. */
int ga__cuda_batch_call(ga_cuda_device *device, cusolverHandle handle,
                        const ga_solver_call *call);

#endif
