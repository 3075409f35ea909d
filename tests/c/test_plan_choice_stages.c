/* Conditionals of plans that are recorded in stages. */
#include "choosing_plans.h"
#include "device_context.h"
#include "elemwise_step.h"

/* ---- random plans ---- */

/* v = x + 1 where the sum of x is positive is a side of a choice under another
 * condition, and is read once more after the other side of that: where both hold, v is
 * still there. */
static GpuPlan *build_two_conditions(gpucontext *ctx) {
  unsigned int x, y, c, d, v, inner, w, u, outs[2];
  const int yes = 1, no = 0;
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "test"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_input(p, &y, GA_FLOAT, 1, 0));
  c = is_positive(p, x);
  d = is_positive(p, y);
  CHECK_OK(GpuPlan_when(p, 1, &c, &yes));
  v = apply(p, "y = x + 1", x, GA_FLOAT, -1);
  CHECK_OK(GpuPlan_when(p, 1, &d, &no));
  CHECK_OK(GpuPlan_choose(p, &inner, "inner", c, v, x));
  CHECK_OK(GpuPlan_when(p, 1, &d, &yes));
  w = apply(p, "y = 2 * x", y, GA_FLOAT, -1);
  CHECK_OK(GpuPlan_when(p, 0, NULL, NULL));
  CHECK_OK(GpuPlan_choose(p, &outs[0], "outer", d, w, inner));
  CHECK_OK(GpuPlan_when(p, 1, &c, &yes));
  u = apply(p, "y = 3 * x", v, GA_FLOAT, -1);
  CHECK_OK(GpuPlan_when(p, 0, NULL, NULL));
  CHECK_OK(GpuPlan_choose(p, &outs[1], "last", c, u, x));
  CHECK_OK(GpuPlan_output(p, outs[0]));
  CHECK_OK(GpuPlan_output(p, outs[1]));
  return p;
}

static void test_memory_of_two_conditions(gpucontext *ctx) {
  const size_t n = LENGTH;
  gpuplan_info info;
  choose(ctx, true);
  GpuPlan *p = build_two_conditions(ctx);
  for (int call = 0; call < 4; call++) {
    const float s = call & 1 ? 1 : -1, t = call & 2 ? 1 : -1;
    float x[LENGTH], y[LENGTH], found[2][LENGTH];
    GpuArray a = {0}, b = {0};
    for (int i = 0; i < LENGTH; i++) {
      x[i] = s * (float)(i + 1);
      y[i] = t * (float)(i + 7);
    }
    CHECK_OK(GpuArray_copy_from_host(&a, ctx, x, GA_FLOAT, 1, &n, NULL));
    CHECK_OK(GpuArray_copy_from_host(&b, ctx, y, GA_FLOAT, 1, &n, NULL));
    run(found, p, (const GpuArray *const[]){&a, &b});
    for (int i = 0; i < LENGTH; i++) {
      CHECK(found[0][i] == (t > 0 ? 2 * y[i] : s > 0 ? x[i] + 1 : x[i]));
      CHECK(found[1][i] == (s > 0 ? 3 * (x[i] + 1) : x[i]));
    }
    GpuArray_clear(&a);
    GpuArray_clear(&b);
  }
  CHECK_OK(GpuPlan_info(p, &info));
  CHECK(info.n_binds == 1);
  choose(ctx, false);
  GpuPlan_free(p);
}

/* A condition, d, is a side of what another chooses, which is overwritten before a step
 * asks for d. */
