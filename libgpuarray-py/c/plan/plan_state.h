/* Data structures of a plan: values and steps, for building, binding and running it. */
#ifndef GA_C_PLAN_STATE_H
#define GA_C_PLAN_STATE_H

#include "c/system/turn.h"
#include "c/tape/record_replay.h"
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
  GA_STEP_CHOOSE,   /* select: one of two arrays */
  GA_STEP_INDEX,    /* a view by integers and slices */
  GA_STEP_FUNCTION, /* the caller's callback */
  GA_STEP_READ,     /* host integers read from the device */
  GA_STEP_REPORTS,  /* the error count: index errors not yet raised */
  GA_STEP_ROUTINE,  /* a routine of the library, by name */
  GA_STEP_DEVICE,   /* a device property as a host integer */
  GA_STEP_LOOP,     /* a loop over its body */
  GA_STEP_TRANSFER, /* a copy on another context */
  GA_STEP_KINDS
};

typedef struct ga_value {
  bool integer; /* a host integer */
  unsigned int nd;
  int typecode;
  unsigned int broadcastable; /* inputs: axes that must have length 1 */
  int input;                  /* index among inputs or integer inputs; or -1 */
  GpuArray constant;          /* data NULL: not a constant */
  unsigned int last_use;      /* last reading step; n_steps for outputs */
  unsigned int maker;         /* 1 + the step that computes it; 0: none */
  unsigned int place;         /* of an array: its context, see ga_plan_places */
} ga_value;

/* A host integer and the truth it must have. */
typedef struct ga_condition {
  unsigned int value;
  bool wanted;
} ga_condition;

typedef struct ga_frame ga_frame;
typedef struct ga_step {
  enum ga_step_kind kind;
  int (*run)(ga_frame *f,
             const struct ga_step *s); /* stores the results in the frame */
  char *label;
  unsigned int place; /* the context it runs on; of a transfer that it copies to */
  unsigned int n_in, n_out;
  unsigned int *ins, *outs; /* values */
  unsigned int *stretch;    /* per input: axes that may broadcast */
  int *inplace;             /* per output: the input overwritten in place, or -1 */
  GpuElemwise *elemwise;
  GpuReduction *reduction;
  unsigned int axes;
  double alpha, beta;
  cb_transpose ta, tb;
  int op; /* INT_OP: operation; DIM: axis; DEVICE: property */
  long long integer;
  unsigned int nd; /* rank of a view */
  int pattern[GA_MAX_NDIM];
  gpuplan_function function;
  void *data;    /* the callback's */
  GpuPlan *body; /* steps in place of a missing callback, or of a loop; or NULL */
  char *takes;   /* loops: a letter per input, see gpuplan_loop */
  struct ga_routine_step *routine;
  ga_condition *when; /* conditions, all of which must hold for the step to run */
  unsigned int n_when;
  bool is_copy; /* of another plan's step, which owns all but the lists of values and
                   the label */
  bool owns_inplace; /* of a copy: the list is its own */
} ga_step;

/* A binding: the plan recorded for one signature; a run only replays it. */
typedef struct ga_bound {
  struct ga_bound *next, *previous; /* LRU list */
  struct ga_bound *chain;           /* of the hash bucket */
  uint64_t hash;
  uint64_t *signature;
  ga_tape *tape;
  GpuArray *outputs;    /* on placeholders */
  gpudata **inputs;     /* placeholders of inputs, then of p->views */
  ga_binding *bindings; /* scratch of a replay, one per slot */
  unsigned int n_outputs;
} ga_bound;

#define GA_BINDINGS 64 /* default number of cached bindings */

/* Dataflow graph: values, and the steps that compute them. */
typedef struct ga_plan_graph {
  ga_value *values;
  unsigned int n_values;
  ga_step *steps;
  unsigned int n_steps;
  unsigned int *inputs, *int_inputs, *outputs; /* values */
  unsigned int n_inputs, n_int_inputs, n_outputs;
  size_t value_capacity, step_capacity;
  size_t input_capacity, int_input_capacity, output_capacity;
  bool *destroyed;    /* inputs that a step overwrites */
  ga_condition *when; /* conditions of the steps added next */
  unsigned int n_when;
} ga_plan_graph;

typedef struct ga_place {
  gpucontext *context; /* retained */
  char *name;          /* in files; or NULL */
} ga_place;

