/* Stages of a plan that is cut: see plan_cut.c.
 *
 * Each stage is a plan with bindings of its own. Its steps are those of the whole plan,
 * renumbered; it borrows what they own. Its inputs are the arrays and integers that it
 * reads of earlier stages, its outputs the arrays that later ones read. Constant
 * integers are copied into each stage: as inputs they would be in its signature. */
#include "c/plan/stages_state.h"

#include <string.h>

#include "c/base/dtype.h"
#include "c/base/label.h"

int GpuPlan_read(GpuPlan *p, unsigned int *outs, const char *label, unsigned int array,
                 unsigned int n) {
  GA_TRY(ga__plan_check_given(p, label, outs, outs));
  GA_TRY(ga__plan_check_value(p, label, array, false));
  const int typecode = p->graph.values[array].typecode;
  const char kind = ga__dtype_kind(typecode);
  if (kind != 'b' && kind != 'i' && kind != 'u')
    return GA_FAIL(GA_INVALID_ERROR,
                   "plan %s, %s: reads value %u as integers, but it is %s; cast it",
                   p->name, ga__plan_label(label), array, ga__dtype_name(typecode));
  ga_value *results = ga__alloc((size_t)n + 1, sizeof *results);
  GA_TRY_MEMORY(results);
  for (unsigned int i = 0; i < n; i++)
    results[i] = (ga_value){.integer = true, .typecode = GA_LONG, .input = -1};
  int status =
      ga__plan_add_step(p, (ga_step){.kind = GA_STEP_READ, .run = ga__choice_read},
                        label, 1, &array, n, results, outs);
  ga__free(results);
  return status;
}

/* ---- liveness across stages ---- */

typedef struct cutter {
  GpuPlan *p;
  const ga_plan_graph *graph;
  ga_stages *stages;
  unsigned int *stage_of; /* of each step */
  /* Of each value: 1 + its number in the plan of the current stage, or 0; liveness, as
   * 1 + the last stage that reads it across plans, or 0; whether the host needs it. */
  unsigned int *numbers, *last;
  bool *wanted;
  unsigned int *ins;      /* inputs of a step */
  unsigned int last_step; /* the first one behind which a run does not fail any more */
} cutter;

/* True if the value exists before the stage. */
static bool is_earlier(const cutter *c, unsigned int value, unsigned int stage) {
  const unsigned int maker = c->graph->values[value].maker;
  return maker == 0 || c->stage_of[maker - 1] < stage;
}

/* True if each stage has its own copy of the integer. */
static bool is_copied(const cutter *c, unsigned int value) {
  const unsigned int maker = c->graph->values[value].maker;
  return maker > 0 && (c->graph->steps[maker - 1].kind == GA_STEP_INT ||
                       c->graph->steps[maker - 1].kind == GA_STEP_DEVICE);
}

static void note_read(cutter *c, unsigned int value, unsigned int stage,
                      bool is_outside) {
  if (!is_outside && !is_earlier(c, value, stage))
    return;
  if (c->graph->values[value].integer)
    c->wanted[value] |= is_outside || !is_copied(c, value);
  else if (c->last[value] < stage + 1)
    c->last[value] = stage + 1;
}

/* Backwards, so that the needs of an integer reach its operands. */
static void note_reads(cutter *c) {
  const ga_plan_graph *g = c->graph;
  for (unsigned int i = 0; i < g->n_outputs; i++)
    c->last[g->outputs[i]] = c->stages->n + 1;
  for (unsigned int i = g->n_steps; i-- > 0;) {
    const ga_step *s = &g->steps[i];
    const bool is_outside =
        ga__step_ends_stage(g, s) || (ga__step_is_integer(s) && c->wanted[s->outs[0]]);
    for (unsigned int k = 0; k < s->n_in; k++)
      note_read(c, s->ins[k], c->stage_of[i], is_outside);
    for (unsigned int k = 0; k < s->n_when; k++)
      note_read(c, s->when[k].value, c->stage_of[i], is_outside);
  }
}

/* ---- the plan of a stage ---- */

