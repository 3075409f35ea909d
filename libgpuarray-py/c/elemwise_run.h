/* The inside of a GpuElemwise, between the file that checks calls and the one that runs
 * them. */
#ifndef GA_C_ELEMWISE_RUN_H
#define GA_C_ELEMWISE_RUN_H

#include "c/elemwise.h"
#include "c/elemwise_source.h"

/* A kernel of the object, for one kind of layout. */
typedef struct ga_elem_variant {
  struct ga_elem_variant *next;
  bool flat, wide;
  unsigned int nd;             /* of a strided one */
  uint64_t single;             /* of a flat one: arguments of one element */
  _Atomic(gpukernel *) kernel; /* NULL until a launch needs it */
} ga_elem_variant;

struct _GpuElemwise {
  gpucontext *context;
  bool borrowed; /* by its context, which it does not keep alive */
  unsigned int n, n_out, n_arrays;
  gpuelemwise_arg *args;
  char *preamble, *expr;
  ga_elem_spec spec;
  unsigned int max_nd; /* axes of a strided kernel, so that its arguments fit */
  unsigned int vector; /* elements of a thread of the flat kernel */
  _Atomic(ga_elem_variant *) variants;
  pthread_mutex_t lock; /* of adding a variant */
};

/* A value of the host. */
static inline bool ga__elemwise_is_scalar(const GpuElemwise *ge, unsigned int i) {
  return ge->args[i].flags & GE_SCALAR;
}

/* An array that is read only. */
static inline bool ga__elemwise_is_input(const GpuElemwise *ge, unsigned int i) {
  return !(ge->args[i].flags & GE_WRITE);
}

#endif
