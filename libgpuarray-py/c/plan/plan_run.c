/* Running a plan: its inputs are checked, its binding found, its tape replayed. */
#include <string.h>

#include "c/array/array.h"
#include "c/device/device_errors.h"
#include "c/device/queue.h"
#include "c/plan/plan_overlap.h"

static int check_input(const GpuPlan *p, unsigned int i, const GpuArray *a) {
  const ga_value *v = &p->values[p->inputs[i]];
  char text[GA_ARRAY_TEXT];
  if (a == NULL || a->data == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "%s: input %u is no array", p->name, i);
  GA_TRY(ga__array_check(a, p->name));
  if (a->typecode != v->typecode || a->nd != v->nd)
    return GA_FAIL(GA_INVALID_ERROR, "%s: input %u is %s, expected %s of %u axes",
                   p->name, i, ga__array_text(text, a), ga__dtype_name(v->typecode),
                   v->nd);
  if (gpudata_context(a->data) != p->context)
    return GA_FAIL(GA_VALUE_ERROR, "%s: input %u lives on %s, the function on %s",
                   p->name, i, gpucontext_name(gpudata_context(a->data)),
                   gpucontext_name(p->context));
  for (unsigned int k = 0; k < a->nd; k++)
    if ((v->broadcastable >> k & 1u) != 0 && a->dimensions[k] != 1)
      return GA_FAIL(
          GA_VALUE_ERROR,
          "%s: input %u is %s, but its axis %u was declared broadcastable, of "
          "length 1",
          p->name, i, ga__array_text(text, a), k);
  return GA_NO_ERROR;
}

static uint64_t *write_layout(uint64_t *words, const GpuArray *a, unsigned int nd,
                              bool fixed) {
  *words++ = (uint64_t)a->flags << 8 | a->offset % GA_PLAN_ALIGNMENT;
  *words++ = fixed ? a->offset + 1 : 0;
  for (unsigned int k = 0; k < nd; k++) {
    *words++ = a->dimensions[k];
    *words++ = (uint64_t)a->strides[k];
  }
  return words;
}

/* Behind what a signature has of integers. */
static void write_layouts(const GpuPlan *p, const GpuArray *const *ins) {
  uint64_t *words = p->signature + p->n_int_inputs + p->n_conditions;
  for (unsigned int i = 0; i < p->n_inputs; i++)
    if (p->hidden == NULL || !p->hidden[i])
      words = write_layout(words, ins[i], ins[i]->nd, p->fixed[i]);
  for (unsigned int i = 0; i < p->n_views; i++) {
    unsigned int v = p->views[i];
    words =
        write_layout(words, &p->arrays[v], p->values[v].nd, p->fixed[p->n_inputs + i]);
  }
}

/* Whether the binding has an input fixed that was not known to be so. */
static bool fixes_more(const GpuPlan *p, const ga_bound *bound) {
  for (unsigned int i = 0; i < p->n_inputs + p->n_views; i++)
    if (ga__tape_fixed(bound->tape, i) && !p->fixed[i])
      return true;
  return false;
}

/* Binds the plan. Which inputs are fixed shows only when it is recorded, so it may be
 * recorded again, and that part of the signature is written again. */
static int bind_anew(ga_bound **out, GpuPlan *p, const GpuArray *const *ins,
                     const long long *ints, int *failed_step) {
  ga_bound *made;
  GA_TRY(ga__plan_bind(&made, p, ins, ints, failed_step));
  while (fixes_more(p, made)) {
    ga__bound_note_fixed(p, made);
    ga__bound_free(made);
    write_layouts(p, ins);
    GA_TRY(ga__plan_bind(&made, p, ins, ints, failed_step));
  }
  p->info.n_binds++;
  ga__plan_prepare_rest(p);
  GA_TRY(ga__bound_add(p, made));
  *out = made;
  return GA_NO_ERROR;
}

