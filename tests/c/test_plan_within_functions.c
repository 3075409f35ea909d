/* Functions and files of plans that run inside others. */
#include "inner_plans.h"

/* ---- functions ---- */

/* x: x plus a kept vector would need kernels; here it is the kept one, which becomes x
 * where `updates`. */
static GpuFunction *make_function(const GpuArray *start, bool updates, GpuPlan **plan) {
  unsigned int x, w, copied, next;
  GpuFunction *f = NULL;
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, GpuArray_context(start), "function"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_input(p, &w, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_copy(p, &copied, "kept", w));
  CHECK_OK(GpuPlan_copy(p, &next, "next", x));
  CHECK_OK(GpuPlan_output(p, copied));
  CHECK_OK(GpuPlan_output(p, next));
  const gpufunction_value value = {
      .name = "w", .start = start, .input = 1, .output = updates ? 1 : -1};
  const gpufunction_spec spec = {.size = sizeof spec, .n_values = 1, .values = &value};
  CHECK_OK(GpuFunction_new(&f, p, &spec));
  *plan = p;
  return f;
}

typedef struct maker {
  GpuArray start;
  GpuFunction *f;
  GpuPlan *plan;
  bool updates;
} maker;

/* Makes the function when it is first asked. */
static int make_and_call(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                         const long long *ints) {
  maker *m = data;
  GpuArray next = {0};
  (void)ints;
  if (m->f == NULL)
    m->f = make_function(&m->start, m->updates, &m->plan);
  GpuArray *made[2] = {outs[0], &next};
  int status = GpuFunction_call(m->f, made, ins, NULL);
  GpuArray_clear(&next);
  return status;
}

static void test_a_function_made_inside(gpucontext *ctx) {
  maker m = {0};
  GpuPlan *p = NULL;
  GpuArray x, w, out = {0}, next = {0};
  new_vector(&x, ctx, 1);
  new_vector(&m.start, ctx, 20);
  /* The function's plan is made where new buffers have no memory. */
  CHECK_OK(make_caller(&p, ctx, make_and_call, &m, 1));
  int status = run_one(p, &out, &x);
  CHECK_OK(status);
  if (status == GA_NO_ERROR)
    CHECK(has(&out, 20));
  CHECK_OK(GpuFunction_get(m.f, "w", &w));
  CHECK(has(&w, 20));
  GpuArray_clear(&w);
  GpuArray_clear(&out);
  CHECK_OK(GpuFunction_call(m.f, (GpuArray *[]){&out, &next}, (const GpuArray *[]){&x},
                            NULL));
  CHECK(has(&out, 20) && has(&next, 1));
  GpuArray_clear(&out);
  GpuArray_clear(&next);
  GpuArray_clear(&m.start);
  GpuFunction_free(m.f);
  GpuPlan_free(m.plan);
  GpuPlan_free(p);
  GpuArray_clear(&x);
}

static void test_a_function_that_changes_its_values(gpucontext *ctx) {
  maker m = {.updates = true};
  GpuPlan *p = NULL;
  GpuArray x, w, out = {0};
  new_vector(&x, ctx, 1);
  new_vector(&m.start, ctx, 20);
  m.f = make_function(&m.start, true, &m.plan);
  CHECK_OK(make_caller(&p, ctx, make_and_call, &m, 1));
  CHECK_STATUS(GA_UNSUPPORTED_ERROR, run_one(p, &out, &x));
  CHECK_TEXT("changes the value w");
  CHECK_OK(GpuFunction_get(m.f, "w", &w));
  CHECK(has(&w, 20));
  GpuArray_clear(&w);
  GpuArray_clear(&m.start);
  GpuFunction_free(m.f);
  GpuPlan_free(m.plan);
  GpuPlan_free(p);
  GpuArray_clear(&x);
}

/* ---- what must not be kept ---- */

typedef struct keeper {
  GpuFunction *f;
  GpuArray kept;
} keeper;

static int keep_things(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                       const long long *ints) {
  keeper *k = data;
  unsigned int value;
  GpuPlan *made = NULL;
  (void)ints;
  CHECK_OK(GpuPlan_new(&made, GpuArray_context(ins[0]), "made"));
  CHECK_STATUS(GA_UNSUPPORTED_ERROR, GpuPlan_constant(made, &value, ins[0]));
  CHECK_TEXT("is being bound");
  GpuPlan_free(made);
  CHECK_STATUS(GA_UNSUPPORTED_ERROR, GpuFunction_set(k->f, "w", ins[0]));
  int status = GpuArray_copy(outs[0], ins[0], GA_C_ORDER);
  STEP(GpuArray_view(&k->kept, ins[0]));
  return status;
}

/* Uses what another recording has kept beside what its own is given. */
static int mix(void *data, GpuArray *const *outs, const GpuArray *const *ins,
               const long long *ints) {
  const keeper *k = data;
  (void)ints;
  int status = GpuArray_copy(outs[0], ins[0], GA_C_ORDER);
  STEP(GpuArray_move(outs[0], &k->kept));
  return status;
}

