/* Steps that call a routine of the library by name. */
#include <string.h>

#include "c/base/dtype.h"
#include "c/plan/plan_state.h"
#include "c/routines/routine.h"

const char *ga__routine_name(const ga_routine_step *r) {
  return r->row->name;
}

static void free_routine(ga_routine_step *r) {
  if (r == NULL)
    return;
  for (unsigned int i = 0; r->texts && i < r->n_texts; i++)
    ga__free(r->texts[i]);
  ga__free((void *)r->texts);
  ga__free(r->params);
  ga__free(r);
}

/* Matches the inputs with the row's signature of letters. */
static bool takes(const ga_plan_graph *g, const ga_routine *row, unsigned int n,
                  const unsigned int *ins) {
  const char *letter = row->takes;
  unsigned int i = 0;
  while (*letter != '\0') {
    const char many = letter[1];
    unsigned int count = 0;
    while (i < n && g->values[ins[i]].integer == (*letter == 'i') &&
           (count == 0 || many == '+' || many == '*')) {
      i++;
      count++;
    }
    if (count == 0 && many != '*')
      return false;
    letter += many == '+' || many == '*' ? 2 : 1;
  }
  return i == n;
}

/* The input that result `i` overwrites in place, or -1. */
static long long over_of(const ga_routine *row, const gpuplan_routine *step,
                         unsigned int i) {
  if (row->inplace != GA_OVER_PARAMS)
    return row->inplace;
  return step->n_params <= step->n_out ? -1
                                       : step->params[step->n_params - step->n_out + i];
}

static int check_over(const GpuPlan *p, const ga_routine *row,
                      const gpuplan_routine *step, unsigned int i) {
  const long long over = over_of(row, step, i);
  if (over < 0)
    return GA_NO_ERROR;
  const ga_value *v = over < step->n_in ? &p->graph.values[step->ins[over]] : NULL;
  if (v != NULL && !v->integer &&
      (row->inplace >= 0 || v->typecode == step->results[i].typecode))
    return GA_NO_ERROR;
  return GA_FAIL(GA_VALUE_ERROR,
                 "plan %s, %s: result %u is to overwrite input %lld, which is not an "
                 "array of its type",
                 p->name, ga__plan_label(step->label), i, over);
}

static int check_step(const ga_routine **row, const GpuPlan *p,
                      const gpuplan_routine *step) {
  if (step->size != sizeof *step)
    return GA_FAIL(GA_INVALID_ERROR,
                   "plan %s: gpuplan_routine.size is %zu, expected %zu: compile "
                   "against this library's headers",
                   p->name, step->size, sizeof *step);
  GA_TRY(ga__plan_check_given(p, step->label, step->results, step->name));
  GA_TRY(ga__plan_check_given(p, step->label, step->n_in ? step->ins : (void *)p,
                              step->n_params ? step->params : (void *)p));
  GA_TRY(ga__plan_check_given(p, step->label, p,
                              step->n_texts ? (const void *)step->texts : p));
  *row = ga__routine_find(step->name);
  if (*row == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "plan %s, %s: the library has no routine '%s'",
                   p->name, ga__plan_label(step->label), step->name);
  for (unsigned int i = 0; i < step->n_in; i++)
    GA_TRY(ga__plan_check_value(p, step->label, step->ins[i],
                                step->ins[i] < p->graph.n_values &&
                                    p->graph.values[step->ins[i]].integer));
  const ga_routine *r = *row;
  if (!takes(&p->graph, r, step->n_in, step->ins) ||
      (r->n_params == GA_ANY_PARAMS ? step->n_params > GA_MAX_ARGS
                                    : step->n_params != r->n_params) ||
      step->n_texts != r->n_texts || step->n_out == 0 ||
      (r->n_out > 0 && step->n_out != r->n_out))
    return GA_FAIL(GA_VALUE_ERROR,
                   "plan %s, %s: the routine %s expects inputs %s (a: array, i: "
                   "integer), %s%u parameters, %u texts and %u results; got %u inputs, "
                   "%u parameters, %u texts and %u results",
                   p->name, ga__plan_label(step->label), r->name, r->takes,
                   r->n_params == GA_ANY_PARAMS ? "up to " : "",
                   r->n_params == GA_ANY_PARAMS ? GA_MAX_ARGS : r->n_params, r->n_texts,
                   r->n_out, step->n_in, step->n_params, step->n_texts, step->n_out);
  for (unsigned int i = 0; i < step->n_out; i++) {
    GA_TRY(ga__plan_check_axes(p, step->label, step->results[i].nd));
    GA_TRY(ga__dtype_check(step->results[i].typecode, "plan routine"));
    GA_TRY(check_over(p, r, step, i));
  }
  return GA_NO_ERROR;
}

