/* Convolutions: descriptions and shapes on the null device, values on a device. */
#include "device_context.h"
#include "null_context.h"

#include <gpuarray/dnn.h>

#include "c/array/array.h"

/* ---- descriptions ---- */

static void test_shapes(void) {
  const size_t image[] = {2, 3, 7, 8}, filters[] = {5, 3, 3, 3};
  const struct {
    int flags;
    size_t before[2], after[2], stride[2], dilation[2], expected[2];
  } cases[] = {
      {0, {0, 0}, {0, 0}, {1, 1}, {1, 1}, {5, 6}},
      {GA_CONV_FULL, {0, 0}, {0, 0}, {1, 1}, {1, 1}, {9, 10}},
      {GA_CONV_HALF, {0, 0}, {0, 0}, {1, 1}, {1, 1}, {7, 8}},
      {0, {1, 2}, {1, 2}, {1, 1}, {1, 1}, {7, 10}},
      {0, {1, 0}, {0, 2}, {1, 1}, {1, 1}, {6, 8}},
      {0, {0, 0}, {0, 0}, {2, 3}, {1, 1}, {3, 2}},
      {0, {0, 0}, {0, 0}, {1, 1}, {2, 3}, {3, 2}},
      {GA_CONV_HALF, {0, 0}, {0, 0}, {1, 1}, {2, 2}, {7, 8}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    size_t out[4] = {0};
    gpuconv c;
    gpuconv_init(&c, 2);
    c.flags = cases[i].flags;
    for (int k = 0; k < 2; k++) {
      c.before[k] = cases[i].before[k];
      c.after[k] = cases[i].after[k];
      c.stride[k] = cases[i].stride[k];
      c.dilation[k] = cases[i].dilation[k];
    }
    CHECK_OK(gpuconv_shape(out, &c, image, filters));
    CHECK(out[0] == 2 && out[1] == 5);
    CHECK(out[2] == cases[i].expected[0] && out[3] == cases[i].expected[1]);
  }
}

static void test_shapes_that_do_not_fit(void) {
  const size_t image[] = {2, 3, 7, 8}, filters[] = {5, 3, 3, 3};
  const size_t wide[] = {5, 3, 3, 9}, none[] = {5, 3, 3, 0}, other[] = {5, 2, 3, 3};
  const size_t unshared[] = {5, 4, 6, 3, 3, 3}, huge[] = {5, 3, 3, SIZE_MAX};
  size_t out[4] = {9, 9, 9, 9};
  gpuconv c;
  gpuconv_init(&c, 2);
  CHECK_STATUS(GA_VALUE_ERROR, gpuconv_shape(out, &c, image, wide));
  CHECK_TEXT("filters of extent 9 along spatial axis 1");
  CHECK_STATUS(GA_VALUE_ERROR, gpuconv_shape(out, &c, image, none));
  CHECK_TEXT("filters of length 0");
  CHECK_STATUS(GA_VALUE_ERROR, gpuconv_shape(out, &c, image, huge));
  CHECK_STATUS(GA_VALUE_ERROR, gpuconv_shape(out, &c, image, other));
  CHECK_TEXT("filters of 2 channels, expected 3");
  c.groups = 2;
  CHECK_STATUS(GA_VALUE_ERROR, gpuconv_shape(out, &c, image, filters));
  CHECK_TEXT("3 channels and 5 filters cannot be split into 2 groups");
  c.groups = 0;
  CHECK_STATUS(GA_VALUE_ERROR, gpuconv_shape(out, &c, image, filters));
  c.groups = 1;
  c.stride[1] = 0;
  CHECK_STATUS(GA_VALUE_ERROR, gpuconv_shape(out, &c, image, filters));
  CHECK_TEXT("stride 0");
  c.stride[1] = 1;
  c.flags = GA_CONV_HALF | GA_CONV_FULL;
  CHECK_STATUS(GA_INVALID_ERROR, gpuconv_shape(out, &c, image, filters));
  c.flags = 32;
  CHECK_STATUS(GA_INVALID_ERROR, gpuconv_shape(out, &c, image, filters));
  c.flags = GA_CONV_UNSHARED;
  CHECK_STATUS(GA_VALUE_ERROR, gpuconv_shape(out, &c, image, unshared));
  CHECK_TEXT("unshared filters for 4 places along spatial axis 0, expected 5");
  c.nd = 4;
  CHECK_STATUS(GA_VALUE_ERROR, gpuconv_shape(out, &c, image, filters));
  c.size = 1;
  CHECK_STATUS(GA_INVALID_ERROR, gpuconv_shape(out, &c, image, filters));
  CHECK_TEXT("gpuconv_init");
  CHECK(out[0] == 9 && out[3] == 9);
}

/* ---- arrays ---- */

static void test_arrays_that_do_not_fit(gpucontext *ctx) {
  const size_t image[] = {2, 3, 7, 8}, filters[] = {5, 3, 3, 3},
               result[] = {2, 5, 5, 6};
  GpuArray x, w, y, whole, small, fixed;
  gpuconv c;
  gpuconv_init(&c, 2);
  CHECK_OK(GpuArray_zeros(&x, ctx, GA_FLOAT, 4, image, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&w, ctx, GA_FLOAT, 4, filters, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&y, ctx, GA_FLOAT, 4, result, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&whole, ctx, GA_INT, 4, filters, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&small, ctx, GA_FLOAT, 3, result, GA_C_ORDER));
  CHECK_OK(GpuArray_view(&fixed, &y));
  fixed.flags &= ~GA_WRITEABLE;
  CHECK_OK(GpuArray_conv(&y, &x, &w, &c));
  CHECK_OK(GpuArray_conv_grad_image(&x, &y, &w, &c));
  CHECK_OK(GpuArray_conv_grad_filters(&w, &x, &y, &c));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_conv(&y, &x, &whole, &c));
  CHECK_TEXT("conv: the filters is int32 (5, 3, 3, 3), expected float32");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_conv(&small, &x, &w, &c));
  CHECK_TEXT("expected 4 axes");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_conv(&x, &x, &w, &c));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_conv(&fixed, &x, &w, &c));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_conv_grad_filters(&whole, &x, &y, &c));
  c.stride[0] = 2;
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_conv_grad_image(&x, &y, &w, &c));
  CHECK_TEXT("expected the shape (2, 5, 3, 6)");
  GpuArray *all[] = {&x, &w, &y, &whole, &small, &fixed};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    GpuArray_clear(all[i]);
}

