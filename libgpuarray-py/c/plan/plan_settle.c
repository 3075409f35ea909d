/* What the first run of a plan settles. */
#include "c/plan/plan_stages.h"

/* What the first run settles: scratch memory, and which inputs are written. */
int ga__plan_settle(GpuPlan *p) {
  if (p->signature != NULL)
    return GA_NO_ERROR;
  GA_TRY(ga__stages_settle(p));
  GpuPlan *stage;
  for (unsigned int i = 0; (stage = ga__stages_next(p, &i)) != NULL;)
    GA_TRY(ga__plan_settle(stage));
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
