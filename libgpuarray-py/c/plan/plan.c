/* Plans: values, host integers, outputs, and information about a plan. */
#include <assert.h>
#include <string.h>

#include "c/base/dtype.h"
#include "c/plan/stages_state.h"

int GpuPlan_new(GpuPlan **res, gpucontext *ctx, const char *name) {
  if (res == NULL || ctx == NULL || name == NULL)
    return GA_FAIL(GA_VALUE_ERROR,
                   "plan: needs a result pointer, a context and a name; got NULL");
  GA_TRY(ga__context_check(ctx));
  GpuPlan *p = ga__alloc(1, sizeof *p);
  GA_TRY_MEMORY(p);
  p->name = ga__strdup(name);
  if (p->name == NULL) {
    ga__free(p);
    return GA_MEMORY_ERROR;
  }
  p->context = ctx;
  p->bindings.most = GA_BINDINGS;
  gpucontext_retain(ctx);
  ga__turn_open(&p->turn);
  *res = p;
  return GA_NO_ERROR;
}

void ga__plan_clear_step(ga_step *s) {
  if (!s->is_copy) {
    GpuElemwise_free(s->elemwise);
    GpuReduction_free(s->reduction);
    GpuPlan_free(s->body);
    if (s->routine)
      s->routine->free(s->routine);
    ga__free(s->takes);
    ga__free(s->stretch);
  }
  if (!s->is_copy || s->owns_inplace)
    ga__free(s->inplace);
  ga__free(s->label);
  ga__free(s->ins);
  ga__free(s->outs);
  ga__free(s->when);
}

void ga__plan_at_free(GpuPlan *p, ga_plan_clear clear) {
  unsigned int i = 0;
  while (i < GA_PLAN_CLEARS && p->clears[i] != NULL && p->clears[i] != clear)
    i++;
  assert(i < GA_PLAN_CLEARS);
  p->clears[i] = clear;
}

static void clear_places(const ga_plan_places *places) {
  for (unsigned int i = 0; i < places->n_more; i++) {
    gpucontext_deref(places->more[i].context);
    ga__free(places->more[i].name);
  }
  ga__free(places->more);
  ga__free(places->name);
}

void GpuPlan_free(GpuPlan *p) {
  if (p == NULL)
    return;
  for (unsigned int i = GA_PLAN_CLEARS; i-- > 0;)
    if (p->clears[i])
      p->clears[i](p);
  for (unsigned int i = 0; i < p->graph.n_steps; i++)
    ga__plan_clear_step(&p->graph.steps[i]);
  for (unsigned int i = 0; i < p->graph.n_values; i++)
    GpuArray_clear(&p->graph.values[i].constant);
  ga__free(p->graph.values);
  ga__free(p->graph.steps);
  ga__free(p->graph.inputs);
  ga__free(p->graph.int_inputs);
  ga__free(p->graph.outputs);
  ga__free(p->graph.destroyed);
  ga__free(p->whole.conditions);
  ga__free(p->bindings.fixed);
  ga__free(p->signature.words);
  ga__free(p->graph.when);
  clear_places(&p->places);
  ga__free(p->name);
  ga__turn_close(&p->turn);
  gpucontext_deref(p->context);
  ga__free(p);
}

static int new_value(unsigned int *number, ga_plan_graph *g, ga_value value) {
  GA_TRY(GA_GROW(g->values, g->value_capacity, g->n_values));
  g->values[g->n_values] = value;
  *number = g->n_values++;
  return GA_NO_ERROR;
}

ga_value ga__plan_array(int typecode, unsigned int nd) {
  return (ga_value){.nd = nd, .typecode = typecode, .input = -1};
}

static const ga_value integer_value = {
    .integer = true, .typecode = GA_LONG, .input = -1};

const char *ga__plan_label(const char *label) {
  return label ? label : "step";
}

int ga__plan_check_given(const GpuPlan *p, const char *step, const void *place,
                         const void *parts) {
  if (p && place && parts)
    return GA_NO_ERROR;
  return GA_FAIL(GA_VALUE_ERROR, "plan %s, %s: %s is NULL", p ? p->name : "?",
                 ga__plan_label(step),
                 !p       ? "the plan"
                 : !place ? "the pointer for the result"
                          : "an argument");
}

