/* Results of convolutions by cuDNN with what alone reads them, on a mock of it. */
#include "mock_context.h"

#include <stdlib.h>
#include <string.h>

#include <gpuarray/plan.h>

enum { BATCH = 2, CHANNELS = 3, RESULTS = 20, SIDE = 4, MOST = 4 };
enum { PLACES = SIDE * SIDE, COUNT = BATCH * RESULTS * PLACES };

static gpucontext *ctx;
/* What reads the result, and what the step of the convolution is told of it. */
typedef struct reader {
  const char *expr;
  long long numbers[5];
  bool has_bias, has_residual, is_relu;
} reader;

static float image[BATCH * CHANNELS * PLACES], filters[RESULTS * CHANNELS];
static float bias[RESULTS], residual[COUNT], scale[RESULTS], centre[RESULTS];

static void fill(float *values, size_t n, int step) {
  for (size_t i = 0; i < n; i++)
    values[i] = (float)((int)(i * (size_t)step % 11) - 5);
}

/* Filters of one element, so that the sums are simple. */
static float right_of(const reader *r, size_t i) {
  const size_t n = i / (RESULTS * PLACES), k = i / PLACES % RESULTS, at = i % PLACES;
  float sum = r->has_bias ? bias[k] : 0;
  for (size_t c = 0; c < CHANNELS; c++)
    sum += image[(n * CHANNELS + c) * PLACES + at] * filters[k * CHANNELS + c];
  sum += r->has_residual ? residual[i] : 0;
  return r->is_relu && sum < 0 ? 0 : sum;
}

static GpuPlan *make_plan(const reader *r) {
  const long long params[20] = {2,
                                1,
                                0,
                                1,
                                1,
                                1,
                                1,
                                1,
                                1,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                r->numbers[0],
                                r->numbers[1],
                                r->numbers[2],
                                r->numbers[3],
                                r->numbers[4]};
  const gpuplan_type type = {GA_FLOAT, 4};
  GpuPlan *p;
  unsigned int x, w, b, z, s, c, y, out;
  CHECK_OK(GpuPlan_new(&p, ctx, "readers"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 4, 0));
  CHECK_OK(GpuPlan_input(p, &w, GA_FLOAT, 4, 12));
  CHECK_OK(GpuPlan_input(p, &b, GA_FLOAT, 4, 13));
  CHECK_OK(GpuPlan_input(p, &z, GA_FLOAT, 4, 0));
  CHECK_OK(GpuPlan_input(p, &s, GA_FLOAT, 4, 13));
  CHECK_OK(GpuPlan_input(p, &c, GA_FLOAT, 4, 13));
  const unsigned int both[2] = {x, w};
  gpuplan_routine conv = {.size = sizeof conv,
                          .label = "conv",
                          .name = "conv",
                          .n_in = 2,
                          .ins = both,
                          .n_params = 20,
                          .params = params,
                          .n_out = 1,
                          .results = &type};
  CHECK_OK(GpuPlan_routine(p, &y, &conv));
  const unsigned int ins[] = {y, b, z, s, c};
  const gpuelemwise_arg outs[] = {{"o", GA_FLOAT, GE_WRITE}};
  const gpuelemwise_arg args[] = {{"y", GA_FLOAT, GE_READ},
                                  {"b", GA_FLOAT, GE_READ},
                                  {"z", GA_FLOAT, GE_READ},
                                  {"s", GA_FLOAT, GE_READ},
                                  {"c", GA_FLOAT, GE_READ}};
  const unsigned int stretch[] = {0, 13, 0, 13, 13};
  const int over[] = {-1};
  gpuplan_elemwise step = {.size = sizeof step,
                           .label = "reader",
                           .expr = r->expr,
                           .n_out = 1,
                           .out_args = outs,
                           .inplace = over,
                           .n_in = 5,
                           .in_args = args,
                           .ins = ins,
                           .stretch = stretch};
  CHECK_OK(GpuPlan_elemwise(p, &out, &step));
  CHECK_OK(GpuPlan_output(p, out));
  return p;
}

static GpuArray upload(float *values, const size_t dims[4]) {
  GpuArray a;
  CHECK_OK(GpuArray_empty(&a, ctx, GA_FLOAT, 4, dims, GA_C_ORDER));
  CHECK_OK(GpuArray_write(&a, values, 4 * dims[0] * dims[1] * dims[2] * dims[3]));
  return a;
}

