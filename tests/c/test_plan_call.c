/* Functions that each run of a plan calls, on arrays with memory: on the null backend.
 */
#include "null_plan.h"

enum { N = 5 };

typedef struct calls {
  int bound, run; /* how often each function was called */
  int fail;       /* a status to return */
} calls;

/* outs[0] = factor ins[0], computed on the host. */
static int scale(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                 const long long *ints) {
  calls *seen = data;
  float values[N];
  seen->run++;
  if (seen->fail != GA_NO_ERROR)
    return seen->fail;
  if (ins[1] != NULL || outs[0]->dimensions[0] != N)
    return GA_MISC_ERROR;
  int status = GpuArray_read(values, sizeof values, ins[0]);
  for (int i = 0; i < N; i++)
    values[i] *= (float)ints[1];
  return status == GA_NO_ERROR ? GpuArray_write(outs[0], values, sizeof values)
                               : status;
}

static int later(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                 const long long *ints) {
  calls *seen = data;
  seen->bound++;
  int status = GpuArray_empty(outs[0], GpuArray_context(ins[0]), GA_FLOAT, 1,
                              ins[0]->dimensions, GA_C_ORDER);
  return status == GA_NO_ERROR ? GpuPlan_defer(scale, data, 1, outs, 2, ins, ints)
                               : status;
}