static ga_routine_step *copy_routine(const ga_routine *row,
                                     const gpuplan_routine *step) {
  ga_routine_step *r = ga__alloc(1, sizeof *r);
  if (r == NULL)
    return NULL;
  *r = (ga_routine_step){.row = row,
                         .free = free_routine,
                         .n_params = step->n_params,
                         .n_texts = step->n_texts};
  r->params = ga__alloc((size_t)step->n_params + 1, sizeof *r->params);
  r->texts = ga__alloc((size_t)step->n_texts + 1, sizeof *r->texts);
  bool is_whole = r->params != NULL && r->texts != NULL;
  if (is_whole && step->n_params > 0)
    memcpy(r->params, step->params, step->n_params * sizeof *r->params);
  for (unsigned int i = 0; is_whole && i < step->n_texts; i++) {
    r->texts[i] = ga__strdup(step->texts[i] ? step->texts[i] : "");
    is_whole = r->texts[i] != NULL;
  }
  if (is_whole)
    return r;
  free_routine(r);
  return NULL;
}

int GpuPlan_routine(GpuPlan *p, unsigned int *outs, const gpuplan_routine *step) {
  const ga_routine *row = NULL;
  GA_TRY(ga__plan_check_given(p, "routine", outs, step));
  GA_TRY(check_step(&row, p, step));
  ga_step s = {.kind = GA_STEP_ROUTINE,
               .run = ga__routine_run,
               .routine = copy_routine(row, step),
               .inplace = ga__alloc((size_t)step->n_out + 1, sizeof *s.inplace)};
  for (unsigned int i = 0; s.inplace && i < step->n_out; i++)
    s.inplace[i] = (int)over_of(row, step, i);
  if (s.routine && s.inplace)
    return ga__plan_add_typed(p, s, step->label, step->n_in, step->ins, step->n_out,
                              step->results, outs);
  ga__plan_clear_step(&s);
  return GA_MEMORY_ERROR;
}

ga_routine_call ga__routine_call_of(const ga_frame *f, const ga_step *s,
                                    const ga_step_lists *lists) {
  const ga_routine_step *r = s->routine;
  return (ga_routine_call){.context = f->plan->context,
                           .n_in = s->n_in,
                           .ins = lists->ins,
                           .ints = lists->ints,
                           .n_params = r->n_params,
                           .params = r->params,
                           .texts = (const char *const *)r->texts,
                           .n_out = s->n_out,
                           .outs = lists->outs,
                           .types = lists->types};
}

int ga__routine_run(ga_frame *f, const ga_step *s) {
  ga_step_lists lists;
  int status = ga__step_lists_open(&lists, f, s);
  ga_routine_call c = ga__routine_call_of(f, s, &lists);
  GA_THEN(status, s->routine->row->run(&c));
  GA_THEN(status, ga__step_check_results(f, s));
  ga__step_lists_close(&lists);
  return status;
}

int ga__routine_sources(ga_source *out, unsigned int *n, const ga_routine_step *r) {
  *n = 0;
  if (r->row->source == NULL)
    return GA_NO_ERROR;
  GA_TRY(r->row->source(out, (const char *const *)r->texts));
  *n = 1;
  return GA_NO_ERROR;
}
