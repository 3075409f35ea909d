/* GpuFunction: a compiled function with names and with values that it keeps, such as
 * the weights that a training step updates; made from a plan or loaded from a file.
 *
 *   GpuFunction *train = NULL;
 *   GpuFunction_load(&train, ctx, "train.plan");
 *   GpuFunction_call(train, outs, ins, NULL);    (as often as wanted)
 *   GpuFunction_get(train, "w", &w);
 *
 * A file has the plan, the names, the values as they were when it was saved, and the
 * kernels that were compiled for the device it was saved on: on that device and driver
 * loading compiles nothing, on others it compiles the plan's texts. Steps that are
 * functions of the program that saved it (GpuPlan_function; in listings of Python's
 * compiler `call`) are their bodies for other shapes and devices (GpuPlan_body). Those
 * without one, of which Python warns when it saves, run only on that device and driver,
 * and with the shapes and layouts of calls before it was saved: other calls fail with
 * GA_UNSUPPORTED_ERROR. Compiled kernels are code: load files that you trust.
 *
 * Ownership: names and values are copied; what a function returns is borrowed unless it
 * says so. Waiting: a call queues work and waits only where its plan reads integers of
 * the device (GpuPlan_read); saving waits for the values; loading compiles what the
 * file has not. Failure: a status, with outputs untouched and
 * the kept values as they were, as far as GpuPlan_protect says. Threads: calls of one
 * function are serialised. */
#ifndef GPUARRAY_FUNCTION_H
#define GPUARRAY_FUNCTION_H

#include <gpuarray/plan.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
typedef struct _GpuFunction GpuFunction;

/* A value that a function keeps between calls. */
typedef struct _gpufunction_value {
  const char *name;
  const GpuArray *start; /* the value before the first call */
  int input;             /* which input of the plan it is; -1: none reads it */
  int output;            /* which output of the plan it becomes by each call, which
                            the call then does not give; -1: it stays */
  int optional;          /* not 0: calls have this input, and may leave it out */
} gpufunction_value;

/* What makes a plan a function. Names are of the plan's inputs, integer inputs and
 * outputs, as many as it has; NULL in place of a list or name: there is none. */
typedef struct _gpufunction_spec {
  size_t size; /* sizeof(gpufunction_spec) */
  const char *const *inputs;
  const char *const *ints;
  const char *const *outputs;
  unsigned int n_values;
  const gpufunction_value *values; /* of different names */
  const void *note;                /* bytes of the caller's own that the file keeps */
  size_t note_size;
} gpufunction_spec;

/* The plan stays the caller's, who frees it after the function. GA_VALUE_ERROR or
 * GA_INVALID_ERROR for values that do not fit the plan. The caller owns *res. */
int GpuFunction_new(GpuFunction **res, GpuPlan *plan, const gpufunction_spec *spec);
/* NULL is fine. */
void GpuFunction_free(GpuFunction *f);

/* Writes the function to a file, which appears whole or not at all; its plan as
 * GpuPlan_save does. */
int GpuFunction_save(GpuFunction *f, const char *path);
/* A function from a file, on `ctx`, with its kernels compiled. Fails as GpuPlan_load,
 * and with GA_VALUE_ERROR for a file that has a plan alone. The caller owns *res. */
int GpuFunction_load(GpuFunction **res, gpucontext *ctx, const char *path);

/* Runs the function. `ins` has the inputs that calls give, in the plan's order; NULL
 * leaves an optional one out. `ints` are the plan's integer inputs; NULL where there
 * are none. outs[i] are overwritten with new arrays that the caller clears: the plan's
 * outputs but those that become kept values. One that is, or is a view of, a kept value
 * as well is read-only, and no later call changes it. In a step's function of another
 * plan (GpuPlan_function) GA_UNSUPPORTED_ERROR where a kept value changes. */
int GpuFunction_call(GpuFunction *f, GpuArray *const *outs, const GpuArray *const *ins,
                     const long long *ints);
/* A copy of a kept value as it is after all calls so far; the caller clears *value. */
int GpuFunction_get(GpuFunction *f, const char *name, GpuArray *value);
/* Gives a kept value other elements, which are copied; the type stays, not the shape.
 */
int GpuFunction_set(GpuFunction *f, const char *name, const GpuArray *value);

enum gpufunction_list {
  GF_INPUTS = 0,  /* what calls give, as `ins` */
  GF_INTS = 1,    /* the integers of calls, as `ints` */
  GF_OUTPUTS = 2, /* what calls make, as `outs` */
  GF_VALUES = 3   /* what is kept */
};

/* One of a list of a function: an array of typecode and rank, or an integer. */
typedef struct _gpufunction_item {
  const char *name; /* borrowed; NULL where it has none */
  int typecode;
  unsigned int nd;
  int optional; /* of an input: whether it may be left out */
} gpufunction_item;
/* How many a list has; `list` is an enum gpufunction_list. */
int GpuFunction_count(GpuFunction *f, int list, unsigned int *n);
/* Its `i`-th. GA_VALUE_ERROR where there is none. */
int GpuFunction_item(GpuFunction *f, int list, unsigned int i, gpufunction_item *res);
/* The bytes that the spec had as a note; borrowed. */
int GpuFunction_note(GpuFunction *f, const void **bytes, size_t *size);
/* The plan; borrowed. NULL for NULL. */
GpuPlan *GpuFunction_plan(GpuFunction *f);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
