/* A custom kernel's launch as a step of a plan. */
#ifndef GA_C_KERNEL_ROUTINE_H
#define GA_C_KERNEL_ROUTINE_H

#include <gpuarray/array.h>

#define GA_PLAN_KERNEL "kernel" /* routine name */

/* Source of an argument, with the meaning of its number. */
enum ga_argument_source {
  GA_OF_ARRAY,   /* array, by index */
  GA_OF_INTEGER, /* host integer, by index behind the geometry */
  GA_OF_OFFSET,  /* byte offset of an array in its buffer */
  GA_OF_STRIDE,  /* stride: array's index * GA_MAX_NDIM + axis */
  GA_OF_BITS,    /* the bit pattern itself */
  GA_ARGUMENT_SOURCES
};

/* `params`: dimensions of the grid, or 0 for automatic geometry; then per argument
 * typecode, source and number. `ints`: the geometry (automatic: work items, blocks and
 * threads, 0 to choose; else blocks and threads per dimension), bytes of shared memory,
 * then the integer arguments. */
typedef struct ga_kernel_routine {
  gpucontext *context;
  const char *source, *name;
  unsigned int n_params, n_arrays, n_ints;
  const long long *params, *ints;
  const GpuArray *const *arrays;
} ga_kernel_routine;

/* Compiles the kernel, unless cached, and queues the launch. GA_VALUE_ERROR for indices
 * out of range or negative geometry; the kernel's own accesses are not checked. */
int ga__kernel_routine(const ga_kernel_routine *l);

#endif
