/* Scans: axes, launch geometry and launches. */
#include "c/scan/scan.h"

#include "c/base/counts.h"

#define FULL_RANK 2 /* outer axes of the generic kernels */

/* The lines to scan. Offsets and strides in bytes; index 0: input, 1: output. */
typedef struct scan_task {
  enum ga_scan_kind kind;
  gpudata *data[2];
  size_t offset[2];
  size_t length, rows,
      across; /* length of a line; lines in all; adjacent lines (1 for ROWS) */
  ssize_t along[2], beside[2];
  unsigned int nk; /* number of outer axes, whose product is `rows` */
  size_t dims[GA_MAX_NDIM];
  ssize_t strides[2][GA_MAX_NDIM];
} scan_task;

/* Launch geometry: blocks of lanes by slots, `blocks` per chunk. */
typedef struct scan_geometry {
  size_t lanes, slots, blocks;
  size_t most_groups; /* of a grid-stride launch; 0: a group per block */
  size_t chunk, chunks;
  bool looks_back;
  size_t radix; /* look-back: chunks per group of tiles */
} scan_geometry;

/* ---- axes ---- */

/* Inserts an outer axis, sorted by descending input stride. */
static void add_axis(scan_task *t, size_t dim, ssize_t x, ssize_t out) {
  unsigned int at = t->nk++;
  for (; at > 0 && ga__magnitude(t->strides[0][at - 1]) < ga__magnitude(x); at--) {
    t->dims[at] = t->dims[at - 1];
    t->strides[0][at] = t->strides[0][at - 1];
    t->strides[1][at] = t->strides[1][at - 1];
  }
  t->dims[at] = dim;
  t->strides[0][at] = x;
  t->strides[1][at] = out;
}

/* COLUMNS if lines are adjacent in memory, and there are at least 16; else ROWS. */
static void choose_kind(scan_task *t) {
  const unsigned int last = t->nk - 1;
  t->kind = GA_SCAN_ROWS;
  t->across = 1;
  if (t->dims[last] < 16 ||
      ga__magnitude(t->strides[0][last]) >= ga__magnitude(t->along[0]) ||
      t->length == 1)
    return;
  t->kind = GA_SCAN_COLUMNS;
  t->across = t->dims[last];
  t->beside[0] = t->strides[0][last];
  t->beside[1] = t->strides[1][last];
  t->nk = last;
}

/* Pads the outer axes to FULL_RANK. */
static void pad_axes(scan_task *t) {
  t->rows = 1;
  for (; t->nk < FULL_RANK; t->nk++) {
    t->dims[t->nk] = 1;
    t->strides[0][t->nk] = t->strides[1][t->nk] = 0;
  }
  for (unsigned int k = 0; k < t->nk; k++)
    t->rows *= t->dims[k];
}

static void make_task(scan_task *t, const GpuArray *out, const GpuArray *a,
                      unsigned int axis, bool reverse) {
  const GpuArray *const arrays[2] = {a, out};
  ssize_t *const rows[2] = {t->strides[0], t->strides[1]};
  t->length = a->dimensions[axis];
  t->nk = 0;
  for (int i = 0; i < 2; i++) {
    t->data[i] = arrays[i]->data;
    t->offset[i] = arrays[i]->offset;
    t->along[i] = arrays[i]->strides[axis];
    t->beside[i] = 0;
    if (reverse) {
      t->offset[i] += (t->length - 1) * (size_t)t->along[i];
      t->along[i] = -t->along[i];
    }
  }
  for (unsigned int k = 0; k < a->nd; k++)
    if (k != axis)
      add_axis(t, a->dimensions[k], a->strides[k], out->strides[k]);
  if (t->nk == 0)
    add_axis(t, 1, 0, 0);
  ga__shape_collapse(2, &t->nk, t->dims, rows);
  choose_kind(t);
  pad_axes(t);
}

/* The in-place scan of chunks' totals: part[row][chunk][column]. */
static scan_task parts_task(const scan_task *of, gpudata *part, size_t chunks,
                            size_t size) {
  scan_task t = {.kind = of->kind,
                 .data = {part, part},
                 .length = chunks,
                 .across = of->across,
                 .nk = 1};
  for (int i = 0; i < 2; i++) {
    t.along[i] = (ssize_t)(of->across * size);
    t.beside[i] = (ssize_t)size;
    t.strides[i][0] = (ssize_t)(chunks * of->across * size);
  }
  t.dims[0] = of->rows;
  pad_axes(&t);
  return t;
}

