/* Launches of loops: axes and geometry. */
#include "c/loop/loop.h"

#include <string.h>

#define GPU_THREADS 256
#define CPU_VECTOR 32 /* elements */

size_t ga__loop_count(const ga_loop *l) {
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

/* An axis of one element is one of neighbours. */
static void set_single(ga_loop *l) {
  const unsigned int last = l->nd - 1;
  for (unsigned int i = 0; l->dims[last] == 1 && i < l->n_operands; i++)
    l->operands[i].strides[last] =
        (ssize_t)gpuarray_get_elsize(l->operands[i].array->typecode);
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
  set_single(l);
}

/* On a GPU: few elements are spread over all processors, for each runs all
 * iterations. */
static size_t group_of(const gpucontext *ctx, size_t n) {
  const size_t warp = ctx->info.warp, share = n / ctx->info.processors;
  if (share <= warp)
    return warp;
  return share < GPU_THREADS ? share / warp * warp : GPU_THREADS;
}

/* On a CPU: a piece of a row for each processor, of whole vectors. */
static size_t piece_of(const gpucontext *ctx, const ga_loop *l, size_t n) {
  const size_t row = l->dims[l->nd - 1], others = n / row;
  const size_t wanted = row * others / ctx->info.processors + 1;
  const size_t piece = (wanted + CPU_VECTOR - 1) / CPU_VECTOR * CPU_VECTOR;
  return piece < GA_LOOP_PIECE ? piece : GA_LOOP_PIECE;
}

/* Items of the group of a loop that reduces. */
static size_t items_of(const gpucontext *ctx, size_t n) {
  size_t items = ctx->info.warp;
  while (items < n)
    items *= 2;
  return items;
}

bool ga__loop_fits_group(const gpucontext *ctx, const ga_loop *l) {
  const size_t n = ga__loop_count(l);
  return n <= GA_LOOP_GROUP && items_of(ctx, n) <= ctx->info.max_threads;
}

static void add_operand(ga_args *list, const ga_loop *l, unsigned int i) {
  const ga_loop_operand *o = &l->operands[i];
  const ssize_t size = (ssize_t)gpuarray_get_elsize(o->array->typecode);
  const bool written = o->kind == GA_LOOP_TRACE || o->kind == GA_LOOP_FINAL;
  ga__args_pointer(list, o->array->data, o->array->offset, !written);
  if (o->kind == GA_LOOP_TRACE || o->kind == GA_LOOP_ROW)
    ga__args_i64(list, o->row / size);
  for (unsigned int k = 0; k < l->nd; k++)
    if (ga__loop_has_stride(l, i, k))
      ga__args_i64(list, o->strides[k] / size);
}

int ga__loop_launch(bool *done, gpucontext *ctx, const ga_loop *l) {
  const size_t n = ga__loop_count(l);
  ga_source source = {0};
  gpukernel *k;
  ga_args list;
  *done = true;
  if (n == 0)
    return GA_NO_ERROR;
  GA_TRY(ga__loop_source(&source, l, ctx->info.is_cpu));
  const int status = ga__kernel_get(&k, ctx, &source);
  ga__strbuf_clear(&source.body);
  GA_TRY(status);
  *done = !l->is_group || ga__kernel_takes(k, items_of(ctx, n));
  if (!*done)
    return GA_NO_ERROR;
  const size_t row = l->dims[l->nd - 1];
  const size_t piece = ctx->info.is_cpu ? piece_of(ctx, l, n) : 1;
  list.n = 0;
  ga__args_u64(&list, n);
  ga__args_u32(&list, l->n_iterations);
  const bool in_pieces = ctx->info.is_cpu && !l->is_group;
  if (in_pieces) {
    ga__args_u64(&list, row);
    ga__args_u64(&list, piece);
  }
  for (unsigned int i = 1; i < l->nd; i++)
    ga__args_u64(&list, l->dims[i]);
  if (l->n_total > 0)
    ga__args_u32(&list, l->n_total);
  for (unsigned int i = 0; i < l->n_integers; i++)
    if (!l->integers[i].is_iteration)
      ga__args_i64(&list, l->integers[i].integer);
  for (unsigned int i = 0; i < l->n_operands; i++)
    add_operand(&list, l, i);
  const size_t work = (n - 1) / CPU_VECTOR * l->n_iterations + l->n_iterations;
  if (l->is_group)
    return ga__kernel_launch_work(k, &list, items_of(ctx, n), items_of(ctx, n), 1,
                                  work);
  if (in_pieces)
    return ga__kernel_launch_work(k, &list, n / row * ((row - 1) / piece + 1), 1,
                                  GA_CPU_GROUPS * (size_t)ctx->info.processors, work);
  return ga__kernel_launch_items(k, &list, n, group_of(ctx, n), ctx->info.max_grid[0]);
}
