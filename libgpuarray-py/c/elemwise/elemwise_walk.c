/* Iteration space of an elementwise call: order of axes, collapse, tiling. */
#include "c/elemwise/elemwise_walk.h"

#include <stdlib.h>
#include <string.h>

static void move_axis(ga_walk *to, unsigned int i, const ga_walk *from,
                      unsigned int k) {
  to->dims[i] = from->dims[k];
  for (unsigned int a = 0; a < from->n_arrays; a++)
    to->strides[a][i] = from->strides[a][k];
}

static void swap_axes(ga_walk *w, unsigned int i, unsigned int k) {
  size_t dim = w->dims[i];
  w->dims[i] = w->dims[k];
  w->dims[k] = dim;
  for (unsigned int a = 0; a < w->n_arrays; a++) {
    ssize_t stride = w->strides[a][i];
    w->strides[a][i] = w->strides[a][k];
    w->strides[a][k] = stride;
  }
}

/* Sorts the axes by descending strides of the leader, so that arrays in a common order
 * collapse and the last axis is contiguous. */
static void sort_axes(ga_walk *w) {
  const ssize_t *strides = w->strides[w->leader];
  for (unsigned int i = 1; i < w->nd; i++)
    for (unsigned int k = i; k > 0 && labs(strides[k - 1]) < labs(strides[k]); k--)
      swap_axes(w, k - 1, k);
}

/* Reverses axes along which the leader has a negative stride. */
static void reverse_negative_axes(ga_walk *w) {
  for (unsigned int i = 0; i < w->nd; i++) {
    if (w->strides[w->leader][i] >= 0)
      continue;
    for (unsigned int k = 0; k < w->n_arrays; k++) {
      w->offset[k] += (w->dims[i] - 1) * (size_t)w->strides[k][i];
      w->strides[k][i] = -w->strides[k][i];
    }
  }
}

/* Strides by which places become the numbers of elements in C order: an index is an
 * array of items of one byte, whose offset is the number. */
static void number_elements(ssize_t *strides, const GpuArray *a) {
  ssize_t stride = 1;
  for (unsigned int axis = a->nd; axis-- > 0;) {
    strides[axis] = stride;
    stride *= (ssize_t)a->dimensions[axis];
  }
}

/* Adds argument i, without the axes of length 1. */
static void add_array(ga_walk *w, const GpuElemwise *ge, const GpuArray *a,
                      unsigned int i, unsigned int nd, const size_t *dims) {
  unsigned int k = w->n_arrays++, kept = 0, missing = nd - a->nd;
  w->arg[k] = i;
  w->is_input[k] = ga__elemwise_is_input(ge, i);
  const bool is_index = ga__elemwise_is_index(ge, i);
  ssize_t numbers[GA_MAX_NDIM];
  w->data[k] = is_index ? NULL : a->data;
  w->offset[k] = is_index ? 0 : a->offset;
  w->itemsize[k] = is_index ? 1 : gpuarray_get_elsize(a->typecode);
  if (is_index)
    number_elements(numbers, a);
  for (unsigned int axis = 0; axis < nd; axis++) {
    if (dims[axis] == 1)
      continue;
    bool stretched = axis < missing || a->dimensions[axis - missing] == 1;
    w->strides[k][kept++] =
        stretched ? 0 : (is_index ? numbers : a->strides)[axis - missing];
  }
  if (w->is_input[w->leader] && !w->is_input[k])
    w->leader = k;
}

void ga__walk_plan(ga_walk *w, const GpuElemwise *ge, void *const *args,
                   unsigned int nd, const size_t *dims, size_t n) {
  w->n = n;
  w->gap = 1;
  w->nd = w->n_arrays = w->leader = 0;
  for (unsigned int axis = 0; axis < nd; axis++)
    if (dims[axis] != 1)
      w->dims[w->nd++] = dims[axis];
  for (unsigned int i = 0; i < ge->n; i++)
    if (!ga__elemwise_is_scalar(ge, i))
      add_array(w, ge, args[i], i, nd, dims);
  ssize_t *strides[GA_ELEM_MAX_ARGS];
  for (unsigned int k = 0; k < w->n_arrays; k++) {
    strides[k] = w->strides[k];
    if (w->nd == 0)
      strides[k][0] = (ssize_t)w->itemsize[k];
  }
  if (w->nd == 0) {
    w->nd = 1;
    w->dims[0] = 1;
  }
  reverse_negative_axes(w);
  sort_axes(w);
  ga__shape_collapse(w->n_arrays, &w->nd, w->dims, strides);
}