int ga__plan_check_value(const GpuPlan *p, const char *step, unsigned int value,
                         bool integer) {
  if (value >= p->graph.n_values)
    return GA_FAIL(GA_INVALID_ERROR,
                   "plan %s, %s: value %u does not exist; the plan has %u values",
                   p->name, ga__plan_label(step), value, p->graph.n_values);
  if (p->graph.values[value].integer != integer)
    return GA_FAIL(GA_INVALID_ERROR, "plan %s, %s: value %u is %s, expected %s",
                   p->name, ga__plan_label(step), value,
                   integer ? "an array" : "a host integer",
                   integer ? "a host integer" : "an array");
  return GA_NO_ERROR;
}

int ga__plan_check_axes(const GpuPlan *p, const char *step, unsigned int nd) {
  if (nd <= GA_MAX_NDIM)
    return GA_NO_ERROR;
  return GA_FAIL(GA_VALUE_ERROR, "plan %s, %s: %u axes; an array has at most %d",
                 p->name, ga__plan_label(step), nd, GA_MAX_NDIM);
}

int GpuPlan_input(GpuPlan *p, unsigned int *value, int typecode, unsigned int nd,
                  unsigned int broadcastable) {
  GA_TRY(ga__plan_check_given(p, "input", value, value));
  GA_TRY(ga__plan_check_axes(p, "input", nd));
  GA_TRY(ga__dtype_check(typecode, "plan input"));
  GA_TRY(GA_GROW(p->graph.inputs, p->graph.input_capacity, p->graph.n_inputs));
  ga_value v = ga__plan_array(typecode, nd);
  v.broadcastable = broadcastable;
  v.input = (int)p->graph.n_inputs;
  v.place = p->places.current;
  GA_TRY(new_value(value, &p->graph, v));
  p->graph.inputs[p->graph.n_inputs++] = *value;
  p->signature.length += ga__layout_words(nd);
  return GA_NO_ERROR;
}

int GpuPlan_int_input(GpuPlan *p, unsigned int *value) {
  GA_TRY(ga__plan_check_given(p, "integer input", value, value));
  GA_TRY(
      GA_GROW(p->graph.int_inputs, p->graph.int_input_capacity, p->graph.n_int_inputs));
  ga_value v = integer_value;
  v.input = (int)p->graph.n_int_inputs;
  GA_TRY(new_value(value, &p->graph, v));
  p->graph.int_inputs[p->graph.n_int_inputs++] = *value;
  p->signature.length++;
  return GA_NO_ERROR;
}

unsigned int ga__plan_find_place(const GpuPlan *p, const gpucontext *ctx) {
  unsigned int place = 0;
  while (place < ga__plan_places(p) && ga__plan_context(p, place) != ctx)
    place++;
  return place;
}

int GpuPlan_constant(GpuPlan *p, unsigned int *value, const GpuArray *a) {
  GA_TRY(ga__plan_check_given(p, "constant", value, a));
  GA_TRY(ga__tape_refuse(a, "plan constant"));
  ga_value v = ga__plan_array(a->typecode, a->nd);
  v.place = ga__plan_find_place(p, GpuArray_context(a));
  if (v.place == ga__plan_places(p))
    return GA_FAIL(GA_VALUE_ERROR, "plan %s: a constant is on %s, the plan on %s%s",
                   p->name, gpucontext_name(GpuArray_context(a)),
                   gpucontext_name(p->context),
                   p->places.n_more > 0 ? " and other contexts" : "");
  GA_TRY(GpuArray_view(&v.constant, a));
  v.constant.flags &= ~GA_WRITEABLE; /* read-only: never taken over in place */
  int status = new_value(value, &p->graph, v);
  if (status != GA_NO_ERROR)
    GpuArray_clear(&v.constant);
  return status;
}

/* ---- conditions ---- */