/* Contexts. Place 0 is the plan's own. */
typedef struct ga_plan_places {
  char *name;     /* of place 0 in files; or NULL */
  ga_place *more; /* places 1 and on */
  unsigned int n_more;
  size_t capacity;
  unsigned int current; /* of what is added next */
} ga_plan_places;

/* Signature: the key of a binding. Input layouts, and host integers on which steps
 * depend. */
typedef struct ga_plan_signature {
  size_t length;            /* words; complete after ga__branch_settle */
  uint64_t *words;          /* scratch of a run */
  bool *settles;            /* per value: the integer is part of the signature */
  unsigned int *conditions; /* integers whose truth alone is part of it */
  unsigned int n_conditions;
  unsigned int *early; /* integer steps evaluated before the look-up */
  unsigned int n_early;
  long long *integers; /* scratch: their results */
} ga_plan_signature;

/* Views of inputs that are evaluated before the look-up. */
typedef struct ga_plan_views {
  unsigned int *list; /* views that recorded steps read */
  unsigned int n;
  bool *hidden;     /* inputs that only views read; NULL: none */
  GpuArray *arrays; /* scratch: views and inputs; or NULL */
} ga_plan_views;

typedef struct ga_plan_bindings {
  ga_bound *latest, *oldest; /* LRU list */
  ga_bound **buckets;        /* hash table, a power of two */
  unsigned int n_buckets, most;
  bool *fixed; /* per input, then view: see ga__tape_fixed */
} ga_plan_bindings;

typedef struct ga_need {
  ga_source source;
  unsigned int place;
} ga_need;

/* Kernels that callbacks launch. The first n_sure are likely at any size. */
typedef struct ga_plan_kernels {
  ga_need *list;
  unsigned int n_sure, n, capacity;
  bool is_ahead; /* kernels of later signatures are not compiled yet */
} ga_plan_kernels;

/* Settings. */
typedef struct ga_plan_settings {
  bool lacks_bodies; /* missing callbacks fail instead of using bodies */
  bool holds, confirms, protects;
  bool yields; /* inputs that steps overwrite need not survive a failed run */
} ga_plan_settings;

/* Recording in one piece, for a plan with stages: the device evaluates the
 * conditions. */
typedef struct ga_plan_whole {
  bool *conditions; /* per value: a condition read from the device; NULL: not tried */
  unsigned int n_refusals; /* calls that could not be recorded so */
  bool is_latest;          /* the latest run was so */
} ga_plan_whole;

/* Frees what one of the plan_*.c files added to a plan. */
typedef void (*ga_plan_clear)(GpuPlan *p);
enum { GA_PLAN_CLEARS = 6 };

struct _GpuPlan {
  ga_plan_clear clears[GA_PLAN_CLEARS]; /* run in reverse order */
  gpucontext *context;                  /* place 0 */
  ga_plan_places places;
  char *name;
  ga_plan_graph graph;
  ga_plan_signature signature;
  ga_plan_views views;
  ga_plan_bindings bindings;
  ga_plan_kernels kernels;
  ga_plan_settings settings;
  struct ga_stages *stages; /* once settled, of a plan that is cut; else NULL */
  const GpuPlan *stage_of;  /* the plan whose stage this is, or NULL */
  /* Of a settled body of a loop by the host: runs it, under its owner's lock. */
  int (*iterate)(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                 const long long *ints);
  ga_plan_whole whole;
  gpuplan_info info;
  ga_turn turn; /* guards everything that a run changes */
};

void ga__bound_free(ga_bound *bound);
/* Ends the recording, after the outputs are set. */
int ga__bound_finish(ga_bound *bound);
/* Caches a binding with its signature, as the most recent; evicts the oldest if full.
 * Takes ownership, also on failure. */
int ga__bound_add(GpuPlan *p, ga_bound *bound);
/* Look-up by p->signature; makes the binding the most recent. NULL: none. */
ga_bound *ga__bound_find(GpuPlan *p);
void ga__bound_clear(GpuPlan *p);
/* Notes which inputs and views must not move for this binding. */
void ga__bound_note_fixed(GpuPlan *p, const ga_bound *bound);

/* Bytes; alignment of inputs that kernels, and so signatures, depend on. */
#define GA_PLAN_ALIGNMENT 16

/* Assumed start, in its buffer, of the input in slot `i` of p's tapes: aligned, before
 * all its elements; 0 if the slot is fixed. */
