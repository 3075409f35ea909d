/* Plans whose steps are functions and whose shapes come from integers: on the null
 * backend. */
#include "null_plan.h"

#include <limits.h>

typedef struct calls {
  int n;
  int fail; /* a status to return */
} calls;

/* The first `ints[1]` rows of ins[0], copied. */
static int first_rows(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                      const long long *ints) {
  calls *seen = data;
  seen->n++;
  if (seen->fail != GA_NO_ERROR)
    return seen->fail;
  if (ins[1] != NULL)
    return GA_MISC_ERROR;
  GpuArray part;
  const ssize_t starts[1] = {0}, stops[1] = {(ssize_t)ints[1]}, steps[1] = {1};
  int status = GpuArray_index(&part, ins[0], starts, stops, steps);
  if (status != GA_NO_ERROR)
    return status;
  status = GpuArray_copy(outs[0], &part, GA_C_ORDER);
  GpuArray_clear(&part);
  return status;
}

/* x (n,), count: the first 2 count elements of x. */
static int build(GpuPlan **plan, gpucontext *ctx, calls *seen, gpuplan_type type,
                 const int *inplace) {
  unsigned int x, count, two, twice, part;
  GpuPlan *p = NULL;
  int status = GpuPlan_new(&p, ctx, "test");
  STEP(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  STEP(GpuPlan_int_input(p, &count));
  STEP(GpuPlan_int(p, &two, 2));
  STEP(GpuPlan_int_op(p, &twice, GP_INT_MUL, count, two));
  unsigned int ins[2] = {x, status == GA_NO_ERROR ? twice : 0};
  STEP(
      GpuPlan_function(p, &part, "first", first_rows, seen, 2, ins, 1, &type, inplace));
  STEP(GpuPlan_output(p, part));
  return give_plan(plan, p, status);
}

static const gpuplan_type vector = {GA_FLOAT, 1};

static GpuArray kept;

static int keep(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                const long long *ints) {
  (void)data, (void)ints;
  int status = GpuArray_copy(outs[0], ins[0], GA_C_ORDER);
  return status == GA_NO_ERROR ? GpuArray_view(&kept, outs[0]) : status;
}

/* What a function keeps against the rules is of no use, and harms nothing. */
static void test_an_array_that_a_function_keeps(gpucontext *ctx) {
  GpuPlan *p = NULL;
  GpuArray x, out = {0}, *outs[1] = {&out};
  const GpuArray *ins[1] = {&x};
  const size_t n = 5;
  unsigned int in, copy;
  CHECK_OK(GpuPlan_new(&p, ctx, "keeps"));
  CHECK_OK(GpuPlan_input(p, &in, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_function(p, &copy, "keep", keep, NULL, 1, &in, 1, &vector, NULL));
  CHECK_OK(GpuPlan_output(p, copy));
  CHECK_OK(GpuArray_zeros(&x, ctx, GA_FLOAT, 1, &n, GA_C_ORDER));
  CHECK_OK(GpuPlan_run(p, outs, ins, NULL));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_memset(&kept, 0));
  GpuArray_clear(&out);
  CHECK_OK(GpuPlan_run(p, outs, ins, NULL));
  GpuPlan_free(p);
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_memset(&kept, 0));
  GpuArray_clear(&kept);
  GpuArray_clear(&out);
  GpuArray_clear(&x);
}

static void test_a_function_is_recorded(gpucontext *ctx) {
  calls seen = {0};
  GpuPlan *p = NULL;
  CHECK_OK(build(&p, ctx, &seen, vector, NULL));
  const long long counts[4] = {2, 3, 2, 3};
  for (int i = 0; i < 4; i++) {
    GpuArray out = {0};
    CHECK_OK(call_vector(p, ctx, 9, counts[i], &out, NULL));
    CHECK(out.dimensions[0] == 2 * (size_t)counts[i]);
    CHECK(seen.n == (i < 2 ? i + 1 : 2)); /* later runs replay */
    GpuArray_clear(&out);
  }
  GpuPlan_free(p);
}

