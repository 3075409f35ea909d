/* GpuReduction: chooses how to walk the axes, the geometry, and launches. */
#include <stdatomic.h>
#include <string.h>

#include "c/reduce_source.h"
#include "c/reduction.h"

#define MAX_INPUTS 32
#define SIMPLE_RANK 2 /* kept and reduced axes of the kernels that serve most shapes   \
                       */

/* A kernel that was asked for once; never removed. */
typedef struct variant {
  enum ga_reduce_kind kind;
  unsigned int nk, nr;
  gpukernel *kernel; /* the context's */
  struct variant *next;
} variant;

struct _GpuReduction {
  gpucontext *context;
  ga_reduce_spec spec;  /* its texts are owned */
  ga_reduce_spec parts; /* of partial results; borrows its texts from `spec` */
  gpuelemwise_arg parts_input;
  _Atomic(variant *) variants;
  _Atomic(gpukernel *) parts_kernel;
};

/* ---- making one ---- */

static int check_spec(gpucontext *ctx, const gpureduction_spec *spec) {
  if (ctx == NULL || spec == NULL)
    return GA_FAIL(GA_INVALID_ERROR, "reduction: needs a context and a spec; got NULL");
  if (spec->size != sizeof *spec)
    return GA_FAIL(GA_INVALID_ERROR,
                   "reduction: the spec's size is %zu, expected %zu; set it to "
                   "sizeof(gpureduction_spec)",
                   spec->size, sizeof *spec);
  if (spec->map == NULL || spec->combine == NULL || spec->identity == NULL)
    return GA_FAIL(GA_INVALID_ERROR,
                   "reduction: map, combine and identity are needed; one is NULL");
  if (spec->n == 0 || spec->n > MAX_INPUTS || spec->inputs == NULL)
    return GA_FAIL(GA_UNSUPPORTED_ERROR, "reduction: got %u inputs, expected 1 to %d",
                   spec->n, MAX_INPUTS);
  GA_TRY(ga__context_supports(ctx, spec->acc_typecode, "reduction"));
  GA_TRY(ga__context_supports(ctx, spec->out_typecode, "reduction"));
  for (unsigned int i = 0; i < spec->n; i++) {
    const gpuelemwise_arg *arg = &spec->inputs[i];
    if (arg->name == NULL)
      return GA_FAIL(GA_INVALID_ERROR, "reduction: input %u has no name", i);
    if (arg->flags & GE_WRITE)
      return GA_FAIL(GA_INVALID_ERROR, "reduction: input `%s` cannot be written",
                     arg->name);
    GA_TRY(ga__context_supports(ctx, arg->typecode, "reduction"));
  }
  return GA_NO_ERROR;
}

static bool is_array(const gpuelemwise_arg *arg) {
  return !(arg->flags & GE_SCALAR);
}

/* Accumulators of an item: what it has in flight. On a CPU they fill vector registers.
 */
static unsigned int choose_width(const gpucontext *ctx, const gpureduction_spec *spec) {
  size_t smallest = gpuarray_get_elsize(spec->acc_typecode);
  for (unsigned int i = 0; i < spec->n; i++)
    if (is_array(&spec->inputs[i]) &&
        gpuarray_get_elsize(spec->inputs[i].typecode) < smallest)
      smallest = gpuarray_get_elsize(spec->inputs[i].typecode);
  if (ctx->info.is_cpu)
    return 16;
  return smallest >= 8 ? 4 : 8;
}

static int copy_text(const char **out, const char *text) {
  if (text == NULL)
    return GA_NO_ERROR;
  *out = ga__strdup(text);
  return *out == NULL ? GA_MEMORY_ERROR : GA_NO_ERROR;
}

