/* Plans whose conditions the device evaluates (conditional graph nodes).
 *
 * If a plan reads integers only as conditions, and the device's graphs support
 * conditional nodes, the host need not wait: the plan is recorded in one piece instead
 * of stages, each step under its conditions. A select of two arrays becomes one array:
 * both sides share memory if possible, else the side that runs is copied. If recording
 * fails (sides of different shape, or an error in a branch that would not run), the
 * call runs in stages. */
#include "c/plan/plan_state.h"
#include "c/plan/stages_state.h"

/* Failed recordings before giving up. */
#define MOST_REFUSALS 8

static bool is_read(const ga_plan_graph *g, unsigned int value) {
  const unsigned int maker = g->values[value].maker;
  return maker > 0 && g->steps[maker - 1].kind == GA_STEP_READ;
}

/* True if integers read from the device are used as conditions only. */
static bool asks_only(const ga_plan_graph *g, const ga_step *s) {
  if ((s->kind == GA_STEP_READ && s->n_out != 1) || ga__loop_by_host(s))
    return false;
  for (unsigned int i = 0; i < s->n_in; i++)
    if (is_read(g, s->ins[i]) && (s->kind != GA_STEP_CHOOSE || i > 0))
      return false;
  unsigned int n = 0;
  for (unsigned int i = 0; i < s->n_when; i++)
    n += is_read(g, s->when[i].value);
  return n < GA_CHOICES; /* a select adds one */
}

/* True if the value is computed on every path. */
static bool is_given_out(const ga_plan_graph *g, unsigned int value) {
  const unsigned int maker = g->values[value].maker;
  const ga_step *s = maker > 0 ? &g->steps[maker - 1] : NULL;
  for (unsigned int i = 0; s != NULL && i < s->n_when; i++)
    if (is_read(g, s->when[i].value))
      return false;
  return true;
}

/* Inputs written before the last read would stay changed if that failed. */
static bool is_recordable_whole(const GpuPlan *p) {
  const ga_plan_graph *g = &p->graph;
  if (p->stages == NULL || ga__plan_places(p) > 1 || !ga__tape_chooses(p->context))
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
  if (p->whole.conditions != NULL || !is_recordable_whole(p))
    return GA_NO_ERROR;
  p->whole.conditions = ga__alloc((size_t)g->n_values + 1, sizeof *p->whole.conditions);
  GA_TRY_MEMORY(p->whole.conditions);
  for (unsigned int i = 0; i < g->n_steps; i++) {
    const ga_step *s = &g->steps[i];
    if (s->kind != GA_STEP_READ)
      continue;
    p->whole.conditions[s->outs[0]] = true;
    g->values[s->outs[0]].last_use =
        g->n_steps; /* its bytes are read during the replay */
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
