/* In whose memory the values of a plan lie, as far as the plan tells. */
#include "c/plan/plan.h"

unsigned int ga__plan_root(const ga_plan_graph *g, unsigned int value) {
  while (g->values[value].maker > 0) {
    const ga_step *s = &g->steps[g->values[value].maker - 1];
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
static bool lies_in(const ga_plan_graph *g, unsigned int value, unsigned int i) {
  const unsigned int root = ga__plan_root(g, value), maker = g->values[root].maker;
  const ga_step *s = maker > 0 ? &g->steps[maker - 1] : NULL;
  if (s != NULL && s->kind == GA_STEP_CHOOSE)
    return lies_in(g, s->ins[1], i) || lies_in(g, s->ins[2], i);
  return root == g->inputs[i];
}

bool ga__plan_writes(const ga_plan_graph *g, unsigned int i, unsigned int n) {
  for (unsigned int k = 0; k < n; k++) {
    const ga_step *s = &g->steps[k];
    for (unsigned int o = 0; s->inplace != NULL && o < s->n_out; o++)
      if (s->inplace[o] >= 0 && lies_in(g, s->ins[s->inplace[o]], i))
        return true;
  }
  return false;
}
