/* Deterministic scatter-add: sorts the index numbers by slot, then a segmented
 * reduction in runs, repeated on the partial sums until one run is left. */
#include "c/index/scatter_source.h"

#include <string.h>

#include "c/index/index_walk.h"
#include "c/program/kernel_table.h"
#include "c/sort/sort_task.h"

/* Axes iterated together by elements and values. */
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

/* Extent of the strides, in elements of `size` bytes. */
static size_t reach(const axes *a, const ssize_t *strides, size_t size) {
  size_t sum = 0;
  for (unsigned int k = 0; k < a->nd; k++)
    sum += (a->dims[k] - 1) * (size_t)(strides[k] < 0 ? -strides[k] : strides[k]);
  return sum / size;
}

static void add_lengths(ga_args *args, const axes *a, bool wide) {
  for (unsigned int k = 1; k < a->nd; k++) {
    if (wide)
      ga__args_u64(args, a->dims[k]);
    else
      ga__args_u32(args, (uint32_t)a->dims[k]);
  }
}

static void add_strides(ga_args *args, const axes *a, const ssize_t *strides,
                        size_t size, bool wide) {
  ga__args_strides(args, wide, a->nd, strides, size);
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

/* ---- scatter-add ---- */

/* Splits the axes: those of `a` that are indexed, the indices', and all others. */
static void split_axes(axes *indexed, axes *by, axes *others, const ga_index_walk *w,
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

/* Input of a launch: entries sorted by slot. */
typedef struct entries {
  size_t count;
  gpudata *slots, *order,
      *sums; /* order: index numbers (first launch); sums: partial sums (later ones) */
} entries;

static void clear_entries(entries *e) {
  gpudata_release(e->slots);
  gpudata_release(e->order);
  gpudata_release(e->sums);
}

/* Parameters common to all launches. */
typedef struct addition {
  const ga_index_walk *w;
  int typecode, slot_type;
  bool wide;
  size_t others_count;
  size_t put; /* bytes per element of a put; 0: add */
  axes indexed, by, others;
} addition;

#define NARROW ((size_t)INT32_MAX - (1 << 20))

static void plan_addition(addition *p, const ga_index_walk *w, const GpuArray *a,
                          const ga_indices *ix, size_t count) {
  const size_t size = gpuarray_get_elsize(a->typecode);
  p->w = w;
  p->put = 0;
  p->typecode = a->typecode;
  split_axes(&p->indexed, &p->by, &p->others, w, a, ix);
  p->others_count = product(&p->others);
  const size_t x =
      reach(&p->indexed, p->indexed.x, size) + reach(&p->others, p->others.x, size);
  const size_t v = reach(&p->by, p->by.v, size) + reach(&p->others, p->others.v, size);
  p->wide = x >= NARROW || v >= NARROW || count >= NARROW ||
            p->others_count >= NARROW || product(&p->indexed) >= NARROW;
}

static int queue_add(const addition *p, const entries *from, const entries *to) {
  const ga_index_walk *w = p->w;
  const size_t size = gpuarray_get_elsize(p->typecode);
  const bool is_first = p->put > 0 || from->order != NULL;
  ga_order_spec s;
  memset(&s, 0, sizeof s);
  s.put = (unsigned char)p->put;
  s.typecode = (unsigned char)(p->put > 0 ? 0 : p->typecode);
  s.slot_type = (unsigned char)p->slot_type;
  s.first = is_first;
  s.last = to->count == 0;
  s.wide = p->wide;
  s.n = (unsigned char)p->indexed.nd;
  s.nb = (unsigned char)(is_first ? p->by.nd : 0);
  s.nd = (unsigned char)p->others.nd;
  ga_args args;
  args.n = 0;
  ga__args_pointer(&args, w->dst.data, w->dst.offset, false);
  ga__args_pointer(&args, is_first ? w->src.data : from->sums,
                   is_first ? w->src.offset : 0, true);
  ga__args_pointer(&args, from->slots, 0, true);
  if (from->order != NULL)
    ga__args_pointer(&args, from->order, 0, true);
  if (!s.last) {
    ga__args_pointer(&args, to->slots, 0, false);
    ga__args_pointer(&args, to->sums, 0, false);
  }
  ga__args_u64(&args, from->count);
  ga__args_u64(&args, p->others_count);
  add_lengths(&args, &p->indexed, p->wide);
  add_strides(&args, &p->indexed, p->indexed.x, size, p->wide);
  if (is_first) {
    add_lengths(&args, &p->by, p->wide);
    add_strides(&args, &p->by, p->by.v, size, p->wide);
  }
  add_lengths(&args, &p->others, p->wide);
  add_strides(&args, &p->others, p->others.x, size, p->wide);
  if (is_first)
    add_strides(&args, &p->others, p->others.v, size, p->wide);
  return launch(w->context, &s, &args, p->others_count, from->count);
}

/* Allocates the entries that a launch leaves; none if it is the last. */
static int open_entries(entries *to, const addition *p, size_t from) {
  gpucontext *ctx = p->w->context;
  *to = (entries){0};
  if (from <= GA_ORDER_RUN)
    return GA_NO_ERROR;
  to->count = 2 * ((from - 1) / GA_ORDER_RUN + 1);
  const size_t size = gpuarray_get_elsize(ga__dtype_work(p->typecode));
  GA_TRY(
      ga__buffer_new(&to->slots, ctx, to->count * gpuarray_get_elsize(p->slot_type)));
  int status = ga__buffer_new(&to->sums, ctx, to->count * p->others_count * size);
  if (status != GA_NO_ERROR)
    clear_entries(to);
  return status;
}

/* Takes ownership of `from`. */
static int add_entries(const addition *p, entries *from) {
  int status = GA_NO_ERROR;
  while (status == GA_NO_ERROR && from->count > 0) {
    entries to;
    status = open_entries(&to, p, from->count);
    if (status != GA_NO_ERROR)
      break;
    status = queue_add(p, from, &to);
    clear_entries(from);
    *from = to;
  }
  clear_entries(from);
  return status;
}

/* Sorts the index numbers by slot. */
static int sort_entries(entries *out, const GpuArray *slot, size_t slots) {
  const size_t count = slot->dimensions[0];
  gpucontext *ctx = slot->data->context;
  *out = (entries){.count = count};
  int status =
      ga__buffer_new(&out->slots, ctx, count * gpuarray_get_elsize(slot->typecode));
  GA_THEN(status, ga__buffer_new(&out->order, ctx, count * sizeof(int64_t)));
  ga_sort_task task = {.context = ctx,
                       .typecode = slot->typecode,
                       .rows = 1,
                       .n = count,
                       .keys = {slot->data, slot->offset},
                       .out_keys = {out->slots, 0},
                       .out_indices = {out->order, 0}};
  /* out-of-bounds slots, all ones, must sort last in any number of bits */
  while (task.key_bits < 63 && slots > ((size_t)1 << task.key_bits) - 1)
    task.key_bits++;
  GA_THEN(status, ga__sort_rows(&task));
  if (status != GA_NO_ERROR)
    clear_entries(out);
  return status;
}

int ga__index_add_in_order(const GpuArray *a, const ga_indices *ix, const GpuArray *v) {
  ga_index_walk w;
  GA_TRY(ga__index_begin_write(&w, a, ix, v, GA_INDEX_ADD));
  if (ga__index_count(&w) == 0)
    return GA_NO_ERROR;
  GpuArray slot;
  entries e;
  GA_TRY(ga__index_slots(&slot, a, ix));
  addition p;
  plan_addition(&p, &w, a, ix, slot.dimensions[0]);
  p.slot_type = slot.typecode;
  int status = sort_entries(&e, &slot, product(&p.indexed));
  GpuArray_clear(&slot);
  return status == GA_NO_ERROR ? add_entries(&p, &e) : status;
}

/* ---- slot-parallel put ---- */

bool ga__index_has_words(const GpuArray *a) {
  size_t bits = a->offset;
  for (unsigned int k = 0; k < a->nd; k++)
    bits |= (size_t)a->strides[k];
  return bits % gpuarray_get_elsize(a->typecode) == 0;
}

bool ga__index_may_put_by_place(const GpuArray *a, const GpuArray *v) {
  return ga__index_has_words(a) && ga__index_has_words(v);
}

int ga__index_put_by_place(const ga_index_walk *w, const GpuArray *a,
                           const ga_indices *ix, gpudata *table) {
  addition p;
  plan_addition(&p, w, a, ix, 0);
  p.put = gpuarray_get_elsize(a->typecode);
  p.slot_type = GA_UINT;
  const entries places = {.count = product(&p.indexed), .slots = table};
  const entries none = {0};
  return queue_add(&p, &places, &none);
}