int GpuPlan_when(GpuPlan *p, unsigned int n, const unsigned int *conditions,
                 const int *wanted) {
  GA_TRY(ga__plan_check_given(p, "when", p, p));
  if (n > 0)
    GA_TRY(ga__plan_check_given(p, "when", conditions, wanted));
  for (unsigned int i = 0; i < n; i++)
    GA_TRY(ga__plan_check_value(p, "when", conditions[i], true));
  ga_condition *when = ga__alloc(n + 1, sizeof *when);
  GA_TRY_MEMORY(when);
  for (unsigned int i = 0; i < n; i++)
    when[i] = (ga_condition){conditions[i], wanted[i] != 0};
  ga__free(p->graph.when);
  p->graph.when = when;
  p->graph.n_when = n;
  return GA_NO_ERROR;
}

/* True if the current conditions, or `more`, include `c`. */
static bool implies(const ga_plan_graph *g, const ga_condition *more, ga_condition c) {
  if (more != NULL && more->value == c.value && more->wanted == c.wanted)
    return true;
  for (unsigned int i = 0; i < g->n_when; i++)
    if (g->when[i].value == c.value && g->when[i].wanted == c.wanted)
      return true;
  return false;
}

/* GA_INVALID_ERROR if the value is not computed on every path on which the new step
 * runs. */
static int check_computed(const GpuPlan *p, const char *label, unsigned int value,
                          const ga_condition *more) {
  unsigned int maker = p->graph.values[value].maker;
  if (maker == 0)
    return GA_NO_ERROR;
  const ga_step *s = &p->graph.steps[maker - 1];
  for (unsigned int i = 0; i < s->n_when; i++)
    if (!implies(&p->graph, more, s->when[i]))
      return GA_FAIL(GA_INVALID_ERROR,
                     "plan %s, %s: reads value %u, which is computed only when value "
                     "%u is %s; add the step under that condition, or choose",
                     p->name, ga__plan_label(label), value, s->when[i].value,
                     s->when[i].wanted ? "true" : "false");
  return GA_NO_ERROR;
}

static int guard(ga_step *s, const GpuPlan *p, const char *label, unsigned int n_in,
                 const unsigned int *ins) {
  const ga_plan_graph *g = &p->graph;
  for (unsigned int i = 0; i < g->n_when; i++)
    GA_TRY(check_computed(p, label, g->when[i].value, NULL));
  for (unsigned int i = 0; i < n_in; i++) {
    ga_condition side = {ins[0], i == 1};
    bool chosen = s->kind == GA_STEP_CHOOSE && i > 0;
    GA_TRY(check_computed(p, label, ins[i], chosen ? &side : NULL));
  }
  if (g->n_when == 0)
    return GA_NO_ERROR;
  s->when = ga__alloc(g->n_when, sizeof *s->when);
  GA_TRY_MEMORY(s->when);
  memcpy(s->when, g->when, g->n_when * sizeof *s->when);
  s->n_when = g->n_when;
  return GA_NO_ERROR;
}

/* ---- steps ---- */

/* True for inputs that may be on any context: those of copies, reads and lengths, and
 * what is the same in all iterations of a loop. */
static bool takes_from_anywhere(const ga_step *s, unsigned int i) {
  return s->kind == GA_STEP_TRANSFER || s->kind == GA_STEP_READ ||
         ga__step_is_integer(s) ||
         (s->kind == GA_STEP_LOOP && i > 0 && s->takes[i - 1] == GA_LOOP_SAMES);
}

/* GA_VALUE_ERROR unless the inputs are where the new step runs. */
static int check_places(const GpuPlan *p, const ga_step *s, const char *label,
                        unsigned int n_in, const unsigned int *ins) {
  for (unsigned int i = 0; i < n_in; i++) {
    const ga_value *v = &p->graph.values[ins[i]];
    if (!v->integer && v->place != s->place && !takes_from_anywhere(s, i))
      return GA_FAIL(GA_VALUE_ERROR,
                     "plan %s, %s: value %u is on %s, the step on %s; copy it there "
                     "first (GpuPlan_transfer)",
                     p->name, ga__plan_label(label), ins[i],
                     gpucontext_name(ga__plan_context(p, v->place)),
                     gpucontext_name(ga__plan_context(p, s->place)));
  }
  return GA_NO_ERROR;
}

