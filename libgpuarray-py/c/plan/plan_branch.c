/* Conditional steps, and integers in signatures.
 *
 * A step has a guard, conditions that must all hold. Binding skips steps whose guard
 * fails, so a tape contains only the branches taken. Of an integer that only conditions
 * use, the signature contains the truth alone: its value may change at every call
 * without a new binding. */
#include <string.h>

#include "c/array/array.h"
#include "c/plan/plan_state.h"

int GpuPlan_choose(GpuPlan *p, unsigned int *out, const char *label,
                   unsigned int condition, unsigned int a, unsigned int b) {
  GA_TRY(ga__plan_check_given(p, label, out, out));
  GA_TRY(ga__plan_check_value(p, label, condition, true));
  GA_TRY(ga__plan_check_value(p, label, a, false));
  GA_TRY(ga__plan_check_value(p, label, b, false));
  const ga_value *x = &p->graph.values[a], *y = &p->graph.values[b];
  if (x->typecode != y->typecode || x->nd != y->nd)
    return GA_FAIL(GA_INVALID_ERROR,
                   "plan %s, %s: the branches are %s of %u axes and %s of %u axes, "
                   "expected one type",
                   p->name, ga__plan_label(label), ga__dtype_name(x->typecode), x->nd,
                   ga__dtype_name(y->typecode), y->nd);
  ga_value result = ga__plan_array(x->typecode, x->nd);
  return ga__plan_add_step(
      p, (ga_step){.kind = GA_STEP_CHOOSE, .run = ga__branch_choose}, label, 3,
      (unsigned int[]){condition, a, b}, 1, &result, out);
}

/* ---- binding ---- */

bool ga__branch_taken(const ga_frame *f, const ga_step *s) {
  for (unsigned int i = 0; i < s->n_when; i++) {
    const ga_condition c = s->when[i];
    const bool is_known = f->conditions == NULL || !f->conditions[c.value];
    if (is_known && (f->integers[c.value] != 0) != c.wanted)
      return false;
  }
  return true;
}

int ga__branch_choose(ga_frame *f, const ga_step *s) {
  if (f->conditions != NULL && f->conditions[s->ins[0]])
    return ga__choice_join(f, s);
  unsigned int chosen = f->integers[s->ins[0]] != 0 ? s->ins[1] : s->ins[2];
  return GpuArray_view(&f->arrays[s->outs[0]], &f->arrays[chosen]);
}

int ga__branch_absent(GpuArray *out, const GpuPlan *p, unsigned int value) {
  size_t dims[GA_MAX_NDIM];
  const ga_value *v = &p->graph.values[value];
  for (unsigned int i = 0; i < v->nd; i++)
    dims[i] = 1;
  return GpuArray_empty(out, ga__plan_context(p, v->place), v->typecode, v->nd, dims,
                        GA_C_ORDER);
}

/* ---- signatures ---- */

/* True if the step can be evaluated from the call's integers and input layouts alone,
 * before the look-up. */
static bool is_early(const GpuPlan *p, const ga_step *s, const bool *early,
                     bool views) {
  bool is_view = s->kind == GA_STEP_INDEX || s->kind == GA_STEP_DIMSHUFFLE;
  if (!ga__step_is_integer(s) && !(views && is_view))
    return false;
  for (unsigned int i = 0; i < s->n_when; i++) {
    const unsigned int c = s->when[i].value;
    if (!early[c] && (p->whole.conditions == NULL || !p->whole.conditions[c]))
      return false;
  }
  for (unsigned int i = 0; i < s->n_in; i++) {
    const ga_value *v = &p->graph.values[s->ins[i]];
    bool is_given = v->input >= 0 || (views && v->constant.data != NULL);
    if (!early[s->ins[i]] && !is_given)
      return false;
  }
  return true;
}

/* Propagates, backwards, how integers are used: as conditions (truth only, if early) or
 * by value. */
static void note_readers(const ga_plan_graph *g, const ga_step *s, const bool *early,
                         bool *settles, bool *asked) {
  bool is_view = s->kind == GA_STEP_INDEX && early[s->outs[0]];
  bool passes_on = is_view || (ga__step_is_integer(s) && !settles[s->outs[0]]);
  for (unsigned int i = 0; i < s->n_in; i++)
    if (g->values[s->ins[i]].integer) {
      bool is_truth = s->kind == GA_STEP_CHOOSE && early[s->ins[i]];
      asked[s->ins[i]] |= is_truth;
      settles[s->ins[i]] |= !is_truth && !passes_on;
    }
  for (unsigned int i = 0; i < s->n_when; i++) {
    unsigned int c = s->when[i].value;
    asked[c] |= early[c];
    settles[c] |= !early[c];
  }
}

