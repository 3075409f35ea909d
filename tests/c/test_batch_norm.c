/* Batch normalisation: bad arguments on the null device, values on a device. */
#include <math.h>

#include "device_context.h"
#include "null_context.h"

#include <gpuarray/dnn.h>

static const size_t shape[] = {2, 3, 2}, channels[] = {3}, kept[] = {1, 3, 1};

static void test_descriptions(void) {
  gpubatchnorm b;
  gpubatchnorm_init(&b, 4, 1);
  CHECK(b.size == sizeof b && b.axes == 13 && b.factor > 0 && b.epsilon > 0);
  gpubatchnorm_init(&b, 4, 0);
  CHECK(b.axes == 1);
  gpubatchnorm_init(&b, 32, 1);
  CHECK(b.axes == 0xfffffffdu);
  gpubatchnorm_init(NULL, 4, 1);
}

static void test_arrays(gpucontext *ctx, gpucontext *other) {
  GpuArray x, y, g, wide, whole, far, fixed, flat;
  gpubatchnorm b, bad;
  gpubatchnorm_init(&b, 3, 1);
  CHECK_OK(GpuArray_zeros(&x, ctx, GA_FLOAT, 3, shape, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&y, ctx, GA_FLOAT, 3, shape, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&flat, ctx, GA_FLOAT, 1, shape, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&g, ctx, GA_FLOAT, 1, channels, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&wide, ctx, GA_DOUBLE, 1, channels, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&whole, ctx, GA_INT, 3, shape, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&far, other, GA_FLOAT, 1, channels, GA_C_ORDER));
  CHECK_OK(GpuArray_view(&fixed, &y));
  fixed.flags &= ~GA_WRITEABLE;
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_batch_norm(&y, &whole, &g, &g, &g, &g, &b));
  CHECK_TEXT("batch_norm: the data is int32 (2, 3, 2), expected float16");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_batch_norm(&y, &x, &g, &flat, &g, &g, &b));
  CHECK_TEXT("the beta is float32 (2,), expected the shape (1, 3, 1), or that");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_batch_norm(&y, &x, &g, &g, &x, &g, &b));
  CHECK_TEXT("the mean is float32 (2, 3, 2), expected the shape (1, 3, 1)");
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_batch_norm(&y, &x, &wide, &g, &g, &g, &b));
  CHECK_TEXT("the gamma is float64 (3,), expected floats no wider than float32");
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_batch_norm(&y, &x, &g, &g, &g, &far, &b));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_batch_norm(&fixed, &x, &g, &g, &g, &g, &b));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_batch_norm(&flat, &x, &g, &g, &g, &g, &b));
  CHECK_TEXT("the output is float32 (2,), expected the shape of the data");
  CHECK_STATUS(GA_INVALID_ERROR,
               GpuArray_batch_norm_train(&y, &wide, NULL, NULL, NULL, &x, &g, &g, &b));
  CHECK_TEXT("batch_norm_train: the mean is float64 (3,), expected float32");
  CHECK_STATUS(GA_VALUE_ERROR,
               GpuArray_batch_norm_train(&y, &g, NULL, NULL, NULL, &x, &g, &g, &b));
  CHECK_TEXT("the mean shares memory with another array");
  CHECK_STATUS(GA_VALUE_ERROR,
               GpuArray_batch_norm_train(&y, NULL, NULL, NULL, &g, &x, &g, &g, &b));
  CHECK_TEXT("got one of the running mean and variance");
  CHECK_STATUS(GA_VALUE_ERROR,
               GpuArray_batch_norm_grad(&y, &g, &g, &x, &x, &g, &g, &g, &b));
  bad = b, bad.size--;
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_batch_norm(&y, &x, &g, &g, &g, &g, &bad));
  CHECK_TEXT("expected one from gpubatchnorm_init");
  bad = b, bad.axes = 9;
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_batch_norm(&y, &x, &g, &g, &g, &g, &bad));
  CHECK_TEXT("axes 0x9 of data float32 (2, 3, 2)");
  bad = b, bad.epsilon = -1;
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_batch_norm(&y, &x, &g, &g, &g, &g, &bad));
  CHECK_TEXT("epsilon -1, expected 0 or more");
  GpuArray *all[] = {&x, &y, &g, &wide, &whole, &far, &fixed, &flat};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    GpuArray_clear(all[i]);
}