/* ---- launch geometry ---- */

/* Smallest power of 2 that is at least `n`, within `low` and `high`. */
static size_t power_of_2(size_t n, size_t low, size_t high) {
  size_t power = low;
  while (power < n && power < high)
    power *= 2;
  return power;
}

/* Cuts lines into about `wanted` chunks, multiples of `step` and at least `least`. */
static void cut(scan_geometry *g, size_t length, size_t wanted, size_t step,
                size_t least) {
  size_t chunk = ga__ceil_div(length, wanted < 1 ? 1 : wanted);
  if (chunk < least)
    chunk = least;
  g->chunk = ga__ceil_div(chunk, step) * step;
  g->chunks = ga__ceil_div(length, g->chunk);
}

static void cut_cpu(scan_geometry *g, const scan_task *t, const ga_device_info *info,
                    unsigned int lanes) {
  const bool rows = t->kind == GA_SCAN_ROWS;
  g->lanes = rows ? 1 : lanes;
  g->slots = 1;
  g->most_groups = 32 * info->processors;
  g->blocks = t->rows * ga__ceil_div(t->across, GA_SCAN_STRIP);
  const size_t wanted = g->blocks >= 2 * info->processors
                            ? 1
                            : ga__ceil_div(4 * info->processors, g->blocks);
  cut(g, t->length, wanted, 8, rows ? 8192 : 1024);
}

/* As many rows as fit local memory, with odd pitch. */
static void cut_short(scan_geometry *g, const scan_task *t, size_t threads,
                      size_t room) {
  g->lanes = threads;
  g->slots = 1;
  g->chunk = ga__smaller(threads, room / (t->length | 1));
  g->chunks = 1;
  g->blocks = ga__ceil_div(t->rows, g->chunk);
}

/* A tile is indexed by int along the line. */
static void cut_gpu(scan_geometry *g, const scan_task *t, const ga_device_info *info,
                    size_t threads, size_t items) {
  size_t step;
  if (t->kind == GA_SCAN_ROWS) {
    g->lanes = power_of_2(ga__ceil_div(t->length, items), 1, threads);
    g->slots = ga__smaller(threads, 256) / g->lanes;
    g->blocks = ga__ceil_div(t->rows, g->slots);
    step = g->lanes * items;
  } else {
    const bool is_wide = t->rows * ga__ceil_div(t->across, 64) >= 64;
    const size_t least = ga__smaller(is_wide ? 64 : 32, threads);
    const size_t most = ga__smaller(threads / least, is_wide ? 2 : 16);
    g->slots = power_of_2(ga__ceil_div(t->length, items), 1, most);
    g->lanes = power_of_2(t->across, least, ga__smaller(threads, 128) / g->slots);
    g->blocks = t->rows * ga__ceil_div(t->across, g->lanes);
    step = g->slots * items;
  }
  const size_t enough = (size_t)4 * info->processors;
  const bool is_cut = g->blocks < enough && t->length > 2 * step;
  g->looks_back = is_cut && info->has_progress;
  if (g->looks_back) {
    g->chunk = step;
    g->chunks = ga__ceil_div(t->length, step);
    g->radix = t->kind == GA_SCAN_ROWS ? GA_SCAN_RADIX : g->slots == 2 ? 1 : g->slots;
  } else {
    cut(g, t->length, is_cut ? ga__ceil_div(2 * enough, g->blocks) : 1, step, step);
  }
}

/* ---- launches ---- */

/* Limit of 32-bit indices, with a margin for a block's step. */
#define NARROW ((size_t)INT32_MAX - (1 << 20))

static bool needs_wide(const scan_task *t) {
  return t->length >= NARROW || t->rows >= NARROW || t->across >= NARROW ||
         t->length * t->rows * t->across >= NARROW;
}

