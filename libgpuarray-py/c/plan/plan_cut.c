/* Where a plan is cut into stages: at its waits for integers (GpuPlan_read), behind
 * loops that the host runs iteration by iteration, and in a plan of several contexts
 * where another one goes on and behind copies between them. */
#include "c/plan/stages_state.h"

bool ga__plan_is_cut(const GpuPlan *p) {
  bool is_cut = ga__plan_places(p) > 1;
  for (unsigned int i = 0; !is_cut && i < p->graph.n_steps; i++)
    is_cut =
        p->graph.steps[i].kind == GA_STEP_READ || ga__loop_by_host(&p->graph.steps[i]);
  return is_cut;
}

bool ga__loop_by_host(const ga_step *s) {
  return s->kind == GA_STEP_LOOP && s->body != NULL && ga__plan_is_cut(s->body);
}

bool ga__step_ends_stage(const ga_plan_graph *g, const ga_step *s) {
  return s->kind == GA_STEP_READ || ga__step_crosses(g, s) || ga__loop_by_host(s);
}

/* True if a condition of `s` depends on a step after `first`. */
static bool depends_on(const ga_plan_graph *g, const ga_step *s, unsigned int first) {
  for (unsigned int i = 0; i < s->n_when; i++)
    if (g->values[s->when[i].value].maker > first)
      return true;
  return false;
}

/* What the current stage has so far. */
typedef struct ga_cut {
  bool reads, transfers, loops, is_placed;
  unsigned int first_read, place;
} ga_cut;

/* True for steps that the host does, for whichever stage. */
static bool is_of_host(const ga_plan_graph *g, const ga_step *s) {
  return ga__step_ends_stage(g, s) ||
         (ga__step_is_integer(s) && s->kind != GA_STEP_DIM);
}

/* The context of a step: of a length that of its array. */
static unsigned int place_of(const ga_plan_graph *g, const ga_step *s) {
  return s->kind == GA_STEP_DIM ? g->values[s->ins[0]].place : s->place;
}

/* True if the step begins a stage. A stage ends with reads that are independent, so
 * they share a wait, with copies between contexts, and with a loop by the host, which
 * runs while these are under way. */
static bool is_next(const ga_plan_graph *g, const ga_cut *cut, const ga_step *s) {
  if (cut->loops)
    return true;
  if (s->kind == GA_STEP_READ)
    return cut->transfers || (cut->reads && depends_on(g, s, cut->first_read));
  if (ga__loop_by_host(s))
    return false;
  if (cut->reads || (cut->transfers && !ga__step_crosses(g, s)))
    return true;
  return cut->is_placed && !is_of_host(g, s) && place_of(g, s) != cut->place;
}

unsigned int ga__stages_number(unsigned int *stage_of, const GpuPlan *p) {
  const ga_plan_graph *g = &p->graph;
  unsigned int stage = 0;
  ga_cut cut = {0};
  for (unsigned int i = 0; i < g->n_steps; i++) {
    const ga_step *s = &g->steps[i];
    if (is_next(g, &cut, s)) {
      stage++;
      cut = (ga_cut){0};
    }
    if (s->kind == GA_STEP_READ && !cut.reads)
      cut.first_read = i;
    cut.reads |= s->kind == GA_STEP_READ;
    cut.transfers |= ga__step_crosses(g, s);
    cut.loops |= ga__loop_by_host(s);
    if (!is_of_host(g, s)) {
      cut.is_placed = true;
      cut.place = place_of(g, s);
    }
    stage_of[i] = stage;
  }
  return stage + 1;
}
