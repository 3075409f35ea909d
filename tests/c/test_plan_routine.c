/* Routines as steps of plans, and bodies of functions: built, saved, and bound on the
 * null backend. */
#include "null_plan.h"

static const gpuplan_type vector = {GA_FLOAT, 1};

static int add(GpuPlan *p, unsigned int *out, const char *name, unsigned int n_in,
               const unsigned int *ins, unsigned int n_params,
               const long long *params) {
  const gpuplan_routine step = {.size = sizeof step,
                                .label = name,
                                .name = name,
                                .n_params = n_params,
                                .params = params,
                                .n_in = n_in,
                                .ins = ins,
                                .n_out = 1,
                                .results = &vector};
  return GpuPlan_routine(p, out, &step);
}

/* x (n,), count: a body that gives `count` zeros. */
static int new_body(GpuPlan **out, gpucontext *ctx) {
  unsigned int x, count, zeros;
  GpuPlan *body = NULL;
  int status = GpuPlan_new(&body, ctx, "body");
  STEP(GpuPlan_input(body, &x, GA_FLOAT, 1, 0));
  STEP(GpuPlan_int_input(body, &count));
  STEP(add(body, &zeros, "zeros", 1, &count, 0, NULL));
  STEP(GpuPlan_output(body, zeros));
  return give_plan(out, body, status);
}

/* A function's step that has nothing but that body. */
static int build(GpuPlan **out, gpucontext *ctx) {
  unsigned int ins[2], made;
  GpuPlan *p = NULL, *body = NULL;
  int status = GpuPlan_new(&p, ctx, "whole");
  STEP(GpuPlan_input(p, &ins[0], GA_FLOAT, 1, 0));
  STEP(GpuPlan_int_input(p, &ins[1]));
  STEP(GpuPlan_function(p, &made, "zeros", NULL, NULL, 2, ins, 1, &vector, NULL));
  STEP(GpuPlan_output(p, made));
  STEP(new_body(&body, ctx));
  STEP(GpuPlan_body(p, made, body));
  return give_plan(out, p, status);
}

static void check_runs(GpuPlan *p, gpucontext *ctx) {
  for (long long n = 0; n < 4; n++) {
    GpuArray out = {0};
    int failed;
    CHECK_OK(call_vector(p, ctx, 3, n, &out, &failed));
    CHECK(out.nd == 1 && out.dimensions[0] == (size_t)n);
    GpuArray_clear(&out);
  }
}

static void test_a_body_stands_for_a_function(gpucontext *ctx) {
  char path[] = "/tmp/gpuarray-bodyXXXXXX";
  GpuPlan *p = NULL, *loaded = NULL;
  CHECK_OK(build(&p, ctx));
  check_runs(p, ctx);
  make_file(path);
  CHECK_OK(GpuPlan_save(p, path));
  CHECK_OK(GpuPlan_load(&loaded, ctx, path));
  GpuPlan_free(p);
  check_runs(loaded, ctx);
  CHECK_OK(GpuPlan_save(loaded, path)); /* with its body */
  GpuPlan_free(loaded);
  CHECK_OK(GpuPlan_load(&loaded, ctx, path));
  check_runs(loaded, ctx);
  GpuArray out = {0};
  int failed;
  CHECK_STATUS(GA_VALUE_ERROR, call_vector(loaded, ctx, 3, -1, &out, &failed));
  CHECK_TEXT("zeros: got length -1 for axis 0");
  CHECK(failed == 0);
  GpuPlan_free(loaded);
  unlink(path);
}

static void test_bodies_may_be_left_alone(gpucontext *ctx) {
  GpuPlan *p = NULL;
  GpuArray out = {0};
  int failed;
  CHECK_OK(build(&p, ctx));
  CHECK_OK(call_vector(p, ctx, 3, 2, &out, &failed));
  GpuArray_clear(&out);
  CHECK_OK(GpuPlan_use_bodies(p, 0));
  CHECK_OK(call_vector(p, ctx, 3, 2, &out, &failed)); /* which is bound already */
  GpuArray_clear(&out);
  CHECK_STATUS(GA_UNSUPPORTED_ERROR, call_vector(p, ctx, 3, 1, &out, &failed));
  CHECK_TEXT("its body is not to be used");
  CHECK_OK(GpuPlan_use_bodies(p, 1));
  check_runs(p, ctx);
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_use_bodies(NULL, 1));
  GpuPlan_free(p);
}