static GpuPlan *build_overwritten(gpucontext *ctx) {
  unsigned int x, y, c, d, asked, other, chosen, v, inner, outs[2];
  const int yes[2] = {1, 1}, no = 0;
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "test"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_input(p, &y, GA_FLOAT, 1, 0));
  c = is_positive(p, x);
  CHECK_OK(GpuPlan_when(p, 1, &c, yes));
  asked = positive(p, y);
  CHECK_OK(GpuPlan_read(p, &d, "read", asked, 1));
  CHECK_OK(GpuPlan_when(p, 1, &c, &no));
  other = positive(p, y);
  CHECK_OK(GpuPlan_when(p, 0, NULL, NULL));
  CHECK_OK(GpuPlan_choose(p, &chosen, "either", c, asked, other));
  CHECK_OK(add_step(p, &outs[1], "not", "y = !x", chosen, GA_BOOL, GA_BOOL, 0));
  CHECK_OK(GpuPlan_when(p, 2, (unsigned int[]){c, d}, yes));
  v = apply(p, "y = x + 1", x, GA_FLOAT, -1);
  CHECK_OK(GpuPlan_when(p, 1, &c, yes));
  CHECK_OK(GpuPlan_choose(p, &inner, "inner", d, v, y));
  CHECK_OK(GpuPlan_when(p, 0, NULL, NULL));
  CHECK_OK(GpuPlan_choose(p, &outs[0], "outer", c, inner, x));
  CHECK_OK(GpuPlan_output(p, outs[0]));
  CHECK_OK(GpuPlan_output(p, outs[1]));
  return p;
}

static void test_a_condition_that_is_overwritten(gpucontext *ctx) {
  const size_t one = 1;
  choose(ctx, true);
  GpuPlan *p = build_overwritten(ctx);
  for (int call = 0; call < 8; call++) {
    const float x = call & 1 ? 3 : -3, y = call & 2 ? 5 : -5;
    float found;
    bool negated;
    GpuArray a = {0}, b = {0}, outs[2] = {{0}};
    CHECK_OK(GpuArray_copy_from_host(&a, ctx, &x, GA_FLOAT, 1, &one, NULL));
    CHECK_OK(GpuArray_copy_from_host(&b, ctx, &y, GA_FLOAT, 1, &one, NULL));
    CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&outs[0], &outs[1]},
                         (const GpuArray *[]){&a, &b}, NULL));
    CHECK_OK(GpuArray_read(&found, sizeof found, &outs[0]));
    CHECK_OK(GpuArray_read(&negated, sizeof negated, &outs[1]));
    CHECK(found == (x > 0 ? (y > 0 ? x + 1 : y) : x) && negated == !(y > 0));
    GpuArray_clear(&a);
    GpuArray_clear(&b);
    GpuArray_clear(&outs[0]);
    GpuArray_clear(&outs[1]);
  }
  choose(ctx, false);
  GpuPlan_free(p);
}

/* ---- what is recorded in stages all the same ---- */

/* x (n,), y (m,): one or the other, by the sum of x. */
static GpuPlan *build_one_of_two(gpucontext *ctx, const char *expr, int over) {
  unsigned int x, y, c, then, out;
  const int yes = 1;
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "test"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_input(p, &y, GA_FLOAT, 1, 0));
  c = is_positive(p, x);
  CHECK_OK(GpuPlan_when(p, 1, &c, &yes));
  then = apply(p, expr, x, GA_FLOAT, over);
  CHECK_OK(GpuPlan_when(p, 0, NULL, NULL));
  CHECK_OK(GpuPlan_choose(p, &out, "if", c, then, y));
  CHECK_OK(GpuPlan_output(p, out));
  return p;
}

static float run_one_of_two(GpuPlan *p, gpucontext *ctx, float first, size_t m) {
  const float values[2] = {first, 1};
  const size_t two = 2;
  float found[3] = {0};
  GpuArray x = {0}, y = {0}, out = {0};
  CHECK_OK(GpuArray_copy_from_host(&x, ctx, values, GA_FLOAT, 1, &two, NULL));
  CHECK_OK(GpuArray_zeros(&y, ctx, GA_FLOAT, 1, &m, GA_C_ORDER));
  CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&out}, (const GpuArray *[]){&x, &y}, NULL));
  CHECK(out.dimensions[0] == (first > 0 ? 2 : m));
  CHECK_OK(GpuArray_read(found, out.dimensions[0] * sizeof *found, &out));
  GpuArray_clear(&x);
  GpuArray_clear(&y);
  GpuArray_clear(&out);
  return found[0];
}