static int launch(gpukernel *kernel, const scan_task *t, const scan_geometry *g,
                  gpudata *part, bool is_wide, int mode) {
  ga_args args;
  args.n = 0;
  ga__args_pointer(&args, t->data[1], t->offset[1], false);
  ga__args_pointer(&args, t->data[0], t->offset[0], true);
  ga__args_pointer(&args, part, 0, false);
  const size_t counts[] = {t->rows, t->across, t->length, g->chunk, g->chunks};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    ga__args_position(&args, is_wide, (int64_t)counts[i]);
  ga__args_i32(&args, mode);
  ga__args_i64(&args, t->along[0]);
  ga__args_i64(&args, t->along[1]);
  ga__args_i64(&args, t->beside[0]);
  ga__args_i64(&args, t->beside[1]);
  for (unsigned int k = 0; k < t->nk; k++) {
    ga__args_position(&args, is_wide, (int64_t)t->dims[k]);
    ga__args_i64(&args, t->strides[0][k]);
    ga__args_i64(&args, t->strides[1][k]);
  }
  const size_t work = g->blocks * g->chunks;
  const size_t groups = g->most_groups > 0 ? ga__smaller(work, g->most_groups) : work;
  const ga_launch l = {.nd = 2,
                       .grid = {groups, 1, 1},
                       .block = {g->lanes, g->slots, 1},
                       .work = g->chunks == 1 ? t->rows * t->across * t->length : 0,
                       .n_args = args.n,
                       .args = args.list};
  return ga__kernel_launch(kernel, &l);
}

/* Maximum block size, a power of 2, of kind and kernel. */
static size_t block_threads(gpukernel *kernel, enum ga_scan_kind kind) {
  size_t threads = ga__scan_block(kind);
  while (threads > 1 && threads > ga__kernel_threads(kernel))
    threads /= 2;
  return threads;
}

static void cut_task(scan_geometry *g, const scan_task *t, GpuScan *gs,
                     gpukernel *kernel) {
  const ga_device_info *info = &ga__scan_context(gs)->info;
  *g = (scan_geometry){.radix = 1};
  if (info->is_cpu)
    cut_cpu(g, t, info, info->warp > 1 ? 16 : 1);
  else if (t->kind == GA_SCAN_SHORT)
    cut_short(g, t, block_threads(kernel, t->kind), ga__scan_tile_room(gs));
  else
    cut_gpu(g, t, info, block_threads(kernel, t->kind),
            ga__scan_tile_items(gs, t->kind));
}

/* True if both arrays are contiguous along the inner loop. */
static bool is_unit(const scan_task *t, const size_t *sizes) {
  const ssize_t *strides = t->kind == GA_SCAN_ROWS ? t->along : t->beside;
  return strides[0] == (ssize_t)sizes[0] && strides[1] == (ssize_t)sizes[1];
}

/* True on GPUs for short contiguous rows. */
static bool is_short(const scan_task *t, const ga_device_info *info,
                     const size_t *sizes) {
  if (info->is_cpu || t->kind != GA_SCAN_ROWS || t->length > GA_SCAN_SHORTEST ||
      t->rows < 64 || !is_unit(t, sizes))
    return false;
  for (int i = 0; i < 2; i++)
    if (t->dims[0] != t->rows || t->strides[i][0] != (ssize_t)(t->length * sizes[i]))
      return false;
  return true;
}

/* Switches to PACKS if every row is aligned for vectors and there are enough tiles. */
static void choose_packs(scan_task *t, scan_geometry *g, const GpuScan *gs, int mode) {
  const size_t chunk =
      ga__scan_block(GA_SCAN_PACKS) * (size_t)ga__scan_tile_items(gs, GA_SCAN_PACKS);
  const size_t chunks = ga__ceil_div(t->length, chunk);
  if (t->kind != GA_SCAN_ROWS || !(mode & GA_SCAN_UNIT) ||
      2 * t->rows * chunks < (size_t)3 * ga__scan_context(gs)->info.processors)
    return;
  for (int i = 0; i < 2; i++) {
    const size_t alignment = ga__scan_tile_alignment(gs, i);
    if (t->offset[i] % alignment != 0)
      return;
    for (unsigned int k = 0; k < t->nk; k++)
      if (ga__magnitude(t->strides[i][k]) % alignment != 0)
        return;
  }
  t->kind = GA_SCAN_PACKS;
  g->lanes = ga__scan_block(GA_SCAN_PACKS);
  g->slots = 1;
  g->blocks = t->rows;
  g->chunk = chunk;
  g->chunks = chunks;
}

