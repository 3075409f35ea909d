/* Elementwise expressions and conversions on a device. */
#include "array_values.h"
#include "device_context.h"

#include <gpuarray/elemwise.h>

#define SHAPE(...)                                                                     \
  (const size_t[]) {                                                                   \
    __VA_ARGS__                                                                        \
  }
#define LIST(...)                                                                      \
  (const ssize_t[]) {                                                                  \
    __VA_ARGS__                                                                        \
  }
#define GE_ALL (GE_BROADCAST | GE_PADSHAPE)

/* The halves 0 to 9. */
static const uint16_t halves[] = {0x0000, 0x3c00, 0x4000, 0x4200, 0x4400,
                                  0x4500, 0x4600, 0x4700, 0x4800, 0x4880};

/* A new array in `order` of the C-ordered host values. */
static GpuArray in_order(gpucontext *ctx, const void *values, int typecode,
                         unsigned int nd, const size_t *dims, ga_order order) {
  GpuArray c = from_host(ctx, values, typecode, nd, dims), a = {0};
  CHECK_OK(GpuArray_copy(&a, &c, order));
  GpuArray_clear(&c);
  return a;
}

static GpuArray empty(gpucontext *ctx, int typecode, unsigned int nd,
                      const size_t *dims, ga_order order) {
  GpuArray a = {0};
  CHECK_OK(GpuArray_empty(&a, ctx, typecode, nd, dims, order));
  return a;
}

/* c = a + b of one type; freed by the caller. */
static GpuElemwise *addition(gpucontext *ctx, int typecode) {
  gpuelemwise_arg args[] = {
      {"a", typecode, GE_READ}, {"b", typecode, GE_READ}, {"c", typecode, GE_WRITE}};
  GpuElemwise *ge = GpuElemwise_new(ctx, "", "c = a + b", 3, args, 1, GE_CONVERT_F16);
  CHECK(ge != NULL);
  return ge;
}

static int add(GpuElemwise *ge, GpuArray *c, GpuArray *a, GpuArray *b, int flags) {
  void *args[] = {a, b, c};
  return GpuElemwise_call(ge, args, flags);
}

static void test_orders(gpucontext *ctx) {
  const uint32_t x[] = {1, 2, 3}, y[] = {4, 5, 6}, sum[] = {5, 7, 9};
  GpuElemwise *ge = addition(ctx, GA_UINT);
  GpuArray a = in_order(ctx, x, GA_UINT, 2, SHAPE(1, 3), GA_C_ORDER);
  GpuArray b = in_order(ctx, y, GA_UINT, 2, SHAPE(1, 3), GA_F_ORDER);
  GpuArray c = empty(ctx, GA_UINT, 2, SHAPE(1, 3), GA_C_ORDER);
  CHECK_OK(add(ge, &c, &a, &b, GE_NOCOLLAPSE));
  CHECK(has_values(&c, sum));
  GpuArray_clear(&a), GpuArray_clear(&b), GpuArray_clear(&c);
  GpuElemwise_free(ge);

  const uint16_t hsum[] = {halves[5], halves[7], halves[9]};
  ge = addition(ctx, GA_HALF);
  a = in_order(ctx, halves + 1, GA_HALF, 2, SHAPE(1, 3), GA_C_ORDER);
  b = in_order(ctx, halves + 4, GA_HALF, 2, SHAPE(1, 3), GA_F_ORDER);
  c = empty(ctx, GA_HALF, 2, SHAPE(1, 3), GA_C_ORDER);
  CHECK_OK(add(ge, &c, &a, &b, 0));
  CHECK(has_values(&c, hsum));
  GpuArray_clear(&a), GpuArray_clear(&b), GpuArray_clear(&c);
  GpuElemwise_free(ge);
}

static void test_mixed_matrices(gpucontext *ctx) {
  const int32_t x[] = {0, 1, 2, 3, 4, 5}, twice[] = {0, 2, 4, 6, 8, 10};
  GpuElemwise *ge = addition(ctx, GA_INT);
  GpuArray a = in_order(ctx, x, GA_INT, 2, SHAPE(2, 3), GA_C_ORDER);
  GpuArray b = in_order(ctx, x, GA_INT, 2, SHAPE(2, 3), GA_F_ORDER);
  GpuArray c = empty(ctx, GA_INT, 2, SHAPE(2, 3), GA_F_ORDER);
  CHECK_OK(add(ge, &c, &a, &a, 0));
  CHECK(has_values(&c, twice));
  CHECK_OK(add(ge, &c, &a, &b, 0));
  CHECK(has_values(&c, twice));
  CHECK_OK(add(ge, &c, &b, &b, 0));
  CHECK(has_values(&c, twice));
  GpuArray_clear(&a), GpuArray_clear(&b), GpuArray_clear(&c);
  GpuElemwise_free(ge);
}

