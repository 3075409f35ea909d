/* Plans that a step's function of another plan binds, runs, loads or makes: on the null
 * backend, where what is only moved has values. */
#include "inner_plans.h"

/* ---- bound inside ---- */

static int bind_and_copy(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                         const long long *ints) {
  const inner *in = data;
  (void)ints;
  int status = GpuPlan_bind(in->plan, ins, NULL);
  return status == GA_NO_ERROR ? GpuArray_copy(outs[0], ins[0], GA_C_ORDER) : status;
}

static void test_bound_inside(gpucontext *ctx) {
  inner in = {0};
  GpuPlan *p = NULL;
  CHECK_OK(make_copier(&in.plan, ctx));
  CHECK_OK(make_caller(&p, ctx, bind_and_copy, &in, 1));
  check_runs(p, ctx);
  CHECK(info_of(in.plan).n_binds == 1);
  check_runs(in.plan, ctx);
  CHECK(info_of(in.plan).n_binds == 1);
  GpuPlan_free(p);
  GpuPlan_free(in.plan);
}

/* ---- run inside ---- */

static void test_first_run_inside(gpucontext *ctx) {
  inner in = {0};
  GpuPlan *p = NULL;
  CHECK_OK(make_copier(&in.plan, ctx));
  CHECK_OK(make_caller(&p, ctx, run_inner, &in, 1));
  check_runs(p, ctx);
  CHECK(info_of(p).n_binds == 1);
  check_runs(in.plan, ctx);
  check_runs(p, ctx);
  GpuPlan_free(in.plan); /* what was recorded of it is the other's */
  check_runs(p, ctx);
  GpuPlan_free(p);
}

static void test_bound_before_and_run_inside(gpucontext *ctx) {
  inner in = {0};
  GpuPlan *p = NULL;
  CHECK_OK(make_copier(&in.plan, ctx));
  CHECK_OK(GpuPlan_hold(in.plan, 1));
  check_runs(in.plan, ctx);
  CHECK_OK(make_caller(&p, ctx, run_inner, &in, 1));
  check_runs(p, ctx);
  check_runs(in.plan, ctx);
  check_runs(p, ctx);
  GpuPlan_free(p);
  GpuPlan_free(in.plan);
}

/* Three deep. */
static void test_run_inside_of_what_runs_inside(gpucontext *ctx) {
  inner in = {0}, middle = {0};
  GpuPlan *p = NULL;
  CHECK_OK(make_copier(&in.plan, ctx));
  CHECK_OK(make_caller(&middle.plan, ctx, run_inner, &in, 1));
  CHECK_OK(make_caller(&p, ctx, run_inner, &middle, 1));
  check_runs(p, ctx);
  check_runs(middle.plan, ctx);
  check_runs(in.plan, ctx);
  check_runs(p, ctx);
  GpuPlan_free(p);
  GpuPlan_free(middle.plan);
  GpuPlan_free(in.plan);
}

/* The inner plan is of another context: it has run when the function goes on. */
static int run_elsewhere(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                         const long long *ints) {
  const inner *in = data;
  GpuArray x, found = {0};
  (void)ints;
  new_vector(&x, in->other, 7);
  int status = run_one(in->plan, &found, &x);
  if (status == GA_NO_ERROR)
    CHECK(has(&found, 7));
  GpuArray_clear(&found);
  GpuArray_clear(&x);
  STEP(GpuArray_copy(outs[0], ins[0], GA_C_ORDER));
  return status;
}

static void test_a_plan_of_another_context(gpucontext *ctx) {
  inner in = {0};
  GpuPlan *p = NULL;
  CHECK_OK(gpucontext_open(&in.other, "null"));
  CHECK_OK(make_copier(&in.plan, in.other));
  CHECK_OK(make_caller(&p, ctx, run_elsewhere, &in, 1));
  check_runs(p, ctx);
  GpuPlan_free(p);
  GpuPlan_free(in.plan);
  gpucontext_deref(in.other);
}

/* ---- what cannot be recorded ---- */

static void test_a_plan_that_waits(gpucontext *ctx) {
  inner in = {0};
  GpuPlan *p = NULL;
  GpuArray x, out = {0};
  int failed = -1;
  new_vector(&x, ctx, 1);
  CHECK_OK(make_copier(&in.plan, ctx));
  CHECK_OK(GpuPlan_confirm(in.plan));
  CHECK_OK(make_caller(&p, ctx, run_inner, &in, 1));
  CHECK_STATUS(GA_UNSUPPORTED_ERROR,
               GpuPlan_run(p, (GpuArray *[]){&out}, (const GpuArray *[]){&x}, &failed));
  CHECK_TEXT("GpuPlan_defer");
  CHECK(failed == 0 && out.data == NULL);
  check_runs(in.plan, ctx);
  GpuPlan_free(p);
  GpuPlan_free(in.plan);
  GpuArray_clear(&x);
}

