/* Connectionist temporal classification. */
#include "c/dnn/kernels/ctc.inc"
#include "c/array/array.h"
#include "c/base/dtype.h"
#include "c/program/kernel_table.h"
#include "c/program/kernel_text.h"

#include <gpuarray/dnn.h>

typedef struct ctc_spec {
  unsigned char typecode, has_grad, is_wide;
} ctc_spec;

static int write_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  const ctc_spec *s = spec;
  ga_strbuf text = {0};
  (void)ctx;
  ga__strbuf_addf(&text,
                  "#define CT_TYPE %s\n#define CT_ACC %s\n#define CT_INT %s\n"
                  "#define CT_HAS_GRAD %d\n#define CT_LOAD(v) ",
                  ga__dtype_ctype(s->typecode), ga__dtype_work_ctype(s->typecode),
                  s->is_wide ? "ga_ssize" : "ga_int", s->has_grad);
  ga__strbuf_fill(&text, ga__dtype_load(s->typecode), "(v)");
  ga__strbuf_add(&text, "\n#define CT_STORE(v) ");
  ga__strbuf_fill(&text, ga__dtype_store(s->typecode), "(v)");
  ga__strbuf_add(&text, "\n");
  ga__strbuf_add(&text, ctc_text);
  out->is_closed = true;
  return ga__text_finish_named(out, "ctc", NULL, "#define CT_NAME %\n", &text);
}

/* ---- arguments ---- */

typedef struct ctc_call {
  const GpuArray *costs, *grad, *activations, *labels, *lengths;
} ctc_call;

static int check_shape(const ctc_call *c, const GpuArray *a, unsigned int nd,
                       const size_t *dims, const char *role) {
  char given[GA_ARRAY_TEXT], expected[GA_SHAPE_TEXT], read[GA_SHAPE_TEXT];
  if (ga__array_has_shape(a, nd, dims))
    return GA_NO_ERROR;
  return GA_FAIL(GA_VALUE_ERROR,
                 "ctc: the %s are %s, expected the shape %s, by activations %s: time, "
                 "batch and classes",
                 role, ga__array_text(given, a), ga__shape_text(expected, nd, dims),
                 ga__shape_text(read, 3, c->activations->dimensions));
}

static int check_activations(const GpuArray *a) {
  char text[GA_ARRAY_TEXT];
  GA_TRY(ga__array_check(a, "ctc"));
  GA_TRY(ga__context_check(GpuArray_context(a)));
  if (ga__dtype_kind(a->typecode) != 'f')
    return GA_FAIL(GA_INVALID_ERROR,
                   "ctc: the activations are %s, expected float16, bfloat16, float32 "
                   "or float64",
                   ga__array_text(text, a));
  if (a->nd != 3 || a->dimensions[2] == 0)
    return GA_FAIL(GA_VALUE_ERROR,
                   "ctc: the activations are %s, expected time, batch and one class "
                   "or more",
                   ga__array_text(text, a));
  return ga__context_supports(GpuArray_context(a), a->typecode, "ctc");
}

static int check_output(const GpuArray *out, const ctc_call *c) {
  const GpuArray *const read[] = {c->activations, c->labels, c->lengths};
  GA_TRY(ga__array_writeable(out, "ctc"));
  for (unsigned int i = 0; i < 3; i++)
    if (GpuArray_share(out, read[i]))
      return GA_FAIL(GA_VALUE_ERROR, "ctc: an output shares memory with an input");
  return GA_NO_ERROR;
}

static int check(const ctc_call *c) {
  if (c->costs == NULL || c->activations == NULL || c->labels == NULL ||
      c->lengths == NULL)
    return ga__fail_null("ctc", c->costs == NULL ? "output" : "input");
  GA_TRY(check_activations(c->activations));
  gpucontext *ctx = GpuArray_context(c->activations);
  const int typecode = c->activations->typecode, work = ga__dtype_work(typecode);
  GA_TRY(ga__array_fits(c->labels, ctx, GA_INT, "ctc", "labels"));
  GA_TRY(ga__array_fits(c->lengths, ctx, GA_INT, "ctc", "lengths"));
  GA_TRY(ga__array_fits(c->costs, ctx, work, "ctc", "costs"));
  const size_t *dims = c->activations->dimensions;
  const size_t rows[] = {dims[1], c->labels->nd == 2 ? c->labels->dimensions[1] : 0};
  GA_TRY(check_shape(c, c->labels, 2, rows, "labels"));
  GA_TRY(check_shape(c, c->lengths, 1, dims + 1, "lengths"));
  GA_TRY(check_shape(c, c->costs, 1, dims + 1, "costs"));
  GA_TRY(check_output(c->costs, c));
  if (c->grad == NULL)
    return GA_NO_ERROR;
  GA_TRY(ga__array_fits(c->grad, ctx, typecode, "ctc", "gradients"));
  GA_TRY(check_shape(c, c->grad, 3, dims, "gradients"));
  GA_TRY(check_output(c->grad, c));
  if (GpuArray_share(c->grad, c->costs))
    return GA_FAIL(GA_VALUE_ERROR, "ctc: the outputs share memory");
  return GA_NO_ERROR;
}