/* The binding for inputs and views that lie so; the integers are signed. */
static int find_bound(ga_bound **out, GpuPlan *p, const GpuArray *const *ins,
                      const long long *ints, int *failed_step) {
  write_layouts(p, ins);
  ga_bound *found = ga__bound_find(p);
  if (found == NULL)
    GA_TRY(bind_anew(&found, p, ins, ints, failed_step));
  ga__tape_protect(found->tape, p->protects);
  *out = found;
  return GA_NO_ERROR;
}

/* The binding for everything that a bound plan depends on. */
int ga__plan_get_bound(ga_bound **out, GpuPlan *p, const GpuArray *const *ins,
                       const long long *ints, int *failed_step) {
  GA_TRY(ga__branch_sign(p, ins, ints, failed_step));
  return find_bound(out, p, ins, ints, failed_step);
}

/* Results as arrays on real buffers. A buffer that several results share is retained
 * for each. */
static void hand_out(GpuArray *const *outs, const ga_bound *bound) {
  for (unsigned int i = 0; i < bound->n_outputs; i++) {
    *outs[i] = bound->outputs[i];
    gpudata *stand_in = bound->outputs[i].data;
    if (stand_in->tape != NULL) {
      ga_binding real = bound->bindings[ga__tape_slot(stand_in)];
      outs[i]->data = real.buffer;
      outs[i]->offset += real.base;
    }
    gpudata_retain(outs[i]->data);
  }
}

/* Where the slot of a view leads. One in a branch that is not taken was not computed;
 * nothing reads it. */
static ga_binding view_binding(const GpuPlan *p, unsigned int place,
                               const GpuArray *const *ins) {
  unsigned int view = p->views[place];
  const GpuArray *a = &p->arrays[view];
  if (a->data != NULL)
    return (ga_binding){a->data, ga__plan_base(p, p->n_inputs + place, a)};
  const ga_value *root = &p->values[ga__plan_root(p, view)];
  return (ga_binding){root->input >= 0 ? ins[root->input]->data : root->constant.data,
                      0};
}

static void fill_bindings(ga_bound *bound, const GpuPlan *p,
                          const GpuArray *const *ins) {
  for (unsigned int i = 0; i < p->n_inputs; i++)
    bound->bindings[i] = (ga_binding){ins[i]->data, ga__plan_base(p, i, ins[i])};
  for (unsigned int i = 0; i < p->n_views; i++)
    bound->bindings[p->n_inputs + i] = view_binding(p, i, ins);
}

static int replay(GpuArray *const *outs, ga_bound *bound) {
  GA_TRY(ga__tape_replay(bound->tape, bound->bindings));
  hand_out(outs, bound);
  ga__tape_give_up(bound->tape, bound->bindings); /* the results hold their own */
  return GA_NO_ERROR;
}

unsigned int ga__plan_root(const GpuPlan *p, unsigned int value) {
  while (p->values[value].maker > 0) {
    const ga_step *s = &p->steps[p->values[value].maker - 1];
    bool is_view = s->kind == GA_STEP_INDEX || s->kind == GA_STEP_DIMSHUFFLE ||
                   s->kind == GA_STEP_RESHAPE || s->kind == GA_STEP_BROADCAST;
    if (!is_view)
      break;
    value = s->ins[0];
  }
  return value;
}

/* Whether `value` lies where input `i` does, as far as the plan tells; a choice lies
 * where one of two does. */
static bool lies_in(const GpuPlan *p, unsigned int value, unsigned int i) {
  const unsigned int root = ga__plan_root(p, value), maker = p->values[root].maker;
  const ga_step *s = maker > 0 ? &p->steps[maker - 1] : NULL;
  if (s != NULL && s->kind == GA_STEP_CHOOSE)
    return lies_in(p, s->ins[1], i) || lies_in(p, s->ins[2], i);
  return root == p->inputs[i];
}