/* Adds a value of the whole plan as a constant or an input. */
static int take_value(cutter *c, ga_stage *stage, unsigned int value) {
  const ga_value *v = &c->graph->values[value];
  GpuPlan *plan = stage->plan;
  unsigned int *number = &c->numbers[value];
  if (v->integer && is_copied(c, value)) {
    stage->steps[plan->graph.n_steps] = v->maker - 1;
    GA_TRY(GpuPlan_int(plan, number, c->graph->steps[v->maker - 1].integer));
  } else if (v->integer) {
    stage->ints[plan->graph.n_int_inputs] = value;
    GA_TRY(GpuPlan_int_input(plan, number));
  } else if (v->constant.data != NULL) {
    GA_TRY(GpuPlan_constant(plan, number, &v->constant));
  } else {
    stage->ins[plan->graph.n_inputs] = value;
    GA_TRY(GpuPlan_input(plan, number, v->typecode, v->nd, 0));
  }
  ++*number;
  return GA_NO_ERROR;
}

static int take_values(cutter *c, ga_stage *stage, const ga_step *s) {
  for (unsigned int i = 0; i < s->n_in; i++)
    if (c->numbers[s->ins[i]] == 0)
      GA_TRY(take_value(c, stage, s->ins[i]));
  for (unsigned int i = 0; i < s->n_when; i++)
    if (c->numbers[s->when[i].value] == 0)
      GA_TRY(take_value(c, stage, s->when[i].value));
  return GA_NO_ERROR;
}

static int set_conditions(const cutter *c, ga_stage *stage, const ga_step *s) {
  unsigned int *values = ga__alloc((size_t)s->n_when + 1, sizeof *values);
  int *wanted = ga__alloc((size_t)s->n_when + 1, sizeof *wanted);
  int status = values && wanted ? GA_NO_ERROR : GA_MEMORY_ERROR;
  for (unsigned int i = 0; status == GA_NO_ERROR && i < s->n_when; i++) {
    values[i] = c->numbers[s->when[i].value] - 1;
    wanted[i] = s->when[i].wanted;
  }
  GA_THEN(status, GpuPlan_when(stage->plan, s->n_when, values, wanted));
  ga__free(values);
  ga__free(wanted);
  return status;
}

static bool is_output(const ga_plan_graph *g, unsigned int value) {
  for (unsigned int i = 0; i < g->n_outputs; i++)
    if (g->outputs[i] == value)
      return true;
  return false;
}

/* True if input `i` may not be overwritten by the step, so that a run that fails leaves
 * it as it was: it is written before the last stage, or at all with GpuPlan_confirm or
 * where it is a result. What an iteration of a loop overwrites is the loop's own. */
static bool is_spared(const cutter *c, unsigned int step, unsigned int i) {
  return (step < c->last_step && !c->p->settings.yields) ||
         is_output(c->graph, c->graph->inputs[i]);
}

/* True if result `o` of an elementwise step needs no memory of input `i`, which it
 * would overwrite: no view of the input is behind the step, where its elements would be
 * read.
 */
static bool is_apart(const ga_plan_graph *g, unsigned int number, unsigned int o,
                     unsigned int i) {
  const ga_step *s = &g->steps[number];
  if (s->kind != GA_STEP_ELEMWISE || s->ins[s->inplace[o]] != g->inputs[i])
    return false;
  for (unsigned int k = number + 1; k < g->n_steps; k++)
    for (unsigned int j = 0; j < g->steps[k].n_in; j++)
      if (ga__plan_root(g, g->steps[k].ins[j]) == g->inputs[i])
        return false;
  for (unsigned int j = 0; j < g->n_outputs; j++)
    if (ga__plan_root(g, g->outputs[j]) == g->inputs[i])
      return false;
  return true;
}

/* Gives results of an elementwise step that would overwrite a spared input memory of
 * their own: that takes no more than a copy of the input, and moves nothing. */
