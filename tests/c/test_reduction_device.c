/* Maxima and their positions on a device, against loops over the host's elements: axes
 * in any order, many axes, all of them, results of any strides; and several results of
 * one pass. */
#include "device_context.h"

#include <stdint.h>

#include <gpuarray/array.h>
#include <gpuarray/reduction.h>

/* A small permuted congruential generator: floats in [0, 1), with repetitions. */
static uint64_t state = 1;

static float random_float(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  uint32_t mixed = (uint32_t)(((state >> 18) ^ state) >> 27);
  unsigned int turn = (unsigned int)(state >> 59);
  uint32_t bits = mixed >> turn | mixed << ((32 - turn) & 31);
  return (float)(bits >> 14) / 262144.0f;
}

typedef struct problem {
  unsigned int nd, n_list;
  size_t dims[8];
  unsigned int list[8];
} problem;

static size_t product(unsigned int nd, const size_t *dims) {
  size_t count = 1;
  for (unsigned int i = 0; i < nd; i++)
    count *= dims[i];
  return count;
}

static bool is_listed(const problem *p, unsigned int axis) {
  for (unsigned int k = 0; k < p->n_list; k++)
    if (p->list[k] == axis)
      return true;
  return false;
}

/* The maxima of `values`, in C order, and their positions in the order of the list. */
static void expect(float *max, int64_t *at, const problem *p, const float *values) {
  size_t count = product(p->nd, p->dims);
  for (size_t e = 0; e < count; e++) {
    size_t index[8], rest = e, result = 0;
    int64_t position = 0;
    for (unsigned int axis = p->nd; axis-- > 0; rest /= p->dims[axis])
      index[axis] = rest % p->dims[axis];
    for (unsigned int axis = 0; axis < p->nd; axis++)
      if (!is_listed(p, axis))
        result = result * p->dims[axis] + index[axis];
    for (unsigned int k = 0; k < p->n_list; k++)
      position = position * (int64_t)p->dims[p->list[k]] + (int64_t)index[p->list[k]];
    if (at[result] < 0 || values[e] > max[result] ||
        (values[e] == max[result] && position < at[result])) {
      max[result] = values[e];
      at[result] = position;
    }
  }
}

static unsigned int kept(size_t *dims, const problem *p) {
  unsigned int nd = 0;
  for (unsigned int axis = 0; axis < p->nd; axis++)
    if (!is_listed(p, axis))
      dims[nd++] = p->dims[axis];
  return nd;
}

static void check_maxandargmax(gpucontext *ctx, const problem *p) {
  size_t dims[8], count = product(p->nd, p->dims);
  unsigned int nd = kept(dims, p);
  size_t results = product(nd, dims);
  float *values = malloc(count * sizeof *values), *max = calloc(results, sizeof *max);
  float *got = calloc(results, sizeof *got);
  int64_t *at = malloc(results * sizeof *at), *got_at = malloc(results * sizeof *at);
  GpuArray a, d_max, d_at;
  for (size_t i = 0; i < count; i++)
    values[i] = random_float();
  memset(at, -1, results * sizeof *at);
  expect(max, at, p, values);
  CHECK_OK(GpuArray_copy_from_host(&a, ctx, values, GA_FLOAT, p->nd, p->dims, NULL));
  CHECK_OK(GpuArray_empty(&d_max, ctx, GA_FLOAT, nd, dims, GA_C_ORDER));
  CHECK_OK(GpuArray_empty(&d_at, ctx, GA_ULONG, nd, dims, GA_F_ORDER));
  CHECK_OK(GpuArray_memset(&d_max, -1));
  CHECK_OK(GpuArray_memset(&d_at, -1));
  CHECK_OK(GpuArray_maxandargmax(&d_max, &d_at, &a, p->n_list, p->list));
  GpuArray in_order;
  CHECK_OK(GpuArray_copy(&in_order, &d_at, GA_C_ORDER));
  CHECK_OK(GpuArray_read(got, results * sizeof *got, &d_max));
  CHECK_OK(GpuArray_read(got_at, results * sizeof *got_at, &in_order));
  CHECK(memcmp(max, got, results * sizeof *max) == 0);
  CHECK(memcmp(at, got_at, results * sizeof *at) == 0);
  GpuArray_clear(&a);
  GpuArray_clear(&d_max);
  GpuArray_clear(&d_at);
  GpuArray_clear(&in_order);
  free(values);
  free(max);
  free(got);
  free(at);
  free(got_at);
}

