/* The routines of the library that plans call by name. */
#ifndef GA_C_ROUTINES_H
#define GA_C_ROUTINES_H

#include <limits.h>

#include <gpuarray/plan.h>

/* The inputs, parameters and results of a call. An input that is a host integer is NULL
 * in `ins`. */
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

/* `takes` has a letter for each input: `a` an array, `i` an integer; the letter before
 * a `+` stands for one and more, before a `*` for any number. */
#define GA_ANY_PARAMS UINT_MAX
typedef struct ga_routine {
  const char *name, *takes;
  unsigned int n_params, n_texts, n_out;
  int inplace; /* the input that the result takes over, or -1 */
  int (*run)(ga_routine_call *c);
} ga_routine;

/* The row of that name, or NULL. */
const ga_routine *ga__routine_find(const char *name);

#endif