static void test_two_shapes(gpucontext *ctx) {
  gpuplan_info info;
  choose(ctx, true);
  GpuPlan *p = build_one_of_two(ctx, "y = x + 1", -1);
  CHECK(run_one_of_two(p, ctx, 4, 2) == 5 && run_one_of_two(p, ctx, -4, 2) == 0);
  CHECK_OK(GpuPlan_info(p, &info));
  CHECK(info.n_binds == 1); /* at once */
  for (int i = 0; i < 12; i++)
    CHECK(run_one_of_two(p, ctx, i % 2 ? 4 : -4, 3) == (i % 2 ? 5 : 0));
  CHECK(run_one_of_two(p, ctx, 4, 2) == 5);
  CHECK_OK(GpuPlan_info(p, &info));
  CHECK(info.n_binds > 3); /* in stages, from some call on */
  choose(ctx, false);
  GpuPlan_free(p);
}

/* c = read(a); where it holds: d of x, or of a again after k = 6 // len(x); where both
 * do: a + 1, in k parts in the second case. Else a. */
static GpuPlan *build_refused(gpucontext *ctx, bool divides) {
  unsigned int a, x, c, d, length, six, k = 0, v, inner, out;
  const int yes[2] = {1, 1};
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "test"));
  CHECK_OK(GpuPlan_input(p, &a, GA_INT, 1, 0));
  CHECK_OK(GpuPlan_input(p, &x, GA_INT, 1, 0));
  CHECK_OK(GpuPlan_read(p, &c, "read a", a, 1));
  CHECK_OK(GpuPlan_when(p, 1, &c, yes));
  if (divides) {
    CHECK_OK(GpuPlan_dim(p, &length, x, 0));
    CHECK_OK(GpuPlan_int(p, &six, 6));
    CHECK_OK(GpuPlan_int_op(p, &k, GP_INT_FLOORDIV, six, length));
  }
  CHECK_OK(GpuPlan_read(p, &d, "read", divides ? a : x, 1));
  CHECK_OK(GpuPlan_when(p, 2, (unsigned int[]){c, d}, yes));
  CHECK_OK(add_step(p, &v, "a + 1", "y = x + 1", a, GA_INT, GA_INT, -1));
  if (divides)
    CHECK_OK(GpuPlan_reshape(p, &v, "parts", v, 1, &k));
  CHECK_OK(GpuPlan_when(p, 1, &c, yes));
  CHECK_OK(GpuPlan_choose(p, &inner, "inner", d, v, a));
  CHECK_OK(GpuPlan_when(p, 0, NULL, NULL));
  CHECK_OK(GpuPlan_choose(p, &out, "outer", c, inner, a));
  CHECK_OK(GpuPlan_output(p, out));
  return p;
}

/* What cannot be recorded whole, for the step of a side does not fit, runs in stages,
 * where that side does not. */
static void test_a_side_that_does_not_fit(gpucontext *ctx) {
  for (int divides = 0; divides < 2; divides++) {
    const size_t one = 1, length = divides ? 0 : 2;
    choose(ctx, true);
    GpuPlan *p = build_refused(ctx, divides);
    for (int call = 0; call < 12; call++) {
      const int zero = 0;
      int found = -1;
      GpuArray a = {0}, x = {0}, out = {0};
      CHECK_OK(GpuArray_copy_from_host(&a, ctx, &zero, GA_INT, 1, &one, NULL));
      CHECK_OK(GpuArray_zeros(&x, ctx, GA_INT, 1, &length, GA_C_ORDER));
      CHECK_OK(
          GpuPlan_run(p, (GpuArray *[]){&out}, (const GpuArray *[]){&a, &x}, NULL));
      CHECK_OK(GpuArray_read(&found, sizeof found, &out));
      CHECK(found == 0);
      GpuArray_clear(&a);
      GpuArray_clear(&x);
      GpuArray_clear(&out);
    }
    choose(ctx, false);
    GpuPlan_free(p);
  }
}

