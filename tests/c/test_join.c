/* Arrays cut into views and joined into new ones. */
#include "array_values.h"
#include "device_context.h"

#define SHAPE(...)                                                                     \
  (const size_t[]) {                                                                   \
    __VA_ARGS__                                                                        \
  }
#define POINTS(...)                                                                    \
  (size_t[]) {                                                                         \
    __VA_ARGS__                                                                        \
  }

static void test_split(gpucontext *ctx) {
  const int32_t x[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const int32_t first[] = {0, 4, 8}, last[] = {1, 2, 3, 5, 6, 7, 9, 10, 11};
  GpuArray a = from_host(ctx, x, GA_INT, 2, SHAPE(3, 4)), parts[4];
  GpuArray *list[] = {&parts[0], &parts[1], &parts[2], &parts[3]};
  CHECK_OK(GpuArray_split(list, &a, 2, POINTS(1, 1), 1));
  CHECK(parts[0].dimensions[1] == 1 && has_bytes(&parts[0], first, sizeof first));
  CHECK(parts[1].dimensions[1] == 0);
  CHECK(parts[2].dimensions[1] == 3 && has_bytes(&parts[2], last, sizeof last));
  CHECK(parts[2].data == a.data && !GpuArray_ISONESEGMENT(&parts[2]));
  for (int i = 0; i < 3; i++)
    GpuArray_clear(&parts[i]);
  CHECK_OK(GpuArray_split(list, &a, 1, POINTS(3), 0)); /* the end is a point, too */
  CHECK(parts[0].dimensions[0] == 3 && parts[1].dimensions[0] == 0);
  GpuArray_clear(&parts[0]), GpuArray_clear(&parts[1]);
  CHECK_OK(GpuArray_split(list, &a, 0, NULL, 0)); /* no point: the whole */
  CHECK(has_bytes(&parts[0], x, sizeof x));
  GpuArray_clear(&parts[0]);

  memset(parts, 7, sizeof parts);
  GpuArray untouched[4];
  memset(untouched, 7, sizeof untouched);
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_split(list, &a, 2, POINTS(2, 1), 0));
  CHECK_TEXT("ascend");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_split(list, &a, 2, POINTS(1, 4), 0));
  CHECK_TEXT("beyond");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_split(list, &a, 1, POINTS(1), 2));
  CHECK_TEXT("axis 2");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_split(list, NULL, 1, POINTS(1), 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_split(NULL, &a, 1, POINTS(1), 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_split(list, &a, 1, NULL, 0));
  list[1] = NULL;
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_split(list, &a, 1, POINTS(1), 0));
  CHECK(memcmp(parts, untouched, sizeof parts) == 0);
  GpuArray_clear(&a);
}