static int spare_inputs(const cutter *c, ga_step *copy, unsigned int number) {
  const ga_plan_graph *g = c->graph;
  const ga_step *s = &g->steps[number];
  if (s->kind != GA_STEP_ELEMWISE)
    return GA_NO_ERROR;
  copy->inplace = ga__alloc((size_t)s->n_out + 1, sizeof *copy->inplace);
  GA_TRY_MEMORY(copy->inplace);
  copy->owns_inplace = true;
  for (unsigned int o = 0; o < s->n_out; o++) {
    copy->inplace[o] = s->inplace[o];
    for (unsigned int i = 0; i < g->n_inputs; i++)
      if (!c->stages->copied[i] && is_spared(c, number, i) &&
          ga__step_writes(g, s, o, i))
        copy->inplace[o] = -1;
  }
  return GA_NO_ERROR;
}

static int copy_step(cutter *c, ga_stage *stage, unsigned int number) {
  const ga_step *s = &c->graph->steps[number];
  GpuPlan *plan = stage->plan;
  ga_step copy = *s;
  copy.is_copy = true;
  copy.when = NULL; /* set by set_conditions */
  copy.n_when = 0;
  ga_value *results = ga__alloc((size_t)s->n_out + 1, sizeof *results);
  unsigned int *outs = ga__alloc((size_t)s->n_out + 1, sizeof *outs);
  int status = results && outs ? GA_NO_ERROR : GA_MEMORY_ERROR;
  GA_THEN(status, spare_inputs(c, &copy, number));
  for (unsigned int i = 0; status == GA_NO_ERROR && i < s->n_out; i++) {
    results[i] = c->graph->values[s->outs[i]];
    results[i].last_use = results[i].maker = 0;
  }
  for (unsigned int i = 0; i < s->n_in; i++)
    c->ins[i] = c->numbers[s->ins[i]] - 1;
  GA_THEN(status, ga__plan_add_step(plan, copy, s->label, s->n_in, c->ins, s->n_out,
                                    results, outs));
  if (status == GA_NO_ERROR) {
    stage->steps[plan->graph.n_steps - 1] = number;
    for (unsigned int i = 0; i < s->n_out; i++)
      c->numbers[s->outs[i]] = outs[i] + 1;
  }
  ga__free(results);
  ga__free(outs);
  return status;
}

static int add_step(cutter *c, ga_stage *stage, unsigned int number) {
  const ga_step *s = &c->graph->steps[number];
  GA_TRY(GpuPlan_when(stage->plan, 0, NULL, NULL));
  GA_TRY(take_values(c, stage, s));
  GA_TRY(set_conditions(c, stage, s));
  return copy_step(c, stage, number);
}

/* The step's results that are live after the stage. */
static int add_outputs(const cutter *c, ga_stage *stage, const ga_step *s) {
  for (unsigned int i = 0; i < s->n_out; i++) {
    const unsigned int value = s->outs[i];
    if (c->graph->values[value].integer || c->last[value] == 0)
      continue;
    stage->outs[stage->plan->graph.n_outputs] = value;
    GA_TRY(GpuPlan_output(stage->plan, c->numbers[value] - 1));
  }
  return GA_NO_ERROR;
}

/* The steps from `first` to before `end`; the reads follow them. */
static int make_plan(cutter *c, ga_stage *stage, unsigned int first, unsigned int end) {
  const GpuPlan *p = c->p;
  GA_TRY(GpuPlan_new(&stage->plan, ga__plan_context(p, stage->place), p->name));
  stage->plan->stage_of = p;
  stage->plan->bindings.most = p->bindings.most;
  stage->plan->settings.holds = p->settings.holds;
  stage->plan->settings.lacks_bodies = p->settings.lacks_bodies;
  stage->plan->settings.protects = p->settings.protects;
  memset(c->numbers, 0, p->graph.n_values * sizeof *c->numbers);
  for (unsigned int i = first; i < end; i++)
    GA_TRY(add_step(c, stage, i));
  for (unsigned int i = first; i < end; i++)
    GA_TRY(add_outputs(c, stage, &p->graph.steps[i]));
  return GA_NO_ERROR;
}

/* ---- stages ---- */

