/* A plan's values and steps, between the file that builds them and the one that runs
 * them. */
#ifndef GA_C_PLAN_H
#define GA_C_PLAN_H

#include "c/system/turn.h"
#include "c/tape/tape.h"
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
  GA_STEP_CHOOSE,   /* one of two arrays */
  GA_STEP_INDEX,    /* a view by integers and slices */
  GA_STEP_FUNCTION, /* the caller's own */
  GA_STEP_READ,     /* host integers that the device computed */
  GA_STEP_REPORTS,  /* how many wrong indices nobody was told of yet */
  GA_STEP_ROUTINE,  /* a routine of the library, by its name */
  GA_STEP_DEVICE,   /* a host integer: a property of the device */
  GA_STEP_LOOP,     /* its body, once for each turn */
  GA_STEP_KINDS
};

typedef struct ga_value {
  bool integer; /* a host integer, not an array */
  unsigned int nd;
  int typecode;
  unsigned int broadcastable; /* of an input: axes that must have length 1 */
  int input;             /* its index among the inputs, or the integer inputs; or -1 */
  GpuArray constant;     /* data NULL unless it is one */
  unsigned int last_use; /* the last step that reads it; n_steps for a result */
  unsigned int maker;    /* one more than the step that computes it; 0 for none */
} ga_value;

/* An integer that must be true, or else false. */
typedef struct ga_condition {
  unsigned int value;
  bool wanted;
} ga_condition;

typedef struct ga_frame ga_frame;
typedef struct ga_step {
  enum ga_step_kind kind;
  int (*run)(ga_frame *f, const struct ga_step *s); /* puts results into the frame */
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
  int op; /* of GA_STEP_INT_OP; the axis of GA_STEP_DIM; GA_STEP_DEVICE's property */
  long long integer;
  unsigned int nd; /* of a view */
  int pattern[GA_MAX_NDIM];
  gpuplan_function function;
  void *data;    /* the function's */
  GpuPlan *body; /* what is done where there is no function, or in each turn; or NULL */
  char *takes;   /* of GA_STEP_LOOP: for each input after the first, see gpuplan_loop */
  struct ga_routine_step *routine;
  ga_condition *when; /* all must hold, or the step is passed over */
  unsigned int n_when;
  bool is_copy; /* of another plan's step, which owns all but lists of values and label
                 */
} ga_step;

/* The plan bound to one signature: what a run only has to replay. */
typedef struct ga_bound {
  struct ga_bound *next, *previous; /* most recently used first */
  struct ga_bound *chain;           /* of the same bucket */
  uint64_t hash;
  uint64_t *signature;
  ga_tape *tape;
  GpuArray *outputs;    /* on stand-ins */
  gpudata **inputs;     /* the stand-ins of inputs, then of p->views */
  ga_binding *bindings; /* scratch of a replay, one for each slot */
  unsigned int n_outputs;
} ga_bound;

#define GA_BINDINGS 64 /* signatures kept for a plan, if nothing else is said */

/* Values, and the steps that compute them. */
typedef struct ga_plan_graph {
  ga_value *values;
  unsigned int n_values, value_capacity;
  ga_step *steps;
  unsigned int n_steps, step_capacity;
  unsigned int *inputs, *int_inputs, *outputs; /* value numbers */
  unsigned int n_inputs, input_capacity;
  unsigned int n_int_inputs, int_input_capacity;
  unsigned int n_outputs, output_capacity;
  bool *destroyed;    /* inputs whose memory a step takes over */
  ga_condition *when; /* of the steps that are added now */
  unsigned int n_when;
} ga_plan_graph;

/* What tells one binding from another: layouts, and integers that steps depend on. */
typedef struct ga_plan_signature {
  size_t length;            /* words; complete once ga__branch_settle has run */
  uint64_t *words;          /* scratch of a run */
  bool *settles;            /* for each value: whether a signature holds the integer */
  unsigned int *conditions; /* integers whose truth a signature holds */
  unsigned int n_conditions;
  unsigned int *early; /* steps on integers that can run before a binding is known */
  unsigned int n_early;
  long long *integers; /* scratch: what these steps give */
} ga_plan_signature;