static void clear_lists(GpuPlan *p) {
  ga__free(p->signature.settles);
  ga__free(p->signature.conditions);
  ga__free(p->signature.early);
  ga__free(p->signature.integers);
  p->signature.settles = NULL;
  p->signature.conditions = p->signature.early = NULL;
  p->signature.integers = NULL;
}

/* Fills the signature's lists; flags are per value. */
static int settle(GpuPlan *p, bool *early, bool *asked) {
  ga_plan_graph *g = &p->graph;
  bool views = ga__views_are_early(p);
  for (unsigned int i = 0; i < g->n_int_inputs; i++)
    early[g->int_inputs[i]] = true;
  for (unsigned int i = 0; i < g->n_steps; i++)
    if (is_early(p, &g->steps[i], early, views)) {
      early[g->steps[i].outs[0]] = true;
      p->signature.early[p->signature.n_early++] = i;
    }
  for (unsigned int i = g->n_steps; i-- > 0;)
    note_readers(g, &g->steps[i], early, p->signature.settles, asked);
  for (unsigned int v = 0; v < g->n_values; v++)
    if (asked[v])
      p->signature.conditions[p->signature.n_conditions++] = v;
  p->signature.length += p->signature.n_conditions;
  return views ? ga__views_settle(p, early) : GA_NO_ERROR;
}

int ga__branch_settle(GpuPlan *p) {
  size_t n = (size_t)p->graph.n_values + 1;
  bool *early = ga__alloc(n, sizeof *early), *asked = ga__alloc(n, sizeof *asked);
  p->signature.settles = ga__alloc(n, sizeof *p->signature.settles);
  p->signature.conditions = ga__alloc(n, sizeof *p->signature.conditions);
  p->signature.early =
      ga__alloc((size_t)p->graph.n_steps + 1, sizeof *p->signature.early);
  p->signature.integers = ga__alloc(n, sizeof *p->signature.integers);
  ga__plan_at_free(p, clear_lists);
  bool ready = early && asked && p->signature.settles && p->signature.conditions &&
               p->signature.early && p->signature.integers;
  int status = ready ? settle(p, early, asked) : GA_MEMORY_ERROR;
  if (status != GA_NO_ERROR)
    clear_lists(p);
  ga__free(early);
  ga__free(asked);
  return status;
}

/* Evaluates the early integers and views. */
static int compute_early(GpuPlan *p, const GpuArray *const *ins, const long long *ints,
                         int *failed_step) {
  ga_plan_graph *g = &p->graph;
  ga_frame f = {.plan = p,
                .arrays = p->views.arrays,
                .integers = p->signature.integers,
                .conditions = p->whole.conditions};
  memset(p->signature.integers, 0, g->n_values * sizeof *p->signature.integers);
  for (unsigned int i = 0; i < g->n_int_inputs; i++)
    p->signature.integers[g->int_inputs[i]] = ints[i];
  for (unsigned int i = 0; i < p->signature.n_early; i++) {
    const ga_step *s = &g->steps[p->signature.early[i]];
    int status = GA_NO_ERROR;
    if (!ga__branch_taken(&f, s))
      continue;
    if (s->kind == GA_STEP_DIM && g->values[s->ins[0]].input >= 0)
      p->signature.integers[s->outs[0]] =
          (long long)ins[g->values[s->ins[0]].input]->dimensions[s->op];
    else
      status = ga__step_run(&f, s);
    if (status != GA_NO_ERROR) {
      *failed_step = (int)p->signature.early[i];
      return ga__fail_within(status, "%s", s->label);
    }
  }
  return GA_NO_ERROR;
}

int ga__branch_sign(GpuPlan *p, const GpuArray *const *ins, const long long *ints,
                    int *failed_step) {
  uint64_t *words = p->signature.words;
  for (unsigned int i = 0; i < p->graph.n_int_inputs; i++)
    *words++ = p->signature.settles[p->graph.int_inputs[i]] ? (uint64_t)ints[i] : 0;
  if (p->signature.n_conditions == 0 && p->views.n == 0)
    return GA_NO_ERROR;
  if (p->views.arrays != NULL) /* some views are early */
    ga__views_begin(p, ins);
  GA_TRY(compute_early(p, ins, ints, failed_step));
  for (unsigned int i = 0; i < p->signature.n_conditions; i++)
    *words++ = p->signature.integers[p->signature.conditions[i]] != 0;
  return GA_NO_ERROR;
}