static int copy_spec(GpuReduction *gr, const gpureduction_spec *spec) {
  ga_reduce_spec *own = &gr->spec;
  gpuelemwise_arg *inputs = ga__alloc(spec->n, sizeof *inputs);
  if (inputs == NULL)
    return GA_MEMORY_ERROR;
  own->inputs = inputs;
  own->n = spec->n;
  for (unsigned int i = 0; i < spec->n; i++) {
    inputs[i] = spec->inputs[i];
    inputs[i].name = NULL;
  }
  for (unsigned int i = 0; i < spec->n; i++)
    GA_TRY(copy_text(&inputs[i].name, spec->inputs[i].name));
  GA_TRY(copy_text(&own->preamble, spec->preamble));
  GA_TRY(copy_text(&own->prologue, spec->prologue));
  GA_TRY(copy_text(&own->map, spec->map));
  GA_TRY(copy_text(&own->combine, spec->combine));
  GA_TRY(copy_text(&own->identity, spec->identity));
  own->acc = ga__dtype_work(spec->acc_typecode);
  own->out = spec->out_typecode;
  own->width = choose_width(gr->context, spec);
  own->is_cpu = gr->context->info.is_cpu;

  gr->parts_input = (gpuelemwise_arg){.name = "part", .typecode = own->acc};
  gr->parts = *own;
  gr->parts.prologue = NULL;
  gr->parts.map = "part";
  gr->parts.n = 1;
  gr->parts.inputs = &gr->parts_input;
  return GA_NO_ERROR;
}

GpuReduction *GpuReduction_new(gpucontext *ctx, const gpureduction_spec *spec,
                               int *ret) {
  GpuReduction *gr = NULL;
  int status = check_spec(ctx, spec);
  if (status == GA_NO_ERROR) {
    gr = ga__alloc(1, sizeof *gr);
    status = gr == NULL ? GA_MEMORY_ERROR : GA_NO_ERROR;
  }
  if (status == GA_NO_ERROR) {
    gr->context = ctx;
    gpucontext_retain(ctx);
    status = copy_spec(gr, spec);
  }
  if (status != GA_NO_ERROR) {
    GpuReduction_free(gr);
    gr = NULL;
    if (ret != NULL)
      *ret = status;
  }
  return gr;
}

/* The texts are const to those who read the spec; here is their owner. */
static void free_text(const char *text) {
  ga__free((void *)(uintptr_t)text);
}

void GpuReduction_free(GpuReduction *gr) {
  if (gr == NULL)
    return;
  for (variant *v = atomic_load(&gr->variants); v != NULL;) {
    variant *next = v->next;
    ga__free(v);
    v = next;
  }
  for (unsigned int i = 0; i < gr->spec.n; i++)
    free_text(gr->spec.inputs[i].name);
  ga__free((void *)(uintptr_t)gr->spec.inputs);
  free_text(gr->spec.preamble);
  free_text(gr->spec.prologue);
  free_text(gr->spec.map);
  free_text(gr->spec.combine);
  free_text(gr->spec.identity);
  gpucontext_deref(gr->context);
  ga__free(gr);
}

/* ---- kernels ---- */

static int compile(gpukernel **out, GpuReduction *gr, const ga_reduce_spec *spec,
                   enum ga_reduce_kind kind, unsigned int nk, unsigned int nr) {
  ga_source source = {0};
  GA_TRY(ga__reduce_source(&source, spec, kind, nk, nr));
  int status = ga__kernel_get(out, gr->context, &source);
  ga__strbuf_clear(&source.body);
  return status;
}

static int get_kernel(gpukernel **out, GpuReduction *gr, enum ga_reduce_kind kind,
                      unsigned int nk, unsigned int nr) {
  for (variant *v = atomic_load(&gr->variants); v != NULL; v = v->next)
    if (v->kind == kind && v->nk == nk && v->nr == nr) {
      *out = v->kernel;
      return GA_NO_ERROR;
    }
  gpukernel *kernel;
  GA_TRY(compile(&kernel, gr, &gr->spec, kind, nk, nr));
  variant *v = ga__alloc(1, sizeof *v);
  if (v == NULL)
    return GA_MEMORY_ERROR;
  *v = (variant){kind, nk, nr, kernel, atomic_load(&gr->variants)};
  while (!atomic_compare_exchange_weak(&gr->variants, &v->next, v))
    ;
  *out = kernel;
  return GA_NO_ERROR;
}

