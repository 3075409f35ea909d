#ifndef GA_C_ROUTINE_H
#define GA_C_ROUTINE_H

#include <limits.h>

#include <gpuarray/plan.h>

#include "c/elemwise/elemwise_map.h"

/* Arguments of a routine. An input that is a host integer is NULL in `ins`. */
typedef struct ga_routine_call {
  gpucontext *context;
  unsigned int n_in;
  const GpuArray **ins;
  const long long *ints;
  unsigned int n_params;
  const long long *params;
  const char *const *texts;
  unsigned int n_out;
  GpuArray **outs;
  gpuplan_type *types; /* of the results */
} ga_routine_call;

/* `takes` is a signature with a letter for each input: `a` array, `i` integer; `+`
 * means one or more, `*` any number. */
#define GA_ANY_PARAMS UINT_MAX
/* The last parameters name, for each result, the input that it overwrites. */
#define GA_OVER_PARAMS (-2)
typedef struct ga_routine {
  const char *name, *takes;
  unsigned int n_params, n_texts, n_out;
  int inplace; /* the input that the result overwrites, -1, or GA_OVER_PARAMS */
  int (*run)(ga_routine_call *c);
  /* the kernel's source where no length changes it, or NULL */
  int (*source)(ga_source *out, const char *const *texts);
} ga_routine;

/* A routine whose kernels may store an expression of each element of its result, in
 * place of the result. */
typedef struct ga_mappable {
  const char *name;
  /* The result's shape, `dims` of at most GA_MAX_NDIM lengths, if that is known. */
  int (*shape)(unsigned int *nd, size_t *dims, const ga_routine_call *c);
  /* `out` is the expression's output. GA_DEVSUP_ERROR where no kernel does both. */
  int (*run)(GpuArray *out, const ga_routine_call *c, const ga_mapping *map);
  /* True where the output must overwrite no input; NULL: never. */
  bool (*is_apart)(const ga_routine_call *c);
} ga_mappable;

/* NULL where there is none */
const ga_routine *ga__routine_find(const char *name);
const ga_mappable *ga__routine_mappable(const ga_routine *row);

#endif
