#include "c/plan/plan_stages.h"

/* The layout of a plan, settled by its first run: stages, conditions, the signature's
 * words, and which inputs are overwritten. */
int ga__plan_settle(GpuPlan *p) {
  ga_plan_graph *g = &p->graph;
  if (p->signature.words != NULL)
    return GA_NO_ERROR;
  GA_TRY(ga__stages_settle(p));
  GpuPlan *stage;
  for (unsigned int i = 0; (stage = ga__stages_next(p, &i)) != NULL;)
    GA_TRY(ga__plan_settle(stage));
  GA_TRY(ga__choice_settle(p));
  if ((p->stages == NULL || p->whole.conditions != NULL) &&
      p->signature.settles == NULL)
    GA_TRY(ga__branch_settle(p));
  p->signature.words = ga__alloc(p->signature.length + 1, sizeof *p->signature.words);
  g->destroyed = ga__alloc(g->n_inputs + 1, sizeof *g->destroyed);
  p->bindings.fixed =
      ga__alloc((size_t)g->n_inputs + p->views.n + 1, sizeof *p->bindings.fixed);
  if (p->signature.words == NULL || g->destroyed == NULL || p->bindings.fixed == NULL) {
    ga__free(p->signature.words);
    ga__free(g->destroyed);
    ga__free(p->bindings.fixed);
    p->signature.words = NULL;
    g->destroyed = NULL;
    p->bindings.fixed = NULL;
    return GA_MEMORY_ERROR;
  }
  for (unsigned int i = 0; i < g->n_inputs; i++)
    g->destroyed[i] = ga__plan_writes(&p->graph, i, g->n_steps);
  for (unsigned int i = 0; i < g->n_outputs; i++)
    g->values[g->outputs[i]].last_use = g->n_steps;
  return GA_NO_ERROR;
}
