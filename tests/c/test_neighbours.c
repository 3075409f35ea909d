/* Neighbourhoods: geometry and errors on the null device, values on a device. */
#include "device_context.h"
#include "null_context.h"

#include <gpuarray/dnn.h>

static void test_geometry(void) {
  const size_t image[] = {5, 7}, shape[] = {3, 3}, step[] = {2, 1};
  const size_t counts[][2] = {{2, 5}, {2, 5}, {3, 7}, {3, 7}, {4, 9}};
  const size_t before[] = {0, 0, 1, 1, 2};
  for (int mode = GA_NEIGHBOURS_VALID; mode <= GA_NEIGHBOURS_FULL; mode++) {
    gpuneighbours n;
    CHECK_OK(gpuneighbours_init(&n, mode, image, shape, step));
    CHECK(n.count[0] == counts[mode][0] && n.count[1] == counts[mode][1]);
    CHECK(n.before[0] == before[mode] && n.size == sizeof n && n.mode == mode);
  }
}

static void test_what_does_not_fit(void) {
  const size_t image[] = {5, 7}, even[] = {2, 2}, two[] = {2, 2}, none[] = {0, 1},
               large[] = {9, 9}, one[] = {1, 1};
  gpuneighbours n = {.count = {9, 9}};
  CHECK_STATUS(GA_VALUE_ERROR,
               gpuneighbours_init(&n, GA_NEIGHBOURS_VALID, image, even, two));
  CHECK_TEXT("length 2 and step 2 along axis 2 of images of 5");
  CHECK_STATUS(GA_VALUE_ERROR,
               gpuneighbours_init(&n, GA_NEIGHBOURS_WRAP_CENTERED, image, even, one));
  CHECK_TEXT("expected an odd one that fits");
  CHECK_STATUS(GA_VALUE_ERROR,
               gpuneighbours_init(&n, GA_NEIGHBOURS_WRAP_CENTERED, image, large, one));
  CHECK_STATUS(GA_VALUE_ERROR,
               gpuneighbours_init(&n, GA_NEIGHBOURS_HALF, image, none, one));
  CHECK_STATUS(GA_VALUE_ERROR,
               gpuneighbours_init(&n, GA_NEIGHBOURS_FULL, image, even, none));
  CHECK_STATUS(GA_VALUE_ERROR,
               gpuneighbours_init(&n, GA_NEIGHBOURS_VALID, image, large, one));
  CHECK_STATUS(GA_INVALID_ERROR, gpuneighbours_init(&n, 5, image, one, one));
  CHECK_TEXT("mode 5");
  CHECK(n.count[0] == 9);
  CHECK_OK(gpuneighbours_init(&n, GA_NEIGHBOURS_IGNORE_BORDERS, image, large, one));
  CHECK(n.count[0] == 0 && n.count[1] == 0);
}

static void test_arrays_that_do_not_fit(gpucontext *ctx) {
  const size_t images[] = {1, 1, 4, 4}, rows[] = {4, 4}, wide[] = {4, 5},
               two[] = {2, 2};
  GpuArray x, y, other;
  gpuneighbours n;
  CHECK_OK(gpuneighbours_init(&n, GA_NEIGHBOURS_VALID, images + 2, two, two));
  CHECK_OK(GpuArray_zeros(&x, ctx, GA_BOOL, 4, images, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&y, ctx, GA_BOOL, 2, rows, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&other, ctx, GA_BOOL, 2, wide, GA_C_ORDER));
  CHECK_OK(GpuArray_images_to_neighbours(&y, &x, &n));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_neighbours_to_images(&x, &y, &n));
  CHECK_TEXT("the output is bool");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_images_to_neighbours(&other, &x, &n));
  CHECK_TEXT("expected 2 x 2 rows of each channel, of 2 x 2 elements");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_images_to_neighbours(&y, &y, &n));
  CHECK_TEXT("expected 4 and 2 axes");
  n.size = 1;
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_images_to_neighbours(&y, &x, &n));
  CHECK_TEXT("gpuneighbours_init");
  GpuArray_clear(&x);
  GpuArray_clear(&y);
  GpuArray_clear(&other);
}

/* Four overlapping pairs of columns: sums count each inner element twice. */
static void test_values(gpucontext *ctx) {
  const size_t images[] = {1, 1, 1, 4}, shape[] = {1, 2}, step[] = {1, 1},
               rows[] = {3, 2};
  const float data[] = {1, 2, 3, 4}, copies[] = {1, 2, 2, 3, 3, 4},
              sums[] = {1, 4, 6, 4};
  float got[6];
  GpuArray x, y;
  gpuneighbours n;
  CHECK_OK(gpuneighbours_init(&n, GA_NEIGHBOURS_VALID, images + 2, shape, step));
  CHECK_OK(GpuArray_copy_from_host(&x, ctx, data, GA_FLOAT, 4, images, NULL));
  CHECK_OK(GpuArray_empty(&y, ctx, GA_FLOAT, 2, rows, GA_C_ORDER));
  CHECK_OK(GpuArray_images_to_neighbours(&y, &x, &n));
  CHECK_OK(GpuArray_read(got, sizeof got, &y));
  for (int i = 0; i < 6; i++)
    CHECK(got[i] == copies[i]);
  CHECK_OK(GpuArray_neighbours_to_images(&x, &y, &n));
  CHECK_OK(GpuArray_read(got, sizeof data, &x));
  for (int i = 0; i < 4; i++)
    CHECK(got[i] == sums[i]);
  GpuArray_clear(&x);
  GpuArray_clear(&y);
}

int main(void) {
  gpucontext *ctx = open_null();
  test_geometry();
  test_what_does_not_fit();
  test_arrays_that_do_not_fit(ctx);
  gpucontext_deref(ctx);
  if (check_failures)
    return check_result("test_neighbours");
  ctx = open_device();
  test_values(ctx);
  gpucontext_deref(ctx);
  return check_result("test_neighbours");
}