/* Views of inputs that are taken before a binding is known. */
typedef struct ga_plan_views {
  unsigned int *list; /* values that the recorded steps read */
  unsigned int n;
  bool *hidden;     /* inputs that only views read; NULL: none */
  GpuArray *arrays; /* scratch: the views, and the inputs; or NULL */
} ga_plan_views;

typedef struct ga_plan_bindings {
  ga_bound *latest, *oldest; /* by their last use */
  ga_bound **buckets;        /* by their hash; as many as a power of two */
  unsigned int n_buckets, most;
  bool *fixed; /* of inputs, then views: see ga__tape_fixed */
} ga_plan_bindings;

/* Kernels that functions launch. The first n_sure of them are launched whatever the
 * sizes are, most likely. */
typedef struct ga_plan_kernels {
  ga_source *list;
  unsigned int n_sure, n, capacity;
  bool is_ahead; /* what a later signature may need is not compiled yet */
} ga_plan_kernels;

/* What a plan was told to do. */
typedef struct ga_plan_settings {
  bool lacks_bodies; /* steps without their functions fail: no bodies */
  bool holds, confirms, protects;
} ga_plan_settings;

/* A plan with stages that is tried as one recording: the device looks at conditions. */
typedef struct ga_plan_whole {
  bool
      *conditions; /* for each value, whether it is one that is read; NULL: not tried */
  unsigned int n_refusals; /* calls that could not be recorded so */
  bool is_latest;          /* the latest run was one recording */
} ga_plan_whole;

/* Frees what a part of these files has made of a plan. */
typedef void (*ga_plan_clear)(GpuPlan *p);
enum { GA_PLAN_CLEARS = 6 };

struct _GpuPlan {
  ga_plan_clear clears[GA_PLAN_CLEARS]; /* called when it is freed, the latest first */
  gpucontext *context;
  char *name;
  ga_plan_graph graph;
  ga_plan_signature signature;
  ga_plan_views views;
  ga_plan_bindings bindings;
  ga_plan_kernels kernels;
  ga_plan_settings settings;
  struct ga_stages *stages; /* of a plan that reads, once it is settled; else NULL */
  const GpuPlan *stage_of;  /* the plan that reads whose stage this is, or NULL */
  ga_plan_whole whole;
  gpuplan_info info;
  ga_turn turn; /* of everything a run changes */
};

void ga__bound_free(ga_bound *bound);
/* Ends the recording of its tape, once the outputs are there. */
int ga__bound_finish(ga_bound *bound);
/* Keeps a binding, with its signature, as the latest used; the oldest goes if there is
 * no room. The plan takes it, also on failure. */
int ga__bound_add(GpuPlan *p, ga_bound *bound);
/* The binding of p->signature, as the latest used; NULL if there is none. */
ga_bound *ga__bound_find(GpuPlan *p);
void ga__bound_clear(GpuPlan *p);
/* Notes which inputs and views the binding has fixed. */
void ga__bound_note_fixed(GpuPlan *p, const ga_bound *bound);

/* Bytes: how far an input's offset is looked at by kernels, and so by a signature. */
#define GA_PLAN_ALIGNMENT 16

/* Where in its buffer an input is taken to begin: the last place before all of its
 * elements, those of negative strides too, that is aligned. */
size_t ga__plan_origin(const GpuArray *a);
/* The same for slot `i` of a tape of `p`: the buffer's own beginning where the slot is
 * fixed. */
size_t ga__plan_base(const GpuPlan *p, unsigned int i, const GpuArray *a);

/* How many words of a signature an array's layout takes. */
static inline size_t ga__layout_words(unsigned int nd) {
  return 2 + 2 * (size_t)nd;
}
/* The value whose memory `value` is a view of, as far as the plan tells. */
unsigned int ga__plan_root(const ga_plan_graph *g, unsigned int value);

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
unsigned int ga__plan_joint_rank(const ga_plan_graph *g, unsigned int n,
                                 const unsigned int *ins);
/* Adds `s` with copies of its label and inputs, and one output value for each of
 * `results`. The plan takes what `s` owns, also on failure. */
int ga__plan_add_step(GpuPlan *p, ga_step s, const char *label, unsigned int n_in,
                      const unsigned int *ins, unsigned int n_out,
                      const ga_value *results, unsigned int *outs);