/* Allocates the lists of stage `k` for all that its steps read and make. */
static int allocate_stage(ga_stage *stage, const cutter *c, unsigned int k,
                          unsigned int first) {
  const ga_plan_graph *g = c->graph;
  size_t n = 1, n_dead = 1;
  for (unsigned int i = first; i < g->n_steps && c->stage_of[i] == k; i++)
    n += 1 + (size_t)g->steps[i].n_in + g->steps[i].n_out + g->steps[i].n_when;
  for (unsigned int v = 0; v < g->n_values; v++)
    n_dead += c->last[v] == k + 1;
  stage->steps = ga__alloc(n, sizeof *stage->steps);
  stage->integers = ga__alloc(n, sizeof *stage->integers);
  stage->ins = ga__alloc(n, sizeof *stage->ins);
  stage->ints = ga__alloc(n, sizeof *stage->ints);
  stage->outs = ga__alloc(n, sizeof *stage->outs);
  stage->dead = ga__alloc(n_dead, sizeof *stage->dead);
  return stage->steps && stage->integers && stage->ins && stage->ints && stage->outs &&
                 stage->dead
             ? GA_NO_ERROR
             : GA_MEMORY_ERROR;
}

/* Stage `k`; *step moves to the first step of the next one. */
static int make_stage(cutter *c, unsigned int k, unsigned int *step) {
  const ga_plan_graph *g = c->graph;
  ga_stage *stage = &c->stages->list[k];
  const unsigned int first = *step;
  bool computes = false;
  GA_TRY(allocate_stage(stage, c, k, first));
  for (; *step < g->n_steps && c->stage_of[*step] == k; ++*step) {
    const ga_step *s = &g->steps[*step];
    if (ga__step_ends_stage(g, s)) {
      stage->n_reads += s->kind == GA_STEP_READ;
      stage->n_transfers += s->kind == GA_STEP_TRANSFER;
      stage->n_loops += s->kind == GA_STEP_LOOP;
      continue;
    }
    if (!ga__step_is_integer(s)) {
      computes = true;
      stage->place = s->place;
    }
    if (ga__step_is_integer(s) && c->wanted[s->outs[0]])
      stage->integers[stage->n_integers++] = *step;
  }
  stage->first_read = *step - stage->n_loops - stage->n_transfers - stage->n_reads;
  if (stage->n_reads > 0) {
    stage->label = ga__intern(g->steps[stage->first_read].label);
    GA_TRY_MEMORY(stage->label);
  }
  for (unsigned int v = 0; v < g->n_values; v++)
    if (c->last[v] == k + 1)
      stage->dead[stage->n_dead++] = v;
  return computes ? make_plan(c, stage, first, stage->first_read) : GA_NO_ERROR;
}

/* Spared inputs that are copied: those that a step must write to. */
static void note_copied(cutter *c) {
  const GpuPlan *p = c->p;
  unsigned int last = p->graph.n_steps;
  while (!p->settings.confirms && last > 0 &&
         c->stage_of[last - 1] == c->stages->n - 1 &&
         !ga__step_ends_stage(&p->graph, &p->graph.steps[last - 1]))
    last--;
  c->last_step = last;
  for (unsigned int k = 0; k < p->graph.n_steps; k++) {
    const ga_step *s = &p->graph.steps[k];
    for (unsigned int i = 0; i < p->graph.n_inputs; i++)
      for (unsigned int o = 0; is_spared(c, k, i) && o < s->n_out; o++)
        c->stages->copied[i] |=
            ga__step_writes(&p->graph, s, o, i) && !is_apart(&p->graph, k, o, i);
  }
}

