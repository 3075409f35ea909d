/* Plans that a step's function of another plan binds, runs, loads or makes: on the null
 * backend, where what is only moved has values. */
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
  if (status == GA_NO_ERROR)
    *plan = p;
  else
    GpuPlan_free(p);
  return status;
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
  if (status == GA_NO_ERROR)
    *plan = p;
  else
    GpuPlan_free(p);
  return status;
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
  test_a_function_made_inside(ctx);
  test_a_function_that_changes_its_values(ctx);
  test_arrays_of_another_recording(ctx);
  test_a_deferred_run(ctx);
  test_a_call_at_once(ctx);
  test_a_plan_loaded_inside(ctx);
  fail_each_allocation(trial, ctx);
  gpucontext_deref(ctx);
  return check_result("plan_within");
}