/* x (N,): the copy of 3 (2 x), of which the first product is no result. */
static int build(GpuPlan **plan, gpucontext *ctx, calls *seen) {
  const gpuplan_type vector = {GA_FLOAT, 1};
  unsigned int ins[2], x = 0, two, three, once = 0, twice = 0, copied;
  GpuPlan *p = NULL;
  int status = GpuPlan_new(&p, ctx, "calls");
  STEP(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  STEP(GpuPlan_int(p, &two, 2));
  STEP(GpuPlan_int(p, &three, 3));
  if (status == GA_NO_ERROR)
    ins[0] = x, ins[1] = two;
  STEP(GpuPlan_function(p, &once, "once", later, seen, 2, ins, 1, &vector, NULL));
  if (status == GA_NO_ERROR)
    ins[0] = once, ins[1] = three;
  STEP(GpuPlan_function(p, &twice, "twice", later, seen, 2, ins, 1, &vector, NULL));
  STEP(GpuPlan_copy(p, &copied, "copy", twice));
  STEP(GpuPlan_output(p, copied));
  return give_plan(plan, p, status);
}

static void new_array(GpuArray *a, gpucontext *ctx, float first) {
  float values[N];
  for (int i = 0; i < N; i++)
    values[i] = first + (float)i;
  const size_t n = N;
  CHECK_OK(GpuArray_copy_from_host(a, ctx, values, GA_FLOAT, 1, &n, NULL));
}

static void check_scaled(GpuArray *a, float first, float factor) {
  float values[N];
  CHECK_OK(GpuArray_read(values, sizeof values, a));
  for (int i = 0; i < N; i++)
    CHECK(values[i] == factor * (first + (float)i));
  GpuArray_clear(a);
}

static void test_each_run_calls_on_its_own_arrays(gpucontext *ctx) {
  calls seen = {0};
  GpuPlan *p = NULL;
  CHECK_OK(build(&p, ctx, &seen));
  GpuArray x, part, out = {0}, *outs[1] = {&out};
  const GpuArray *ins[1] = {&x};
  for (int run = 1; run <= 3; run++) {
    new_array(&x, ctx, (float)run);
    CHECK_OK(GpuPlan_run(p, outs, ins, NULL));
    check_scaled(&out, (float)run, 6);
    CHECK(seen.bound == 2 && seen.run == 2 * run);
    GpuArray_clear(&x);
  }
  /* The same layout elsewhere in a buffer. */
  const size_t n = 2 * N;
  const ssize_t starts[1] = {N}, stops[1] = {2 * N}, steps[1] = {1};
  CHECK_OK(GpuArray_zeros(&x, ctx, GA_FLOAT, 1, &n, GA_C_ORDER));
  CHECK_OK(GpuArray_index(&part, &x, starts, stops, steps));
  float values[N] = {4, 5, 6, 7, 8};
  CHECK_OK(GpuArray_write(&part, values, sizeof values));
  ins[0] = &part;
  CHECK_OK(GpuPlan_run(p, outs, ins, NULL));
  check_scaled(&out, 4, 6);
  GpuArray_clear(&part);
  GpuArray_clear(&x);
  GpuPlan_free(p);
}

static void test_a_failure_ends_the_run_and_names_the_step(gpucontext *ctx) {
  calls seen = {0};
  int failed = -1;
  GpuPlan *p = NULL;
  CHECK_OK(build(&p, ctx, &seen));
  GpuArray x, out = {0}, *outs[1] = {&out};
  const GpuArray *ins[1] = {&x};
  new_array(&x, ctx, 1);
  seen.fail = GA_MISC_ERROR;
  CHECK_STATUS(GA_MISC_ERROR, GpuPlan_run(p, outs, ins, &failed));
  CHECK(failed == 2 && out.data == NULL && seen.run == 1); /* two integers come first */
  seen.fail = GA_NO_ERROR;
  CHECK_OK(GpuPlan_run(p, outs, ins, &failed));
  check_scaled(&out, 1, 6);
  GpuArray_clear(&x);
  GpuPlan_free(p);
}

static void test_without_a_recording_the_call_is_made_at_once(gpucontext *ctx) {
  calls seen = {0};
  GpuArray x, out = {0}, *outs[1] = {&out};
  const GpuArray *ins[2] = {&x, NULL};
  const long long ints[2] = {0, 7};
  new_array(&x, ctx, 1);
  new_array(&out, ctx, 0);
  CHECK_OK(GpuPlan_defer(scale, &seen, 1, outs, 2, ins, ints));
  CHECK(seen.run == 1);
  check_scaled(&out, 1, 7);
  GpuArray_clear(&x);
}

static void test_a_file_does_not_have_such_bindings(gpucontext *ctx) {
  calls seen = {0};
  char path[] = "/tmp/test_plan_call_XXXXXX";
  GpuPlan *p = NULL, *loaded = NULL;
  CHECK_OK(build(&p, ctx, &seen));
  GpuArray x, out = {0}, *outs[1] = {&out};
  const GpuArray *ins[1] = {&x};
  new_array(&x, ctx, 1);
  CHECK_OK(GpuPlan_run(p, outs, ins, NULL));
  GpuArray_clear(&out);
  make_file(path);
  CHECK_OK(GpuPlan_save(p, path));
  CHECK_OK(GpuPlan_load(&loaded, ctx, path));
  CHECK_STATUS(GA_UNSUPPORTED_ERROR, GpuPlan_run(loaded, outs, ins, NULL));
  remove(path);
  GpuPlan_free(loaded);
  GpuPlan_free(p);
  GpuArray_clear(&x);
}

static void test_arguments(gpucontext *ctx) {
  calls seen = {0};
  GpuArray x, none = {0}, *outs[1] = {&x}, *empty[1] = {&none};
  const GpuArray *ins[1] = {&x};
  const long long ints[1] = {0};
  new_array(&x, ctx, 1);
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_defer(NULL, &seen, 1, outs, 1, ins, ints));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_defer(scale, &seen, 1, NULL, 1, ins, ints));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_defer(scale, &seen, 1, outs, 1, NULL, ints));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_defer(scale, &seen, 1, outs, 1, ins, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_defer(scale, &seen, 1, empty, 1, ins, ints));
  CHECK_TEXT("output 0 is not an array");
  CHECK(seen.run == 0);
  GpuArray_clear(&x);
}

static int trial(gpucontext *ctx) {
  calls seen = {0};
  GpuPlan *p = NULL;
  const size_t n = N;
  GpuArray x = {0}, out = {0}, *outs[1] = {&out};
  const GpuArray *ins[1] = {&x};
  int status = build(&p, ctx, &seen);
  STEP(GpuArray_zeros(&x, ctx, GA_FLOAT, 1, &n, GA_C_ORDER));
  STEP(GpuPlan_run(p, outs, ins, NULL));
  GpuArray_clear(&out);
  GpuArray_clear(&x);
  GpuPlan_free(p);
  return status;
}

int main(void) {
  gpucontext *ctx = open_null();
  test_each_run_calls_on_its_own_arrays(ctx);
  test_a_failure_ends_the_run_and_names_the_step(ctx);
  test_without_a_recording_the_call_is_made_at_once(ctx);
  test_a_file_does_not_have_such_bindings(ctx);
  test_arguments(ctx);
  fail_each_allocation(trial, ctx);
  gpucontext_deref(ctx);
  return check_result("plan_call");
}
