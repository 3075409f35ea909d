/* Plans on the null backend: shapes, reuse of memory, bindings, errors and failing
 * allocations. */
#include "float_sum.h"
#include "null_plan.h"

static const gpuelemwise_arg x_in = {"x", GA_FLOAT, GE_READ};
static const gpuelemwise_arg y_in = {"y", GA_FLOAT, GE_READ};
static const gpuelemwise_arg out = {"out", GA_FLOAT, GE_WRITE};

/* One elementwise step of one or two inputs, the second of which may stretch in
 * `stretch`. */
static int add_elemwise(GpuPlan *p, unsigned int *result, unsigned int n,
                        const unsigned int *ins, unsigned int stretch, int inplace) {
  gpuelemwise_arg in_args[2] = {x_in, y_in};
  unsigned int stretches[2] = {0, stretch};
  gpuplan_elemwise step = {.size = sizeof step,
                           .label = n == 2 ? "add" : "double",
                           .expr = n == 2 ? "out = x + y" : "out = x + x",
                           .n_out = 1,
                           .out_args = &out,
                           .inplace = &inplace,
                           .n_in = n,
                           .in_args = in_args,
                           .ins = ins,
                           .stretch = stretches};
  return GpuPlan_elemwise(p, result, &step);
}

static int zeros(GpuArray *a, gpucontext *ctx, size_t rows, size_t columns) {
  size_t dims[2] = {rows, columns};
  return GpuArray_zeros(a, ctx, GA_FLOAT, 2, dims, GA_C_ORDER);
}

/* x (n, m) and w (m,): sum over rows of 2 (2 (x + x)) + w, and x . w. */
static int build(GpuPlan **plan, gpucontext *ctx) {
  unsigned int x, w, wide, a, b, c, d, total, product;
  const int row[2] = {-1, 0};
  gpureduction_spec spec = float_sum(&x_in);
  const unsigned int none = 0;
  GpuPlan *p = NULL;
  int status = GpuPlan_new(&p, ctx, "test");
  if (status != GA_NO_ERROR)
    return status;
  STEP(GpuPlan_input(p, &x, GA_FLOAT, 2, 0));
  STEP(GpuPlan_input(p, &w, GA_FLOAT, 1, 0));
  STEP(GpuPlan_dimshuffle(p, &wide, "row", w, 2, row));
  STEP(add_elemwise(p, &a, 1, &x, 0, -1));
  STEP(add_elemwise(p, &b, 1, &a, 0, -1));
  STEP(add_elemwise(p, &c, 1, &b, 0, -1));
  STEP(add_elemwise(p, &d, 2, (unsigned int[]){c, wide}, 1, 0));
  STEP(GpuPlan_reduce(p, &total, "sum", &spec, &d, &none, 1));
  STEP(GpuPlan_gemv(p, &product, "gemv", 1, x, cb_no_trans, w, 0, 0, 0));
  STEP(GpuPlan_output(p, total));
  STEP(GpuPlan_output(p, product));
  STEP(GpuPlan_output(p, total));
  return give_plan(plan, p, status);
}

static int run(GpuPlan *p, gpucontext *ctx, size_t rows, size_t columns,
               GpuArray outs[3]) {
  GpuArray x = {0}, w = {0};
  int status = zeros(&x, ctx, rows, columns);
  if (status == GA_NO_ERROR)
    status = GpuArray_zeros(&w, ctx, GA_FLOAT, 1, &columns, GA_C_ORDER);
  if (status == GA_NO_ERROR)
    status = GpuPlan_run(p, (GpuArray *[]){&outs[0], &outs[1], &outs[2]},
                         (const GpuArray *[]){&x, &w}, NULL);
  GpuArray_clear(&x);
  GpuArray_clear(&w);
  return status;
}

static void clear(GpuArray outs[3]) {
  for (int i = 0; i < 3; i++)
    GpuArray_clear(&outs[i]);
}

