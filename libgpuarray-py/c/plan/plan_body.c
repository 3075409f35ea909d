/* Bodies: the steps of a callback step, for programs without the callback, and of a
 * loop's iteration. */
#include "c/array/array.h"
#include "c/plan/stages_state.h"

/* The step that computes the value: a callback or a loop. */
static int find_step(ga_step **out, GpuPlan *p, unsigned int value) {
  ga_plan_graph *g = &p->graph;
  GA_TRY(ga__plan_check_value(p, "body", value,
                              value < g->n_values && g->values[value].integer));
  const unsigned int maker = g->values[value].maker;
  if (maker == 0 || (g->steps[maker - 1].kind != GA_STEP_FUNCTION &&
                     g->steps[maker - 1].kind != GA_STEP_LOOP))
    return GA_FAIL(GA_VALUE_ERROR,
                   "plan %s, body: value %u is not the result of a function or a loop",
                   p->name, value);
  *out = &g->steps[maker - 1];
  return GA_NO_ERROR;
}

static bool same_type(const ga_value *a, const ga_value *b) {
  return a->integer == b->integer &&
         (a->integer || (a->typecode == b->typecode && a->nd == b->nd));
}

/* True if all contexts of the body are the plan's. */
static bool is_within(const GpuPlan *p, const GpuPlan *body) {
  for (unsigned int i = 0; i < ga__plan_places(body); i++)
    if (ga__plan_find_place(p, ga__plan_context(body, i)) == ga__plan_places(p))
      return false;
  return true;
}

/* True if the step overwrites its input `i` in place. */
static bool takes_over(const ga_step *s, unsigned int i) {
  for (unsigned int out = 0; s->inplace != NULL && out < s->n_out; out++)
    if (s->inplace[out] == (int)i)
      return true;
  return false;
}

static bool function_fits(const GpuPlan *p, const ga_step *s, const GpuPlan *body) {
  const ga_plan_graph *g = &body->graph;
  unsigned int n_arrays = 0, n_ints = 0;
  bool fits =
      body->context == ga__plan_context(p, s->place) && g->n_outputs == s->n_out;
  for (unsigned int i = 0; fits && i < s->n_in; i++) {
    const ga_value *v = &p->graph.values[s->ins[i]];
    const unsigned int place = v->integer ? n_ints++ : n_arrays++;
    fits = place < (v->integer ? g->n_int_inputs : g->n_inputs) &&
           same_type(
               v, &g->values[v->integer ? g->int_inputs[place] : g->inputs[place]]) &&
           (v->integer || takes_over(s, i) || !ga__plan_writes(g, place, g->n_steps));
  }
  fits = fits && n_arrays == body->graph.n_inputs && n_ints == body->graph.n_int_inputs;
  for (unsigned int i = 0; fits && i < s->n_out; i++)
    fits = same_type(&p->graph.values[s->outs[i]],
                     &body->graph.values[body->graph.outputs[i]]);
  return fits;
}

/* GA_VALUE_ERROR if the body's inputs or outputs do not match, or if that of a function
 * runs in stages. */
static int check_body(const GpuPlan *p, const ga_step *s, const GpuPlan *body) {
  const bool is_loop = s->kind == GA_STEP_LOOP;
  unsigned int n_ints = 0;
  if (is_loop ? ga__loop_fits(p, s, body) && is_within(p, body)
              : function_fits(p, s, body) && !ga__plan_is_cut(body))
    return GA_NO_ERROR;
  for (unsigned int i = is_loop; i < s->n_in; i++)
    n_ints += p->graph.values[s->ins[i]].integer;
  return GA_FAIL(
      GA_VALUE_ERROR,
      "plan %s, %s: the body does not match the step: got %u inputs and %u integers, "
      "expected %u and %u%s, of the step's types and where the step takes them; got %u "
      "results, expected %u; a body is on the context of its step and gives its "
      "results there, of a function it reads no integers and has no other contexts, of "
      "a loop those of the plan; it writes only into inputs that the step overwrites: "
      "of a loop its states",
      p->name, s->label, body->graph.n_inputs, body->graph.n_int_inputs,
      s->n_in - is_loop - n_ints, n_ints,
      is_loop ? " (and one more for the iteration)" : "", body->graph.n_outputs,
      s->n_out);
}

