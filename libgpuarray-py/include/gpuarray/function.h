/* GpuFunction: a compiled function with named inputs and kept values, such as the
 * weights that a training step updates; made from a plan or loaded from a file.
 *
 *   GpuFunction *train = NULL;
 *   GpuFunction_load(&train, ctx, "train.plan");
 *   GpuFunction_call(train, outs, ins, NULL);    (as often as wanted)
 *   GpuFunction_get(train, "w", &w);
 *
 * A file has the plan, the names, the kept values at the time of saving, and the
 * kernels compiled for that device: on the same device and driver loading compiles
 * nothing, on others it compiles the plan's sources. Steps that are functions of the
 * saving program (GpuPlan_function; `call` in the listings of Python's compiler) run
 * their bodies for other shapes and devices (GpuPlan_body). Steps without a body, of
 * which Python warns when it saves, run only on that device and driver, with the shapes
 * and layouts of calls made before saving; else a call fails with GA_UNSUPPORTED_ERROR.
 * Compiled kernels are code: load only files that you trust.
 *
 * Ownership: names and values are copied; what a function returns is borrowed unless it
 * says otherwise. Waiting: a call queues work and waits only where its plan reads
 * integers from the device (GpuPlan_read); saving waits for the values; loading
 * compiles kernels that the file lacks. Failure: a status, with outputs untouched and
 * kept values unchanged, within the limits of GpuPlan_protect. Threads: calls of one
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
  int input;             /* index of the plan's input that reads it; -1: none */
  int output;            /* index of the plan's output that each call stores in it and
                            does not return; -1: the value never changes */
  int optional;          /* nonzero: calls may pass this input in place of the value */
} gpufunction_value;

/* The names and kept values of a function. Lists have as many names as the plan has
 * inputs, integer inputs and outputs; a list or a name may be NULL. */
typedef struct _gpufunction_spec {
  size_t size; /* sizeof(gpufunction_spec) */
  const char *const *inputs;
  const char *const *ints;
  const char *const *outputs;
  unsigned int n_values;
  const gpufunction_value *values; /* with different names */
  const void *note;                /* bytes of the caller's, stored in the file */
  size_t note_size;
} gpufunction_spec;

/* Makes a function of a plan, which stays the caller's and must outlive it.
 * GA_VALUE_ERROR or GA_INVALID_ERROR for values that do not fit the plan. The caller
 * owns *res. */
int GpuFunction_new(GpuFunction **res, GpuPlan *plan, const gpufunction_spec *spec);
/* Frees the function. NULL is allowed. */
void GpuFunction_free(GpuFunction *f);

/* Writes the function to a file, whole or not at all; its plan as GpuPlan_save does. */
int GpuFunction_save(GpuFunction *f, const char *path);
/* Loads a function from a file onto `ctx` and compiles the kernels that the file lacks.
 * Fails as GpuPlan_load, and with GA_VALUE_ERROR for a file of a plan alone. The caller
 * owns *res. */
int GpuFunction_load(GpuFunction **res, gpucontext *ctx, const char *path);
/* Loads a function of one or several contexts, each by its name in the file, as
 * GpuPlan_load_on. The caller owns *res. */
int GpuFunction_load_on(GpuFunction **res, unsigned int n,
                        const gpuplan_context *contexts, const char *path);

/* Runs the function. `ins` are the inputs of calls (GF_INPUTS), in the plan's order;
 * NULL omits an optional one. `ints` are the integer inputs; NULL if there are none.
 * outs[i] are overwritten with new arrays that the caller clears: the plan's outputs
 * that do not become kept values. An output that shares memory with a kept value is
 * read-only, and later calls do not change it. Inside a step's function of another plan
 * (GpuPlan_function): GA_UNSUPPORTED_ERROR if a kept value changes. */
int GpuFunction_call(GpuFunction *f, GpuArray *const *outs, const GpuArray *const *ins,
                     const long long *ints);
/* Copies the current value of `name`; the caller clears *value. */
int GpuFunction_get(GpuFunction *f, const char *name, GpuArray *value);
/* Sets a kept value to a copy of `value`, of the same type and any shape. */
int GpuFunction_set(GpuFunction *f, const char *name, const GpuArray *value);

enum gpufunction_list {
  GF_INPUTS = 0,  /* `ins` of a call */
  GF_INTS = 1,    /* `ints` of a call */
  GF_OUTPUTS = 2, /* `outs` of a call */
  GF_VALUES = 3   /* kept values */
};

/* An item of such a list: an array of typecode and rank, or an integer. */
typedef struct _gpufunction_item {
  const char *name; /* borrowed; NULL if it has none */
  int typecode;
  unsigned int nd;
  int optional; /* 1 for an input that may be omitted */
} gpufunction_item;
/* Writes the length of a list, an enum gpufunction_list, to *n. */
int GpuFunction_count(GpuFunction *f, int list, unsigned int *n);
/* Writes item `i` of a list to *res. GA_VALUE_ERROR if there is none. */
int GpuFunction_item(GpuFunction *f, int list, unsigned int i, gpufunction_item *res);
/* Writes the context of item `i` of a list of arrays to *ctx; borrowed: calls take the
 * input on it, or give the output there. GA_VALUE_ERROR for GF_INTS, or if there is no
 * such item. */
int GpuFunction_context(GpuFunction *f, int list, unsigned int i, gpucontext **ctx);
/* The spec's note; borrowed. */
int GpuFunction_note(GpuFunction *f, const void **bytes, size_t *size);
/* The plan; borrowed. NULL for NULL. */
GpuPlan *GpuFunction_plan(GpuFunction *f);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