static void test_shapes_and_reuse(gpucontext *ctx) {
  GpuPlan *p = NULL;
  GpuArray outs[3] = {{0}, {0}, {0}};
  gpuplan_info info;
  CHECK_OK(build(&p, ctx));
  CHECK_OK(GpuPlan_prepare(p));
  CHECK_OK(run(p, ctx, 6, 4, outs));
  CHECK(outs[0].nd == 1 && outs[0].dimensions[0] == 4);
  CHECK(outs[1].nd == 1 && outs[1].dimensions[0] == 6);
  CHECK(outs[2].data == outs[0].data);
  clear(outs);
  CHECK_OK(GpuPlan_info(p, &info));
  CHECK(info.n_binds == 1 && info.n_launches >= 6);
  /* a and b take turns with c, which d overwrites: two blocks, not four. */
  CHECK(info.workspace <= 2 * 512);
  CHECK_OK(run(p, ctx, 6, 4, outs));
  clear(outs);
  CHECK_OK(GpuPlan_info(p, &info));
  CHECK(info.n_binds == 1);
  CHECK_OK(run(p, ctx, 0, 4, outs));
  clear(outs);
  CHECK_OK(run(p, ctx, 1, 4, outs));
  clear(outs);
  CHECK_OK(GpuPlan_info(p, &info));
  CHECK(info.n_binds == 3 && info.n_bindings == 3);
  GpuPlan_free(p);
}

static void test_many_signatures(gpucontext *ctx) {
  GpuPlan *p = NULL;
  gpuplan_info info;
  CHECK_OK(build(&p, ctx));
  for (size_t rows = 1; rows <= 100; rows++) {
    GpuArray outs[3] = {{0}, {0}, {0}};
    CHECK_OK(run(p, ctx, rows, 3, outs));
    clear(outs);
  }
  CHECK_OK(GpuPlan_info(p, &info));
  CHECK(info.n_binds == 100 && info.n_bindings == 64);
  GpuPlan_free(p);
}

static void test_in_place_takes_over_an_input(gpucontext *ctx) {
  GpuPlan *p = NULL;
  unsigned int x, y, sum;
  GpuArray a = {0}, b = {0}, result = {0};
  CHECK_OK(GpuPlan_new(&p, ctx, "update"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 2, 0));
  CHECK_OK(GpuPlan_input(p, &y, GA_FLOAT, 2, 0));
  CHECK_OK(add_elemwise(p, &sum, 2, (unsigned int[]){x, y}, 0, 0));
  CHECK_OK(GpuPlan_output(p, sum));
  CHECK_OK(zeros(&a, ctx, 3, 4));
  CHECK_OK(zeros(&b, ctx, 3, 4));
  CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&result}, (const GpuArray *[]){&a, &b}, NULL));
  CHECK(result.data == a.data);
  GpuArray_clear(&result);
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_run(p, (GpuArray *[]){&result},
                                           (const GpuArray *[]){NULL, &b}, NULL));
  /* The same array as both inputs: the one that is only read is copied first. */
  CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&result}, (const GpuArray *[]){&a, &a}, NULL));
  CHECK(result.data == a.data);
  GpuArray_clear(&result);
  GpuArray_clear(&a);
  GpuArray_clear(&b);
  GpuPlan_free(p);
}

/* Two updates in place: x + y over x, and y + x over y. */
static int build_two_updates(GpuPlan **plan, gpucontext *ctx) {
  unsigned int x, y, a, b;
  CHECK_OK(GpuPlan_new(plan, ctx, "two updates"));
  CHECK_OK(GpuPlan_input(*plan, &x, GA_FLOAT, 2, 0));
  CHECK_OK(GpuPlan_input(*plan, &y, GA_FLOAT, 2, 0));
  CHECK_OK(add_elemwise(*plan, &a, 1, &x, 0, 0));
  CHECK_OK(add_elemwise(*plan, &b, 1, &y, 0, 0));
  CHECK_OK(GpuPlan_output(*plan, a));
  return GpuPlan_output(*plan, b);
}

static void test_two_updates_of_one_buffer_part(gpucontext *ctx) {
  GpuPlan *p = NULL;
  GpuArray a = {0}, first = {0}, second = {0};
  CHECK_OK(build_two_updates(&p, ctx));
  CHECK_OK(zeros(&a, ctx, 3, 4));
  CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&first, &second}, (const GpuArray *[]){&a, &a},
                       NULL));
  CHECK(first.data == a.data && second.data != a.data);
  GpuArray_clear(&first);
  GpuArray_clear(&second);
  GpuArray_clear(&a);
  GpuPlan_free(p);
}

static unsigned int references(const GpuArray *a) {
  unsigned int count = 0;
  CHECK_OK(gpudata_property(a->data, GA_BUFFER_PROP_REFCNT, &count));
  return count;
}