int ga__plan_add_step(GpuPlan *p, ga_step s, const char *label, unsigned int n_in,
                      const unsigned int *ins, unsigned int n_out,
                      const ga_value *results, unsigned int *outs) {
  ga_plan_graph *g = &p->graph;
  s.n_in = n_in;
  s.n_out = n_out;
  s.place = p->places.current;
  s.label = ga__strdup(label == NULL ? "step" : label);
  s.ins = ga__alloc(n_in + 1, sizeof *s.ins);
  s.outs = ga__alloc(n_out + 1, sizeof *s.outs);
  int status = s.label == NULL || s.ins == NULL || s.outs == NULL ? GA_MEMORY_ERROR
                                                                  : GA_NO_ERROR;
  GA_THEN(status, check_places(p, &s, label, n_in, ins));
  GA_THEN(status, guard(&s, p, label, n_in, ins));
  GA_THEN(status, GA_GROW(g->steps, g->step_capacity, g->n_steps));
  for (unsigned int i = 0; status == GA_NO_ERROR && i < n_out; i++) {
    ga_value result = results[i];
    result.place = s.place;
    status = new_value(&s.outs[i], g, result);
  }
  if (status != GA_NO_ERROR) {
    ga__plan_clear_step(&s);
    return status;
  }
  for (unsigned int i = 0; i < n_in; i++) {
    s.ins[i] = ins[i];
    if (g->values[ins[i]].last_use < g->n_steps)
      g->values[ins[i]].last_use = g->n_steps;
  }
  for (unsigned int i = 0; i < n_out; i++) {
    g->values[s.outs[i]].last_use = g->n_steps;
    g->values[s.outs[i]].maker = g->n_steps + 1;
    outs[i] = s.outs[i];
  }
  g->steps[g->n_steps++] = s;
  return GA_NO_ERROR;
}

int ga__plan_add_typed(GpuPlan *p, ga_step s, const char *label, unsigned int n_in,
                       const unsigned int *ins, unsigned int n_out,
                       const gpuplan_type *results, unsigned int *outs) {
  ga_value *values = ga__alloc((size_t)n_out + 1, sizeof *values);
  if (values == NULL) {
    ga__plan_clear_step(&s);
    return GA_MEMORY_ERROR;
  }
  for (unsigned int i = 0; i < n_out; i++)
    values[i] = ga__plan_array(results[i].typecode, results[i].nd);
  int status = ga__plan_add_step(p, s, label, n_in, ins, n_out, values, outs);
  ga__free(values);
  return status;
}

int GpuPlan_int(GpuPlan *p, unsigned int *value, long long x) {
  GA_TRY(ga__plan_check_given(p, "integer", value, value));
  ga_step s = {.kind = GA_STEP_INT, .run = ga__step_run_plain, .integer = x};
  return ga__plan_add_step(p, s, "integer", 0, NULL, 1, &integer_value, value);
}

int GpuPlan_device(GpuPlan *p, unsigned int *value, int property) {
  GA_TRY(ga__plan_check_given(p, "device", value, value));
  const ga_device_info *info = &ga__plan_here(p)->info;
  ga_step s = {.kind = GA_STEP_DEVICE, .run = ga__step_run_plain, .op = property};
  switch (property) {
  case GP_DEVICE_IS_PROCESSOR:
    s.integer = info->is_cpu;
    break;
  case GP_DEVICE_PROCESSORS:
    s.integer = info->processors;
    break;
  default:
    return GA_FAIL(GA_INVALID_ERROR, "plan %s, device: unknown property %d", p->name,
                   property);
  }
  return ga__plan_add_step(p, s, "device", 0, NULL, 1, &integer_value, value);
}

int GpuPlan_dim(GpuPlan *p, unsigned int *value, unsigned int array,
                unsigned int axis) {
  GA_TRY(ga__plan_check_given(p, "dim", value, value));
  GA_TRY(ga__plan_check_value(p, "dim", array, false));
  if (axis >= p->graph.values[array].nd)
    return GA_FAIL(GA_VALUE_ERROR,
                   "plan %s, dim: axis %u is out of range for an array of %u axes",
                   p->name, axis, p->graph.values[array].nd);
  ga_step s = {.kind = GA_STEP_DIM, .run = ga__step_run_plain, .op = (int)axis};
  return ga__plan_add_step(p, s, "dim", 1, &array, 1, &integer_value, value);
}

