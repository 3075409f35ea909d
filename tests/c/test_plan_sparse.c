/* Sparse matrices as steps of plans: the routines against the functions they call. */
#include "device_context.h"

#include <gpuarray/plan.h>
#include <gpuarray/sparse.h>

/* A plan with the arrays of a 3 by 3 CSR matrix, its lengths, and a vector. */
typedef struct program {
  gpucontext *ctx;
  GpuPlan *plan;
  unsigned int a[3], x, lengths[2];
} program;

static program open_program(gpucontext *ctx) {
  static const int types[3] = {GA_FLOAT, GA_INT, GA_INT};
  program p = {.ctx = ctx};
  CHECK_OK(GpuPlan_new(&p.plan, ctx, "sparse"));
  for (int i = 0; i < 3; i++)
    CHECK_OK(GpuPlan_input(p.plan, &p.a[i], types[i], 1, 0));
  CHECK_OK(GpuPlan_input(p.plan, &p.x, GA_FLOAT, 1, 0));
  for (int i = 0; i < 2; i++)
    CHECK_OK(GpuPlan_int(p.plan, &p.lengths[i], 3));
  return p;
}

/* Adds a routine on those arrays, `more` arrays and then integers. */
static void add(program *p, unsigned int *outs, const char *name, unsigned int n_more,
                const unsigned int *more, unsigned int n_params,
                const long long *params, unsigned int n_out, int typecode) {
  const gpuplan_type results[3] = {
      {typecode, strcmp(name, "sparse_dense") == 0 ? 2 : 1}, {GA_INT, 1}, {GA_INT, 1}};
  unsigned int ins[12];
  memcpy(ins, p->a, sizeof p->a);
  memcpy(ins + 3, more, n_more * sizeof *ins);
  const gpuplan_routine step = {.size = sizeof step,
                                .label = name,
                                .name = name,
                                .n_params = n_params,
                                .params = params,
                                .n_in = 3 + n_more,
                                .ins = ins,
                                .n_out = n_out,
                                .results = results};
  CHECK_OK(GpuPlan_routine(p->plan, outs, &step));
}

static void check_outputs(program *p, unsigned int n, const float (*expected)[9]) {
  /* [[1, 0, 2], [0, 0, 0], [0, 3, 0]] */
  const float values[3] = {1, 2, 3}, x[3] = {1, 2, 3};
  const int indices[3] = {0, 2, 1}, indptr[4] = {0, 2, 2, 3};
  const void *data[4] = {values, indices, indptr, x};
  const int types[4] = {GA_FLOAT, GA_INT, GA_INT, GA_FLOAT};
  GpuArray ins[4], outs[8];
  const GpuArray *in[4];
  GpuArray *out[8];
  int failed = -1;
  for (int i = 0; i < 4; i++) {
    const size_t length = i == 2 ? 4 : 3;
    CHECK_OK(
        GpuArray_copy_from_host(&ins[i], p->ctx, data[i], types[i], 1, &length, NULL));
    in[i] = &ins[i];
  }
  for (unsigned int i = 0; i < n; i++)
    out[i] = &outs[i];
  for (int turn = 0; turn < 2; turn++) { /* bound, then replayed */
    CHECK_OK(GpuPlan_run(p->plan, out, in, &failed));
    for (unsigned int i = 0; i < n; i++) {
      float got[9] = {0};
      size_t count = 1;
      for (unsigned int k = 0; k < outs[i].nd; k++)
        count *= outs[i].dimensions[k];
      CHECK(count <= 9);
      CHECK_OK(GpuArray_read(got, count * sizeof *got, &outs[i]));
      CHECK(memcmp(got, expected[i], count * sizeof *got) == 0);
      GpuArray_clear(&outs[i]);
    }
  }
  for (int i = 0; i < 4; i++)
    GpuArray_clear(&ins[i]);
  GpuPlan_free(p->plan);
}

static void products_and_dense(gpucontext *ctx) {
  static const float expected[6][9] = {
      {7, 0, 6}, {1, 9, 2}, {1, 0, 2, 0, 0, 0, 0, 3, 0},
      {3, 0, 3}, {1, 0, 0}, {1, 3, 2}};
  program p = open_program(ctx);
  const unsigned int more[3] = {p.x, p.lengths[0], p.lengths[1]};
  unsigned int outs[8];
  add(&p, &outs[0], "sparse_product", 3, more, 2, (long long[]){0, 0}, 1, GA_FLOAT);
  add(&p, &outs[1], "sparse_product", 3, more, 2, (long long[]){0, 1}, 1, GA_FLOAT);
  add(&p, &outs[2], "sparse_dense", 2, more + 1, 1, (long long[]){0}, 1, GA_FLOAT);
  add(&p, &outs[3], "sparse_sum", 2, more + 1, 2, (long long[]){0, 1}, 1, GA_FLOAT);
  add(&p, &outs[4], "sparse_diagonal", 2, more + 1, 2, (long long[]){0, 0}, 1,
      GA_FLOAT);
  add(&p, &outs[5], "sparse_convert", 2, more + 1, 2, (long long[]){0, 1}, 3, GA_FLOAT);
  for (int i = 0; i < 6; i++)
    CHECK_OK(GpuPlan_output(p.plan, outs[i]));
  check_outputs(&p, 6, expected);
}

/* a + 2 a, its number of values being read by the plan. */
static void a_sum_that_counts(gpucontext *ctx) {
  static const float expected[1][9] = {{3, 6, 9}};
  program p = open_program(ctx);
  unsigned int matches, shared, six, n, sum[3], last, at;
  const unsigned int both[6] = {p.a[0], p.a[1], p.a[2], p.lengths[0], p.lengths[1], 0};
  add(&p, &matches, "sparse_match", 5, both, 1, (long long[]){0}, 1, GA_INT);
  CHECK_OK(GpuPlan_int(p.plan, &at, -1));
  CHECK_OK(GpuPlan_index(p.plan, &last, "last", matches, 1, (int[]){GP_INDEX_AT}, &at));
  CHECK_OK(GpuPlan_read(p.plan, &shared, "count", last, 1));
  CHECK_OK(GpuPlan_int(p.plan, &six, 6));
  CHECK_OK(GpuPlan_int_op(p.plan, &n, GP_INT_SUB, six, shared));
  const unsigned int more[7] = {p.a[0],       p.a[1],       p.a[2], matches,
                                p.lengths[0], p.lengths[1], n};
  long long params[6] = {0, 0, 0, 0, 0, 0};
  const double factors[2] = {1, 2};
  memcpy(&params[2], &factors[0], sizeof *factors);
  memcpy(&params[4], &factors[1], sizeof *factors);
  add(&p, sum, "sparse_merge", 7, more, 6, params, 3, GA_FLOAT);
  CHECK_OK(GpuPlan_output(p.plan, sum[0]));
  check_outputs(&p, 1, expected);
}

int main(void) {
  gpucontext *ctx = open_device();
  products_and_dense(ctx);
  a_sum_that_counts(ctx);
  gpucontext_deref(ctx);
  return check_result("test_plan_sparse");
}
