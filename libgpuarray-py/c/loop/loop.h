/* A loop as one kernel, where an element of an iteration needs only itself, and what is
 * reduced of all elements: a thread runs all iterations of its elements, with the
 * states in registers. With reductions one group has all elements. */
#ifndef GA_C_LOOP_H
#define GA_C_LOOP_H

#include "c/elemwise/elemwise_state.h"
#include "c/reduce/reduce_object.h"

enum ga_loop_kind {
  GA_LOOP_STATE, /* read before the first iteration, then carried on */
  GA_LOOP_SAME,  /* read once */
  GA_LOOP_ROW,   /* read by each iteration, a row further on */
  GA_LOOP_TRACE, /* written by each iteration, a row further on */
  GA_LOOP_FINAL  /* a state, written after the last iteration */
};

/* How a kernel goes through the elements. */
enum ga_loop_form {
  GA_LOOP_IN_ITEMS,  /* GPU: an item has all iterations of an element */
  GA_LOOP_IN_GROUP,  /* one group has an item for each element, for reductions */
  GA_LOOP_IN_PIECES, /* CPU: an iteration goes along a piece of a row, as many elements
                        at once as a vector has; with reductions one has all */
  GA_LOOP_IN_VECTORS /* the same of pieces of at most one vector */
};

/* An array, and the value that its elements are read into or written from. */
typedef struct ga_loop_operand {
  enum ga_loop_kind kind;
  unsigned int value, next; /* next: the value that a state is carried on as */
  unsigned int factor;      /* of an affine state: 1 + its factor's operand; or 0 */
  bool is_factor;           /* a state that no result needs, see loop_chunks.c */
  bool is_sum;              /* a state that iterations only add to */
  bool is_zero;             /* of a state or constant: zeros, whatever the array has */
  const GpuArray *array;
  ssize_t row;                  /* bytes from row to row */
  ssize_t strides[GA_MAX_NDIM]; /* bytes, along the axes of the loop */
  bool lacks[GA_MAX_NDIM];      /* axes of the loop that the array has not */
} ga_loop_operand;

/* An elementwise expression of an iteration, or a reduction to one element; values in
 * the order of its arguments. */
typedef struct ga_loop_step {
  const GpuElemwise *ge; /* or NULL */
  const GpuReduction *reduction;
  const unsigned int *outs, *ins;
} ga_loop_step;

/* A host integer; `is_iteration`: the number of the iteration. */
typedef struct ga_loop_integer {
  unsigned int value;
  bool is_iteration;
  long long integer;
} ga_loop_integer;

typedef struct ga_loop {
  unsigned int n_operands, n_steps, n_integers, n_values;
  ga_loop_operand *operands;
  ga_loop_step *steps;
  ga_loop_integer *integers;
  const unsigned int *root; /* per value: the value that it is a view of, or itself */
  uint32_t n_iterations;    /* with chunks: of each, fewer in the last one */
  uint32_t n_total; /* iterations of all chunks, which run side by side; 0: none */
  unsigned int chunk_axis;
  int stop; /* the state, a bool, after which no iteration matters; or -1 */
  bool reduces;
  enum ga_loop_form form; /* set by the launch, as is `piece` */
  size_t piece;           /* most elements of a piece */
  unsigned int nd;        /* axes of an iteration's elements */
  size_t dims[GA_MAX_NDIM];
} ga_loop;

#define GA_LOOP_MOST 8192 /* most elements of a loop that reduces */

static inline bool ga__loop_has_pieces(enum ga_loop_form form) {
  return form == GA_LOOP_IN_PIECES || form == GA_LOOP_IN_VECTORS;
}
/* Most elements of a piece, in so many bytes of local memory. */
size_t ga__loop_piece(const ga_loop *l, size_t local_memory);

/* The kernel's source. Arguments: ga_size elements, ga_uint iterations, in pieces
 * ga_size lengths of a row and of a piece of it, a ga_size length per axis but the
 * first, with chunks a ga_uint iterations of all, a ga_long per host integer, and per
 * operand its pointer, byte offset, row stride (rows and traces) and strides, in
 * elements. */
int ga__loop_source(ga_source *out, const ga_loop *l, bool is_cpu);
/* True if operand i's stride along axis k is an argument, and not in the text. */
bool ga__loop_has_stride(const ga_loop *l, unsigned int i, unsigned int k);

/* True if a group can reduce so within a loop. */
bool ga__loop_takes_reduction(const GpuReduction *gr);

/* True if one kernel takes the loop's arguments, and its texts fit together. */
bool ga__loop_fits_kernel(const ga_loop *l);

/* Merges axes along which every operand is contiguous. */
void ga__loop_merge_axes(ga_loop *l);

/* Queues the kernel; *done is false if it reduces too many elements. */
int ga__loop_launch(bool *done, gpucontext *ctx, const ga_loop *l);

/* The same of a loop with factors: in chunks, where that is faster. */
int ga__loop_launch_affine(bool *done, gpucontext *ctx, const ga_loop *l);

/* Number of elements. */
size_t ga__loop_count(const ga_loop *l);

#endif
