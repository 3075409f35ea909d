/* Neighbourhoods of images as rows of a matrix, and back. */
#include "c/dnn/kernels/neighbours.inc"
#include "c/array/array.h"
#include "c/base/dtype.h"
#include "c/program/kernel_table.h"
#include "c/program/kernel_text.h"

#include <gpuarray/dnn.h>

/* ---- geometry ---- */

/* Lengths whose products with each other do not overflow. */
#define LONGEST ((size_t)1 << 30)

/* Fills in one axis. */
static int fill_axis(gpuneighbours *n, unsigned int axis, size_t image) {
  const size_t shape = n->shape[axis], step = n->step[axis];
  const char *operation = "neighbours";
  if (shape == 0 || step == 0 || shape > LONGEST || step > LONGEST || image > LONGEST)
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: length %zu and step %zu along axis %u of images of %zu, "
                   "expected 1 to 2^30",
                   operation, shape, step, 2 + axis, image);
  if (n->mode == GA_NEIGHBOURS_WRAP_CENTERED) {
    if (shape % 2 == 0 || shape > image)
      return GA_FAIL(GA_VALUE_ERROR,
                     "%s: length %zu along axis %u of images of %zu, expected an odd "
                     "one that fits, as the mode wraps around a centre",
                     operation, shape, 2 + axis, image);
    n->before[axis] = shape / 2;
    n->count[axis] = (image + step - 1) / step;
    return GA_NO_ERROR;
  }
  n->before[axis] = n->mode == GA_NEIGHBOURS_HALF   ? shape / 2
                    : n->mode == GA_NEIGHBOURS_FULL ? shape - 1
                                                    : 0;
  const size_t padded = image + 2 * n->before[axis];
  const bool is_any = n->mode == GA_NEIGHBOURS_IGNORE_BORDERS;
  if (padded < shape && is_any) {
    n->count[axis] = 0;
    return GA_NO_ERROR;
  }
  if (padded < shape || (!is_any && (padded - shape) % step != 0))
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: length %zu and step %zu along axis %u of images of %zu%s, "
                   "expected steps that end at the edge",
                   operation, shape, step, 2 + axis, image,
                   n->before[axis] > 0 ? " with zeros around" : "");
  n->count[axis] = (padded - shape) / step + 1;
  return GA_NO_ERROR;
}

int gpuneighbours_init(gpuneighbours *n, int mode, const size_t *image,
                       const size_t *shape, const size_t *step) {
  if (n == NULL || image == NULL || shape == NULL || step == NULL)
    return ga__fail_null("neighbours", n == NULL ? "description" : "list of lengths");
  if (mode < GA_NEIGHBOURS_VALID || mode > GA_NEIGHBOURS_FULL)
    return GA_FAIL(GA_INVALID_ERROR, "neighbours: mode %d, expected 0 to %d", mode,
                   GA_NEIGHBOURS_FULL);
  gpuneighbours made = {.size = sizeof made,
                        .mode = mode,
                        .shape = {shape[0], shape[1]},
                        .step = {step[0], step[1]}};
  for (unsigned int i = 0; i < 2; i++)
    GA_TRY(fill_axis(&made, i, image[i]));
  *n = made;
  return GA_NO_ERROR;
}

/* ---- kernel ---- */

typedef struct neighbours_spec {
  unsigned char typecode, is_sum, wraps, is_wide;
} neighbours_spec;

/* The type of a part of an element. */
static int part_type(int typecode) {
  return typecode == GA_CFLOAT    ? GA_FLOAT
         : typecode == GA_CDOUBLE ? GA_DOUBLE
                                  : typecode;
}

/* Copies only know the size of an element. */
static const char *copied_type(int typecode) {
  size_t size = 1, alignment;
  ga__dtype_layout(&size, &alignment, typecode);
  return ga__dtype_word(size);
}

static int write_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  const neighbours_spec *s = spec;
  const int type = part_type(s->typecode);
  ga_strbuf text = {0};
  (void)ctx;
  ga__strbuf_addf(&text,
                  "#define NB_TYPE %s\n#define NB_ACC %s\n#define NB_INT %s\n"
                  "#define NB_PARTS %d\n#define NB_IS_SUM %d\n#define NB_WRAPS %d\n",
                  s->is_sum ? ga__dtype_ctype(type) : copied_type(type),
                  ga__dtype_work_ctype(type), s->is_wide ? "ga_ssize" : "ga_int",
                  type == s->typecode ? 1 : 2, s->is_sum, s->wraps);
  ga__strbuf_add(&text, "#define NB_LOAD(v) ");
  ga__strbuf_fill(&text, ga__dtype_load(type), "(v)");
  ga__strbuf_add(&text, "\n#define NB_STORE(v) ");
  ga__strbuf_fill(&text, ga__dtype_store(type), "(v)");
  ga__strbuf_add(&text, "\n");
  ga__strbuf_add(&text, neighbours_text);
  out->is_closed = true;
  return ga__text_finish_named(out, "neighbours", NULL, "#define NB_NAME %\n", &text);
}

/* ---- calls ---- */

