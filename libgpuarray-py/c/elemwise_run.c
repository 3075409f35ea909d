/* Runs a GpuElemwise: picks the kernel for the layout of the arrays, and launches it.
 *
 * A call becomes flat where all arrays are walked as one block, else strided over as
 * few axes as they permit. Kernels are made when a layout needs them and kept in the
 * object.
 */
#include "c/elemwise_run.h"

#include <string.h>

#include "c/elemwise_walk.h"

/* ---- variants ---- */

/* What a launch can use. A flat one must take the arguments in `single` as single
 * elements and may take those in `may_be_single` so; a strided one has at least `nd`
 * axes. */
typedef struct wanted {
  bool flat, wide;
  unsigned int nd;
  uint64_t single, may_be_single;
} wanted;

static bool serves(const ga_elem_variant *v, const wanted *w) {
  if (v->flat != w->flat)
    return false;
  if (v->flat)
    return (w->single & ~v->single) == 0 && (v->single & ~w->may_be_single) == 0;
  return v->wide == w->wide && v->nd >= w->nd;
}

/* The best of the object's variants, or NULL. */
static ga_elem_variant *find_variant(GpuElemwise *ge, const wanted *w) {
  ga_elem_variant *best = NULL;
  for (ga_elem_variant *v = atomic_load_explicit(&ge->variants, memory_order_acquire);
       v != NULL; v = v->next)
    if (serves(v, w) && (best == NULL || v->nd < best->nd))
      best = v;
  return best;
}

/* Finds the variant or adds it. */
static int get_variant(ga_elem_variant **out, GpuElemwise *ge, const wanted *w) {
  *out = find_variant(ge, w);
  if (*out != NULL)
    return GA_NO_ERROR;
  ga_elem_variant *made = ga__alloc(1, sizeof *made);
  if (made == NULL)
    return GA_MEMORY_ERROR;
  made->flat = w->flat;
  made->wide = w->wide;
  made->nd = w->flat ? 0 : w->nd;
  made->single = w->single;
  pthread_mutex_lock(&ge->lock);
  *out = find_variant(ge, w);
  if (*out == NULL) {
    made->next = atomic_load(&ge->variants);
    atomic_store_explicit(&ge->variants, made, memory_order_release);
    *out = made;
    made = NULL;
  }
  pthread_mutex_unlock(&ge->lock);
  ga__free(made);
  return GA_NO_ERROR;
}

static int variant_source(ga_source *out, const GpuElemwise *ge,
                          const ga_elem_variant *v) {
  return v->flat ? ga__elem_flat_source(out, &ge->spec, v->single)
                 : ga__elem_strided_source(out, &ge->spec, v->nd, v->wide);
}

static int variant_kernel(gpukernel **out, GpuElemwise *ge, ga_elem_variant *v) {
  *out = atomic_load_explicit(&v->kernel, memory_order_acquire);
  if (*out != NULL)
    return GA_NO_ERROR;
  ga_source source = {0};
  int status = variant_source(&source, ge, v);
  if (status == GA_NO_ERROR)
    status = ga__kernel_get(out, ge->context, &source);
  if (status == GA_NO_ERROR)
    atomic_store_explicit(&v->kernel, *out, memory_order_release);
  ga__strbuf_clear(&source.body);
  return status;
}

static bool uses_wide(const GpuElemwise *ge, bool large) {
  return large || ge->spec.is_cpu;
}

int ga__elemwise_sources(ga_source out[4], unsigned int *n, GpuElemwise *ge,
                         unsigned int nd, unsigned int scalars) {
  wanted flat = {.flat = true};
  for (unsigned int i = ge->n_out; i < ge->n && i - ge->n_out < 32; i++)
    if (scalars >> (i - ge->n_out) & 1 && !ga__elemwise_is_scalar(ge, i) &&
        ga__elemwise_is_input(ge, i))
      flat.single |= (uint64_t)1 << i;
  flat.may_be_single = flat.single;
  /* Two axes more, so that a transposition can be walked in tiles. */
  unsigned int axes = nd < 2 || ge->spec.is_cpu ? nd : nd + 2;
  wanted strided = {.wide = uses_wide(ge, false),
                    .nd = axes < ge->max_nd ? axes : ge->max_nd};
  const wanted *list[] = {&flat, &strided};
  *n = 0;
  for (unsigned int i = 0; i < (nd == 0 ? 1 : 2); i++) {
    ga_elem_variant *v;
    int status = get_variant(&v, ge, list[i]);
    out[*n] = (ga_source){0};
    if (status == GA_NO_ERROR)
      status = variant_source(&out[(*n)++], ge, v);
    if (status != GA_NO_ERROR) {
      while (*n > 0)
        ga__strbuf_clear(&out[--*n].body);
      return status;
    }
  }
  return GA_NO_ERROR;
}