static void test_offset(gpucontext *ctx) {
  const uint32_t x[] = {1, 2, 3}, sum[] = {2, 4, 6};
  GpuElemwise *ge = addition(ctx, GA_UINT);
  GpuArray whole = empty(ctx, GA_UINT, 2, SHAPE(1, 6), GA_C_ORDER), a;
  CHECK_OK(GpuArray_view(&a, &whole));
  a.offset = 12;
  a.dimensions[1] = 3;
  GpuArray_fix_flags(&a);
  CHECK_OK(GpuArray_write(&a, x, sizeof x));
  GpuArray c = empty(ctx, GA_UINT, 2, SHAPE(1, 3), GA_C_ORDER);
  CHECK_OK(add(ge, &c, &a, &a, 0));
  CHECK(has_values(&c, sum));
  GpuArray_clear(&a), GpuArray_clear(&whole), GpuArray_clear(&c);
  GpuElemwise_free(ge);
}

static void test_scalar(gpucontext *ctx) {
  const uint32_t x[] = {1, 2, 3}, y[] = {4, 5};
  const uint32_t expected[] = {9, 10, 11, 11, 12, 13};
  uint32_t two = 2;
  gpuelemwise_arg args[] = {{"a", GA_UINT, GE_READ},
                            {"x", GA_UINT, GE_SCALAR},
                            {"b", GA_UINT, GE_READ},
                            {"c", GA_UINT, GE_WRITE}};
  GpuElemwise *ge = GpuElemwise_new(ctx, "", "c = a + x * b", 4, args, 2, 0);
  GpuArray a = in_order(ctx, x, GA_UINT, 2, SHAPE(1, 3), GA_C_ORDER);
  GpuArray b = in_order(ctx, y, GA_UINT, 2, SHAPE(2, 1), GA_F_ORDER);
  GpuArray c = empty(ctx, GA_UINT, 2, SHAPE(2, 3), GA_C_ORDER);
  void *values[] = {&a, &two, &b, &c};
  CHECK_OK(GpuElemwise_call(ge, values, GE_BROADCAST));
  CHECK(has_values(&c, expected));
  GpuArray_clear(&a), GpuArray_clear(&b), GpuArray_clear(&c);
  GpuElemwise_free(ge);

  const float fx[] = {1, 2, 3, 4}, expected_f[] = {2.5f, 5, 7.5f, 10};
  gpuelemwise_arg half_args[] = {{"y", GA_FLOAT, GE_READ | GE_WRITE},
                                 {"h", GA_HALF, GE_SCALAR}};
  ge = GpuElemwise_new(ctx, NULL, "y = h / 2 * y", 2, half_args, 0, GE_CONVERT_F16);
  a = in_order(ctx, fx, GA_FLOAT, 1, SHAPE(4), GA_C_ORDER);
  uint16_t five = halves[5];
  void *half_values[] = {&a, &five};
  CHECK_OK(GpuElemwise_call(ge, half_values, 0));
  CHECK(has_values(&a, expected_f));
  GpuArray_clear(&a);
  GpuElemwise_free(ge);
}

static void test_scalar_of_another_type(gpucontext *ctx) {
  const float expected[] = {2.0f, 4.2f, 3.1f, 5.3f};
  const int32_t x[] = {1, 2, 1, 2};
  float a = 2.0f;
  const float start[] = {0.0f, 0.2f, 1.1f, 1.3f};
  gpuelemwise_arg args[] = {{"a", GA_FLOAT, GE_SCALAR},
                            {"x", GA_INT, GE_READ},
                            {"y", GA_FLOAT, GE_READ | GE_WRITE}};
  GpuElemwise *ge = GpuElemwise_new(ctx, "", "y = a * x + y", 3, args, 2, 0);
  GpuArray xs = in_order(ctx, x, GA_INT, 2, SHAPE(2, 2), GA_F_ORDER);
  GpuArray ys = in_order(ctx, start, GA_FLOAT, 2, SHAPE(2, 2), GA_F_ORDER);
  void *values[] = {&a, &xs, &ys};
  CHECK_OK(GpuElemwise_call(ge, values, 0));
  CHECK(has_values(&ys, expected));
  GpuArray_clear(&xs), GpuArray_clear(&ys);
  GpuElemwise_free(ge);
}

