/* Selects and launches the kernel for the arrays' layout: flat (all contiguous in one
 * order), else strided over as few axes as possible, or tiled where orders differ. */
#include "c/elemwise/elemwise_state.h"

#include <string.h>

#include "c/elemwise/elemwise_launch.h"

/* ---- flat ---- */

static bool is_one_element(const GpuArray *a) {
  for (unsigned int i = 0; i < a->nd; i++)
    if (a->dimensions[i] != 1)
      return false;
  return true;
}

/* Fast check for flat: arrays of one shape and order, and inputs of one element. */
static bool is_plainly_flat(uint64_t *single, const GpuElemwise *ge, void *const *args,
                            unsigned int nd, const size_t *dims) {
  int common = GA_C_CONTIGUOUS | GA_F_CONTIGUOUS;
  *single = 0;
  for (unsigned int i = 0; i < ge->n; i++) {
    if (ga__elemwise_is_scalar(ge, i))
      continue;
    const GpuArray *a = args[i];
    if (ga__elemwise_is_index(ge, i))
      return false; /* its array has no memory, whose order could tell */
    if (ga__array_has_shape(a, nd, dims))
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

/* Launches the flat kernel if it is compiled or `make` allows compiling it. */
static int try_flat(bool *done, GpuElemwise *ge, void *const *args, size_t n,
                    uint64_t single, bool make, const ga_walk *walk) {
  /* a single element fits either variant */
  ga_elem_wanted w = {.kind = GA_ELEM_FLAT,
                      .single = n == 1 ? 0 : single,
                      .may_be_single = n == 1 ? ~(uint64_t)0 : single};
  ga_elem_variant *v = ga__variant_find(ge, &w);
  *done = v != NULL || make;
  if (v == NULL && make)
    GA_TRY(ga__variant_get(&v, ge, &w));
  return v == NULL ? GA_NO_ERROR : ga__launch_flat(ge, v, args, n, walk);
}

/* ---- strided ---- */

#define LEAST_ROW                                                                      \
  16 /* elements; with shorter rows a CPU uses a longer axis as the inner one */
#define GPU_MOST ((size_t)INT32_MAX - (1 << 20)) /* elements; 32-bit indices */

static int launch_walk(GpuElemwise *ge, const ga_walk *w, void *const *args);

/* Splits the longest axis in two launches. */
static int launch_halves(GpuElemwise *ge, const ga_walk *w, void *const *args) {
  unsigned int longest = 0;
  for (unsigned int i = 1; i < w->nd; i++)
    if (w->dims[i] > w->dims[longest])
      longest = i;
  /* at a multiple of 16, to keep the alignment */
  size_t length = w->dims[longest];
  size_t half = length >= 32 ? length / 32 * 16 : length / 2;
  ga_walk part;
  ga__walk_part(&part, w, longest, 0, half);
  GA_TRY(launch_walk(ge, &part, args));
  ga__walk_part(&part, w, longest, half, length - half);
  return launch_walk(ge, &part, args);
}

/* Launches the kernel of rows for large arrays, if the layout is of these. */
static int try_rows(bool *done, GpuElemwise *ge, const ga_walk *w, void *const *args) {
  const uint64_t single = ga__walk_ones(w);
  const unsigned int vector = ga__elem_vector(&ge->spec, single);
  *done = w->nd > 1 && w->nd <= ge->max_nd && w->n >= GA_ELEM_LARGE &&
          ga__walk_is_rows(w, vector) && !ga__elemwise_has_index(ge) &&
          ga__launch_fills_rows(w->dims[w->nd - 1] / vector);
  if (!*done)
    return GA_NO_ERROR;
  const ga_elem_wanted rows = {.kind = GA_ELEM_ROWS,
                               .wide = ga__walk_is_large(w),
                               .nd = w->nd,
                               .single = single};
  ga_elem_variant *v;
  GA_TRY(ga__variant_get(&v, ge, &rows));
  return ga__launch_rows(ge, v, w, args);
}

/* If the walk has more axes than a kernel may, loops over the leading ones. */
static int launch_walk(GpuElemwise *ge, const ga_walk *w, void *const *args) {
  bool is_cpu = ge->spec.is_cpu;
  if (!is_cpu && w->n > GPU_MOST)
    return launch_halves(ge, w, args);
  if (!is_cpu) {
    bool done;
    GA_TRY(try_rows(&done, ge, w, args));
    if (done)
      return GA_NO_ERROR;
  }
  ga_elem_wanted strided = {.kind = GA_ELEM_STRIDED,
                            .wide = !is_cpu && ga__walk_is_large(w),
                            .nd = w->nd < ge->max_nd ? w->nd : ge->max_nd};
  ga_elem_variant *v;
  GA_TRY(ga__variant_get(&v, ge, &strided));
  if (w->nd <= v->nd)
    return ga__launch_strided(ge, v, w, args);
  unsigned int outer = w->nd - v->nd;
  size_t launches = product(outer, w->dims);
  for (size_t i = 0; i < launches; i++) {
    ga_walk inner;
    ga__walk_inner(&inner, w, outer, i);
    GA_TRY(ga__launch_strided(ge, v, &inner, args));
  }
  return GA_NO_ERROR;
}

/* Launches a walk whose last axis is short, in pieces along the one before. */
static int try_narrow(bool *done, GpuElemwise *ge, const ga_walk *w,
                      void *const *args) {
  size_t piece = (size_t)GA_WALK_GAP * ge->vector;
  *done = w->nd < ge->max_nd && ga__elem_takes_gaps(&ge->spec) &&
          ga__walk_is_narrow(w, piece);
  if (!*done)
    return GA_NO_ERROR;
  unsigned int axis = w->nd - 2;
  size_t length = w->dims[axis], whole = length - length % piece;
  ga_walk part;
  ga__walk_part(&part, w, axis, 0, whole);
  ga__walk_cut(&part, ge->vector);
  GA_TRY(launch_walk(ge, &part, args));
  if (whole == length)
    return GA_NO_ERROR;
  ga__walk_part(&part, w, axis, whole, length - whole);
  return launch_walk(ge, &part, args);
}

/* ---- tiled ---- */

/* Shared memory for transposed tiles; more limits occupancy. */
#define MOST_LOCAL ((size_t)1 << 16)

/* Drops arguments from `turned` that do not fit into shared memory. */
static uint64_t fitting(const GpuElemwise *ge, uint64_t turned) {
  size_t room = ge->context->info.local_memory;
  if (room > MOST_LOCAL)
    room = MOST_LOCAL;
  for (unsigned int i = 0; i < ge->n; i++) {
    if (!(turned >> i & 1))
      continue;
    size_t bytes = ga__elem_tile_bytes(&ge->spec, i);
    if (bytes > room)
      turned &= ~((uint64_t)1 << i);
    else
      room -= bytes;
  }
  return turned;
}

/* Launches the tiled kernel if the layout gains by it. */
static int try_tiled(bool *done, GpuElemwise *ge, ga_walk *w, void *const *args) {
  uint64_t turned;
  *done = false;
  if (w->nd > ge->max_nd || w->n > GPU_MOST || ga__elemwise_has_index(ge) ||
      !ga__walk_turns(&turned, w))
    return GA_NO_ERROR;
  turned = fitting(ge, turned);
  ga_elem_wanted tiled = {.kind = GA_ELEM_TILED, .nd = w->nd};
  ga_elem_variant *v = ga__variant_find(ge, &tiled);
  bool waits = w->n < GA_ELEM_LARGE &&
               atomic_load_explicit(&ge->is_prepared, memory_order_relaxed);
  if (turned == 0 || (v == NULL && waits))
    return GA_NO_ERROR;
  GA_TRY(ga__variant_get(&v, ge, &tiled));
  gpukernel *k;
  GA_TRY(ga__variant_kernel(&k, ge, v));
  *done = ga__kernel_takes(k, ga__elem_tile_threads(&ge->spec));
  return *done ? ga__launch_tiled(ge, v, w, turned, args) : GA_NO_ERROR;
}

static int run_walk(GpuElemwise *ge, void *const *args, unsigned int nd,
                    const size_t *dims, size_t n) {
  ga_walk w;
  ga__walk_plan(&w, ge, args, nd, dims, n);
  uint64_t single;
  bool done = false;
  if (ga__walk_is_flat(&single, &w)) {
    ga_elem_wanted prepared = {.kind = GA_ELEM_STRIDED, .nd = 1};
    bool make = ga__variant_find(ge, &prepared) == NULL;
    GA_TRY(try_flat(&done, ge, args, n, single, make, &w));
  } else if (!ge->spec.is_cpu) {
    GA_TRY(try_tiled(&done, ge, &w, args));
    if (!done)
      GA_TRY(try_narrow(&done, ge, &w, args));
  }
  if (done)
    return GA_NO_ERROR;
  if (ge->spec.is_cpu) {
    ga__walk_turns(&single,
                   &w); /* for its order of axes: adjacent rows share cache lines */
    ga__walk_lengthen_rows(&w, LEAST_ROW);
  }
  return launch_walk(ge, &w, args);
}

int ga__elemwise_run(GpuElemwise *ge, void *const *args, unsigned int nd,
                     const size_t *dims) {
  const size_t n = product(nd, dims);
  uint64_t single;
  if (n == 0)
    return GA_NO_ERROR;
  if (is_plainly_flat(&single, ge, args, nd, dims)) {
    bool done;
    GA_TRY(try_flat(&done, ge, args, n, single, single == 0 || n == 1, NULL));
    if (done)
      return GA_NO_ERROR;
  }
  return run_walk(ge, args, nd, dims, n);
}

bool ga__elemwise_endangers(const GpuArray *out, const GpuArray *in) {
  ptrdiff_t between;
  return ga__buffers_meet(&between, out->data, in->data) && GpuArray_share(out, in) &&
         !ga__array_same_place(out, in);
}