static void test_bodies_that_do_not_fit(gpucontext *ctx) {
  unsigned int ins[2], made, other;
  GpuPlan *p = NULL, *body = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "whole"));
  CHECK_OK(GpuPlan_input(p, &ins[0], GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_int_input(p, &ins[1]));
  CHECK_OK(GpuPlan_function(p, &made, "f", NULL, NULL, 2, ins, 1, &vector, NULL));
  CHECK_OK(GpuPlan_function(p, &other, "g", NULL, NULL, 1, ins, 1, &vector, NULL));
  CHECK_OK(GpuPlan_output(p, made));
  GpuArray out = {0};
  int failed;
  CHECK_STATUS(GA_UNSUPPORTED_ERROR, call_vector(p, ctx, 3, 1, &out, &failed));
  CHECK_TEXT("this step is a function of the program that saved the plan");
  CHECK_OK(new_body(&body, ctx));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_body(p, other, body));
  CHECK_TEXT("does not match the step");
  CHECK_OK(new_body(&body, ctx));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_body(p, ins[0], body));
  CHECK_TEXT("is not the result of a function");
  CHECK_OK(new_body(&body, ctx));
  CHECK_OK(GpuPlan_body(p, made, body));
  CHECK_OK(new_body(&body, ctx));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_body(p, made, body));
  CHECK_TEXT("has a body already");
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_body(p, made, NULL));
  GpuPlan_free(p);
}

/* x (n,): zeros put into x. */
static int new_overwriting(GpuPlan **out, gpucontext *ctx) {
  unsigned int x, n, zeros, made;
  GpuPlan *body = NULL;
  int status = GpuPlan_new(&body, ctx, "body");
  STEP(GpuPlan_input(body, &x, GA_FLOAT, 1, 0));
  STEP(GpuPlan_dim(body, &n, x, 0));
  STEP(add(body, &zeros, "zeros", 1, &n, 0, NULL));
  STEP(add(body, &made, "assign", 2, (unsigned int[]){x, zeros}, 0, NULL));
  STEP(GpuPlan_output(body, made));
  return give_plan(out, body, status);
}

static void test_a_body_writes_into_what_the_step_takes_over(gpucontext *ctx) {
  unsigned int x, plain, over;
  GpuPlan *p = NULL, *body = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "whole"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_function(p, &plain, "f", NULL, NULL, 1, &x, 1, &vector, NULL));
  CHECK_OK(GpuPlan_function(p, &over, "g", NULL, NULL, 1, &x, 1, &vector, (int[]){0}));
  CHECK_OK(new_overwriting(&body, ctx));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_body(p, plain, body));
  CHECK_TEXT("writes only into inputs that the step overwrites");
  CHECK_OK(new_overwriting(&body, ctx));
  CHECK_OK(GpuPlan_body(p, over, body));
  GpuPlan_free(p);
}

static void test_routines_that_are_none(gpucontext *ctx) {
  unsigned int x, n, out;
  GpuPlan *p = NULL;
  const long long params[2] = {0, 0};
  CHECK_OK(GpuPlan_new(&p, ctx, "none"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_int_input(p, &n));
  CHECK_STATUS(GA_VALUE_ERROR, add(p, &out, "sorted", 1, &x, 2, params));
  CHECK_TEXT("the library has no routine 'sorted'");
  CHECK_STATUS(GA_VALUE_ERROR, add(p, &out, "sort", 1, &x, 1, params));
  CHECK_STATUS(GA_VALUE_ERROR, add(p, &out, "sort", 1, &n, 2, params));
  CHECK_STATUS(GA_VALUE_ERROR, add(p, &out, "take", 1, &x, 1, params));
  CHECK_STATUS(GA_VALUE_ERROR, add(p, &out, "join", 0, NULL, 1, params));
  CHECK_STATUS(GA_INVALID_ERROR,
               add(p, &out, "sort", 1, (unsigned int[]){9}, 2, params));
  CHECK_OK(add(p, &out, "sort", 1, &x, 2, params));
  CHECK_STATUS(GA_INVALID_ERROR,
               GpuPlan_routine(p, &out, &(gpuplan_routine){.size = 1}));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_routine(p, &out, NULL));
  GpuPlan_free(p);
}

/* x (n,), count: the rows of x as (count, -1), by a kernel of these arguments; in the
 * memory of input `over` unless that is -1; WITHOUT_OVER does not say it at all, as
 * files did before results took over memory. */
