/* Running a plan: checks the inputs, finds the binding, replays its tape. */
#include <string.h>

#include "c/array/array.h"
#include "c/device/device_errors.h"
#include "c/device/queue.h"
#include "c/plan/plan_overlap.h"
#include "c/plan/stages_state.h"

static int check_input(const GpuPlan *p, unsigned int i, const GpuArray *a) {
  const ga_value *v = &p->graph.values[p->graph.inputs[i]];
  char text[GA_ARRAY_TEXT];
  if (a == NULL || a->data == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "%s: input %u is not an array", p->name, i);
  GA_TRY(ga__array_check(a, p->name));
  if (a->typecode != v->typecode || a->nd != v->nd)
    return GA_FAIL(GA_INVALID_ERROR, "%s: input %u is %s, expected %s of %u axes",
                   p->name, i, ga__array_text(text, a), ga__dtype_name(v->typecode),
                   v->nd);
  if (gpudata_context(a->data) != ga__plan_context(p, v->place))
    return GA_FAIL(GA_VALUE_ERROR, "%s: input %u is on %s, the function %son %s",
                   p->name, i, gpucontext_name(gpudata_context(a->data)),
                   ga__plan_places(p) > 1 ? "takes it " : "",
                   gpucontext_name(ga__plan_context(p, v->place)));
  for (unsigned int k = 0; k < a->nd; k++)
    if ((v->broadcastable >> k & 1u) != 0 && a->dimensions[k] != 1)
      return GA_FAIL(
          GA_VALUE_ERROR,
          "%s: input %u is %s, but its axis %u was declared broadcastable, of "
          "length 1",
          p->name, i, ga__array_text(text, a), k);
  return GA_NO_ERROR;
}

/* The binding of a plan with stages as one recording with conditional nodes; false
 * where it cannot be recorded so, and the stages run. */
static bool get_whole(ga_bound **out, GpuPlan *p, const GpuArray *const *ins,
                      const long long *ints, int *failed_step) {
  if (p->whole.conditions == NULL)
    return false;
  if (ga__plan_get_bound(out, p, ins, ints, failed_step) == GA_NO_ERROR)
    return true;
  ga__views_end(p);
  *failed_step = -1;
  return false;
}

static int run_locked(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                      const long long *ints, int *failed_step) {
  ga_bound *bound;
  if (p->stages == NULL)
    return ga__plan_run_bound(p, outs, ins, ints, failed_step);
  const bool is_within = ga__plan_is_within(p);
  p->whole.is_latest = !is_within && get_whole(&bound, p, ins, ints, failed_step);
  if (p->whole.is_latest)
    return ga__plan_run_found(outs, bound, p, ins, ints, failed_step);
  GA_TRY(ga__stages_run(p, outs, ins, ints, failed_step));
  if (p->whole.conditions != NULL && !is_within)
    ga__choice_refuse(p);
  return GA_NO_ERROR;
}

/* Waits for the queued work of a run; on failure restores the caller's outs. */
static int confirm(const GpuPlan *p, GpuArray *const *outs, const GpuArray *before) {
  int status = GA_NO_ERROR;
  for (unsigned int i = 0; i < ga__plan_places(p); i++) {
    gpucontext *ctx = ga__plan_context(p, i);
    gpuqueue *q = ga__queue_current(ctx);
    GA_THEN(status, ga__context_waited(ctx, ga__queue_wait(q)));
    GA_THEN(status, ga__report_check(q));
  }
  for (unsigned int i = 0; status != GA_NO_ERROR && i < p->graph.n_outputs; i++) {
    GpuArray_clear(outs[i]);
    *outs[i] = before[i];
  }
  return status;
}

static int run_with_copies(GpuPlan *p, GpuArray *const *outs,
                           const GpuArray *const *ins, const long long *ints,
                           int *failed_step) {
  ga_apart apart = {0};
  int status = ga__apart_open(&apart, p, ins);
  GA_THEN(status, ga__overlap_copy(p, apart.list, apart.copies));
  GA_THEN(status, run_locked(p, outs, apart.list, ints, failed_step));
  ga__apart_close(&apart);
  return status;
}

/* True if aliasing is known from the steps only: the run has no tape of its own. */
static bool needs_steps(const GpuPlan *p) {
  return p->stages != NULL || ga__plan_is_within(p);
}

static int run_apart(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                     const long long *ints, int *failed_step) {
  return needs_steps(p) && ga__overlap_any(p, ins)
             ? run_with_copies(p, outs, ins, ints, failed_step)
             : run_locked(p, outs, ins, ints, failed_step);
}

static int iterate(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                   const long long *ints) {
  int ignored;
  return run_apart(p, outs, ins, ints, &ignored);
}

/* A body has the settings of the plan that owns it. */
static int settle_body(GpuPlan *body, const GpuPlan *p) {
  body->iterate = iterate;
  body->bindings.most = p->bindings.most;
  body->settings.holds = p->settings.holds;
  body->settings.lacks_bodies = p->settings.lacks_bodies;
  body->settings.protects = p->settings.protects;
  return ga__plan_settle(body);
}