static void test_axes_of_one(gpucontext *ctx) {
  const uint32_t x[] = {0, 1, 2, 3, 4, 5}, sum[] = {0, 2, 4, 6, 8, 10};
  GpuElemwise *ge = addition(ctx, GA_UINT);
  GpuArray a = in_order(ctx, x, GA_UINT, 4, SHAPE(1, 3, 2, 1), GA_C_ORDER);
  GpuArray b = in_order(ctx, x, GA_UINT, 4, SHAPE(1, 3, 2, 1), GA_F_ORDER);
  GpuArray c = empty(ctx, GA_UINT, 4, SHAPE(1, 3, 2, 1), GA_C_ORDER);
  CHECK_OK(add(ge, &c, &a, &b, 0));
  CHECK(has_values(&c, sum));
  GpuArray_clear(&a), GpuArray_clear(&b), GpuArray_clear(&c);
  GpuElemwise_free(ge);
}

static void test_broadcast(gpucontext *ctx) {
  const uint32_t x[] = {1, 2, 3}, y[] = {4, 5}, sum[] = {5, 6, 7, 6, 7, 8};
  GpuElemwise *ge = addition(ctx, GA_UINT);
  GpuArray a = in_order(ctx, x, GA_UINT, 2, SHAPE(1, 3), GA_C_ORDER);
  GpuArray b = in_order(ctx, y, GA_UINT, 2, SHAPE(2, 1), GA_F_ORDER);
  GpuArray c = empty(ctx, GA_UINT, 2, SHAPE(2, 3), GA_C_ORDER);
  CHECK_STATUS(GA_VALUE_ERROR, add(ge, &c, &a, &b, 0));
  CHECK_TEXT("GE_BROADCAST");
  CHECK_OK(add(ge, &c, &a, &b, GE_BROADCAST));
  CHECK(has_values(&c, sum));
  CHECK_STATUS(GA_VALUE_ERROR, add(ge, &b, &a, &c, GE_BROADCAST));
  GpuArray_clear(&b);

  b = in_order(ctx, x, GA_UINT, 1, SHAPE(3), GA_C_ORDER);
  const uint32_t padded[] = {2, 4, 6, 2, 4, 6};
  CHECK_STATUS(GA_VALUE_ERROR, add(ge, &c, &a, &b, GE_BROADCAST));
  CHECK_OK(add(ge, &c, &a, &b, GE_ALL));
  CHECK(has_values(&c, padded));
  GpuArray_clear(&a), GpuArray_clear(&b), GpuArray_clear(&c);
  GpuElemwise_free(ge);
}

static void test_reversed(gpucontext *ctx) {
  const uint32_t x[] = {0, 1, 2, 3, 4, 5}, sum[] = {5, 5, 5, 5, 5, 5};
  GpuElemwise *ge = addition(ctx, GA_UINT);
  GpuArray a = in_order(ctx, x, GA_UINT, 1, SHAPE(6), GA_C_ORDER);
  GpuArray b = in_order(ctx, x, GA_UINT, 1, SHAPE(6), GA_C_ORDER);
  GpuArray c = empty(ctx, GA_UINT, 1, SHAPE(6), GA_C_ORDER);
  CHECK_OK(GpuArray_index_inplace(&b, LIST(5), LIST(-1), LIST(-1)));
  CHECK_OK(add(ge, &c, &a, &b, 0));
  CHECK(has_values(&c, sum));

  /* The output overlaps an input the other way round. */
  GpuArray back;
  CHECK_OK(GpuArray_index(&back, &a, LIST(5), LIST(-1), LIST(-1)));
  CHECK_OK(add(ge, &a, &a, &back, 0));
  CHECK(has_values(&a, sum));
  GpuArray_clear(&back);
  GpuArray_clear(&a), GpuArray_clear(&b), GpuArray_clear(&c);
  GpuElemwise_free(ge);
}

