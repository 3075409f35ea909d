/* Launches of elementwise kernels: geometry and arguments. */
#include "c/elemwise/elemwise_launch.h"

#include <stdlib.h>
#include <string.h>

#include "c/base/half.h"

/* ---- geometry ---- */

#define GPU_THREADS 256
#define GPU_DRAW_BLOCKS 128 /* a multiprocessor */
#define LEAST_VECTORS 4     /* per row, for vector access to unaligned rows */
#define CPU_GROUP_WORK 8192
#define CPU_ROW_PIECE 4096 /* elements, if all arrays are contiguous along the row */
#define CPU_PIECE 64       /* else: as many cache lines, reused by the next rows */

/* Blocks of a launch. Draws read their generator's state and prepare its keys once an
 * item, so that an item of theirs shall compute several vectors. */
static size_t most_blocks(const GpuElemwise *ge) {
  const gpucontext *ctx = ge->context;
  if (ctx->info.is_cpu)
    return GA_CPU_GROUPS * (size_t)ctx->info.processors;
  return ga__elemwise_has_index(ge) ? GPU_DRAW_BLOCKS * (size_t)ctx->info.processors
                                    : ctx->info.max_grid[0];
}

/* 1-d geometry: blocks for `n` elements, `per_thread` each. Kernels use grid-stride
 * loops, so fewer blocks are enough. */
static void set_geometry(ga_launch *launch, const GpuElemwise *ge, gpukernel *k,
                         size_t n, size_t per_thread) {
  const gpucontext *ctx = ge->context;
  size_t threads = ctx->info.is_cpu ? ctx->info.warp : GPU_THREADS;
  if (!ga__kernel_takes(k, threads))
    threads = ga__kernel_threads(k);
  size_t work = ctx->info.is_cpu ? CPU_GROUP_WORK : threads * per_thread;
  size_t blocks = n / work + (n % work != 0);
  size_t limit = most_blocks(ge);
  launch->nd = 1;
  launch->elements = launch->work = n;
  launch->block[0] = threads;
  launch->grid[0] = blocks < limit ? blocks : limit;
}

/* ---- arguments ---- */

void ga__launch_add_scalar(ga_args *list, const GpuElemwise *ge, unsigned int i,
                           const void *value) {
  int typecode = ge->args[i].typecode;
  bool small = typecode == GA_HALF || typecode == GA_BFLOAT16;
  uint16_t bits;
  if (!small || !ge->spec.convert_half) {
    const char kind = ga__dtype_kind(typecode);
    const char number = kind == 'c' || small ? 0 : kind == 'f' ? 'f' : 'i';
    ga__args_number(list, value, gpuarray_get_elsize(typecode), number);
    return;
  }
  memcpy(&bits, value, sizeof bits);
  ga__args_real(list, GA_FLOAT,
                typecode == GA_HALF ? ga__half_value(bits) : ga__bfloat16_value(bits));
}

void ga__launch_add_buffer(ga_args *list, const GpuElemwise *ge, unsigned int i,
                           gpudata *data, size_t offset) {
  if (ga__elemwise_is_index(ge, i))
    ga__args_u64(list, offset);
  else
    ga__args_pointer(list, data, offset, ga__elemwise_is_input(ge, i));
}

/* Division of x < 2^31 by the invariant d as a multiplication: x / d == (x * factor) >>
 * shift. */
static void division(uint32_t *factor, uint32_t *shift, size_t d) {
  uint32_t bits = 0;
  while (((size_t)1 << bits) < d)
    bits++;
  *shift = 31 + bits;
  *factor = (uint32_t)(((uint64_t)1 << *shift) / d + 1);
}

/* Lengths of all axes but the first, in the form that `v`'s kernel takes. Missing
 * leading axes have length 1. */
