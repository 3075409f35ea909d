/* Bilinear upsampling of images, and its gradient. */
#include "c/dnn/kernels/upsample.inc"
#include "c/dnn/layers.h"
#include "c/program/kernel_table.h"
#include "c/program/kernel_text.h"

#include <gpuarray/dnn.h>

void gpuupsampling_init(gpuupsampling *u, size_t up, size_t down) {
  if (u != NULL)
    *u = (gpuupsampling){.size = sizeof *u, .up = {up, up}, .down = {down, down}};
}

/* ---- geometry ---- */

/* Lengths whose products with each other do not overflow. */
#define LONGEST ((size_t)1 << 30)

static size_t common_divisor(size_t a, size_t b) {
  while (b != 0) {
    const size_t rest = a % b;
    a = b, b = rest;
  }
  return a;
}

/* Fills `out` with the fractions in lowest terms. */
static int reduce(gpuupsampling *out, const gpuupsampling *u, const char *operation) {
  GA_TRY(
      ga__check_filled(u, sizeof *u, operation, "description", "gpuupsampling_init"));
  *out = *u;
  for (int i = 0; i < 2; i++) {
    if (u->up[i] == 0 || u->down[i] == 0 || u->up[i] > LONGEST || u->down[i] > LONGEST)
      return GA_FAIL(GA_VALUE_ERROR,
                     "%s: fraction %zu / %zu of axis %d, expected 1 to 2^30 each",
                     operation, u->up[i], u->down[i], 2 + i);
    const size_t divisor = common_divisor(u->up[i], u->down[i]);
    out->up[i] /= divisor, out->down[i] /= divisor;
  }
  return GA_NO_ERROR;
}

static int lengths_of(size_t *out, const gpuupsampling *u, const size_t *lengths,
                      const char *operation) {
  for (int i = 0; i < 2; i++) {
    if (lengths[i] > LONGEST)
      return GA_FAIL(GA_VALUE_ERROR, "%s: %zu elements of axis %d are too many",
                     operation, lengths[i], 2 + i);
    out[i] = (lengths[i] * u->up[i] + u->down[i] - 1) / u->down[i];
  }
  return GA_NO_ERROR;
}

int gpuupsampling_shape(size_t *out, const gpuupsampling *u, const size_t *lengths) {
  gpuupsampling lowest;
  GA_TRY(reduce(&lowest, u, "upsample"));
  if (out == NULL || lengths == NULL)
    return ga__fail_null("upsample", "shape");
  return lengths_of(out, &lowest, lengths, "upsample");
}

/* ---- launch ---- */

/* Fractions are constants of the kernel, so that nothing is divided by a variable. */
typedef struct upsample_spec {
  uint32_t up[2], down[2];
  unsigned char typecode, is_grad, is_wide, takes_rows;
} upsample_spec;

static int write_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  const upsample_spec *s = spec;
  ga_strbuf text = {0};
  (void)ctx;
  ga__strbuf_addf(&text, "#define UP_IS_GRAD %d\n#define LW_ROWS %d\n", s->is_grad,
                  s->takes_rows);
  for (int i = 0; i < 2; i++)
    ga__strbuf_addf(&text,
                    "#define UP_UP%d ((UP_INT)%u)\n#define UP_DOWN%d ((UP_INT)%u)\n", i,
                    (unsigned int)s->up[i], i, (unsigned int)s->down[i]);
  ga__layer_add_types(&text, "UP", s->typecode, s->is_wide);
  ga__strbuf_add(&text, upsample_text);
  out->is_closed = true;
  return ga__text_finish_named(out, "upsample", NULL, "#define UP_NAME %\n", &text);
}

/* True if the places along an axis, in steps of an up-th, are no ints. */
static bool has_wide_places(const gpuupsampling *u, const size_t *lengths) {
  bool is_wide = false;
  for (int i = 0; i < 2; i++)
    is_wide = is_wide ||
              (lengths[i] + 2) * u->up[i] + 2 * u->down[i] >= (size_t)INT32_MAX / 2;
  return is_wide;
}

/* `images` and `result` are the input and the output, or the other way round. */
static int launch(const GpuArray *out, const GpuArray *in, const GpuArray *images,
                  const GpuArray *result, const gpuupsampling *u) {
  gpucontext *ctx = GpuArray_context(out);
  const size_t *dims = images->dimensions, count = ga__array_count(out);
  const upsample_spec spec = {{(uint32_t)u->up[0], (uint32_t)u->up[1]},
                              {(uint32_t)u->down[0], (uint32_t)u->down[1]},
                              (unsigned char)out->typecode,
                              out == images,
                              ga__layer_is_wide(out) || ga__layer_is_wide(in) ||
                                  count >= INT32_MAX / 4 ||
                                  has_wide_places(u, dims + 2),
                              ctx->info.is_cpu};
  gpukernel *kernel;
  ga_args args = {0};
  GA_TRY(ga__kernel_kept(&kernel, ctx, write_source, &spec, sizeof spec));
  ga__args_pointer(&args, out->data, out->offset, false);
  ga__args_pointer(&args, in->data, in->offset, true);
  const size_t units = ctx->info.is_cpu ? count / out->dimensions[3] : count;
  const size_t numbers[] = {
      units, dims[1], dims[2], dims[3], result->dimensions[2], result->dimensions[3]};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    ga__args_position(&args, spec.is_wide, (int64_t)numbers[i]);
  ga__layer_add_strides(&args, spec.is_wide, out);
  ga__layer_add_strides(&args, spec.is_wide, in);
  return ctx->info.is_cpu ? ga__layer_launch_rows(kernel, &args, ctx, units)
                          : ga__layer_launch(kernel, &args, ctx, units);
}

/* ---- calls ---- */

static int run(const GpuArray *out, const GpuArray *in, bool is_grad,
               const gpuupsampling *u) {
  const char *operation = is_grad ? "upsample_grad" : "upsample";
  const char *images_role = is_grad ? "output" : "images";
  const GpuArray *images = is_grad ? out : in, *result = is_grad ? in : out;
  gpuupsampling lowest;
  size_t dims[4];
  GA_TRY(reduce(&lowest, u, operation));
  GA_TRY(ga__layer_check_first(images, 4, operation, images_role));
  dims[0] = images->dimensions[0], dims[1] = images->dimensions[1];
  GA_TRY(lengths_of(dims + 2, &lowest, images->dimensions + 2, operation));
  GA_TRY(ga__layer_check(result, images, 4, dims, operation,
                         is_grad ? "gradient" : "output"));
  GA_TRY(ga__layer_check_output(out, &in, 1, operation));
  return ga__array_count(out) == 0 ? GA_NO_ERROR
                                   : launch(out, in, images, result, &lowest);
}

int GpuArray_upsample(GpuArray *out, const GpuArray *images, const gpuupsampling *u) {
  return run(out, images, false, u);
}

int GpuArray_upsample_grad(GpuArray *out, const GpuArray *grad,
                           const gpuupsampling *u) {
  return run(out, grad, true, u);
}