int GpuPlan_int_op(GpuPlan *p, unsigned int *value, int op, unsigned int a,
                   unsigned int b) {
  GA_TRY(ga__plan_check_given(p, "int_op", value, value));
  GA_TRY(ga__plan_check_value(p, "int_op", a, true));
  GA_TRY(ga__plan_check_value(p, "int_op", b, true));
  if (op < GP_INT_ADD || op > GP_INT_CAST)
    return GA_FAIL(GA_INVALID_ERROR, "plan %s, int_op: unknown operation %d", p->name,
                   op);
  ga_step s = {.kind = GA_STEP_INT_OP, .run = ga__step_run_plain, .op = op};
  return ga__plan_add_step(p, s, "integer", 2, (unsigned int[]){a, b}, 1,
                           &integer_value, value);
}

int GpuPlan_output(GpuPlan *p, unsigned int value) {
  GA_TRY(ga__plan_check_given(p, "output", p, p));
  GA_TRY(ga__plan_check_value(p, "output", value, false));
  GA_TRY(GA_GROW(p->graph.outputs, p->graph.output_capacity, p->graph.n_outputs));
  p->graph.outputs[p->graph.n_outputs++] = value;
  return GA_NO_ERROR;
}

/* Adds up the counters of the stages, if the latest run was in stages, and those of the
 * latest iteration of each loop by the host. */
static void add_stages(gpuplan_info *res, const GpuPlan *p) {
  unsigned int i = 0;
  for (const GpuPlan *body; (body = ga__loops_next(p, &i)) != NULL;)
    add_stages(res, body);
  i = 0;
  for (const GpuPlan *stage; (stage = ga__stages_next(p, &i)) != NULL;) {
    res->n_bindings += stage->info.n_bindings;
    res->n_binds += stage->info.n_binds;
    if (p->whole.is_latest)
      continue;
    res->n_launches += stage->info.n_launches;
    res->n_allocs += stage->info.n_allocs;
    res->workspace += stage->info.workspace;
  }
}

int GpuPlan_info(GpuPlan *p, gpuplan_info *res) {
  if (p == NULL || res == NULL)
    return GA_FAIL(GA_VALUE_ERROR,
                   "plan info: needs a plan and a result pointer; got NULL");
  const bool is_within = ga__turn_is_ours(&p->turn); /* called by a step's callback */
  if (!is_within)
    GA_TRY(ga__turn_take(&p->turn, "plan info", p->name));
  *res = p->info;
  if (p->stages != NULL && !p->whole.is_latest)
    res->n_launches = res->n_allocs = res->workspace = 0;
  add_stages(res, p);
  res->n_inputs = p->graph.n_inputs;
  res->n_outputs = p->graph.n_outputs;
  res->n_steps = p->graph.n_steps;
  if (!is_within)
    ga__turn_end(&p->turn);
  return GA_NO_ERROR;
}

int GpuPlan_input_type(GpuPlan *p, unsigned int i, int *typecode, unsigned int *nd,
                       unsigned int *broadcastable) {
  if (p == NULL || i >= p->graph.n_inputs)
    return GA_FAIL(GA_VALUE_ERROR, "plan %s: input %u does not exist; the plan has %u",
                   p ? p->name : "NULL", i, p ? p->graph.n_inputs : 0);
  const ga_value *v = &p->graph.values[p->graph.inputs[i]];
  if (typecode)
    *typecode = v->typecode;
  if (nd)
    *nd = v->nd;
  if (broadcastable)
    *broadcastable = v->broadcastable;
  return GA_NO_ERROR;
}

int GpuPlan_output_type(GpuPlan *p, unsigned int i, int *typecode, unsigned int *nd) {
  if (p == NULL || i >= p->graph.n_outputs)
    return GA_FAIL(GA_VALUE_ERROR, "plan %s: output %u does not exist; the plan has %u",
                   p ? p->name : "NULL", i, p ? p->graph.n_outputs : 0);
  const ga_value *v = &p->graph.values[p->graph.outputs[i]];
  if (typecode)
    *typecode = v->typecode;
  if (nd)
    *nd = v->nd;
  return GA_NO_ERROR;
}
