/* Choices by time for the convolutions of a plan: a mock of NVRTC whose compilations
 * wait for each other. */
#include "mock_context.h"

#include <gpuarray/dnn.h>
#include <gpuarray/plan.h>

enum { CHANNELS = 64, SIDE = 3, LAYERS = 2 };

static gpucontext *ctx;

static unsigned int add_layer(GpuPlan *p, unsigned int image) {
  const long long params[20] = {2, 1, 0, 1, 1, 1, 1, 1, 1};
  const gpuplan_type type = {GA_FLOAT, 4};
  unsigned int filters, y;
  CHECK_OK(GpuPlan_input(p, &filters, GA_FLOAT, 4, 0));
  gpuplan_routine conv = {.size = sizeof conv,
                          .label = "conv",
                          .name = "conv",
                          .n_in = 2,
                          .ins = (const unsigned int[]){image, filters},
                          .n_params = 20,
                          .params = params,
                          .n_out = 1,
                          .results = &type};
  CHECK_OK(GpuPlan_routine(p, &y, &conv));
  return y;
}

/* Each layer has another kernel, for its number of results, and for the sums of its
 * terms, which are split, the same one. */
static void run_plan(void) {
  const size_t dims[] = {1, CHANNELS, SIDE, SIDE};
  GpuPlan *p;
  GpuArray arrays[1 + LAYERS], outs[LAYERS] = {{0}};
  const GpuArray *ins[1 + LAYERS];
  GpuArray *results[LAYERS];
  unsigned int image;
  CHECK_OK(GpuPlan_new(&p, ctx, "layers"));
  CHECK_OK(GpuPlan_input(p, &image, GA_FLOAT, 4, 0));
  CHECK_OK(GpuArray_zeros(&arrays[0], ctx, GA_FLOAT, 4, dims, GA_C_ORDER));
  for (size_t i = 0; i < LAYERS; i++) {
    const size_t shape[] = {8 << i, CHANNELS, 3, 3};
    CHECK_OK(GpuPlan_output(p, add_layer(p, image)));
    CHECK_OK(GpuArray_zeros(&arrays[1 + i], ctx, GA_FLOAT, 4, shape, GA_C_ORDER));
    results[i] = &outs[i];
  }
  for (size_t i = 0; i <= LAYERS; i++)
    ins[i] = &arrays[i];
  CHECK_OK(GpuPlan_prepare(p));
  CHECK_OK(GpuPlan_run(p, results, ins, NULL));
  for (size_t i = 0; i < LAYERS; i++) {
    CHECK(outs[i].dimensions[1] == (size_t)8 << i);
    GpuArray_clear(&outs[i]);
  }
  for (size_t i = 0; i <= LAYERS; i++)
    GpuArray_clear(&arrays[i]);
  GpuPlan_free(p);
}

int main(void) {
  open_mock();
  unsetenv("GPUARRAY_DNN");
  ctx = open_cuda("cuda0");
  mock->together = LAYERS + 1;
  run_plan();
  CHECK(mock->met == LAYERS + 1 && mock->alone == 0);
  mock->together = 0;
  gpucontext_deref(ctx);
  check_given_back();
  return check_result("choices of a plan's convolutions");
}