static void test_arrays_of_another_recording(gpucontext *ctx) {
  keeper k = {0};
  GpuPlan *p = NULL, *q = NULL, *plan = NULL;
  GpuArray x, start, out = {0};
  new_vector(&x, ctx, 1);
  new_vector(&start, ctx, 20);
  k.f = make_function(&start, true, &plan);
  CHECK_OK(make_caller(&p, ctx, keep_things, &k, 1));
  CHECK_OK(make_caller(&q, ctx, mix, &k, 1));
  CHECK_OK(run_one(p, &out, &x));
  GpuArray_clear(&out);
  CHECK_STATUS(GA_INVALID_ERROR, run_one(q, &out, &x));
  GpuPlan_free(p);
  CHECK_STATUS(GA_INVALID_ERROR, run_one(q, &out, &x));
  CHECK_TEXT("must not keep its arrays");
  GpuArray_clear(&start);
  GpuArray_clear(&k.kept);
  GpuFunction_free(k.f);
  GpuPlan_free(plan);
  GpuPlan_free(q);
  GpuArray_clear(&x);
}

/* ---- deferred calls ---- */

static int copy_to_host_and_back(void *data, GpuArray *const *outs,
                                 const GpuArray *const *ins, const long long *ints) {
  inner *in = data;
  GpuArray made = {0};
  float values[N];
  (void)ints;
  int status = run_one(in->plan, &made, ins[0]);
  STEP(GpuArray_read(values, sizeof values, &made));
  STEP(GpuArray_write(outs[0], values, sizeof values));
  GpuArray_clear(&made);
  return status;
}

static int later(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                 const long long *ints) {
  int status = GpuArray_empty(outs[0], GpuArray_context(ins[0]), GA_FLOAT, 1,
                              ins[0]->dimensions, GA_C_ORDER);
  STEP(GpuPlan_defer(copy_to_host_and_back, data, 1, outs, 1, ins, ints));
  return status;
}

/* A call at each run that runs a plan, in a plan that another one runs. */
static void test_a_deferred_run(gpucontext *ctx) {
  inner in = {0}, middle = {0};
  GpuPlan *p = NULL;
  CHECK_OK(make_copier(&in.plan, ctx));
  CHECK_OK(make_caller(&middle.plan, ctx, later, &in, 1));
  CHECK_OK(make_caller(&p, ctx, run_inner, &middle, 1));
  check_runs(p, ctx);
  check_runs(middle.plan, ctx);
  GpuPlan_free(p);
  GpuPlan_free(middle.plan);
  GpuPlan_free(in.plan);
}

/* A call without an array of the recording, which makes an array. */
static int call_now(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                    const long long *ints) {
  const GpuArray *own = data;
  GpuArray made = {0};
  float values[N];
  (void)ints, (void)ins, (void)outs;
  int status = GpuArray_copy(&made, own, GA_C_ORDER);
  STEP(GpuArray_read(values, sizeof values, &made));
  GpuArray_clear(&made);
  return status;
}

static int defer_now(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                     const long long *ints) {
  int status = GpuPlan_defer(call_now, data, 0, NULL, 0, NULL, NULL);
  (void)ints;
  STEP(GpuArray_copy(outs[0], ins[0], GA_C_ORDER));
  return status;
}

static void test_a_call_at_once(gpucontext *ctx) {
  GpuArray own;
  GpuPlan *p = NULL;
  new_vector(&own, ctx, 3);
  CHECK_OK(make_caller(&p, ctx, defer_now, &own, 1));
  check_runs(p, ctx);
  GpuPlan_free(p);
  GpuArray_clear(&own);
}

/* ---- files ---- */

typedef struct loader {
  const char *path;
  GpuPlan *plan;
} loader;

static int load_and_run(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                        const long long *ints) {
  loader *l = data;
  int status = GA_NO_ERROR;
  (void)ints;
  if (l->plan == NULL)
    status = GpuPlan_load(&l->plan, GpuArray_context(ins[0]), l->path);
  STEP(GpuPlan_run(l->plan, outs, ins, NULL));
  return status;
}

/* With a constant, which is to have elements. */
static void test_a_plan_loaded_inside(gpucontext *ctx) {
  char path[] = "/tmp/test_plan_within_XXXXXX";
  unsigned int x, c, copied;
  GpuArray constant, in, outs[2] = {{0}};
  GpuPlan *p = NULL;
  loader l = {path, NULL};
  new_vector(&constant, ctx, 40);
  new_vector(&in, ctx, 1);
  CHECK_OK(GpuPlan_new(&p, ctx, "saved"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_constant(p, &c, &constant));
  CHECK_OK(GpuPlan_copy(p, &copied, "copy", c));
  CHECK_OK(GpuPlan_output(p, copied));
  make_file(path);
  CHECK_OK(GpuPlan_save(p, path));
  GpuPlan_free(p);
  p = NULL;
  CHECK_OK(make_caller(&p, ctx, load_and_run, &l, 1));
  int status = run_one(p, &outs[0], &in);
  CHECK_OK(status);
  CHECK_OK(run_one(p, &outs[1], &in));
  if (status == GA_NO_ERROR)
    CHECK(has(&outs[0], 40) && has(&outs[1], 40) && outs[0].data != outs[1].data);
  remove(path);
  GpuPlan_free(p);
  GpuPlan_free(l.plan);
  GpuArray_clear(&outs[0]);
  GpuArray_clear(&outs[1]);
  GpuArray_clear(&constant);
  GpuArray_clear(&in);
}

int main(void) {
  gpucontext *ctx = open_null();
  test_a_function_made_inside(ctx);
  test_a_function_that_changes_its_values(ctx);
  test_arrays_of_another_recording(ctx);
  test_a_deferred_run(ctx);
  test_a_call_at_once(ctx);
  test_a_plan_loaded_inside(ctx);
  gpucontext_deref(ctx);
  return check_result("plan_within_functions");
}