size_t ga__plan_base(const GpuPlan *p, unsigned int i, const GpuArray *a);

static inline unsigned int ga__plan_places(const GpuPlan *p) {
  return 1 + p->places.n_more;
}
static inline gpucontext *ga__plan_context(const GpuPlan *p, unsigned int place) {
  return place == 0 ? p->context : p->places.more[place - 1].context;
}
/* The context of what is added next. */
static inline gpucontext *ga__plan_here(const GpuPlan *p) {
  return ga__plan_context(p, p->places.current);
}
static inline const char *ga__plan_place_name(const GpuPlan *p, unsigned int place) {
  return place == 0 ? p->places.name : p->places.more[place - 1].name;
}
/* The place of a context; the number of places: it is none of the plan's. */
unsigned int ga__plan_find_place(const GpuPlan *p, const gpucontext *ctx);
/* True for a copy between two contexts: a stage ends with it. */
bool ga__step_crosses(const ga_plan_graph *g, const ga_step *s);

/* Words of an array's layout in a signature. */
static inline size_t ga__layout_words(unsigned int nd) {
  return 2 + 2 * (size_t)nd;
}
/* The value of which `value` is a view. */
unsigned int ga__plan_root(const ga_plan_graph *g, unsigned int value);

/* Helpers for adding steps; messages name the step. GA_VALUE_ERROR if the plan, the
 * result pointer or `parts` is NULL. */
int ga__plan_check_given(const GpuPlan *p, const char *step, const void *place,
                         const void *parts);
/* GA_INVALID_ERROR unless `value` exists and is an integer, or an array, as wanted. */
int ga__plan_check_value(const GpuPlan *p, const char *step, unsigned int value,
                         bool integer);
int ga__plan_check_axes(const GpuPlan *p, const char *step, unsigned int nd);
/* Default for a missing label. */
const char *ga__plan_label(const char *label);
ga_value ga__plan_array(int typecode, unsigned int nd);
/* Broadcast rank of `n` inputs; host integers are scalars. */
unsigned int ga__plan_joint_rank(const ga_plan_graph *g, unsigned int n,
                                 const unsigned int *ins);
/* Adds `s` with copies of label and inputs, and a value per result. Takes ownership of
 * what `s` owns, also on failure. */
int ga__plan_add_step(GpuPlan *p, ga_step s, const char *label, unsigned int n_in,
                      const unsigned int *ins, unsigned int n_out,
                      const ga_value *results, unsigned int *outs);
/* The same for array results of these types. */
int ga__plan_add_typed(GpuPlan *p, ga_step s, const char *label, unsigned int n_in,
                       const unsigned int *ins, unsigned int n_out,
                       const gpuplan_type *results, unsigned int *outs);
void ga__plan_clear_step(ga_step *s);
/* Registers a cleanup function, once, for when the plan is freed. */
void ga__plan_at_free(GpuPlan *p, ga_plan_clear clear);

/* Settles the plan once all steps are added: contents of signatures, overwritten
 * inputs. */
int ga__plan_settle(GpuPlan *p);
/* True if result `o` of the step may overwrite input `i`'s memory. */
bool ga__step_writes(const ga_plan_graph *g, const ga_step *s, unsigned int o,
                     unsigned int i);
/* True if one of the first `n` steps may write input `i`'s memory. */
bool ga__plan_writes(const ga_plan_graph *g, unsigned int i, unsigned int n);
/* Gets or makes the binding for a settled plan without reads; runs it. */
int ga__plan_get_bound(ga_bound **out, GpuPlan *p, const GpuArray *const *ins,
                       const long long *ints, int *failed_step);
/* Runs a binding; without memory for a first run's protective copies, without these. */
int ga__plan_run_found(GpuArray *const *outs, ga_bound *bound, GpuPlan *p,
                       const GpuArray *const *ins, const long long *ints,
                       int *failed_step);
int ga__plan_run_bound(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                       const long long *ints, int *failed_step);

/* Sources of all kernels that the steps of a place may launch, to prebuild them. */
int ga__plan_sources(ga_source **out, unsigned int *n, const GpuPlan *p,
                     unsigned int place);
void ga__plan_free_sources(ga_source *sources, unsigned int n);
/* GpuPlan_prepare for a plan from a file, whose recorded kernels are loaded: bodies
 * compile theirs on demand. */
