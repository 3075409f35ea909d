/* Pooling: bad arguments on the null device, values on a device. */
#include "device_context.h"
#include "null_context.h"

#include <gpuarray/dnn.h>

#include "c/array/array.h"

static const size_t square[2] = {4, 4}, two[2] = {2, 2}, three[2] = {3, 3};

static gpupool windows(gpupool_mode mode) {
  gpupool p;
  gpupool_init(&p, 2, mode, two);
  return p;
}

/* Windows of 2 with padding of 1 around 4 elements: 3 results. */
static gpupool padded(gpupool_mode mode) {
  gpupool p = windows(mode);
  for (int i = 0; i < 2; i++)
    p.before[i] = p.after[i] = 1;
  return p;
}

static void test_shapes(void) {
  const size_t five[2] = {5, 5}, none[2] = {0, 0};
  size_t out[2] = {7, 7};
  gpupool p = windows(GA_POOL_MAX);
  CHECK(p.size == sizeof p && p.nd == 2 && p.stride[1] == 2 && p.after[1] == 0);
  CHECK_OK(gpupool_shape(out, &p, five));
  CHECK(out[0] == 2 && out[1] == 2);
  p.flags = GA_POOL_CEIL;
  CHECK_OK(gpupool_shape(out, &p, five));
  CHECK(out[0] == 3 && out[1] == 3);
  p.stride[0] = 5, p.window[1] = 9; /* the second window has no element */
  CHECK_OK(gpupool_shape(out, &p, five));
  CHECK(out[0] == 1 && out[1] == 1);
  CHECK_OK(gpupool_shape(out, &p, none));
  CHECK(out[0] == 0 && out[1] == 0);
  p.before[1] = 8;
  CHECK_STATUS(GA_VALUE_ERROR, gpupool_shape(out, &p, none));
  CHECK_TEXT("spatial axis 1 has no elements, only padding 8 and 0");
  p.flags = 0;
  CHECK_OK(gpupool_shape(out, &p, five));
  CHECK(out[0] == 1 && out[1] == 3);
}

static void test_descriptions(void) {
  size_t out[2];
  gpupool p = windows(GA_POOL_MAX);
  p.size--;
  CHECK_STATUS(GA_INVALID_ERROR, gpupool_shape(out, &p, square));
  CHECK_TEXT("expected one from gpupool_init");
  p = windows(GA_POOL_MAX), p.nd = 4;
  CHECK_STATUS(GA_VALUE_ERROR, gpupool_shape(out, &p, square));
  CHECK_TEXT("4 spatial axes, expected 1 to 3");
  p = windows((gpupool_mode)9);
  CHECK_STATUS(GA_INVALID_ERROR, gpupool_shape(out, &p, square));
  CHECK_TEXT("mode 9 and flags 0x0");
  p = windows(GA_POOL_SUM), p.flags = 4;
  CHECK_STATUS(GA_INVALID_ERROR, gpupool_shape(out, &p, square));
  p = windows(GA_POOL_SUM), p.stride[1] = 0;
  CHECK_STATUS(GA_VALUE_ERROR, gpupool_shape(out, &p, square));
  CHECK_TEXT("window 2 and stride 0 of spatial axis 1");
  p = windows(GA_POOL_SUM), p.after[0] = 2;
  CHECK_STATUS(GA_VALUE_ERROR, gpupool_shape(out, &p, square));
  CHECK_TEXT("padding 0 and 2 of spatial axis 0, expected less than the window, 2");
  p = windows(GA_POOL_SUM);
  const size_t longest[2] = {SIZE_MAX, 4};
  CHECK_STATUS(GA_VALUE_ERROR, gpupool_shape(out, &p, longest));
  CHECK_TEXT("too long");
}

