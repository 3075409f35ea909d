/* Reductions without a device: which axes to walk how, and in what blocks. */
#ifndef GA_C_REDUCE_GEOMETRY_H
#define GA_C_REDUCE_GEOMETRY_H

#include "c/array/array.h"
#include "c/reduce/reduce_source.h"

/* Kept or reduced axes, outermost first. Row `i` of `strides` belongs to input i; row
 * `n` to the results, in elements, for kept axes, or to positions, for reduced ones. */
typedef struct ga_axis_group {
  unsigned int nd;
  size_t dims[GA_MAX_NDIM];
  ssize_t strides[GA_REDUCE_INPUTS + 1][GA_MAX_NDIM];
} ga_axis_group;

/* What a call reduces; results and reduced are at least 1 once there are axes. */
typedef struct ga_reduce_problem {
  unsigned int n;
  const GpuArray *arrays[GA_REDUCE_INPUTS]; /* NULL for a scalar */
  size_t offsets[GA_REDUCE_INPUTS];
  size_t out_offset; /* elements */
  size_t position;   /* of the first element */
  bool has_position;
  size_t results, reduced;
  ga_axis_group kept, inner; /* `inner`: the reduced axes */
} ga_reduce_problem;

/* How the work is cut. Blocks are `lanes` by `items`; there are `groups` by `splits` of
 * them. Across columns on a CPU, `lanes_outer` are those of a tile. */
typedef struct ga_reduce_geometry {
  enum ga_reduce_kind kind;
  size_t lanes, items, lanes_outer;
  size_t tiles, groups;
  size_t outer, outer_per, inner, inner_per;
  size_t splits_inner, splits;
} ga_reduce_geometry;

/* Sorts the axes of p->arrays, broadcast to `dims`, into kept ones and those of
 * list[0..n), which are reduced: forwards in memory, the nearest neighbours innermost,
 * as few as can be. Positions, if asked for, count in the order of the list. */
void ga__reduce_split_axes(ga_reduce_problem *p, unsigned int nd, const size_t *dims,
                           unsigned int n, const unsigned int *list);
/* Neighbouring items walk where memory is contiguous, unless that axis is too short. */
enum ga_reduce_kind ga__reduce_choose_kind(const ga_reduce_problem *p, bool is_cpu);
/* Turns the innermost reduced axis, if need be, so that positions ascend along it. */
void ga__reduce_face_positions(ga_reduce_problem *p);
/* GA_REDUCE_UNIT, or GA_REDUCE_PACKED with its bits, or both, or 0, where neighbours
 * walk along the innermost axis of the group. */
int ga__reduce_mode(const ga_reduce_problem *p, const ga_axis_group *g);
/* Whether packets across columns begin before those of an array do. */
bool ga__reduce_is_shifted(const ga_reduce_problem *p);
/* For kernels of `shape`, with blocks of at most `threads`; `results` in lines of
 * `across`, with room for `slack` more. */
ga_reduce_geometry ga__reduce_geometry(const ga_device_info *device,
                                       enum ga_reduce_kind kind, ga_reduce_shape shape,
                                       size_t threads, size_t results, size_t across,
                                       size_t slack, size_t outer, size_t inner);
/* Cuts the reduced elements into at most `wanted` splits, along the outer axes first; a
 * split of the inner axis is a multiple of `grain`. */
void ga__reduce_set_splits(ga_reduce_geometry *g, size_t wanted, size_t grain_outer,
                           size_t grain);

static inline size_t ga__ceil_div(size_t a, size_t b) {
  return a / b + (a % b != 0);
}

#endif