bool ga__plan_writes(const GpuPlan *p, unsigned int i, unsigned int n) {
  for (unsigned int k = 0; k < n; k++) {
    const ga_step *s = &p->steps[k];
    for (unsigned int o = 0; s->inplace != NULL && o < s->n_out; o++)
      if (s->inplace[o] >= 0 && lies_in(p, s->ins[s->inplace[o]], i))
        return true;
  }
  return false;
}

/* What the first run settles: scratch memory, and which inputs are written. */
int ga__plan_settle(GpuPlan *p) {
  if (p->signature != NULL)
    return GA_NO_ERROR;
  GA_TRY(ga__stages_settle(p));
  GA_TRY(ga__choice_settle(p));
  if ((p->stages == NULL || p->chosen != NULL) && p->settles == NULL)
    GA_TRY(ga__branch_settle(p));
  p->signature = ga__alloc(p->signature_length + 1, sizeof *p->signature);
  p->destroyed = ga__alloc(p->n_inputs + 1, sizeof *p->destroyed);
  p->fixed = ga__alloc((size_t)p->n_inputs + p->n_views + 1, sizeof *p->fixed);
  if (p->signature == NULL || p->destroyed == NULL || p->fixed == NULL) {
    ga__free(p->signature);
    ga__free(p->destroyed);
    ga__free(p->fixed);
    p->signature = NULL;
    p->destroyed = NULL;
    p->fixed = NULL;
    return GA_MEMORY_ERROR;
  }
  for (unsigned int i = 0; i < p->n_inputs; i++)
    p->destroyed[i] = ga__plan_writes(p, i, p->n_steps);
  for (unsigned int i = 0; i < p->n_outputs; i++)
    p->values[p->outputs[i]].last_use = p->n_steps;
  return GA_NO_ERROR;
}

/* Notes of a binding, if it is still kept, that what it asks for was done. */
static void prove(GpuPlan *p, const ga_tape *tape) {
  for (ga_bound *b = p->bound; b; b = b->next)
    if (b->tape == tape)
      ga__tape_prove(b->tape);
}

/* Replays another binding in place of one whose inputs may overlap: that of what is
 * given once copies are made. */
static int replay_apart(GpuArray *const *outs, ga_bound **bound, GpuPlan *p,
                        const GpuArray *const *ins, const long long *ints,
                        int *failed_step) {
  ga_apart apart = {0};
  bool changed = false;
  const ga_tape *given = (*bound)->tape;
  int status = ga__apart_open(&apart, p, ins);
  do {
    if (status == GA_NO_ERROR)
      status = ga__overlap_part(&changed, p, *bound, apart.is_ours, apart.list,
                                apart.copies);
    if (status == GA_NO_ERROR && changed)
      status = find_bound(bound, p, apart.list, ints, failed_step);
  } while (status == GA_NO_ERROR && changed);
  if (status == GA_NO_ERROR) {
    fill_bindings(*bound, p, apart.list);
    status = replay(outs, *bound);
  }
  if (status == GA_NO_ERROR)
    prove(p, given);
  ga__apart_close(&apart);
  return status;
}

/* Replays a binding, and ends what was begun to find it. */
static int run_binding(GpuArray *const *outs, ga_bound *bound, GpuPlan *p,
                       const GpuArray *const *ins, const long long *ints,
                       int *failed_step) {
  fill_bindings(bound, p, ins);
  const bool may_clash =
      p->confirms || ga__tape_may_clash(bound->tape, bound->bindings);
  int status = may_clash ? replay_apart(outs, &bound, p, ins, ints, failed_step)
                         : replay(outs, bound);
  if (status != GA_NO_ERROR && ga__tape_failed(bound->tape) > 0)
    *failed_step = (int)ga__tape_failed(bound->tape) - 1;
  ga__views_end(p);
  GA_TRY(status);
  ga__tape_counts(bound->tape, &p->info.n_launches, &p->info.n_allocs,
                  &p->info.workspace);
  return GA_NO_ERROR;
}

