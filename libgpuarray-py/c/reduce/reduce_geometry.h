/* Planning of reductions, without a device: axes and launch geometry. */
#ifndef GA_C_REDUCE_GEOMETRY_H
#define GA_C_REDUCE_GEOMETRY_H

#include "c/array/array.h"
#include "c/base/counts.h"
#include "c/reduce/reduce_kernel.h"

/* Kept or reduced axes, outermost first. strides[i]: input i; strides[n]: the results,
 * in elements (kept axes), or the positions (reduced axes). */
typedef struct ga_axis_group {
  unsigned int nd;
  size_t dims[GA_MAX_NDIM];
  ssize_t strides[GA_REDUCE_INPUTS + 1][GA_MAX_NDIM];
} ga_axis_group;

/* A call's problem; counts are at least 1 once the axes are split. */
typedef struct ga_reduce_problem {
  unsigned int n;
  const GpuArray *arrays[GA_REDUCE_INPUTS]; /* NULL: scalar */
  uint32_t numbers; /* bit i: array i has no memory, its elements are their numbers */
  size_t offsets[GA_REDUCE_INPUTS];
  size_t out_offset; /* elements */
  size_t position;   /* position of the first element */
  bool has_position;
  size_t results, reduced;
  ga_axis_group kept, inner; /* inner: the reduced axes */
} ga_reduce_problem;

/* Launch geometry: blocks of `lanes` by `items`, a grid of `groups` by `splits`.
 * lanes_outer: items along the outer axes; for CPU columns the width of a tile. */
typedef struct ga_reduce_geometry {
  enum ga_reduce_kind kind;
  size_t lanes, items, lanes_outer;
  size_t tiles, groups;
  size_t outer, outer_per, inner, inner_per;
  size_t splits_inner, splits;
} ga_reduce_geometry;

/* Bytes of an element: numbers are an array of items of one byte, whose offset is the
 * number. */
static inline size_t ga__reduce_itemsize(const ga_reduce_problem *p, unsigned int i) {
  return p->numbers >> i & 1 ? 1 : GpuArray_ITEMSIZE(p->arrays[i]);
}

/* Splits the axes of p->arrays, broadcast to `dims`, into kept ones and those in
 * list[0..n), which are reduced: forward in memory, smallest stride innermost, merged.
 * Positions, if wanted, count in the order of the list. */
void ga__reduce_split_axes(ga_reduce_problem *p, unsigned int nd, const size_t *dims,
                           unsigned int n, const unsigned int *list);
/* Adjacent items take the contiguous axis, unless it is too short. */
enum ga_reduce_kind ga__reduce_choose_kind(const ga_reduce_problem *p, bool is_cpu);
/* Reverses the innermost reduced axis if positions descend along it. */
void ga__reduce_face_positions(ga_reduce_problem *p);
/* GA_REDUCE_UNIT, GA_REDUCE_PACKED with its bits, both or 0, for items along the
 * group's innermost axis. */
int ga__reduce_mode(const ga_reduce_problem *p, const ga_axis_group *g);
/* True if aligned vectors across columns begin before the array. */
bool ga__reduce_is_shifted(const ga_reduce_problem *p);
/* Geometry for kernels of `shape` with at most `threads` per block; `results` in lines
 * of `across`, with room for `slack` more. */
ga_reduce_geometry ga__reduce_geometry(const ga_device_info *device,
                                       enum ga_reduce_kind kind, ga_reduce_shape shape,
                                       size_t threads, size_t results, size_t across,
                                       size_t slack, size_t outer, size_t inner);
/* Splits the reduced elements into at most `wanted` parts, along the outer axes first;
 * a split of the inner axis is a multiple of `grain`. */
void ga__reduce_set_splits(ga_reduce_geometry *g, size_t wanted, size_t grain_outer,
                           size_t grain);

#endif