/* v (1,) of int64, x: the first v[0] elements of x. */
static GpuPlan *make_reader(gpucontext *ctx) {
  unsigned int x, v, end, part, copied;
  const int form = GP_INDEX_SLICE + GP_INDEX_STOP;
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "reader"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_input(p, &v, GA_LONG, 1, 0));
  CHECK_OK(GpuPlan_read(p, &end, "read", v, 1));
  CHECK_OK(GpuPlan_index(p, &part, "part", x, 1, &form, &end));
  CHECK_OK(GpuPlan_copy(p, &copied, "copy", part));
  CHECK_OK(GpuPlan_output(p, copied));
  return p;
}

typedef struct reading {
  GpuPlan *plan;
  const GpuArray *length; /* NULL: one without memory */
} reading;

static int run_reader(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                      const long long *ints) {
  const reading *r = data;
  GpuArray none = {0};
  const size_t one = 1;
  (void)ints;
  int status = GA_NO_ERROR;
  if (r->length == NULL)
    status =
        GpuArray_zeros(&none, GpuArray_context(ins[0]), GA_LONG, 1, &one, GA_C_ORDER);
  const GpuArray *given[2] = {ins[0], r->length ? r->length : &none};
  STEP(GpuPlan_run(r->plan, outs, given, NULL));
  GpuArray_clear(&none);
  return status;
}

/* What is read must be there: an array that the function has from elsewhere. */
static void test_a_plan_that_reads(gpucontext *ctx) {
  const long long three = 3;
  const size_t one = 1;
  GpuArray x, length, out = {0};
  GpuPlan *p = NULL;
  new_vector(&x, ctx, 1);
  CHECK_OK(GpuArray_copy_from_host(&length, ctx, &three, GA_LONG, 1, &one, NULL));
  reading r = {make_reader(ctx), NULL};
  CHECK_OK(make_caller(&p, ctx, run_reader, &r, 1));
  CHECK_STATUS(GA_UNSUPPORTED_ERROR, run_one(p, &out, &x));
  CHECK(out.data == NULL);
  r.length = &length;
  for (int i = 0; i < 2; i++) {
    CHECK_OK(run_one(p, &out, &x));
    CHECK(out.nd == 1 && out.dimensions[0] == 3);
    GpuArray_clear(&out);
    const GpuArray *given[2] = {&x, &length};
    CHECK_OK(GpuPlan_run(r.plan, (GpuArray *[]){&out}, given, NULL));
    GpuArray_clear(&out);
  }
  GpuPlan_free(p);
  GpuPlan_free(r.plan);
  GpuArray_clear(&length);
  GpuArray_clear(&x);
}

static int run_itself(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                      const long long *ints) {
  GpuPlan *const *own = data;
  (void)ints;
  CHECK(info_of(*own).n_steps == 1);
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_bind(*own, ins, NULL));
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_keep(*own, 1));
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_hold(*own, 1));
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_save(*own, "/nowhere/plan"));
  return GpuPlan_run(*own, outs, ins, NULL);
}

static void test_a_plan_that_runs_itself(gpucontext *ctx) {
  GpuPlan *p = NULL;
  GpuArray x, out = {0};
  new_vector(&x, ctx, 1);
  CHECK_OK(make_caller(&p, ctx, run_itself, &p, 1));
  CHECK_STATUS(GA_INVALID_ERROR, run_one(p, &out, &x));
  CHECK_TEXT("outer is running on this thread");
  CHECK(info_of(p).n_binds == 0);
  GpuPlan_free(p);
  GpuArray_clear(&x);
}

/* ---- files ---- */

static int trial(gpucontext *ctx) {
  inner in = {0};
  GpuPlan *p = NULL;
  GpuArray x = {0}, out = {0};
  const size_t n = N;
  int status = make_copier(&in.plan, ctx);
  STEP(make_caller(&p, ctx, run_inner, &in, 1));
  STEP(GpuArray_zeros(&x, ctx, GA_FLOAT, 1, &n, GA_C_ORDER));
  STEP(run_one(p, &out, &x));
  GpuArray_clear(&out);
  GpuArray_clear(&x);
  GpuPlan_free(p);
  GpuPlan_free(in.plan);
  return status;
}

int main(void) {
  gpucontext *ctx = open_null();
  test_bound_inside(ctx);
  test_first_run_inside(ctx);
  test_bound_before_and_run_inside(ctx);
  test_run_inside_of_what_runs_inside(ctx);
  test_a_plan_of_another_context(ctx);
  test_a_plan_that_waits(ctx);
  test_a_plan_that_reads(ctx);
  test_a_plan_that_runs_itself(ctx);
  fail_each_allocation(trial, ctx);
  gpucontext_deref(ctx);
  return check_result("plan_within");
}