static void add_axes(ga_args *list, const ga_elem_variant *v, unsigned int nd,
                     const size_t *dims, bool is_cpu) {
  for (unsigned int k = is_cpu && v->nd == 1 ? 0 : 1; k < v->nd; k++) {
    unsigned int missing = v->nd - nd;
    size_t d = k < missing ? 1 : dims[k - missing];
    if (is_cpu) {
      ga__args_u64(list, d);
      continue;
    }
    uint32_t factor, shift;
    division(&factor, &shift, d);
    ga__args_u32(list, (uint32_t)d);
    ga__args_u32(list, factor);
    ga__args_u32(list, shift);
  }
}

/* Arguments of the expression; arrays with `nd` strides. */
static void add_arrays(ga_args *list, const GpuElemwise *ge, unsigned int nd,
                       const ga_walk *w, bool wide, void *const *args) {
  unsigned int missing = nd - w->nd;
  for (unsigned int i = 0, k = 0; i < ge->n; i++) {
    if (ga__elemwise_is_scalar(ge, i)) {
      ga__launch_add_scalar(list, ge, i, args[i]);
      continue;
    }
    ga__launch_add_buffer(list, ge, i, w->data[k], w->offset[k]);
    for (unsigned int axis = 0; axis < nd; axis++) {
      ssize_t stride = axis < missing ? 0 : w->strides[k][axis - missing];
      ga__args_position(list, wide, stride / (ssize_t)w->itemsize[k]);
    }
    k++;
  }
}

/* ---- flat ---- */

/* True if all arrays are aligned for vector loads. */
static bool is_vector_aligned(const GpuElemwise *ge, void *const *args, uint64_t single,
                              const ga_walk *w) {
  const unsigned int vector = ga__elem_vector(&ge->spec, single);
  for (unsigned int i = 0, k = 0; i < ge->n; i++) {
    if (ga__elemwise_is_scalar(ge, i))
      continue;
    size_t offset = w ? w->offset[k] : ((const GpuArray *)args[i])->offset;
    k++;
    if (single >> i & 1)
      continue;
    if (offset % (vector * gpuarray_get_elsize(ge->args[i].typecode)) != 0)
      return false;
  }
  return true;
}

int ga__launch_flat(GpuElemwise *ge, ga_elem_variant *v, void *const *args, size_t n,
                    const ga_walk *w) {
  gpukernel *k;
  GA_TRY(ga__variant_kernel(&k, ge, v));
  ga_args list;
  list.n = 0;
  ga__args_u64(&list, n);
  ga__args_u32(&list, is_vector_aligned(ge, args, v->single, w));
  for (unsigned int i = 0, array = 0; i < ge->n; i++) {
    if (ga__elemwise_is_scalar(ge, i)) {
      ga__launch_add_scalar(&list, ge, i, args[i]);
      continue;
    }
    const GpuArray *a = args[i];
    ga__launch_add_buffer(&list, ge, i, a->data, w ? w->offset[array] : a->offset);
    array++;
  }
  ga_launch launch = {.n_args = list.n, .args = list.list};
  set_geometry(&launch, ge, k, n, ga__elem_vector(&ge->spec, v->single));
  return ga__kernel_launch(k, &launch);
}

/* ---- strided ---- */

/* Elements of a piece of a row: offsets in it fit 31 bits in every array. */
static size_t piece_length(const ga_walk *w, bool along) {
  unsigned int last = w->nd - 1;
  size_t piece = along || ga__walk_follows_rows(w) ? CPU_ROW_PIECE : CPU_PIECE;
  for (unsigned int k = 0; k < w->n_arrays; k++) {
    size_t step = (size_t)labs(w->strides[k][last]) / w->itemsize[k];
    if (step > INT32_MAX / piece)
      piece = step > INT32_MAX / 2 ? 1 : INT32_MAX / step;
  }
  return piece;
}

/* True if input k can be loaded in pairs (stride 2): the element behind the last one
 * lies in the buffer, and nothing writes there. */
