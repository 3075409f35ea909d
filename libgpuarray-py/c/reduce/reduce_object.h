/* Members of a GpuReduction. */
#ifndef GA_C_REDUCE_OBJECT_H
#define GA_C_REDUCE_OBJECT_H

#include <stdatomic.h>

#include "c/reduce/reduce_kernel.h"

/* A compiled variant; append-only. */
typedef struct ga_reduce_variant {
  enum ga_reduce_kind kind;
  bool is_parts, is_wide;
  unsigned int nk, nr;
  unsigned int repeated; /* as in the spec */
  gpukernel *kernel;     /* the context's */
  struct ga_reduce_variant *next;
} ga_reduce_variant;

struct _GpuReduction {
  gpucontext *context;
  bool borrowed;           /* owned by the context, holds no reference to it */
  gpureduction_spec given; /* borrows from `spec` */
  ga_reduce_spec spec;     /* owns its lists and strings */
  ga_reduce_spec parts;    /* second pass, over partial results; borrows from `spec` */
  gpuelemwise_arg parts_input;
  _Atomic(ga_reduce_variant *) variants;
};

#endif
