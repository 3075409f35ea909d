/* Iteration space and launches of indexing operations. */
#ifndef GA_C_INDEX_WALK_H
#define GA_C_INDEX_WALK_H

#include "c/array/array.h"
#include "c/index/index_source.h"

#define GA_INDEX_AXES (GA_MAX_NDIM + 1) /* one more, for the bytes of an element */

typedef struct ga_index_operand {
  gpudata *data;                  /* borrowed; NULL: none */
  size_t offset;                  /* bytes */
  size_t unit;                    /* bytes of the kernel's element */
  ssize_t strides[GA_INDEX_AXES]; /* bytes */
} ga_index_operand;

/* An index array, and the axis that it indexes. */
typedef struct ga_index_array {
  ga_index_operand at;
  int typecode;
  size_t length;
  ssize_t step; /* stride of the axis, bytes */
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
  gpudata *word; /* error word; NULL: the context's */
} ga_index_walk;

/* The caller's indices. */
typedef struct ga_indices {
  unsigned int n, first_axis;
  const GpuArray *const *arrays;
  int mode;
  const char *operation;
} ga_indices;

/* Checks the indices against `a` and initializes the walk over the result's shape,
 * index arrays included; *place becomes the layout of `a` in it. */
int ga__index_begin(ga_index_walk *w, ga_index_operand *place, const GpuArray *a,
                    const ga_indices *ix);
/* The same of an operation that writes values of `v` into `a`. */
int ga__index_begin_write(ga_index_walk *w, const GpuArray *a, const ga_indices *ix,
                          const GpuArray *v, enum ga_index_op op);
/* The same over the broadcast shape of the indices alone, into a C-contiguous table of
 * *slots entries of `unit` bytes, one per element of the indexed axes. */
int ga__index_begin_table(ga_index_walk *w, size_t *slots, const GpuArray *a,
                          const ga_indices *ix, size_t unit);
/* Operand for an array that broadcasts to the walk's shape. */
int ga__index_operand(ga_index_operand *o, const ga_index_walk *w, const GpuArray *a);
/* Operand for a C-contiguous block of `unit` bytes per position. */
void ga__index_block(ga_index_operand *o, const ga_index_walk *w, gpudata *data,
                     size_t unit);
/* Number of positions. */
size_t ga__index_count(const ga_index_walk *w);
/* Launches the walk and modifies it. */
int ga__index_run(ga_index_walk *w);

/* GpuArray_take into `out`, and GpuArray_put, on checked arrays of one type without
 * aliasing. Positions where `keep` (or NULL) is 0 are skipped; its axes are the
 * result's from first_axis on. */
int ga__index_take(const GpuArray *out, const GpuArray *a, const ga_indices *ix,
                   gpudata *word);
int ga__index_put(const GpuArray *a, const ga_indices *ix, const GpuArray *v,
                  const GpuArray *keep);
/* Slot number of each index, in C order: a new vector of uint32, or uint64 if needed.
 * Slots number the elements of the indexed axes in C order; all ones is out of
 * bounds. */
int ga__index_slots(GpuArray *out, const GpuArray *a, const ga_indices *ix);

/* True if every element is aligned to its size. */
bool ga__index_has_words(const GpuArray *a);

/* Slot-parallel scatter of a walk that ga__index_put has begun: for each slot, in C
 * order, the table has the winning index number from 1, or 0 (uint32). Only if elements
 * are aligned to their size. */
bool ga__index_may_put_by_place(const GpuArray *a, const GpuArray *v);
int ga__index_put_by_place(const ga_index_walk *w, const GpuArray *a,
                           const ga_indices *ix, gpudata *table);

/* Deterministic GpuArray_add_at of any type, on arrays as for ga__index_put. */
int ga__index_add_in_order(const GpuArray *a, const ga_indices *ix, const GpuArray *v);

/* GA_VALUE_ERROR unless it is a public mode. */
int ga__index_check_mode(int mode, const char *operation);
/* Checks the arrays of put, add_at and the like. */
int ga__index_check_target(const GpuArray *a, const GpuArray *v, const char *operation);
/* Values in the type of `a` and not aliasing it: `v` itself or *made, which the caller
 * always clears. */
int ga__index_values(const GpuArray **out, GpuArray *made, const GpuArray *a,
                     const GpuArray *v);
/* Copies of index arrays and values that alias the target. */
typedef struct ga_index_copies {
  const GpuArray *values;
  GpuArray converted;
  unsigned int n;
  GpuArray copies[GA_MAX_NDIM];
  const GpuArray *list[GA_MAX_NDIM];
} ga_index_copies;
/* Replaces index arrays that alias `a` by copies, and the values as ga__index_values.
 * Clear it also on failure. */
int ga__index_part(ga_index_copies *copies, ga_indices *ix, const GpuArray *a,
                   const GpuArray *v);
void ga__index_copies_clear(ga_index_copies *copies);

#endif
