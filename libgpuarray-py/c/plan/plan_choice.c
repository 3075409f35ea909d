/* Plans that read conditions which the device looks at by itself.
 *
 * Where a plan reads integers only to know which steps run, and the device's graphs can
 * choose, nothing has to wait: the plan is recorded whole, not in stages, each step
 * under the conditions that it has. What is chosen between two arrays is one array:
 * both are computed in the same memory where that can be, else that of the side that
 * runs is copied. A recording that cannot be made so, for the two differ in shape or a
 * step of a side that would not run fails, leaves the call to the stages. */
#include "c/plan/plan.h"
#include "c/plan/plan_stages.h"

/* Recordings that failed before no more are tried. */
#define MOST_REFUSALS 8

static bool is_read(const ga_plan_graph *g, unsigned int value) {
  const unsigned int maker = g->values[value].maker;
  return maker > 0 && g->steps[maker - 1].kind == GA_STEP_READ;
}

/* Whether the step uses integers that were read as conditions only. */
static bool asks_only(const ga_plan_graph *g, const ga_step *s) {
  if (s->kind == GA_STEP_READ && s->n_out != 1)
    return false;
  for (unsigned int i = 0; i < s->n_in; i++)
    if (is_read(g, s->ins[i]) && (s->kind != GA_STEP_CHOOSE || i > 0))
      return false;
  unsigned int n = 0;
  for (unsigned int i = 0; i < s->n_when; i++)
    n += is_read(g, s->when[i].value);
  return n < GA_CHOICES; /* a choice is under one more */
}

/* Whether the value is there wherever the plan ends. */
static bool is_given_out(const ga_plan_graph *g, unsigned int value) {
  const unsigned int maker = g->values[value].maker;
  const ga_step *s = maker > 0 ? &g->steps[maker - 1] : NULL;
  for (unsigned int i = 0; s != NULL && i < s->n_when; i++)
    if (is_read(g, s->when[i].value))
      return false;
  return true;
}

/* Inputs that are written before the last read would stay so if that failed. */
static bool may_choose(const GpuPlan *p) {
  const ga_plan_graph *g = &p->graph;
  if (p->stages == NULL || !ga__tape_chooses(p->context))
    return false;
  for (unsigned int i = 0; i < g->n_inputs; i++)
    if (p->stages->copied[i])
      return false;
  for (unsigned int i = 0; i < g->n_outputs; i++)
    if (!is_given_out(g, g->outputs[i]))
      return false;
  for (unsigned int i = 0; i < g->n_steps; i++)
    if (!asks_only(g, &g->steps[i]))
      return false;
  return true;
}

int ga__choice_settle(GpuPlan *p) {
  ga_plan_graph *g = &p->graph;
  if (p->whole.conditions != NULL || !may_choose(p))
    return GA_NO_ERROR;
  p->whole.conditions = ga__alloc((size_t)g->n_values + 1, sizeof *p->whole.conditions);
  if (p->whole.conditions == NULL)
    return GA_MEMORY_ERROR;
  for (unsigned int i = 0; i < g->n_steps; i++) {
    const ga_step *s = &g->steps[i];
    if (s->kind != GA_STEP_READ)
      continue;
    p->whole.conditions[s->outs[0]] = true;
    g->values[s->outs[0]].last_use = g->n_steps; /* its bytes are looked at again */
  }
  return GA_NO_ERROR;
}

void ga__choice_refuse(GpuPlan *p) {
  if (++p->whole.n_refusals < MOST_REFUSALS)
    return;
  ga__free(p->whole.conditions);
  p->whole.conditions = NULL;
  ga__bound_clear(p);
  p->info.n_bindings = 0;
}