int ga__plan_prepare_loaded(GpuPlan *p);
/* Starts compiling what GpuPlan_prepare_ahead left out. */
void ga__plan_prepare_rest(GpuPlan *p);

/* Records the steps for `ins` on placeholders. */
int ga__plan_bind(ga_bound **out, GpuPlan *p, const GpuArray *const *ins,
                  const long long *ints, int *failed_step);
/* True inside a step's callback while a plan on the same context is recorded. */
bool ga__plan_is_within(const GpuPlan *p);
/* A run there: the steps are recorded into the outer plan. For plans without stages and
 * aliased inputs. */
int ga__plan_run_within(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                        const long long *ints, int *failed_step);
/* The same with memory offered per output, which results are written to where the step
 * that computes them can; `offers` without data offer none. */
int ga__plan_run_body(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                      const long long *ints, GpuArray *offers, int *failed_step);

/* Values during recording: arrays on placeholders, integers. */
struct ga_frame {
  const GpuPlan *plan;
  GpuArray *arrays;
  long long *integers;
  bool *done;             /* steps already done (fused or early) */
  ga_tape *tape;          /* of the binding; NULL: none */
  const bool *conditions; /* plan.whole.conditions, or NULL */
  GpuArray *offers;       /* per output: memory for it, or without data; or NULL */
};

/* Conditional steps (plan_branch.c). */
/* True if the step runs, or may, where the device decides. */
bool ga__branch_taken(const ga_frame *f, const ga_step *s);
int ga__branch_choose(ga_frame *f, const ga_step *s);
/* Stand-in for an output that was not computed: an array of one element. */
int ga__branch_absent(GpuArray *out, const GpuPlan *p, unsigned int value);
/* Settles what signatures contain of integers; then writes it: n_int_inputs +
 * n_conditions words at p->signature.words. */
int ga__branch_settle(GpuPlan *p);
int ga__branch_sign(GpuPlan *p, const GpuArray *const *ins, const long long *ints,
                    int *failed_step);

/* True for integer arithmetic on the host. */
static inline bool ga__step_is_integer(const ga_step *s) {
  return s->kind == GA_STEP_INT || s->kind == GA_STEP_DEVICE ||
         s->kind == GA_STEP_DIM || s->kind == GA_STEP_INT_OP;
}

/* True if the plan runs in stages (plan_cut.c): it reads integers, has several contexts
 * or a loop by the host. */
bool ga__plan_is_cut(const GpuPlan *p);
/* True for a loop whose iterations the host starts one by one: its body is cut. */
bool ga__loop_by_host(const ga_step *s);
/* Cuts such a plan into stages (plan_stages.c), once. */
int ga__stages_settle(GpuPlan *p);
void ga__stages_clear(GpuPlan *p);
/* Run and bind in stages (plan_stages_run.c); the binding is of the first stage. */
int ga__stages_run(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                   const long long *ints, int *failed_step);
int ga__stages_bind(GpuPlan *p, const GpuArray *const *ins, int *failed_step);

/* Recording in one piece, conditions evaluated on the device (plan_choice.c). Settles,
 * after the stages, if the plan can be. */
int ga__choice_settle(GpuPlan *p);
/* Counts a call that failed to record in one piece but ran in stages; after a few, all
 * do. */
void ga__choice_refuse(GpuPlan *p);
/* During such a recording (plan_conditional.c): a read, a step's conditions, a
 * select. */
int ga__choice_read(ga_frame *f, const ga_step *s);
void ga__choice_enter(const ga_frame *f, const ga_step *s);
int ga__choice_join(ga_frame *f, const ga_step *s);

/* Views (plan_view.c). */
int ga__step_index(ga_frame *f, const ga_step *s);
/* Integers per axis of this form. */
unsigned int ga__index_integers(int form);
/* True if views are evaluated before the signature. */
bool ga__views_are_early(const GpuPlan *p);
/* Settles these views, and which inputs the signature omits. */
int ga__views_settle(GpuPlan *p, const bool *early);
/* Around the evaluation of early steps: p->views.arrays has the inputs, then the
 * views. */
void ga__views_begin(GpuPlan *p, const GpuArray *const *ins);
void ga__views_end(GpuPlan *p);
void ga__views_clear(GpuPlan *p);

/* Runs the callback, or its body. */
int ga__function_run(ga_frame *f, const ga_step *s);