#define WITHOUT_OVER (-2)
static int build_rows(GpuPlan **out, gpucontext *ctx, const char *arguments,
                      const char *outputs, long long over) {
  static const gpuplan_type matrix = {GA_FLOAT, 2};
  const char *texts[13] = {arguments,
                           outputs,
                           "take",
                           "plain",
                           "KERNEL $name",
                           "unit",
                           "KERNEL $name",
                           "kept",
                           "KERNEL $name $kept",
                           "",
                           "",
                           "",
                           ""};
  unsigned int x, count, rest, rows, made, length;
  GpuPlan *p = NULL;
  int status = GpuPlan_new(&p, ctx, "rows");
  STEP(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  STEP(GpuPlan_int_input(p, &count));
  STEP(GpuPlan_int(p, &rest, -1));
  STEP(GpuPlan_reshape(p, &rows, "reshape", x, 2, (unsigned int[]){count, rest}));
  STEP(GpuPlan_dim(p, &length, rows, 1));
  const gpuplan_routine step = {.size = sizeof step,
                                .label = "rows",
                                .name = "rows",
                                .n_params = over == WITHOUT_OVER ? 1 : 2,
                                .params = (long long[]){1, over},
                                .n_texts = 13,
                                .texts = texts,
                                .n_in = 3,
                                .ins = (unsigned int[]){rows, x, length},
                                .n_out = 1,
                                .results = &matrix};
  STEP(GpuPlan_routine(p, &made, &step));
  STEP(GpuPlan_output(p, made));
  return give_plan(out, p, status);
}

static void check_rows(gpucontext *ctx, const char *arguments, const char *outputs,
                       long long count, const char *problem) {
  GpuPlan *p = NULL;
  GpuArray out = {0};
  int failed;
  CHECK_OK(build_rows(&p, ctx, arguments, outputs, -1));
  if (problem) {
    CHECK_STATUS(GA_VALUE_ERROR, call_vector(p, ctx, 6, count, &out, &failed));
    CHECK_TEXT(problem);
  } else {
    CHECK_OK(call_vector(p, ctx, 6, count, &out, &failed));
    CHECK(out.nd == 2 && out.dimensions[0] == (size_t)count);
    CHECK(out.dimensions[1] == (outputs[0] == 'C' ? 6 / (size_t)count : 1));
    GpuArray_clear(&out);
  }
  GpuPlan_free(p);
}

static void test_rows_have_the_shapes_that_are_told(gpucontext *ctx) {
  check_rows(ctx, "CVi", "C", 1, NULL);
  check_rows(ctx, "CiV", "R", 1, NULL);
  check_rows(ctx, "CRi", "R", 6, NULL);
  check_rows(ctx, "CVi", "C", 2, "rows: input 1 is");
  check_rows(ctx, "CRi", "C", 2, "rows: input 1 is");
  check_rows(ctx, "CSi", "C", 2, "rows: input 1 is");
  check_rows(ctx, "CCi", "C", 2, "rows: input 1 is");
  check_rows(ctx, "TVi", "C", 1, "rows: got 2 arrays, 1 integers and 1 results");
  check_rows(ctx, "RVi", "C", 1, "rows: got 2 arrays, 1 integers and 1 results");
  check_rows(ctx, "CV", "C", 1, "rows: got 2 arrays, 1 integers and 1 results");
  check_rows(ctx, "CVii", "C", 1, "rows: got 2 arrays, 1 integers and 1 results");
  check_rows(ctx, "CVx", "C", 1, "rows: got 2 arrays, 1 integers and 1 results");
  check_rows(ctx, "CVi", "CC", 1, "rows: got 2 arrays, 1 integers and 1 results");
  check_rows(ctx, "CVi", "V", 1, "rows: got 2 arrays, 1 integers and 1 results");
}

/* Buffers that a run of the plan makes. */
static unsigned int made_by(GpuPlan *p) {
  gpuplan_info info = {0};
  CHECK_OK(GpuPlan_info(p, &info));
  return (unsigned int)info.n_allocs;
}

static void test_rows_take_over_memory(gpucontext *ctx) {
  for (long long over = WITHOUT_OVER; over < 1; over++) {
    GpuPlan *p = NULL;
    GpuArray out = {0};
    int failed;
    CHECK_OK(build_rows(&p, ctx, "CVi", "C", over));
    CHECK_OK(call_vector(p, ctx, 6, 1, &out, &failed));
    CHECK(made_by(p) == (over < 0 ? 1 : 0));
    GpuArray_clear(&out);
    GpuPlan_free(p);
  }
  GpuPlan *p = NULL;
  CHECK_STATUS(GA_VALUE_ERROR, build_rows(&p, ctx, "CVi", "C", 2)); /* an integer */
  CHECK_TEXT("result 0 is to overwrite input 2, which is not an array of its type");
  CHECK_STATUS(GA_VALUE_ERROR, build_rows(&p, ctx, "CVi", "C", 3));
}

static void test_properties_of_the_device(gpucontext *ctx) {
  char path[] = "/tmp/gpuarray-bodyXXXXXX";
  unsigned int x, count, value, zeros;
  GpuPlan *p = NULL, *loaded = NULL;
  GpuArray out = {0};
  int failed;
  CHECK_OK(GpuPlan_new(&p, ctx, "device"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_int_input(p, &count));
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_device(p, &value, 99));
  CHECK_TEXT("device: unknown property 99");
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_device(p, NULL, GP_DEVICE_PROCESSORS));
  CHECK_OK(GpuPlan_device(p, &value, GP_DEVICE_PROCESSORS));
  CHECK_OK(add(p, &zeros, "zeros", 1, &value, 0, NULL));
  CHECK_OK(GpuPlan_output(p, zeros));
  make_file(path);
  CHECK_OK(GpuPlan_save(p, path));
  CHECK_OK(GpuPlan_load(&loaded, ctx, path));
  CHECK_OK(call_vector(loaded, ctx, 3, 0, &out, &failed));
  unsigned int processors = 0;
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_NUMPROCS, &processors));
  CHECK(out.dimensions[0] == processors);
  GpuArray_clear(&out);
  GpuPlan_free(p);
  GpuPlan_free(loaded);
  unlink(path);
}

