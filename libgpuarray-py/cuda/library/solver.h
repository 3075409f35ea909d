/* cuSOLVER as the backend's solver table; see c/backend/backend.h. */
#ifndef GA_CUDA_SOLVER_H
#define GA_CUDA_SOLVER_H

#include "cuda/device.h"

extern const ga_solver ga__cuda_solver;

/* The context is current and the stream idle. */
void ga__cuda_solver_close(ga_cuda_device *device);

/* Fails with the text of a cuSOLVER status. */
static inline int ga__cuda_solver_fail(cusolverStatus result, const char *call) {
  return GA_FAIL(result == 2 /* ALLOC_FAILED */ ? GA_MEMORY_ERROR : GA_IMPL_ERROR,
                 "%s: error %d of cuSOLVER", call, result);
}

#endif