/* ---- launches ---- */

#define GPU_THREADS 256
#define CPU_GROUP_WORK 8192
#define LEAST_ROW 16        /* elements under which a longer axis is walked instead */
#define CPU_UNIT_PIECE 4096 /* of a row whose elements are neighbours */
#define CPU_PIECE 64 /* of any other: as many cache lines, used by rows to come */

/* One-dimensional geometry: enough blocks of `per_thread` elements a thread for `n`.
 * Kernels repeat where the device takes fewer blocks. */
static void set_geometry(ga_launch *launch, const gpucontext *ctx, const gpukernel *k,
                         size_t n, size_t per_thread) {
  size_t threads = ctx->info.is_cpu ? ctx->info.warp : GPU_THREADS;
  size_t most = ga__kernel_threads(k);
  if (threads > most)
    threads = most;
  size_t work = ctx->info.is_cpu ? CPU_GROUP_WORK : threads * per_thread;
  size_t blocks = n / work + (n % work != 0);
  size_t limit =
      ctx->info.is_cpu ? 4 * (size_t)ctx->info.processors : ctx->info.max_grid[0];
  launch->nd = 1;
  launch->block[0] = threads;
  launch->grid[0] = blocks < limit ? blocks : limit;
}

static float half_value(uint16_t bits) {
  unsigned int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  uint32_t sign = (uint32_t)(bits & 0x8000) << 16, word;
  float value;
  if (exponent == 0) { /* zero or denormal: mantissa * 2^-24 */
    value = (float)mantissa * 0x1p-24f;
    return sign ? -value : value;
  }
  if (exponent == 31)
    word = sign | 0x7f800000 | mantissa << 13;
  else
    word = sign | (exponent + 112) << 23 | mantissa << 13;
  memcpy(&value, &word, sizeof value);
  return value;
}

static void add_scalar(ga_args *list, int typecode, const void *value) {
  if (typecode == GA_HALF) {
    uint16_t bits;
    memcpy(&bits, value, sizeof bits);
    float converted = half_value(bits);
    ga__args_value(list, &converted, sizeof converted);
  } else {
    ga__args_value(list, value, gpuarray_get_elsize(typecode));
  }
}

/* Whether whole vectors of every array begin where the device can load them. */
static bool is_vector_aligned(const GpuElemwise *ge, void *const *args,
                              uint64_t single) {
  for (unsigned int i = 0; i < ge->n; i++) {
    if (ga__elemwise_is_scalar(ge, i) || ((single >> i) & 1))
      continue;
    size_t bytes = ge->vector * gpuarray_get_elsize(ge->args[i].typecode);
    if (((const GpuArray *)args[i])->offset % bytes != 0)
      return false;
  }
  return true;
}

static int launch_flat(GpuElemwise *ge, ga_elem_variant *v, void *const *args,
                       size_t n) {
  gpukernel *k;
  GA_TRY(variant_kernel(&k, ge, v));
  ga_args list;
  list.n = 0;
  ga__args_u64(&list, n);
  ga__args_u32(&list, is_vector_aligned(ge, args, v->single));
  for (unsigned int i = 0; i < ge->n; i++) {
    if (ga__elemwise_is_scalar(ge, i)) {
      add_scalar(&list, ge->args[i].typecode, args[i]);
      continue;
    }
    const GpuArray *a = args[i];
    ga__args_buffer(&list, a->data);
    ga__args_offset(&list, a->data, a->offset);
  }
  ga_launch launch = {.n_args = list.n, .args = list.list};
  set_geometry(&launch, ge->context, k, n, ge->vector);
  return ga__kernel_launch(k, &launch);
}

/* Division by d of numbers below 2^31: x / d == (x * factor) >> shift. */
static void division(uint32_t *factor, uint32_t *shift, size_t d) {
  uint32_t bits = 0;
  while (((size_t)1 << bits) < d)
    bits++;
  *shift = 31 + bits;
  *factor = (uint32_t)(((uint64_t)1 << *shift) / d + 1);
}

/* The arguments that the strided kernel of `nd` axes has before those of the arrays.
 * Axes that the walk lacks come first and have length 1. */