static void test_empty(gpucontext *ctx) {
  GpuElemwise *ge = addition(ctx, GA_UINT);
  GpuArray a = empty(ctx, GA_UINT, 2, SHAPE(0, 3), GA_C_ORDER);
  GpuArray b = empty(ctx, GA_UINT, 2, SHAPE(0, 3), GA_F_ORDER);
  GpuArray c = empty(ctx, GA_UINT, 2, SHAPE(0, 3), GA_C_ORDER);
  CHECK_OK(add(ge, &c, &a, &b, 0));
  GpuArray_clear(&a), GpuArray_clear(&b), GpuArray_clear(&c);
  GpuElemwise_free(ge);
}

/* Long enough for whole vectors, with a rest, and at an offset that is not aligned. */
static void test_long(gpucontext *ctx) {
  enum { N = 10007 };
  uint32_t *x = malloc(N * sizeof *x), *sum = malloc(N * sizeof *sum);
  for (uint32_t i = 0; i < N; i++) {
    x[i] = i;
    sum[i] = i < 3 ? 0 : 2 * i - 3;
  }
  GpuElemwise *ge = addition(ctx, GA_UINT);
  GpuArray a = in_order(ctx, x, GA_UINT, 1, SHAPE(N), GA_C_ORDER), late, early, c;
  CHECK_OK(GpuArray_index(&late, &a, LIST(3), LIST(N), LIST(1)));
  CHECK_OK(GpuArray_index(&early, &a, LIST(0), LIST(N - 3), LIST(1)));
  c = empty(ctx, GA_UINT, 1, SHAPE(N - 3), GA_C_ORDER);
  CHECK_OK(add(ge, &c, &late, &early, 0));
  CHECK(has_values(&c, sum + 3));
  CHECK_OK(add(ge, &late, &late, &early, 0));
  CHECK(has_values(&late, sum + 3));
  GpuArray_clear(&late), GpuArray_clear(&early), GpuArray_clear(&a);
  GpuArray_clear(&c);
  GpuElemwise_free(ge);
  free(x), free(sum);
}

static void test_apply(gpucontext *ctx) {
  const float x[] = {1, 2, 3, 4, 5, 6}, y[] = {10, 20, 30};
  const float sum[] = {11, 22, 33, 14, 25, 36};
  gpuelemwise_arg args[] = {
      {"c", GA_FLOAT, GE_WRITE}, {"a", GA_FLOAT, GE_READ}, {"b", GA_FLOAT, GE_READ}};
  GpuElemwise *ge = GpuElemwise_new(ctx, NULL, "c = a + b", 3, args, 0, 0);
  GpuArray a = in_order(ctx, x, GA_FLOAT, 2, SHAPE(2, 3), GA_C_ORDER), c;
  GpuArray b = in_order(ctx, y, GA_FLOAT, 1, SHAPE(3), GA_C_ORDER);
  CHECK_OK(GpuElemwise_apply2(ge, &c, &a, &b));
  CHECK(has_values(&c, sum));
  CHECK(c.flags == GA_CARRAY);
  GpuArray_clear(&c);
  CHECK_OK(GpuArray_transpose_inplace(&a, NULL));
  CHECK_OK(GpuElemwise_apply2(ge, &c, &a, &a));
  CHECK(c.flags == GA_FARRAY);
  GpuArray_clear(&c);
  CHECK_STATUS(GA_VALUE_ERROR, GpuElemwise_apply2(ge, &c, &a, &b));
  CHECK_TEXT("broadcast");
  CHECK_STATUS(GA_INVALID_ERROR, GpuElemwise_apply1(ge, &c, &a));
  GpuArray_clear(&b);
  b = in_order(ctx, y, GA_FLOAT, 0, NULL, GA_C_ORDER);
  CHECK_OK(GpuElemwise_apply2(ge, &c, &b, &b));
  CHECK(c.nd == 0 && has_values(&c, (const float[]){20}));
  GpuArray_clear(&a), GpuArray_clear(&b), GpuArray_clear(&c);
  GpuElemwise_free(ge);
}