/* Runs a binding; where there is no room for the copies of a first run, without. */
static int run_found(GpuArray *const *outs, ga_bound *bound, GpuPlan *p,
                     const GpuArray *const *ins, const long long *ints,
                     int *failed_step) {
  const bool is_protected = ga__tape_is_protected(bound->tape);
  int status = run_binding(outs, bound, p, ins, ints, failed_step);
  if (status != GA_MEMORY_ERROR || !is_protected)
    return status;
  *failed_step = -1;
  p->protects = false;
  status = ga__plan_get_bound(&bound, p, ins, ints, failed_step);
  if (status == GA_NO_ERROR)
    status = run_binding(outs, bound, p, ins, ints, failed_step);
  else
    ga__views_end(p);
  p->protects = true;
  return status;
}

int ga__plan_run_bound(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                       const long long *ints, int *failed_step) {
  ga_bound *bound;
  if (ga__plan_is_within(p))
    return ga__plan_run_within(p, outs, ins, ints, failed_step);
  int status = ga__plan_get_bound(&bound, p, ins, ints, failed_step);
  if (status == GA_NO_ERROR)
    return run_found(outs, bound, p, ins, ints, failed_step);
  ga__views_end(p);
  return status;
}

/* The binding of a plan with stages as one recording, where the device chooses; false
 * where there is none, and the stages are to run. */
static bool get_whole(ga_bound **out, GpuPlan *p, const GpuArray *const *ins,
                      const long long *ints, int *failed_step) {
  if (p->chosen == NULL)
    return false;
  if (ga__plan_get_bound(out, p, ins, ints, failed_step) == GA_NO_ERROR)
    return true;
  ga__views_end(p);
  *failed_step = -1;
  return false;
}

static int run_locked(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                      const long long *ints, int *failed_step) {
  ga_bound *bound;
  if (p->stages == NULL)
    return ga__plan_run_bound(p, outs, ins, ints, failed_step);
  const bool is_within = ga__plan_is_within(p);
  p->is_whole = !is_within && get_whole(&bound, p, ins, ints, failed_step);
  if (p->is_whole)
    return run_found(outs, bound, p, ins, ints, failed_step);
  GA_TRY(ga__stages_run(p, outs, ins, ints, failed_step));
  if (p->chosen != NULL && !is_within)
    ga__choice_refuse(p);
  return GA_NO_ERROR;
}

/* Waits for what a run has queued, and takes back what outs held where that failed. */
static int confirm(const GpuPlan *p, GpuArray *const *outs, const GpuArray *before) {
  gpuqueue *q = ga__queue_current(p->context);
  int status = ga__context_waited(p->context, ga__queue_wait(q));
  if (status == GA_NO_ERROR)
    status = ga__report_check(q);
  for (unsigned int i = 0; status != GA_NO_ERROR && i < p->n_outputs; i++) {
    GpuArray_clear(outs[i]);
    *outs[i] = before[i];
  }
  return status;
}

/* Runs on copies of inputs that overlap one which some step overwrites. */
static int run_with_copies(GpuPlan *p, GpuArray *const *outs,
                           const GpuArray *const *ins, const long long *ints,
                           int *failed_step) {
  ga_apart apart = {0};
  int status = ga__apart_open(&apart, p, ins);
  if (status == GA_NO_ERROR)
    status = ga__overlap_copy(p, apart.list, apart.copies);
  if (status == GA_NO_ERROR)
    status = run_locked(p, outs, apart.list, ints, failed_step);
  ga__apart_close(&apart);
  return status;
}

/* Whether no tape knows by itself what the whole run overwrites. */
static bool needs_steps(const GpuPlan *p) {
  return p->stages != NULL || ga__plan_is_within(p);
}

/* What must hold before a run looks at its inputs. */
static int ready(GpuPlan *p, const GpuArray *const *ins, const long long *ints) {
  GA_TRY(ga__context_check(p->context));
  GA_TRY(ga__plan_settle(p));
  if (p->n_inputs > 0 && ins == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "plan %s: got no list of its %u inputs", p->name,
                   p->n_inputs);
  if (p->n_int_inputs > 0 && ints == NULL)
    return GA_FAIL(GA_VALUE_ERROR,
                   "plan %s: got no list of its %u integers; run it by GpuPlan_call",
                   p->name, p->n_int_inputs);
  for (unsigned int i = 0; i < p->n_inputs; i++)
    GA_TRY(check_input(p, i, ins[i]));
  return GA_NO_ERROR;
}