/* The same, of results that are arrays of these types. */
int ga__plan_add_typed(GpuPlan *p, ga_step s, const char *label, unsigned int n_in,
                       const unsigned int *ins, unsigned int n_out,
                       const gpuplan_type *results, unsigned int *outs);
void ga__plan_clear_step(ga_step *s);
/* Has `clear` called when the plan is freed; once, however often it is asked for. */
void ga__plan_at_free(GpuPlan *p, ga_plan_clear clear);

/* Settles, once all steps are there, what signatures hold and which inputs are written.
 */
int ga__plan_settle(GpuPlan *p);
/* Whether one of the first `n` steps may write into the memory of input `i`. */
bool ga__plan_writes(const ga_plan_graph *g, unsigned int i, unsigned int n);
/* The binding of a settled plan without reads for such inputs, and a run by it. */
int ga__plan_get_bound(ga_bound **out, GpuPlan *p, const GpuArray *const *ins,
                       const long long *ints, int *failed_step);
/* Runs a binding; where there is no room for the copies of a first run, without. */
int ga__plan_run_found(GpuArray *const *outs, ga_bound *bound, GpuPlan *p,
                       const GpuArray *const *ins, const long long *ints,
                       int *failed_step);
int ga__plan_run_bound(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                       const long long *ints, int *failed_step);

/* The sources of the kernels that the steps may launch. */
int ga__plan_sources(ga_source **out, unsigned int *n, const GpuPlan *p);
void ga__plan_free_sources(ga_source *sources, unsigned int n);
/* GpuPlan_prepare of a plan from a file, which has the kernels of what was recorded:
 * the bodies of its functions compile theirs where they are wanted. */
int ga__plan_prepare_loaded(GpuPlan *p);
/* Begins to compile what GpuPlan_prepare_ahead left. */
void ga__plan_prepare_rest(GpuPlan *p);

/* Runs the steps of `p` on stand-ins for `ins` and keeps the tape in *out. */
int ga__plan_bind(ga_bound **out, GpuPlan *p, const GpuArray *const *ins,
                  const long long *ints, int *failed_step);
/* Whether a step's function of a plan on the same context is being recorded. */
bool ga__plan_is_within(const GpuPlan *p);
/* A run there: the steps become part of that recording. Of no stages, without overlap
 * among the inputs. */
int ga__plan_run_within(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                        const long long *ints, int *failed_step);

/* Values while a plan is bound: arrays on stand-ins, or integers. */
struct ga_frame {
  const GpuPlan *plan;
  GpuArray *arrays;
  long long *integers;
  bool *done;             /* steps that were done with an earlier one */
  ga_tape *tape;          /* of the binding; NULL where there is none */
  const bool *conditions; /* of a plan that is recorded whole: as there; else NULL */
};

/* Steps under conditions (plan_branch.c). */
/* Whether the frame's integers let the step run, or may, where the device chooses. */
bool ga__branch_taken(const ga_frame *f, const ga_step *s);
int ga__branch_choose(ga_frame *f, const ga_step *s);
/* What stands for a result that was not computed: an array of one element. */
int ga__branch_absent(GpuArray *out, const GpuPlan *p, unsigned int value);
/* Settles what signatures hold of integers, and then writes it, n_int_inputs +
 * n_conditions words, to where p->signature begins. */
int ga__branch_settle(GpuPlan *p);
int ga__branch_sign(GpuPlan *p, const GpuArray *const *ins, const long long *ints,
                    int *failed_step);

/* Whether a step computes a host integer from what the host knows. */
static inline bool ga__step_is_integer(const ga_step *s) {
  return s->kind == GA_STEP_INT || s->kind == GA_STEP_DEVICE ||
         s->kind == GA_STEP_DIM || s->kind == GA_STEP_INT_OP;
}

/* Plans that read (plan_stages.c). Cuts such a plan into stages, if that was not done;
 * nothing to do for another. */
int ga__stages_settle(GpuPlan *p);
void ga__stages_clear(GpuPlan *p);
/* As the functions for plans without reads (plan_stages_run.c); a binding is of the
 * first stage. */