static bool is_paired(const ga_walk *w, unsigned int k) {
  const gpudata *data = w->data[k];
  size_t end = w->offset[k] + 2 * w->itemsize[k];
  for (unsigned int i = 0; i < w->nd; i++)
    if (w->strides[k][i] > 0)
      end += (w->dims[i] - 1) * (size_t)w->strides[k][i];
  for (unsigned int i = 0; i < w->n_arrays; i++)
    if (!w->is_input[i] && w->data[i] == data)
      return false;
  /* A placeholder's bounds are not known yet. */
  return w->strides[k][w->nd - 1] == 2 * (ssize_t)w->itemsize[k] &&
         data->tape == NULL && end <= data->size;
}

static enum ga_elem_row row_of(const GpuElemwise *ge, const ga_walk *w) {
  if (ga__walk_is_unit(w))
    return GA_ELEM_ROW_UNIT;
  if (!ga__elem_takes_pairs(&ge->spec))
    return GA_ELEM_ROW_ANY;
  for (unsigned int k = 0; k < w->n_arrays; k++) {
    bool is_unit = w->strides[k][w->nd - 1] == (ssize_t)w->itemsize[k];
    if (w->is_input[k] ? !is_paired(w, k) : !is_unit)
      return GA_ELEM_ROW_ANY;
  }
  return GA_ELEM_ROW_PAIRS;
}

static int launch_strided_cpu(GpuElemwise *ge, ga_elem_variant *v, gpukernel *k,
                              const ga_walk *w, void *const *args) {
  ga_args list;
  list.n = 0;
  size_t row = w->dims[w->nd - 1];
  enum ga_elem_row kind = row_of(ge, w);
  size_t piece = piece_length(w, kind != GA_ELEM_ROW_ANY);
  ga__args_u64(&list, w->n / row);
  ga__args_u64(&list, (row - 1) / piece + 1);
  ga__args_u64(&list, piece);
  ga__args_u32(&list, kind);
  add_axes(&list, v, w->nd, w->dims, true);
  add_arrays(&list, ge, v->nd, w, true, args);
  ga_launch launch = {.n_args = list.n, .args = list.list};
  set_geometry(&launch, ge, k, w->n, 1);
  return ga__kernel_launch(k, &launch);
}

/* Vectors per row, or 0 for access by elements: the leader is not contiguous, or rows
 * are so short that most of a row would be partial vectors. */
static size_t row_vectors(const GpuElemwise *ge, const ga_walk *w) {
  unsigned int last = w->nd - 1;
  size_t row = w->dims[last], vector = ge->vector;
  uint64_t leader = (uint64_t)1 << w->arg[w->leader];
  if (w->gap > 1)
    return w->gap;
  if (vector == 1 || !(ga__walk_vectors(w, last, 1) & leader))
    return 0;
  if (ga__walk_vectors(w, last, ge->vector) & leader)
    return (row - 1) / vector + 1;
  return row < LEAST_VECTORS * vector ? 0 : (row + 2 * vector - 2) / vector;
}

int ga__launch_strided(GpuElemwise *ge, ga_elem_variant *v, const ga_walk *w,
                       void *const *args) {
  gpukernel *k;
  GA_TRY(ga__variant_kernel(&k, ge, v));
  if (ge->spec.is_cpu)
    return launch_strided_cpu(ge, v, k, w, args);
  unsigned int last = w->nd - 1;
  size_t row = w->dims[last], vectors = row_vectors(ge, w), n = w->n;
  size_t dims[GA_MAX_NDIM];
  memcpy(dims, w->dims, w->nd * sizeof *dims);
  if (vectors > 0) {
    dims[last] = vectors;
    n = n / row * vectors;
  }
  ga_args list;
  list.n = 0;
  ga__args_u32(&list, (uint32_t)n);
  ga__args_u32(&list, vectors > 0 ? (uint32_t)row : 0);
  ga__args_u32(&list, w->gap);
  ga__args_u64(&list, w->gap > 1 ? 0 : ga__walk_vectors(w, last, 1));
  ga__args_u64(&list, ga__walk_ones(w));
  add_axes(&list, v, w->nd, dims, false);
  add_arrays(&list, ge, v->nd, w, v->wide, args);
  ga_launch launch = {.n_args = list.n, .args = list.list};
  set_geometry(&launch, ge, k, n, vectors > 0 ? 1 : ga__elem_apart(&ge->spec));
  return ga__kernel_launch(k, &launch);
}

