/* How the arrays of an indexing operation are walked together, and its launches. */
#ifndef GA_C_INDEX_WALK_H
#define GA_C_INDEX_WALK_H

#include "c/array/array.h"
#include "c/index/index_source.h"

#define GA_INDEX_AXES (GA_MAX_NDIM + 1) /* one more for the bytes of an element */

typedef struct ga_index_operand {
  gpudata *data;                  /* borrowed; NULL: the operation has no such array */
  size_t offset;                  /* bytes */
  size_t unit;                    /* bytes of what the kernel counts in */
  ssize_t strides[GA_INDEX_AXES]; /* bytes */
} ga_index_operand;

/* An index array and the axis that it stands for, in the array that it leads into. */
typedef struct ga_index_array {
  ga_index_operand at;
  int typecode;
  size_t length;
  ssize_t step; /* bytes */
} ga_index_array;

typedef struct ga_index_walk {
  gpucontext *context;
  const char *operation; /* for messages */
  enum ga_index_op op;
  int mode;
  int typecode; /* of the elements */
  unsigned int nd;
  size_t dims[GA_INDEX_AXES];
  ga_index_operand dst, src, keep;
  unsigned int n;
  ga_index_array index[GA_MAX_NDIM];
  gpudata *word; /* reports go there, or to the context if NULL */
} ga_index_walk;

/* What a caller gives. */
typedef struct ga_indices {
  unsigned int n, first_axis;
  const GpuArray *const *arrays;
  int mode;
  const char *operation;
} ga_indices;

/* Checks the indices against `a`, and makes the walk over the shape of the result: all
 * index arrays stand in it, and *place, of the walk, is filled with how `a` lies. */
int ga__index_begin(ga_index_walk *w, ga_index_operand *place, const GpuArray *a,
                    const ga_indices *ix);
/* The same over the broadcast shape of the indices alone, and over places in a
 * C-contiguous table of `unit` bytes for each element of the indexed axes. *slots is
 * how many it has. */
int ga__index_begin_table(ga_index_walk *w, size_t *slots, const GpuArray *a,
                          const ga_indices *ix, size_t unit);
/* Fills an operand that is an array of the walk's shape, or broadcasts to it. */
int ga__index_operand(ga_index_operand *o, const ga_index_walk *w, const GpuArray *a);
/* A block of `unit` bytes for each position of the walk, in C order. */
void ga__index_block(ga_index_operand *o, const ga_index_walk *w, gpudata *data,
                     size_t unit);
/* Elements of the walk. */
size_t ga__index_count(const ga_index_walk *w);
/* Launches it; changes the walk. */
int ga__index_run(ga_index_walk *w);

/* The same as GpuArray_take into `out`, and GpuArray_put: arrays are checked, `out` and
 * `v` have the type of `a`, and what is written overlaps nothing that is read.
 * Positions where `keep`, or NULL, is 0 are left alone: its axes are those of the
 * result from first_axis on. */
int ga__index_take(const GpuArray *out, const GpuArray *a, const ga_indices *ix,
                   gpudata *word);
int ga__index_put(const GpuArray *a, const ga_indices *ix, const GpuArray *v,
                  const GpuArray *keep);
/* Where each index leads: a new array in one axis, of the indices in C order, of uint32
 * or, if there are more places, uint64, that number the elements of the indexed axes in
 * C order; all ones for an index out of bounds. */
int ga__index_slots(GpuArray *out, const GpuArray *a, const ga_indices *ix);
/* A new bool array of the broadcast shape of the indices: which one is the last that
 * leads to its place. GA_XLARGE_ERROR for 2^31 and more. */
int ga__index_winners(GpuArray *out, const GpuArray *a, const ga_indices *ix);

/* Puts, into the places of a walk that ga__index_put has begun, what a table says: for
 * each element of the indexed axes, in C order, the number of an index counted from 1,
 * or 0 (uint32). Of arrays whose elements lie where words of their size may. */
bool ga__index_may_put_by_place(const GpuArray *a, const GpuArray *v);
int ga__index_put_by_place(const ga_index_walk *w, const GpuArray *a,
                           const ga_indices *ix, gpudata *table);

/* GpuArray_add_at of any type, on arrays as of ga__index_put, in C order. */
int ga__index_add_in_order(const GpuArray *a, const ga_indices *ix, const GpuArray *v);

/* GA_VALUE_ERROR for what is none of the public modes. */
int ga__index_check_mode(int mode, const char *operation);
/* Checks what put, add_at and their like are given. */
int ga__index_check_target(const GpuArray *a, const GpuArray *v, const char *operation);
/* The values, in the type of `a` and apart from it: `v` itself, or *made, which the
 * caller clears in any case. */
int ga__index_values(const GpuArray **out, GpuArray *made, const GpuArray *a,
                     const GpuArray *v);
/* What stands in for index arrays and values that overlap an array. */
typedef struct ga_index_copies {
  const GpuArray *values;
  GpuArray converted;
  unsigned int n;
  GpuArray copies[GA_MAX_NDIM];
  const GpuArray *list[GA_MAX_NDIM];
} ga_index_copies;
/* Copies of those index arrays that overlap `a` stand in for them from here on; of the
 * values as ga__index_values does. Cleared also on failure. */
int ga__index_part(ga_index_copies *copies, ga_indices *ix, const GpuArray *a,
                   const GpuArray *v);
void ga__index_copies_clear(ga_index_copies *copies);

#endif
