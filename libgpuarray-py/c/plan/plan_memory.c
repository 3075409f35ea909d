/* In whose memory the values of a plan lie, as far as the plan tells. */
#include "c/plan/plan.h"

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
