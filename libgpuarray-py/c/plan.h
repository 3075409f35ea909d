/* A plan's values and steps, between the file that builds them and the one that runs
 * them. */
#ifndef GA_C_PLAN_H
#define GA_C_PLAN_H

#include "c/tape.h"
#include <gpuarray/plan.h>

enum ga_step_kind {
  GA_STEP_INT,    /* a host integer */
  GA_STEP_DIM,    /* the length of an array's axis */
  GA_STEP_INT_OP, /* arithmetic of two host integers */
  GA_STEP_ELEMWISE,
  GA_STEP_REDUCE,
  GA_STEP_GEMV,
  GA_STEP_GEMM,
  GA_STEP_DIMSHUFFLE,
  GA_STEP_RESHAPE,
  GA_STEP_BROADCAST,
  GA_STEP_COPY,
  GA_STEP_FUNCTION /* the caller's own; no file holds one */
};

typedef struct ga_value {
  bool integer; /* a host integer, not an array */
  unsigned int nd;
  int typecode;
  unsigned int broadcastable; /* of an input: axes that must have length 1 */
  int input;             /* its index among the inputs, or the integer inputs; or -1 */
  GpuArray constant;     /* data NULL unless it is one */
  unsigned int last_use; /* the last step that reads it; n_steps for a result */
} ga_value;

typedef struct ga_step {
  enum ga_step_kind kind;
  char *label;
  unsigned int n_in, n_out;
  unsigned int *ins, *outs; /* value numbers */
  unsigned int *stretch;    /* for each input: axes that may stretch */
  int *inplace;             /* for each output: the input it takes over, or -1 */
  GpuElemwise *elemwise;
  GpuReduction *reduction;
  unsigned int axes;
  double alpha, beta;
  cb_transpose ta, tb;
  int op; /* of GA_STEP_INT_OP; the axis of GA_STEP_DIM */
  long long integer;
  unsigned int nd; /* of a view */
  int pattern[GA_MAX_NDIM];
  gpuplan_function function;
  void *data; /* the function's */
} ga_step;

/* The plan bound to one signature: what a run only has to replay. */
typedef struct ga_bound {
  struct ga_bound *next; /* most recently used first */
  uint64_t *signature;
  ga_tape *tape;
  GpuArray *outputs;    /* on stand-ins */
  gpudata **inputs;     /* the inputs' stand-ins */
  ga_binding *bindings; /* scratch of a replay, one for each slot */
  unsigned int n_outputs;
} ga_bound;

#define GA_MAX_BINDINGS 64 /* signatures kept for a plan */

struct _GpuPlan {
  gpucontext *context;
  char *name;
  ga_value *values;
  unsigned int n_values, value_capacity;
  ga_step *steps;
  unsigned int n_steps, step_capacity;
  unsigned int *inputs, *int_inputs, *outputs; /* value numbers */
  unsigned int n_inputs, input_capacity;
  unsigned int n_int_inputs, int_input_capacity;
  unsigned int n_outputs, output_capacity;
  bool *destroyed;         /* inputs whose memory a step takes over */
  size_t signature_length; /* words */
  uint64_t *signature;     /* scratch of a run */
  ga_bound *bound;
  gpuplan_info info;
  pthread_mutex_t lock; /* of everything a run changes */
};

void ga__bound_free(ga_bound *bound);

/* Bytes: how far an input's offset is looked at by kernels, and so by a signature. */
#define GA_PLAN_ALIGNMENT 16

/* Where in its buffer an input is taken to begin: the last place before all of its
 * elements, those of negative strides too, that is aligned. */
size_t ga__plan_origin(const GpuArray *a);

/* What plan.c and plan_add.c share: checks that name the step, and the making of one.
 * GA_VALUE_ERROR if one of the pointers is NULL: the plan, where its result goes, what
 * it is made of. */
int ga__plan_check_given(const GpuPlan *p, const char *step, const void *place,
                         const void *parts);
/* GA_INVALID_ERROR unless `value` is a number handed out, of the wanted sort. */
int ga__plan_check_value(const GpuPlan *p, const char *step, unsigned int value,
                         bool integer);
int ga__plan_check_axes(const GpuPlan *p, const char *step, unsigned int nd);
/* How a step without a label is called. */
const char *ga__plan_label(const char *label);
ga_value ga__plan_array(int typecode, unsigned int nd);
/* The rank that `n` inputs broadcast to; host integers count as scalars. */
unsigned int ga__plan_joint_rank(const GpuPlan *p, unsigned int n,
                                 const unsigned int *ins);
/* Adds `s` with copies of its label and inputs, and one output value for each of
 * `results`. The plan takes what `s` owns, also on failure. */
int ga__plan_add_step(GpuPlan *p, ga_step s, const char *label, unsigned int n_in,
                      const unsigned int *ins, unsigned int n_out,
                      const ga_value *results, unsigned int *outs);
void ga__plan_clear_step(ga_step *s);

/* Runs the steps of `p` on stand-ins for `ins` and keeps the tape in *out. */
int ga__plan_bind(ga_bound **out, GpuPlan *p, const GpuArray *const *ins,
                  const long long *ints, int *failed_step);

/* Values while a plan is bound: arrays on stand-ins, or integers. */
typedef struct ga_frame {
  const GpuPlan *plan;
  GpuArray *arrays;
  long long *integers;
} ga_frame;

/* Does one step: its results are put into the frame. */
int ga__step_run(ga_frame *f, const ga_step *s);

#endif