/* What waits at its end cannot be recorded among the steps of another plan. */
static int check_within(const GpuPlan *p) {
  if (!p->confirms || !ga__plan_is_within(p))
    return GA_NO_ERROR;
  return GA_FAIL(
      GA_UNSUPPORTED_ERROR,
      "plan %s: it waits at its end (GpuPlan_confirm), which a step of another "
      "plan cannot do while it is recorded; give GpuPlan_defer a function that "
      "makes the call",
      p->name);
}

static int check_outputs(const GpuPlan *p, GpuArray *const *outs) {
  if (p == NULL)
    return ga__fail_null("plan run", "plan");
  for (unsigned int i = 0; i < p->n_outputs; i++)
    if (outs == NULL || outs[i] == NULL)
      return GA_FAIL(GA_VALUE_ERROR, "plan %s: got no array for output %u of %u",
                     p->name, i, p->n_outputs);
  return GA_NO_ERROR;
}

static int run_apart(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                     const long long *ints, int *failed_step) {
  return needs_steps(p) && ga__overlap_any(p, ins)
             ? run_with_copies(p, outs, ins, ints, failed_step)
             : run_locked(p, outs, ins, ints, failed_step);
}

/* A run that waits at its end. */
static int run_confirmed(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                         const long long *ints, int *failed_step) {
  GpuArray *before = ga__alloc((size_t)p->n_outputs + 1, sizeof *before);
  if (before == NULL)
    return GA_MEMORY_ERROR;
  for (unsigned int i = 0; i < p->n_outputs; i++)
    before[i] = *outs[i];
  int status = run_apart(p, outs, ins, ints, failed_step);
  if (status == GA_NO_ERROR)
    status = confirm(p, outs, before);
  ga__free(before);
  return status;
}

int GpuPlan_run(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                int *failed_step) {
  return GpuPlan_call(p, outs, ins, NULL, failed_step);
}

int GpuPlan_call(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                 const long long *ints, int *failed_step) {
  int ignored;
  GA_TRY(check_outputs(p, outs));
  if (failed_step == NULL)
    failed_step = &ignored;
  *failed_step = -1;
  GA_TRY(ga__turn_take(&p->turn, "plan call", p->name));
  int status = ready(p, ins, ints);
  if (status == GA_NO_ERROR)
    status = check_within(p);
  if (status == GA_NO_ERROR)
    status = p->confirms ? run_confirmed(p, outs, ins, ints, failed_step)
                         : run_apart(p, outs, ins, ints, failed_step);
  ga__turn_end(&p->turn);
  return status;
}

/* As run_locked: what cannot be bound whole is bound up to its first wait. */
static int bind_locked(GpuPlan *p, const GpuArray *const *ins, int *failed_step) {
  ga_bound *bound;
  if (p->stages == NULL)
    return ga__plan_get_bound(&bound, p, ins, NULL, failed_step);
  if (get_whole(&bound, p, ins, NULL, failed_step))
    return GA_NO_ERROR;
  return ga__stages_bind(p, ins, failed_step);
}

int GpuPlan_bind(GpuPlan *p, const GpuArray *const *ins, int *failed_step) {
  int ignored;
  if (p == NULL)
    return ga__fail_null("plan bind", "plan");
  if (failed_step == NULL)
    failed_step = &ignored;
  *failed_step = -1;
  GA_TRY(ga__turn_take(&p->turn, "plan bind", p->name));
  int status = ready(p, ins, NULL);
  if (status == GA_NO_ERROR)
    status = bind_locked(p, ins, failed_step);
  ga__turn_end(&p->turn);
  return status;
}
