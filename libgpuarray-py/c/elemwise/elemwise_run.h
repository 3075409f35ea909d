/* The inside of a GpuElemwise, between the file that checks calls and the one that runs
 * them. */
#ifndef GA_C_ELEMWISE_RUN_H
#define GA_C_ELEMWISE_RUN_H

#include "c/elemwise/elemwise.h"
#include "c/elemwise/elemwise_source.h"

/* The kinds of kernels; elemwise_source.h tells of each. */
enum ga_elem_kind { GA_ELEM_FLAT, GA_ELEM_STRIDED, GA_ELEM_TILED };

/* A kernel of the object, for one kind of layout. */
typedef struct ga_elem_variant {
  struct ga_elem_variant *next;
  enum ga_elem_kind kind;
  bool wide;                   /* of a strided one */
  unsigned int nd;             /* of a strided or tiled one */
  uint64_t single;             /* of a flat one: arguments of one element */
  _Atomic(gpukernel *) kernel; /* NULL until a launch needs it */
} ga_elem_variant;

/* What a launch can use. A flat one must take the arguments in `single` as single
 * elements and may take those in `may_be_single` so; the others have at least `nd`
 * axes. */
typedef struct ga_elem_wanted {
  enum ga_elem_kind kind;
  bool wide;
  unsigned int nd;
  uint64_t single, may_be_single;
} ga_elem_wanted;

struct _GpuElemwise {
  gpucontext *context;
  bool borrowed; /* by its context, which it does not keep alive */
  unsigned int n, n_out, n_arrays;
  gpuelemwise_arg *args;
  char *preamble, *expr;
  ga_elem_spec spec;
  unsigned int max_nd;     /* axes of a strided kernel, so that its arguments fit */
  unsigned int vector;     /* elements of a thread of the flat kernel */
  atomic_bool is_prepared; /* a plan has compiled what small calls need */
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

/* The best of the object's variants, or NULL. */
ga_elem_variant *ga__variant_find(const GpuElemwise *ge, const ga_elem_wanted *w);
/* Finds the variant or adds it. */
int ga__variant_get(ga_elem_variant **out, GpuElemwise *ge, const ga_elem_wanted *w);
/* Its kernel, made now if it was not needed before. */
int ga__variant_kernel(gpukernel **out, GpuElemwise *ge, ga_elem_variant *v);

#endif
