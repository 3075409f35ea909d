/* Launches of loops: axes and geometry. */
#include "c/loop/loop.h"

#include <string.h>

#define GPU_THREADS 256

static size_t count(const ga_loop *l) {
  size_t n = 1;
  for (unsigned int k = 0; k < l->nd; k++)
    n *= l->dims[k];
  return n;
}

/* True if every operand goes along axis k and k + 1 as along one. */
static bool merges(const ga_loop *l, unsigned int k) {
  for (unsigned int i = 0; i < l->n_operands; i++) {
    const ga_loop_operand *o = &l->operands[i];
    if (o->strides[k] != o->strides[k + 1] * (ssize_t)l->dims[k + 1] ||
        o->lacks[k] != o->lacks[k + 1])
      return false;
  }
  return true;
}

void ga__loop_merge_axes(ga_loop *l) {
  for (unsigned int k = l->nd; k-- > 1;) {
    if (!merges(l, k - 1))
      continue;
    const size_t rest = l->nd - k - 1;
    l->dims[k - 1] *= l->dims[k];
    memmove(l->dims + k, l->dims + k + 1, rest * sizeof *l->dims);
    for (unsigned int i = 0; i < l->n_operands; i++) {
      ga_loop_operand *o = &l->operands[i];
      memmove(o->strides + k - 1, o->strides + k, (rest + 1) * sizeof *o->strides);
      memmove(o->lacks + k - 1, o->lacks + k, (rest + 1) * sizeof *o->lacks);
    }
    l->nd--;
  }
}

/* Few elements are spread over all processors: each runs all iterations. */
static size_t group_of(const gpucontext *ctx, size_t n) {
  const size_t warp = ctx->info.warp, share = n / ctx->info.processors;
  if (ctx->info.is_cpu || share <= warp)
    return warp;
  return share < GPU_THREADS ? share / warp * warp : GPU_THREADS;
}

static void add_operand(ga_args *list, const ga_loop *l, const ga_loop_operand *o) {
  const ssize_t size = (ssize_t)gpuarray_get_elsize(o->array->typecode);
  const bool written = o->kind == GA_LOOP_TRACE || o->kind == GA_LOOP_FINAL;
  ga__args_pointer(list, o->array->data, o->array->offset, !written);
  if (o->kind == GA_LOOP_TRACE || o->kind == GA_LOOP_ROW)
    ga__args_i64(list, o->row / size);
  for (unsigned int k = 0; k < l->nd; k++)
    ga__args_i64(list, o->strides[k] / size);
}

int ga__loop_launch(gpucontext *ctx, const ga_loop *l) {
  const size_t n = count(l);
  ga_source source = {0};
  gpukernel *k;
  ga_args list;
  if (n == 0)
    return GA_NO_ERROR;
  GA_TRY(ga__loop_source(&source, l, ctx->info.is_cpu));
  const int status = ga__kernel_get(&k, ctx, &source);
  ga__strbuf_clear(&source.body);
  GA_TRY(status);
  list.n = 0;
  ga__args_u64(&list, n);
  ga__args_u32(&list, l->turns);
  for (unsigned int i = 1; i < l->nd; i++)
    ga__args_u64(&list, l->dims[i]);
  for (unsigned int i = 0; i < l->n_integers; i++)
    if (!l->integers[i].turn)
      ga__args_i64(&list, l->integers[i].integer);
  for (unsigned int i = 0; i < l->n_operands; i++)
    add_operand(&list, l, &l->operands[i]);
  const size_t most = ctx->info.is_cpu ? GA_CPU_GROUPS * (size_t)ctx->info.processors
                                       : ctx->info.max_grid[0];
  return ga__kernel_launch_items(k, &list, n, group_of(ctx, n), most);
}