static bool is_near(const GpuArray *a, size_t n, const float *expected) {
  GpuArray packed;
  float got[16];
  bool near = true;
  CHECK_OK(GpuArray_copy(&packed, a, GA_C_ORDER));
  CHECK_OK(GpuArray_read(got, n * sizeof *got, &packed));
  GpuArray_clear(&packed);
  for (size_t i = 0; i < n; i++)
    near = near && fabsf(got[i] - expected[i]) < 2e-5f;
  return near;
}

/* Channels of 0, 2, 4, 6 and so on, each 10 above the last. */
static const float host[] = {0, 2, 10, 12, 20, 22, /* */
                             4, 6, 14, 16, 24, 26};
static const float means[] = {3, 13, 23};

/* Their variance is 5, and 4 with this epsilon makes 9. */
static gpubatchnorm spatial(void) {
  gpubatchnorm b;
  gpubatchnorm_init(&b, 3, 1);
  b.epsilon = 4;
  return b;
}

static void make_parameters(GpuArray *gamma, GpuArray *beta, gpucontext *ctx) {
  const float scales[] = {3, 6, -3}, shifts[] = {0, 1, 2};
  CHECK_OK(GpuArray_copy_from_host(gamma, ctx, scales, GA_FLOAT, 1, channels, NULL));
  CHECK_OK(GpuArray_copy_from_host(beta, ctx, shifts, GA_FLOAT, 3, kept, NULL));
}

static void test_training(gpucontext *ctx) {
  const float normal[] = {-3, -1, -5, -1, 5, 3, 1, 3, 3, 7, 1, -1};
  const float third = 1.f / 3, thirds[] = {third, third, third};
  const float moved[] = {0.75f, 3.25f, 5.75f};
  const float spread[] = {5.f / 3, 5.f / 3, 5.f / 3}; /* a quarter of 20 / 3 */
  GpuArray x, y, gamma, beta, mean, invstd, old_mean, old_var;
  gpubatchnorm b = spatial();
  b.factor = 0.25;
  make_parameters(&gamma, &beta, ctx);
  CHECK_OK(GpuArray_copy_from_host(&x, ctx, host, GA_FLOAT, 3, shape, NULL));
  CHECK_OK(GpuArray_empty(&y, ctx, GA_FLOAT, 3, shape, GA_F_ORDER));
  CHECK_OK(GpuArray_empty(&mean, ctx, GA_FLOAT, 1, channels, GA_C_ORDER));
  CHECK_OK(GpuArray_empty(&invstd, ctx, GA_FLOAT, 3, kept, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&old_mean, ctx, GA_FLOAT, 1, channels, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&old_var, ctx, GA_FLOAT, 1, channels, GA_C_ORDER));
  CHECK_OK(GpuArray_batch_norm_train(&y, &mean, &invstd, &old_mean, &old_var, &x,
                                     &gamma, &beta, &b));
  CHECK(is_near(&y, 12, normal));
  CHECK(is_near(&mean, 3, means) && is_near(&invstd, 3, thirds));
  CHECK(is_near(&old_mean, 3, moved) && is_near(&old_var, 3, spread));
  /* The output is the data, too. */
  CHECK_OK(
      GpuArray_batch_norm_train(&x, NULL, NULL, NULL, NULL, &x, &gamma, &beta, &b));
  CHECK(is_near(&x, 12, normal));
  GpuArray *all[] = {&x, &y, &gamma, &beta, &mean, &invstd, &old_mean, &old_var};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    GpuArray_clear(all[i]);
}

/* For gradients of 1 at the first element of each channel: product is that of its
 * normalised element, -1. */