static void add_axes(ga_args *list, const GpuElemwise *ge, const ga_elem_variant *v,
                     const ga_walk *w) {
  for (unsigned int k = ge->spec.is_cpu && v->nd == 1 ? 0 : 1; k < v->nd; k++) {
    unsigned int missing = v->nd - w->nd;
    size_t d = k < missing ? 1 : w->dims[k - missing];
    if (v->wide) {
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

static void add_arrays(ga_args *list, const GpuElemwise *ge, const ga_elem_variant *v,
                       const ga_walk *w, void *const *args) {
  unsigned int missing = v->nd - w->nd;
  for (unsigned int i = 0, k = 0; i < ge->n; i++) {
    if (ga__elemwise_is_scalar(ge, i)) {
      add_scalar(list, ge->args[i].typecode, args[i]);
      continue;
    }
    ga__args_buffer(list, w->data[k]);
    ga__args_offset(list, w->data[k], w->offset[k]);
    for (unsigned int axis = 0; axis < v->nd; axis++) {
      ssize_t stride = axis < missing ? 0 : w->strides[k][axis - missing];
      stride /= (ssize_t)w->itemsize[k];
      if (v->wide)
        ga__args_i64(list, stride);
      else
        ga__args_i32(list, (int32_t)stride);
    }
    k++;
  }
}

static int launch_strided(GpuElemwise *ge, ga_elem_variant *v, const ga_walk *w,
                          void *const *args) {
  gpukernel *k;
  GA_TRY(variant_kernel(&k, ge, v));
  ga_args list;
  list.n = 0;
  if (ge->spec.is_cpu) {
    size_t row = w->dims[w->nd - 1];
    bool unit = ga__walk_is_unit(w);
    size_t piece = unit ? CPU_UNIT_PIECE : CPU_PIECE;
    ga__args_u64(&list, w->n / row);
    ga__args_u64(&list, (row - 1) / piece + 1);
    ga__args_u64(&list, piece);
    ga__args_u32(&list, unit);
  } else if (v->wide) {
    ga__args_u64(&list, w->n);
  } else {
    ga__args_u32(&list, (uint32_t)w->n);
  }
  add_axes(&list, ge, v, w);
  add_arrays(&list, ge, v, w, args);
  ga_launch launch = {.n_args = list.n, .args = list.list};
  set_geometry(&launch, ge->context, k, w->n, GA_ELEM_STRIDED);
  return ga__kernel_launch(k, &launch);
}

/* ---- layouts ---- */

static bool is_one_element(const GpuArray *a) {
  for (unsigned int i = 0; i < a->nd; i++)
    if (a->dimensions[i] != 1)
      return false;
  return true;
}

/* Whether the walk is flat, told without one: arrays of one shape and one order, and
 * inputs of one element. */
static bool is_plainly_flat(uint64_t *single, const GpuElemwise *ge, void *const *args,
                            unsigned int nd, const size_t *dims) {
  int common = GA_C_CONTIGUOUS | GA_F_CONTIGUOUS;
  *single = 0;
  for (unsigned int i = 0; i < ge->n; i++) {
    if (ga__elemwise_is_scalar(ge, i))
      continue;
    const GpuArray *a = args[i];
    if (a->nd == nd && memcmp(a->dimensions, dims, nd * sizeof *dims) == 0)
      common &= a->flags;
    else if (ga__elemwise_is_input(ge, i) && is_one_element(a))
      *single |= (uint64_t)1 << i;
    else
      return false;
  }
  return common != 0;
}

static size_t product(unsigned int nd, const size_t *dims) {
  size_t n = 1;
  for (unsigned int i = 0; i < nd; i++)
    n *= dims[i];
  return n;
}

/* Launches once for each position along the leading axes that the kernel has no room
 * for. */
static int launch_walk(GpuElemwise *ge, const ga_walk *w, void *const *args) {
  wanted strided = {.wide = uses_wide(ge, ga__walk_is_large(w)),
                    .nd = w->nd < ge->max_nd ? w->nd : ge->max_nd};
  ga_elem_variant *v;
  GA_TRY(get_variant(&v, ge, &strided));
  if (w->nd <= v->nd)
    return launch_strided(ge, v, w, args);
  unsigned int outer = w->nd - v->nd;
  size_t launches = product(outer, w->dims);
  for (size_t i = 0; i < launches; i++) {
    ga_walk inner;
    ga__walk_inner(&inner, w, outer, i);
    GA_TRY(launch_strided(ge, v, &inner, args));
  }
  return GA_NO_ERROR;
}

/* Launches the part that is whole tiles of the last axis and `axis` as tiles, and the
 * two strips at its edges as they are. */
static int launch_tiled(GpuElemwise *ge, const ga_walk *w, void *const *args,
                        unsigned int axis) {
  unsigned int last = w->nd - 1;
  size_t width = w->dims[last], height = w->dims[axis];
  size_t rest = width % ga__walk_tile_width(w);
  size_t below = height < GA_WALK_TILE_HEIGHT ? 0 : height % GA_WALK_TILE_HEIGHT;
  ga_walk part, tiles;
  if (rest > 0) {
    ga__walk_part(&part, w, last, width - rest, rest);
    GA_TRY(launch_walk(ge, &part, args));
  }
  ga__walk_part(&tiles, w, last, 0, width - rest);
  if (below > 0) {
    ga__walk_part(&part, &tiles, axis, height - below, below);
    GA_TRY(launch_walk(ge, &part, args));
  }
  ga__walk_part(&part, &tiles, axis, 0, height - below);
  ga__walk_tile(&part, axis);
  return launch_walk(ge, &part, args);
}

/* Launches the flat kernel if it exists or `make` allows to compile it. */
static int try_flat(bool *done, GpuElemwise *ge, void *const *args, size_t n,
                    uint64_t single, bool make) {
  /* One element may be taken either way. */
  wanted w = {.flat = true,
              .single = n == 1 ? 0 : single,
              .may_be_single = n == 1 ? ~(uint64_t)0 : single};
  ga_elem_variant *v = find_variant(ge, &w);
  *done = v != NULL || make;
  if (v == NULL && make)
    GA_TRY(get_variant(&v, ge, &w));
  return v == NULL ? GA_NO_ERROR : launch_flat(ge, v, args, n);
}

static int run_walk(GpuElemwise *ge, void *const *args, unsigned int nd,
                    const size_t *dims, size_t n) {
  ga_walk w;
  ga__walk_plan(&w, ge, args, nd, dims, n);
  uint64_t single;
  if (ga__walk_is_flat(&single, &w)) {
    wanted prepared = {.wide = uses_wide(ge, false), .nd = 1};
    bool done;
    GA_TRY(try_flat(&done, ge, args, n, single, find_variant(ge, &prepared) == NULL));
    if (done)
      return GA_NO_ERROR;
  }
  unsigned int axis;
  if (ge->spec.is_cpu)
    ga__walk_lengthen_rows(&w, LEAST_ROW);
  else if (w.nd + 2 <= ge->max_nd && ga__walk_wants_tiles(&axis, &w))
    return launch_tiled(ge, &w, args, axis);
  return launch_walk(ge, &w, args);
}

/* ---- overlap ---- */

static bool is_same_place(const GpuArray *a, const GpuArray *b) {
  return a->offset == b->offset &&
         gpuarray_get_elsize(a->typecode) == gpuarray_get_elsize(b->typecode) &&
         ga__array_same_shape(a, b) && ga__array_same_layout(a, b);
}

/* Whether writing an output would change elements of input i before they are read. */
static bool is_endangered(const GpuElemwise *ge, void *const *args, unsigned int i) {
  const GpuArray *in = args[i];
  for (unsigned int k = 0; k < ge->n; k++) {
    if (k == i || ga__elemwise_is_scalar(ge, k) || ga__elemwise_is_input(ge, k))
      continue;
    const GpuArray *out = args[k];
    if (out->data == in->data && GpuArray_share(out, in) && !is_same_place(out, in))
      return true;
  }
  return false;
}

static int run_any(GpuElemwise *ge, void *const *args, unsigned int nd,
                   const size_t *dims, size_t n) {
  uint64_t single;
  if (is_plainly_flat(&single, ge, args, nd, dims)) {
    bool done;
    GA_TRY(try_flat(&done, ge, args, n, single, single == 0 || n == 1));
    if (done)
      return GA_NO_ERROR;
  }
  return run_walk(ge, args, nd, dims, n);
}

/* Runs on copies of the inputs that outputs overlap. */
static int run_copied(GpuElemwise *ge, void *const *args, unsigned int nd,
                      const size_t *dims, size_t n) {
  void *list[GA_ELEM_MAX_ARGS];
  GpuArray copies[GA_ELEM_MAX_ARGS];
  unsigned int n_copies = 0;
  int status = GA_NO_ERROR;
  for (unsigned int i = 0; i < ge->n && status == GA_NO_ERROR; i++) {
    list[i] = args[i];
    if (ga__elemwise_is_scalar(ge, i) || !ga__elemwise_is_input(ge, i) ||
        !is_endangered(ge, args, i))
      continue;
    status = GpuArray_copy(&copies[n_copies], args[i], GA_C_ORDER);
    if (status == GA_NO_ERROR)
      list[i] = &copies[n_copies++];
  }
  if (status == GA_NO_ERROR)
    status = run_any(ge, list, nd, dims, n);
  while (n_copies > 0)
    GpuArray_clear(&copies[--n_copies]);
  return status;
}

int ga__elemwise_run(GpuElemwise *ge, void *const *args, unsigned int nd,
                     const size_t *dims) {
  size_t n = product(nd, dims);
  if (n == 0)
    return GA_NO_ERROR;
  for (unsigned int i = 0; i < ge->n; i++)
    if (!ga__elemwise_is_scalar(ge, i) && ga__elemwise_is_input(ge, i) &&
        is_endangered(ge, args, i))
      return run_copied(ge, args, nd, dims, n);
  return run_any(ge, args, nd, dims, n);
}