/* Single pass with decoupled look-back. */
static int run_looking_back(GpuScan *gs, const scan_task *t, const scan_geometry *g,
                            bool is_wide, int mode) {
  gpucontext *ctx = ga__scan_context(gs);
  const size_t size = gpuarray_get_elsize(ga__scan_acc(gs));
  const size_t places =
      t->rows * t->across * (g->chunks + ga__ceil_div(g->chunks, g->radix));
  const size_t bytes = 8 * (1 + places * ga__ceil_div(size, 4));
  gpukernel *kernel;
  gpudata *part;
  GA_TRY(ga__scan_kernel(&kernel, gs, t->kind, false, is_wide, true, t->nk));
  GA_TRY(ga__buffer_new(&part, ctx, bytes));
  int status = ga__buffer_fill(part, 0, 0, bytes);
  GA_THEN(status, launch(kernel, t, g, part, is_wide, mode | (int)g->radix << 8));
  gpudata_release(part);
  return status;
}

/* Exclusive scan of chunks' totals. */
static int scan_parts(GpuScan *gs, const scan_task *of, gpudata *part, size_t chunks) {
  const size_t size = gpuarray_get_elsize(ga__scan_acc(gs));
  const scan_task t = parts_task(of, part, chunks, size);
  const bool is_wide = needs_wide(&t);
  gpukernel *kernel;
  scan_geometry g;
  GA_TRY(ga__scan_kernel(&kernel, gs, t.kind, true, is_wide, false, t.nk));
  cut_task(&g, &t, gs, kernel);
  g.looks_back = false;
  g.chunks = 1;
  g.chunk = t.length;
  const int mode = is_unit(&t, (size_t[2]){size, size}) ? GA_SCAN_UNIT : 0;
  return launch(kernel, &t, &g, part, is_wide, mode | GA_SCAN_SHIFT);
}

/* Three passes: chunks' totals, their scan, then each chunk with its prefix. */
static int run_chunks(GpuScan *gs, const scan_task *t, const scan_geometry *g,
                      gpukernel *kernel, bool is_wide, int mode) {
  gpudata *part;
  const size_t size = gpuarray_get_elsize(ga__scan_acc(gs));
  if (g->chunks == 1) /* `part` is unused */
    return launch(kernel, t, g, t->data[1], is_wide, mode);
  GA_TRY(ga__buffer_new(&part, ga__scan_context(gs),
                        t->rows * t->across * g->chunks * size));
  int status = launch(kernel, t, g, part, is_wide, mode | GA_SCAN_SUM);
  GA_THEN(status, scan_parts(gs, t, part, g->chunks));
  GA_THEN(status, launch(kernel, t, g, part, is_wide, mode | GA_SCAN_PREFIX));
  gpudata_release(part);
  return status;
}

int ga__scan_run(GpuScan *gs, const GpuArray *out, const GpuArray *a, unsigned int axis,
                 int flags) {
  scan_task t;
  scan_geometry g;
  gpukernel *kernel;
  make_task(&t, out, a, axis, (flags & GA_SCAN_REVERSE) != 0);
  const bool is_wide = needs_wide(&t);
  const size_t sizes[2] = {GpuArray_ITEMSIZE(a), GpuArray_ITEMSIZE(out)};
  const int mode = ((flags & GA_SCAN_EXCLUSIVE) ? GA_SCAN_SHIFT : 0) |
                   (is_unit(&t, sizes) ? GA_SCAN_UNIT : 0);
  if (is_short(&t, &ga__scan_context(gs)->info, sizes))
    t.kind = GA_SCAN_SHORT;
  GA_TRY(ga__scan_kernel(&kernel, gs, t.kind, false, is_wide, false, t.nk));
  cut_task(&g, &t, gs, kernel);
  if (t.kind == GA_SCAN_ROWS && g.slots == 1 && g.lanes == ga__scan_block(t.kind) &&
      !g.looks_back)
    GA_TRY(ga__scan_kernel(&kernel, gs, GA_SCAN_WHOLE, false, is_wide, false, t.nk));
  if (g.looks_back) {
    choose_packs(&t, &g, gs, mode);
    return run_looking_back(gs, &t, &g, is_wide, mode);
  }
  return run_chunks(gs, &t, &g, kernel, is_wide, mode);
}
