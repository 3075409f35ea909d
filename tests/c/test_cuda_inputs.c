/* What launches of a graph wait for. Users' kernels that read the same array wait for
 * each other unless they say that they only read (GA_INPUT); what reads the count of
 * wrong indices waits for those that may report one. Workspace is shared by launches
 * that wait for each other anyway, or if there were too much of it, then by launches
 * that are far apart. */
#include "mock_context.h"

#include <gpuarray/index.h>
#include <gpuarray/kernel.h>
#include <gpuarray/plan.h>

enum { N = 16, LAUNCHES = 6 };

static const char *text = "KERNEL void f(GLOBAL_MEM ga_float *out, ga_size out_off, "
                          "GLOBAL_MEM ga_float *in, ga_size in_off) {}";

/* Outputs that `data`, a kernel, computes of the same input. */
static int launch_all(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                      const long long *ints) {
  (void)ints;
  const size_t one = 1, n = N;
  GpuArray x = *ins[0];
  for (int i = 0; i < LAUNCHES; i++) {
    GA_TRY(
        GpuArray_empty(outs[i], GpuArray_context(ins[0]), GA_FLOAT, 1, &n, GA_C_ORDER));
    void *args[] = {outs[i]->data, &outs[i]->offset, x.data, &x.offset};
    GA_TRY(GpuKernel_call(data, 1, &one, &one, 0, args));
  }
  return GA_NO_ERROR;
}

static size_t workspace; /* floats of each of the arrays between two launches */
static bool are_large;   /* results as large as these */

/* The same, by way of an array of its own. */
static int launch_pairs(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                        const long long *ints) {
  (void)ints;
  const size_t one = 1, n = N;
  GpuArray x = *ins[0];
  for (int i = 0; i < LAUNCHES; i++) {
    GpuArray between = {0};
    gpucontext *ctx = GpuArray_context(ins[0]);
    GA_TRY(GpuArray_empty(&between, ctx, GA_FLOAT, 1, &workspace, GA_C_ORDER));
    GA_TRY(GpuArray_empty(outs[i], ctx, GA_FLOAT, 1, are_large ? &workspace : &n,
                          GA_C_ORDER));
    void *first[] = {between.data, &between.offset, x.data, &x.offset};
    void *second[] = {outs[i]->data, &outs[i]->offset, between.data, &between.offset};
    GA_TRY(GpuKernel_call(data, 1, &one, &one, 0, first));
    GA_TRY(GpuKernel_call(data, 1, &one, &one, 0, second));
    GpuArray_clear(&between);
  }
  return GA_NO_ERROR;
}

static int build(GpuPlan **out, gpucontext *ctx, GpuKernel *k) {
  unsigned int x, values[LAUNCHES];
  gpuplan_type types[LAUNCHES];
  for (int i = 0; i < LAUNCHES; i++)
    types[i] = (gpuplan_type){GA_FLOAT, 1};
  GA_TRY(GpuPlan_new(out, ctx, "inputs"));
  GA_TRY(GpuPlan_input(*out, &x, GA_FLOAT, 1, 0));
  GA_TRY(GpuPlan_function(*out, values, "step", workspace ? launch_pairs : launch_all,
                          k, 1, &x, LAUNCHES, types, NULL));
  for (int i = 0; i < LAUNCHES; i++)
    GA_TRY(GpuPlan_output(*out, values[i]));
  return GA_NO_ERROR;
}

static int run(GpuPlan *p, GpuArray *results, const GpuArray *x) {
  GpuArray *outs[LAUNCHES];
  for (int i = 0; i < LAUNCHES; i++)
    outs[i] = &results[i];
  return GpuPlan_run(p, outs, &x, NULL);
}

static void clear_all(GpuArray *arrays) {
  for (int i = 0; i < LAUNCHES; i++)
    GpuArray_clear(&arrays[i]);
}

/* How many launches of a graph do not wait for the one before. */
static long branches(gpucontext *ctx, int in) {
  const int types[] = {GA_BUFFER, GA_OFFSET, in, GA_OFFSET};
  const size_t n = N;
  GpuKernel k;
  GpuPlan *p = NULL;
  GpuArray x = {0}, outs[LAUNCHES] = {{0}};
  const long graphs = mock->graphs;
  mock->graph_launches = mock->branches = 0;
  CHECK_OK(GpuKernel_init(&k, ctx, 1, &text, NULL, "f", 4, types, 0, NULL));
  CHECK_OK(build(&p, ctx, &k));
  CHECK_OK(GpuArray_empty(&x, ctx, GA_FLOAT, 1, &n, GA_C_ORDER));
  for (int i = 0; i < 8; i++) {
    CHECK_OK(run(p, outs, &x));
    clear_all(outs);
  }
  CHECK(mock->graph_launches > 0);
  const long found = mock->branches / (mock->graphs - graphs);
  GpuArray_clear(&x);
  GpuPlan_free(p);
  GpuKernel_clear(&k);
  return found;
}

/* A program holds the results of a run, in blocks like those of the workspace, until it
 * has those of the next: the same addresses come back nevertheless, and one graph for
 * each of both runs serves all others. */
