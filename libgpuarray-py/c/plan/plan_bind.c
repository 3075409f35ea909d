/* Binding: records a plan for one signature, by running its steps on placeholders. */
#include <string.h>

#include "c/array/array.h"
#include "c/base/label.h"
#include "c/plan/plan_state.h"

void ga__bound_free(ga_bound *bound) {
  if (bound == NULL)
    return;
  if (bound->outputs != NULL)
    for (unsigned int i = 0; i < bound->n_outputs; i++)
      GpuArray_clear(&bound->outputs[i]);
  ga__tape_free(bound->tape);
  ga__free(bound->outputs);
  ga__free(bound->inputs);
  ga__free(bound->bindings);
  ga__free(bound->signature);
  ga__free(bound);
}

/* Assumed start of an input in its buffer: aligned, before all its elements, those of
 * negative strides too. */
static size_t origin_of(const GpuArray *a) {
  size_t first = a->offset;
  for (unsigned int i = 0; i < a->nd; i++)
    if (a->strides[i] < 0 && a->dimensions[i] > 0)
      first -= (a->dimensions[i] - 1) * (size_t)-a->strides[i];
  return first - first % GA_PLAN_ALIGNMENT;
}

size_t ga__plan_base(const GpuPlan *p, unsigned int i, const GpuArray *a) {
  return p->bindings.fixed[i] ? 0 : origin_of(a);
}

/* Puts an input, on a placeholder, into the frame. */
static int load_input(ga_frame *f, ga_bound *bound, unsigned int slot,
                      unsigned int value, const GpuArray *input) {
  GpuArray *a = &f->arrays[value];
  GA_TRY(ga__tape_input(&bound->inputs[slot], bound->tape));
  if (input->data == NULL) { /* a view in a branch not taken */
    gpudata_release(bound->inputs[slot]);
    return GA_NO_ERROR;
  }
  *a = *input;
  a->data = bound->inputs[slot];
  a->offset = input->offset - ga__plan_base(f->plan, slot, input);
  return GA_NO_ERROR;
}

static int load_constants(ga_frame *f) {
  const GpuPlan *p = f->plan;
  for (unsigned int i = 0; i < p->graph.n_values; i++)
    if (p->graph.values[i].constant.data != NULL)
      GA_TRY(GpuArray_view(&f->arrays[i], &p->graph.values[i].constant));
  return GA_NO_ERROR;
}

/* Fills the frame: inputs and views on placeholders, integers, constants. */
static int load_frame(ga_frame *f, ga_bound *bound, const GpuArray *const *ins,
                      const long long *ints) {
  const GpuPlan *p = f->plan;
  for (unsigned int i = 0; i < p->graph.n_inputs; i++)
    GA_TRY(load_input(f, bound, i, p->graph.inputs[i], ins[i]));
  for (unsigned int i = 0; i < p->views.n; i++)
    GA_TRY(load_input(f, bound, p->graph.n_inputs + i, p->views.list[i],
                      &p->views.arrays[p->views.list[i]]));
  if (p->views.n > 0)
    memcpy(f->integers, p->signature.integers, p->graph.n_values * sizeof *f->integers);
  for (unsigned int i = 0; i < p->graph.n_int_inputs; i++)
    f->integers[p->graph.int_inputs[i]] = ints[i];
  return load_constants(f);
}

/* Releases arrays at their last use, so that their memory can be reused. */
static void drop_dead(ga_frame *f, unsigned int step) {
  const GpuPlan *p = f->plan;
  const ga_step *s = &p->graph.steps[step];
  for (unsigned int i = 0; i < s->n_in; i++)
    if (p->graph.values[s->ins[i]].last_use == step)
      GpuArray_clear(&f->arrays[s->ins[i]]);
  for (unsigned int i = 0; i < s->n_out; i++)
    if (p->graph.values[s->outs[i]].last_use == step)
      GpuArray_clear(&f->arrays[s->outs[i]]);
}

/* Records a step, possibly fused with a later one, which is then marked as done. */
static int record_step(ga_frame *f, unsigned int i) {
  const GpuPlan *p = f->plan;
  const char *label = ga__intern(p->graph.steps[i].label);
  unsigned int reader = 0;
  GA_TRY_MEMORY(label);
  const char *own = ga__label_swap(label);
  if (f->tape != NULL) {
    ga__tape_set_step(f->tape, i + 1);
    ga__choice_enter(f, &p->graph.steps[i]);
  }
  int status = ga__step_mapped(&reader, f, i);
  if (status == GA_NO_ERROR && reader > 0)
    f->done[reader] = true;
  else
    GA_THEN(status, ga__step_joined(f, i));
  if (status == GA_NO_ERROR && reader == 0 && !f->done[i])
    status = ga__step_run(f, &p->graph.steps[i]);
  ga__label_swap(own);
  return status;
}

