/* The routines of the library that plans call by name. */
#ifndef GA_C_ROUTINES_H
#define GA_C_ROUTINES_H

#include <limits.h>

#include <gpuarray/plan.h>

#include "c/program/kernel.h"

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
/* In place of an input that is taken over: the last integers say it of each result. */
#define GA_OVER_PARAMS (-2)
typedef struct ga_routine {
  const char *name, *takes;
  unsigned int n_params, n_texts, n_out;
  int inplace; /* the input that the result takes over, -1, or GA_OVER_PARAMS */
  int (*run)(ga_routine_call *c);
  /* the source of the kernel that it launches whatever the lengths are; or NULL */
  int (*source)(ga_source *out, const char *const *texts);
} ga_routine;

/* The row of that name, or NULL. */
const ga_routine *ga__routine_find(const char *name);

#endif