/* x (n,), n: x where n is true, by a routine that fails with a text. */
static int build_checked(GpuPlan **out, gpucontext *ctx, const char *name) {
  unsigned int ins[2], made;
  GpuPlan *p = NULL;
  int status = GpuPlan_new(&p, ctx, "checked");
  STEP(GpuPlan_input(p, &ins[0], GA_FLOAT, 1, 0));
  STEP(GpuPlan_int_input(p, &ins[1]));
  STEP(GpuPlan_routine(p, &made,
                       &(gpuplan_routine){.size = sizeof(gpuplan_routine),
                                          .label = "check",
                                          .name = name,
                                          .n_texts = 1,
                                          .texts = (const char *[]){"n is true"},
                                          .n_in = 2,
                                          .ins = ins,
                                          .n_out = 1,
                                          .results = &vector}));
  STEP(GpuPlan_output(p, made));
  return give_plan(out, p, status);
}

static void test_checks_fail_with_their_text(gpucontext *ctx) {
  static const struct {
    const char *name;
    int status;
  } checks[] = {{"require", GA_VALUE_ERROR}, {"assert", GA_ASSERT_ERROR}};
  for (int i = 0; i < 2; i++) {
    char path[] = "/tmp/gpuarray-bodyXXXXXX";
    GpuPlan *p = NULL, *loaded = NULL;
    GpuArray out = {0};
    int failed;
    CHECK_OK(build_checked(&p, ctx, checks[i].name));
    make_file(path);
    CHECK_OK(GpuPlan_save(p, path));
    CHECK_OK(GpuPlan_load(&loaded, ctx, path));
    CHECK_OK(call_vector(loaded, ctx, 3, -2, &out, &failed));
    CHECK(out.dimensions[0] == 3);
    GpuArray_clear(&out);
    CHECK_STATUS(checks[i].status, call_vector(loaded, ctx, 3, 0, &out, &failed));
    CHECK_TEXT("check: n is true");
    CHECK(failed == 0);
    GpuPlan_free(loaded);
    GpuPlan_free(p);
    unlink(path);
  }
}

