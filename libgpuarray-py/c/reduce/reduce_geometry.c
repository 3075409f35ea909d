/* Planning of reductions: axes and launch geometry. */
#include "c/reduce/reduce_geometry.h"

/* ---- axes ---- */

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

/* Stride between neighbours along an axis, summed over the arrays. */
static size_t distance(const ga_reduce_problem *p, const ga_axis_group *g,
                       unsigned int axis) {
  size_t sum = 0;
  for (unsigned int i = 0; i < p->n; i++)
    sum += ga__magnitude(g->strides[i][axis]);
  return sum;
}

/* Inserts an axis: reversed to run forward in memory, and sorted by stride, smallest
 * innermost. The order of combination is free, and the results' strides follow. */
static void add_axis(ga_reduce_problem *p, ga_axis_group *g, size_t dim,
                     const ssize_t *strides, size_t *last_offset) {
  bool forwards = true;
  for (unsigned int i = 0; i < p->n; i++)
    if (strides[i] != 0) {
      forwards = strides[i] > 0;
      break;
    }
  if (!forwards && dim > 0) {
    for (unsigned int i = 0; i < p->n; i++)
      p->offsets[i] += (dim - 1) * (size_t)strides[i];
    *last_offset += (dim - 1) * (size_t)strides[p->n];
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

/* Strides of the results along kept axes, in elements, and of the positions along
 * reduced axes (0 if unused, so that axes can be merged). */
static void own_strides(ssize_t *out, const ga_reduce_problem *p, unsigned int nd,
                        const size_t *dims, unsigned int n, const unsigned int *list,
                        unsigned int axes) {
  ssize_t stride = 1;
  for (unsigned int axis = nd; axis-- > 0;)
    if (!((axes >> axis) & 1)) {
      out[axis] = stride;
      stride *= (ssize_t)dims[axis];
    }
  stride = p->has_position;
  for (unsigned int k = n; k-- > 0;) {
    out[list[k]] = stride;
    stride *= (ssize_t)dims[list[k]];
  }
}

/* Stride of input i along an axis of its array. */
static ssize_t stride_of(const ga_reduce_problem *p, unsigned int i,
                         unsigned int axis) {
  const GpuArray *a = p->arrays[i];
  if (!(p->numbers >> i & 1))
    return a->strides[axis];
  ssize_t stride = 1; /* of numbers in C order */
  for (unsigned int k = axis + 1; k < a->nd; k++)
    stride *= (ssize_t)a->dimensions[k];
  return stride;
}

void ga__reduce_split_axes(ga_reduce_problem *p, unsigned int nd, const size_t *dims,
                           unsigned int n, const unsigned int *list) {
  ssize_t own[GA_MAX_NDIM];
  unsigned int axes = 0;
  for (unsigned int k = 0; k < n; k++)
    axes |= 1u << list[k];
  own_strides(own, p, nd, dims, n, list, axes);
  p->kept.nd = p->inner.nd = 0;
  p->out_offset = p->position = 0;
  for (unsigned int axis = 0; axis < nd; axis++) {
    ssize_t strides[GA_REDUCE_INPUTS + 1];
    for (unsigned int i = 0; i < p->n; i++) {
      const GpuArray *a = p->arrays[i];
      unsigned int missing = a ? nd - a->nd : nd;
      bool walked = a && axis >= missing && a->dimensions[axis - missing] != 1;
      strides[i] = walked ? stride_of(p, i, axis - missing) : 0;
    }
    strides[p->n] = own[axis];
    bool reduced = (axes >> axis) & 1;
    if (dims[axis] != 1)
      add_axis(p, reduced ? &p->inner : &p->kept, dims[axis], strides,
               reduced ? &p->position : &p->out_offset);
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

void ga__reduce_face_positions(ga_reduce_problem *p) {
  const unsigned int last = p->inner.nd - 1;
  const size_t steps = p->inner.dims[last] - 1;
  if (p->inner.strides[p->n][last] >= 0)
    return;
  p->position += steps * (size_t)p->inner.strides[p->n][last];
  for (unsigned int i = 0; i <= p->n; i++) {
    if (i < p->n)
      p->offsets[i] += steps * (size_t)p->inner.strides[i][last];
    p->inner.strides[i][last] = -p->inner.strides[i][last];
  }
}

int ga__reduce_mode(const ga_reduce_problem *p, const ga_axis_group *g) {
  const unsigned int last = g->nd - 1;
  int repeated = 0, arrays = 0, unit = 0;
  for (unsigned int i = 0; i < p->n; i++) {
    if (p->arrays[i] == NULL)
      continue;
    ssize_t stride = g->strides[i][last];
    bool is_unit = stride == (ssize_t)ga__reduce_itemsize(p, i);
    if (p->numbers != 0 && !(p->numbers >> i & 1) && p->arrays[i]->typecode == GA_ULONG)
      is_unit = false; /* vectors may be too short for 64 bits: only with stride 0 */
    arrays++;
    unit += is_unit;
    if (stride == 0 && i < GA_REDUCE_PACKED_INPUTS && !(p->numbers >> i & 1))
      repeated |= GA_REDUCE_REPEATED << i;
    else if (!is_unit && g->dims[last] > 1)
      return 0;
  }
  if (unit == arrays || g->dims[last] == 1)
    return GA_REDUCE_UNIT |
           (p->n <= GA_REDUCE_PACKED_INPUTS && unit == arrays ? GA_REDUCE_PACKED : 0);
  return unit > 0 && p->n <= GA_REDUCE_PACKED_INPUTS ? GA_REDUCE_PACKED | repeated : 0;
}

/* Maximum bytes of a vector load; minimum alignment of buffers. */
#define PACKET 16

bool ga__reduce_is_shifted(const ga_reduce_problem *p) {
  const unsigned int last = p->kept.nd - 1;
  for (unsigned int i = 0; i < p->n; i++) {
    size_t begin = p->offsets[i];
    if (p->arrays[i] == NULL || p->kept.strides[i][last] == 0 || p->numbers >> i & 1)
      continue;
    for (unsigned int k = 0; k < last; k++)
      begin |= (size_t)p->kept.strides[i][k];
    if (begin % PACKET != 0)
      return true;
  }
  return false;
}

/* ---- launch geometry ---- */

void ga__reduce_set_splits(ga_reduce_geometry *g, size_t wanted, size_t grain_outer,
                           size_t grain) {
  if (wanted < 1)
    wanted = 1;
  size_t outer_splits = ga__smaller(wanted, ga__ceil_div(g->outer, grain_outer));
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

/* Elements per split that pay for the second pass; and in all. */
#define GPU_SPLIT 8192
#define GPU_SPLIT_FROM 32768

/* Blocks per processor that a few results are split into; and at most, before a block
 * takes several tiles of fewer than GPU_TILE_PACKETS vectors. */
#define GPU_BLOCKS 8
#define GPU_TURNS 128
#define GPU_TILE_PACKETS 512
/* Steps of an item along a row, below which more items do not pay; items that share a
 * row if each has two steps. */
#define GPU_STEPS 16
#define GPU_ROW_LANES 8
/* Block size for short rows, where barriers are frequent. */
#define GPU_SHORT_BLOCK 128

/* A block takes as many rows as fit, a few items each, enough for coalesced access, as
 * long as all processors are busy. */
static void gpu_rows(ga_reduce_geometry *g, const ga_device_info *device,
                     size_t threads, size_t results, ga_reduce_shape shape) {
  const size_t processors = device->processors, busy = processors * 1024;
  const size_t packet = shape.vector > 0 ? shape.vector : 1;
  const size_t step = shape.vector > 0 ? packet * shape.unroll : shape.width;
  const size_t packets = ga__ceil_div(g->inner, packet);
  g->lanes =
      ga__smaller(threads, ga__power_above(ga__ceil_div(g->inner, GPU_STEPS * step)));
  if (g->lanes < GPU_ROW_LANES)
    g->lanes =
        ga__smaller(GPU_ROW_LANES, ga__power_above(ga__ceil_div(g->inner, step)));
  while (g->lanes < threads && g->lanes < packets && results * g->lanes < busy)
    g->lanes *= 2;
  g->lanes_outer = 1;
  if (g->lanes <= GPU_ROW_LANES)
    threads = ga__smaller(threads, GPU_SHORT_BLOCK);
  while (g->lanes * g->lanes_outer < threads && g->lanes_outer < g->outer &&
         results * g->lanes * g->lanes_outer < busy)
    g->lanes_outer *= 2;
  size_t of_one = g->lanes * g->lanes_outer;
  size_t slots = ga__smaller(threads / of_one, ga__power_above(results));
  while (slots > 1 && ga__ceil_div(results, slots) < 2 * processors &&
         of_one * slots > 32)
    slots /= 2;
  g->items = g->lanes_outer * slots;
  g->tiles = ga__ceil_div(results, slots);
  /* Blocks with little work take several tiles. */
  g->groups = g->tiles;
  if (slots * g->outer * packets < GPU_TILE_PACKETS)
    g->groups = ga__smaller(g->tiles, GPU_TURNS * processors);
  size_t reduced = g->outer * g->inner;
  size_t parts = reduced < GPU_SPLIT_FROM ? 1 : reduced / GPU_SPLIT;
  size_t wanted = ga__smaller(GPU_BLOCKS * processors / g->tiles, parts);
  ga__reduce_set_splits(g, wanted, g->lanes_outer, g->lanes * step);
}

static void gpu_columns(ga_reduce_geometry *g, const ga_device_info *device,
                        size_t threads, size_t results, size_t across, size_t slack,
                        size_t width) {
  const size_t processors = device->processors, reduced = g->outer * g->inner;
  const size_t enough = ga__power_above(ga__ceil_div(across, width));
  g->lanes = ga__smaller(32, enough);
  size_t items =
      ga__smaller(threads / g->lanes, ga__power_above(ga__ceil_div(reduced, 4)));
  while (g->lanes < enough && g->lanes * items < 128)
    g->lanes *= 2;
  bool is_small = results * reduced < 2 * GPU_SPLIT * processors;
  while (is_small && g->lanes > 1 &&
         results / across * ga__ceil_div(across, g->lanes * width) < processors)
    g->lanes /= 2;
  items = ga__smaller(threads / g->lanes, ga__power_above(ga__ceil_div(reduced, 4)));
  size_t items_inner = ga__smaller(items, ga__power_above(g->inner));
  g->lanes_outer = ga__smaller(items / items_inner, ga__power_above(g->outer));
  g->items = items_inner * g->lanes_outer;
  g->tiles = g->groups =
      results / across * ga__ceil_div(across + slack, g->lanes * width);
  /* Edge blocks take longer where vectors begin before the array. */
  const size_t blocks = (slack > 0 ? 2U : 1U) * GPU_BLOCKS * processors;
  size_t wanted = ga__smaller(blocks / g->tiles, reduced / (g->items * 16));
  ga__reduce_set_splits(g, wanted, g->lanes_outer, items_inner);
}

#define CPU_GRAIN 16384 /* elements per work group, to be worth one */
#define CPU_SPLIT 8     /* work groups, for the second pass to pay */

/* A few work groups, each with a range of tiles. */
static void cpu_geometry(ga_reduce_geometry *g, const ga_device_info *device,
                         size_t results, size_t across, ga_reduce_shape shape) {
  const size_t side_by_side =
      ga__smaller(ga__power_above(device->warp), GA_REDUCE_BLOCK);
  const bool rows = g->kind == GA_REDUCE_ROWS;
  /* Several items need a final tree, which short rows do not pay for. */
  const bool is_short =
      g->inner < 2 * side_by_side || g->outer * g->inner < 64 * side_by_side;
  const size_t across_tiles = ga__ceil_div(across, shape.width);
  g->lanes = is_short || shape.is_alone ? 1 : side_by_side;
  g->items = 1;
  g->lanes_outer = rows ? 1 : ga__ceil_div(across, across_tiles);
  g->tiles = rows ? results : results / across * across_tiles;
  size_t work = results * g->outer * g->inner;
  size_t groups =
      ga__smaller(work / CPU_GRAIN + 1, GA_CPU_GROUPS * (size_t)device->processors);
  g->groups = ga__smaller(groups, g->tiles);
  bool is_large = work / CPU_GRAIN >= CPU_SPLIT;
  size_t splits = is_large && g->tiles < groups ? groups / g->tiles : 1;
  ga__reduce_set_splits(g, splits, 1, rows ? g->lanes * shape.width : 8);
}

ga_reduce_geometry ga__reduce_geometry(const ga_device_info *device,
                                       enum ga_reduce_kind kind, ga_reduce_shape shape,
                                       size_t threads, size_t results, size_t across,
                                       size_t slack, size_t outer, size_t inner) {
  ga_reduce_geometry g = {.kind = kind, .outer = outer, .inner = inner};
  if (device->is_cpu)
    cpu_geometry(&g, device, results, across, shape);
  else if (kind == GA_REDUCE_ROWS)
    gpu_rows(&g, device, threads, results, shape);
  else
    gpu_columns(&g, device, threads, results, across, slack, shape.width);
  return g;
}
