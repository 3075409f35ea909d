/* Internals of a GpuElemwise: its kernel variants. */
#ifndef GA_C_ELEMWISE_STATE_H
#define GA_C_ELEMWISE_STATE_H

#include "c/elemwise/elemwise_private.h"
#include "c/elemwise/elemwise_spec.h"

/* Kinds of kernels, see elemwise_source.h. */
enum ga_elem_kind { GA_ELEM_FLAT, GA_ELEM_STRIDED, GA_ELEM_ROWS, GA_ELEM_TILED };

/* A compiled variant, for one kind of layout. */
typedef struct ga_elem_variant {
  struct ga_elem_variant *next;
  enum ga_elem_kind kind;
  bool wide;                   /* strided, rows: 64-bit indices */
  unsigned int nd;             /* all but flat: number of axes */
  uint64_t single;             /* flat: arguments of one element; rows: of one a row */
  _Atomic(gpukernel *) kernel; /* NULL until first launched */
} ga_elem_variant;

/* What a launch needs. Flat: arguments in `single` must be single elements, those in
 * `may_be_single` may be; others: at least `nd` axes; rows: just `single`. */
typedef struct ga_elem_wanted {
  enum ga_elem_kind kind;
  bool wide;
  unsigned int nd;
  uint64_t single, may_be_single;
} ga_elem_wanted;

struct _GpuElemwise {
  gpucontext *context;
  bool borrowed; /* owned by its context, which it does not retain */
  unsigned int n, n_out, n_arrays;
  gpuelemwise_arg *args;
  char *preamble, *expr;
  ga_elem_spec spec;
  unsigned int max_nd; /* maximum rank of a strided kernel (argument limit) */
  unsigned int vector; /* elements per vector, if all arrays have several elements */
  atomic_bool is_prepared; /* a plan has prebuilt kernels for small calls */
  _Atomic(ga_elem_variant *) variants;
  _Atomic(struct ga_mapped *) mapped; /* kernels of which it is the epilogue */
  pthread_mutex_t lock;               /* held to add a variant */
};

/* A host scalar. */
static inline bool ga__elemwise_is_scalar(const GpuElemwise *ge, unsigned int i) {
  return ge->args[i].flags & GE_SCALAR;
}

/* The number of the element in an array's shape. */
static inline bool ga__elemwise_is_index(const GpuElemwise *ge, unsigned int i) {
  return ge->args[i].flags & GE_INDEX;
}

/* A read-only array. */
static inline bool ga__elemwise_is_input(const GpuElemwise *ge, unsigned int i) {
  return !(ge->args[i].flags & GE_WRITE);
}

/* The best compiled variant that serves, or NULL. */
ga_elem_variant *ga__variant_find(const GpuElemwise *ge, const ga_elem_wanted *w);
/* Finds or adds a variant. */
int ga__variant_get(ga_elem_variant **out, GpuElemwise *ge, const ga_elem_wanted *w);
/* The variant's kernel, compiled at first use. */
int ga__variant_kernel(gpukernel **out, GpuElemwise *ge, ga_elem_variant *v);

#endif