static int allocate_scratch(ga_stages *s, const GpuPlan *p) {
  const size_t n = (size_t)p->graph.n_values + 1,
               n_steps = (size_t)p->graph.n_steps + 1;
  s->copied = ga__alloc((size_t)p->graph.n_inputs + 1, sizeof *s->copied);
  s->pending = ga__alloc(n_steps, sizeof *s->pending);
  s->arrays = ga__alloc(n, sizeof *s->arrays);
  s->at = ga__alloc(n, sizeof(GpuArray *));
  s->integers = ga__alloc(n, sizeof *s->integers);
  s->ins = ga__alloc(n, sizeof(GpuArray *));
  s->outs = ga__alloc(n, sizeof(GpuArray *));
  s->ints = ga__alloc(n, sizeof *s->ints);
  s->from = ga__alloc(n_steps, sizeof(GpuArray *));
  s->copies = ga__alloc(n_steps, sizeof *s->copies);
  s->places = ga__alloc(n_steps, sizeof(void *));
  s->words = ga__alloc(n, sizeof *s->words);
  return s->copied && s->pending && s->arrays && s->at && s->integers && s->ins &&
                 s->outs && s->ints && s->from && s->copies && s->places && s->words
             ? GA_NO_ERROR
             : GA_MEMORY_ERROR;
}

static int cut(cutter *c) {
  const GpuPlan *p = c->p;
  ga_stages *s = c->stages;
  unsigned int step = 0, n = ga__stages_number(c->stage_of, p);
  GA_TRY(allocate_scratch(s, p));
  s->list = ga__alloc(n, sizeof *s->list);
  GA_TRY_MEMORY(s->list);
  s->n = n;
  note_reads(c);
  note_copied(c);
  for (unsigned int v = 0; v < p->graph.n_values; v++)
    s->at[v] =
        p->graph.values[v].constant.data ? &p->graph.values[v].constant : &s->arrays[v];
  for (unsigned int k = 0; k < n; k++)
    GA_TRY(make_stage(c, k, &step));
  return GA_NO_ERROR;
}

static unsigned int most_inputs(const ga_plan_graph *g) {
  unsigned int most = 0;
  for (unsigned int i = 0; i < g->n_steps; i++)
    most = g->steps[i].n_in > most ? g->steps[i].n_in : most;
  return most;
}

int ga__stages_settle(GpuPlan *p) {
  if (p->stages != NULL || !ga__plan_is_cut(p))
    return GA_NO_ERROR;
  const size_t n = (size_t)p->graph.n_values + 1;
  cutter c = {.p = p,
              .graph = &p->graph,
              .stages = ga__alloc(1, sizeof *c.stages),
              .stage_of = ga__alloc((size_t)p->graph.n_steps + 1, sizeof *c.stage_of),
              .numbers = ga__alloc(n, sizeof *c.numbers),
              .last = ga__alloc(n, sizeof *c.last),
              .wanted = ga__alloc(n, sizeof *c.wanted),
              .ins = ga__alloc((size_t)most_inputs(&p->graph) + 1, sizeof *c.ins)};
  p->stages = c.stages;
  ga__plan_at_free(p, ga__stages_clear);
  bool ready = c.stages && c.stage_of && c.numbers && c.last && c.wanted && c.ins;
  int status = ready ? cut(&c) : GA_MEMORY_ERROR;
  if (status != GA_NO_ERROR)
    ga__stages_clear(p);
  ga__free(c.stage_of);
  ga__free(c.numbers);
  ga__free(c.last);
  ga__free(c.wanted);
  ga__free(c.ins);
  return status;
}

static void clear_stage(const ga_stage *stage) {
  GpuPlan_free(stage->plan);
  ga__free(stage->steps);
  ga__free(stage->ins);
  ga__free(stage->ints);
  ga__free(stage->outs);
  ga__free(stage->integers);
  ga__free(stage->dead);
}

void ga__stages_clear(GpuPlan *p) {
  ga_stages *s = p->stages;
  if (s == NULL)
    return;
  for (unsigned int k = 0; k < s->n; k++)
    clear_stage(&s->list[k]);
  ga__free(s->list);
  ga__free(s->copied);
  ga__free(s->pending);
  ga__free(s->arrays);
  ga__free((void *)s->at);
  ga__free(s->integers);
  ga__free((void *)s->ins);
  ga__free((void *)s->outs);
  ga__free(s->ints);
  ga__free((void *)s->from);
  ga__free(s->copies);
  ga__free((void *)s->places);
  ga__free(s->words);
  ga__free(s);
  p->stages = NULL;
}
