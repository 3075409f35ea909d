/* Sorts and top-k: bad arguments, ownership and failing allocations on the null device;
 * values on a device. */
#include "device_context.h"
#include "failing_allocations.h"
#include "null_context.h"

#include <gpuarray/sort.h>

#include "c/array/array.h"

static const size_t dims[2] = {3, 4};

typedef struct arrays {
  GpuArray a, same, wrong, places, far, scalar, fixed, top;
} arrays;

static void open_arrays(arrays *x, gpucontext *ctx, gpucontext *other) {
  const size_t turned[2] = {4, 3}, two[2] = {3, 2};
  CHECK_OK(GpuArray_zeros(&x->a, ctx, GA_FLOAT, 2, dims, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&x->same, ctx, GA_FLOAT, 2, dims, GA_F_ORDER));
  CHECK_OK(GpuArray_zeros(&x->wrong, ctx, GA_FLOAT, 2, turned, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&x->places, ctx, GA_LONG, 2, dims, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&x->far, other, GA_FLOAT, 2, dims, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&x->scalar, ctx, GA_FLOAT, 0, NULL, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&x->top, ctx, GA_FLOAT, 2, two, GA_C_ORDER));
  CHECK_OK(GpuArray_view(&x->fixed, &x->same));
  x->fixed.flags &= ~GA_WRITEABLE;
}

static void clear_arrays(arrays *x) {
  GpuArray *all[] = {&x->a,   &x->same,   &x->wrong, &x->places,
                     &x->far, &x->scalar, &x->fixed, &x->top};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    GpuArray_clear(all[i]);
}

static void sorts_that_are_wrong(arrays *x) {
  CHECK_OK(GpuArray_sort(&x->same, &x->a, -1, GA_SORT_DESCENDING));
  CHECK_OK(GpuArray_sort(&x->a, &x->a, 0, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_sort(NULL, &x->a, 0, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_sort(&x->same, NULL, 0, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_sort(&x->same, &x->a, 2, 0));
  CHECK_TEXT("sort: axis 2 is out of range for an array of 2 axes");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_sort(&x->scalar, &x->scalar, 0, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_sort(&x->wrong, &x->a, 0, 0));
  CHECK_TEXT("expected the shape (3, 4)");
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_sort(&x->places, &x->a, 0, 0));
  CHECK_TEXT("expected float32");
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_sort(&x->far, &x->a, 0, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_sort(&x->fixed, &x->a, 0, 0));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_sort(&x->same, &x->a, 0, 4));
  CHECK_OK(GpuArray_argsort(&x->places, &x->a, 0, 0));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_argsort(&x->same, &x->a, 0, 0));
  CHECK_TEXT("argsort: the result is float32 (3, 4), expected int64");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_argsort(NULL, &x->a, 0, 0));
  CHECK_STATUS(GA_INVALID_ERROR,
               GpuArray_argsort(&x->places, &x->a, 0, GA_SORT_RANDOM));
  CHECK_TEXT("argsort: flags 0x2 for float32, expected GA_SORT_RANDOM alone, and for "
             "uint64");
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_sort(&x->same, &x->a, 0, GA_SORT_RANDOM));
}

static void pairs_that_are_wrong(arrays *x) {
  GpuArray *a = &x->a, *same = &x->same, *places = &x->places;
  CHECK_OK(GpuArray_sort_pairs(same, places, a, places, 1, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_sort_pairs(NULL, places, a, places, 1, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_sort_pairs(same, NULL, a, places, 1, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_sort_pairs(same, places, NULL, places, 1, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_sort_pairs(same, places, a, NULL, 1, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_sort_pairs(same, same, a, a, 1, 0));
  CHECK_TEXT("the two results overlap");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_sort_pairs(same, a, a, &x->wrong, 1, 0));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_sort_pairs(same, a, a, places, 1, 0));
}

static void tops_that_are_wrong(arrays *x) {
  CHECK_OK(GpuArray_topk(&x->top, NULL, &x->a, 2, 1, 1, 1));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_topk(NULL, NULL, &x->a, 2, 1, 1, 1));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_topk(&x->top, NULL, &x->a, 5, 1, 1, 1));
  CHECK_TEXT("k is 5, but axis 1 has only 4 elements");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_topk(&x->top, NULL, &x->a, 3, 1, 1, 1));
  CHECK_TEXT("expected the shape (3, 3)");
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_topk(NULL, &x->top, &x->a, 2, 1, 1, 1));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_topk(&x->top, NULL, &x->a, 2, -3, 1, 1));
}