/* Marks the steps evaluated for the signature. */
static void mark_early(ga_frame *f) {
  const GpuPlan *p = f->plan;
  for (unsigned int i = 0; p->views.n > 0 && i < p->signature.n_early; i++)
    f->done[p->signature.early[i]] = true;
}

/* True for memory of the recording: a constant, or an early view of one. */
static bool is_held(const ga_frame *f, const gpudata *data) {
  const GpuPlan *p = f->plan;
  if (data->tape == NULL)
    return true;
  const unsigned int slot = ga__tape_slot(data);
  if (slot < p->graph.n_inputs || slot >= p->graph.n_inputs + p->views.n)
    return false;
  const unsigned int view = p->views.list[slot - p->graph.n_inputs];
  return p->graph.values[ga__plan_root(&p->graph, view)].constant.data != NULL;
}

/* An output; a copy if later runs read the same memory. */
static int put_output(GpuArray *out, const ga_frame *f, unsigned int value) {
  GpuArray *a = &f->arrays[value];
  if (a->data == NULL)
    GA_TRY(ga__branch_absent(a, f->plan, value));
  return f->tape != NULL && is_held(f, a->data) ? GpuArray_copy(out, a, GA_C_ORDER)
                                                : GpuArray_view(out, a);
}

static int record(ga_frame *f, GpuArray *outputs, int *failed_step) {
  const GpuPlan *p = f->plan;
  for (unsigned int i = 0; i < p->graph.n_steps; i++) {
    if (!f->done[i] && ga__branch_taken(f, &p->graph.steps[i])) {
      int status = record_step(f, i);
      if (status != GA_NO_ERROR) {
        *failed_step = (int)i;
        return ga__fail_within(status, "%s", p->graph.steps[i].label);
      }
    }
    drop_dead(f, i);
  }
  if (f->conditions != NULL && ga__tape_defers(f->tape))
    return GA_FAIL(GA_UNSUPPORTED_ERROR, "a step calls a function in each run");
  if (f->tape != NULL)
    ga__tape_under(f->tape, 0, NULL);
  for (unsigned int i = 0; i < p->graph.n_outputs; i++)
    GA_TRY(put_output(&outputs[i], f, p->graph.outputs[i]));
  return GA_NO_ERROR;
}

/* Outputs on placeholders are kept slots; others are retained. */
static int note_output(bool *kept, ga_tape *tape, gpudata *data) {
  if (data->tape == NULL)
    return ga__tape_keep(tape, data);
  kept[ga__tape_slot(data)] = true;
  return GA_NO_ERROR;
}

int ga__bound_finish(ga_bound *bound) {
  unsigned int n_slots = ga__tape_slots(bound->tape);
  bool *kept = ga__alloc(n_slots + 1, sizeof *kept);
  bound->bindings = ga__alloc(n_slots + 1, sizeof *bound->bindings);
  int status = kept == NULL || bound->bindings == NULL ? GA_MEMORY_ERROR : GA_NO_ERROR;
  for (unsigned int i = 0; status == GA_NO_ERROR && i < bound->n_outputs; i++)
    status = note_output(kept, bound->tape, bound->outputs[i].data);
  GA_THEN(status, ga__tape_finish(bound->tape, kept));
  ga__free(kept);
  return status;
}

/* Ends the recording; a compile error is attributed to its step. */
static int finish(ga_bound *bound, const ga_plan_graph *g, int *failed_step) {
  int status = ga__bound_finish(bound);
  const unsigned int step = ga__tape_failed(bound->tape);
  if (status == GA_NO_ERROR || step == 0)
    return status;
  *failed_step = (int)step - 1;
  return ga__fail_within(status, "%s", g->steps[step - 1].label);
}

/* ---- frames ---- */

static int open_frame(ga_frame *f, const GpuPlan *p) {
  const size_t n = (size_t)p->graph.n_values + 1;
  *f = (ga_frame){.plan = p,
                  .arrays = ga__alloc(n, sizeof *f->arrays),
                  .integers = ga__alloc(n, sizeof *f->integers),
                  .done = ga__alloc((size_t)p->graph.n_steps + 1, sizeof *f->done)};
  return f->arrays && f->integers && f->done ? GA_NO_ERROR : GA_MEMORY_ERROR;
}

static void clear_frame(ga_frame *f) {
  for (unsigned int i = 0; f->arrays != NULL && i < f->plan->graph.n_values; i++)
    GpuArray_clear(&f->arrays[i]);
}

static void close_frame(ga_frame *f) {
  clear_frame(f);
  ga__free(f->arrays);
  ga__free(f->integers);
  ga__free(f->done);
}

/* ---- recording a tape ---- */

