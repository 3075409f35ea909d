/* Products in plans on CUDA, which become graphs. */
#include "elemwise_step.h"
#include "mock_context.h"

#include <gpuarray/plan.h>

enum { ROWS = 3, TERMS = 4, COLUMNS = 2 };

/* ---- plans ---- */

/* Whether a kernel of ours made a product, since cuBLAS did not start. */
static bool is_own_product;

/* out = x + x of arrays that are one block. */
static void run_double(const mock_launch *launch) {
  if (strncmp(launch->name, "elem_", 5) != 0) {
    is_own_product = true;
    return;
  }
  const uint64_t *args = launch->args; /* n, aligned, out and offset, x and offset */
  char *out = (char *)(uintptr_t)args[2] + args[3];
  const char *x = (const char *)(uintptr_t)args[4] + args[5];
  for (uint64_t i = 0; i < args[0]; i++) {
    float value;
    memcpy(&value, x + i * sizeof value, sizeof value);
    value += value;
    memcpy(out + i * sizeof value, &value, sizeof value);
  }
}

static int add_double(GpuPlan *p, unsigned int *result, unsigned int x) {
  return add_step(p, result, "double", "y = x + x", x, GA_FLOAT, GA_FLOAT, -1);
}

/* a b, doubled twice. */
static int build(GpuPlan **out, gpucontext *ctx) {
  unsigned int a, b, product, twice, four;
  GpuPlan *p = NULL;
  int status = GpuPlan_new(&p, ctx, "products");
  if (status == GA_NO_ERROR)
    status = GpuPlan_input(p, &a, GA_FLOAT, 2, 0);
  if (status == GA_NO_ERROR)
    status = GpuPlan_input(p, &b, GA_FLOAT, 2, 0);
  if (status == GA_NO_ERROR)
    status = GpuPlan_gemm(p, &product, "product", 1, a, cb_no_trans, b, cb_no_trans, 0,
                          0, 0);
  if (status == GA_NO_ERROR)
    status = add_double(p, &twice, product);
  if (status == GA_NO_ERROR)
    status = add_double(p, &four, twice);
  if (status == GA_NO_ERROR)
    status = GpuPlan_output(p, four);
  if (status == GA_NO_ERROR)
    *out = p;
  else
    GpuPlan_free(p);
  return status;
}

/* Runs the plan on new values in the same arrays and checks what comes out. */
static int run_once(GpuPlan *p, GpuArray *a, GpuArray *b, int seed) {
  float left[ROWS][TERMS], right[TERMS][COLUMNS], got[ROWS][COLUMNS];
  GpuArray result = {0};
  for (int l = 0; l < TERMS; l++) {
    for (int i = 0; i < ROWS; i++)
      left[i][l] = (float)(i * seed - l);
    for (int j = 0; j < COLUMNS; j++)
      right[l][j] = (float)(j + l + seed);
  }
  GA_TRY(GpuArray_write(a, left, sizeof left));
  GA_TRY(GpuArray_write(b, right, sizeof right));
  GA_TRY(GpuPlan_run(p, (GpuArray *[]){&result}, (const GpuArray *[]){a, b}, NULL));
  int status = GpuArray_read(got, sizeof got, &result);
  GpuArray_clear(&result);
  for (int i = 0; status == GA_NO_ERROR && i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++) {
      float sum = 0;
      for (int l = 0; l < TERMS; l++)
        sum += left[i][l] * right[l][j];
      CHECK(got[i][j] == 4 * sum || is_own_product);
    }
  return status;
}

static int make_inputs(GpuArray *a, GpuArray *b, gpucontext *ctx) {
  const size_t left[] = {ROWS, TERMS}, right[] = {TERMS, COLUMNS};
  GA_TRY(GpuArray_empty(a, ctx, GA_FLOAT, 2, left, GA_C_ORDER));
  return GpuArray_empty(b, ctx, GA_FLOAT, 2, right, GA_C_ORDER);
}

static int run_plan(gpucontext *ctx, int times) {
  GpuPlan *p = NULL;
  GpuArray a = {0}, b = {0};
  int status = build(&p, ctx);
  if (status == GA_NO_ERROR)
    status = make_inputs(&a, &b, ctx);
  for (int i = 0; status == GA_NO_ERROR && i < times; i++)
    status = run_once(p, &a, &b, i);
  GpuArray_clear(&a);
  GpuArray_clear(&b);
  GpuPlan_free(p);
  return status;
}