static void test_failures(gpucontext *ctx) {
  calls seen = {0};
  GpuPlan *p = NULL;
  GpuArray out = {0};
  int failed = -1;
  const int beyond[1] = {2};
  const gpuplan_type ranks = {GA_FLOAT, GA_MAX_NDIM + 1}, dtypes = {9999, 1};
  CHECK_STATUS(GA_INVALID_ERROR, build(&p, ctx, &seen, vector, beyond));
  CHECK_TEXT("is to overwrite input 2, but there are 2 inputs");
  CHECK_STATUS(GA_VALUE_ERROR, build(&p, ctx, &seen, ranks, NULL));
  CHECK(build(&p, ctx, &seen, dtypes, NULL) != GA_NO_ERROR);
  CHECK(p == NULL);

  CHECK_OK(build(&p, ctx, &seen, vector, NULL));
  unsigned int value = 77;
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_function(p, &value, "none", first_rows, NULL, 1,
                                                NULL, 1, &vector, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_function(p, NULL, "none", first_rows, NULL, 0,
                                                NULL, 1, &vector, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_int_input(p, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_int_input(NULL, &value));
  CHECK(value == 77);
  seen.fail = GA_IMPL_ERROR;
  CHECK_STATUS(GA_IMPL_ERROR, call_vector(p, ctx, 9, 2, &out, &failed));
  CHECK(failed == 2); /* after the integers */
  seen.fail = GA_NO_ERROR;
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_save(NULL, "/nowhere"));

  GpuArray x, *outs[1] = {&out};
  const size_t n = 9;
  CHECK_OK(GpuArray_zeros(&x, ctx, GA_FLOAT, 1, &n, GA_C_ORDER));
  const GpuArray *ins[1] = {&x};
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_run(p, outs, ins, NULL));
  CHECK_TEXT("run it by GpuPlan_call");
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_bind(p, ins, NULL));
  CHECK(out.data == NULL);
  CHECK_OK(call_vector(p, ctx, 9, 2, &out, NULL)); /* and still works */
  GpuArray_clear(&out);
  GpuArray_clear(&x);
  GpuPlan_free(p);
}

static void test_a_result_of_another_type(gpucontext *ctx) {
  calls seen = {0};
  GpuPlan *p = NULL;
  GpuArray out = {0};
  const gpuplan_type other = {GA_DOUBLE, 1};
  CHECK_OK(build(&p, ctx, &seen, other, NULL));
  CHECK_STATUS(GA_INVALID_ERROR, call_vector(p, ctx, 9, 2, &out, NULL));
  CHECK_TEXT("declared as float64 of 1 axes");
  GpuPlan_free(p);
}

/* The integer that `op` makes of `a` and `b`, as the length of a result. */
static long long computed(gpucontext *ctx, int op, long long a, long long b) {
  unsigned int x, m, n, value, shaped;
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "integers"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 1));
  CHECK_OK(GpuPlan_int_input(p, &m));
  CHECK_OK(GpuPlan_int_input(p, &n));
  CHECK_OK(GpuPlan_int_op(p, &value, op, m, n));
  CHECK_OK(GpuPlan_broadcast(p, &shaped, "length", x, 1, &value));
  CHECK_OK(GpuPlan_output(p, shaped));
  GpuArray ones, out = {0}, *outs[1] = {&out};
  const size_t one = 1;
  CHECK_OK(GpuArray_zeros(&ones, ctx, GA_FLOAT, 1, &one, GA_C_ORDER));
  const GpuArray *ins[1] = {&ones};
  const long long ints[2] = {a, b};
  int status = GpuPlan_call(p, outs, ins, ints, NULL);
  long long length = status == GA_NO_ERROR ? (long long)out.dimensions[0] : -1;
  GpuArray_clear(&out);
  GpuArray_clear(&ones);
  GpuPlan_free(p);
  return length;
}