static void test_concatenate(gpucontext *ctx) {
  const int32_t x[] = {0, 1, 2, 3}, y[] = {4, 5, 6, 7, 8, 9};
  const float beside[] = {0, 1, 4, 5, 2, 3, 6, 7};
  const double turned[] = {0, 2, 1, 3};
  GpuArray a = from_host(ctx, x, GA_INT, 2, SHAPE(2, 2)), r;
  GpuArray b = from_host(ctx, y, GA_INT, 2, SHAPE(3, 2));
  const GpuArray *rows[] = {&a, &b};
  CHECK_OK(GpuArray_concatenate(&r, rows, 2, 0, GA_INT));
  CHECK(r.dimensions[0] == 5 && r.dimensions[1] == 2 && GpuArray_IS_C_CONTIGUOUS(&r));
  CHECK(has_bytes(&r, (const int32_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 10 * sizeof *x));
  GpuArray_clear(&r);

  /* Other axes, layouts and types. */
  GpuArray top;
  GpuArray *cut[] = {&top, &r};
  CHECK_OK(GpuArray_split(cut, &b, 1, POINTS(2), 0));
  GpuArray_clear(&r);
  rows[1] = &top;
  CHECK_OK(GpuArray_concatenate(&r, rows, 2, 1, GA_FLOAT));
  CHECK(r.dimensions[0] == 2 && r.dimensions[1] == 4 && r.typecode == GA_FLOAT);
  CHECK(has_bytes(&r, beside, sizeof beside));
  GpuArray_clear(&r), GpuArray_clear(&top);
  CHECK_OK(GpuArray_transpose_inplace(&a, NULL));
  CHECK_OK(GpuArray_concatenate(&r, rows, 1, 1, GA_DOUBLE));
  CHECK(has_bytes(&r, turned, sizeof turned));
  GpuArray_clear(&r);
  CHECK_OK(GpuArray_transpose_inplace(&a, NULL));

  /* One without elements, and the result in the place of an input. */
  GpuArray none = {0};
  CHECK_OK(GpuArray_empty(&none, ctx, GA_HALF, 2, SHAPE(0, 2), GA_C_ORDER));
  const GpuArray *with_none[] = {&none, &a, &none};
  CHECK_OK(GpuArray_concatenate(&r, with_none, 3, 0, GA_INT));
  CHECK(has_bytes(&r, x, sizeof x));
  GpuArray_clear(&r), GpuArray_clear(&none);
  GpuArray_clear(&a), GpuArray_clear(&b);
}

static void test_refused(gpucontext *ctx) {
  const int32_t x[] = {0, 1, 2, 3, 4, 5};
  GpuArray a = from_host(ctx, x, GA_INT, 2, SHAPE(2, 3)), r, untouched, far;
  GpuArray b = from_host(ctx, x, GA_INT, 2, SHAPE(3, 2));
  GpuArray c = from_host(ctx, x, GA_INT, 1, SHAPE(3)), cleared = {0};
  memset(&r, 7, sizeof r);
  memset(&untouched, 7, sizeof untouched);
  const GpuArray *list[] = {&a, &b};
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_concatenate(&r, list, 2, 0, GA_INT));
  CHECK_TEXT("(3, 2)");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_concatenate(&r, list, 1, 2, GA_INT));
  CHECK_TEXT("axis 2");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_concatenate(&r, list, 0, 0, GA_INT));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_concatenate(&r, NULL, 1, 0, GA_INT));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_concatenate(NULL, list, 1, 0, GA_INT));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_concatenate(&r, list, 1, 0, GA_SIZE));
  CHECK_TEXT("concatenate");
  list[1] = &c;
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_concatenate(&r, list, 2, 0, GA_INT));
  list[1] = NULL;
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_concatenate(&r, list, 2, 0, GA_INT));
  list[1] = &cleared;
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_concatenate(&r, list, 2, 0, GA_INT));
  gpucontext *other;
  CHECK_OK(gpucontext_open(&other, "null"));
  far = from_host(other, x, GA_INT, 2, SHAPE(2, 3));
  list[1] = &far;
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_concatenate(&r, list, 2, 0, GA_INT));
  CHECK_TEXT("one context");
  /* So many elements that no size counts them: views of one. */
  GpuArray wide;
  CHECK_OK(GpuArray_empty(&wide, ctx, GA_BYTE, 1, SHAPE(1), GA_C_ORDER));
  wide.dimensions[0] = SIZE_MAX / 2 + 1;
  wide.strides[0] = 0;
  GpuArray_fix_flags(&wide);
  const GpuArray *too_many[] = {&wide, &wide};
  CHECK_STATUS(GA_XLARGE_ERROR, GpuArray_concatenate(&r, too_many, 2, 0, GA_BYTE));
  CHECK(memcmp(&r, &untouched, sizeof r) == 0);
  GpuArray_clear(&wide), GpuArray_clear(&far);
  GpuArray_clear(&a), GpuArray_clear(&b), GpuArray_clear(&c);
  gpucontext_deref(other);
}

int main(int argc, char **argv) {
  (void)argc;
  gpucontext *ctx = open_device();
  test_split(ctx);
  test_concatenate(ctx);
  test_refused(ctx);
  CHECK_OK(gpucontext_sync(ctx));
  gpucontext_deref(ctx);
  return check_result(argv[0]);
}
