/* cuBLAS as the backend's BLAS table; see c/backend/backend.h. */
#ifndef GA_CUDA_BLAS_H
#define GA_CUDA_BLAS_H

#include "cuda/device_state.h"
#include "cuda/library/blas_types.h"

extern const ga_blas ga__cuda_blas;

int ga__cuda_blas_open(void *device, bool with_epilogues);
/* The context is current and the stream idle. */
void ga__cuda_blas_close(ga_cuda_device *device);

/* For a thread that captures a graph: locks the handle, sets its stream, and unlocks it
 * with the device's own stream. */
void ga__cuda_blas_hold(ga_cuda_device *device);
int ga__cuda_blas_move(ga_cuda_device *device, CUstream stream);
void ga__cuda_blas_let_go(ga_cuda_device *device);
/* Likewise: sets the workspace, until the next move. */
int ga__cuda_blas_workspace(ga_cuda_device *device, CUdeviceptr workspace, size_t size);
/* cuBLAS's default size, so that it chooses the same algorithms. */
size_t ga__cuda_blas_workspace_size(const ga_cuda_device *device);

#endif
