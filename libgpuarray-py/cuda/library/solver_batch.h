/* Factorizations of batches of small matrices, each in one call. */
#ifndef GA_CUDA_SOLVER_BATCH_H
#define GA_CUDA_SOLVER_BATCH_H

#include "cuda/device.h"

/* Whether one call makes all: LU, LU_SOLVE and CHOLESKY of enough small matrices. */
bool ga__cuda_batch_serves(const ga_solver_call *call);
size_t ga__cuda_batch_workspace(const ga_solver_call *call);
/* The device is current, the lock of its handles held, and both handles are open. */
int ga__cuda_batch_call(ga_cuda_device *device, cusolverHandle handle,
                        const ga_solver_call *call);

#endif
