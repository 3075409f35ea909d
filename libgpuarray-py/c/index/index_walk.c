/* Iteration space of indexing: operands, collapse of axes, launches. */
#include "c/index/index_walk.h"

#include <string.h>

#include "c/base/counts.h"
#include "c/program/kernel_table.h"

/* ---- indices ---- */

static int check_index(const GpuArray *i, const GpuArray *a, const char *operation) {
  char text[GA_ARRAY_TEXT];
  GA_TRY(ga__array_check(i, operation));
  GA_TRY(ga__array_same_context(i, a, operation));
  const char kind = ga__dtype_kind(i->typecode);
  if (kind != 'i' && kind != 'u')
    return GA_FAIL(GA_INVALID_ERROR, "%s: an index array is %s, expected integers%s",
                   operation, ga__array_text(text, i),
                   kind == 'b' ? "; masks have functions of their own "
                                 "(GpuArray_compress, GpuArray_put_mask)"
                               : "");
  if (!GpuArray_ISALIGNED(i))
    return GA_FAIL(GA_UNALIGNED_ERROR,
                   "%s: an index array, %s, is not aligned to its type; copy it first "
                   "(GpuArray_copy)",
                   operation, ga__array_text(text, i));
  return GA_NO_ERROR;
}

static int check_indices(unsigned int *nd, size_t *dims, const GpuArray *a,
                         const ga_indices *ix) {
  if (ix->n > a->nd || ix->first_axis > a->nd - ix->n)
    return GA_FAIL(
        GA_VALUE_ERROR,
        "%s: got %u index arrays from axis %u on, more than the array has axes (%u)",
        ix->operation, ix->n, ix->first_axis, a->nd);
  if (ix->n > 0 && ix->arrays == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "%s: got NULL, expected %u index arrays",
                   ix->operation, ix->n);
  *nd = 0;
  for (unsigned int k = 0; k < ix->n; k++) {
    GA_TRY(check_index(ix->arrays[k], a, ix->operation));
    int status =
        ga__shape_broadcast(nd, dims, ix->arrays[k]->nd, ix->arrays[k]->dimensions);
    if (status !=
        GA_NO_ERROR) /* as in NumPy, a shape mismatch of indices is an IndexError */
      return ga__fail_within(GA_INDEX_ERROR, "%s", ix->operation);
  }
  return GA_NO_ERROR;
}

/* Strides of `a`, broadcast, for `nd` axes from `first` on. */
static void broadcast_strides(ga_index_operand *o, unsigned int first, unsigned int nd,
                              const GpuArray *a) {
  for (unsigned int k = 0; k < nd; k++) {
    const unsigned int missing = nd - a->nd;
    const bool stands = k < missing || a->dimensions[k - missing] == 1;
    o->strides[first + k] = stands ? 0 : a->strides[k - missing];
  }
}

static void add_indices(ga_index_walk *w, unsigned int first, unsigned int nd,
                        const ga_indices *ix) {
  w->n = ix->n;
  for (unsigned int k = 0; k < ix->n; k++) {
    const GpuArray *i = ix->arrays[k];
    ga_index_array *to = &w->index[k];
    memset(&to->at, 0, sizeof to->at);
    to->at.data = i->data;
    to->at.offset = i->offset;
    to->at.unit = gpuarray_get_elsize(i->typecode);
    to->typecode = i->typecode;
    broadcast_strides(&to->at, first, nd, i);
  }
}

static void open_walk(ga_index_walk *w, const GpuArray *a, const ga_indices *ix) {
  w->context = a->data->context;
  w->operation = ix->operation;
  w->mode = ix->mode;
  w->typecode = a->typecode;
  w->dst.data = w->src.data = w->keep.data = w->word = NULL;
}

/* Checks that the count fits and that no index leads into an empty axis. */
static int check_lengths(const ga_index_walk *w, unsigned int first) {
  size_t count;
  int status = ga__shape_count(&count, w->nd, w->dims);
  if (status != GA_NO_ERROR)
    return ga__fail_within(status, "%s", w->operation);
  if (count == 0)
    return GA_NO_ERROR;
  for (unsigned int k = 0; k < w->n; k++)
    if (w->index[k].length == 0)
      return GA_FAIL(GA_INDEX_ERROR, "%s: indices into axis %u, which has no elements",
                     w->operation, first + k);
  return GA_NO_ERROR;
}

