/* Plans whose steps run under conditions: on the null backend. */
#include "null_plan.h"

/* Counts in data how often it was recorded; copies its input. */
static int counted(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                   const long long *ints) {
  (void)ints;
  ++*(int *)data;
  return GpuArray_copy(outs[0], ins[0], GA_C_ORDER);
}

static const gpuplan_type vector = {GA_FLOAT, 1};

typedef struct seen {
  int then, other;
} seen;

/* x (n,), count: where count % 3 is 0 a copy by one function, else by another. */
static int build(GpuPlan **plan, gpucontext *ctx, seen *calls) {
  unsigned int x, count, three, zero, rest, is_zero, then = 0, other = 0, chosen;
  const int yes = 1, no = 0;
  GpuPlan *p = NULL;
  int status = GpuPlan_new(&p, ctx, "test");
  STEP(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  STEP(GpuPlan_int_input(p, &count));
  STEP(GpuPlan_int(p, &three, 3));
  STEP(GpuPlan_int(p, &zero, 0));
  STEP(GpuPlan_int_op(p, &rest, GP_INT_MOD, count, three));
  STEP(GpuPlan_int_op(p, &is_zero, GP_INT_EQ, rest, zero));
  STEP(GpuPlan_when(p, 1, &is_zero, &yes));
  STEP(GpuPlan_function(p, &then, "then", counted, &calls->then, 1, &x, 1, &vector,
                        NULL));
  STEP(GpuPlan_when(p, 1, &is_zero, &no));
  STEP(GpuPlan_function(p, &other, "else", counted, &calls->other, 1, &x, 1, &vector,
                        NULL));
  STEP(GpuPlan_when(p, 0, NULL, NULL));
  STEP(GpuPlan_choose(p, &chosen, "if", is_zero, then, other));
  STEP(GpuPlan_output(p, chosen));
  return give_plan(plan, p, status);
}

static void test_only_the_branch_taken_is_recorded(gpucontext *ctx) {
  seen calls = {0, 0};
  GpuPlan *p = NULL;
  gpuplan_info info;
  CHECK_OK(build(&p, ctx, &calls));
  for (long long count = 1; count < 10; count++) {
    GpuArray out = {0};
    CHECK_OK(call_vector(p, ctx, 5, count, &out, NULL));
    CHECK(out.dimensions[0] == 5);
    CHECK(calls.other == 1 && calls.then == (count < 3 ? 0 : 1));
    GpuArray_clear(&out);
    CHECK_OK(GpuPlan_info(p, &info));
    CHECK(info.n_launches == 1);
  }
  CHECK(info.n_binds == 2); /* the truth is in the signature, not the integer */
  GpuPlan_free(p);
}

/* An integer that a shape is made of is in the signature with its value. */
static void test_what_settles_shapes_is_told_apart(gpucontext *ctx) {
  unsigned int x, n, longer, chosen;
  const int yes = 1;
  GpuPlan *p = NULL;
  gpuplan_info info;
  CHECK_OK(GpuPlan_new(&p, ctx, "test"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 1));
  CHECK_OK(GpuPlan_int_input(p, &n));
  CHECK_OK(GpuPlan_when(p, 1, &n, &yes));
  CHECK_OK(GpuPlan_broadcast(p, &longer, "longer", x, 1, &n));
  CHECK_OK(GpuPlan_when(p, 0, NULL, NULL));
  CHECK_OK(GpuPlan_choose(p, &chosen, "if", n, longer, x));
  CHECK_OK(GpuPlan_output(p, chosen));
  const size_t lengths[4] = {1, 4, 7, 4};
  const long long counts[4] = {0, 4, 7, 4};
  for (int i = 0; i < 4; i++) {
    GpuArray out = {0};
    CHECK_OK(call_vector(p, ctx, 1, counts[i], &out, NULL));
    CHECK(out.dimensions[0] == lengths[i]);
    GpuArray_clear(&out);
  }
  CHECK_OK(GpuPlan_info(p, &info));
  CHECK(info.n_binds == 3);
  GpuPlan_free(p);
}

/* What is only computed under a condition is an output of one element elsewhere. */
static void test_absent_outputs(gpucontext *ctx) {
  unsigned int x, n, copy;
  const int yes = 1;
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "test"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_int_input(p, &n));
  CHECK_OK(GpuPlan_when(p, 1, &n, &yes));
  CHECK_OK(GpuPlan_copy(p, &copy, "copy", x));
  CHECK_OK(GpuPlan_output(p, copy));
  for (long long i = 0; i < 2; i++) {
    GpuArray out = {0};
    CHECK_OK(call_vector(p, ctx, 5, i, &out, NULL));
    CHECK(out.dimensions[0] == (i ? 5u : 1u));
    GpuArray_clear(&out);
  }
  GpuPlan_free(p);
}

