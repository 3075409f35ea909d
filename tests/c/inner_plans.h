/* A plan that another one runs. */
#ifndef GA_TESTS_INNER_PLANS_H
#define GA_TESTS_INNER_PLANS_H

#include "null_plan.h"

#include <gpuarray/function.h>

enum { N = 5 };

static void new_vector(GpuArray *a, gpucontext *ctx, float first) {
  float values[N];
  for (int i = 0; i < N; i++)
    values[i] = first + (float)i;
  const size_t n = N;
  CHECK_OK(GpuArray_copy_from_host(a, ctx, values, GA_FLOAT, 1, &n, NULL));
}

static bool has(const GpuArray *a, float first) {
  float values[N] = {0};
  CHECK_OK(GpuArray_read(values, sizeof values, a));
  for (int i = 0; i < N; i++)
    if (values[i] != first + (float)i)
      return false;
  return true;
}

/* x (N,): a copy of a copy of x. */
static int make_copier(GpuPlan **plan, gpucontext *ctx) {
  unsigned int x = 0, once = 0, twice = 0;
  GpuPlan *p = NULL;
  int status = GpuPlan_new(&p, ctx, "inner");
  STEP(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  STEP(GpuPlan_copy(p, &once, "once", x));
  STEP(GpuPlan_copy(p, &twice, "twice", once));
  STEP(GpuPlan_output(p, twice));
  return give_plan(plan, p, status);
}

/* x (N,): what `function` makes of it; two results if `n_out` is that. */
static int make_caller(GpuPlan **plan, gpucontext *ctx, gpuplan_function function,
                       void *data, unsigned int n_out) {
  unsigned int x = 0, made[2] = {0, 0};
  const gpuplan_type types[2] = {{GA_FLOAT, 1}, {GA_FLOAT, 1}};
  GpuPlan *p = NULL;
  int status = GpuPlan_new(&p, ctx, "outer");
  STEP(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  STEP(GpuPlan_function(p, made, "calls", function, data, 1, &x, n_out, types, NULL));
  for (unsigned int i = 0; i < n_out; i++)
    STEP(GpuPlan_output(p, made[i]));
  return give_plan(plan, p, status);
}

static int run_one(GpuPlan *p, GpuArray *out, const GpuArray *x) {
  return GpuPlan_run(p, (GpuArray *[]){out}, (const GpuArray *[]){x}, NULL);
}

/* Runs the plan of one result on vectors of its own, whose results are all kept. */
static void check_runs(GpuPlan *p, gpucontext *ctx) {
  enum { RUNS = 3 };
  GpuArray xs[RUNS], outs[RUNS] = {{0}};
  for (int i = 0; i < RUNS; i++) {
    new_vector(&xs[i], ctx, 10.0f * (float)i);
    CHECK_OK(run_one(p, &outs[i], &xs[i]));
  }
  for (int i = 0; i < RUNS; i++) {
    if (outs[i].data != NULL)
      CHECK(has(&outs[i], 10.0f * (float)i));
    GpuArray_clear(&xs[i]);
    GpuArray_clear(&outs[i]);
  }
}

/* ---- bound inside ---- */

typedef struct inner {
  GpuPlan *plan;
  gpucontext *other; /* of another plan, or NULL */
} inner;

/* ---- run inside ---- */

static int run_inner(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                     const long long *ints) {
  const inner *in = data;
  GpuArray between;
  (void)ints;
  int status = GpuArray_copy(&between, ins[0], GA_C_ORDER);
  STEP(run_one(in->plan, outs[0], &between));
  GpuArray_clear(&between);
  return status;
}

#endif