int ga__stages_run(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                   const long long *ints, int *failed_step);
int ga__stages_bind(GpuPlan *p, const GpuArray *const *ins, int *failed_step);

/* Plans whose conditions the device looks at by itself (plan_choice.c). Settles, after
 * the stages, whether the plan is one. */
int ga__choice_settle(GpuPlan *p);
/* Told that a call could not be recorded so, but has run in stages: all do after a few.
 */
void ga__choice_refuse(GpuPlan *p);
/* While it is recorded (plan_conditional.c): a read, what a step is under, and what is
 * chosen. */
int ga__choice_read(ga_frame *f, const ga_step *s);
void ga__choice_enter(const ga_frame *f, const ga_step *s);
int ga__choice_join(ga_frame *f, const ga_step *s);

/* Views (plan_view.c). */
int ga__step_index(ga_frame *f, const ga_step *s);
/* How many integers an axis of this form takes. */
unsigned int ga__index_integers(int form);
/* Whether views are to be taken before a signature is formed. */
bool ga__views_are_early(const GpuPlan *p);
/* Settles which views those are, and which inputs a signature does without. */
int ga__views_settle(GpuPlan *p, const bool *early);
/* Around the steps before a signature: p->arrays has the inputs, then the views until
 * the end. */
void ga__views_begin(GpuPlan *p, const GpuArray *const *ins);
void ga__views_end(GpuPlan *p);
void ga__views_clear(GpuPlan *p);

/* The steps that a function's step is made of (plan_body.c), where it has no function.
 */
int ga__body_run(ga_frame *f, const ga_step *s);
/* The caller's function, or its body. */
int ga__function_run(ga_frame *f, const ga_step *s);

/* Loops (plan_loop.c): whether a plan is a body of one, and the turns. */
bool ga__loop_fits(const GpuPlan *p, const ga_step *s, const GpuPlan *body);
int ga__loop_run(ga_frame *f, const ga_step *s);

/* A routine of the library as a step: its name's row, and its parameters
 * (plan_routine.c, routines.c). */
typedef struct ga_routine_step {
  void (*free)(struct ga_routine_step *r);
  const struct ga_routine *row;
  unsigned int n_params, n_texts;
  long long *params;
  char **texts;
} ga_routine_step;
const char *ga__routine_name(const ga_routine_step *r);
int ga__routine_run(ga_frame *f, const ga_step *s);
/* The kernels that it launches whatever the lengths are, most likely. */
int ga__routine_sources(ga_source *out, unsigned int *n, const ga_routine_step *r);

/* Does one step: its results are put into the frame. */
static inline int ga__step_run(ga_frame *f, const ga_step *s) {
  return s->run(f, s);
}
/* The steps that are one call of the library, and those of integers and shapes. */
int ga__step_run_plain(ga_frame *f, const ga_step *s);
/* GA_INVALID_ERROR for a result that is not of the type that was announced. */
int ga__step_check_results(const ga_frame *f, const ga_step *s);

/* The inputs and results of a step as functions take them: of inputs NULL stands for an
 * integer. Closed also on failure. */
typedef struct ga_step_lists {
  const GpuArray **ins;
  long long *ints;
  GpuArray **outs;
  gpuplan_type *types; /* of the results */
} ga_step_lists;
int ga__step_lists_open(ga_step_lists *lists, ga_frame *f, const ga_step *s);
void ga__step_lists_close(ga_step_lists *lists);

/* The shape that the array inputs broadcast to. Only axes marked in `stretch` may
 * stretch. */
int ga__step_shape(unsigned int *nd, size_t *dims, const ga_frame *f, const ga_step *s);
/* The array a result is written to: the input that it takes over where that fits, else
 * a new one. */
int ga__step_result(GpuArray *out, ga_frame *f, const ga_step *s, unsigned int i,
                    unsigned int nd, const size_t *dims);
/* The inputs as elementwise steps and reductions take them. */
void ga__step_inputs(void **args, ga_frame *f, const ga_step *s);

/* Does a product together with the elementwise step that alone reads it, where that is
 * better (plan_mapped.c): *reader is that step's number, or else 0, and nothing was
 * done but for views that this step needs. */
int ga__step_mapped(unsigned int *reader, ga_frame *f, unsigned int step);

#endif
