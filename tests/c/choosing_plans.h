/* Plans that choose a value by a condition on the device. */
#ifndef GA_TESTS_CHOOSING_PLANS_H
#define GA_TESTS_CHOOSING_PLANS_H

#include "device_context.h"
#include "elemwise_step.h"
#include "float_sum.h"

#include "c/backend/backend.h"
#include "c/device/context.h"
#include "c/tape/record_replay.h"

#include <gpuarray/plan.h>
#include <string.h>

#define LENGTH 5

static bool chooses(void *device) {
  (void)device;
  return true;
}

static ga_backend choosing;
static const ga_backend *plain;

static void choose(gpucontext *ctx, bool on) {
  choosing = *plain;
  choosing.graph_chooses = chooses;
  ctx->backend = on ? &choosing : plain;
}

/* An elementwise step of one input. */
static unsigned int apply(GpuPlan *p, const char *expr, unsigned int x, int result,
                          int over) {
  unsigned int out = 0;
  CHECK_OK(add_step(p, &out, expr, expr, x, GA_FLOAT, result, over));
  return out;
}

/* Whether the sum of x is positive, on the device. */
static unsigned int positive(GpuPlan *p, unsigned int x) {
  const gpuelemwise_arg in = {"x", GA_FLOAT, GE_READ};
  const gpureduction_spec spec = float_sum(&in);
  const unsigned int none = 0;
  unsigned int sum;
  CHECK_OK(GpuPlan_reduce(p, &sum, "sum", &spec, &x, &none, 1));
  return apply(p, "y = x > 0", sum, GA_BOOL, -1);
}

/* The same as a condition. */
static unsigned int is_positive(GpuPlan *p, unsigned int x) {
  unsigned int c;
  CHECK_OK(GpuPlan_read(p, &c, "read", positive(p, x), 1));
  return c;
}

/* ---- random plans ---- */

static void run(float found[2][LENGTH], GpuPlan *p, const GpuArray *const ins[2]) {
  GpuArray outs[2] = {{0}}, whole = {0};
  CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&outs[0], &outs[1]}, ins, NULL));
  for (int i = 0; i < 2; i++) {
    CHECK_OK(GpuArray_copy(&whole, &outs[i], GA_C_ORDER));
    CHECK_OK(GpuArray_read(found[i], sizeof found[i], &whole));
    GpuArray_clear(&whole);
    GpuArray_clear(&outs[i]);
  }
}

#endif
