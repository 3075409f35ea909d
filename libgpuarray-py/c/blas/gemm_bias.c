/* GEMM with bias and activation: fused by the vendor's epilogue, or in two passes. */
#include "c/base/dtype.h"
#include "c/blas/products.h"
#include <gpuarray/elemwise.h>

static int check(const GpuArray *A, const GpuArray *bias, const GpuArray *C,
                 int activation) {
  char b[GA_ARRAY_TEXT], c[GA_ARRAY_TEXT];
  GA_TRY(ga__array_check(A, "gemm_bias"));
  GA_TRY(ga__array_check(bias, "gemm_bias"));
  GA_TRY(ga__array_check(C, "gemm_bias"));
  if (activation != GA_ACTIVATION_NONE && activation != GA_ACTIVATION_RELU)
    return GA_FAIL(GA_INVALID_ERROR,
                   "gemm_bias: activation %d is none of GA_ACTIVATION_NONE and "
                   "GA_ACTIVATION_RELU",
                   activation);
  if (ga__dtype_kind(A->typecode) == 'c')
    return GA_FAIL(GA_INVALID_ERROR, "gemm_bias: A is %s, expected a real type",
                   ga__array_text(c, A));
  if (bias->typecode != C->typecode || bias->nd != 1 || C->nd != 2 ||
      bias->dimensions[0] != C->dimensions[1])
    return GA_FAIL(GA_VALUE_ERROR,
                   "gemm_bias: C is %s, bias is %s: expected one dtype and a bias for "
                   "each column of C",
                   ga__array_text(c, C), ga__array_text(b, bias));
  return ga__array_same_context(C, bias, "gemm_bias");
}

/* Second pass: C = activation(C + bias). */
static int add_bias(GpuArray *C, GpuArray *bias, int activation) {
  const int t = C->typecode;
  const gpuelemwise_arg args[] = {{"c", t, GE_READ | GE_WRITE}, {"bias", t, GE_READ}};
  /* NaN is kept */
  const char *text = activation == GA_ACTIVATION_RELU
                         ? "c = c + bias; c = c < 0 ? 0 : c"
                         : "c = c + bias";
  void *arrays[] = {C, bias};
  GpuElemwise *sum = NULL;
  GA_TRY(GpuElemwise_create(&sum, GpuArray_context(C), NULL, text, 2, args,
                            GE_CONVERT_F16));
  int status = GpuElemwise_call(sum, arrays, GE_BROADCAST | GE_PADSHAPE);
  GpuElemwise_free(sum);
  return status;
}

int GpuArray_gemm_bias(cb_transpose transA, cb_transpose transB, GpuArray *A,
                       GpuArray *B, GpuArray *bias, int activation, GpuArray *C,
                       int nocopy) {
  ga_product p;
  GA_TRY(check(A, bias, C, activation));
  GA_TRY(ga__product_of_gemm(&p, transA, transB, A, B, C, "gemm_bias"));
  p.epilogue = activation == GA_ACTIVATION_RELU ? GA_BLAS_BIAS_RELU : GA_BLAS_BIAS;
  p.bias = (ga_factor){.data = bias->data, .offset = bias->offset};
  const bool is_plain =
      bias->dimensions[0] == 1 || bias->strides[0] == (ssize_t)GpuArray_ITEMSIZE(bias);
  if (is_plain && !GpuArray_share(bias, C) && ga__product_fuses(&p)) {
    int status = ga__product(&p, nocopy);
    if (status != GA_DEVSUP_ERROR) /* the vendor may not support these operands */
      return status;
  }
  if (GpuArray_share(bias, C))
    return GA_FAIL(GA_COPY_ERROR, "gemm_bias: bias overlaps the output C; copy it");
  p.epilogue = GA_BLAS_PLAIN;
  GA_TRY(ga__product(&p, nocopy));
  return add_bias(C, bias, activation);
}