static const size_t shapes[6][4] = {
    {BATCH, CHANNELS, SIDE, SIDE}, {RESULTS, CHANNELS, 1, 1}, {1, RESULTS, 1, 1},
    {BATCH, RESULTS, SIDE, SIDE},  {1, RESULTS, 1, 1},        {1, RESULTS, 1, 1}};

/* Runs a plan, often enough for a graph, and counts launches of kernels. */
static long run(const reader *r, float *found) {
  float *const values[6] = {image, filters, bias, residual, scale, centre};
  GpuPlan *p = make_plan(r);
  GpuArray arrays[6], result = {0};
  for (int i = 0; i < 6; i++)
    arrays[i] = upload(values[i], shapes[i]);
  const GpuArray *const ins[] = {&arrays[0], &arrays[1], &arrays[2],
                                 &arrays[3], &arrays[4], &arrays[5]};
  long launches = 0;
  for (int turn = 0; turn < 4; turn++) {
    const long before = mock->launches;
    GpuArray_clear(&result);
    CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&result}, (const GpuArray **)ins, NULL));
    CHECK_OK(gpucontext_sync(ctx));
    launches = mock->launches - before;
  }
  CHECK_OK(GpuArray_read(found, COUNT * sizeof *found, &result));
  GpuArray_clear(&result);
  for (int i = 0; i < 6; i++)
    GpuArray_clear(&arrays[i]);
  GpuPlan_free(p);
  return launches;
}

static void test_readers(void) {
  static const reader readers[] = {
      {"o = y + b", {1, 2, 0}, true, false, false},
      {"o = y + z", {1, 0, 3}, false, true, false},
      {"o = y + b + z", {1, 2, 3}, true, true, false},
      {"o = max(0, y)", {2, 0, 0}, false, false, true},
      {"o = max(0, y + b)", {2, 2, 0}, true, false, true},
      {"o = max(0, y + b + z)", {2, 2, 3}, true, true, true}};
  static float found[COUNT];
  for (size_t k = 0; k < sizeof readers / sizeof *readers; k++) {
    const long executions = mock->convolutions;
    CHECK(run(&readers[k], found) == 0);
    CHECK(mock->convolutions > executions);
    for (size_t i = 0; i < COUNT; i++)
      CHECK(found[i] == right_of(&readers[k], i));
  }
}

/* A scale is folded into the filters, with a centre into the bias: the mock runs no
 * kernels, so their launches are counted. */
static void test_folded_scales(void) {
  static const reader by_scale = {.expr = "o = y * s + z", .numbers = {1, 0, 3, 4, 0}};
  static const reader by_both = {.expr = "o = (y - c) * s + b",
                                 .numbers = {1, 2, 0, 4, 5}};
  static const reader without_bias = {.expr = "o = (y - c) * s",
                                      .numbers = {1, 0, 0, 4, 5}};
  static float found[COUNT];
  const long executions = mock->convolutions;
  CHECK(run(&by_scale, found) == 1);
  CHECK(run(&by_both, found) == 2);
  CHECK(mock->convolutions > executions);
  CHECK(run(&without_bias, found) == 1); /* a pass over the result */
}

/* What a step is not told of, or what is no argument, is a launch of its own. */
static void test_other_readers(void) {
  static const reader others[] = {{"o = y * b", {0, 0, 0}, true, false, false},
                                  {"o = y + b", {1, 9, 0}, true, false, false},
                                  {"o = y + z", {1, 0, 1}, false, true, false}};
  static float found[COUNT];
  for (size_t k = 0; k < sizeof others / sizeof *others; k++)
    CHECK(run(&others[k], found) == 1);
}

int main(void) {
  open_mock();
  setenv("GPUARRAY_DNN", "vendor", 1);
  fill(image, sizeof image / sizeof *image, 3);
  fill(filters, sizeof filters / sizeof *filters, 5);
  fill(bias, RESULTS, 7);
  fill(residual, COUNT, 4);
  ctx = open_cuda("cuda0");
  test_readers();
  test_folded_scales();
  test_other_readers();
  gpucontext_deref(ctx);
  check_given_back();
  return check_result("test_cuda_conv_readers");
}