/* The layout of a plan, settled by its first run: stages, conditions, the signature's
 * words, and which inputs are overwritten. */
int ga__plan_settle(GpuPlan *p) {
  ga_plan_graph *g = &p->graph;
  if (p->signature.words != NULL)
    return GA_NO_ERROR;
  GA_TRY(ga__stages_settle(p));
  GpuPlan *part;
  for (unsigned int i = 0; (part = ga__stages_next(p, &i)) != NULL;)
    GA_TRY(ga__plan_settle(part));
  for (unsigned int i = 0; (part = ga__loops_next(p, &i)) != NULL;)
    GA_TRY(settle_body(part, p));
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

/* Checks before a run, and the settling of the first one. */
static int ready(GpuPlan *p, const GpuArray *const *ins, const long long *ints) {
  ga_plan_graph *g = &p->graph;
  for (unsigned int i = 0; i < ga__plan_places(p); i++)
    GA_TRY(ga__context_check(ga__plan_context(p, i)));
  GA_TRY(ga__plan_settle(p));
  if (g->n_inputs > 0 && ins == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "plan %s: got no list of its %u inputs", p->name,
                   g->n_inputs);
  if (g->n_int_inputs > 0 && ints == NULL)
    return GA_FAIL(GA_VALUE_ERROR,
                   "plan %s: got no list of its %u integers; run it by GpuPlan_call",
                   p->name, g->n_int_inputs);
  for (unsigned int i = 0; i < g->n_inputs; i++)
    GA_TRY(check_input(p, i, ins[i]));
  return GA_NO_ERROR;
}

/* A wait at the end cannot be recorded within another plan. */
static int check_within(const GpuPlan *p) {
  if (!p->settings.confirms || !ga__plan_is_within(p))
    return GA_NO_ERROR;
  return GA_FAIL(
      GA_UNSUPPORTED_ERROR,
      "plan %s: it waits at its end (GpuPlan_confirm), which a step of another "
      "plan cannot do while it is recorded; give GpuPlan_defer a function that "
      "makes the call",
      p->name);
}

static int check_outputs(const GpuPlan *p, GpuArray *const *outs) {
  if (p == NULL)
    return ga__fail_null("plan run", "plan");
  for (unsigned int i = 0; i < p->graph.n_outputs; i++)
    if (outs == NULL || outs[i] == NULL)
      return GA_FAIL(GA_VALUE_ERROR, "plan %s: got no array for output %u of %u",
                     p->name, i, p->graph.n_outputs);
  return GA_NO_ERROR;
}

static int run_confirmed(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                         const long long *ints, int *failed_step) {
  GpuArray *before = ga__alloc((size_t)p->graph.n_outputs + 1, sizeof *before);
  GA_TRY_MEMORY(before);
  for (unsigned int i = 0; i < p->graph.n_outputs; i++)
    before[i] = *outs[i];
  int status = run_apart(p, outs, ins, ints, failed_step);
  GA_THEN(status, confirm(p, outs, before));
  ga__free(before);
  return status;
}

int GpuPlan_run(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                int *failed_step) {
  return GpuPlan_call(p, outs, ins, NULL, failed_step);
}

int GpuPlan_call(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                 const long long *ints, int *failed_step) {
  int ignored;
  GA_TRY(check_outputs(p, outs));
  if (failed_step == NULL)
    failed_step = &ignored;
  *failed_step = -1;
  GA_TRY(ga__turn_take(&p->turn, "plan call", p->name));
  int status = ready(p, ins, ints);
  GA_THEN(status, check_within(p));
  GA_THEN(status, p->settings.confirms ? run_confirmed(p, outs, ins, ints, failed_step)
                                       : run_apart(p, outs, ins, ints, failed_step));
  ga__turn_end(&p->turn);
  return status;
}

/* As run_locked; stages are bound up to the first wait. */
static int bind_locked(GpuPlan *p, const GpuArray *const *ins, int *failed_step) {
  ga_bound *bound;
  if (p->stages == NULL)
    return ga__plan_get_bound(&bound, p, ins, NULL, failed_step);
  if (get_whole(&bound, p, ins, NULL, failed_step))
    return GA_NO_ERROR;
  return ga__stages_bind(p, ins, failed_step);
}

int GpuPlan_bind(GpuPlan *p, const GpuArray *const *ins, int *failed_step) {
  int ignored;
  if (p == NULL)
    return ga__fail_null("plan bind", "plan");
  if (failed_step == NULL)
    failed_step = &ignored;
  *failed_step = -1;
  GA_TRY(ga__turn_take(&p->turn, "plan bind", p->name));
  int status = ready(p, ins, NULL);
  GA_THEN(status, bind_locked(p, ins, failed_step));
  ga__turn_end(&p->turn);
  return status;
}
