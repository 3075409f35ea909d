/* Several buffers on one memory, as exchanges of tensors make them: what overlaps is
 * seen by its address. On a device. */
#include "device_context.h"

#include "c/array/array.h"

#include <gpuarray/blas.h>
#include <gpuarray/dlpack.h>
#include <gpuarray/elemwise.h>
#include <gpuarray/sort.h>

enum { N = 8 };
#define SHAPE(...)                                                                     \
  (const size_t[]) {                                                                   \
    __VA_ARGS__                                                                        \
  }

static GpuArray counted(gpucontext *ctx, unsigned int nd, const size_t *dims) {
  float values[4 * N];
  GpuArray a = {0};
  for (int i = 0; i < 4 * N; i++)
    values[i] = (float)(i + 1);
  CHECK_OK(GpuArray_copy_from_host(&a, ctx, values, GA_FLOAT, nd, dims, NULL));
  return a;
}

/* Elements [start, stop) of a vector, with a buffer of their own on its memory. */
static GpuArray again(gpucontext *ctx, const GpuArray *a, ssize_t start, ssize_t stop) {
  DLManagedTensorVersioned *t = NULL;
  GpuArray part = {0}, other = {0};
  CHECK_OK(GpuArray_index(&part, a, &start, &stop, (const ssize_t[]){1}));
  CHECK_OK(GpuArray_to_dlpack(&t, &part, -1));
  CHECK_OK(GpuArray_from_dlpack(&other, ctx, t, -1));
  CHECK(other.data != a->data);
  GpuArray_clear(&part);
  return other;
}

static void check_values(const GpuArray *a, const float *expected) {
  float found[4 * N];
  const size_t n = ga__array_count(a);
  CHECK_OK(GpuArray_read(found, n * sizeof *found, a));
  for (size_t i = 0; i < n; i++)
    if (found[i] != expected[i]) {
      check_failures++;
      fprintf(stderr, "element %zu is %g, expected %g\n", i, (double)found[i],
              (double)expected[i]);
      break;
    }
}

static void test_questions(gpucontext *ctx) {
  int status = 0;
  GpuArray a = counted(ctx, 1, SHAPE(N)), other = counted(ctx, 1, SHAPE(N));
  GpuArray low = again(ctx, &a, 0, 4), high = again(ctx, &a, 4, 8),
           middle = again(ctx, &a, 3, 5);
  CHECK(GpuArray_share(&a, &low) == 1 && GpuArray_share(&high, &a) == 1);
  CHECK(GpuArray_share(&low, &middle) == 1 && GpuArray_share(&middle, &high) == 1);
  CHECK(GpuArray_share(&low, &high) == 0 && GpuArray_share(&other, &middle) == 0);
  CHECK(gpudata_share(a.data, low.data, &status) == 1);
  CHECK(gpudata_share(other.data, low.data, &status) == 0);
  CHECK(ga__array_same_start(&a, &low) && !ga__array_same_start(&a, &high));
  CHECK(!ga__array_same_start(&low, &middle) && !ga__array_same_start(&other, &low));
  GpuArray_clear(&low);
  GpuArray_clear(&high);
  GpuArray_clear(&middle);
  GpuArray_clear(&a);
  GpuArray_clear(&other);
}

/* y[1:] = 2 x[:-1] and back, where x and y are the same. */
static void test_elementwise(gpucontext *ctx, ssize_t from, ssize_t to) {
  gpuelemwise_arg args[2] = {{"y", GA_FLOAT, GE_WRITE}, {"x", GA_FLOAT, GE_READ}};
  float expected[N];
  GpuArray a = counted(ctx, 1, SHAPE(N));
  GpuArray x = again(ctx, &a, from, from + N - 1), y = again(ctx, &a, to, to + N - 1);
  for (ssize_t i = 0; i < N; i++)
    expected[i] =
        i >= to && i < to + N - 1 ? 2 * (float)(i - to + from + 1) : (float)(i + 1);
  GpuElemwise *ge = GpuElemwise_new(ctx, NULL, "y = 2 * x", 2, args, 1, 0);
  CHECK(ge != NULL);
  CHECK_OK(GpuElemwise_call(ge, (void *[]){&y, &x}, 0));
  check_values(&a, expected);
  GpuElemwise_free(ge);
  GpuArray_clear(&x);
  GpuArray_clear(&y);
  GpuArray_clear(&a);
}

