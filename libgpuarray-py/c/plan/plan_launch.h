/* A launch of a program's own kernel as a step of a plan. */
#ifndef GA_C_PLAN_LAUNCH_H
#define GA_C_PLAN_LAUNCH_H

#include <gpuarray/array.h>

#define GA_PLAN_KERNEL "kernel" /* the routine's name */

/* Where an argument comes from, and what the number beside it means. */
enum ga_argument_source {
  GA_OF_ARRAY,   /* the memory of an array, by its place among them */
  GA_OF_INTEGER, /* a host integer, by its place behind the geometry */
  GA_OF_OFFSET,  /* where an array begins in its memory, in bytes */
  GA_OF_STRIDE,  /* an array's place times GA_MAX_NDIM, and an axis */
  GA_OF_BITS,    /* the number itself: what the argument's bytes are */
  GA_ARGUMENT_SOURCES
};

/* `params` are the dimensions of the grid, or 0 for a number of work items; then for
 * each argument its typecode, a source, and that one's number. `ints` begin with the
 * geometry: the work items, blocks and threads (0: as it fits), or blocks and threads
 * for each dimension; and then the bytes of shared memory. */
typedef struct ga_plan_launch {
  gpucontext *context;
  const char *source, *name;
  unsigned int n_params, n_arrays, n_ints;
  const long long *params, *ints;
  const GpuArray *const *arrays;
} ga_plan_launch;

/* Compiles the kernel, unless the context has it, and queues the launch.
 * GA_VALUE_ERROR for places that are not there and negative geometry. What the kernel
 * does with its numbers nothing checks. */
int ga__plan_launch(const ga_plan_launch *l);

#endif