static void sizes_at_the_ends(gpucontext *ctx) {
  const size_t none[2] = {3, 0};
  GpuArray empty, places, long_axis, as_long;
  CHECK_OK(GpuArray_zeros(&empty, ctx, GA_FLOAT, 2, none, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&places, ctx, GA_LONG, 2, none, GA_C_ORDER));
  CHECK_OK(GpuArray_sort(&empty, &empty, 1, 0));
  CHECK_OK(GpuArray_argsort(&places, &empty, 0, 0));
  CHECK_OK(GpuArray_topk(&empty, &places, &empty, 0, 1, 1, 1));
  /* A view of one element, repeated: nothing is as long in memory. */
  const size_t far = (size_t)1 << 32, one = 1;
  const ssize_t still = 0;
  GpuArray element;
  CHECK_OK(GpuArray_zeros(&element, ctx, GA_BYTE, 1, &one, GA_C_ORDER));
  CHECK_OK(GpuArray_fromdata(&long_axis, element.data, 0, GA_BYTE, 1, &far, &still, 0));
  CHECK_OK(GpuArray_fromdata(&as_long, element.data, 0, GA_BYTE, 1, &far, &still, 1));
  CHECK_STATUS(GA_XLARGE_ERROR, GpuArray_sort(&as_long, &long_axis, 0, 0));
  GpuArray *all[] = {&empty, &places, &long_axis, &as_long, &element};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    GpuArray_clear(all[i]);
}

/* Short rows, long ones, an axis that must be moved, and ways to the first k. */
static int use_all(gpucontext *ctx, const size_t *shape, int axis) {
  const size_t top[2] = {shape[0], 3};
  GpuArray a = {0}, places = {0}, first = {0};
  int status = GpuArray_zeros(&a, ctx, GA_SHORT, 2, shape, GA_C_ORDER);
  if (status == GA_NO_ERROR)
    status = GpuArray_zeros(&places, ctx, GA_LONG, 2, shape, GA_C_ORDER);
  if (status == GA_NO_ERROR)
    status = GpuArray_zeros(&first, ctx, GA_SHORT, 2, top, GA_C_ORDER);
  if (status == GA_NO_ERROR)
    status = GpuArray_sort(&a, &a, axis, 0);
  if (status == GA_NO_ERROR)
    status = GpuArray_argsort(&places, &a, axis, 0);
  if (status == GA_NO_ERROR)
    status = GpuArray_topk(&first, NULL, &a, 3, 1, 1, 1);
  GpuArray_clear(&a);
  GpuArray_clear(&places);
  GpuArray_clear(&first);
  return status;
}

static int scenario(void) {
  const size_t flat[2] = {2, 40000}, high[2] = {40, 50};
  gpucontext *ctx = NULL;
  GA_TRY(gpucontext_open(&ctx, "null"));
  int status = use_all(ctx, flat, 1);
  if (status == GA_NO_ERROR)
    status = use_all(ctx, high, 0);
  gpucontext_deref(ctx);
  return status;
}

/* ---- on a device ---- */

static void check_order(gpucontext *ctx, size_t n) {
  int *x = malloc(n * sizeof *x), *got = malloc(n * sizeof *got);
  long long *at = malloc(n * sizeof *at);
  GpuArray a, places;
  for (size_t i = 0; i < n; i++)
    x[i] = (int)((i * 7919 + 13) % 1009) - 500;
  CHECK_OK(GpuArray_copy_from_host(&a, ctx, x, GA_INT, 1, &n, NULL));
  CHECK_OK(GpuArray_empty(&places, ctx, GA_LONG, 1, &n, GA_C_ORDER));
  CHECK_OK(GpuArray_argsort(&places, &a, 0, 0));
  CHECK_OK(GpuArray_read(at, n * sizeof *at, &places));
  CHECK_OK(GpuArray_sort(&a, &a, 0, 0));
  CHECK_OK(GpuArray_read(got, n * sizeof *got, &a));
  for (size_t i = 0; i < n; i++)
    CHECK(got[i] == x[at[i]]);
  for (size_t i = 1; i < n; i++)
    CHECK(got[i - 1] < got[i] || (got[i - 1] == got[i] && at[i - 1] < at[i]));
  GpuArray_clear(&a);
  GpuArray_clear(&places);
  free(x);
  free(got);
  free(at);
}

