/* Grids of points of affine maps, and their gradient. */
#include "c/dnn/kernels/affine_grid.inc"
#include "c/dnn/layers.h"
#include "c/program/kept_objects.h"
#include "c/program/kernel_table.h"
#include "c/program/kernel_text.h"
#include "c/reduce/reduction.h"

#include <gpuarray/dnn.h>

typedef struct affine_spec {
  unsigned char typecode, is_wide;
} affine_spec;

static int write_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  const affine_spec *s = spec;
  ga_strbuf text = {0};
  (void)ctx;
  ga__layer_add_types(&text, "AG", s->typecode, s->is_wide);
  ga__strbuf_add(&text, affine_grid_text);
  out->is_closed = true;
  return ga__text_finish_named(out, "affine_grid", NULL, "#define AG_NAME %\n", &text);
}

/* `points` is the array that has the shape of the grid. */
static int check(const GpuArray *out, const GpuArray *in, const GpuArray *points,
                 const char *operation) {
  GA_TRY(ga__layer_check_first(points, 4, operation,
                               points == out ? "output" : "gradient"));
  const size_t grid[] = {points->dimensions[0], points->dimensions[1],
                         points->dimensions[2], 2};
  const size_t matrices[] = {points->dimensions[0], 2, 3};
  GA_TRY(ga__layer_check(points, points, 4, grid, operation,
                         points == out ? "output" : "gradient"));
  GA_TRY(ga__layer_check(points == out ? in : out, points, 3, matrices, operation,
                         points == out ? "theta" : "output"));
  return ga__layer_check_output(out, &in, 1, operation);
}

int GpuArray_affine_grid(GpuArray *out, const GpuArray *theta) {
  GA_TRY(check(out, theta, out, "affine_grid"));
  gpucontext *ctx = GpuArray_context(out);
  const size_t count = ga__array_count(out) / 2;
  const affine_spec spec = {(unsigned char)out->typecode,
                            ga__layer_is_wide(out) || ga__layer_is_wide(theta) ||
                                count >= INT32_MAX / 4};
  gpukernel *kernel;
  ga_args args = {0};
  if (count == 0)
    return GA_NO_ERROR;
  GA_TRY(ga__kernel_kept(&kernel, ctx, write_source, &spec, sizeof spec));
  ga__args_pointer(&args, out->data, out->offset, false);
  ga__args_pointer(&args, theta->data, theta->offset, true);
  const size_t numbers[] = {count, out->dimensions[1], out->dimensions[2]};
  for (int i = 0; i < 3; i++)
    ga__args_position(&args, spec.is_wide, (int64_t)numbers[i]);
  ga__layer_add_strides(&args, spec.is_wide, theta);
  ga__layer_add_strides(&args, spec.is_wide, out);
  return ga__layer_launch(kernel, &args, ctx, count);
}

/* ---- gradient ---- */

static void free_reduction(void *object) {
  GpuReduction_free(object);
}

static void free_reductions(gpucontext *ctx, void *objects) {
  (void)ctx;
  ga__objects_free(objects, free_reduction);
}

/* The sums of gradients times x, times y, and alone. */
static int new_sums(GpuReduction **out, gpucontext *ctx, int typecode) {
  static const char prologue[] =
      "const ga_long column = (ga_long)i % columns, row = (ga_long)i / columns;\n"
      "const AG_WORK x = columns > 1 ? (AG_WORK)(2 * column - (columns - 1)) / "
      "(AG_WORK)(columns - 1) : (AG_WORK)0;\n"
      "const AG_WORK y = rows > 1 ? (AG_WORK)(2 * row - (rows - 1)) / "
      "(AG_WORK)(rows - 1) : (AG_WORK)0;\n(void)x; (void)y;";
  const int work = ga__dtype_work(typecode);
  const gpuelemwise_arg inputs[] = {{"g", typecode, GE_READ},
                                    {"rows", GA_LONG, GE_SCALAR},
                                    {"columns", GA_LONG, GE_SCALAR}};
  const gpureduction_component components[] = {{"g * x", "a + b", "0", work},
                                               {"g * y", "a + b", "0", work},
                                               {"g", "a + b", "0", work}};
  const gpureduction_result results[] = {
      {NULL, typecode}, {NULL, typecode}, {NULL, typecode}};
  const gpureduction_spec spec = {
      .size = sizeof spec,
      .preamble = work == GA_DOUBLE ? "#undef AG_WORK\n#define AG_WORK ga_double"
                                    : "#undef AG_WORK\n#define AG_WORK ga_float",
      .prologue = prologue,
      .n = 3,
      .inputs = inputs,
      .flags = GA_REDUCTION_INDEX,
      .n_components = 3,
      .components = components,
      .n_results = 3,
      .results = results};
  return ga__reduction_new(out, ctx, &spec, true);
}

static int get_sums(GpuReduction **out, gpucontext *ctx, int typecode) {
  const int key[GA_OBJECT_KEY] = {typecode};
  void *objects;
  GA_TRY(ga__context_attach(&objects, ctx, GA_ATTACHED_USERS, sizeof(ga_kept_objects),
                            free_reductions));
  *out = ga__object_find(objects, key);
  if (*out != NULL)
    return GA_NO_ERROR;
  GA_TRY(new_sums(out, ctx, typecode));
  return ga__object_add(objects, key, *out, free_reduction);
}

int GpuArray_affine_grid_grad(GpuArray *out, const GpuArray *grad) {
  GA_TRY(check(out, grad, grad, "affine_grid_grad"));
  long long rows = (long long)grad->dimensions[1];
  long long columns = (long long)grad->dimensions[2];
  void *ins[] = {(void *)(uintptr_t)grad, &rows, &columns};
  GpuArray sums[3] = {{0}};
  GpuReduction *gr;
  GA_TRY(get_sums(&gr, GpuArray_context(out), out->typecode));
  int status = GpuReduction_apply(gr, sums, ins, 6, 0);
  for (int i = 0; i < 3; i++) {
    GpuArray part = *out; /* out[:, :, i], which borrows */
    part.nd = 2;
    part.offset += (size_t)(i * out->strides[2]);
    GpuArray_fix_flags(&part);
    GA_THEN(status, GpuArray_move(&part, &sums[i]));
    GpuArray_clear(&sums[i]);
  }
  return status;
}