static void test_arrays(gpucontext *ctx, gpucontext *other) {
  GpuArray x, y, wrong, line, whole, far, fixed;
  gpupool p = padded(GA_POOL_MAX), sums = padded(GA_POOL_SUM);
  CHECK_OK(GpuArray_zeros(&x, ctx, GA_FLOAT, 2, square, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&y, ctx, GA_FLOAT, 2, three, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&wrong, ctx, GA_DOUBLE, 2, three, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&line, ctx, GA_FLOAT, 1, three, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&whole, ctx, GA_INT, 2, square, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&far, other, GA_FLOAT, 2, square, GA_C_ORDER));
  CHECK_OK(GpuArray_view(&fixed, &y));
  fixed.flags &= ~GA_WRITEABLE;
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_pool(&x, &x, &p));
  CHECK_TEXT("pool: the output is float32 (4, 4), expected the shape (3, 3)");
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_pool(&wrong, &x, &p));
  CHECK_TEXT("the data is float32 (4, 4), expected float64");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_pool(&y, &line, &p));
  CHECK_TEXT("the data is float32 (3,), expected 2 axes or more");
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_pool(&y, &far, &p));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_pool(&fixed, &x, &p));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_pool_grad(&whole, &whole, &y, &y, &p));
  CHECK_TEXT("expected floating-point numbers");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_pool_grad(&x, &x, NULL, &y, &p));
  CHECK_TEXT("pool_grad: got no result");
  p.flags = GA_POOL_SHARED;
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_pool_grad(&x, &x, NULL, &y, &p));
  CHECK_TEXT("pool_grad: got no result");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_pool_grad(&x, &x, &y, &x, &p));
  CHECK_TEXT("pool_grad: the gradient is float32 (4, 4), expected the shape (3, 3)");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_pool_grad(&y, &x, &y, &y, &p));
  CHECK_TEXT("pool_grad: the data is float32 (4, 4), expected the shape (3, 3)");
  p.flags = 0;
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_pool_grad(&x, NULL, NULL, &x, &sums));
  CHECK_TEXT("the gradient is float32 (4, 4), expected the shape (3, 3)");
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_pool_at_first(&y, &x, &x, &sums));
  CHECK_TEXT("pool_at_first: mode 1, expected GA_POOL_MAX");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_pool_at_maxima(&y, &x, &x, &x, &p));
  CHECK_TEXT("the result is float32 (4, 4), expected the shape (3, 3)");
  GpuArray *all[] = {&x, &y, &wrong, &line, &whole, &far, &fixed};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    GpuArray_clear(all[i]);
}

static void read_to(float *out, size_t n, const GpuArray *a) {
  GpuArray packed;
  CHECK_OK(GpuArray_copy(&packed, a, GA_C_ORDER));
  CHECK_OK(GpuArray_read(out, n * sizeof *out, &packed));
  GpuArray_clear(&packed);
}

static bool holds(const GpuArray *a, size_t n, const float *expected) {
  float got[64];
  read_to(got, n, a);
  return memcmp(got, expected, n * sizeof *got) == 0;
}

