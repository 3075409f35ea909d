/* CTC: errors on the null device, values on a device. */
#include <math.h>

#include "device_context.h"
#include "null_context.h"

#include <gpuarray/dnn.h>

static const size_t shape[] = {2, 1, 3}, one[] = {1, 1}, two[] = {2, 1};

static void test_arrays_that_do_not_fit(gpucontext *ctx) {
  GpuArray x, labels, lengths, costs, grad, other, whole;
  CHECK_OK(GpuArray_zeros(&x, ctx, GA_FLOAT, 3, shape, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&grad, ctx, GA_FLOAT, 3, shape, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&labels, ctx, GA_INT, 2, one, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&other, ctx, GA_INT, 2, two, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&lengths, ctx, GA_INT, 1, one, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&costs, ctx, GA_FLOAT, 1, one, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&whole, ctx, GA_INT, 3, shape, GA_C_ORDER));
  CHECK_OK(GpuArray_ctc(&costs, &grad, &x, &labels, &lengths));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_ctc(&costs, NULL, &whole, &labels, &lengths));
  CHECK_TEXT("the activations are int32 (2, 1, 3)");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_ctc(&costs, NULL, &costs, &labels, &lengths));
  CHECK_TEXT("expected time, batch and one class or more");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_ctc(&costs, NULL, &x, &other, &lengths));
  CHECK_TEXT("the labels are int32 (2, 1), expected the shape (1, 1)");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_ctc(&costs, NULL, &x, &labels, &labels));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_ctc(&costs, NULL, &x, &x, &lengths));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_ctc(&costs, &x, &x, &labels, &lengths));
  CHECK_TEXT("shares memory");
  GpuArray *all[] = {&x, &labels, &lengths, &costs, &grad, &other, &whole};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    GpuArray_clear(all[i]);
}

/* One label in two times of equal classes: three of nine paths. */
static void test_values(gpucontext *ctx) {
  const float zeros[6] = {0};
  const int label = 1, time = 2;
  float cost, slopes[6];
  GpuArray x, labels, lengths, costs, grad;
  CHECK_OK(GpuArray_copy_from_host(&x, ctx, zeros, GA_FLOAT, 3, shape, NULL));
  CHECK_OK(GpuArray_copy_from_host(&labels, ctx, &label, GA_INT, 2, one, NULL));
  CHECK_OK(GpuArray_copy_from_host(&lengths, ctx, &time, GA_INT, 1, one, NULL));
  CHECK_OK(GpuArray_empty(&costs, ctx, GA_FLOAT, 1, one, GA_C_ORDER));
  CHECK_OK(GpuArray_empty(&grad, ctx, GA_FLOAT, 3, shape, GA_C_ORDER));
  CHECK_OK(GpuArray_ctc(&costs, &grad, &x, &labels, &lengths));
  CHECK_OK(GpuArray_read(&cost, sizeof cost, &costs));
  CHECK_OK(GpuArray_read(slopes, sizeof slopes, &grad));
  CHECK(fabsf(cost - logf(3)) < 1e-5f);
  for (int t = 0; t < 2; t++) {
    CHECK(fabsf(slopes[3 * t]) < 1e-5f);
    CHECK(fabsf(slopes[3 * t + 1] + 1.f / 3) < 1e-5f);
    CHECK(fabsf(slopes[3 * t + 2] - 1.f / 3) < 1e-5f);
  }
  GpuArray *all[] = {&x, &labels, &lengths, &costs, &grad};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    GpuArray_clear(all[i]);
}

int main(void) {
  gpucontext *ctx = open_null();
  test_arrays_that_do_not_fit(ctx);
  gpucontext_deref(ctx);
  if (check_failures)
    return check_result("test_ctc");
  ctx = open_device();
  test_values(ctx);
  gpucontext_deref(ctx);
  return check_result("test_ctc");
}