/* ---- rows ---- */

#define ROW_ITEMS 32
#define MOST_VECTORS 8 /* of an item in a row */

bool ga__launch_fills_rows(size_t vectors) {
  const size_t rounds = (vectors - 1) / ROW_ITEMS + 1;
  return 4 * vectors >= 3 * rounds * ROW_ITEMS;
}

/* Vectors of a row that an item takes, so that every multiprocessor has work for a few
 * rounds. */
static size_t vectors_of(const gpucontext *ctx, size_t n) {
  size_t many = n / ((size_t)ctx->info.processors * 4096);
  return many < 1 ? 1 : many < MOST_VECTORS ? many : MOST_VECTORS;
}

int ga__launch_rows(GpuElemwise *ge, ga_elem_variant *v, const ga_walk *w,
                    void *const *args) {
  const unsigned int last = w->nd - 1, vector = ga__elem_vector(&ge->spec, v->single);
  const size_t row = w->dims[last] / vector, rows = w->n / w->dims[last];
  const size_t length = ROW_ITEMS * vectors_of(ge->context, w->n / vector);
  size_t dims[GA_MAX_NDIM];
  gpukernel *k;
  ga_args list = {.n = 0};
  GA_TRY(ga__variant_kernel(&k, ge, v));
  memcpy(dims, w->dims, w->nd * sizeof *dims);
  dims[last] = (row - 1) / length + 1;
  ga__args_u32(&list, (uint32_t)(rows * dims[last]));
  ga__args_u32(&list, (uint32_t)row);
  ga__args_u32(&list, (uint32_t)length);
  add_axes(&list, v, w->nd, dims, false);
  add_arrays(&list, ge, v->nd, w, v->wide, args);
  ga_launch launch = {.n_args = list.n, .args = list.list};
  set_geometry(&launch, ge, k, rows * dims[last] * ROW_ITEMS, 1);
  return ga__kernel_launch(k, &launch);
}

/* ---- tiled ---- */

static size_t tiles_of(size_t length, size_t tile) {
  return (length - 1) / tile + 1;
}

int ga__launch_tiled(GpuElemwise *ge, ga_elem_variant *v, const ga_walk *w,
                     uint64_t turned, void *const *args) {
  gpukernel *k;
  GA_TRY(ga__variant_kernel(&k, ge, v));
  unsigned int x = w->nd - 1, y = w->nd - 2, vector = ga__elem_tile_vector(&ge->spec);
  size_t height = w->dims[y], width = w->dims[x], tile = ga__elem_tile(&ge->spec);
  size_t dims[GA_MAX_NDIM], shared = 0;
  memcpy(dims, w->dims, w->nd * sizeof *dims);
  dims[y] = tiles_of(height, tile);
  dims[x] = tiles_of(width, tile);
  size_t n = w->n / width / height * dims[y] * dims[x];
  for (unsigned int i = 0; i < ge->n; i++)
    if (turned >> i & 1)
      shared += ga__elem_tile_bytes(&ge->spec, i);
  ga_args list;
  list.n = 0;
  ga__args_u32(&list, (uint32_t)n);
  add_axes(&list, v, w->nd, dims, false);
  ga__args_u32(&list, (uint32_t)height);
  ga__args_u32(&list, (uint32_t)width);
  ga__args_u64(&list, turned);
  ga__args_u64(&list, (ga__walk_vectors(w, x, vector) & ~turned) |
                          (ga__walk_vectors(w, y, vector) & turned));
  add_arrays(&list, ge, v->nd, w, true, args);
  size_t most = ge->context->info.max_grid[0];
  ga_launch launch = {.nd = 1,
                      .grid = {n < most ? n : most},
                      .block = {ga__elem_tile_threads(&ge->spec)},
                      .shared = shared,
                      .n_args = list.n,
                      .args = list.list};
  return ga__kernel_launch(k, &launch);
}