static void test_plans_become_graphs(void) {
  gpucontext *ctx = open_cuda("cuda0");
  mock->run = run_double;
  mock->graph_launches = 0;
  CHECK_OK(run_plan(ctx, 8));
  CHECK(mock->graph_launches >= 5);
  gpucontext_deref(ctx);
  check_given_back();
}

/* Runs a plan of one step on the same array eight times. */
static int run_single(gpucontext *ctx, bool copies) {
  const size_t dims[] = {ROWS, TERMS};
  unsigned int x, y;
  GpuPlan *p = NULL;
  GpuArray a = {0}, b = {0};
  GA_TRY(GpuPlan_new(&p, ctx, "single"));
  int status = GpuPlan_input(p, &x, GA_FLOAT, 2, 0);
  if (status == GA_NO_ERROR)
    status = copies ? GpuPlan_copy(p, &y, "copy", x) : add_double(p, &y, x);
  if (status == GA_NO_ERROR)
    status = GpuPlan_output(p, y);
  if (status == GA_NO_ERROR)
    status = GpuArray_empty(&a, ctx, GA_FLOAT, 2, dims, GA_C_ORDER);
  for (int i = 0; status == GA_NO_ERROR && i < 8; i++) {
    status = GpuPlan_run(p, (GpuArray *[]){&b}, (const GpuArray *[]){&a}, NULL);
    GpuArray_clear(&b);
  }
  GpuArray_clear(&a);
  GpuPlan_free(p);
  return status;
}

static void test_a_launch_alone_becomes_a_graph_and_a_copy_does_not(void) {
  for (int copies = 0; copies < 2; copies++) {
    gpucontext *ctx = open_cuda("cuda0");
    mock->run = run_double;
    mock->graph_launches = 0;
    CHECK_OK(run_single(ctx, copies));
    CHECK(copies ? mock->graph_launches == 0 : mock->graph_launches >= 5);
    gpucontext_deref(ctx);
    check_given_back();
  }
}

/* a b and 2 a b, each doubled three times: two branches, each in memory of its own. */
static int build_branches(GpuPlan **out, gpucontext *ctx) {
  unsigned int a, b, values[2];
  GpuPlan *p = NULL;
  int status = GpuPlan_new(&p, ctx, "branches");
  if (status == GA_NO_ERROR)
    status = GpuPlan_input(p, &a, GA_FLOAT, 2, 0);
  if (status == GA_NO_ERROR)
    status = GpuPlan_input(p, &b, GA_FLOAT, 2, 0);
  for (int i = 0; status == GA_NO_ERROR && i < 2; i++)
    status = GpuPlan_gemm(p, &values[i], "product", i + 1, a, cb_no_trans, b,
                          cb_no_trans, 0, 0, 0);
  for (int k = 0; status == GA_NO_ERROR && k < 6; k++)
    status = add_double(p, &values[k % 2], values[k % 2]);
  for (int i = 0; status == GA_NO_ERROR && i < 2; i++)
    status = GpuPlan_output(p, values[i]);
  if (status == GA_NO_ERROR)
    *out = p;
  else
    GpuPlan_free(p);
  return status;
}

/* Runs both branches of two arrays of ones and checks what comes out. */
static void run_branches(GpuPlan *p, const GpuArray *a, const GpuArray *b) {
  float got[ROWS][COLUMNS];
  GpuArray results[2] = {{0}};
  CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&results[0], &results[1]},
                       (const GpuArray *[]){a, b}, NULL));
  for (int i = 0; i < 2; i++) {
    CHECK_OK(GpuArray_read(got, sizeof got, &results[i]));
    CHECK(got[ROWS - 1][COLUMNS - 1] == (float)(8 * (i + 1) * TERMS));
    GpuArray_clear(&results[i]);
  }
}

