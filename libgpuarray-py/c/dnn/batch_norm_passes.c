/* Reductions and elementwise passes of batch normalisation, kept per context. */
#include "c/dnn/normalization.h"
#include "c/elemwise/elemwise_private.h"
#include "c/program/kept_objects.h"
#include "c/reduce/reduction.h"

enum { MOST_ARRAYS = 8, MOST_NUMBERS = 2, MOST_ARGUMENTS = MOST_ARRAYS + MOST_NUMBERS };

/* ---- elementwise ---- */

/* An expression of arrays, those written first, then numbers of the work type. */
typedef struct pass {
  const char *text;
  unsigned int n_written, n_arrays, n_numbers;
  bool updates; /* what is written is read too */
  const char *names[MOST_ARGUMENTS];
} pass;

static const pass passes[GA_NORM_PASSES] = {
    [GA_NORM_STATISTICS] = {"mean = offset + first; "
                            "invstd = 1 / sqrt(variance + epsilon)",
                            2,
                            5,
                            1,
                            false,
                            {"mean", "invstd", "offset", "variance", "first",
                             "epsilon"}},
    [GA_NORM_AVERAGES] = {"old_mean = old_mean * (1 - factor) + mean * factor; "
                          "old_var = old_var * (1 - factor) + variance * unbiased",
                          2,
                          4,
                          2,
                          true,
                          {"old_mean", "old_var", "mean", "variance", "factor",
                           "unbiased"}},
    [GA_NORM_TRAIN] = {"out = (x - mean) * (gamma_ * invstd) + beta",
                       1,
                       6,
                       0,
                       false,
                       {"out", "x", "gamma_", "beta", "mean", "invstd"}},
    [GA_NORM_INFERENCE] = {"out = (x - mean) * (gamma_ / sqrt(variance + epsilon)) "
                           "+ beta",
                           1,
                           6,
                           1,
                           false,
                           {"out", "x", "gamma_", "beta", "mean", "variance",
                            "epsilon"}},
    [GA_NORM_PRODUCT] = {"product *= invstd", 1, 2, 0, true, {"product", "invstd"}},
    [GA_NORM_FILTERS] = {"out = w * scale", 1, 3, 0, false, {"out", "w", "scale"}},
    [GA_NORM_BIAS] = {"out = beta - centre * scale",
                      1,
                      4,
                      0,
                      false,
                      {"out", "beta", "centre", "scale"}},
    [GA_NORM_GRADIENT] = {"out = (grad - (total + (x - mean) * (invstd * product)) * "
                          "share) * (gamma_ * invstd)",
                          1,
                          8,
                          1,
                          false,
                          {"out", "grad", "x", "gamma_", "mean", "invstd", "total",
                           "product", "share"}},
};

static void free_elemwise(void *object) {
  GpuElemwise_free(object);
}

static void free_passes(gpucontext *ctx, void *objects) {
  (void)ctx;
  ga__objects_free(objects, free_elemwise);
}

/* Packs a pass and the types of its arrays. */
static void pass_key(int key[GA_OBJECT_KEY], enum ga_norm_pass which, int work,
                     const GpuArray *const *arrays) {
  unsigned int packed[GA_OBJECT_KEY] = {(unsigned int)which + 16 * (unsigned int)work};
  for (unsigned int i = 0; i < passes[which].n_arrays; i++)
    packed[1 + i / 4] |= (unsigned int)arrays[i]->typecode << (8 * (i % 4));
  for (int i = 0; i < GA_OBJECT_KEY; i++)
    key[i] = (int)packed[i];
}

static int get_pass(GpuElemwise **out, enum ga_norm_pass which, int work,
                    const GpuArray *const *arrays) {
  const pass *p = &passes[which];
  gpucontext *ctx = GpuArray_context(arrays[0]);
  const unsigned int n = p->n_arrays + p->n_numbers;
  gpuelemwise_arg args[MOST_ARGUMENTS];
  int key[GA_OBJECT_KEY];
  void *objects;
  pass_key(key, which, work, arrays);
  GA_TRY(ga__context_attach(&objects, ctx, GA_ATTACHED_USERS, sizeof(ga_kept_objects),
                            free_passes));
  *out = ga__object_find(objects, key);
  if (*out != NULL)
    return GA_NO_ERROR;
  for (unsigned int i = 0; i < n; i++) {
    const int written = p->updates ? GE_READ | GE_WRITE : GE_WRITE;
    args[i] =
        (gpuelemwise_arg){p->names[i], i < p->n_arrays ? arrays[i]->typecode : work,
                          i < p->n_written  ? written
                          : i < p->n_arrays ? GE_READ
                                            : GE_SCALAR};
  }
  GA_TRY(ga__elemwise_new(out, ctx, NULL, p->text, n, args, GE_CONVERT_F16, true));
  return ga__object_add(objects, key, *out, free_elemwise);
}

