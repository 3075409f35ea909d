/* Images interpolated at points, and the gradients by points and images. */
#include "c/dnn/kernels/sample.inc"
#include "c/dnn/kernels/sample_corners.inc"
#include "c/dnn/layers.h"
#include "c/program/kernel_table.h"
#include "c/program/kernel_text.h"

#include <gpuarray/dnn.h>
#include <gpuarray/index.h>

enum role { SAMPLE, BY_GRID, BY_IMAGES };

typedef struct sample_spec {
  unsigned char typecode, grid_typecode, role, is_wide, takes_rows;
} sample_spec;

static int write_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  const sample_spec *s = spec;
  ga_strbuf text = {0};
  (void)ctx;
  ga__strbuf_addf(&text,
                  "#define SM_BY_GRID %d\n#define LW_ROWS %d\n#define SM_INDEX %s\n",
                  s->role == BY_GRID, s->takes_rows, ga__text_position(s->is_wide));
  ga__layer_add_types(&text, "SM", s->typecode, s->is_wide);
  ga__layer_add_types(&text, "SG", s->grid_typecode, s->is_wide);
  ga__strbuf_add(&text, s->role == BY_IMAGES ? sample_corners_text : sample_text);
  out->is_closed = true;
  return ga__text_finish_named(out, s->role == BY_IMAGES ? "sample_corners" : "sample",
                               NULL, "#define SM_NAME %\n", &text);
}

/* ---- arguments ---- */

/* A call; `images` and `grid` are those, or have the gradients by them written to. */
typedef struct sample_call {
  const char *operation;
  enum role role;
  const GpuArray *images, *grid, *result;
} sample_call;

/* The grid has the type of the images, or the one that they are computed in. */
static int check_grid(const sample_call *c, const size_t *dims) {
  GpuArray like = *c->images; /* borrows */
  if (c->grid->typecode == ga__dtype_work(like.typecode))
    like.typecode = c->grid->typecode;
  return ga__layer_check(c->grid, &like, 4, dims, c->operation, "grid");
}

static int check(const sample_call *c) {
  const char *operation = c->operation;
  GA_TRY(ga__layer_check_first(c->images, 4, operation,
                               c->role == BY_IMAGES ? "output" : "images"));
  if (c->grid == NULL)
    return ga__fail_null(operation, "grid");
  GA_TRY(ga__array_check(c->grid, operation));
  const size_t *dims = c->images->dimensions;
  const size_t *lengths = c->grid->dimensions;
  const size_t grid[] = {dims[0], c->grid->nd == 4 ? lengths[1] : 1,
                         c->grid->nd == 4 ? lengths[2] : 1, 2};
  const size_t result[] = {dims[0], dims[1], grid[1], grid[2]};
  GA_TRY(check_grid(c, grid));
  return ga__layer_check(c->result, c->images, 4, result, operation,
                         c->role == SAMPLE ? "output" : "gradient");
}

/* True if an int does not count elements, or four rows for each point. */
static bool is_wide(const sample_call *c) {
  return ga__layer_is_wide(c->images) || ga__layer_is_wide(c->grid) ||
         ga__layer_is_wide(c->result) || ga__array_count(c->images) >= INT32_MAX / 4 ||
         ga__array_count(c->grid) >= INT32_MAX / 8 ||
         ga__array_count(c->result) >= INT32_MAX / 8;
}

static void add_numbers(ga_args *args, bool wide, const sample_call *c, size_t count) {
  const size_t *dims = c->images->dimensions, *lengths = c->grid->dimensions;
  const size_t numbers[] = {count, dims[1], dims[2], dims[3], lengths[1], lengths[2]};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    ga__args_position(args, wide, (int64_t)numbers[i]);
}

/* ---- the result, and the gradient by the grid ---- */

/* `grad` is the result for SAMPLE, which has none. */
static int sample(const sample_call *c, const GpuArray *out, const GpuArray *grad) {
  gpucontext *ctx = GpuArray_context(out);
  const sample_spec spec = {(unsigned char)c->images->typecode,
                            (unsigned char)c->grid->typecode, (unsigned char)c->role,
                            is_wide(c) || ga__layer_is_wide(out), ctx->info.is_cpu};
  const GpuArray *list[] = {out, c->images, c->grid, grad};
  size_t count = ga__array_count(out);
  gpukernel *kernel;
  ga_args args = {0};
  if (count == 0)
    return GA_NO_ERROR;
  if (c->role == BY_GRID)
    count /= 2;
  if (spec.takes_rows)
    count /= c->grid->dimensions[2];
  GA_TRY(ga__kernel_kept(&kernel, ctx, write_source, &spec, sizeof spec));
  for (int i = 0; i < 4; i++) /* of an empty input nothing is read */
    ga__args_pointer(&args, list[i]->data != NULL ? list[i]->data : out->data,
                     list[i]->offset, i > 0);
  add_numbers(&args, spec.is_wide, c, count);
  ga__layer_add_strides(&args, spec.is_wide, c->images);
  ga__layer_add_strides(&args, spec.is_wide, c->grid);
  ga__layer_add_strides(&args, spec.is_wide, out);
  ga__layer_add_strides(&args, spec.is_wide, grad);
  return spec.takes_rows ? ga__layer_launch_rows(kernel, &args, ctx, count)
                         : ga__layer_launch(kernel, &args, ctx, count);
}

