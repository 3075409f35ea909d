/* Types, addresses and error texts of cuBLAS. */
#include "cuda/library/blas_types.h"

int ga__cuda_blas_fail(cublasStatus result, const char *call) {
  const char *name = NULL, *text = NULL;
  int status = result == CUBLAS_STATUS_ALLOC_FAILED ? GA_MEMORY_ERROR : GA_IMPL_ERROR;
  if (ga__cuda.cublasGetStatusName && ga__cuda.cublasGetStatusString) {
    name = ga__cuda.cublasGetStatusName(result);
    text = ga__cuda.cublasGetStatusString(result);
  }
  if (name == NULL || text == NULL)
    return GA_FAIL(status, "%s: error %d of cuBLAS", call, result);
  return GA_FAIL(status, "%s: %s: %s", call, name, text);
}

static const ga_cuda_precision precisions[] = {
    {GA_HALF, 2, GA_COMPUTE_32F},   {GA_BFLOAT16, 14, GA_COMPUTE_32F},
    {GA_FLOAT, 0, GA_COMPUTE_32F},  {GA_DOUBLE, 1, GA_COMPUTE_64F},
    {GA_CFLOAT, 4, GA_COMPUTE_32F}, {GA_CDOUBLE, 5, GA_COMPUTE_64F}};

ga_cuda_precision ga__cuda_precision_of(const ga_blas_call *call) {
  ga_cuda_precision p = precisions[0];
  for (size_t i = 0; i < sizeof precisions / sizeof *precisions; i++)
    if (precisions[i].typecode == call->typecode)
      p = precisions[i];
  if (call->is_tf32 && (p.typecode == GA_FLOAT || p.typecode == GA_CFLOAT))
    p.compute = GA_COMPUTE_TF32;
  return p;
}

int ga__cuda_blas_type(const ga_blas_call *call, int *compute) {
  const ga_cuda_precision p = ga__cuda_precision_of(call);
  *compute = p.compute;
  return p.type;
}

void *ga__cuda_blas_at(const ga_blas_operand *o) {
  return (char *)ga__buffer_memory(o->buffer) + o->offset;
}