int ga__norm_pass(enum ga_norm_pass which, int work, const GpuArray *const *arrays,
                  const double *numbers) {
  const pass *p = &passes[which];
  float narrow[MOST_NUMBERS];
  double wide[MOST_NUMBERS];
  void *args[MOST_ARGUMENTS];
  GpuElemwise *ge;
  GA_TRY(get_pass(&ge, which, work, arrays));
  for (unsigned int i = 0; i < p->n_arrays; i++)
    args[i] = (void *)(uintptr_t)arrays[i];
  for (unsigned int i = 0; i < p->n_numbers; i++) {
    narrow[i] = (float)numbers[i], wide[i] = numbers[i];
    args[p->n_arrays + i] = work == GA_DOUBLE ? (void *)&wide[i] : (void *)&narrow[i];
  }
  return GpuElemwise_call(ge, args, GE_BROADCAST);
}

/* ---- reductions ---- */

static void free_reduction(void *object) {
  GpuReduction_free(object);
}

static void free_reductions(gpucontext *ctx, void *objects) {
  (void)ctx;
  ga__objects_free(objects, free_reduction);
}

/* Reduces two sums in one pass over the inputs. */
static int reduce(GpuArray out[2], int work, unsigned int n,
                  const gpuelemwise_arg *inputs, const GpuArray *const *arrays,
                  const char *const maps[2], const char *const epilogues[2],
                  unsigned int axes) {
  gpucontext *ctx = GpuArray_context(arrays[0]);
  int key[GA_OBJECT_KEY] = {(int)n};
  gpureduction_component components[2];
  gpureduction_result results[2];
  void *ins[3], *objects;
  for (unsigned int i = 0; i < n; i++) {
    key[1] |= inputs[i].typecode << (8 * i);
    ins[i] = (void *)(uintptr_t)arrays[i];
  }
  for (int i = 0; i < 2; i++) {
    components[i] = (gpureduction_component){maps[i], "a + b", "0", work};
    results[i] = (gpureduction_result){epilogues[i], work};
  }
  const gpureduction_spec spec = {.size = sizeof spec,
                                  .n = n,
                                  .inputs = inputs,
                                  .n_components = 2,
                                  .components = components,
                                  .n_results = 2,
                                  .results = results};
  GA_TRY(ga__context_attach(&objects, ctx, GA_ATTACHED_USERS, sizeof(ga_kept_objects),
                            free_reductions));
  GpuReduction *gr = ga__object_find(objects, key);
  if (gr == NULL) {
    GA_TRY(ga__reduction_new(&gr, ctx, &spec, true));
    GA_TRY(ga__object_add(objects, key, gr, free_reduction));
  }
  return GpuReduction_apply(gr, out, ins, axes, 1);
}

/* Differences to an element of each batch: sums of the numbers and of their squares
 * would lose the variance beside a large mean. A nan stays. */
int ga__norm_moments(GpuArray out[2], int work, const GpuArray *x,
                     const GpuArray *first, unsigned int axes) {
  static const char *const maps[] = {"x - first", "(x - first) * (x - first)"};
  static const char *const epilogues[] = {
      "v0 / n", "v1 / n < (v0 / n) * (v0 / n) ? 0 : v1 / n - (v0 / n) * (v0 / n)"};
  const gpuelemwise_arg inputs[] = {{"x", x->typecode, GE_READ},
                                    {"first", first->typecode, GE_READ}};
  const GpuArray *const arrays[] = {x, first};
  return reduce(out, work, 2, inputs, arrays, maps, epilogues, axes);
}

int ga__norm_sums(GpuArray out[2], int work, const GpuArray *grad, const GpuArray *x,
                  const GpuArray *mean, unsigned int axes) {
  static const char *const maps[] = {"grad", "grad * (x - mean)"};
  static const char *const epilogues[] = {NULL, NULL};
  const gpuelemwise_arg inputs[] = {{"grad", grad->typecode, GE_READ},
                                    {"x", x->typecode, GE_READ},
                                    {"mean", mean->typecode, GE_READ}};
  const GpuArray *const arrays[] = {grad, x, mean};
  return reduce(out, work, 3, inputs, arrays, maps, epilogues, axes);
}