static int check_arrays(const GpuArray *out, const GpuArray *in, const GpuArray *images,
                        const GpuArray *matrix, const gpuneighbours *n,
                        const char *operation) {
  char text[GA_ARRAY_TEXT], other[GA_ARRAY_TEXT];
  if (out == NULL || in == NULL)
    return ga__fail_null(operation, out == NULL ? "output" : "input");
  GA_TRY(
      ga__check_filled(n, sizeof *n, operation, "description", "gpuneighbours_init"));
  GA_TRY(ga__array_check(out, operation));
  GA_TRY(ga__context_check(GpuArray_context(out)));
  GA_TRY(ga__array_fits(in, GpuArray_context(out), out->typecode, operation, "input"));
  GA_TRY(ga__array_writeable(out, operation));
  GA_TRY(ga__context_supports(GpuArray_context(out), out->typecode, operation));
  gpuneighbours fitting;
  if (images->nd != 4 || matrix->nd != 2)
    return GA_FAIL(GA_VALUE_ERROR, "%s: images %s and rows %s, expected 4 and 2 axes",
                   operation, ga__array_text(text, images),
                   ga__array_text(other, matrix));
  const size_t *dims = images->dimensions;
  GA_TRY(gpuneighbours_init(&fitting, n->mode, dims + 2, n->shape, n->step));
  if (matrix->dimensions[0] !=
          dims[0] * dims[1] * fitting.count[0] * fitting.count[1] ||
      matrix->dimensions[1] != n->shape[0] * n->shape[1])
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: rows %s of images %s, expected %zu x %zu rows of each channel, "
                   "of %zu x %zu elements",
                   operation, ga__array_text(text, matrix),
                   ga__array_text(other, images), fitting.count[0], fitting.count[1],
                   n->shape[0], n->shape[1]);
  if (GpuArray_share(out, in))
    return GA_FAIL(GA_VALUE_ERROR, "%s: the output shares memory with the input",
                   operation);
  return GA_NO_ERROR;
}

static int64_t stride_of(const GpuArray *a, unsigned int axis, size_t part) {
  return a->dimensions[axis] > 1 ? a->strides[axis] / (ssize_t)part : 0;
}

/* True if an int counts the parts that an array reaches over. */
static bool is_narrow(const GpuArray *a, size_t count, size_t part) {
  size_t low, high;
  ga__array_extent(&low, &high, a);
  return (high - low) / part < INT32_MAX / 4 && count < INT32_MAX / 4;
}

static int launch(const GpuArray *out, const GpuArray *in, const GpuArray *images,
                  const GpuArray *matrix, const gpuneighbours *n) {
  gpucontext *ctx = GpuArray_context(out);
  const int type = part_type(out->typecode);
  const size_t parts = type == out->typecode ? 1 : 2;
  const size_t part = GpuArray_ITEMSIZE(out) / parts;
  const size_t count = ga__array_count(out) * parts;
  const neighbours_spec spec = {(unsigned char)out->typecode, out == images,
                                n->mode == GA_NEIGHBOURS_WRAP_CENTERED,
                                !is_narrow(images, count, part) ||
                                    !is_narrow(matrix, count, part)};
  const size_t *dims = images->dimensions;
  gpukernel *kernel;
  ga_args args = {0};
  if (count == 0)
    return GA_NO_ERROR;
  GA_TRY(ga__kernel_kept(&kernel, ctx, write_source, &spec, sizeof spec));
  ga__args_pointer(&args, out->data, out->offset, false);
  /* of an empty input nothing is read */
  ga__args_pointer(&args, in->data != NULL ? in->data : out->data, in->offset, true);
  const size_t numbers[] = {count,        dims[1],      dims[2],     dims[3],
                            n->shape[0],  n->shape[1],  n->step[0],  n->step[1],
                            n->before[0], n->before[1], n->count[0], n->count[1]};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    ga__args_position(&args, spec.is_wide, (int64_t)numbers[i]);
  for (unsigned int i = 0; i < 4; i++)
    ga__args_position(&args, spec.is_wide, stride_of(images, i, part));
  for (unsigned int i = 0; i < 2; i++)
    ga__args_position(&args, spec.is_wide, stride_of(matrix, i, part));
  return ga__kernel_launch_items(kernel, &args, count, ctx->info.is_cpu ? 64 : 256,
                                 128 * (size_t)ctx->info.processors);
}

int GpuArray_images_to_neighbours(GpuArray *out, const GpuArray *images,
                                  const gpuneighbours *n) {
  GA_TRY(check_arrays(out, images, images, out, n, "images_to_neighbours"));
  return launch(out, images, images, out, n);
}

int GpuArray_neighbours_to_images(GpuArray *out, const GpuArray *neighbours,
                                  const gpuneighbours *n) {
  const char *operation = "neighbours_to_images";
  GA_TRY(check_arrays(out, neighbours, out, neighbours, n, operation));
  if (out->typecode == GA_BOOL)
    return GA_FAIL(GA_INVALID_ERROR, "%s: the output is bool, expected numbers",
                   operation);
  return launch(out, neighbours, out, neighbours, n);
}
