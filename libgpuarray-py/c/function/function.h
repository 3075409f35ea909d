/* Members of a GpuFunction, for running and saving. */
#ifndef GA_C_FUNCTION_H
#define GA_C_FUNCTION_H

#include "c/plan/plan_state.h"
#include "c/system/turn.h"
#include <gpuarray/function.h>

typedef struct ga_kept_value {
  char *name;
  GpuArray array;
  int input, output;
  bool optional;
} ga_kept_value;

/* One per item of the plan; may be NULL. */
typedef struct ga_names {
  char **list;
  unsigned int n;
} ga_names;

struct _GpuFunction {
  GpuPlan *plan;
  bool owns_plan;
  ga_names inputs, ints, outputs;
  ga_kept_value *values;
  unsigned int n_values;
  /* Inputs and outputs of a call, as indices of the plan's. kept: per input of the plan
   * its state value, or -1. */
  unsigned int *given, *shown;
  unsigned int n_given, n_shown;
  int *kept;
  const GpuArray **ins; /* scratch: the plan's arguments */
  GpuArray **outs;
  GpuArray *next;   /* per output: the new state value */
  GpuArray *copies; /* per state value: a copy for the plan to overwrite */
  char *note;
  size_t note_size;
  ga_turn turn; /* guards the state values and the scratch */
};

#endif