/* What need not wait does not: the mock runs nodes in the wrong order if it may. */
static void test_graphs_branch(void) {
  gpucontext *ctx = open_cuda("cuda0");
  float ones[ROWS * TERMS + TERMS * COLUMNS];
  GpuPlan *p = NULL;
  GpuArray a = {0}, b = {0};
  for (size_t i = 0; i < sizeof ones / sizeof *ones; i++)
    ones[i] = 1;
  CHECK_OK(build_branches(&p, ctx));
  CHECK_OK(make_inputs(&a, &b, ctx));
  CHECK_OK(GpuArray_write(&a, ones, sizeof(float) * ROWS * TERMS));
  CHECK_OK(GpuArray_write(&b, ones, sizeof(float) * TERMS * COLUMNS));
  mock->run = run_double;
  mock->graph_launches = mock->branches = mock->shared = 0;
  for (int i = 0; i < 6; i++)
    run_branches(p, &a, &b);
  CHECK(mock->graph_launches >= 3);
  CHECK(mock->branches >= 2);
  CHECK(mock->shared == 0);
  GpuArray_clear(&a);
  GpuArray_clear(&b);
  GpuPlan_free(p);
  gpucontext_deref(ctx);
  check_given_back();
}

/* Products of a graph take the workspace of the queue that it was recorded on. */
static void test_each_queue_has_its_graph(void) {
  gpucontext *ctx = open_cuda("cuda0");
  gpuqueue *q = NULL;
  GpuPlan *p = NULL;
  GpuArray a = {0}, b = {0};
  CHECK_OK(gpuqueue_new(&q, ctx));
  CHECK_OK(build(&p, ctx));
  CHECK_OK(make_inputs(&a, &b, ctx));
  mock->run = run_double;
  const long before = mock->graphs;
  for (int i = 0; i < 6; i++)
    CHECK_OK(run_once(p, &a, &b, i));
  CHECK(mock->graphs > before);
  const long alone = mock->graphs;
  CHECK_OK(gpucontext_use_queue(ctx, q));
  for (int i = 0; i < 6; i++)
    CHECK_OK(run_once(p, &a, &b, i));
  CHECK(mock->graphs > alone);
  CHECK_OK(gpucontext_use_queue(ctx, NULL));
  GpuArray_clear(&a);
  GpuArray_clear(&b);
  GpuPlan_free(p);
  gpuqueue_release(q);
  gpucontext_deref(ctx);
  check_given_back();
}

static int scenario(void) {
  gpucontext *ctx = NULL;
  int status = gpucontext_open(&ctx, "cuda0");
  if (status == GA_NO_ERROR)
    status = run_plan(ctx, 4);
  gpucontext_deref(ctx);
  return status;
}

/* Each call fails in turn; where only the graph fails, the plan runs without one. */
static void test_each_call_fails(void) {
  int n = 0, passed = 0;
  mock->fail_with = 999;
  for (bool is_over = false; !is_over; n++) {
    mock->fail_at = n;
    is_own_product = false;
    int status = scenario();
    is_over = mock->fail_at >= 0;
    mock->fail_at = -1;
    CHECK(status == GA_IMPL_ERROR || status == GA_NO_ERROR || status == GA_LOST_ERROR);
    passed += status == GA_NO_ERROR;
    check_given_back();
  }
  CHECK(n > 60 && passed > 3);
}

/* A kernel's fault in a graph loses the context too. */
static void test_a_fault_in_a_graph(void) {
  gpucontext *ctx = open_cuda("cuda0");
  GpuPlan *p = NULL;
  GpuArray a = {0}, b = {0};
  CHECK_OK(build(&p, ctx));
  CHECK_OK(make_inputs(&a, &b, ctx));
  for (int i = 0; i < 6; i++)
    CHECK_OK(run_once(p, &a, &b, i));
  mock->fault = CUDA_ERROR_ILLEGAL_ADDRESS;
  CHECK_STATUS(GA_RUN_ERROR, run_once(p, &a, &b, 6));
  CHECK_STATUS(GA_LOST_ERROR, run_once(p, &a, &b, 7));
  CHECK_TEXT("The first cause: cu");
  GpuArray_clear(&a);
  GpuArray_clear(&b);
  GpuPlan_free(p);
  gpucontext_deref(ctx);
  check_given_back();
}

int main(void) {
  open_mock();
  test_plans_become_graphs();
  test_a_launch_alone_becomes_a_graph_and_a_copy_does_not();
  test_graphs_branch();
  test_each_queue_has_its_graph();
  test_each_call_fails();
  test_a_fault_in_a_graph();
  return check_result("cuda product graphs");
}