static void test_refused(gpucontext *ctx) {
  gpuelemwise_arg twice[] = {{"a", GA_INT, GE_READ}, {"a", GA_INT, GE_WRITE}};
  CHECK(GpuElemwise_new(ctx, NULL, "a = a", 2, twice, 0, 0) == NULL);
  CHECK_TEXT("'a'");
  gpuelemwise_arg clash[] = {{"ga_i_n", GA_INT, GE_WRITE}};
  CHECK(GpuElemwise_new(ctx, NULL, "ga_i_n = 0", 1, clash, 0, 0) == NULL);
  gpuelemwise_arg idle[] = {{"a", GA_INT, 0}};
  CHECK(GpuElemwise_new(ctx, NULL, "a", 1, idle, 0, 0) == NULL);

  gpuelemwise_arg args[] = {{"a", GA_INT, GE_WRITE}};
  CHECK(GpuElemwise_new(ctx, NULL, "a = no_such_thing", 1, args, 0, 0) == NULL);
  CHECK_TEXT("no_such_thing");
  GpuElemwise *ge = NULL;
  CHECK_OK(GpuElemwise_create(&ge, ctx, NULL, "a = no_such_thing", 1, args, 0));
  GpuArray a = empty(ctx, GA_INT, 1, SHAPE(3), GA_C_ORDER);
  void *list[] = {&a};
  CHECK_STATUS(GA_COMPILE_ERROR, GpuElemwise_call(ge, list, 0));
  CHECK_TEXT("no_such_thing");
  a.flags &= ~GA_WRITEABLE;
  CHECK_STATUS(GA_VALUE_ERROR, GpuElemwise_call(ge, list, 0));
  CHECK_TEXT("read-only");
  GpuArray_clear(&a);
  a = empty(ctx, GA_UINT, 1, SHAPE(3), GA_C_ORDER);
  CHECK_STATUS(GA_INVALID_ERROR, GpuElemwise_call(ge, list, 0));
  CHECK_TEXT("int32");
  GpuArray_clear(&a);
  GpuElemwise_free(ge);
}

static void test_preamble(gpucontext *ctx) {
  const float x[] = {1, -2}, expected[] = {2, -4};
  gpuelemwise_arg args[] = {{"y", GA_FLOAT, GE_WRITE}, {"x", GA_FLOAT, GE_READ}};
  GpuElemwise *ge =
      GpuElemwise_new(ctx,
                      "WITHIN_KERNEL ga_float twice(ga_float v) {\n"
                      "  return v == INFINITY || v == -INFINITY ? v : 2 * v;\n}\n",
                      "y = twice(x)", 2, args, 0, 0);
  GpuArray a = in_order(ctx, x, GA_FLOAT, 1, SHAPE(2), GA_C_ORDER), y;
  CHECK_OK(GpuElemwise_apply1(ge, &y, &a));
  CHECK(has_values(&y, expected));
  GpuArray_clear(&a), GpuArray_clear(&y);
  GpuElemwise_free(ge);
}

static void test_conversions(gpucontext *ctx) {
  const double x[] = {0.5, -1.0, 2.75, 300.0};
  const uint8_t bools[] = {1, 1, 1, 1}, bytes[] = {0, 255, 2, 44};
  const uint16_t half[] = {0x3800, 0xbc00, 0x4180, 0x5cb0};
  GpuArray a, v;
  a = in_order(ctx, x, GA_DOUBLE, 1, SHAPE(4), GA_C_ORDER);
  CHECK_OK(GpuArray_astype(&v, &a, GA_BOOL, GA_C_ORDER));
  CHECK(has_values(&v, bools));
  GpuArray_clear(&v);
  CHECK_OK(GpuArray_astype(&v, &a, GA_UBYTE, GA_C_ORDER));
  CHECK(has_values(&v, bytes));
  GpuArray_clear(&v);
  CHECK_OK(GpuArray_astype(&v, &a, GA_HALF, GA_C_ORDER));
  CHECK(has_values(&v, half));
  GpuArray_clear(&v), GpuArray_clear(&a);

  /* Just above and just below the middle of two halves: one rounding, not two. */
  const double middle[] = {1.0 + 0x1p-11 + 0x1p-40, 1.0 + 3 * 0x1p-11 - 0x1p-40,
                           -1.0 - 0x1p-11 - 0x1p-40, 1e300};
  const uint16_t rounded[] = {0x3c01, 0x3c01, 0xbc01, 0x7c00};
  a = in_order(ctx, middle, GA_DOUBLE, 1, SHAPE(4), GA_C_ORDER);
  CHECK_OK(GpuArray_astype(&v, &a, GA_HALF, GA_C_ORDER));
  CHECK(has_values(&v, rounded));
  GpuArray_clear(&v), GpuArray_clear(&a);
}

