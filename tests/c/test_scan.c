/* Scans: bad arguments, ownership and failing allocations on the null device; values on
 * a device. */
#include "device_context.h"
#include "failing_allocations.h"
#include "null_context.h"

#include <gpuarray/scan.h>

#include "c/array/array.h"

static const size_t dims[2] = {3, 4};

static gpuscan_spec spec_of_sum(void) {
  return (gpuscan_spec){.size = sizeof(gpuscan_spec),
                        .map = "x",
                        .combine = "a + b",
                        .identity = "0",
                        .acc_typecode = GA_FLOAT,
                        .out_typecode = GA_FLOAT,
                        .input = {"x", GA_FLOAT, GE_READ}};
}

static void check_refused(gpucontext *ctx, gpuscan_spec spec, int status) {
  int got = GA_NO_ERROR;
  CHECK(GpuScan_new(ctx, &spec, &got) == NULL);
  CHECK(got == status);
}

static void specs_that_are_wrong(gpucontext *ctx) {
  gpuscan_spec spec = spec_of_sum();
  int status = GA_NO_ERROR;
  CHECK(GpuScan_new(NULL, &spec, &status) == NULL && status == GA_VALUE_ERROR);
  CHECK(GpuScan_new(ctx, NULL, &status) == NULL && status == GA_VALUE_ERROR);
  CHECK(GpuScan_new(ctx, NULL, NULL) == NULL);
  spec.size = 1;
  check_refused(ctx, spec, GA_INVALID_ERROR);
  spec = spec_of_sum();
  spec.map = NULL;
  check_refused(ctx, spec, GA_VALUE_ERROR);
  CHECK_TEXT("one is NULL");
  spec = spec_of_sum();
  spec.input.flags = GE_WRITE;
  check_refused(ctx, spec, GA_INVALID_ERROR);
  spec = spec_of_sum();
  spec.acc_typecode = GA_QUAD;
  CHECK(GpuScan_new(ctx, &spec, &status) == NULL && status != GA_NO_ERROR);
  GpuScan_free(NULL);
}

