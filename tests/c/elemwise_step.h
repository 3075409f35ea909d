/* An elementwise step of a plan: `expr` makes y of one input, x. */
#ifndef ELEMWISE_STEP_H
#define ELEMWISE_STEP_H

#include <gpuarray/plan.h>

/* `over` is 0 where the result takes the input's memory, else -1. */
static inline int add_step(GpuPlan *p, unsigned int *out, const char *label,
                           const char *expr, unsigned int x, int typecode, int result,
                           int over) {
  const gpuelemwise_arg in = {"x", typecode, GE_READ}, y = {"y", result, GE_WRITE};
  const gpuplan_elemwise step = {.size = sizeof step,
                                 .label = label,
                                 .expr = expr,
                                 .n_out = 1,
                                 .out_args = &y,
                                 .inplace = &over,
                                 .n_in = 1,
                                 .in_args = &in,
                                 .ins = &x};
  return GpuPlan_elemwise(p, out, &step);
}

#endif
