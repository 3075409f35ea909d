#include "c/dnn/layers.h"

#include <stdio.h>

#include "c/base/dtype.h"
#include "c/dnn/conv_words.h"
#include "c/program/kernel_text.h"

int ga__layer_check_first(const GpuArray *a, unsigned int nd, const char *operation,
                          const char *role) {
  char text[GA_ARRAY_TEXT];
  if (a == NULL)
    return ga__fail_null(operation, role);
  GA_TRY(ga__array_check(a, operation));
  GA_TRY(ga__context_check(GpuArray_context(a)));
  if (ga__dtype_kind(a->typecode) != 'f')
    return GA_FAIL(GA_INVALID_ERROR,
                   "%s: the %s is %s, expected float16, bfloat16, float32 or float64",
                   operation, role, ga__array_text(text, a));
  if (a->nd != nd)
    return GA_FAIL(GA_VALUE_ERROR, "%s: the %s is %s, expected %u axes", operation,
                   role, ga__array_text(text, a), nd);
  return ga__context_supports(GpuArray_context(a), a->typecode, operation);
}

int ga__layer_check(const GpuArray *a, const GpuArray *first, unsigned int nd,
                    const size_t *dims, const char *operation, const char *role) {
  char given[GA_ARRAY_TEXT], expected[GA_SHAPE_TEXT];
  if (a == NULL)
    return ga__fail_null(operation, role);
  GA_TRY(ga__array_fits(a, GpuArray_context(first), first->typecode, operation, role));
  if (ga__array_has_shape(a, nd, dims))
    return GA_NO_ERROR;
  return GA_FAIL(GA_VALUE_ERROR, "%s: the %s is %s, expected the shape %s", operation,
                 role, ga__array_text(given, a), ga__shape_text(expected, nd, dims));
}

int ga__layer_check_output(const GpuArray *out, const GpuArray *const *inputs,
                           unsigned int n, const char *operation) {
  GA_TRY(ga__array_writeable(out, operation));
  for (unsigned int i = 0; i < n; i++)
    if (GpuArray_share(out, inputs[i]))
      return GA_FAIL(GA_VALUE_ERROR, "%s: the output shares memory with an input",
                     operation);
  return GA_NO_ERROR;
}

bool ga__layer_is_wide(const GpuArray *a) {
  size_t low, high;
  ga__array_extent(&low, &high, a);
  return (high - low) / GpuArray_ITEMSIZE(a) >= INT32_MAX / 4;
}

void ga__layer_add_strides(ga_args *args, bool is_wide, const GpuArray *a) {
  for (unsigned int i = 0; i < a->nd; i++)
    ga__args_position(
        args, is_wide,
        a->dimensions[i] > 1 ? a->strides[i] / (ssize_t)GpuArray_ITEMSIZE(a) : 0);
}

void ga__layer_add_types(ga_strbuf *text, const char *prefix, int typecode,
                         bool is_wide) {
  char name[16];
  ga__strbuf_addf(text, "#define %s_TYPE %s\n#define %s_ACC %s\n#define %s_INT %s\n",
                  prefix, ga__dtype_ctype(typecode), prefix,
                  ga__dtype_work_ctype(typecode), prefix, ga__text_position(is_wide));
  snprintf(name, sizeof name, "%s_LOAD", prefix);
  ga__conv_add_conversion(text, name, ga__dtype_load(typecode));
  snprintf(name, sizeof name, "%s_STORE", prefix);
  ga__conv_add_conversion(text, name, ga__dtype_store(typecode));
}

int ga__layer_launch_rows(gpukernel *kernel, ga_args *args, gpucontext *ctx,
                          size_t rows) {
  const size_t most = GA_CPU_GROUPS * (size_t)ctx->info.processors;
  const size_t items = ctx->info.warp;
  ga_launch launch = {.nd = 1,
                      .block = {ga__kernel_takes(kernel, items) ? items : 1},
                      .grid = {rows < most ? rows : most},
                      .n_args = args->n,
                      .args = args->list};
  return ga__kernel_launch(kernel, &launch);
}

int ga__layer_launch(gpukernel *kernel, ga_args *args, gpucontext *ctx, size_t count) {
  return ga__kernel_launch_items(kernel, args, count, ctx->info.is_cpu ? 64 : 256,
                                 128 * (size_t)ctx->info.processors);
}