/* The whole of x, read and written where it is. */
static void test_the_same_place(gpucontext *ctx) {
  gpuelemwise_arg args[2] = {{"y", GA_FLOAT, GE_WRITE}, {"x", GA_FLOAT, GE_READ}};
  float expected[N];
  GpuArray a = counted(ctx, 1, SHAPE(N)), x = again(ctx, &a, 0, N);
  for (int i = 0; i < N; i++)
    expected[i] = 2 * (float)(i + 1);
  GpuElemwise *ge = GpuElemwise_new(ctx, NULL, "y = 2 * x", 2, args, 1, 0);
  CHECK(ge != NULL);
  CHECK_OK(GpuElemwise_call(ge, (void *[]){&a, &x}, 0));
  check_values(&a, expected);
  CHECK_OK(gpudata_move(a.data, a.offset, x.data, x.offset, N * sizeof(float)));
  check_values(&a, expected);
  GpuElemwise_free(ge);
  GpuArray_clear(&x);
  GpuArray_clear(&a);
}

static void test_moves(gpucontext *ctx, ssize_t from, ssize_t to) {
  enum { MANY = 1 << 20 };
  const size_t n = MANY;
  float *values = malloc(MANY * sizeof *values);
  GpuArray a = {0};
  for (int i = 0; i < MANY; i++)
    values[i] = (float)i;
  CHECK_OK(GpuArray_copy_from_host(&a, ctx, values, GA_FLOAT, 1, &n, NULL));
  GpuArray x = again(ctx, &a, from, from + MANY - 100),
           y = again(ctx, &a, to, to + MANY - 100);
  CHECK_OK(GpuArray_move(&y, &x));
  CHECK_OK(GpuArray_read(values, MANY * sizeof *values, &a));
  int wrong = 0;
  for (ssize_t i = 0; i < MANY; i++)
    wrong += values[i] != (float)(i >= to && i < to + MANY - 100 ? i - to + from : i);
  CHECK(wrong == 0);
  free(values);
  GpuArray_clear(&x);
  GpuArray_clear(&y);
  GpuArray_clear(&a);
}

/* a = a b, all of them n x n. */
static void test_products(gpucontext *ctx) {
  float expected[4], identity[4] = {0, 1, 1, 0};
  GpuArray a = counted(ctx, 1, SHAPE(4)), b = {0}, left, out;
  const float values[4] = {1, 2, 3, 4};
  CHECK_OK(GpuArray_copy_from_host(&b, ctx, identity, GA_FLOAT, 2, SHAPE(2, 2), NULL));
  GpuArray flat = again(ctx, &a, 0, 4);
  CHECK_OK(GpuArray_reshape(&left, &a, 2, SHAPE(2, 2), GA_C_ORDER, 1));
  CHECK_OK(GpuArray_reshape(&out, &flat, 2, SHAPE(2, 2), GA_C_ORDER, 1));
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < 2; k++)
      expected[2 * i + k] = values[2 * i + 1 - k];
  CHECK_STATUS(GA_COPY_ERROR,
               GpuArray_rgemm(cb_no_trans, cb_no_trans, 1, &left, &b, 0, &out, 1));
  CHECK_OK(GpuArray_rgemm(cb_no_trans, cb_no_trans, 1, &left, &b, 0, &out, 0));
  check_values(&a, expected);
  GpuArray_clear(&left);
  GpuArray_clear(&out);
  GpuArray_clear(&flat);
  GpuArray_clear(&b);
  GpuArray_clear(&a);
}

/* Sorted where they are, through another buffer, in several passes. */
static void test_sorts(gpucontext *ctx) {
  enum { MANY = 5000 };
  const size_t n = MANY;
  float *values = malloc(MANY * sizeof *values);
  GpuArray a = {0};
  for (int i = 0; i < MANY; i++)
    values[i] = (float)((i * 2371) % MANY);
  CHECK_OK(GpuArray_copy_from_host(&a, ctx, values, GA_FLOAT, 1, &n, NULL));
  GpuArray same = again(ctx, &a, 0, MANY);
  CHECK_OK(GpuArray_sort(&same, &a, 0, 0));
  CHECK_OK(GpuArray_read(values, MANY * sizeof *values, &a));
  int wrong = 0;
  for (int i = 0; i < MANY; i++)
    wrong += values[i] != (float)i;
  CHECK(wrong == 0);
  free(values);
  GpuArray_clear(&same);
  GpuArray_clear(&a);
}

int main(void) {
  gpucontext *ctx = open_device();
  test_questions(ctx);
  test_elementwise(ctx, 0, 1);
  test_elementwise(ctx, 1, 0);
  test_the_same_place(ctx);
  test_moves(ctx, 0, 100);
  test_moves(ctx, 100, 0);
  test_products(ctx);
  test_sorts(ctx);
  gpucontext_deref(ctx);
  return check_result("one_memory");
}