/* ---- values ---- */

/* Theano's example: 3 x 3 by 2 x 2, turned around or not. */
static void test_flips(gpucontext *ctx) {
  const size_t image[] = {1, 1, 3, 3}, filters[] = {1, 1, 2, 2};
  float data[9], taps[4], got[4];
  const float expected[2][4] = {{19, 25, 37, 43}, {5, 11, 23, 29}};
  GpuArray x, w, y;
  for (int i = 0; i < 9; i++)
    data[i] = (float)i;
  for (int i = 0; i < 4; i++)
    taps[i] = (float)i;
  CHECK_OK(GpuArray_copy_from_host(&x, ctx, data, GA_FLOAT, 4, image, NULL));
  CHECK_OK(GpuArray_copy_from_host(&w, ctx, taps, GA_FLOAT, 4, filters, NULL));
  CHECK_OK(GpuArray_empty(&y, ctx, GA_FLOAT, 4, filters, GA_C_ORDER));
  for (int flipped = 0; flipped < 2; flipped++) {
    gpuconv c;
    gpuconv_init(&c, 2);
    c.flags = flipped ? GA_CONV_FLIP : 0;
    CHECK_OK(GpuArray_conv(&y, &x, &w, &c));
    CHECK_OK(GpuArray_read(got, sizeof got, &y));
    for (int i = 0; i < 4; i++)
      CHECK(got[i] == expected[flipped][i]);
  }
  GpuArray_clear(&x);
  GpuArray_clear(&w);
  GpuArray_clear(&y);
}