/* ---- properties ---- */

/* The axis with array k's smallest stride. */
static unsigned int fastest_axis(const ga_walk *w, unsigned int k) {
  unsigned int best = w->nd - 1;
  for (unsigned int i = 0; i < w->nd; i++) {
    ssize_t stride = w->strides[k][i], least = w->strides[k][best];
    if (stride != 0 && (least == 0 || labs(stride) < labs(least)))
      best = i;
  }
  return best;
}

bool ga__walk_is_unit(const ga_walk *w) {
  for (unsigned int k = 0; k < w->n_arrays; k++) {
    ssize_t stride = w->strides[k][w->nd - 1];
    if (stride != (ssize_t)w->itemsize[k] && !(stride == 0 && w->is_input[k]))
      return false;
  }
  return true;
}

bool ga__walk_is_flat(uint64_t *single, const ga_walk *w) {
  *single = 0;
  for (unsigned int k = 0; k < w->n_arrays; k++)
    if (w->strides[k][0] == 0)
      *single |= (uint64_t)1 << w->arg[k];
  return w->nd == 1 && ga__walk_is_unit(w);
}

bool ga__walk_is_large(const ga_walk *w) {
  const size_t limit = (size_t)INT32_MAX - (1 << 20);
  if (w->n > limit)
    return true;
  for (unsigned int k = 0; k < w->n_arrays; k++) {
    size_t reach = 0;
    for (unsigned int axis = 0; axis < w->nd; axis++)
      reach +=
          (w->dims[axis] - 1) * ((size_t)labs(w->strides[k][axis]) / w->itemsize[k]);
    if (reach > limit)
      return true;
  }
  return false;
}

uint64_t ga__walk_vectors(const ga_walk *w, unsigned int axis, unsigned int vector) {
  uint64_t mask = 0;
  for (unsigned int k = 0; k < w->n_arrays; k++) {
    size_t bytes = vector * w->itemsize[k], bits = w->offset[k];
    for (unsigned int i = 0; i < w->nd; i++)
      if (i != axis)
        bits |= (size_t)w->strides[k][i];
    if (w->strides[k][axis] == (ssize_t)w->itemsize[k] && bits % bytes == 0)
      mask |= (uint64_t)1 << w->arg[k];
  }
  return mask;
}

bool ga__walk_is_rows(const ga_walk *w, unsigned int vector) {
  const unsigned int last = w->nd - 1;
  uint64_t all = 0;
  for (unsigned int k = 0; k < w->n_arrays; k++)
    all |= (uint64_t)1 << w->arg[k];
  return w->gap <= 1 && w->dims[last] % vector == 0 && ga__walk_is_unit(w) &&
         (ga__walk_vectors(w, last, vector) | ga__walk_ones(w)) == all;
}

uint64_t ga__walk_ones(const ga_walk *w) {
  uint64_t mask = 0;
  for (unsigned int k = 0; k < w->n_arrays; k++)
    if (w->strides[k][w->nd - 1] == 0)
      mask |= (uint64_t)1 << w->arg[k];
  return mask;
}

bool ga__walk_follows_rows(const ga_walk *w) {
  for (unsigned int k = 0; k < w->n_arrays; k++)
    if (fastest_axis(w, k) != w->nd - 1)
      return false;
  return true;
}

/* ---- mixed orders ---- */

#define SECTOR 32             /* bytes of a memory transaction */
#define LEAST_TILED (1 << 16) /* elements; below, caches do as well */
#define LEAST_SIDE 8          /* of both axes, for tiling */