/* What Theano gives for 0 to 15. */
static void test_values(gpucontext *ctx) {
  const float sums[] = {0, 3, 3, 12, 30, 18, 12, 27, 15};
  const float maxima[] = {0, 2, 3, 8, 10, 11, 12, 14, 15};
  const float averages[] = {0, 1.5f, 3, 6, 7.5f, 9, 12, 13.5f, 15};
  float host[16], quarters[9], ones[16];
  GpuArray x, y, g;
  for (int i = 0; i < 16; i++)
    host[i] = (float)i, ones[i] = 1;
  for (int i = 0; i < 9; i++)
    quarters[i] = sums[i] / 4;
  CHECK_OK(GpuArray_copy_from_host(&x, ctx, host, GA_FLOAT, 2, square, NULL));
  CHECK_OK(GpuArray_empty(&y, ctx, GA_FLOAT, 2, three, GA_F_ORDER));
  const float *expected[] = {maxima, sums, averages, quarters};
  for (int mode = GA_POOL_MAX; mode <= GA_POOL_AVERAGE_PADDED; mode++) {
    const gpupool p = padded((gpupool_mode)mode);
    CHECK_OK(GpuArray_pool(&y, &x, &p));
    CHECK(holds(&y, 9, expected[mode]));
  }
  const gpupool sum = padded(GA_POOL_SUM), max = padded(GA_POOL_MAX);
  CHECK_OK(GpuArray_copy_from_host(&g, ctx, ones, GA_FLOAT, 2, three, NULL));
  CHECK_OK(GpuArray_pool_grad(&x, NULL, NULL, &g, &sum));
  CHECK(holds(&x, 16, ones));
  /* The output is the data, too. */
  const float at[] = {1, 0, 1, 1, 0, 0, 0, 0, 1, 0, 1, 1, 1, 0, 1, 1};
  CHECK_OK(GpuArray_write(&x, host, sizeof host));
  CHECK_OK(GpuArray_pool(&y, &x, &max));
  CHECK_OK(GpuArray_pool_grad(&x, &x, &y, &g, &max));
  CHECK(holds(&x, 16, at));
  /* Equal elements share the gradient of their window. */
  const float shared[] = {1,    0.5f,  0.5f,  1,    0.5f, 0.25f, 0.25f, 0.5f,
                          0.5f, 0.25f, 0.25f, 0.5f, 1,    0.5f,  0.5f,  1};
  gpupool of_equals = max;
  of_equals.flags = GA_POOL_SHARED;
  CHECK_OK(GpuArray_memset(&x, 0));
  CHECK_OK(GpuArray_pool(&y, &x, &of_equals));
  CHECK_OK(GpuArray_pool_grad(&x, &x, &y, &g, &of_equals));
  CHECK(holds(&x, 16, shared));
  CHECK_OK(GpuArray_write(&x, host, sizeof host));
  CHECK_OK(GpuArray_pool(&y, &x, &max));
  GpuArray_clear(&x), GpuArray_clear(&y), GpuArray_clear(&g);
}

/* Three outer axes that do not merge, in a layout of every second element. */
static void test_layouts(gpucontext *ctx) {
  const size_t shape[4] = {2, 3, 2, 6}, half[4] = {2, 3, 2, 3},
               result[4] = {2, 3, 2, 1};
  const ssize_t from[4] = {0, 0, 0, 0}, to[4] = {2, 3, 2, 6}, by[4] = {1, 1, 1, 2};
  const unsigned int turned[4] = {2, 1, 0, 3};
  float host[72], expected[12];
  GpuArray x, part, y, v;
  gpupool p;
  gpupool_init(&p, 1, GA_POOL_MAX, three);
  for (int i = 0; i < 72; i++)
    host[i] = (float)(i * 7 % 72);
  for (int i = 0; i < 12; i++) { /* place (a, b, c) of the turned view is (c, b, a) */
    const float *row = host + 6 * (i % 2 * 6 + i / 2 % 3 * 2 + i / 6);
    expected[i] = row[0] > row[2] ? row[0] : row[2];
    expected[i] = expected[i] > row[4] ? expected[i] : row[4];
  }
  CHECK_OK(GpuArray_copy_from_host(&x, ctx, host, GA_FLOAT, 4, shape, NULL));
  CHECK_OK(GpuArray_index(&part, &x, from, to, by));
  CHECK_OK(GpuArray_transpose_inplace(&part, turned));
  CHECK(memcmp(part.dimensions, half, sizeof half) == 0);
  CHECK_OK(GpuArray_empty(&y, ctx, GA_FLOAT, 4, result, GA_C_ORDER));
  CHECK_OK(GpuArray_pool(&y, &part, &p));
  CHECK(holds(&y, 12, expected));
  CHECK_OK(GpuArray_empty(&v, ctx, GA_FLOAT, 4, result, GA_C_ORDER));
  CHECK_OK(GpuArray_pool_at_first(&v, &part, &part, &p));
  CHECK(holds(&v, 12, expected));
  CHECK_OK(GpuArray_pool_at_maxima(&v, &part, &y, &part, &p));
  CHECK(holds(&v, 12, expected));
  GpuArray_clear(&x), GpuArray_clear(&part), GpuArray_clear(&y), GpuArray_clear(&v);
}

int main(void) {
  gpucontext *ctx = open_null(), *other = open_null();
  test_shapes();
  test_descriptions();
  test_arrays(ctx, other);
  gpucontext_deref(ctx);
  gpucontext_deref(other);
  ctx = open_device();
  test_values(ctx);
  test_layouts(ctx);
  gpucontext_deref(ctx);
  return check_result("test_pooling");
}