static void arguments_that_are_wrong(gpucontext *ctx, gpucontext *other) {
  const size_t turned[2] = {4, 3};
  GpuArray a, out, far, whole, scalar, wrong, fixed;
  gpuscan_spec spec = spec_of_sum();
  GpuScan *gs = GpuScan_new(ctx, &spec, NULL);
  CHECK(gs != NULL);
  CHECK_OK(GpuArray_zeros(&a, ctx, GA_FLOAT, 2, dims, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&out, ctx, GA_FLOAT, 2, dims, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&wrong, ctx, GA_FLOAT, 2, turned, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&whole, ctx, GA_INT, 2, dims, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&scalar, ctx, GA_FLOAT, 0, NULL, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&far, other, GA_FLOAT, 2, dims, GA_C_ORDER));
  CHECK_OK(GpuArray_view(&fixed, &out));
  fixed.flags &= ~GA_WRITEABLE;

  CHECK_OK(GpuScan_call(gs, &out, &a, -2, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuScan_call(NULL, &out, &a, 0, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuScan_call(gs, NULL, &a, 0, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuScan_call(gs, &out, NULL, 0, 0));
  CHECK_STATUS(GA_INVALID_ERROR, GpuScan_call(gs, &out, &a, 0, 8));
  CHECK_STATUS(GA_VALUE_ERROR, GpuScan_call(gs, &out, &a, 2, 0));
  CHECK_TEXT("axis 2 is out of range for an array of 2 axes; expected -2 to 1");
  CHECK_STATUS(GA_VALUE_ERROR, GpuScan_call(gs, &out, &a, -3, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuScan_call(gs, &scalar, &scalar, 0, 0));
  CHECK_TEXT("0-d");
  CHECK_STATUS(GA_VALUE_ERROR, GpuScan_call(gs, &wrong, &a, 0, 0));
  CHECK_TEXT("expected one shape");
  CHECK_STATUS(GA_INVALID_ERROR, GpuScan_call(gs, &whole, &a, 0, 0));
  CHECK_TEXT("the result is int32 (3, 4), expected float32");
  CHECK_STATUS(GA_INVALID_ERROR, GpuScan_call(gs, &out, &whole, 0, 0));
  CHECK_STATUS(GA_INVALID_ERROR, GpuScan_call(gs, &far, &a, 0, 0));
  CHECK_TEXT("transfer it first");
  CHECK_STATUS(GA_VALUE_ERROR, GpuScan_call(gs, &fixed, &a, 0, 0));
  CHECK(GpuArray_cumsum(NULL, &a, 0, 0) != GA_NO_ERROR);
  CHECK(GpuArray_cumsum(&out, NULL, 0, 0) != GA_NO_ERROR);
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_cumprod(&out, &a, 5, 0));
  CHECK_TEXT("cumprod: scan: axis 5");
  CHECK_OK(GpuArray_cumsum(&whole, &a, 0, GA_SCAN_REVERSE));

  GpuScan_free(gs);
  GpuArray *all[] = {&a, &out, &far, &whole, &scalar, &wrong, &fixed};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    GpuArray_clear(all[i]);
}

static void nothing_to_scan(gpucontext *ctx) {
  const size_t none[2] = {0, 4};
  GpuArray a;
  CHECK_OK(GpuArray_zeros(&a, ctx, GA_FLOAT, 2, none, GA_C_ORDER));
  CHECK_OK(GpuArray_cumsum(&a, &a, 0, 0));
  CHECK_OK(GpuArray_cummax(&a, &a, 1, GA_SCAN_REVERSE));
  GpuArray_clear(&a);
}

/* A long axis, a wide array, overlap: every way that takes memory. */
static int scenario(void) {
  gpucontext *ctx = NULL;
  const size_t length = 70000;
  GpuArray a = {0}, head = {0}, rest = {0};
  GA_TRY(gpucontext_open(&ctx, "null"));
  int status = GpuArray_zeros(&a, ctx, GA_FLOAT, 1, &length, GA_C_ORDER);
  if (status == GA_NO_ERROR)
    status = GpuArray_cumsum(&a, &a, 0, 0);
  if (status == GA_NO_ERROR) {
    const ssize_t starts[2] = {0, 1}, stops[2] = {69999, 70000}, steps[1] = {1};
    status = GpuArray_index(&head, &a, &starts[0], &stops[0], steps);
    if (status == GA_NO_ERROR)
      status = GpuArray_index(&rest, &a, &starts[1], &stops[1], steps);
  }
  if (status == GA_NO_ERROR)
    status = GpuArray_cummin(&rest, &head, 0, GA_SCAN_EXCLUSIVE);
  GpuArray_clear(&a);
  GpuArray_clear(&head);
  GpuArray_clear(&rest);
  gpucontext_deref(ctx);
  return status;
}

static void values(gpucontext *ctx) {
  const int x[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const long long down[12] = {1, 2, 3, 4, 6, 8, 10, 12, 15, 18, 21, 24};
  const long long back[12] = {9, 7, 4, 0, 21, 15, 8, 0, 33, 23, 12, 0};
  long long got[12];
  GpuArray a, out;
  CHECK_OK(GpuArray_copy_from_host(&a, ctx, x, GA_INT, 2, dims, NULL));
  CHECK_OK(GpuArray_empty(&out, ctx, GA_LONG, 2, dims, GA_F_ORDER));
  GpuArray copy;
  CHECK_OK(GpuArray_cumsum(&out, &a, 0, 0));
  CHECK_OK(GpuArray_copy(&copy, &out, GA_C_ORDER));
  CHECK_OK(GpuArray_read(got, sizeof got, &copy));
  CHECK(memcmp(got, down, sizeof got) == 0);
  GpuArray_clear(&copy);
  CHECK_OK(GpuArray_cumsum(&out, &a, -1, GA_SCAN_REVERSE | GA_SCAN_EXCLUSIVE));
  CHECK_OK(GpuArray_copy(&copy, &out, GA_C_ORDER));
  CHECK_OK(GpuArray_read(got, sizeof got, &copy));
  CHECK(memcmp(got, back, sizeof got) == 0);
  GpuArray_clear(&copy);
  GpuArray_clear(&a);
  GpuArray_clear(&out);
}

/* The order of what is combined is that of the elements: "b" keeps the last one. */
static void a_monoid_that_does_not_commute(gpucontext *ctx) {
  const size_t n = 5000;
  float *x = calloc(n, sizeof *x), *got = calloc(n, sizeof *got);
  for (size_t i = 0; i < n; i++)
    x[i] = i % 7 == 0 ? (float)i + 1 : 0;
  gpuscan_spec spec = spec_of_sum();
  spec.combine = "b != 0 ? b : a"; /* the latest that is not 0 */
  GpuScan *gs = GpuScan_new(ctx, &spec, NULL);
  GpuArray a;
  CHECK_OK(GpuArray_copy_from_host(&a, ctx, x, GA_FLOAT, 1, &n, NULL));
  CHECK_OK(GpuScan_call(gs, &a, &a, 0, 0));
  CHECK_OK(GpuArray_read(got, n * sizeof *got, &a));
  for (size_t i = 0; i < n; i++)
    CHECK(got[i] == (float)(i - i % 7) + 1);
  GpuArray_clear(&a);
  GpuScan_free(gs);
  free(x);
  free(got);
}

int main(void) {
  gpucontext *ctx = open_null(), *other = NULL;
  CHECK_OK(gpucontext_open(&other, "null"));
  specs_that_are_wrong(ctx);
  arguments_that_are_wrong(ctx, other);
  nothing_to_scan(ctx);
  gpucontext_deref(ctx);
  gpucontext_deref(other);
  fail_allocations_of(scenario);
  if (check_failures)
    return check_result("test_scan");
  ctx = open_device();
  values(ctx);
  a_monoid_that_does_not_commute(ctx);
  gpucontext_deref(ctx);
  return check_result("test_scan");
}
