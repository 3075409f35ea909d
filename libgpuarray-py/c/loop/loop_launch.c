/* Launches of loops: axes and geometry. */
#include "c/loop/loop.h"

#include <string.h>

#include "c/base/counts.h"

#define GPU_THREADS 256
#define GROUP 1024    /* most items of a group; local memory of a reduction */
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

/* On a CPU: a piece of a row for each processor, of whole vectors; or all of it. */
static size_t piece_of(const gpucontext *ctx, const ga_loop *l, size_t n) {
  const size_t row = l->dims[l->nd - 1];
  if (l->reduces || l->form == GA_LOOP_IN_VECTORS)
    return row;
  const size_t wanted = n / ctx->info.processors + 1;
  const size_t piece = (wanted + CPU_VECTOR - 1) / CPU_VECTOR * CPU_VECTOR;
  return ga__smaller(piece, l->piece);
}

/* Items of the group of a loop that reduces. */
static size_t items_of(const gpucontext *ctx, size_t n) {
  size_t items = ctx->info.warp;
  while (items < n)
    items *= 2;
  return items;
}

static enum ga_loop_form form_of(const gpucontext *ctx, const ga_loop *l, size_t n) {
  const bool in_pieces = !l->reduces || (l->nd == 1 && n <= l->piece);
  if (!ctx->info.is_cpu || !in_pieces)
    return l->reduces ? GA_LOOP_IN_GROUP : GA_LOOP_IN_ITEMS;
  return l->dims[l->nd - 1] <= ctx->info.warp ? GA_LOOP_IN_VECTORS : GA_LOOP_IN_PIECES;
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

static void add_arguments(ga_args *list, const ga_loop *l, size_t n, size_t piece) {
  list->n = 0;
  ga__args_u64(list, n);
  ga__args_u32(list, l->n_iterations);
  if (ga__loop_has_pieces(l->form)) {
    ga__args_u64(list, l->dims[l->nd - 1]);
    ga__args_u64(list, piece);
  }
  for (unsigned int i = 1; i < l->nd; i++)
    ga__args_u64(list, l->dims[i]);
  if (l->n_total > 0)
    ga__args_u32(list, l->n_total);
  for (unsigned int i = 0; i < l->n_integers; i++)
    if (!l->integers[i].is_iteration)
      ga__args_i64(list, l->integers[i].integer);
  for (unsigned int i = 0; i < l->n_operands; i++)
    add_operand(list, l, i);
}

static int launch(bool *done, gpucontext *ctx, const ga_loop *l, size_t n) {
  const size_t row = l->dims[l->nd - 1], items = items_of(ctx, n);
  ga_source source = {0};
  gpukernel *k;
  ga_args list;
  GA_TRY(ga__loop_source(&source, l, ctx->info.is_cpu));
  const int status = ga__kernel_get(&k, ctx, &source);
  ga__strbuf_clear(&source.body);
  GA_TRY(status);
  *done = l->form != GA_LOOP_IN_GROUP || ga__kernel_takes(k, items);
  if (!*done)
    return GA_NO_ERROR;
  const size_t piece = piece_of(ctx, l, n);
  add_arguments(&list, l, n, piece);
  const size_t work = (n - 1) / CPU_VECTOR * l->n_iterations + l->n_iterations;
  if (l->form == GA_LOOP_IN_GROUP)
    return ga__kernel_launch_work(k, &list, items, items, 1, work);
  if (l->form == GA_LOOP_IN_ITEMS)
    return ga__kernel_launch_items(k, &list, n, group_of(ctx, n),
                                   ctx->info.max_grid[0]);
  const size_t pieces = n / row * ((row - 1) / piece + 1);
  const size_t lanes = n == 1 && !l->reduces ? 1 : ctx->info.warp;
  return ga__kernel_launch_work(k, &list, pieces * lanes, lanes,
                                GA_CPU_GROUPS * (size_t)ctx->info.processors, work);
}

int ga__loop_launch(bool *done, gpucontext *ctx, const ga_loop *l) {
  const size_t n = ga__loop_count(l);
  *done = true;
  if (n == 0)
    return GA_NO_ERROR;
  ga_loop formed = *l;
  formed.piece = ga__loop_piece(l, ctx->info.local_memory);
  formed.form = form_of(ctx, &formed, n);
  *done = formed.form != GA_LOOP_IN_GROUP ||
          (n <= GROUP && items_of(ctx, n) <= ctx->info.max_threads);
  return *done ? launch(done, ctx, &formed, n) : GA_NO_ERROR;
}
