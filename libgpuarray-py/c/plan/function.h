/* The inside of a GpuFunction, between the file that runs it and the one that saves. */
#ifndef GA_C_FUNCTION_H
#define GA_C_FUNCTION_H

#include "c/plan/plan.h"
#include "c/system/turn.h"
#include <gpuarray/function.h>

typedef struct ga_kept_value {
  char *name;
  GpuArray array;
  int input, output;
  bool optional;
} ga_kept_value;

/* As many as the plan has, some NULL. */
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
  /* What calls give and get: numbers of the plan's inputs and outputs. For each input
   * of the plan, the value that it is, or -1. */
  unsigned int *given, *shown;
  unsigned int n_given, n_shown;
  int *kept;
  const GpuArray **ins; /* scratch of a call: the plan's */
  GpuArray **outs;
  GpuArray *next;   /* for each output of the plan that becomes a value */
  GpuArray *copies; /* for each value, one that the plan overwrites and keeps */
  char *note;
  size_t note_size;
  ga_turn turn; /* of the values' arrays and the scratch */
};

#endif