int ga__index_begin(ga_index_walk *w, ga_index_operand *place, const GpuArray *a,
                    const ga_indices *ix) {
  unsigned int nd = 0;
  size_t dims[GA_MAX_NDIM];
  GA_TRY(check_indices(&nd, dims, a, ix));
  const unsigned int first = ix->first_axis, rest = a->nd - first - ix->n;
  if (first + nd + rest > GA_MAX_NDIM)
    return GA_FAIL(GA_VALUE_ERROR, "%s: the result has %u axes, expected at most %d",
                   ix->operation, first + nd + rest, GA_MAX_NDIM);
  open_walk(w, a, ix);
  w->nd = first + nd + rest;
  place->data = a->data;
  place->offset = a->offset;
  place->unit = gpuarray_get_elsize(a->typecode);
  memset(place->strides, 0, sizeof place->strides);
  for (unsigned int k = 0; k < w->nd; k++) {
    const bool is_index = k >= first && k < first + nd;
    const unsigned int axis = k < first ? k : k - nd + ix->n;
    w->dims[k] = is_index ? dims[k - first] : a->dimensions[axis];
    place->strides[k] = is_index ? 0 : a->strides[axis];
  }
  add_indices(w, first, nd, ix);
  for (unsigned int k = 0; k < ix->n; k++) {
    w->index[k].length = a->dimensions[first + k];
    w->index[k].step = a->strides[first + k];
  }
  return check_lengths(w, first);
}

int ga__index_begin_write(ga_index_walk *w, const GpuArray *a, const ga_indices *ix,
                          const GpuArray *v, enum ga_index_op op) {
  GA_TRY(ga__index_begin(w, &w->dst, a, ix));
  w->op = op;
  return ga__index_operand(&w->src, w, v);
}

int ga__index_begin_table(ga_index_walk *w, size_t *slots, const GpuArray *a,
                          const ga_indices *ix, size_t unit) {
  GA_TRY(check_indices(&w->nd, w->dims, a, ix));
  open_walk(w, a, ix);
  add_indices(w, 0, w->nd, ix);
  *slots = 1;
  for (unsigned int k = ix->n; k-- > 0;) {
    w->index[k].length = a->dimensions[ix->first_axis + k];
    w->index[k].step = (ssize_t)(*slots * unit);
    *slots *= w->index[k].length;
  }
  return check_lengths(w, ix->first_axis);
}

/* ---- operands ---- */

int ga__index_operand(ga_index_operand *o, const ga_index_walk *w, const GpuArray *a) {
  unsigned int extra =
      0; /* surplus leading axes of length 1 are dropped, as in NumPy */
  GpuArray view = *a;
  while (a->nd - extra > w->nd && a->dimensions[extra] == 1)
    extra++;
  view.nd -= extra;
  memmove(view.dimensions, a->dimensions + extra, view.nd * sizeof *view.dimensions);
  memmove(view.strides, a->strides + extra, view.nd * sizeof *view.strides);
  bool fits = view.nd <= w->nd;
  for (unsigned int k = 1; fits && k <= view.nd; k++) {
    const size_t have = view.dimensions[view.nd - k];
    fits = have == 1 || have == w->dims[w->nd - k];
  }
  if (!fits) {
    char given[GA_SHAPE_TEXT], wanted[GA_SHAPE_TEXT];
    return GA_FAIL(GA_VALUE_ERROR, "%s: values of shape %s do not broadcast to %s",
                   w->operation, ga__shape_text(given, a->nd, a->dimensions),
                   ga__shape_text(wanted, w->nd, w->dims));
  }
  o->data = a->data;
  o->offset = a->offset;
  o->unit = gpuarray_get_elsize(a->typecode);
  memset(o->strides, 0, sizeof o->strides);
  broadcast_strides(o, 0, w->nd, &view);
  return GA_NO_ERROR;
}

