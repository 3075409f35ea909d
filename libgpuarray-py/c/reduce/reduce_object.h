/* What a GpuReduction is made of. */
#ifndef GA_C_REDUCE_OBJECT_H
#define GA_C_REDUCE_OBJECT_H

#include <stdatomic.h>

#include "c/reduce/reduce_source.h"

/* A kernel that was asked for once; never removed. */
typedef struct ga_reduce_variant {
  enum ga_reduce_kind kind;
  bool is_parts, is_wide;
  unsigned int nk, nr;
  gpukernel *kernel; /* the context's */
  struct ga_reduce_variant *next;
} ga_reduce_variant;

struct _GpuReduction {
  gpucontext *context;
  bool borrowed; /* the context owns the object, which does not keep it alive */
  gpureduction_spec given; /* points into what follows */
  ga_reduce_spec spec;     /* its lists and texts are owned */
  ga_reduce_spec parts;    /* of partial results; borrows from `spec` */
  gpuelemwise_arg parts_input;
  _Atomic(ga_reduce_variant *) variants;
};

#endif
