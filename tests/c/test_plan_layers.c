/* Normalisation, upsampling and a spatial transformer, with their gradients, as steps
 * of a plan: built, saved, loaded, and the same bits as from direct calls. */
#include "device_context.h"

#include <gpuarray/dnn.h>
#include <gpuarray/plan.h>
#include <unistd.h>

/* Inputs: arrays, then integers. */
enum { X, GAMMA, BETA, MEAN, VAR, THETA, ARRAYS };
enum { ROWS, COLUMNS, UP_ROWS, UP_COLUMNS, X_ROWS, X_COLUMNS, INTS };
enum { Y, BY_THETA, BY_X, BY_GAMMA, BY_BETA, NEW_MEAN, NEW_VAR, OUTPUTS };

static const size_t images[] = {2, 3, 4, 5}, channels[] = {3}, maps[] = {2, 2, 3};
static const long long lengths[INTS] = {3, 7, 8, 8, 4, 5};

static long long bits(double x) {
  long long out;
  memcpy(&out, &x, sizeof out);
  return out;
}

static gpubatchnorm norm(void) {
  gpubatchnorm b;
  gpubatchnorm_init(&b, 4, 1);
  return b;
}

/* Columns by 3 / 2, rows by 2. */
static gpuupsampling upsampling(void) {
  gpuupsampling u;
  gpuupsampling_init(&u, 2, 1);
  u.up[1] = 3, u.down[1] = 2;
  return u;
}

/* ---- the plan ---- */

static void add(GpuPlan *p, unsigned int *outs, const char *name, unsigned int n_out,
                unsigned int nd, unsigned int n_in, const unsigned int *ins,
                unsigned int n_params, const long long *params) {
  gpuplan_type results[5];
  for (unsigned int i = 0; i < 5; i++) /* parameters have one axis */
    results[i] = (gpuplan_type){GA_FLOAT, nd};
  if (strcmp(name, "batch_norm_train") == 0)
    results[3].nd = results[4].nd = 1;
  if (strcmp(name, "batch_norm_grad") == 0)
    results[1].nd = results[2].nd = 1;
  const gpuplan_routine step = {.size = sizeof step,
                                .label = name,
                                .name = name,
                                .n_params = n_params,
                                .params = params,
                                .n_in = n_in,
                                .ins = ins,
                                .n_out = n_out,
                                .results = results};
  CHECK_OK(GpuPlan_routine(p, outs, &step));
}

#define INPUTS(...)                                                                    \
  (const unsigned int[]) {                                                             \
    __VA_ARGS__                                                                        \
  }

static GpuPlan *build(gpucontext *ctx) {
  static const unsigned int axes[ARRAYS] = {4, 1, 1, 1, 1, 3};
  const gpubatchnorm b = norm();
  const gpuupsampling u = upsampling();
  const long long of_norm[] = {b.axes, bits(b.epsilon), bits(b.factor)};
  const long long ratios[] = {(long long)u.up[0], (long long)u.up[1],
                              (long long)u.down[0], (long long)u.down[1]};
  unsigned int a[ARRAYS], n[INTS], normal[5], slopes[3];
  unsigned int large, grid, y, by_grid, by_theta, by_large, by_normal;
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "layers"));
  for (int i = 0; i < ARRAYS; i++)
    CHECK_OK(GpuPlan_input(p, &a[i], GA_FLOAT, axes[i], 0));
  for (int i = 0; i < INTS; i++)
    CHECK_OK(GpuPlan_int_input(p, &n[i]));
  add(p, normal, "batch_norm_train", 5, 4, 5,
      INPUTS(a[X], a[GAMMA], a[BETA], a[MEAN], a[VAR]), 3, of_norm);
  add(p, &large, "upsample", 1, 4, 1, normal, 4, ratios);
  add(p, &grid, "affine_grid", 1, 4, 3, INPUTS(a[THETA], n[ROWS], n[COLUMNS]), 0, NULL);
  add(p, &y, "grid_sample", 1, 4, 2, INPUTS(large, grid), 0, NULL);
  add(p, &by_grid, "grid_sample_grad_grid", 1, 4, 3, INPUTS(large, grid, y), 0, NULL);
  add(p, &by_theta, "affine_grid_grad", 1, 3, 1, &by_grid, 0, NULL);
  add(p, &by_large, "grid_sample_grad_images", 1, 4, 4,
      INPUTS(grid, y, n[UP_ROWS], n[UP_COLUMNS]), 0, NULL);
  add(p, &by_normal, "upsample_grad", 1, 4, 3,
      INPUTS(by_large, n[X_ROWS], n[X_COLUMNS]), 4, ratios);
  add(p, slopes, "batch_norm_grad", 3, 4, 5,
      INPUTS(by_normal, a[X], a[GAMMA], normal[1], normal[2]), 3, of_norm);
  const unsigned int outputs[OUTPUTS] = {y,         by_theta,  slopes[0], slopes[1],
                                         slopes[2], normal[3], normal[4]};
  for (int i = 0; i < OUTPUTS; i++)
    CHECK_OK(GpuPlan_output(p, outputs[i]));
  return p;
}

/* ---- direct calls ---- */

static void empty(GpuArray *a, gpucontext *ctx, unsigned int nd, const size_t *dims) {
  CHECK_OK(GpuArray_empty(a, ctx, GA_FLOAT, nd, dims, GA_C_ORDER));
}