void ga__index_block(ga_index_operand *o, const ga_index_walk *w, gpudata *data,
                     size_t unit) {
  o->data = data;
  o->offset = 0;
  o->unit = unit;
  memset(o->strides, 0, sizeof o->strides);
  ga__shape_c_strides(o->strides, w->nd, w->dims, unit);
}

size_t ga__index_count(const ga_index_walk *w) {
  size_t count = 1;
  for (unsigned int k = 0; k < w->nd; k++)
    count *= w->dims[k];
  return count;
}

/* Lists the operands that the operation has. */
#define MAX_OPERANDS (GA_MAX_NDIM + 3)
static unsigned int list_operands(ga_index_operand *list[MAX_OPERANDS],
                                  ga_index_walk *w) {
  unsigned int n = 0;
  list[n++] = &w->dst;
  if (w->src.data != NULL)
    list[n++] = &w->src;
  if (w->keep.data != NULL)
    list[n++] = &w->keep;
  for (unsigned int k = 0; k < w->n; k++)
    list[n++] = &w->index[k].at;
  return n;
}

/* ---- collapse of axes, choice of the word size ---- */

static void collapse(ga_index_walk *w) {
  ga_index_operand *list[MAX_OPERANDS];
  ssize_t *strides[MAX_OPERANDS];
  const unsigned int n = list_operands(list, w);
  for (unsigned int k = 0; k < n; k++)
    strides[k] = list[k]->strides;
  if (w->nd == 0) { /* one element */
    w->nd = 1;
    w->dims[0] = 1;
    for (unsigned int k = 0; k < n; k++)
      strides[k][0] = 0;
  }
  ga__shape_collapse(n, &w->nd, w->dims, strides);
}

/* True if elements are moved as bytes, whatever their type. */
static bool moves_bytes(const ga_index_walk *w) {
  return w->op == GA_INDEX_TAKE || w->op == GA_INDEX_PUT;
}

static size_t place_bits(const ga_index_operand *o, const ga_index_walk *w) {
  size_t bits = o->offset;
  for (unsigned int k = 0; k + 1 < w->nd; k++)
    bits |= (size_t)o->strides[k];
  return bits;
}

/* Views elements as bytes and regroups them into the largest aligned words, across
 * elements where the last axis is contiguous. */
static void choose_word(ga_index_walk *w) {
  ga_index_operand *list[MAX_OPERANDS];
  const unsigned int n = list_operands(list, w), axis = w->nd++;
  w->dims[axis] = w->dst.unit;
  for (unsigned int k = 0; k < n; k++)
    list[k]->strides[axis] = list[k] == &w->dst || list[k] == &w->src;
  collapse(w);
  const unsigned int last = w->nd - 1;
  w->dst.unit = w->src.unit = 1;
  if (w->dst.strides[last] != 1 || w->src.strides[last] != 1)
    return; /* not contiguous: single bytes */
  const size_t most =
      w->context->info.is_cpu ? 8 : 16; /* OpenCL vectors hold several words */
  size_t bits = most | w->dims[last] | place_bits(&w->dst, w) | place_bits(&w->src, w);
  for (unsigned int k = 0; k < w->n; k++)
    bits |= (size_t)w->index[k].step;
  const size_t word = bits & (~bits + 1);
  w->dims[last] /= word;
  w->dst.unit = w->src.unit = word;
  w->dst.strides[last] = w->src.strides[last] = (ssize_t)word;
  collapse(w);
}

/* ---- launches ---- */

/* Limit of 32-bit indices, with a margin for a block. */
#define NARROW ((size_t)INT32_MAX - (1 << 20))

static size_t count_rows(const ga_index_walk *w) {
  size_t rows = 1;
  for (unsigned int k = 0; k + 1 < w->nd; k++)
    rows *= w->dims[k];
  return rows;
}

/* Extent of an operand from its first element, in units. */
static size_t reach(const ga_index_operand *o, const ga_index_walk *w) {
  size_t sum = 0;
  for (unsigned int k = 0; k < w->nd; k++) {
    const ssize_t stride = o->strides[k];
    sum += (w->dims[k] - 1) * (size_t)(stride < 0 ? -stride : stride);
  }
  return sum / o->unit;
}

