/* cuBLAS as the backend's BLAS table; see c/backend/backend.h. */
#ifndef GA_CUDA_BLAS_H
#define GA_CUDA_BLAS_H

#include "cuda/device.h"

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

/* cudaDataType and cublasComputeType of a typecode. */
typedef struct ga_cuda_precision {
  int typecode, type, compute;
} ga_cuda_precision;

enum { GA_COMPUTE_32F = 68, GA_COMPUTE_64F = 70, GA_COMPUTE_TF32 = 77 };

ga_cuda_precision ga__cuda_precision_of(const ga_blas_call *call);

/* Fails with the text of a cuBLAS or cuBLASLt status. */
int ga__cuda_blas_fail(cublasStatus result, const char *call);
/* The cudaDataType; *compute is the cublasComputeType. */
int ga__cuda_blas_type(const ga_blas_call *call, int *compute);
void *ga__cuda_blas_at(const ga_blas_operand *operand);

#endif
