/* Upsampling and spatial transformers: bad arguments on the null device, values on a
 * device. */
#include "device_context.h"
#include "null_context.h"

#include <gpuarray/dnn.h>

static const size_t images[] = {1, 1, 2, 2}, large[] = {1, 1, 4, 4};
static const size_t points[] = {1, 1, 3, 2}, maps[] = {1, 2, 3}, row[] = {1, 1, 1, 3};

static void make(GpuArray *a, gpucontext *ctx, unsigned int nd, const size_t *dims) {
  CHECK_OK(GpuArray_zeros(a, ctx, GA_FLOAT, nd, dims, GA_C_ORDER));
}

static void test_fractions(void) {
  const size_t lengths[] = {5, 4}, many[] = {(size_t)1 << 40, 4};
  size_t out[2];
  gpuupsampling u;
  gpuupsampling_init(NULL, 1, 1);
  gpuupsampling_init(&u, 6, 4);
  CHECK(u.size == sizeof u && u.up[1] == 6 && u.down[0] == 4);
  CHECK_OK(gpuupsampling_shape(out, &u, lengths));
  CHECK(out[0] == 8 && out[1] == 6);
  CHECK_STATUS(GA_VALUE_ERROR, gpuupsampling_shape(out, &u, many));
  CHECK_TEXT("elements of axis 2 are too many");
  u.down[1] = 0;
  CHECK_STATUS(GA_VALUE_ERROR, gpuupsampling_shape(out, &u, lengths));
  CHECK_TEXT("upsample: fraction 6 / 0 of axis 3, expected 1 to 2^30 each");
  u.size--;
  CHECK_STATUS(GA_INVALID_ERROR, gpuupsampling_shape(out, &u, lengths));
  CHECK_TEXT("expected one from gpuupsampling_init");
}

static void test_arrays(gpucontext *ctx, gpucontext *other) {
  GpuArray x, y, grid, theta, z, far, fixed, whole;
  gpuupsampling u;
  gpuupsampling_init(&u, 2, 1);
  make(&x, ctx, 4, images), make(&y, ctx, 4, large), make(&z, ctx, 4, row);
  make(&grid, ctx, 4, points), make(&theta, ctx, 3, maps), make(&far, other, 4, images);
  CHECK_OK(GpuArray_zeros(&whole, ctx, GA_INT, 4, images, GA_C_ORDER));
  CHECK_OK(GpuArray_view(&fixed, &y));
  fixed.flags &= ~GA_WRITEABLE;
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_upsample(&x, &y, &u));
  CHECK_TEXT("upsample: the output is float32 (1, 1, 2, 2), expected the shape");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_upsample(&y, &theta, &u));
  CHECK_TEXT("upsample: the images is float32 (1, 2, 3), expected 4 axes");
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_upsample(&y, &whole, &u));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_upsample(&y, &far, &u));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_upsample(&fixed, &x, &u));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_upsample_grad(&y, &x, &u));
  CHECK_TEXT("upsample_grad: the gradient is float32 (1, 1, 2, 2)");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_affine_grid(&y, &theta));
  CHECK_TEXT("the output is float32 (1, 1, 4, 4), expected the shape (1, 1, 4, 2)");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_affine_grid(&grid, &grid));
  CHECK_TEXT("the theta is float32 (1, 1, 3, 2), expected the shape (1, 2, 3)");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_affine_grid_grad(&x, &grid));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_grid_sample(&y, &x, &grid));
  CHECK_TEXT("the output is float32 (1, 1, 4, 4), expected the shape (1, 1, 1, 3)");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_grid_sample(&z, &x, &theta));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_grid_sample(&z, &whole, &grid));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_grid_sample_grad_grid(&grid, &x, &grid, &z));
  CHECK_TEXT("the output shares memory with an input");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_grid_sample_grad_grid(&x, &x, &grid, &z));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_grid_sample_grad_images(&x, &grid, &y));
  CHECK_TEXT("grid_sample_grad_images: the gradient is float32 (1, 1, 4, 4)");
  GpuArray *all[] = {&x, &y, &grid, &theta, &z, &far, &fixed, &whole};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    GpuArray_clear(all[i]);
}