static int get_parts_kernel(gpukernel **out, GpuReduction *gr) {
  *out = atomic_load(&gr->parts_kernel);
  if (*out == NULL) {
    GA_TRY(compile(out, gr, &gr->parts, GA_REDUCE_COLUMNS, 1, 1));
    atomic_store(&gr->parts_kernel, *out);
  }
  return GA_NO_ERROR;
}

static unsigned int full_rank(unsigned int n) {
  return n < SIMPLE_RANK ? SIMPLE_RANK : n;
}

int ga__reduction_sources(ga_source out[6], unsigned int *n, GpuReduction *gr,
                          unsigned int nd, unsigned int axes) {
  unsigned int nr = 0;
  for (unsigned int i = 0; i < nd; i++)
    nr += (axes >> i) & 1;
  const unsigned int nk = nd - nr;
  const unsigned int ranks[2][2] = {{SIMPLE_RANK, SIMPLE_RANK},
                                    {full_rank(nk), full_rank(nr)}};
  unsigned int shapes = nk > SIMPLE_RANK || nr > SIMPLE_RANK ? 2 : 1;
  int status = GA_NO_ERROR;
  *n = 0;
  for (unsigned int s = 0; s < shapes; s++)
    for (int kind = GA_REDUCE_ROWS; kind <= GA_REDUCE_COLUMNS; kind++)
      if (status == GA_NO_ERROR && (kind == GA_REDUCE_ROWS || nk > 0)) {
        status = ga__reduce_source(&out[*n], &gr->spec, (enum ga_reduce_kind)kind,
                                   ranks[s][0], ranks[s][1]);
        *n += status == GA_NO_ERROR;
      }
  if (status == GA_NO_ERROR) {
    status = ga__reduce_source(&out[*n], &gr->parts, GA_REDUCE_COLUMNS, 1, 1);
    *n += status == GA_NO_ERROR;
  }
  if (status != GA_NO_ERROR)
    while (*n > 0)
      ga__strbuf_clear(&out[--*n].body);
  return status;
}

/* ---- the axes ---- */

/* Kept or reduced axes, outermost first. Row `i` of `strides` belongs to input i; row
 * `n` to the result, in elements, for kept axes. */
typedef struct axis_group {
  unsigned int nd;
  size_t dims[GA_MAX_NDIM];
  ssize_t strides[MAX_INPUTS + 1][GA_MAX_NDIM];
} axis_group;

typedef struct problem {
  unsigned int n;
  const GpuArray *arrays[MAX_INPUTS]; /* NULL for a scalar */
  size_t offsets[MAX_INPUTS];
  size_t out_offset; /* elements */
  size_t results, reduced;
  axis_group kept, inner; /* `inner`: the reduced axes */
} problem;

static size_t magnitude(ssize_t stride) {
  return stride < 0 ? (size_t)0 - (size_t)stride : (size_t)stride;
}

static void swap_axes(axis_group *g, unsigned int n, unsigned int a, unsigned int b) {
  size_t dim = g->dims[a];
  g->dims[a] = g->dims[b];
  g->dims[b] = dim;
  for (unsigned int i = 0; i <= n; i++) {
    ssize_t stride = g->strides[i][a];
    g->strides[i][a] = g->strides[i][b];
    g->strides[i][b] = stride;
  }
}

/* Distance in memory between neighbours along an axis, over all arrays. */
static size_t distance(const problem *p, const axis_group *g, unsigned int axis) {
  size_t sum = 0;
  for (unsigned int i = 0; i < p->n; i++)
    sum += magnitude(g->strides[i][axis]);
  return sum;
}