static ga_index_operand *place_of(ga_index_walk *w) {
  return w->op == GA_INDEX_TAKE || w->op == GA_INDEX_CLAIM ? &w->src : &w->dst;
}

/* Unit of an index's stride. */
static size_t place_unit(ga_index_walk *w) {
  return w->op == GA_INDEX_SLOT ? 1 : place_of(w)->unit;
}

static bool is_wide(ga_index_walk *w) {
  ga_index_operand *list[MAX_OPERANDS];
  const unsigned int n = list_operands(list, w);
  for (unsigned int k = 0; k < n; k++)
    if (reach(list[k], w) >= NARROW)
      return true;
  size_t place = w->op == GA_INDEX_SLOT ? 0 : reach(place_of(w), w);
  for (unsigned int k = 0; k < w->n; k++) {
    const ssize_t step = w->index[k].step;
    place += w->index[k].length * (size_t)(step < 0 ? -step : step) / place_unit(w);
  }
  return place >= NARROW;
}

static size_t power_from(size_t n, size_t most) {
  size_t p = 1;
  while (p < n && p < most)
    p *= 2;
  return p;
}

#define THREADS 256
#define CPU_SHORT_ROW 16
#define CPU_PIECE 4096
#define CPU_GROUP_WORK 4096 /* items per work group, to be worth one */

/* Fills the specialization; every byte is set. */
static void fill_spec(ga_index_spec *s, ga_index_walk *w, size_t nx, size_t ny) {
  memset(s, 0, sizeof *s);
  s->op = (unsigned char)w->op;
  s->mode = (unsigned char)w->mode;
  s->typecode = (unsigned char)(w->op == GA_INDEX_ADD ? w->typecode : 0);
  const bool has_word = moves_bytes(w) || w->op == GA_INDEX_SLOT;
  s->word = (unsigned char)(has_word ? w->dst.unit : 0);
  s->keep = w->keep.data != NULL;
  s->wide = is_wide(w);
  s->uniform = true;
  for (unsigned int k = 0; k < w->n; k++) {
    s->uniform = s->uniform && w->index[k].at.strides[w->nd - 1] == 0;
    s->types[k] = (unsigned char)w->index[k].typecode;
  }
  const bool is_cpu = w->context->info.is_cpu;
  s->per = is_cpu ? 0 : 4;
  s->tall = is_cpu ? nx < CPU_SHORT_ROW && ny > nx : nx <= THREADS && ny >= s->per;
  s->nd = (unsigned char)w->nd;
  s->n = (unsigned char)w->n;
}

static int add_arguments(ga_args *args, ga_index_walk *w, const ga_index_spec *s) {
  ga_index_operand *list[MAX_OPERANDS];
  const unsigned int n = list_operands(list, w);
  for (unsigned int k = 0; k < n; k++)
    ga__args_pointer(args, list[k]->data, list[k]->offset, k > 0);
  for (unsigned int k = 0; k < w->n; k++) {
    ga__args_i64(args, (int64_t)w->index[k].length);
    ga__args_position(args, s->wide, w->index[k].step / (ssize_t)place_unit(w));
  }
  if (w->mode != GA_INDEX_RAISE)
    return GA_NO_ERROR;
  if (w->word == NULL)
    return ga__args_report(args, w->context, w->operation);
  ga__args_pointer(args, w->word, 0, false);
  ga__args_u32(args, 0);
  return GA_NO_ERROR;
}

static void add_strides(ga_args *args, ga_index_walk *w, const ga_index_spec *s) {
  ga_index_operand *list[MAX_OPERANDS];
  const unsigned int n = list_operands(list, w);
  for (unsigned int axis = 1; axis + 1 < w->nd; axis++)
    ga__args_u32(args, (uint32_t)w->dims[axis]);
  for (unsigned int k = 0; k < n; k++)
    for (unsigned int axis = 0; axis < w->nd; axis++)
      ga__args_position(args, s->wide, list[k]->strides[axis] / (ssize_t)list[k]->unit);
}