static void compute(GpuArray out[OUTPUTS], gpucontext *ctx, GpuArray in[ARRAYS]) {
  const size_t large[] = {2, 3, 8, 8}, points[] = {2, 3, 7, 2}, small[] = {2, 3, 3, 7};
  const gpubatchnorm b = norm();
  const gpuupsampling u = upsampling();
  GpuArray normal, mean, invstd, wide, grid, by_grid, by_wide;
  empty(&normal, ctx, 4, images), empty(&wide, ctx, 4, large);
  empty(&by_wide, ctx, 4, large), empty(&grid, ctx, 4, points);
  empty(&by_grid, ctx, 4, points), empty(&mean, ctx, 1, channels);
  empty(&invstd, ctx, 1, channels), empty(&out[Y], ctx, 4, small);
  empty(&out[BY_THETA], ctx, 3, maps), empty(&out[BY_X], ctx, 4, images);
  empty(&out[BY_GAMMA], ctx, 1, channels), empty(&out[BY_BETA], ctx, 1, channels);
  CHECK_OK(GpuArray_copy(&out[NEW_MEAN], &in[MEAN], GA_C_ORDER));
  CHECK_OK(GpuArray_copy(&out[NEW_VAR], &in[VAR], GA_C_ORDER));
  CHECK_OK(GpuArray_batch_norm_train(&normal, &mean, &invstd, &out[NEW_MEAN],
                                     &out[NEW_VAR], &in[X], &in[GAMMA], &in[BETA], &b));
  CHECK_OK(GpuArray_upsample(&wide, &normal, &u));
  CHECK_OK(GpuArray_affine_grid(&grid, &in[THETA]));
  CHECK_OK(GpuArray_grid_sample(&out[Y], &wide, &grid));
  CHECK_OK(GpuArray_grid_sample_grad_grid(&by_grid, &wide, &grid, &out[Y]));
  CHECK_OK(GpuArray_affine_grid_grad(&out[BY_THETA], &by_grid));
  CHECK_OK(GpuArray_grid_sample_grad_images(&by_wide, &grid, &out[Y]));
  CHECK_OK(GpuArray_upsample_grad(&normal, &by_wide, &u));
  CHECK_OK(GpuArray_batch_norm_grad(&out[BY_X], &out[BY_GAMMA], &out[BY_BETA], &normal,
                                    &in[X], &in[GAMMA], &mean, &invstd, &b));
  GpuArray *all[] = {&normal, &mean, &invstd, &wide, &grid, &by_grid, &by_wide};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    GpuArray_clear(all[i]);
}

/* ---- both ---- */

static size_t read_to(float *to, const GpuArray *a) {
  GpuArray packed;
  size_t n = 1;
  for (unsigned int i = 0; i < a->nd; i++)
    n *= a->dimensions[i];
  CHECK(n <= 256);
  CHECK_OK(GpuArray_copy(&packed, a, GA_C_ORDER));
  CHECK_OK(GpuArray_read(to, n * sizeof *to, &packed));
  GpuArray_clear(&packed);
  return n;
}

static void check_run(GpuPlan *p, GpuArray in[ARRAYS], GpuArray right[OUTPUTS]) {
  GpuArray out[OUTPUTS] = {{0}}, *outs[OUTPUTS];
  const GpuArray *ins[ARRAYS];
  float expected[256], got[256];
  for (int i = 0; i < OUTPUTS; i++)
    outs[i] = &out[i];
  for (int i = 0; i < ARRAYS; i++)
    ins[i] = &in[i];
  CHECK_OK(GpuPlan_call(p, outs, ins, lengths, NULL));
  for (int i = 0; i < OUTPUTS; i++) {
    const size_t n = read_to(expected, &right[i]);
    CHECK(read_to(got, &out[i]) == n && memcmp(got, expected, n * sizeof *got) == 0);
    GpuArray_clear(&out[i]);
  }
}

static void make_inputs(GpuArray in[ARRAYS], gpucontext *ctx) {
  const float ones[] = {1, 2, 3};
  float x[120], theta[12];
  for (int i = 0; i < 120; i++)
    x[i] = (float)(i * 37 % 23) / 4 - 2;
  for (int i = 0; i < 12; i++)
    theta[i] = (float)(i * 5 % 7) / 6 - 0.4f;
  CHECK_OK(GpuArray_copy_from_host(&in[X], ctx, x, GA_FLOAT, 4, images, NULL));
  CHECK_OK(GpuArray_copy_from_host(&in[THETA], ctx, theta, GA_FLOAT, 3, maps, NULL));
  for (int i = GAMMA; i <= VAR; i++)
    CHECK_OK(GpuArray_copy_from_host(&in[i], ctx, ones, GA_FLOAT, 1, channels, NULL));
}

int main(void) {
  char path[] = "/tmp/gpuarray-layersXXXXXX";
  gpucontext *ctx = open_device();
  GpuArray in[ARRAYS], right[OUTPUTS];
  make_inputs(in, ctx);
  compute(right, ctx, in);
  GpuPlan *p = build(ctx), *loaded = NULL;
  check_run(p, in, right);
  check_run(p, in, right); /* replayed */
  close(mkstemp(path));
  CHECK_OK(GpuPlan_save(p, path));
  GpuPlan_free(p);
  CHECK_OK(GpuPlan_load(&loaded, ctx, path));
  check_run(loaded, in, right);
  GpuPlan_free(loaded);
  unlink(path);
  for (int i = 0; i < ARRAYS; i++)
    GpuArray_clear(&in[i]);
  for (int i = 0; i < OUTPUTS; i++)
    GpuArray_clear(&right[i]);
  gpucontext_deref(ctx);
  return check_result("test_plan_layers");
}