/* Two elements of x from number k on, where the sum of y is positive, else y. */
static void test_a_part_on_one_side_by_an_integer(gpucontext *ctx) {
  unsigned int x, y, k, two, stop, c, part, out;
  const int yes = 1, form = GP_INDEX_SLICE + GP_INDEX_START + GP_INDEX_STOP;
  const size_t n = 40, m = 2;
  float x_values[40], found[2];
  gpuplan_info info;
  GpuPlan *p = NULL;
  choose(ctx, true);
  CHECK_OK(GpuPlan_new(&p, ctx, "test"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_input(p, &y, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_int_input(p, &k));
  c = is_positive(p, y);
  CHECK_OK(GpuPlan_when(p, 1, &c, &yes));
  CHECK_OK(GpuPlan_int(p, &two, 2));
  CHECK_OK(GpuPlan_int_op(p, &stop, GP_INT_ADD, k, two));
  CHECK_OK(GpuPlan_index(p, &part, "part", x, 1, &form, (unsigned int[]){k, stop}));
  CHECK_OK(GpuPlan_when(p, 0, NULL, NULL));
  CHECK_OK(GpuPlan_choose(p, &out, "if", c, part, y));
  CHECK_OK(GpuPlan_output(p, out));
  for (int i = 0; i < 40; i++)
    x_values[i] = (float)i;
  for (long long i = 0; i < 20; i++) {
    const float y_values[2] = {i % 3 ? 70 : -70, 1};
    GpuArray a = {0}, b = {0}, whole = {0}, copy = {0};
    CHECK_OK(GpuArray_copy_from_host(&a, ctx, x_values, GA_FLOAT, 1, &n, NULL));
    CHECK_OK(GpuArray_copy_from_host(&b, ctx, y_values, GA_FLOAT, 1, &m, NULL));
    CHECK_OK(GpuPlan_call(p, (GpuArray *[]){&whole}, (const GpuArray *[]){&a, &b}, &i,
                          NULL));
    CHECK_OK(GpuArray_copy(&copy, &whole, GA_C_ORDER));
    CHECK_OK(GpuArray_read(found, sizeof found, &copy));
    CHECK(found[0] == (i % 3 ? (float)i : -70) &&
          found[1] == (i % 3 ? (float)i + 1 : 1));
    GpuArray_clear(&a);
    GpuArray_clear(&b);
    GpuArray_clear(&whole);
    GpuArray_clear(&copy);
  }
  CHECK_OK(GpuPlan_info(p, &info));
  CHECK(info.n_binds <= 4); /* by where the part begins in 16 bytes */
  choose(ctx, false);
  GpuPlan_free(p);
}

static void test_memory_that_one_side_overwrites(gpucontext *ctx) {
  choose(ctx, true);
  GpuPlan *p = build_one_of_two(ctx, "y = x * 3", 0);
  for (int i = 0; i < 6; i++)
    CHECK(run_one_of_two(p, ctx, i % 2 ? 4 : -4, 2) == (i % 2 ? 12 : 0));
  choose(ctx, false);
  GpuPlan_free(p);
}

int main(int argc, char **argv) {
  (void)argc;
  gpucontext *ctx = open_device();
  plain = ctx->backend;
  test_memory_of_two_conditions(ctx);
  test_a_condition_that_is_overwritten(ctx);
  test_two_shapes(ctx);
  test_a_side_that_does_not_fit(ctx);
  test_a_part_on_one_side_by_an_integer(ctx);
  test_memory_that_one_side_overwrites(ctx);
  gpucontext_deref(ctx);
  return check_result(argv[0]);
}