void ga__walk_lengthen_rows(ga_walk *w, size_t least) {
  unsigned int last = w->nd - 1, longest = last;
  if (w->dims[last] >= least)
    return;
  for (unsigned int i = 0; i < last; i++)
    if (w->dims[i] > w->dims[longest])
      longest = i;
  if (longest != last)
    swap_axes(w, longest, last);
}

/* Moves `axis` back to `place`; the axes between move up. */
static void move_back(ga_walk *w, unsigned int axis, unsigned int place) {
  for (; axis < place; axis++)
    swap_axes(w, axis, axis + 1);
}

/* True if array k is contiguous along `axis`, not along the last one. Stride 0 along
 * the last axis does not count: caches serve it. */
static bool is_turned(const ga_walk *w, unsigned int k, unsigned int axis) {
  return w->strides[k][w->nd - 1] != 0 && fastest_axis(w, k) == axis &&
         labs(w->strides[k][axis]) < SECTOR;
}

bool ga__walk_turns(uint64_t *turned, ga_walk *w) {
  unsigned int last = w->nd - 1, axis = last;
  size_t bytes[GA_MAX_NDIM] = {0};
  if (w->n < LEAST_TILED || w->nd < 2)
    return false;
  for (unsigned int k = 0; k < w->n_arrays; k++) {
    unsigned int dense = fastest_axis(w, k);
    if (dense != last && is_turned(w, k, dense))
      bytes[dense] += w->itemsize[k];
  }
  for (unsigned int i = 0; i < last; i++)
    if (bytes[i] > bytes[axis])
      axis = i;
  if (axis == last || w->dims[last] < LEAST_SIDE)
    return false;
  if (w->dims[axis] < LEAST_SIDE) {
    move_back(w, axis, last);
    return false;
  }
  *turned = 0;
  for (unsigned int k = 0; k < w->n_arrays; k++)
    if (is_turned(w, k, axis))
      *turned |= (uint64_t)1 << w->arg[k];
  move_back(w, axis, last - 1);
  return true;
}

bool ga__walk_is_narrow(const ga_walk *w, size_t piece) {
  unsigned int last = w->nd - 1;
  return w->nd >= 2 && w->n >= LEAST_TILED && w->dims[last] < LEAST_SIDE &&
         w->dims[last - 1] >= piece &&
         w->strides[w->leader][last - 1] == (ssize_t)w->itemsize[w->leader];
}

void ga__walk_cut(ga_walk *w, unsigned int vector) {
  unsigned int last = w->nd++;
  size_t piece = (size_t)GA_WALK_GAP * vector;
  w->gap = GA_WALK_GAP;
  w->dims[last] = piece;
  for (unsigned int k = 0; k < w->n_arrays; k++) {
    w->strides[k][last] = w->strides[k][last - 2];
    w->strides[k][last - 2] *= (ssize_t)piece;
  }
  w->dims[last - 2] /= piece;
}

/* ---- sub-walks ---- */

void ga__walk_part(ga_walk *part, const ga_walk *w, unsigned int axis, size_t from,
                   size_t length) {
  *part = *w;
  part->n = w->n / w->dims[axis] * length;
  part->dims[axis] = length;
  for (unsigned int k = 0; k < w->n_arrays; k++)
    part->offset[k] += from * (size_t)w->strides[k][axis];
}

void ga__walk_inner(ga_walk *inner, const ga_walk *w, unsigned int outer, size_t i) {
  *inner = *w;
  inner->nd = w->nd - outer;
  for (unsigned int axis = 0; axis < inner->nd; axis++)
    move_axis(inner, axis, w, axis + outer);
  for (unsigned int axis = outer; axis-- > 0; i /= w->dims[axis]) {
    inner->n /= w->dims[axis];
    for (unsigned int k = 0; k < w->n_arrays; k++)
      inner->offset[k] += i % w->dims[axis] * (size_t)w->strides[k][axis];
  }
}