/* The sum of the products of two arrays. */
static double dot(const GpuArray *a, const GpuArray *b) {
  static float left[1 << 14], right[1 << 14];
  size_t n = 1;
  double sum = 0;
  for (unsigned int i = 0; i < a->nd; i++)
    n *= a->dimensions[i];
  CHECK_OK(GpuArray_read(left, n * sizeof *left, a));
  CHECK_OK(GpuArray_read(right, n * sizeof *right, b));
  for (size_t i = 0; i < n; i++)
    sum += (double)left[i] * (double)right[i];
  return sum;
}

static void whole_numbers(GpuArray *out, gpucontext *ctx, const size_t *dims) {
  static float data[1 << 14];
  for (int i = 0; i < 1 << 14; i++)
    data[i] = (float)((i * 7 + i / 5) % 5 - 2);
  CHECK_OK(GpuArray_copy_from_host(out, ctx, data, GA_FLOAT, 4, dims, NULL));
}

/* Gradients g are such that sum(conv(x, w) g) = sum(x dx) = sum(w dw). */
static void test_gradients(gpucontext *ctx) {
  const struct {
    size_t image[4], filters[4], stride, before;
    unsigned int groups;
  } cases[] = {
      {{2, 3, 9, 21}, {5, 3, 3, 3}, 1, 0, 1},
      {{2, 3, 9, 21}, {5, 3, 3, 3}, 1, 2, 1},
      {{2, 4, 9, 17}, {6, 2, 3, 2}, 2, 1, 2},
      {{1, 8, 7, 7}, {1, 8, 3, 3}, 1, 1, 1},
      {{1, 64, 8, 8}, {128, 64, 1, 1}, 1, 0, 1},
      {{9, 1, 20, 30}, {2, 1, 5, 4}, 1, 0, 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    size_t result[4];
    GpuArray x, w, g, y, dx, dw;
    gpuconv c;
    gpuconv_init(&c, 2);
    c.groups = cases[i].groups;
    c.stride[0] = c.stride[1] = cases[i].stride;
    c.before[0] = c.before[1] = c.after[1] = cases[i].before;
    CHECK_OK(gpuconv_shape(result, &c, cases[i].image, cases[i].filters));
    whole_numbers(&x, ctx, cases[i].image);
    whole_numbers(&w, ctx, cases[i].filters);
    whole_numbers(&g, ctx, result);
    CHECK_OK(GpuArray_empty(&y, ctx, GA_FLOAT, 4, result, GA_C_ORDER));
    CHECK_OK(GpuArray_empty(&dx, ctx, GA_FLOAT, 4, cases[i].image, GA_C_ORDER));
    CHECK_OK(GpuArray_empty(&dw, ctx, GA_FLOAT, 4, cases[i].filters, GA_C_ORDER));
    CHECK_OK(GpuArray_conv(&y, &x, &w, &c));
    CHECK_OK(GpuArray_conv_grad_image(&dx, &g, &w, &c));
    CHECK_OK(GpuArray_conv_grad_filters(&dw, &x, &g, &c));
    CHECK(dot(&y, &g) == dot(&x, &dx));
    CHECK(dot(&y, &g) == dot(&w, &dw));
    GpuArray *all[] = {&x, &w, &g, &y, &dx, &dw};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
      GpuArray_clear(all[k]);
  }
}

int main(void) {
  gpucontext *ctx = open_null();
  test_shapes();
  test_shapes_that_do_not_fit();
  test_arrays_that_do_not_fit(ctx);
  gpucontext_deref(ctx);
  if (check_failures)
    return check_result("test_conv");
  ctx = open_device();
  test_flips(ctx);
  test_gradients(ctx);
  gpucontext_deref(ctx);
  return check_result("test_conv");
}
