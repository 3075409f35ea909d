/* Types, addresses and error texts of cuBLAS and cuBLASLt. */
#ifndef GA_CUDA_BLAS_TYPES_H
#define GA_CUDA_BLAS_TYPES_H

#include "c/backend/backend.h"
#include "cuda/api.h"

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