/* ---- launch ---- */

static void add_strides(ga_args *args, bool is_wide, const GpuArray *a,
                        unsigned int nd) {
  for (unsigned int i = 0; i < nd; i++)
    ga__args_position(args, is_wide,
                      a != NULL && a->dimensions[i] > 1
                          ? a->strides[i] / (ssize_t)GpuArray_ITEMSIZE(a)
                          : 0);
}

/* True if an int counts the elements that an array reaches over. */
static bool is_narrow(const GpuArray *a) {
  size_t low, high;
  if (a == NULL)
    return true;
  ga__array_extent(&low, &high, a);
  return high - low < INT32_MAX / 2;
}

static int launch(const ctc_call *c, size_t blocks, const GpuArray *scratch,
                  const GpuArray *links) {
  gpucontext *ctx = GpuArray_context(c->activations);
  const size_t *dims = c->activations->dimensions;
  const ctc_spec spec = {(unsigned char)c->activations->typecode, c->grad != NULL,
                         !is_narrow(c->activations) || !is_narrow(c->grad) ||
                             !is_narrow(c->labels) || !is_narrow(scratch)};
  const size_t threads = ctx->info.is_cpu ? 1 : 128;
  gpukernel *kernel;
  ga_args args = {0};
  GA_TRY(ga__kernel_kept(&kernel, ctx, write_source, &spec, sizeof spec));
  const GpuArray *const list[] = {c->costs,       c->grad != NULL ? c->grad : c->costs,
                                  c->activations, c->labels,
                                  c->lengths,     scratch,
                                  links};
  for (unsigned int i = 0; i < 7; i++)
    ga__args_pointer(&args, list[i]->data != NULL ? list[i]->data : c->costs->data,
                     list[i]->offset, i >= 2 && i < 5);
  const size_t numbers[] = {dims[0], dims[1], dims[2], c->labels->dimensions[1]};
  for (unsigned int i = 0; i < 4; i++)
    ga__args_position(&args, spec.is_wide, (int64_t)numbers[i]);
  add_strides(&args, spec.is_wide, c->activations, 3);
  add_strides(&args, spec.is_wide, c->grad, 3);
  add_strides(&args, spec.is_wide, c->labels, 2);
  add_strides(&args, spec.is_wide, c->lengths, 1);
  add_strides(&args, spec.is_wide, c->costs, 1);
  return ga__kernel_launch_items(kernel, &args, blocks * threads, threads, blocks);
}

int GpuArray_ctc(GpuArray *costs, GpuArray *grad, const GpuArray *activations,
                 const GpuArray *labels, const GpuArray *lengths) {
  const ctc_call call = {costs, grad, activations, labels, lengths};
  GpuArray scratch = {0}, links = {0};
  GA_TRY(check(&call));
  gpucontext *ctx = GpuArray_context(activations);
  const size_t time = activations->dimensions[0], batch = activations->dimensions[1];
  const size_t states = 2 * labels->dimensions[1] + 1;
  const size_t most = (ctx->info.is_cpu ? 1 : 4) * (size_t)ctx->info.processors;
  const size_t blocks = batch < most ? batch : most;
  const size_t floats[] = {blocks, time + ((grad != NULL ? time : 2) + 2) * states};
  const size_t ints[] = {blocks, states};
  if (batch == 0)
    return GA_NO_ERROR;
  int status = GpuArray_empty(&scratch, ctx, costs->typecode, 2, floats, GA_C_ORDER);
  GA_THEN(status, GpuArray_empty(&links, ctx, GA_INT, 2, ints, GA_C_ORDER));
  GA_THEN(status, launch(&call, blocks, &scratch, &links));
  GpuArray_clear(&scratch);
  GpuArray_clear(&links);
  return status;
}