static bool holds(const GpuArray *a, size_t n, const float *expected) {
  float got[16];
  CHECK_OK(GpuArray_read(got, n * sizeof *got, a));
  return memcmp(got, expected, n * sizeof *got) == 0;
}

/* Twice as many rows and columns, each between two of the others, or the last. */
static void test_upsampling(gpucontext *ctx) {
  const float host[] = {0, 4, 8, 12};
  const float wide[] = {0, 2, 4, 4, 4, 6, 8, 8, 8, 10, 12, 12, 8, 10, 12, 12};
  const float sums[] = {2.25f, 3.75f, 3.75f, 6.25f};
  float ones[16];
  GpuArray x, y;
  gpuupsampling u;
  gpuupsampling_init(&u, 2, 1);
  for (int i = 0; i < 16; i++)
    ones[i] = 1;
  CHECK_OK(GpuArray_copy_from_host(&x, ctx, host, GA_FLOAT, 4, images, NULL));
  make(&y, ctx, 4, large);
  CHECK_OK(GpuArray_upsample(&y, &x, &u));
  CHECK(holds(&y, 16, wide));
  CHECK_OK(GpuArray_write(&y, ones, sizeof ones));
  CHECK_OK(GpuArray_upsample_grad(&x, &y, &u));
  CHECK(holds(&x, 4, sums));
  GpuArray_clear(&x), GpuArray_clear(&y);
}

/* A row of three points: half a pixel to the left, in the middle, half a pixel out. */
static void test_sampling(gpucontext *ctx) {
  const float map[] = {1, 0, 0.5f, 0, 1, -1}, host[] = {0, 4, 8, 12};
  const float places[] = {-0.5f, -1, 0.5f, -1, 1.5f, -1}, values[] = {1, 3, 3};
  const float slopes[] = {2, 4, 2, 4, -2, 3}, shares[] = {1, 1.75f, 0, 0};
  const float by_map[] = {-4, 0, 2, -1, 0, 11}, ones[] = {1, 1, 1};
  GpuArray theta, grid, x, y, by_grid;
  CHECK_OK(GpuArray_copy_from_host(&theta, ctx, map, GA_FLOAT, 3, maps, NULL));
  CHECK_OK(GpuArray_copy_from_host(&x, ctx, host, GA_FLOAT, 4, images, NULL));
  make(&grid, ctx, 4, points), make(&by_grid, ctx, 4, points), make(&y, ctx, 4, row);
  CHECK_OK(GpuArray_affine_grid(&grid, &theta));
  CHECK(holds(&grid, 6, places));
  CHECK_OK(GpuArray_grid_sample(&y, &x, &grid));
  CHECK(holds(&y, 3, values));
  CHECK_OK(GpuArray_write(&y, ones, sizeof ones));
  CHECK_OK(GpuArray_grid_sample_grad_grid(&by_grid, &x, &grid, &y));
  CHECK(holds(&by_grid, 6, slopes));
  CHECK_OK(GpuArray_grid_sample_grad_images(&x, &grid, &y));
  CHECK(holds(&x, 4, shares));
  CHECK_OK(GpuArray_affine_grid_grad(&theta, &by_grid));
  CHECK(holds(&theta, 6, by_map));
  GpuArray *all[] = {&theta, &grid, &x, &y, &by_grid};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    GpuArray_clear(all[i]);
}

int main(void) {
  gpucontext *ctx = open_null(), *other = open_null();
  test_fractions();
  test_arrays(ctx, other);
  gpucontext_deref(ctx);
  gpucontext_deref(other);
  if (check_failures)
    return check_result("test_sampling");
  ctx = open_device();
  test_upsampling(ctx);
  test_sampling(ctx);
  gpucontext_deref(ctx);
  return check_result("test_sampling");
}
