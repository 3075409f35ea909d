/* Iteration space of an elementwise call. Pure: no device. */
#ifndef GA_C_ELEMWISE_WALK_H
#define GA_C_ELEMWISE_WALK_H

#include "c/elemwise/elemwise_state.h"

/* Adjacent threads take adjacent elements of the last axis; strides of the leader are
 * not negative. Arrays are numbered without the scalars. */
typedef struct ga_walk {
  unsigned int nd, n_arrays;
  unsigned int leader; /* first output: determines the order of axes */
  unsigned int gap;    /* distance of a thread's elements along the last axis */
  size_t n;            /* number of elements */
  size_t dims[GA_MAX_NDIM];
  bool is_input[GA_ELEM_MAX_ARGS];
  unsigned int arg[GA_ELEM_MAX_ARGS]; /* argument number */
  gpudata *data[GA_ELEM_MAX_ARGS];
  size_t offset[GA_ELEM_MAX_ARGS]; /* bytes */
  size_t itemsize[GA_ELEM_MAX_ARGS];
  ssize_t strides[GA_ELEM_MAX_ARGS][GA_MAX_NDIM]; /* bytes */
} ga_walk;

/* Plans the walk over `n` elements, collapsed to as few axes as possible. */
void ga__walk_plan(ga_walk *w, const GpuElemwise *ge, void *const *args,
                   unsigned int nd, const size_t *dims, size_t n);

/* True if every array is contiguous; *single has a bit per argument that is a single
 * element instead. */
bool ga__walk_is_flat(uint64_t *single, const ga_walk *w);
/* True if every stride along the last axis is 1 element, or 0 for inputs. */
bool ga__walk_is_unit(const ga_walk *w);
/* Bit mask of arguments that are contiguous along `axis` and, at every other index,
 * aligned to `vector` elements. */
uint64_t ga__walk_vectors(const ga_walk *w, unsigned int axis, unsigned int vector);
/* True if all rows are of whole vectors, aligned in every array that has stride 1 along
 * the last axis; the rest have stride 0. */
bool ga__walk_is_rows(const ga_walk *w, unsigned int vector);
/* Bit mask of arguments with stride 0 along the last axis. */
uint64_t ga__walk_ones(const ga_walk *w);
/* True if the last axis has the smallest stride in every array. */
bool ga__walk_follows_rows(const ga_walk *w);
/* True if offsets need more than 32 bits, with a margin of a block. */
bool ga__walk_is_large(const ga_walk *w);

/* Swaps the longest axis to the end if the last one has under `least` elements. */
void ga__walk_lengthen_rows(ga_walk *w, size_t least);

/* True if tiling over two axes pays, since arrays differ in order: these become the
 * last two, and *turned has a bit per argument contiguous along the last but one. If
 * false, the axes may have been reordered for the better. */
bool ga__walk_turns(uint64_t *turned, ga_walk *w);

/* After ga__walk_turns: true if the last axis is short, and the leader is contiguous
 * along the one before, with at least `piece` elements. */
bool ga__walk_is_narrow(const ga_walk *w, size_t piece);
/* Cuts the last axis but one of such a walk (a multiple of GA_WALK_GAP * vector) into
 * pieces: the memory between the elements of a piece is used up before the next piece,
 * and adjacent threads take adjacent elements, `vector` each. */
#define GA_WALK_GAP 128
void ga__walk_cut(ga_walk *w, unsigned int vector);

/* The sub-walk from `from` on, `length` long, along `axis`. */
void ga__walk_part(ga_walk *part, const ga_walk *w, unsigned int axis, size_t from,
                   size_t length);
/* The sub-walk at linear index `i` of the first `outer` axes, without these. */
void ga__walk_inner(ga_walk *inner, const ga_walk *w, unsigned int outer, size_t i);

#endif