/* The order of reduction is ours to choose, and the result's strides follow the kept
 * axes: so axes run forwards in memory, the nearest neighbours innermost. */
static void add_axis(problem *p, axis_group *g, size_t dim, const ssize_t *strides) {
  bool forwards = true;
  for (unsigned int i = 0; i < p->n; i++)
    if (strides[i] != 0) {
      forwards = strides[i] > 0;
      break;
    }
  if (!forwards && dim > 0) {
    for (unsigned int i = 0; i < p->n; i++)
      p->offsets[i] += (dim - 1) * (size_t)strides[i];
    p->out_offset += (dim - 1) * (size_t)strides[p->n];
  }
  unsigned int at = g->nd++;
  g->dims[at] = dim;
  for (unsigned int i = 0; i <= p->n; i++)
    g->strides[i][at] = forwards ? strides[i] : -strides[i];
  for (; at > 0 && distance(p, g, at - 1) < distance(p, g, at); at--)
    swap_axes(g, p->n, at - 1, at);
}

static void collapse(const problem *p, axis_group *g) {
  ssize_t *rows[MAX_INPUTS + 1];
  for (unsigned int i = 0; i <= p->n; i++)
    rows[i] = i < p->n && p->arrays[i] == NULL ? NULL : g->strides[i];
  if (g->nd == 0) {
    g->nd = 1;
    g->dims[0] = 1;
    for (unsigned int i = 0; i <= p->n; i++)
      g->strides[i][0] = 0;
  }
  ga__shape_collapse(p->n + 1, &g->nd, g->dims, rows);
}

/* Sorts the axes of the inputs into kept and reduced ones. */
static void split_axes(problem *p, unsigned int nd, const size_t *dims,
                       unsigned int axes) {
  ssize_t out_strides[GA_MAX_NDIM], stride = 1;
  for (unsigned int axis = nd; axis-- > 0;) {
    bool reduced = (axes >> axis) & 1;
    out_strides[axis] = reduced ? 0 : stride;
    if (!reduced)
      stride *= (ssize_t)dims[axis];
  }
  p->kept.nd = p->inner.nd = 0;
  p->out_offset = 0;
  for (unsigned int axis = 0; axis < nd; axis++) {
    ssize_t strides[MAX_INPUTS + 1];
    for (unsigned int i = 0; i < p->n; i++) {
      const GpuArray *a = p->arrays[i];
      unsigned int missing = a ? nd - a->nd : nd;
      bool walked = a && axis >= missing && a->dimensions[axis - missing] != 1;
      strides[i] = walked ? a->strides[axis - missing] : 0;
    }
    strides[p->n] = out_strides[axis];
    bool reduced = (axes >> axis) & 1;
    if (dims[axis] != 1)
      add_axis(p, reduced ? &p->inner : &p->kept, dims[axis], strides);
  }
  collapse(p, &p->kept);
  collapse(p, &p->inner);
}

/* ---- the geometry ---- */

typedef struct geometry {
  enum ga_reduce_kind kind;
  bool unit;
  size_t lanes, items; /* of a block, along its two dimensions */
  size_t lanes_outer;
  size_t tiles, groups;
  size_t outer, outer_per, inner, inner_per;
  size_t splits_inner, splits;
} geometry;

static size_t ceil_div(size_t a, size_t b) {
  return a / b + (a % b != 0);
}

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

/* The smallest power of 2 that is at least `n`. */
static size_t power_above(size_t n) {
  size_t power = 1;
  while (power < n)
    power *= 2;
  return power;
}

/* Cuts the reduced elements into `wanted` splits or fewer, along the outer axes first;
 * a split of the inner axis is a multiple of `grain`. */