/* Letters of gpuplan_loop.takes. */
enum ga_loop_letter {
  GA_LOOP_ROWS = 'r',
  GA_LOOP_CARRIED = 'c',
  GA_LOOP_UNTIL = 'u',
  GA_LOOP_AFFINE = 'a',
  GA_LOOP_FACTOR = 'f',
  GA_LOOP_SUM = '+',
  GA_LOOP_SAMES = 's'
};
static inline bool ga__loop_carries(char letter) {
  return letter == GA_LOOP_CARRIED || letter == GA_LOOP_UNTIL ||
         letter == GA_LOOP_AFFINE || letter == GA_LOOP_FACTOR || letter == GA_LOOP_SUM;
}
/* Loops (plan_loop.c): checks a body; runs the iterations. */
bool ga__loop_fits(const GpuPlan *p, const ga_step *s, const GpuPlan *body);
int ga__loop_run(ga_frame *f, const ga_step *s);
/* One kernel (plan_loop_kernel.c), if each element needs only itself: results are in
 * the frame where *done. */
bool ga__loop_is_elementwise(const GpuPlan *body);
int ga__loop_run_kernel(bool *done, ga_frame *f, const ga_step *s, size_t n_iterations);

/* A routine step: the routine's row and parameters (plan_routine.c, routines.c). */
typedef struct ga_routine_step {
  void (*free)(struct ga_routine_step *r);
  const struct ga_routine *row;
  unsigned int n_params, n_texts;
  long long *params;
  char **texts;
} ga_routine_step;
const char *ga__routine_name(const ga_routine_step *r);
int ga__routine_run(ga_frame *f, const ga_step *s);
/* Sources of kernels likely at any size, to prebuild them. */
int ga__routine_sources(ga_source *out, unsigned int *n, const ga_routine_step *r);

/* Runs a step; results go to the frame. */
static inline int ga__step_run(ga_frame *f, const ga_step *s) {
  return s->run(f, s);
}
/* Steps that are a single library call, and those on integers and shapes. */
int ga__step_run_plain(ga_frame *f, const ga_step *s);
/* GA_INVALID_ERROR if a result is not of the declared type. */
int ga__step_check_results(const ga_frame *f, const ga_step *s);

/* Inputs and outputs in a callback's form: NULL in place of integers. Close it also on
 * failure. */
typedef struct ga_step_lists {
  const GpuArray **ins;
  long long *ints;
  GpuArray **outs;
  gpuplan_type *types; /* of the outputs */
} ga_step_lists;
int ga__step_lists_open(ga_step_lists *lists, ga_frame *f, const ga_step *s);
void ga__step_lists_close(ga_step_lists *lists);
/* The call of a routine's step; it borrows the lists. */
struct ga_routine_call ga__routine_call_of(const ga_frame *f, const ga_step *s,
                                           const ga_step_lists *lists);

/* Memory of a value: that offered for it, or new. */
int ga__step_memory(GpuArray *out, ga_frame *f, unsigned int value, unsigned int nd,
                    const size_t *dims);
/* Output array: an input overwritten in place if that fits, else a new one. */
int ga__step_result(GpuArray *out, ga_frame *f, const ga_step *s, unsigned int i,
                    unsigned int nd, const size_t *dims);
/* Inputs as arguments of elementwise kernels and reductions. */
void ga__step_inputs(void **args, ga_frame *f, const ga_step *s);

/* True if both run under the same conditions. */
bool ga__step_same_conditions(const ga_step *a, const ga_step *b);
/* How often the step reads the value. */
unsigned int ga__step_reads(const ga_step *s, unsigned int value);

/* Fuses a GEMM or a convolution with the elementwise step that is its only reader
 * (epilogue), if that pays (plan_mapped.c). *reader is that step, or 0: not fused, only
 * views that it needs may have been made. */
int ga__step_mapped(unsigned int *reader, ga_frame *f, unsigned int step);

/* Result `i` of a step, of this shape: if a later join is its only reader, and the
 * shapes of the other parts are known, it becomes a part of the joined array; else it
 * stays without memory. */
int ga__step_placed(ga_frame *f, const ga_step *s, unsigned int i, unsigned int nd,
                    const size_t *dims);
/* Before an elementwise step: if a later join is the only reader of a result, and the
 * shapes of the other parts are known, the result is the part of the joined array that
 * it is to be. For such a join copies the parts that are not yet in it, and marks it as
 * done. */
int ga__step_joined(ga_frame *f, unsigned int step);

#endif