/* CPU: few work groups with long ranges; *width, *height: length and number of a row's
 * pieces. Several items where a row has one index, to be vectorized; else one. */
static ga_launch cpu_geometry(size_t *width, size_t *height, const ga_index_walk *w,
                              const ga_index_spec *s, size_t nx, size_t ny) {
  const size_t items = nx * ny, most = 4 * (size_t)w->context->info.processors;
  const size_t groups = ga__ceil_div(items, CPU_GROUP_WORK);
  *width = nx < CPU_PIECE ? nx : CPU_PIECE;
  *height = ga__ceil_div(nx, *width);
  return (ga_launch){.nd = 1,
                     .grid = {groups < most ? groups : most},
                     .block = {s->uniform && !s->tall ? w->context->info.warp : 1}};
}

/* GPU: blocks over a row, or over several short rows. */
static ga_launch gpu_geometry(size_t *width, size_t *height, const ga_index_walk *w,
                              const ga_index_spec *s, size_t nx, size_t ny,
                              size_t threads) {
  const size_t bx = power_from(s->tall ? nx : ga__ceil_div(nx, s->per), threads);
  const size_t by = power_from(ny, threads / bx);
  *width = s->tall ? bx : bx * s->per;
  *height = s->tall ? by * s->per : by;
  const size_t tall = ga__ceil_div(ny, *height), most = w->context->info.max_grid[1];
  return (ga_launch){.nd = 2,
                     .grid = {ga__ceil_div(nx, *width), tall < most ? tall : most, 1},
                     .block = {bx, by, 1}};
}

static int launch(ga_index_walk *w) {
  const size_t nx = w->dims[w->nd - 1], ny = count_rows(w);
  ga_index_spec s;
  gpukernel *kernel;
  fill_spec(&s, w, nx, ny);
  GA_TRY(ga__kernel_kept(&kernel, w->context, ga__index_source, &s, sizeof s));
  size_t width, height, threads = power_from(THREADS, w->context->info.max_threads);
  while (threads > ga__kernel_threads(kernel))
    threads /= 2;
  ga_launch l = s.per == 0 ? cpu_geometry(&width, &height, w, &s, nx, ny)
                           : gpu_geometry(&width, &height, w, &s, nx, ny, threads);
  ga_args args;
  args.n = 0;
  GA_TRY(add_arguments(&args, w, &s));
  ga__args_u32(&args, (uint32_t)nx);
  ga__args_u32(&args, (uint32_t)ny);
  ga__args_u32(&args, (uint32_t)width);
  ga__args_u32(&args, (uint32_t)height);
  add_strides(&args, w, &s);
  l.work = nx * ny;
  l.n_args = args.n;
  l.args = args.list;
  return ga__kernel_launch(kernel, &l);
}

/* Restricts the walk to `length` positions from `from` on along `axis`. */
static void cut(ga_index_walk *w, unsigned int axis, size_t from, size_t length) {
  ga_index_operand *list[MAX_OPERANDS];
  const unsigned int n = list_operands(list, w);
  for (unsigned int k = 0; k < n; k++)
    list[k]->offset += from * (size_t)list[k]->strides[axis];
  w->dims[axis] = length;
}

/* Halves walks that exceed 32-bit counts. */
static int launch_parts(ga_index_walk *w) {
  unsigned int longest = w->nd - 1;
  if (w->dims[longest] < NARROW) {
    if (count_rows(w) < NARROW)
      return launch(w);
    longest = 0;
    for (unsigned int k = 1; k + 1 < w->nd; k++)
      if (w->dims[k] > w->dims[longest])
        longest = k;
  }
  const size_t half = w->dims[longest] / 2;
  ga_index_walk part = *w;
  cut(&part, longest, 0, half);
  GA_TRY(launch_parts(&part));
  cut(w, longest, half, w->dims[longest] - half);
  return launch_parts(w);
}

int ga__index_run(ga_index_walk *w) {
  if (ga__index_count(w) == 0)
    return GA_NO_ERROR;
  collapse(w);
  if (moves_bytes(w))
    choose_word(w);
  return launch_parts(w);
}
