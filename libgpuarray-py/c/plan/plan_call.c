/* Deferred callbacks: functions that each replay calls, recorded between commands. */
#include <string.h>

#include "c/array/array.h"
#include "c/plan/plan_state.h"

/* Checks the arrays; NULL inputs are integers. */
static int check_call(unsigned int n_out, GpuArray *const *outs, unsigned int n_in,
                      const GpuArray *const *ins) {
  for (unsigned int i = 0; i < n_out; i++) {
    if (outs[i] == NULL || outs[i]->data == NULL)
      return GA_FAIL(GA_VALUE_ERROR,
                     "plan defer: output %u is not an array; allocate it first, the "
                     "function only fills it",
                     i);
    GA_TRY(ga__array_check(outs[i], "plan defer"));
  }
  for (unsigned int i = 0; i < n_in; i++)
    if (ins[i] != NULL && ins[i]->data != NULL)
      GA_TRY(ga__array_check(ins[i], "plan defer"));
  return GA_NO_ERROR;
}

/* The tape of the first placeholder, or NULL. */
static ga_tape *tape_of(unsigned int n, const GpuArray *const *arrays) {
  for (unsigned int i = 0; i < n; i++)
    if (arrays[i] != NULL && arrays[i]->data != NULL && arrays[i]->data->tape != NULL)
      return arrays[i]->data->tape;
  return NULL;
}

/* Argument `i`: an array, or NULL for an integer. */
static void put_array(ga_deferred *call, unsigned int i, const GpuArray *a) {
  if (a == NULL)
    return;
  call->recorded[i] = call->arrays[i] = *a;
  call->places[i] = &call->arrays[i];
}

static int new_call(ga_deferred **out, gpuplan_function function, void *data,
                    unsigned int n_out, unsigned int n_in) {
  size_t n = (size_t)n_out + n_in + 1;
  ga_deferred *call = ga__alloc(1, sizeof *call);
  GA_TRY_MEMORY(call);
  *call = (ga_deferred){.function = function,
                        .data = data,
                        .n_out = n_out,
                        .n_in = n_in,
                        .recorded = ga__alloc(n, sizeof *call->recorded),
                        .arrays = ga__alloc(n, sizeof *call->arrays),
                        .places = ga__alloc(n, sizeof(GpuArray *)),
                        .ints = ga__alloc(n, sizeof *call->ints)};
  if (call->recorded && call->arrays && call->places && call->ints) {
    *out = call;
    return GA_NO_ERROR;
  }
  ga__deferred_free(call);
  return GA_MEMORY_ERROR;
}

/* Outside a recording: calls now, with recording suspended. */
static int call_now(gpuplan_function function, void *data, GpuArray *const *outs,
                    const GpuArray *const *ins, const long long *ints) {
  ga_recording *recording = ga__recording_suspend();
  int status = function(data, outs, ins, ints);
  ga__recording_resume(recording);
  return status;
}

int GpuPlan_defer(gpuplan_function function, void *data, unsigned int n_out,
                  GpuArray *const *outs, unsigned int n_in, const GpuArray *const *ins,
                  const long long *ints) {
  if (function == NULL || (n_out > 0 && outs == NULL) ||
      (n_in > 0 && (ins == NULL || ints == NULL)))
    return GA_FAIL(GA_VALUE_ERROR,
                   "plan defer: needs a function, and lists of %u outputs, %u inputs "
                   "and as many integers; got NULL",
                   n_out, n_in);
  GA_TRY(check_call(n_out, outs, n_in, ins));
  ga_tape *tape = tape_of(n_out, (const GpuArray *const *)outs);
  if (tape == NULL)
    tape = tape_of(n_in, ins);
  if (tape == NULL)
    return call_now(function, data, outs, ins, ints);
  ga_deferred *call = NULL;
  GA_TRY(new_call(&call, function, data, n_out, n_in));
  for (unsigned int i = 0; i < n_out; i++)
    put_array(call, i, outs[i]);
  for (unsigned int i = 0; i < n_in; i++)
    put_array(call, n_out + i, ins[i]);
  if (n_in > 0)
    memcpy(call->ints, ints, n_in * sizeof *ints);
  return ga__tape_defer(tape, call);
}
