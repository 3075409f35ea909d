/* cuBLAS behind the backend's table; see c/backend/backend.h. */
#ifndef GA_CUDA_BLAS_H
#define GA_CUDA_BLAS_H

#include "cuda/device.h"

extern const ga_blas ga__cuda_blas;

int ga__cuda_blas_open(void *device, bool with_epilogues);
/* The device's context is current and its queue empty. */
void ga__cuda_blas_close(ga_cuda_device *device);

/* For a thread that records a graph: it holds the handle, moves its work to another
 * stream, and lets it go, back on the device's own. */
void ga__cuda_blas_hold(ga_cuda_device *device);
int ga__cuda_blas_move(ga_cuda_device *device, CUstream stream);
void ga__cuda_blas_let_go(ga_cuda_device *device);
/* For the same thread: products take this workspace until the next move. */
int ga__cuda_blas_workspace(ga_cuda_device *device, CUdeviceptr workspace, size_t size);
/* As large as cuBLAS's own, so that it chooses the same algorithms. */
size_t ga__cuda_blas_workspace_size(const ga_cuda_device *device);

/* What cuBLAS calls an element's type, and the type that it computes in. */
typedef struct ga_cuda_precision {
  int typecode, type, compute;
} ga_cuda_precision;

enum { GA_COMPUTE_32F = 68, GA_COMPUTE_64F = 70, GA_COMPUTE_TF32 = 77 };

ga_cuda_precision ga__cuda_precision_of(const ga_blas_call *call);

/* The status of a failed call of cuBLAS or cuBLASLt, with its text. */
int ga__cuda_blas_fail(cublasStatus result, const char *call);
/* cudaDataType of the elements; *compute is the cublasComputeType of the sums. */
int ga__cuda_blas_type(const ga_blas_call *call, int *compute);
void *ga__cuda_blas_at(const ga_blas_operand *operand);

#endif