static void set_splits(geometry *g, size_t wanted, size_t grain_outer, size_t grain) {
  if (wanted < 1)
    wanted = 1;
  size_t outer_splits = smaller(wanted, ceil_div(g->outer, grain_outer));
  if (outer_splits < 1)
    outer_splits = 1;
  g->outer_per = ceil_div(g->outer, outer_splits);
  if (g->outer_per > 0)
    outer_splits = ceil_div(g->outer, g->outer_per);
  size_t per = ceil_div(g->inner, wanted / outer_splits);
  g->inner_per = ceil_div(per, grain) * grain;
  g->splits_inner = g->inner_per > 0 ? ceil_div(g->inner, g->inner_per) : 1;
  if (g->splits_inner < 1)
    g->splits_inner = 1;
  g->splits = outer_splits * g->splits_inner;
}

/* One block per tile, enough of them to fill the processors eight times. */
static void gpu_rows(geometry *g, const gpucontext *ctx, size_t threads, size_t results,
                     size_t width) {
  const size_t processors = ctx->info.processors, busy = processors * 1024;
  g->lanes = smaller(threads, power_above(ceil_div(g->inner, width)));
  while (g->lanes < threads && g->lanes < g->inner && results * g->lanes < busy)
    g->lanes *= 2;
  g->lanes_outer = 1;
  while (g->lanes * g->lanes_outer < threads && g->lanes_outer < g->outer &&
         results * g->lanes * g->lanes_outer < busy)
    g->lanes_outer *= 2;
  size_t of_one = g->lanes * g->lanes_outer;
  size_t slots = smaller(threads / of_one, power_above(results));
  while (slots > 1 && ceil_div(results, slots) < 2 * processors && of_one * slots > 32)
    slots /= 2;
  g->items = g->lanes_outer * slots;
  g->tiles = g->groups = ceil_div(results, slots);
  size_t wanted = smaller(8 * processors / g->tiles, g->outer * g->inner / 8192);
  set_splits(g, wanted, g->lanes_outer, g->lanes * width);
}

static void gpu_columns(geometry *g, const gpucontext *ctx, size_t threads,
                        size_t results, size_t across, size_t width) {
  const size_t processors = ctx->info.processors, reduced = g->outer * g->inner;
  const size_t enough = power_above(ceil_div(across, width));
  g->lanes = smaller(32, enough);
  size_t items = smaller(threads / g->lanes, power_above(ceil_div(reduced, 4)));
  while (g->lanes < enough && g->lanes * items < 128)
    g->lanes *= 2;
  bool is_small = results * reduced < 8192 * processors;
  while (is_small && g->lanes > 4 &&
         results / across * ceil_div(across, g->lanes * width) < processors)
    g->lanes /= 2;
  items = smaller(threads / g->lanes, power_above(ceil_div(reduced, 4)));
  size_t items_inner = smaller(items, power_above(g->inner));
  g->lanes_outer = smaller(items / items_inner, power_above(g->outer));
  g->items = items_inner * g->lanes_outer;
  g->tiles = g->groups = results / across * ceil_div(across, g->lanes * width);
  size_t wanted = smaller(8 * processors / g->tiles, reduced / (g->items * 16));
  set_splits(g, wanted, g->lanes_outer, items_inner);
}

#define CPU_GRAIN 16384 /* elements for which another work-group pays */
#define CPU_SPLIT 8     /* grains for which a second launch pays */

/* A few groups, each with a run of tiles. */
static void cpu_geometry(geometry *g, const gpucontext *ctx, size_t results,
                         size_t across, size_t width) {
  const size_t side_by_side = smaller(power_above(ctx->info.warp), GA_REDUCE_BLOCK);
  const bool rows = g->kind == GA_REDUCE_ROWS;
  g->lanes = rows && g->inner < 64 * side_by_side ? 1 : side_by_side;
  g->items = g->lanes_outer = 1;
  g->tiles = rows ? results : results / across * ceil_div(across, g->lanes * width);
  size_t work = results * g->outer * g->inner;
  size_t groups = smaller(work / CPU_GRAIN + 1, 4 * (size_t)ctx->info.processors);
  g->groups = smaller(groups, g->tiles);
  bool split = work / CPU_GRAIN >= CPU_SPLIT && g->tiles < groups;
  set_splits(g, split ? groups / g->tiles : 1, 1, rows ? g->lanes * width : 1);
}