/* A run without memory for its results leaves the inputs it would overwrite alone. */
static void test_running_out_of_memory_keeps_the_inputs(gpucontext *ctx) {
  GpuPlan *p = NULL;
  GpuArray x = {0}, y = {0}, first = {0}, second = {0};
  gpucontext_memory info;
  unsigned int vx, vy, a, b;
  int failed = -1;
  CHECK_OK(GpuPlan_new(&p, ctx, "update"));
  CHECK_OK(GpuPlan_input(p, &vx, GA_FLOAT, 2, 0));
  CHECK_OK(GpuPlan_input(p, &vy, GA_FLOAT, 2, 0));
  CHECK_OK(add_elemwise(p, &a, 1, &vx, 0, 0));
  CHECK_OK(add_elemwise(p, &b, 1, &vy, 0, -1));
  CHECK_OK(GpuPlan_output(p, a));
  CHECK_OK(GpuPlan_output(p, b));
  CHECK_OK(zeros(&x, ctx, 100, 100));
  CHECK_OK(zeros(&y, ctx, 100, 100));
  CHECK_OK(gpucontext_trim(ctx));
  CHECK_OK(gpucontext_memory_info(ctx, &info));
  CHECK_OK(gpucontext_set_limit(ctx, info.live + 1));
  CHECK_STATUS(GA_MEMORY_ERROR, GpuPlan_run(p, (GpuArray *[]){&first, &second},
                                            (const GpuArray *[]){&x, &y}, &failed));
  CHECK(failed == 1); /* the step whose result it was for */
  CHECK(references(&x) == 1 && references(&y) == 1);
  CHECK_OK(gpucontext_set_limit(ctx, 0));
  CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&first, &second}, (const GpuArray *[]){&x, &y},
                       NULL));
  CHECK(first.data == x.data && references(&x) == 2);
  GpuArray_clear(&first);
  GpuArray_clear(&second);
  GpuArray_clear(&x);
  GpuArray_clear(&y);
  GpuPlan_free(p);
}

static void test_errors(gpucontext *ctx) {
  GpuPlan *p = NULL;
  GpuArray outs[3] = {{0}, {0}, {0}}, x = {0}, w = {0};
  unsigned int value;
  size_t five = 5;
  int step = -2;
  CHECK_OK(build(&p, ctx));
  CHECK_OK(zeros(&x, ctx, 6, 4));
  CHECK_OK(GpuArray_zeros(&w, ctx, GA_FLOAT, 1, &five, GA_C_ORDER));
  GpuArray *results[3] = {&outs[0], &outs[1], &outs[2]};
  CHECK_STATUS(GA_VALUE_ERROR,
               GpuPlan_run(p, results, (const GpuArray *[]){&x, &w}, &step));
  CHECK(step == 4);
  CHECK_TEXT("add");
  CHECK(outs[0].data == NULL);
  CHECK_STATUS(GA_INVALID_ERROR,
               GpuPlan_run(p, results, (const GpuArray *[]){&w, &w}, &step));
  CHECK_TEXT("expected float32 of 2 axes");
  CHECK_STATUS(GA_VALUE_ERROR,
               GpuPlan_run(p, results, (const GpuArray *[]){&x, NULL}, &step));
  CHECK_TEXT("input 1 is not an array");
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_output(p, 99));
  CHECK_TEXT("value 99 does not exist");
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_dim(p, &value, 0, 2));
  CHECK_OK(run(p, ctx, 2, 2, outs)); /* and still works */
  clear(outs);
  GpuArray_clear(&x);
  GpuArray_clear(&w);
  GpuPlan_free(p);
}

static int trial(gpucontext *ctx) {
  GpuPlan *p = NULL;
  GpuArray outs[3] = {{0}, {0}, {0}};
  int status = build(&p, ctx);
  STEP(run(p, ctx, 5, 7, outs));
  clear(outs);
  GpuPlan_free(p);
  return status;
}

int main(void) {
  gpucontext *ctx = open_null();
  test_shapes_and_reuse(ctx);
  test_many_signatures(ctx);
  test_in_place_takes_over_an_input(ctx);
  test_two_updates_of_one_buffer_part(ctx);
  test_running_out_of_memory_keeps_the_inputs(ctx);
  test_errors(ctx);
  fail_each_allocation(trial, ctx);
  gpucontext_deref(ctx);
  return check_result("plan");
}
