/* Plans of several contexts: adding contexts, and copies between them. */
#include "c/plan/plan.h"

int GpuPlan_add_context(GpuPlan *p, unsigned int *place, gpucontext *ctx) {
  GA_TRY(ga__plan_check_given(p, "context", place, ctx));
  GA_TRY(ga__context_check(ctx));
  *place = ga__plan_find_place(p, ctx);
  if (*place < ga__plan_places(p))
    return GA_NO_ERROR;
  GA_TRY(GA_GROW(p->places.more, p->places.capacity, p->places.n_more));
  gpucontext_retain(ctx);
  p->places.more[p->places.n_more++] = ctx;
  return GA_NO_ERROR;
}

int GpuPlan_on(GpuPlan *p, unsigned int place) {
  GA_TRY(ga__plan_check_given(p, "on", p, p));
  if (place >= ga__plan_places(p))
    return GA_FAIL(GA_INVALID_ERROR,
                   "plan %s, on: place %u does not exist; the plan has %u contexts",
                   p->name, place, ga__plan_places(p));
  p->places.current = place;
  return GA_NO_ERROR;
}

int GpuPlan_transfer(GpuPlan *p, unsigned int *out, const char *label,
                     unsigned int array) {
  GA_TRY(ga__plan_check_given(p, label, out, out));
  GA_TRY(ga__plan_check_value(p, label, array, false));
  const ga_value *v = &p->graph.values[array];
  ga_value result = ga__plan_array(v->typecode, v->nd);
  return ga__plan_add_step(
      p, (ga_step){.kind = GA_STEP_TRANSFER, .run = ga__step_run_plain}, label, 1,
      &array, 1, &result, out);
}

bool ga__step_crosses(const ga_plan_graph *g, const ga_step *s) {
  return s->kind == GA_STEP_TRANSFER && g->values[s->ins[0]].place != s->place;
}