static void test_addresses_come_back(gpucontext *ctx) {
  enum { RUNS = 24 };
  const int types[] = {GA_BUFFER, GA_OFFSET, GA_INPUT, GA_OFFSET};
  const size_t n = N;
  GpuKernel k;
  GpuPlan *p = NULL;
  GpuArray x = {0}, outs[2][LAUNCHES] = {{{0}}};
  workspace = (size_t)1 << 18;
  are_large = true;
  CHECK_OK(GpuKernel_init(&k, ctx, 1, &text, NULL, "f", 4, types, 0, NULL));
  CHECK_OK(build(&p, ctx, &k));
  CHECK_OK(GpuArray_empty(&x, ctx, GA_FLOAT, 1, &n, GA_C_ORDER));
  const long launches = mock->graph_launches, graphs = mock->graphs;
  for (int i = 0; i < RUNS; i++) {
    GpuArray *o = outs[i % 2];
    GpuArray made[LAUNCHES] = {{0}};
    CHECK_OK(run(p, made, &x));
    clear_all(outs[(i + 1) % 2]);
    memcpy(o, made, sizeof made);
  }
  CHECK(mock->graph_launches - launches >= RUNS - 4);
  CHECK(mock->graphs - graphs <= 2);
  clear_all(outs[0]);
  clear_all(outs[1]);
  GpuArray_clear(&x);
  GpuPlan_free(p);
  GpuKernel_clear(&k);
  workspace = 0;
  are_large = false;
}

static int taken(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                 const long long *ints) {
  (void)data, (void)ints;
  return GpuArray_take(outs[0], ins[0], 1, &ins[1], 0, GA_INDEX_RAISE);
}

/* x at an index, and x + 1, which may read the count. */
static void build_taking(GpuPlan **out, gpucontext *ctx, bool reads) {
  unsigned int ins[2], at, picked, next;
  const gpuplan_type type = {GA_FLOAT, 1};
  const gpuelemwise_arg args[2] = {{"x", GA_FLOAT, GE_READ}, {"n", GA_UINT, GE_READ}};
  const gpuelemwise_arg y = {"y", GA_FLOAT, GE_WRITE};
  const unsigned int stretch[2] = {0, 1};
  CHECK_OK(GpuPlan_new(out, ctx, "taking"));
  CHECK_OK(GpuPlan_input(*out, &ins[0], GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_input(*out, &at, GA_LONG, 1, 0));
  CHECK_OK(GpuPlan_function(*out, &picked, "take", taken, NULL, 2,
                            (unsigned int[]){ins[0], at}, 1, &type, NULL));
  CHECK_OK(GpuPlan_reports(*out, &ins[1], "reports"));
  const gpuplan_elemwise step = {.size = sizeof step,
                                 .label = "next",
                                 .expr = reads ? "y = n ? x : x + 1" : "y = x + 1",
                                 .n_out = 1,
                                 .out_args = &y,
                                 .n_in = reads ? 2 : 1,
                                 .in_args = args,
                                 .ins = ins,
                                 .stretch = stretch};
  CHECK_OK(GpuPlan_elemwise(*out, &next, &step));
  CHECK_OK(GpuPlan_output(*out, picked));
  CHECK_OK(GpuPlan_output(*out, next));
}

static long branches_of_taking(gpucontext *ctx, bool reads) {
  const size_t n = N;
  GpuPlan *p = NULL;
  GpuArray x = {0}, at = {0}, outs[2] = {{0}};
  mock->graph_launches = mock->branches = 0;
  build_taking(&p, ctx, reads);
  CHECK_OK(GpuArray_zeros(&x, ctx, GA_FLOAT, 1, &n, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&at, ctx, GA_LONG, 1, &n, GA_C_ORDER));
  for (int run = 0; run < 8; run++) {
    CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&outs[0], &outs[1]},
                         (const GpuArray *[]){&x, &at}, NULL));
    GpuArray_clear(&outs[0]);
    GpuArray_clear(&outs[1]);
  }
  CHECK(mock->graph_launches > 0);
  GpuArray_clear(&x);
  GpuArray_clear(&at);
  GpuPlan_free(p);
  return mock->branches;
}

int main(int argc, char **argv) {
  (void)argc;
  open_mock();
  gpucontext *ctx = open_cuda("cuda0");
  CHECK(branches(ctx, GA_BUFFER) == 0);
  CHECK(branches(ctx, GA_INPUT) > 0);
  workspace = N;
  CHECK(branches(ctx, GA_INPUT) > 0);
  workspace = (size_t)6 << 20; /* 24 MiB: once more, so arrays take turns */
  CHECK(branches(ctx, GA_INPUT) == LAUNCHES - 1);
  workspace = (size_t)9 << 20; /* 36 MiB: once, and not once more */
  CHECK(branches(ctx, GA_INPUT) == 0);
  test_addresses_come_back(ctx);
  CHECK(branches_of_taking(ctx, true) == 0);
  CHECK(branches_of_taking(ctx, false) > 0);
  gpucontext_deref(ctx);
  check_given_back();
  return check_result(argv[0]);
}
