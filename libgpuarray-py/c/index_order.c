/* Additions at repeated places in a fixed order: the numbers of the indices are sorted
 * by where they lead, and one item adds up what leads to one place. */
#include "c/index_order.h"

#include <gpuarray/sort.h>

#include <string.h>

#include "c/index_walk.h"
#include "c/kept.h"

/* Axes that are walked together, by the elements and by the values. */
typedef struct axes {
  unsigned int nd;
  size_t dims[GA_INDEX_AXES];
  ssize_t x[GA_INDEX_AXES], v[GA_INDEX_AXES]; /* bytes */
} axes;

static void push_axis(axes *to, size_t length, ssize_t x, ssize_t v) {
  to->dims[to->nd] = length;
  to->x[to->nd] = x;
  to->v[to->nd++] = v;
}

static void collapse(axes *a) {
  ssize_t *list[] = {a->x, a->v};
  if (a->nd == 0)
    push_axis(a, 1, 0, 0);
  ga__shape_collapse(2, &a->nd, a->dims, list);
}

static size_t product(const axes *a) {
  size_t n = 1;
  for (unsigned int k = 0; k < a->nd; k++)
    n *= a->dims[k];
  return n;
}

static void add_lengths(ga_args *args, const axes *a) {
  for (unsigned int k = 1; k < a->nd; k++)
    ga__args_u64(args, a->dims[k]);
}

static void add_strides(ga_args *args, const axes *a, const ssize_t *strides,
                        size_t size) {
  for (unsigned int k = 0; k < a->nd; k++)
    ga__args_i64(args, strides[k] / (ssize_t)size);
}

/* ---- launches ---- */

static int launch(gpucontext *ctx, const ga_order_spec *s, const ga_args *args,
                  size_t nx, size_t ny) {
  gpukernel *kernel;
  GA_TRY(ga__kernel_kept(&kernel, ctx, ga__order_source, s, sizeof *s));
  size_t threads = 256, width = 1;
  while (threads > ga__kernel_threads(kernel))
    threads /= 2;
  while (width < threads && width < nx)
    width *= 2;
  const size_t height = ny == 1 ? 1 : threads / width;
  const size_t rows = (ny - 1) / height + 1, most = ctx->info.max_grid[1];
  const ga_launch l = {.nd = 2,
                       .grid = {(nx - 1) / width + 1, rows < most ? rows : most, 1},
                       .block = {width, height, 1},
                       .n_args = args->n,
                       .args = args->list};
  return ga__kernel_launch(kernel, &l);
}

static void add_pointer(ga_args *args, gpudata *data, size_t offset, bool is_read) {
  if (is_read)
    ga__args_input(args, data);
  else
    ga__args_buffer(args, data);
  ga__args_offset(args, data, offset);
}

/* ---- the whole ---- */

/* Divides the axes of the walk, and those of `a` that are indexed. */
static void divide(axes *indexed, axes *by, axes *others, const ga_index_walk *w,
                   const GpuArray *a, const ga_indices *ix) {
  const unsigned int nb = w->nd + ix->n - a->nd;
  indexed->nd = by->nd = others->nd = 0;
  for (unsigned int k = 0; k < ix->n; k++)
    push_axis(indexed, w->index[k].length, w->index[k].step, 0);
  for (unsigned int k = 0; k < w->nd; k++) {
    const bool is_index = k >= ix->first_axis && k < ix->first_axis + nb;
    push_axis(is_index ? by : others, w->dims[k], w->dst.strides[k], w->src.strides[k]);
  }
  collapse(indexed);
  collapse(by);
  collapse(others);
}

static int queue_add(const ga_index_walk *w, const GpuArray *a, const ga_indices *ix,
                     const GpuArray *slot, const GpuArray *order) {
  const size_t size = gpuarray_get_elsize(a->typecode);
  axes indexed, by, others;
  divide(&indexed, &by, &others, w, a, ix);
  ga_order_spec s;
  memset(&s, 0, sizeof s);
  s.typecode = (unsigned char)a->typecode;
  s.slot_type = (unsigned char)slot->typecode;
  s.n = (unsigned char)indexed.nd;
  s.nb = (unsigned char)by.nd;
  s.nd = (unsigned char)others.nd;
  ga_args args;
  args.n = 0;
  add_pointer(&args, w->dst.data, w->dst.offset, false);
  add_pointer(&args, w->src.data, w->src.offset, true);
  add_pointer(&args, slot->data, slot->offset, true);
  add_pointer(&args, order->data, order->offset, true);
  ga__args_u64(&args, slot->dimensions[0]);
  ga__args_u64(&args, product(&others));
  add_lengths(&args, &indexed);
  add_strides(&args, &indexed, indexed.x, size);
  add_lengths(&args, &by);
  add_strides(&args, &by, by.v, size);
  add_lengths(&args, &others);
  add_strides(&args, &others, others.x, size);
  add_strides(&args, &others, others.v, size);
  return launch(w->context, &s, &args, product(&others), slot->dimensions[0]);
}

int ga__index_add_in_order(const GpuArray *a, const ga_indices *ix, const GpuArray *v) {
  ga_index_walk w;
  ga_index_operand dst;
  GA_TRY(ga__index_begin(&w, &dst, a, ix));
  GA_TRY(ga__index_operand(&w.src, &w, v));
  w.dst = dst;
  if (ga__index_count(&w) == 0)
    return GA_NO_ERROR;
  GpuArray slot, order = {0};
  GA_TRY(ga__index_slots(&slot, a, ix));
  int status =
      GpuArray_empty(&order, w.context, GA_LONG, 1, slot.dimensions, GA_C_ORDER);
  if (status == GA_NO_ERROR)
    status = GpuArray_argsort(&order, &slot, 0, 0);
  if (status == GA_NO_ERROR)
    status = queue_add(&w, a, ix, &slot, &order);
  GpuArray_clear(&order);
  GpuArray_clear(&slot);
  return status;
}