int GpuPlan_body(GpuPlan *p, unsigned int value, GpuPlan *body) {
  ga_step *s = NULL;
  int status = ga__plan_check_given(p, "body", body, body);
  GA_THEN(status, find_step(&s, p, value));
  GA_THEN(status, check_body(p, s, body));
  if (status == GA_NO_ERROR && s->body != NULL)
    status = GA_FAIL(GA_VALUE_ERROR, "plan %s, %s: it has a body already", p->name,
                     s->label);
  if (status != GA_NO_ERROR) {
    GpuPlan_free(body);
    return status;
  }
  for (unsigned int i = 0; i < body->graph.n_outputs; i++)
    body->graph.values[body->graph.outputs[i]].last_use = body->graph.n_steps;
  body->settings.yields = s->kind == GA_STEP_LOOP;
  s->body = body;
  return GA_NO_ERROR;
}

/* Fills the body's frame from the step's inputs. */
static int enter(ga_frame *inner, const ga_frame *f, const ga_step *s) {
  const GpuPlan *body = inner->plan;
  unsigned int n_arrays = 0, n_ints = 0;
  for (unsigned int i = 0; i < s->n_in; i++)
    if (f->plan->graph.values[s->ins[i]].integer)
      inner->integers[body->graph.int_inputs[n_ints++]] = f->integers[s->ins[i]];
    else
      GA_TRY(GpuArray_view(&inner->arrays[body->graph.inputs[n_arrays++]],
                           &f->arrays[s->ins[i]]));
  for (unsigned int i = 0; i < body->graph.n_values; i++)
    if (body->graph.values[i].constant.data != NULL)
      GA_TRY(GpuArray_view(&inner->arrays[i], &body->graph.values[i].constant));
  return GA_NO_ERROR;
}

/* Releases arrays at their last use in the body. */
static void drop_dead(ga_frame *inner, unsigned int step) {
  const ga_step *s = &inner->plan->graph.steps[step];
  for (unsigned int i = 0; i < s->n_in; i++)
    if (inner->plan->graph.values[s->ins[i]].last_use == step)
      GpuArray_clear(&inner->arrays[s->ins[i]]);
}

static int run_steps(ga_frame *inner) {
  const GpuPlan *body = inner->plan;
  for (unsigned int i = 0; i < body->graph.n_steps; i++) {
    if (ga__branch_taken(inner, &body->graph.steps[i])) {
      int status = ga__step_run(inner, &body->graph.steps[i]);
      if (status != GA_NO_ERROR)
        return ga__fail_within(status, "%s", body->graph.steps[i].label);
    }
    drop_dead(inner, i);
  }
  return GA_NO_ERROR;
}

/* Runs a callback step by its body, without the callback. */
static int run_body(ga_frame *f, const ga_step *s) {
  const GpuPlan *body = s->body;
  if (body != NULL && f->plan->settings.lacks_bodies)
    return GA_FAIL(GA_UNSUPPORTED_ERROR,
                   "this step is a function of the program that saved the plan, and "
                   "its body is not to be used (GpuPlan_use_bodies)");
  if (body == NULL)
    return GA_FAIL(
        GA_UNSUPPORTED_ERROR,
        "this step is a function of the program that saved the plan: without "
        "it the step runs on the same device and with the shapes and layouts "
        "that the plan was run with before it was saved; run it there with "
        "these, and save it again");
  ga_frame inner = {
      .plan = body,
      .arrays = ga__alloc((size_t)body->graph.n_values + 1, sizeof *inner.arrays),
      .integers = ga__alloc((size_t)body->graph.n_values + 1, sizeof *inner.integers),
      .done = ga__alloc((size_t)body->graph.n_steps + 1, sizeof *inner.done)};
  int status =
      inner.arrays && inner.integers && inner.done ? GA_NO_ERROR : GA_MEMORY_ERROR;
  GA_THEN(status, enter(&inner, f, s));
  GA_THEN(status, run_steps(&inner));
  for (unsigned int i = 0; status == GA_NO_ERROR && i < s->n_out; i++)
    status =
        GpuArray_view(&f->arrays[s->outs[i]], &inner.arrays[body->graph.outputs[i]]);
  for (unsigned int i = 0; inner.arrays && i < body->graph.n_values; i++)
    GpuArray_clear(&inner.arrays[i]);
  ga__free(inner.arrays);
  ga__free(inner.integers);
  ga__free(inner.done);
  return status;
}

int ga__function_run(ga_frame *f, const ga_step *s) {
  ga_step_lists lists;
  int status = ga__step_lists_open(&lists, f, s);
  GA_THEN(status, s->function ? s->function(s->data, lists.outs, lists.ins, lists.ints)
                              : run_body(f, s));
  GA_THEN(status, ga__step_check_results(f, s));
  ga__step_lists_close(&lists);
  return status;
}
