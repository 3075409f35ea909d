/* How the arrays of an elementwise call are walked together. Pure: no device. */
#ifndef GA_C_ELEMWISE_WALK_H
#define GA_C_ELEMWISE_WALK_H

#include "c/elemwise/elemwise_run.h"

/* Arrays are numbered among themselves; the last axis is walked by neighbouring
 * threads, and no stride of the leader is negative. */
typedef struct ga_walk {
  unsigned int nd, n_arrays;
  unsigned int leader; /* the first output: the order of the axes is its order */
  unsigned int gap;    /* between the elements of a thread along the last axis */
  size_t n;            /* elements */
  size_t dims[GA_MAX_NDIM];
  bool is_input[GA_ELEM_MAX_ARGS];
  unsigned int arg[GA_ELEM_MAX_ARGS]; /* its number among the arguments */
  gpudata *data[GA_ELEM_MAX_ARGS];
  size_t offset[GA_ELEM_MAX_ARGS]; /* bytes */
  size_t itemsize[GA_ELEM_MAX_ARGS];
  ssize_t strides[GA_ELEM_MAX_ARGS][GA_MAX_NDIM]; /* bytes */
} ga_walk;

/* The walk over a shape of `n` elements, along as few axes as the arrays permit. */
void ga__walk_plan(ga_walk *w, const GpuElemwise *ge, void *const *args,
                   unsigned int nd, const size_t *dims, size_t n);

/* Whether it is along one block in every array; *single has a bit for each argument
 * that is one element instead. */
bool ga__walk_is_flat(uint64_t *single, const ga_walk *w);
/* Whether along the last axis each array's elements are neighbours, or, for inputs, one
 * and the same. */
bool ga__walk_is_unit(const ga_walk *w);
/* A bit for each argument whose elements along `axis` are neighbours, and begin, at
 * every position along the others, at a multiple of `vector` elements. */
uint64_t ga__walk_vectors(const ga_walk *w, unsigned int axis, unsigned int vector);
/* A bit for each argument that has one element along the last axis. */
uint64_t ga__walk_ones(const ga_walk *w);
/* Whether each array's neighbours, or what is nearest to that, are along the last axis.
 */
bool ga__walk_follows_rows(const ga_walk *w);
/* Whether 32 bits are too few for positions, with room for a block beyond the end. */
bool ga__walk_is_large(const ga_walk *w);

/* Makes the longest axis the last if the last has under `least` elements. */
void ga__walk_lengthen_rows(ga_walk *w, size_t least);

/* Whether arrays differ so much in order that walking in squares of two axes pays: then
 * these are the last two, and *turned has a bit for each argument whose neighbours are
 * along the last but one. If not, the walk may have been put in a better order. */
bool ga__walk_turns(uint64_t *turned, ga_walk *w);

/* Whether the order that ga__walk_turns has left has few elements along the last axis,
 * the neighbours of the leader along the one before, and there at least `piece`. */
bool ga__walk_is_narrow(const ga_walk *w, size_t piece);
/* Walks such an order, whose last axis but one has a multiple of GA_WALK_GAP * vector
 * elements, in pieces of so many: all that lies in memory between the elements of a
 * piece is used before the next, and neighbouring threads take neighbouring elements,
 * `vector` of them each. */
#define GA_WALK_GAP 128
void ga__walk_cut(ga_walk *w, unsigned int vector);

/* The part of `w` from `from` on, `length` long, along `axis`. */
void ga__walk_part(ga_walk *part, const ga_walk *w, unsigned int axis, size_t from,
                   size_t length);
/* The part of `w` at position `i` of its first `outer` axes, without them. */
void ga__walk_inner(ga_walk *inner, const ga_walk *w, unsigned int outer, size_t i);

#endif
