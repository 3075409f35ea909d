/* The order of random 64-bit keys: a sort by their upper halves, half the passes over
 * half the bytes, then of the few whose halves are equal. */
#include "c/program/kernel_text.h"
#include "c/sort/kernels/ties.inc"
#include "c/sort/sort_run.h"

static int write_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  ga_strbuf text = {0};
  (void)ctx;
  (void)spec;
  ga__strbuf_add(&text, ties_text);
  out->is_closed = true;
  return ga__text_finish_named(out, "sort_ties", NULL, "#define TIES_NAME %\n", &text);
}

/* A new array of the keys' upper halves. */
static int take_halves(GpuArray *halves, const ga_sort_task *t) {
  const size_t count = t->rows * t->n, word = sizeof(uint32_t);
  const ssize_t stride = 2 * (ssize_t)word;
  GpuArray view;
  GA_TRY(GpuArray_fromdata(&view, t->keys.data, t->keys.offset + word, GA_UINT, 1,
                           &count, &stride, 0));
  const int status = GpuArray_copy(halves, &view, GA_C_ORDER);
  GpuArray_clear(&view);
  return status;
}

static int order_ties(const ga_sort_task *t, gpudata *halves) {
  const char spec = 0;
  const size_t count = t->rows * t->n;
  gpukernel *kernel;
  ga_args args = {0};
  GA_TRY(ga__kernel_kept(&kernel, t->context, write_source, &spec, sizeof spec));
  ga__args_pointer(&args, halves, 0, true);
  ga__args_pointer(&args, t->keys.data, t->keys.offset, true);
  ga__args_pointer(&args, t->out_indices.data, t->out_indices.offset, false);
  ga__args_u64(&args, t->rows);
  ga__args_u64(&args, t->n);
  return ga__kernel_launch_items(kernel, &args, count,
                                 t->context->info.is_cpu ? 16 : 256,
                                 128 * (size_t)t->context->info.processors);
}

int ga__sort_random_keys(const ga_sort_task *t) {
  gpudata *sorted = NULL;
  GpuArray halves = {0};
  if (t->n <= ga__sort_room(t->typecode))
    return ga__sort_rows(t);
  GA_TRY(take_halves(&halves, t));
  int status = ga__buffer_new(&sorted, t->context, t->rows * t->n * sizeof(uint32_t));
  if (status == GA_NO_ERROR) {
    ga_sort_task half = *t;
    half.typecode = GA_UINT;
    half.keys = (ga_sort_place){halves.data, halves.offset};
    half.out_keys = (ga_sort_place){sorted, 0};
    status = ga__sort_rows(&half);
    GA_THEN(status, order_ties(t, sorted));
    gpudata_release(sorted);
  }
  GpuArray_clear(&halves);
  return status;
}
