/* Plans of several contexts: adding contexts, and copies between them. */
#include <string.h>

#include "c/plan/plan_state.h"

int GpuPlan_add_context(GpuPlan *p, unsigned int *place, gpucontext *ctx) {
  GA_TRY(ga__plan_check_given(p, "context", place, ctx));
  GA_TRY(ga__context_check(ctx));
  *place = ga__plan_find_place(p, ctx);
  if (*place < ga__plan_places(p))
    return GA_NO_ERROR;
  GA_TRY(GA_GROW(p->places.more, p->places.capacity, p->places.n_more));
  gpucontext_retain(ctx);
  p->places.more[p->places.n_more++] = (ga_place){.context = ctx};
  return GA_NO_ERROR;
}

static int check_place(const GpuPlan *p, const char *what, unsigned int place) {
  if (place < ga__plan_places(p))
    return GA_NO_ERROR;
  return GA_FAIL(GA_INVALID_ERROR,
                 "plan %s, %s: place %u does not exist; the plan has %u contexts",
                 p->name, what, place, ga__plan_places(p));
}

int GpuPlan_name_context(GpuPlan *p, unsigned int place, const char *name) {
  GA_TRY(ga__plan_check_given(p, "name of a context", name, name));
  GA_TRY(check_place(p, "name of a context", place));
  if (*name == '\0' || strlen(name) >= GPUPLAN_NAME)
    return GA_FAIL(GA_VALUE_ERROR,
                   "plan %s: the name of context %u has %zu characters, expected 1 to "
                   "%d",
                   p->name, place, strlen(name), GPUPLAN_NAME - 1);
  char *copy = ga__strdup(name);
  GA_TRY_MEMORY(copy);
  int status = ga__turn_take(&p->turn, "name of a context", p->name);
  if (status != GA_NO_ERROR) {
    ga__free(copy);
    return status;
  }
  char **there = place == 0 ? &p->places.name : &p->places.more[place - 1].name;
  ga__free(*there); /* nobody saves the plan now */
  *there = copy;
  ga__turn_end(&p->turn);
  return GA_NO_ERROR;
}

int GpuPlan_on(GpuPlan *p, unsigned int place) {
  GA_TRY(ga__plan_check_given(p, "on", p, p));
  GA_TRY(check_place(p, "on", place));
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