static void test_integers(gpucontext *ctx) {
  CHECK(computed(ctx, GP_INT_ADD, 3, 4) == 7);
  CHECK(computed(ctx, GP_INT_SUB, 7, 4) == 3);
  CHECK(computed(ctx, GP_INT_FLOORDIV, -7, -2) == 3);
  CHECK(computed(ctx, GP_INT_MOD, -7, 4) == 1);
  CHECK(computed(ctx, GP_INT_MOD, 7, 0) == -1);
  CHECK(computed(ctx, GP_INT_MOD, LLONG_MIN, -1) == 0); /* all wrap as NumPy's do */
  CHECK(computed(ctx, GP_INT_MOD, LLONG_MAX, LLONG_MIN + 1) == 0);
  CHECK(computed(ctx, GP_INT_FLOORDIV, LLONG_MIN, -1) == -1);
  CHECK_TEXT("has length -9223372036854775808");
  CHECK(computed(ctx, GP_INT_FLOORDIV, LLONG_MIN + 8, LLONG_MIN) == 0);
  CHECK(computed(ctx, GP_INT_ADD, LLONG_MIN, LLONG_MIN) == 0);
  CHECK(computed(ctx, GP_INT_SUB, LLONG_MIN, LLONG_MAX) == 1);
  CHECK(computed(ctx, GP_INT_MUL, LLONG_MAX / 2 + 3, 4) == 8);
  CHECK(computed(ctx, GP_INT_LT, 2, 3) == 1 && computed(ctx, GP_INT_LT, 3, 3) == 0);
  CHECK(computed(ctx, GP_INT_LE, 3, 3) == 1 && computed(ctx, GP_INT_LE, 4, 3) == 0);
  CHECK(computed(ctx, GP_INT_EQ, 3, 3) == 1 && computed(ctx, GP_INT_EQ, 4, 3) == 0);
  CHECK(computed(ctx, GP_INT_AND, 6, 3) == 2 && computed(ctx, GP_INT_OR, 6, 3) == 7);
  CHECK(computed(ctx, GP_INT_CAST, 300, GA_UBYTE) == 44);
  CHECK(computed(ctx, GP_INT_CAST, 200, GA_BYTE) == -1); /* -56: no length */
  CHECK(computed(ctx, GP_INT_CAST, 70000, GA_USHORT) == 4464);
  CHECK(computed(ctx, GP_INT_CAST, 65537, GA_SHORT) == 1);
  CHECK(computed(ctx, GP_INT_CAST, 4294967299, GA_INT) == 3);
  CHECK(computed(ctx, GP_INT_CAST, 4294967299, GA_UINT) == 3);
  CHECK(computed(ctx, GP_INT_CAST, 5, GA_BOOL) == 1);
  CHECK(computed(ctx, GP_INT_CAST, 5, GA_LONG) == 5);
}

/* A file has what was recorded for a signature, and no function for another one. */
static void test_a_recorded_function_is_saved(gpucontext *ctx) {
  char path[] = "/tmp/gpuplan-XXXXXX";
  calls seen = {0};
  int failed = -1;
  GpuPlan *p = NULL, *again = NULL;
  GpuArray out = {0};
  CHECK_OK(build(&p, ctx, &seen, vector, NULL));
  CHECK_OK(call_vector(p, ctx, 9, 2, &out, NULL));
  GpuArray_clear(&out);
  make_file(path);
  CHECK_OK(GpuPlan_save(p, path));
  CHECK_OK(GpuPlan_load(&again, ctx, path));
  CHECK_OK(call_vector(again, ctx, 9, 2, &out, NULL));
  CHECK(out.dimensions[0] == 4 && seen.n == 1);
  GpuArray_clear(&out);
  CHECK_STATUS(GA_UNSUPPORTED_ERROR, call_vector(again, ctx, 9, 3, &out, &failed));
  CHECK_TEXT("first: this step is a function of the program that saved the plan");
  CHECK(failed == 2);
  GpuPlan_free(again);
  GpuPlan_free(p);
  unlink(path);
}

static void test_integer_inputs_are_saved(gpucontext *ctx) {
  char path[] = "/tmp/gpuplan-XXXXXX";
  unsigned int x, n, shaped;
  GpuPlan *p = NULL, *again = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "saved"));
  CHECK_OK(GpuPlan_int_input(p, &n));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 1));
  CHECK_OK(GpuPlan_broadcast(p, &shaped, "length", x, 1, &n));
  CHECK_OK(GpuPlan_output(p, shaped));
  make_file(path);
  CHECK_OK(GpuPlan_save(p, path));
  CHECK_OK(GpuPlan_load(&again, ctx, path));
  remove(path);
  GpuArray out = {0};
  CHECK_OK(call_vector(again, ctx, 1, 5, &out, NULL));
  CHECK(out.dimensions[0] == 5);
  GpuArray_clear(&out);
  GpuPlan_free(again);
  GpuPlan_free(p);
}

static int trial(gpucontext *ctx) {
  calls seen = {0};
  GpuPlan *p = NULL;
  GpuArray out = {0};
  int status = build(&p, ctx, &seen, vector, NULL);
  STEP(call_vector(p, ctx, 9, 2, &out, NULL));
  GpuArray_clear(&out);
  GpuPlan_free(p);
  return status;
}

int main(void) {
  gpucontext *ctx = open_null();
  test_a_function_is_recorded(ctx);
  test_an_array_that_a_function_keeps(ctx);
  test_failures(ctx);
  test_a_result_of_another_type(ctx);
  test_integers(ctx);
  test_a_recorded_function_is_saved(ctx);
  test_integer_inputs_are_saved(ctx);
  fail_each_allocation(trial, ctx);
  gpucontext_deref(ctx);
  return check_result("plan_function");
}