static int new_bound(ga_bound **out, const GpuPlan *p) {
  ga_bound *bound = ga__alloc(1, sizeof *bound);
  GA_TRY_MEMORY(bound);
  *out = bound;
  bound->n_outputs = p->graph.n_outputs;
  bound->outputs = ga__alloc((size_t)p->graph.n_outputs + 1, sizeof *bound->outputs);
  bound->inputs =
      ga__alloc((size_t)p->graph.n_inputs + p->views.n + 1, sizeof *bound->inputs);
  bound->signature = ga__alloc(p->signature.length + 1, sizeof *bound->signature);
  GA_TRY_MEMORY(bound->outputs && bound->inputs && bound->signature);
  memcpy(bound->signature, p->signature.words,
         p->signature.length * sizeof *p->signature.words);
  return ga__tape_new(&bound->tape, p->context);
}

/* Runs the steps while the tape records. The frame's arrays are released before that
 * ends. */
static int record_bound(ga_frame *f, ga_bound *bound, const GpuArray *const *ins,
                        const long long *ints, int *failed_step) {
  f->conditions = f->plan->whole.conditions;
  f->tape = bound->tape;
  mark_early(f);
  ga__tape_enter(bound->tape);
  int status = load_frame(f, bound, ins, ints);
  GA_THEN(status, record(f, bound->outputs, failed_step));
  clear_frame(f);
  ga__tape_leave(bound->tape);
  return status;
}

/* *out is to be freed on failure, too. */
static int record_once(ga_bound **out, GpuPlan *p, const GpuArray *const *ins,
                       const long long *ints, int *failed_step, bool is_rehearsal) {
  ga_frame f;
  int status = open_frame(&f, p);
  *out = NULL;
  GA_THEN(status, new_bound(out, p));
  if (status == GA_NO_ERROR && is_rehearsal)
    ga__tape_rehearse((*out)->tape);
  GA_THEN(status, record_bound(&f, *out, ins, ints, failed_step));
  close_frame(&f);
  return status;
}

int ga__plan_bind(ga_bound **out, GpuPlan *p, const GpuArray *const *ins,
                  const long long *ints, int *failed_step) {
  const bool rehearses = p->context->backend->compiles_at_once;
  ga_bound *bound;
  int status = record_once(&bound, p, ins, ints, failed_step, rehearses);
  if (status == GA_NO_ERROR && ga__tape_is_void(bound->tape)) {
    ga__bound_free(bound);
    status = record_once(&bound, p, ins, ints, failed_step, false);
  }
  GA_THEN(status, finish(bound, &p->graph, failed_step));
  if (status == GA_NO_ERROR)
    *out = bound;
  else
    ga__bound_free(bound);
  return status;
}

/* ---- recording into another plan's tape ---- */

bool ga__plan_is_within(const GpuPlan *p) {
  return ga__recording_current(p->context) != NULL;
}

/* Fills the frame with the caller's inputs and the constants. */
static int load_arguments(ga_frame *f, const GpuArray *const *ins,
                          const long long *ints) {
  const GpuPlan *p = f->plan;
  for (unsigned int i = 0; i < p->graph.n_inputs; i++)
    GA_TRY(GpuArray_view(&f->arrays[p->graph.inputs[i]], ins[i]));
  for (unsigned int i = 0; i < p->graph.n_int_inputs; i++)
    f->integers[p->graph.int_inputs[i]] = ints[i];
  return load_constants(f);
}

static int record_within(ga_frame *f, GpuArray *results, GpuArray *const *outs,
                         const GpuArray *const *ins, const long long *ints,
                         int *failed_step) {
  GA_TRY(load_arguments(f, ins, ints));
  GA_TRY(record(f, results, failed_step));
  for (unsigned int i = 0; i < f->plan->graph.n_outputs; i++) {
    *outs[i] = results[i];
    results[i] = (GpuArray){0};
  }
  return GA_NO_ERROR;
}

int ga__plan_run_body(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                      const long long *ints, GpuArray *offers, int *failed_step) {
  ga_frame f;
  GpuArray *results = ga__alloc((size_t)p->graph.n_outputs + 1, sizeof *results);
  int status = open_frame(&f, p);
  f.offers = offers;
  if (results == NULL)
    status = GA_MEMORY_ERROR;
  GA_THEN(status, record_within(&f, results, outs, ins, ints, failed_step));
  close_frame(&f);
  for (unsigned int i = 0; results != NULL && i < p->graph.n_outputs; i++)
    GpuArray_clear(&results[i]);
  ga__free(results);
  return status;
}

int ga__plan_run_within(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                        const long long *ints, int *failed_step) {
  return ga__plan_run_body(p, outs, ins, ints, NULL, failed_step);
}