int GpuArray_grid_sample(GpuArray *out, const GpuArray *images, const GpuArray *grid) {
  const sample_call c = {"grid_sample", SAMPLE, images, grid, out};
  const GpuArray *const inputs[] = {images, grid};
  GA_TRY(check(&c));
  GA_TRY(ga__layer_check_output(out, inputs, 2, c.operation));
  return sample(&c, out, out);
}

int GpuArray_grid_sample_grad_grid(GpuArray *out, const GpuArray *images,
                                   const GpuArray *grid, const GpuArray *grad) {
  const sample_call c = {"grid_sample_grad_grid", BY_GRID, images, grid, grad};
  const GpuArray *const inputs[] = {images, grid, grad};
  GA_TRY(check(&c));
  GA_TRY(ga__layer_check(out, grid, 4, grid->dimensions, c.operation, "output"));
  GA_TRY(ga__layer_check_output(out, inputs, 3, c.operation));
  return sample(&c, out, grad);
}

/* ---- the gradient by the images ---- */

/* Writes the four rows of each point, and the numbers of their pixels. */
static int write_corners(const sample_call *c, const GpuArray *values,
                         const GpuArray *pixels, bool wide) {
  const sample_spec spec = {(unsigned char)c->images->typecode,
                            (unsigned char)c->grid->typecode, BY_IMAGES, wide, 0};
  const size_t count = ga__array_count(c->result);
  gpukernel *kernel;
  ga_args args = {0};
  GA_TRY(ga__kernel_kept(&kernel, GpuArray_context(values), write_source, &spec,
                         sizeof spec));
  ga__args_pointer(&args, values->data, values->offset, false);
  ga__args_pointer(&args, pixels->data, pixels->offset, false);
  ga__args_pointer(&args, c->grid->data, c->grid->offset, true);
  ga__args_pointer(&args, c->result->data, c->result->offset, true);
  add_numbers(&args, wide, c, count);
  ga__layer_add_strides(&args, wide, c->grid);
  ga__layer_add_strides(&args, wide, c->result);
  return ga__layer_launch(kernel, &args, GpuArray_context(values), count);
}

/* Moves the sums, a row of channels for each pixel, to images of any layout. */
static int move_images(const GpuArray *out, GpuArray *sums) {
  static const unsigned int order[] = {0, 3, 1, 2};
  const size_t *d = out->dimensions, dims[] = {d[0], d[2], d[3], d[1]};
  GA_TRY(GpuArray_reshape_inplace(sums, 4, dims, GA_C_ORDER));
  GA_TRY(GpuArray_transpose_inplace(sums, order));
  return GpuArray_move((GpuArray *)(uintptr_t)out, sums);
}

static int add_corners(const sample_call *c) {
  gpucontext *ctx = GpuArray_context(c->images);
  const int work = ga__dtype_work(c->images->typecode);
  const size_t *dims = c->images->dimensions;
  const size_t lines[] = {2 * ga__array_count(c->grid), dims[1]};
  const size_t all[] = {dims[0] * dims[2] * dims[3], dims[1]};
  const bool wide = is_wide(c);
  GpuArray sums = {0}, values = {0}, pixels = {0};
  const GpuArray *const indices[] = {&pixels};
  int status = GpuArray_zeros(&sums, ctx, work, 2, all, GA_C_ORDER);
  if (ga__array_count(c->result) > 0) {
    GA_THEN(status, GpuArray_empty(&values, ctx, work, 2, lines, GA_C_ORDER));
    GA_THEN(status, GpuArray_empty(&pixels, ctx, wide ? GA_LONG : GA_INT, 1, lines,
                                   GA_C_ORDER));
    GA_THEN(status, write_corners(c, &values, &pixels, wide));
    GA_THEN(status, GpuArray_add_at(&sums, 1, indices, 0, &values, GA_INDEX_CLIP));
  }
  GA_THEN(status, move_images(c->images, &sums));
  GpuArray_clear(&sums);
  GpuArray_clear(&values);
  GpuArray_clear(&pixels);
  return status;
}

int GpuArray_grid_sample_grad_images(GpuArray *out, const GpuArray *grid,
                                     const GpuArray *grad) {
  const sample_call c = {"grid_sample_grad_images", BY_IMAGES, out, grid, grad};
  const GpuArray *const inputs[] = {grid, grad};
  GA_TRY(check(&c));
  GA_TRY(ga__layer_check_output(out, inputs, 2, c.operation));
  return ga__array_count(out) == 0 ? GA_NO_ERROR : add_corners(&c);
}