static void test_an_integer_that_cannot_be_computed(gpucontext *ctx) {
  unsigned int x, n, ten, part, chosen, copy;
  const int yes = 1;
  int failed = -1;
  GpuPlan *p = NULL;
  GpuArray out = {0};
  CHECK_OK(GpuPlan_new(&p, ctx, "test"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_int_input(p, &n));
  CHECK_OK(GpuPlan_int(p, &ten, 10));
  CHECK_OK(GpuPlan_int_op(p, &part, GP_INT_FLOORDIV, ten, n));
  CHECK_OK(GpuPlan_when(p, 1, &part, &yes));
  CHECK_OK(GpuPlan_copy(p, &copy, "copy", x));
  CHECK_OK(GpuPlan_when(p, 0, NULL, NULL));
  CHECK_OK(GpuPlan_choose(p, &chosen, "if", part, copy, x));
  CHECK_OK(GpuPlan_output(p, chosen));
  CHECK_STATUS(GA_VALUE_ERROR, call_vector(p, ctx, 5, 0, &out, &failed));
  CHECK_TEXT("10 // 0");
  CHECK(failed == 1);
  CHECK_OK(call_vector(p, ctx, 5, 20, &out, &failed));
  GpuArray_clear(&out);
  GpuPlan_free(p);
}

static void test_wrong_steps(gpucontext *ctx) {
  unsigned int x, n, copy, m, other, chosen = 77;
  const int yes = 1;
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "test"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_input(p, &other, GA_DOUBLE, 1, 0));
  CHECK_OK(GpuPlan_int_input(p, &n));
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_when(p, 1, &x, &yes));
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_when(p, 1, (unsigned int[]){99}, &yes));
  CHECK_OK(GpuPlan_when(p, 1, &n, &yes));
  CHECK_OK(GpuPlan_copy(p, &copy, "copy", x));
  CHECK_OK(GpuPlan_dim(p, &m, copy, 0));
  CHECK_OK(GpuPlan_when(p, 0, NULL, NULL));
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_copy(p, &chosen, "again", copy));
  CHECK_TEXT("computed only when");
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_choose(p, &chosen, "if", n, x, copy));
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_choose(p, &chosen, "if", n, copy, other));
  CHECK_TEXT("expected one type");
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_choose(p, &chosen, "if", x, copy, x));
  CHECK_OK(GpuPlan_when(p, 1, &m, &yes));
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_copy(p, &chosen, "inner", x));
  CHECK(chosen == 77);
  GpuPlan_free(p);
}

static void test_branches_are_saved(gpucontext *ctx) {
  char path[] = "/tmp/gpuplan-XXXXXX";
  unsigned int x, n, copy, chosen;
  const int yes = 1;
  GpuPlan *p = NULL, *again = NULL;
  gpuplan_info info;
  CHECK_OK(GpuPlan_new(&p, ctx, "saved"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_int_input(p, &n));
  CHECK_OK(GpuPlan_when(p, 1, &n, &yes));
  CHECK_OK(GpuPlan_copy(p, &copy, "copy", x));
  CHECK_OK(GpuPlan_when(p, 0, NULL, NULL));
  CHECK_OK(GpuPlan_choose(p, &chosen, "if", n, copy, x));
  CHECK_OK(GpuPlan_output(p, chosen));
  make_file(path);
  for (int ran = 0; ran < 2; ran++) { /* with bindings in the file, the second time */
    CHECK_OK(GpuPlan_save(p, path));
    CHECK_OK(GpuPlan_load(&again, ctx, path));
    for (long long i = 0; i < 4; i++) {
      GpuArray out = {0};
      CHECK_OK(call_vector(again, ctx, 5, i, &out, NULL));
      CHECK_OK(GpuPlan_info(again, &info));
      CHECK(info.n_launches == (i ? 1u : 0u));
      GpuArray_clear(&out);
      CHECK_OK(call_vector(p, ctx, 5, i, &out, NULL));
      GpuArray_clear(&out);
    }
    CHECK(info.n_bindings == 2);
    GpuPlan_free(again);
  }
  remove(path);
  GpuPlan_free(p);
}

static int trial(gpucontext *ctx) {
  seen calls = {0, 0};
  GpuPlan *p = NULL;
  GpuArray out = {0};
  int status = build(&p, ctx, &calls);
  STEP(call_vector(p, ctx, 9, 2, &out, NULL));
  GpuArray_clear(&out);
  GpuPlan_free(p);
  return status;
}

int main(int argc, char **argv) {
  (void)argc;
  gpucontext *ctx = open_null();
  test_only_the_branch_taken_is_recorded(ctx);
  test_what_settles_shapes_is_told_apart(ctx);
  test_absent_outputs(ctx);
  test_an_integer_that_cannot_be_computed(ctx);
  test_wrong_steps(ctx);
  test_branches_are_saved(ctx);
  fail_each_allocation(trial, ctx);
  gpucontext_deref(ctx);
  return check_result(argv[0]);
}