/* Sum, sum of squares and a mean of what is between, in one pass. */
static void check_several_results(gpucontext *ctx) {
  enum { ROWS = 37, COLUMNS = 301 };
  static float values[ROWS][COLUMNS];
  const size_t dims[] = {ROWS, COLUMNS};
  const gpuelemwise_arg inputs[] = {{"x", GA_FLOAT, GE_READ},
                                    {"scale", GA_FLOAT, GE_SCALAR}};
  const gpureduction_component components[] = {{"y", "a + b", "0", GA_FLOAT},
                                               {"y * y", "a + b", "0", GA_FLOAT},
                                               {"i", "a > b ? a : b", "0", GA_SIZE}};
  const gpureduction_result results[] = {
      {NULL, GA_FLOAT}, {"(v1 - v0 * v0 / n) / n", GA_FLOAT}, {"v2 + 1", GA_LONG}};
  const gpureduction_spec spec = {.size = sizeof spec,
                                  .prologue = "const ga_float y = scale * x;",
                                  .n = 2,
                                  .inputs = inputs,
                                  .flags = GA_REDUCTION_INDEX,
                                  .n_components = 3,
                                  .components = components,
                                  .n_results = 3,
                                  .results = results};
  int status = GA_NO_ERROR;
  float scale = 2, sums[ROWS], variances[ROWS];
  int64_t counts[ROWS];
  GpuArray a, out[3];
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++)
      values[i][j] = (float)((i * 7 + j * 3) % 11);
  CHECK_OK(GpuArray_copy_from_host(&a, ctx, values, GA_FLOAT, 2, dims, NULL));
  GpuReduction *gr = GpuReduction_new(ctx, &spec, &status);
  CHECK_OK(status);
  void *ins[] = {&a, &scale};
  CHECK_OK(GpuReduction_apply(gr, out, ins, 2, 0));
  CHECK_OK(GpuArray_read(sums, sizeof sums, &out[0]));
  CHECK_OK(GpuArray_read(variances, sizeof variances, &out[1]));
  CHECK_OK(GpuArray_read(counts, sizeof counts, &out[2]));
  for (int i = 0; i < ROWS; i++) {
    double sum = 0, squares = 0;
    for (int j = 0; j < COLUMNS; j++) {
      sum += 2.0 * (double)values[i][j];
      squares += 4.0 * (double)values[i][j] * (double)values[i][j];
    }
    double variance = (squares - sum * sum / COLUMNS) / COLUMNS;
    CHECK((double)sums[i] == sum && counts[i] == COLUMNS);
    CHECK((double)variances[i] > variance * 0.9999 &&
          (double)variances[i] < variance * 1.0001);
  }
  GpuReduction_free(gr);
  for (int m = 0; m < 3; m++)
    GpuArray_clear(&out[m]);
  GpuArray_clear(&a);
}

int main(void) {
  static const problem problems[] = {
      {.nd = 3, .dims = {32, 50, 79}, .n_list = 2, .list = {0, 2}},
      {.nd = 3, .dims = {32, 50, 79}, .n_list = 2, .list = {2, 0}},
      {.nd = 8,
       .dims = {1171, 373, 2, 1, 2, 1, 2, 1},
       .n_list = 4,
       .list = {2, 4, 7, 5}},
      {.nd = 3, .dims = {32, 50, 79}, .n_list = 3, .list = {0, 1, 2}},
      {.nd = 3, .dims = {3, 4, 5}, .n_list = 3, .list = {1, 0, 2}},
      {.nd = 1, .dims = {1}, .n_list = 1, .list = {0}},
      {.nd = 2, .dims = {2, 100003}, .n_list = 1, .list = {1}},
      {.nd = 2, .dims = {100003, 2}, .n_list = 1, .list = {0}},
  };
  gpucontext *ctx = open_device();
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
    check_maxandargmax(ctx, &problems[i]);
  check_several_results(ctx);
  gpucontext_deref(ctx);
  return check_result("test_reduction_device");
}