static void test_gradients(gpucontext *ctx) {
  const float pulses[] = {1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0};
  const float by_gamma[] = {-1, -1, -1}, by_beta[] = {1, 1, 1};
  const float scales[] = {1, 2, -1};
  const float third = 1.f / 3, variances[] = {5, 5, 5};
  float by_x[12];
  GpuArray x, grad, gamma, beta, mean, invstd, sums, totals, variance;
  const gpubatchnorm b = spatial();
  for (int i = 0; i < 12; i++) {
    const int channel = i / 2 % 3;
    const float normalised = (host[i] - means[channel]) * third;
    by_x[i] = scales[channel] * (pulses[i] - 0.25f + normalised * 0.25f);
  }
  make_parameters(&gamma, &beta, ctx);
  CHECK_OK(GpuArray_copy_from_host(&x, ctx, host, GA_FLOAT, 3, shape, NULL));
  CHECK_OK(GpuArray_copy_from_host(&grad, ctx, pulses, GA_FLOAT, 3, shape, NULL));
  CHECK_OK(GpuArray_empty(&mean, ctx, GA_FLOAT, 3, kept, GA_C_ORDER));
  CHECK_OK(GpuArray_empty(&invstd, ctx, GA_FLOAT, 3, kept, GA_C_ORDER));
  CHECK_OK(GpuArray_empty(&sums, ctx, GA_FLOAT, 1, channels, GA_C_ORDER));
  CHECK_OK(GpuArray_empty(&totals, ctx, GA_FLOAT, 3, kept, GA_C_ORDER));
  CHECK_OK(
      GpuArray_batch_norm_train(&x, &mean, &invstd, NULL, NULL, &x, &gamma, &beta, &b));
  float normal[12];
  CHECK_OK(GpuArray_read(normal, sizeof normal, &x));
  CHECK_OK(GpuArray_write(&x, host, sizeof host));
  CHECK_OK(GpuArray_batch_norm_grad(NULL, &sums, NULL, &grad, &x, &gamma, &mean,
                                    &invstd, &b));
  CHECK(is_near(&sums, 3, by_gamma));
  CHECK_OK(GpuArray_batch_norm_grad(&grad, NULL, &totals, &grad, &x, &gamma, &mean,
                                    &invstd, &b));
  CHECK(is_near(&totals, 3, by_beta) && is_near(&grad, 12, by_x));
  /* By the same statistics inference gives the same. */
  CHECK_OK(
      GpuArray_copy_from_host(&variance, ctx, variances, GA_FLOAT, 1, channels, NULL));
  CHECK_OK(GpuArray_batch_norm(&grad, &x, &gamma, &beta, &mean, &variance, &b));
  CHECK(is_near(&grad, 12, normal));
  GpuArray *all[] = {&x,      &grad, &gamma,  &beta,    &mean,
                     &invstd, &sums, &totals, &variance};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    GpuArray_clear(all[i]);
}

static void test_no_elements(gpucontext *ctx) {
  const size_t none[] = {0, 3, 2}, no_channels[] = {2, 0, 2}, zero[] = {0};
  float read[3];
  GpuArray x, gamma, beta, mean;
  const gpubatchnorm b = spatial();
  make_parameters(&gamma, &beta, ctx);
  CHECK_OK(GpuArray_empty(&x, ctx, GA_FLOAT, 3, none, GA_C_ORDER));
  CHECK_OK(GpuArray_empty(&mean, ctx, GA_FLOAT, 1, channels, GA_C_ORDER));
  CHECK_OK(
      GpuArray_batch_norm_train(&x, &mean, NULL, NULL, NULL, &x, &gamma, &beta, &b));
  CHECK_OK(GpuArray_read(read, sizeof read, &mean));
  CHECK(isnan(read[0]) && isnan(read[2]));
  CHECK_OK(
      GpuArray_batch_norm_grad(&x, NULL, &mean, &x, &x, &gamma, &gamma, &gamma, &b));
  CHECK_OK(GpuArray_read(read, sizeof read, &mean));
  CHECK(read[0] == 0 && read[2] == 0);
  GpuArray_clear(&x), GpuArray_clear(&mean);
  CHECK_OK(GpuArray_empty(&x, ctx, GA_FLOAT, 3, no_channels, GA_C_ORDER));
  CHECK_OK(GpuArray_empty(&mean, ctx, GA_FLOAT, 1, zero, GA_C_ORDER));
  CHECK_OK(GpuArray_batch_norm_train(&x, NULL, NULL, NULL, NULL, &x, &mean, &mean, &b));
  GpuArray *all[] = {&x, &gamma, &beta, &mean};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    GpuArray_clear(all[i]);
}

int main(void) {
  gpucontext *ctx = open_null(), *other = open_null();
  test_descriptions();
  test_arrays(ctx, other);
  gpucontext_deref(ctx);
  gpucontext_deref(other);
  if (check_failures)
    return check_result("test_batch_norm");
  ctx = open_device();
  test_training(ctx);
  test_gradients(ctx);
  test_no_elements(ctx);
  gpucontext_deref(ctx);
  return check_result("test_batch_norm");
}