/* x (n,), n: x, by a check of n with 3. */
static int build_compared(GpuPlan **out, gpucontext *ctx, const char *name,
                          const char *text) {
  unsigned int ins[3], made;
  GpuPlan *p = NULL;
  int status = GpuPlan_new(&p, ctx, "compared");
  STEP(GpuPlan_input(p, &ins[0], GA_FLOAT, 1, 0));
  STEP(GpuPlan_int_input(p, &ins[1]));
  STEP(GpuPlan_int(p, &ins[2], 3));
  STEP(GpuPlan_routine(p, &made,
                       &(gpuplan_routine){.size = sizeof(gpuplan_routine),
                                          .label = "check",
                                          .name = name,
                                          .n_texts = text ? 1 : 0,
                                          .texts = &text,
                                          .n_in = 3,
                                          .ins = ins,
                                          .n_out = 1,
                                          .results = &vector}));
  STEP(GpuPlan_output(p, made));
  return give_plan(out, p, status);
}

static void test_checks_tell_of_both_integers(gpucontext *ctx) {
  GpuPlan *p = NULL;
  GpuArray out = {0};
  int failed;
  CHECK_OK(build_compared(&p, ctx, "length", "x has"));
  CHECK_OK(call_vector(p, ctx, 3, 3, &out, &failed));
  GpuArray_clear(&out);
  CHECK_STATUS(GA_VALUE_ERROR, call_vector(p, ctx, 3, 2, &out, &failed));
  CHECK_TEXT("check: x has 2, expected 3");
  GpuPlan_free(p);
  CHECK_OK(build_compared(&p, ctx, "at_most", NULL));
  CHECK_OK(call_vector(p, ctx, 3, 3, &out, &failed));
  GpuArray_clear(&out);
  CHECK_STATUS(GA_INDEX_ERROR, call_vector(p, ctx, 3, 5, &out, &failed));
  CHECK_TEXT("index 4 is out of bounds for axis 0 of length 3");
  GpuPlan_free(p);
}

static int trial_of_rows(gpucontext *ctx) {
  GpuPlan *p = NULL;
  GpuArray out = {0};
  int failed;
  int status = build_rows(&p, ctx, "CVi", "C", -1);
  STEP(call_vector(p, ctx, 6, 1, &out, &failed));
  GpuArray_clear(&out);
  GpuPlan_free(p);
  return status;
}

/* A file may say so. */
static void test_results_of_another_type(gpucontext *ctx) {
  const gpuplan_type announced[2] = {{GA_DOUBLE, 1}, {GA_FLOAT, 2}};
  for (int i = 0; i < 2; i++) {
    unsigned int x, made;
    int failed;
    GpuPlan *p = NULL;
    GpuArray out = {0};
    CHECK_OK(GpuPlan_new(&p, ctx, "other"));
    CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
    CHECK_OK(GpuPlan_routine(p, &made,
                             &(gpuplan_routine){.size = sizeof(gpuplan_routine),
                                                .label = "view",
                                                .name = "contiguous",
                                                .n_in = 1,
                                                .ins = &x,
                                                .n_out = 1,
                                                .results = &announced[i]}));
    CHECK_OK(GpuPlan_output(p, made));
    CHECK_STATUS(GA_INVALID_ERROR, call_vector(p, ctx, 3, 0, &out, &failed));
    CHECK_TEXT(i == 0 ? "declared as float64 of 1 axes"
                      : "declared as float32 of 2 axes");
    GpuPlan_free(p);
  }
}

static int trial(gpucontext *ctx) {
  char path[] = "/tmp/gpuarray-bodyXXXXXX";
  GpuPlan *p = NULL;
  GpuArray out = {0};
  int failed;
  int status = build(&p, ctx);
  make_file(path);
  STEP(GpuPlan_save(p, path));
  STEP(call_vector(p, ctx, 3, 2, &out, &failed));
  GpuArray_clear(&out);
  GpuPlan_free(p);
  unlink(path);
  return status;
}

int main(void) {
  gpucontext *ctx = open_null();
  test_a_body_stands_for_a_function(ctx);
  test_bodies_may_be_left_alone(ctx);
  test_bodies_that_do_not_fit(ctx);
  test_routines_that_are_none(ctx);
  test_rows_have_the_shapes_that_are_told(ctx);
  test_properties_of_the_device(ctx);
  test_results_of_another_type(ctx);
  test_rows_take_over_memory(ctx);
  test_checks_fail_with_their_text(ctx);
  test_checks_tell_of_both_integers(ctx);
  test_a_body_writes_into_what_the_step_takes_over(ctx);
  fail_each_allocation(trial, ctx);
  fail_each_allocation(trial_of_rows, ctx);
  gpucontext_deref(ctx);
  return check_result("plan_routine");
}