static geometry choose_geometry(const gpucontext *ctx, const ga_reduce_spec *spec,
                                enum ga_reduce_kind kind, size_t threads,
                                size_t results, size_t across, size_t outer,
                                size_t inner) {
  geometry g = {.kind = kind, .outer = outer, .inner = inner};
  if (ctx->info.is_cpu)
    cpu_geometry(&g, ctx, results, across, spec->width);
  else if (kind == GA_REDUCE_ROWS)
    gpu_rows(&g, ctx, threads, results, spec->width);
  else
    gpu_columns(&g, ctx, threads, results, across, spec->width);
  return g;
}

/* Neighbouring items walk where memory is contiguous, unless that axis is too short. */
static enum ga_reduce_kind choose_kind(const problem *p, bool is_cpu) {
  size_t across = p->kept.dims[p->kept.nd - 1], inner = p->inner.dims[p->inner.nd - 1];
  if (p->results == 1)
    return GA_REDUCE_ROWS;
  if (inner < (is_cpu ? 32 : 8) && inner < across)
    return GA_REDUCE_COLUMNS;
  return distance(p, &p->inner, p->inner.nd - 1) <=
                 distance(p, &p->kept, p->kept.nd - 1)
             ? GA_REDUCE_ROWS
             : GA_REDUCE_COLUMNS;
}

static bool is_unit(const problem *p, const axis_group *g) {
  unsigned int last = g->nd - 1;
  for (unsigned int i = 0; i < p->n; i++)
    if (p->arrays[i] != NULL && g->dims[last] > 1 &&
        g->strides[i][last] != (ssize_t)GpuArray_ITEMSIZE(p->arrays[i]))
      return false;
  return true;
}

/* ---- launches ---- */

static void add_size(ga_args *args, size_t value) {
  ga__args_i64(args, (int64_t)value);
}

static void add_geometry(ga_args *args, const geometry *g, size_t results,
                         size_t across, int mode) {
  add_size(args, g->tiles);
  add_size(args, ceil_div(g->tiles, g->groups));
  add_size(args, results);
  add_size(args, across);
  add_size(args, g->outer);
  add_size(args, g->outer_per);
  add_size(args, g->inner);
  add_size(args, g->inner_per);
  add_size(args, g->splits_inner);
  add_size(args, g->lanes_outer);
  ga__args_i64(args, mode);
}

/* The group's axes, after as many of length 1 as make `rank`. */
static void add_group(ga_args *args, const problem *p, const axis_group *g,
                      unsigned int rank, bool kept) {
  for (unsigned int k = 0; k < rank; k++) {
    bool padding = k < rank - g->nd;
    unsigned int axis = k - (rank - g->nd);
    add_size(args, padding ? 1 : g->dims[axis]);
    if (kept)
      ga__args_i64(args, padding ? 0 : g->strides[p->n][axis]);
    for (unsigned int i = 0; i < p->n; i++)
      if (p->arrays[i] != NULL)
        ga__args_i64(args, padding ? 0 : g->strides[i][axis]);
  }
}

static int launch(gpukernel *kernel, const geometry *g, const ga_args *args) {
  const ga_launch l = {
      .nd = 2,
      .grid = {ceil_div(g->tiles, ceil_div(g->tiles, g->groups)), g->splits, 1},
      .block = {g->lanes, g->items, 1},
      .n_args = args->n,
      .args = args->list};
  return ga__kernel_launch(kernel, &l);
}

static size_t block_threads(const gpukernel *kernel) {
  size_t threads = GA_REDUCE_BLOCK;
  while (threads > 1 && threads > ga__kernel_threads(kernel))
    threads /= 2;
  return threads;
}