static void test_setarray(gpucontext *ctx) {
  const int16_t x[] = {1, 2, 3};
  const float expected[] = {0, 1, 0, 2, 0, 3, 0, 1, 0, 2, 0, 3};
  const float filled[] = {0, 1, 0, 2, 0, 3, 0, 0, 0, 0, 0, 0};
  GpuArray a, odd, v = in_order(ctx, x, GA_SHORT, 2, SHAPE(1, 3), GA_C_ORDER);
  CHECK_OK(GpuArray_zeros(&a, ctx, GA_FLOAT, 2, SHAPE(2, 6), GA_C_ORDER));
  CHECK_OK(GpuArray_index(&odd, &a, LIST(0, 1), LIST(2, 6), LIST(1, 2)));
  CHECK_OK(GpuArray_setarray(&odd, &v));
  CHECK(has_values(&a, expected));
  GpuArray_clear(&odd);
  CHECK_OK(GpuArray_index(&odd, &a, LIST(1, 1), LIST(2, 6), LIST(0, 2)));
  CHECK_OK(GpuArray_memset(&odd, 0));
  CHECK(has_values(&a, filled));
  GpuArray_clear(&odd), GpuArray_clear(&a), GpuArray_clear(&v);
}

/* More axes than a kernel of so many arguments can have: the rest are launches. */
static void test_many_axes(gpucontext *ctx) {
  enum { N_ARGS = 12, ND = 20 };
  size_t dims[ND];
  unsigned int axes[ND];
  for (unsigned int i = 0; i < ND; i++) {
    dims[i] = i % 2 ? 1 : 2;
    axes[i] = (i * 7) % ND;
  }
  uint32_t x[1 << (ND / 2)], expected[1 << (ND / 2)];
  for (uint32_t i = 0; i < 1 << (ND / 2); i++)
    x[i] = i;
  GpuArray a = in_order(ctx, x, GA_UINT, ND, dims, GA_C_ORDER), c;
  CHECK_OK(GpuArray_transpose_inplace(&a, axes));
  gpuelemwise_arg args[N_ARGS] = {{"c", GA_UINT, GE_WRITE}};
  static const char *const names[] = {"c",  "a0", "a1", "a2", "a3", "a4",
                                      "a5", "a6", "a7", "a8", "a9", "a10"};
  void *ins[N_ARGS - 1];
  for (unsigned int i = 1; i < N_ARGS; i++) {
    args[i] = (gpuelemwise_arg){names[i], GA_UINT, GE_READ};
    ins[i - 1] = &a;
  }
  GpuElemwise *ge = GpuElemwise_new(
      ctx, NULL, "c = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + a10", N_ARGS,
      args, 0, 0);
  GpuArray *outs[] = {&c};
  CHECK_OK(GpuElemwise_apply(ge, outs, ins));
  GpuArray plain = {0};
  CHECK_OK(GpuArray_copy(&plain, &a, GA_C_ORDER));
  CHECK_OK(GpuArray_read(expected, sizeof expected, &plain));
  for (uint32_t i = 0; i < 1 << (ND / 2); i++)
    expected[i] *= N_ARGS - 1;
  CHECK(has_values(&c, expected));
  GpuArray_clear(&plain), GpuArray_clear(&a), GpuArray_clear(&c);
  GpuElemwise_free(ge);
}

int main(void) {
  gpucontext *ctx = open_device();
  test_orders(ctx);
  test_mixed_matrices(ctx);
  test_offset(ctx);
  test_scalar(ctx);
  test_scalar_of_another_type(ctx);
  test_axes_of_one(ctx);
  test_broadcast(ctx);
  test_reversed(ctx);
  test_empty(ctx);
  test_long(ctx);
  test_apply(ctx);
  test_refused(ctx);
  test_preamble(ctx);
  test_conversions(ctx);
  test_setarray(ctx);
  test_many_axes(ctx);
  CHECK_OK(gpucontext_sync(ctx));
  gpucontext_deref(ctx);
  return check_result("test_elemwise");
}