static void the_first_few(gpucontext *ctx) {
  const float x[6] = {2, 5, 1, 5, 0, 4};
  const size_t n = 6, k = 3;
  float values[3];
  long long places[3];
  GpuArray a, top, at;
  CHECK_OK(GpuArray_copy_from_host(&a, ctx, x, GA_FLOAT, 1, &n, NULL));
  CHECK_OK(GpuArray_empty(&top, ctx, GA_FLOAT, 1, &k, GA_C_ORDER));
  CHECK_OK(GpuArray_empty(&at, ctx, GA_LONG, 1, &k, GA_C_ORDER));
  CHECK_OK(GpuArray_topk(&top, &at, &a, k, 0, 1, 1));
  CHECK_OK(GpuArray_read(values, sizeof values, &top));
  CHECK_OK(GpuArray_read(places, sizeof places, &at));
  CHECK(values[0] == 5 && values[1] == 5 && values[2] == 4);
  CHECK(places[0] == 1 && places[1] == 3 && places[2] == 5);
  GpuArray_clear(&a);
  GpuArray_clear(&top);
  GpuArray_clear(&at);
}

/* Either result may be missing, whether the first k are few or many. */
static void one_result(gpucontext *ctx) {
  enum { PRIME = 10007, LENGTH = 4 * PRIME, MOST = 600 };
  const size_t n = LENGTH, counts[3] = {1, 100, MOST};
  int *x = malloc(n * sizeof *x), values[MOST];
  long long places[MOST];
  GpuArray a, top, at;
  for (size_t i = 0; i < n; i++)
    x[i] = (int)((i * 7919 + 13) % PRIME);
  CHECK_OK(GpuArray_copy_from_host(&a, ctx, x, GA_INT, 1, &n, NULL));
  for (int c = 0; c < 3; c++) {
    const size_t k = counts[c];
    CHECK_OK(GpuArray_empty(&top, ctx, GA_INT, 1, &k, GA_C_ORDER));
    CHECK_OK(GpuArray_empty(&at, ctx, GA_LONG, 1, &k, GA_C_ORDER));
    CHECK_OK(GpuArray_topk(&top, NULL, &a, k, 0, 0, 1));
    CHECK_OK(GpuArray_topk(NULL, &at, &a, k, 0, 0, 1));
    CHECK_OK(GpuArray_read(values, k * sizeof *values, &top));
    CHECK_OK(GpuArray_read(places, k * sizeof *places, &at));
    for (size_t j = 0; j < k; j++) {
      CHECK(values[j] == x[places[j]] && values[j] == (int)(j / 4));
      CHECK(j == 0 || values[j - 1] != values[j] || places[j - 1] < places[j]);
    }
    GpuArray_clear(&top);
    GpuArray_clear(&at);
  }
  GpuArray_clear(&a);
  free(x);
}

int main(void) {
  gpucontext *ctx = open_null(), *other = NULL;
  arrays x;
  CHECK_OK(gpucontext_open(&other, "null"));
  open_arrays(&x, ctx, other);
  sorts_that_are_wrong(&x);
  pairs_that_are_wrong(&x);
  tops_that_are_wrong(&x);
  clear_arrays(&x);
  sizes_at_the_ends(ctx);
  gpucontext_deref(ctx);
  gpucontext_deref(other);
  fail_allocations_of(scenario);
  if (check_failures)
    return check_result("test_sort");
  ctx = open_device();
  check_order(ctx, 100);
  check_order(ctx, 70001);
  the_first_few(ctx);
  one_result(ctx);
  gpucontext_deref(ctx);
  return check_result("test_sort");
}