/* Reduces part[splits][results] into `out`; no splits give the identity. */
static int reduce_parts(GpuReduction *gr, const GpuArray *out, gpudata *part,
                        size_t results, size_t splits) {
  gpukernel *kernel;
  GA_TRY(get_parts_kernel(&kernel, gr));
  geometry g = choose_geometry(gr->context, &gr->parts, GA_REDUCE_COLUMNS,
                               block_threads(kernel), results, results, 1, splits);
  set_splits(&g, 1, 1, 1);
  const size_t size = gpuarray_get_elsize(gr->spec.acc);
  ga_args args;
  args.n = 0;
  ga__args_buffer(&args, out->data);
  ga__args_offset(&args, out->data, out->offset);
  ga__args_buffer(&args, part);
  ga__args_offset(&args, part, 0);
  ga__args_buffer(&args, part);
  ga__args_offset(&args, part, 0);
  add_geometry(&args, &g, results, results, GA_REDUCE_UNIT);
  add_size(&args, results);
  add_size(&args, 1);
  add_size(&args, size);
  add_size(&args, splits);
  add_size(&args, results * size);
  return launch(kernel, &g, &args);
}

static void add_inputs(ga_args *args, const GpuReduction *gr, const problem *p,
                       void *const *ins) {
  for (unsigned int i = 0; i < p->n; i++) {
    if (p->arrays[i] != NULL) {
      ga__args_buffer(args, p->arrays[i]->data);
      ga__args_offset(args, p->arrays[i]->data, p->offsets[i]);
    } else {
      ga__args_value(args, ins[i], gpuarray_get_elsize(gr->spec.inputs[i].typecode));
    }
  }
}

/* `out` is the finished array; there are results and elements to reduce. */
static int reduce_problem(GpuReduction *gr, const GpuArray *out, const problem *p,
                          void *const *ins, unsigned int nk, unsigned int nr) {
  gpucontext *ctx = gr->context;
  const size_t across = p->kept.dims[p->kept.nd - 1];
  const size_t inner = p->inner.dims[p->inner.nd - 1];
  enum ga_reduce_kind kind = choose_kind(p, ctx->info.is_cpu);
  gpukernel *kernel;
  GA_TRY(get_kernel(&kernel, gr, kind, nk, nr));
  geometry g = choose_geometry(ctx, &gr->spec, kind, block_threads(kernel), p->results,
                               across, p->reduced / inner, inner);
  const bool rows = kind == GA_REDUCE_ROWS;
  int mode = is_unit(p, rows ? &p->inner : &p->kept) ? GA_REDUCE_UNIT : 0;
  gpudata *part = NULL;
  if (g.splits > 1) {
    mode |= GA_REDUCE_PART;
    GA_TRY(ga__buffer_new(&part, ctx,
                          g.splits * p->results * gpuarray_get_elsize(gr->spec.acc)));
  }
  /* Where results go to `part` first, they lie as in `out`. */
  gpudata *place = part != NULL ? part : out->data;
  size_t shift =
      p->out_offset * gpuarray_get_elsize(part ? gr->spec.acc : gr->spec.out);
  ga_args args;
  args.n = 0;
  ga__args_buffer(&args, out->data);
  ga__args_offset(&args, out->data, out->offset + (part ? 0 : shift));
  ga__args_buffer(&args, place);
  ga__args_offset(&args, place, part ? shift : 0);
  add_inputs(&args, gr, p, ins);
  add_geometry(&args, &g, p->results, across, mode);
  add_group(&args, p, &p->kept, nk, true);
  add_group(&args, p, &p->inner, nr, false);
  int status = launch(kernel, &g, &args);
  if (part != NULL) {
    if (status == GA_NO_ERROR)
      status = reduce_parts(gr, out, part, p->results, g.splits);
    gpudata_release(part);
  }
  return status;
}

/* ---- the call ---- */

