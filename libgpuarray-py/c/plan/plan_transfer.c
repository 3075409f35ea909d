/* Copies between contexts in a run: begun behind the stage that makes their source, and
 * brought to their end only where the result is needed, so that what other contexts do
 * meanwhile is queued before the host waits, where it must. */
#include "c/array/array.h"
#include "c/base/label.h"
#include "c/plan/stages_state.h"

static int with_label(int (*work)(void *with), void *with, const ga_step *s) {
  const char *label = ga__intern(s->label);
  GA_TRY_MEMORY(label);
  const char *own = ga__label_swap(label);
  int status = work(with);
  ga__label_swap(own);
  return status == GA_NO_ERROR ? status : ga__fail_within(status, "%s", s->label);
}

/* ---- begin ---- */

typedef struct beginning {
  ga_crossing *copy;
  GpuArray *out;
  gpucontext *to;
  const GpuArray *from;
} beginning;

static int begin(void *with) {
  const beginning *b = with;
  return ga__crossing_begin(b->copy, b->out, b->to, b->from);
}

static int begin_step(const GpuPlan *p, unsigned int step, int *failed_step) {
  ga_stages *s = p->stages;
  const ga_step *what = &p->graph.steps[step];
  ga_pending *next = &s->pending[s->n_pending];
  beginning b = {&next->copy, &s->arrays[what->outs[0]],
                 ga__plan_context(p, what->place), s->at[what->ins[0]]};
  GA_TRY(ga__transfers_await_value(p, what->ins[0], failed_step));
  *failed_step = (int)step;
  GA_TRY(with_label(begin, &b, what));
  *failed_step = -1;
  next->step = step;
  s->n_pending++;
  return GA_NO_ERROR;
}

int ga__transfers_begin(const GpuPlan *p, const ga_stage *stage, int *failed_step) {
  const ga_stages *s = p->stages;
  const ga_frame f = {.plan = p, .arrays = s->arrays, .integers = s->integers};
  for (unsigned int i = 0; i < stage->n_transfers; i++) {
    const unsigned int step = stage->first_read + stage->n_reads + i;
    const ga_step *what = &p->graph.steps[step];
    if (ga__branch_taken(&f, what))
      GA_TRY(begin_step(p, step, failed_step));
    else
      GA_TRY(ga__branch_absent(&s->arrays[what->outs[0]], p, what->outs[0]));
  }
  return GA_NO_ERROR;
}

/* ---- arrival ---- */

static int arrive(void *with) {
  return ga__crossing_arrive(with);
}

static int arrive_step(const GpuPlan *p, ga_pending *c, int *failed_step) {
  int status = with_label(arrive, &c->copy, &p->graph.steps[c->step]);
  if (status != GA_NO_ERROR)
    *failed_step = (int)c->step;
  return status;
}

static unsigned int value_of(const GpuPlan *p, const ga_pending *c) {
  return p->graph.steps[c->step].outs[0];
}

int ga__transfers_await_value(const GpuPlan *p, unsigned int value, int *failed_step) {
  ga_stages *s = p->stages;
  for (unsigned int i = 0; i < s->n_pending; i++)
    if (value_of(p, &s->pending[i]) == value)
      GA_TRY(arrive_step(p, &s->pending[i], failed_step));
  return GA_NO_ERROR;
}

/* True if the stage writes to the source of the copy. */
static bool overwrites(const ga_stages *s, const ga_stage *stage,
                       const ga_crossing *copy) {
  const ga_plan_graph *g = &stage->plan->graph;
  for (unsigned int i = 0; copy->way != GA_CROSSING_DONE && i < g->n_inputs; i++)
    if (g->destroyed[i] && GpuArray_share(s->at[stage->ins[i]], &copy->from))
      return true;
  return false;
}

/* True if the stage writes to an input of the run. */
static bool overwrites_input(const GpuPlan *p, const ga_stage *stage) {
  const ga_plan_graph *g = &stage->plan->graph;
  for (unsigned int i = 0; i < g->n_inputs; i++)
    if (g->destroyed[i] && p->graph.values[stage->ins[i]].input >= 0)
      return true;
  return false;
}

/* A copy that is all done on arrival takes memory there, so it arrives before an input
 * of the run is overwritten. */
int ga__transfers_await(const GpuPlan *p, const ga_stage *stage, int *failed_step) {
  ga_stages *s = p->stages;
  for (unsigned int k = 0; stage->plan != NULL && k < s->n_pending; k++) {
    ga_pending *c = &s->pending[k];
    const bool is_overwritten = overwrites(s, stage, &c->copy);
    bool is_needed = is_overwritten ||
                     (c->copy.way == GA_CROSSING_LATE && overwrites_input(p, stage));
    for (unsigned int i = 0; i < stage->plan->graph.n_inputs; i++)
      is_needed |= stage->ins[i] == value_of(p, c);
    if (is_needed)
      GA_TRY(arrive_step(p, c, failed_step));
    if (is_overwritten)
      ga__crossing_end(&c->copy);
  }
  return GA_NO_ERROR;
}

int ga__transfers_end(const GpuPlan *p, int status, int *failed_step) {
  ga_stages *s = p->stages;
  for (unsigned int i = 0; i < s->n_pending; i++) {
    GA_THEN(status, arrive_step(p, &s->pending[i], failed_step));
    ga__crossing_end(&s->pending[i].copy);
  }
  s->n_pending = 0;
  return status;
}
