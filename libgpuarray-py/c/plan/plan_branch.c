/* Steps that run only where host integers say so, and what a signature holds of these.
 *
 * A step has a guard: conditions that must all hold. When the plan is bound, steps
 * whose guard does not hold are passed over, so a tape has the steps of the branches
 * taken and no others. Of an integer that only conditions depend on, a signature holds
 * the conditions' truth: its value may change at every call without binding anew. */
#include <string.h>

#include "c/array/array.h"
#include "c/plan/plan.h"

int GpuPlan_choose(GpuPlan *p, unsigned int *out, const char *label,
                   unsigned int condition, unsigned int a, unsigned int b) {
  GA_TRY(ga__plan_check_given(p, label, out, out));
  GA_TRY(ga__plan_check_value(p, label, condition, true));
  GA_TRY(ga__plan_check_value(p, label, a, false));
  GA_TRY(ga__plan_check_value(p, label, b, false));
  const ga_value *x = &p->values[a], *y = &p->values[b];
  if (x->typecode != y->typecode || x->nd != y->nd)
    return GA_FAIL(GA_INVALID_ERROR,
                   "plan %s, %s: chooses between %s of %u axes and %s of %u axes; both "
                   "must be of one type",
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
    const bool is_known = f->chosen == NULL || !f->chosen[c.value];
    if (is_known && (f->integers[c.value] != 0) != c.wanted)
      return false;
  }
  return true;
}

int ga__branch_choose(ga_frame *f, const ga_step *s) {
  if (f->chosen != NULL && f->chosen[s->ins[0]])
    return ga__choice_join(f, s);
  unsigned int chosen = f->integers[s->ins[0]] != 0 ? s->ins[1] : s->ins[2];
  return GpuArray_view(&f->arrays[s->outs[0]], &f->arrays[chosen]);
}

int ga__branch_absent(GpuArray *out, const GpuPlan *p, unsigned int value) {
  size_t dims[GA_MAX_NDIM];
  const ga_value *v = &p->values[value];
  for (unsigned int i = 0; i < v->nd; i++)
    dims[i] = 1;
  return GpuArray_empty(out, p->context, v->typecode, v->nd, dims, GA_C_ORDER);
}

/* ---- signatures ---- */

/* Whether the integers a call gives, and where its inputs lie, tell what `s` gives,
 * where it runs if the device chooses that. */
static bool is_early(const GpuPlan *p, const ga_step *s, const bool *early,
                     bool views) {
  bool is_view = s->kind == GA_STEP_INDEX || s->kind == GA_STEP_DIMSHUFFLE;
  if (!ga__step_is_integer(s) && !(views && is_view))
    return false;
  for (unsigned int i = 0; i < s->n_when; i++) {
    const unsigned int c = s->when[i].value;
    if (!early[c] && (p->chosen == NULL || !p->chosen[c]))
      return false;
  }
  for (unsigned int i = 0; i < s->n_in; i++) {
    const ga_value *v = &p->values[s->ins[i]];
    bool is_given = v->input >= 0 || (views && v->constant.data != NULL);
    if (!early[s->ins[i]] && !is_given)
      return false;
  }
  return true;
}

/* Notes what reads an integer: a condition (its truth counts, if it is known early), or
 * whatever needs its value. */
static void note_readers(const GpuPlan *p, const ga_step *s, const bool *early,
                         bool *settles, bool *asked) {
  bool is_view = s->kind == GA_STEP_INDEX && early[s->outs[0]];
  bool passes_on = is_view || (ga__step_is_integer(s) && !settles[s->outs[0]]);
  for (unsigned int i = 0; i < s->n_in; i++)
    if (p->values[s->ins[i]].integer) {
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
  ga__free(p->settles);
  ga__free(p->conditions);
  ga__free(p->early);
  ga__free(p->integers);
  p->settles = NULL;
  p->conditions = p->early = NULL;
  p->integers = NULL;
}

/* Fills the lists that a signature needs, from flags for each value. */
static int settle(GpuPlan *p, bool *early, bool *asked) {
  bool views = ga__views_are_early(p);
  for (unsigned int i = 0; i < p->n_int_inputs; i++)
    early[p->int_inputs[i]] = true;
  for (unsigned int i = 0; i < p->n_steps; i++)
    if (is_early(p, &p->steps[i], early, views)) {
      early[p->steps[i].outs[0]] = true;
      p->early[p->n_early++] = i;
    }
  for (unsigned int i = p->n_steps; i-- > 0;)
    note_readers(p, &p->steps[i], early, p->settles, asked);
  for (unsigned int v = 0; v < p->n_values; v++)
    if (asked[v])
      p->conditions[p->n_conditions++] = v;
  p->signature_length += p->n_conditions;
  return views ? ga__views_settle(p, early) : GA_NO_ERROR;
}

int ga__branch_settle(GpuPlan *p) {
  size_t n = (size_t)p->n_values + 1;
  bool *early = ga__alloc(n, sizeof *early), *asked = ga__alloc(n, sizeof *asked);
  p->settles = ga__alloc(n, sizeof *p->settles);
  p->conditions = ga__alloc(n, sizeof *p->conditions);
  p->early = ga__alloc((size_t)p->n_steps + 1, sizeof *p->early);
  p->integers = ga__alloc(n, sizeof *p->integers);
  ga__plan_at_free(p, clear_lists);
  bool ready = early && asked && p->settles && p->conditions && p->early && p->integers;
  int status = ready ? settle(p, early, asked) : GA_MEMORY_ERROR;
  if (status != GA_NO_ERROR)
    clear_lists(p);
  ga__free(early);
  ga__free(asked);
  return status;
}

/* Computes the integers that conditions may need, and the views. */
static int compute_early(GpuPlan *p, const GpuArray *const *ins, const long long *ints,
                         int *failed_step) {
  ga_frame f = {
      .plan = p, .arrays = p->arrays, .integers = p->integers, .chosen = p->chosen};
  memset(p->integers, 0, p->n_values * sizeof *p->integers);
  for (unsigned int i = 0; i < p->n_int_inputs; i++)
    p->integers[p->int_inputs[i]] = ints[i];
  for (unsigned int i = 0; i < p->n_early; i++) {
    const ga_step *s = &p->steps[p->early[i]];
    int status = GA_NO_ERROR;
    if (!ga__branch_taken(&f, s))
      continue;
    if (s->kind == GA_STEP_DIM && p->values[s->ins[0]].input >= 0)
      p->integers[s->outs[0]] =
          (long long)ins[p->values[s->ins[0]].input]->dimensions[s->op];
    else
      status = ga__step_run(&f, s);
    if (status != GA_NO_ERROR) {
      *failed_step = (int)p->early[i];
      return ga__fail_within(status, "%s", s->label);
    }
  }
  return GA_NO_ERROR;
}

int ga__branch_sign(GpuPlan *p, const GpuArray *const *ins, const long long *ints,
                    int *failed_step) {
  uint64_t *words = p->signature;
  for (unsigned int i = 0; i < p->n_int_inputs; i++)
    *words++ = p->settles[p->int_inputs[i]] ? (uint64_t)ints[i] : 0;
  if (p->n_conditions == 0 && p->n_views == 0)
    return GA_NO_ERROR;
  if (p->arrays != NULL) /* some views are early, if only such as nothing reads */
    ga__views_begin(p, ins);
  GA_TRY(compute_early(p, ins, ints, failed_step));
  for (unsigned int i = 0; i < p->n_conditions; i++)
    *words++ = p->integers[p->conditions[i]] != 0;
  return GA_NO_ERROR;
}