static int check_input(const GpuReduction *gr, unsigned int i, const GpuArray *a) {
  const gpuelemwise_arg *arg = &gr->spec.inputs[i];
  char text[GA_ARRAY_TEXT];
  if (a->typecode != arg->typecode)
    return GA_FAIL(GA_INVALID_ERROR, "reduction: `%s` is %s, expected %s", arg->name,
                   ga__array_text(text, a), ga__dtype_name(arg->typecode));
  if (GpuArray_context(a) != gr->context)
    return GA_FAIL(
        GA_INVALID_ERROR, "reduction: `%s` is on %s, expected %s; transfer it first",
        arg->name, gpucontext_name(GpuArray_context(a)), gpucontext_name(gr->context));
  if (!GpuArray_ISALIGNED(a))
    return GA_FAIL(GA_UNALIGNED_ERROR, "reduction: `%s`, %s, is not aligned; copy it",
                   arg->name, ga__array_text(text, a));
  return GA_NO_ERROR;
}

/* Fills in the arrays; *nd and `dims` become the shape they broadcast to. */
static int gather(problem *p, unsigned int *nd, size_t *dims, const GpuReduction *gr,
                  void *const *ins) {
  p->n = gr->spec.n;
  *nd = 0;
  for (unsigned int i = 0; i < p->n; i++) {
    if (ins[i] == NULL)
      return GA_FAIL(GA_INVALID_ERROR, "reduction: input `%s` is NULL",
                     gr->spec.inputs[i].name);
    p->arrays[i] = NULL;
    p->offsets[i] = 0;
    if (!is_array(&gr->spec.inputs[i]))
      continue;
    const GpuArray *a = ins[i];
    GA_TRY(check_input(gr, i, a));
    p->arrays[i] = a;
    p->offsets[i] = a->offset;
    if (ga__shape_broadcast(nd, dims, a->nd, a->dimensions) != GA_NO_ERROR)
      return ga__fail_within(GA_VALUE_ERROR, "reduction");
  }
  return GA_NO_ERROR;
}

int GpuReduction_apply(GpuReduction *gr, GpuArray *out, void *const *ins,
                       unsigned int axes, int keepdims) {
  if (gr == NULL || out == NULL || ins == NULL)
    return GA_FAIL(GA_INVALID_ERROR,
                   "reduction: needs a reduction, a result and inputs; got NULL");
  GA_TRY(ga__context_check(gr->context));
  problem p;
  unsigned int nd, kept_nd = 0, nr = 0;
  size_t dims[GA_MAX_NDIM], kept[GA_MAX_NDIM];
  GA_TRY(gather(&p, &nd, dims, gr, ins));
  if (nd < GA_MAX_NDIM && axes >> nd != 0)
    return GA_FAIL(GA_VALUE_ERROR,
                   "reduction: axes 0x%x name an axis past the last of %u", axes, nd);
  p.results = p.reduced = 1;
  for (unsigned int axis = 0; axis < nd; axis++) {
    bool reduced = (axes >> axis) & 1;
    nr += reduced;
    *(reduced ? &p.reduced : &p.results) *= dims[axis];
    if (!reduced || keepdims)
      kept[kept_nd++] = reduced ? 1 : dims[axis];
  }
  GpuArray result;
  GA_TRY(GpuArray_empty(&result, gr->context, gr->spec.out, kept_nd, kept, GA_C_ORDER));
  int status = GA_NO_ERROR;
  if (p.results > 0 && p.reduced == 0) {
    status = reduce_parts(gr, &result, result.data, p.results, 0);
  } else if (p.results > 0) {
    split_axes(&p, nd, dims, axes);
    bool simple = p.kept.nd <= SIMPLE_RANK && p.inner.nd <= SIMPLE_RANK;
    status =
        reduce_problem(gr, &result, &p, ins, simple ? SIMPLE_RANK : full_rank(nd - nr),
                       simple ? SIMPLE_RANK : full_rank(nr));
  }
  if (status != GA_NO_ERROR) {
    GpuArray_clear(&result);
    return status;
  }
  *out = result;
  return GA_NO_ERROR;
}
