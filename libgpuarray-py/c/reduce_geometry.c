/* Reductions without a device: which axes to walk how, and in what blocks. */
#include "c/reduce_geometry.h"

/* ---- the axes ---- */

static size_t magnitude(ssize_t stride) {
  return stride < 0 ? (size_t)0 - (size_t)stride : (size_t)stride;
}

static void swap_axes(ga_axis_group *g, unsigned int n, unsigned int a,
                      unsigned int b) {
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
static size_t distance(const ga_reduce_problem *p, const ga_axis_group *g,
                       unsigned int axis) {
  size_t sum = 0;
  for (unsigned int i = 0; i < p->n; i++)
    sum += magnitude(g->strides[i][axis]);
  return sum;
}

/* The order of reduction is ours to choose, and the result's strides follow the kept
 * axes: so axes run forwards in memory, the nearest neighbours innermost. */
static void add_axis(ga_reduce_problem *p, ga_axis_group *g, size_t dim,
                     const ssize_t *strides) {
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

static void collapse(const ga_reduce_problem *p, ga_axis_group *g) {
  ssize_t *rows[GA_REDUCE_INPUTS + 1];
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

void ga__reduce_split_axes(ga_reduce_problem *p, unsigned int nd, const size_t *dims,
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
    ssize_t strides[GA_REDUCE_INPUTS + 1];
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

enum ga_reduce_kind ga__reduce_choose_kind(const ga_reduce_problem *p, bool is_cpu) {
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

bool ga__reduce_is_unit(const ga_reduce_problem *p, const ga_axis_group *g) {
  unsigned int last = g->nd - 1;
  for (unsigned int i = 0; i < p->n; i++)
    if (p->arrays[i] != NULL && g->dims[last] > 1 &&
        g->strides[i][last] != (ssize_t)GpuArray_ITEMSIZE(p->arrays[i]))
      return false;
  return true;
}

/* ---- the geometry ---- */

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

void ga__reduce_set_splits(ga_reduce_geometry *g, size_t wanted, size_t grain_outer,
                           size_t grain) {
  if (wanted < 1)
    wanted = 1;
  size_t outer_splits = smaller(wanted, ga__ceil_div(g->outer, grain_outer));
  if (outer_splits < 1)
    outer_splits = 1;
  g->outer_per = ga__ceil_div(g->outer, outer_splits);
  if (g->outer_per > 0)
    outer_splits = ga__ceil_div(g->outer, g->outer_per);
  size_t per = ga__ceil_div(g->inner, wanted / outer_splits);
  g->inner_per = ga__ceil_div(per, grain) * grain;
  g->splits_inner = g->inner_per > 0 ? ga__ceil_div(g->inner, g->inner_per) : 1;
  if (g->splits_inner < 1)
    g->splits_inner = 1;
  g->splits = outer_splits * g->splits_inner;
}

/* Elements of a split below which a second launch does not pay, and of all together. */
#define GPU_SPLIT 8192
#define GPU_SPLIT_FROM 32768

/* One block per tile, enough of them to fill the processors eight times. Many short
 * rows are best read by few items each, as long as these fill a memory transaction. */
static void gpu_rows(ga_reduce_geometry *g, const ga_device_info *device,
                     size_t threads, size_t results, size_t width) {
  const size_t processors = device->processors, busy = processors * 1024;
  g->lanes = power_above(ga__ceil_div(g->inner, 4 * width));
  if (g->lanes < 8)
    g->lanes = smaller(8, power_above(ga__ceil_div(g->inner, width)));
  g->lanes = smaller(threads, g->lanes);
  while (g->lanes < threads && g->lanes < g->inner && results * g->lanes < busy)
    g->lanes *= 2;
  g->lanes_outer = 1;
  while (g->lanes * g->lanes_outer < threads && g->lanes_outer < g->outer &&
         results * g->lanes * g->lanes_outer < busy)
    g->lanes_outer *= 2;
  size_t of_one = g->lanes * g->lanes_outer;
  size_t slots = smaller(threads / of_one, power_above(results));
  while (slots > 1 && ga__ceil_div(results, slots) < 2 * processors &&
         of_one * slots > 32)
    slots /= 2;
  g->items = g->lanes_outer * slots;
  g->tiles = g->groups = ga__ceil_div(results, slots);
  size_t reduced = g->outer * g->inner;
  size_t parts = reduced < GPU_SPLIT_FROM ? 1 : reduced / GPU_SPLIT;
  size_t wanted = smaller(8 * processors / g->tiles, parts);
  ga__reduce_set_splits(g, wanted, g->lanes_outer, g->lanes * width);
}

static void gpu_columns(ga_reduce_geometry *g, const ga_device_info *device,
                        size_t threads, size_t results, size_t across, size_t width) {
  const size_t processors = device->processors, reduced = g->outer * g->inner;
  const size_t enough = power_above(ga__ceil_div(across, width));
  g->lanes = smaller(32, enough);
  size_t items = smaller(threads / g->lanes, power_above(ga__ceil_div(reduced, 4)));
  while (g->lanes < enough && g->lanes * items < 128)
    g->lanes *= 2;
  bool is_small = results * reduced < GPU_SPLIT * processors;
  while (is_small && g->lanes > 1 &&
         results / across * ga__ceil_div(across, g->lanes * width) < processors)
    g->lanes /= 2;
  items = smaller(threads / g->lanes, power_above(ga__ceil_div(reduced, 4)));
  size_t items_inner = smaller(items, power_above(g->inner));
  g->lanes_outer = smaller(items / items_inner, power_above(g->outer));
  g->items = items_inner * g->lanes_outer;
  g->tiles = g->groups = results / across * ga__ceil_div(across, g->lanes * width);
  size_t wanted = smaller(8 * processors / g->tiles, reduced / (g->items * 16));
  ga__reduce_set_splits(g, wanted, g->lanes_outer, items_inner);
}

#define CPU_GRAIN 16384 /* elements for which another work-group pays */
#define CPU_SPLIT 8     /* grains for which a second launch pays */

/* A few groups, each with a run of tiles. */
static void cpu_geometry(ga_reduce_geometry *g, const ga_device_info *device,
                         size_t results, size_t across, size_t width) {
  const size_t side_by_side = smaller(power_above(device->warp), GA_REDUCE_BLOCK);
  const bool rows = g->kind == GA_REDUCE_ROWS;
  /* Items side by side must be folded in the end, which short rows do not pay. */
  const bool is_short =
      g->inner < 2 * side_by_side || g->outer * g->inner < 64 * side_by_side;
  g->lanes = rows && is_short ? 1 : side_by_side;
  g->items = g->lanes_outer = 1;
  g->tiles = rows ? results : results / across * ga__ceil_div(across, g->lanes * width);
  size_t work = results * g->outer * g->inner;
  size_t groups = smaller(work / CPU_GRAIN + 1, 4 * (size_t)device->processors);
  g->groups = smaller(groups, g->tiles);
  bool split = work / CPU_GRAIN >= CPU_SPLIT && g->tiles < groups;
  ga__reduce_set_splits(g, split ? groups / g->tiles : 1, 1,
                        rows ? g->lanes * width : 1);
}

ga_reduce_geometry ga__reduce_geometry(const ga_device_info *device,
                                       enum ga_reduce_kind kind, unsigned int width,
                                       size_t threads, size_t results, size_t across,
                                       size_t outer, size_t inner) {
  ga_reduce_geometry g = {.kind = kind, .outer = outer, .inner = inner};
  if (device->is_cpu)
    cpu_geometry(&g, device, results, across, width);
  else if (kind == GA_REDUCE_ROWS)
    gpu_rows(&g, device, threads, results, width);
  else
    gpu_columns(&g, device, threads, results, across, width);
  return g;
}
