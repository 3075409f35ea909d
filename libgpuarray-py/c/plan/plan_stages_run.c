/* Running stages: each stage's plan, then its reads, its copies between contexts and
 * its loop. */
#include "c/plan/stages_state.h"

#include <limits.h>
#include <string.h>

#include "c/array/array.h"
#include "c/base/label.h"

static int begin(const GpuPlan *p, const GpuArray *const *ins, const long long *ints) {
  const ga_plan_graph *g = &p->graph;
  ga_stages *s = p->stages;
  s->given = ins;
  memset(s->integers, 0, g->n_values * sizeof *s->integers);
  for (unsigned int i = 0; i < g->n_int_inputs; i++)
    s->integers[g->int_inputs[i]] = ints[i];
  for (unsigned int i = 0; i < g->n_inputs; i++) {
    const unsigned int v = g->inputs[i];
    s->at[v] = s->copied[i] ? &s->arrays[v] : ins[i];
    if (s->copied[i])
      GA_TRY(GpuArray_copy(&s->arrays[v], ins[i], GA_C_ORDER));
  }
  return GA_NO_ERROR;
}

/* Most are clear already, and a test is cheaper than a call. */
static void drop(GpuArray *a) {
  if (a->data != NULL)
    GpuArray_clear(a);
}

/* Drops what copies between contexts and the loop after the stage made. */
static void drop_made(const GpuPlan *p, const ga_stage *stage) {
  const ga_step *s = &p->graph.steps[stage->first_read + stage->n_reads];
  for (unsigned int i = 0; i < stage->n_transfers + stage->n_loops; i++)
    for (unsigned int k = 0; k < s[i].n_out; k++)
      drop(&p->stages->arrays[s[i].outs[k]]);
}

/* Drops references that are left: results, which the caller now holds, or all after a
 * failure. */
static void end(const GpuPlan *p) {
  const ga_plan_graph *g = &p->graph;
  const ga_stages *s = p->stages;
  for (unsigned int i = 0; i < g->n_inputs; i++)
    if (s->copied[i])
      drop(&s->arrays[g->inputs[i]]);
  for (unsigned int i = 0; i < g->n_outputs; i++)
    drop(&s->arrays[g->outputs[i]]);
  for (const ga_stage *stage = s->list; stage < s->list + s->n; stage++) {
    drop_made(p, stage);
    for (unsigned int i = 0; stage->plan != NULL && i < stage->plan->graph.n_outputs;
         i++)
      drop(&s->arrays[stage->outs[i]]);
  }
}

/* Arguments of the stage's plan. */
static void gather(const ga_stages *s, const ga_stage *stage) {
  for (unsigned int i = 0; i < stage->plan->graph.n_inputs; i++)
    s->ins[i] = s->at[stage->ins[i]];
  for (unsigned int i = 0; i < stage->plan->graph.n_int_inputs; i++)
    s->ints[i] = s->integers[stage->ints[i]];
  for (unsigned int i = 0; i < stage->plan->graph.n_outputs; i++)
    s->outs[i] = &s->arrays[stage->outs[i]];
}

static int whole_step(const ga_stage *stage, int step) {
  return step < 0 ? step : (int)stage->steps[step];
}

static int run_steps(const ga_stages *s, const ga_stage *stage, int *failed_step) {
  int failed = -1;
  if (stage->plan == NULL)
    return GA_NO_ERROR;
  gather(s, stage);
  int status = ga__plan_run_bound(stage->plan, s->outs, s->ins, s->ints, &failed);
  *failed_step = whole_step(stage, failed);
  return status;
}

/* Integers that the host needs, for reads and later stages. */
static int compute_integers(const GpuPlan *p, const ga_stage *stage, int *failed_step) {
  const ga_stages *s = p->stages;
  ga_frame f = {.plan = p, .arrays = s->arrays, .integers = s->integers};
  for (unsigned int i = 0; i < stage->n_integers; i++) {
    const ga_step *step = &p->graph.steps[stage->integers[i]];
    if (!ga__branch_taken(&f, step))
      continue;
    if (step->kind == GA_STEP_DIM) {
      s->integers[step->outs[0]] = (long long)s->at[step->ins[0]]->dimensions[step->op];
      continue;
    }
    int status = ga__step_run(&f, step);
    if (status != GA_NO_ERROR) {
      *failed_step = (int)stage->integers[i];
      return ga__fail_within(status, "%s", step->label);
    }
  }
  return GA_NO_ERROR;
}

/* ---- reads ---- */

/* Element `i`, saturated: an unsigned one that is too large gives LLONG_MAX. */
static long long element(const void *bytes, unsigned int i, int typecode) {
  switch (typecode) {
  case GA_BOOL:
    return ((const uint8_t *)bytes)[i] != 0;
  case GA_BYTE:
    return ((const int8_t *)bytes)[i];
  case GA_UBYTE:
    return ((const uint8_t *)bytes)[i];
  case GA_SHORT:
    return ((const int16_t *)bytes)[i];
  case GA_USHORT:
    return ((const uint16_t *)bytes)[i];
  case GA_INT:
    return ((const int32_t *)bytes)[i];
  case GA_UINT:
    return ((const uint32_t *)bytes)[i];
  case GA_ULONG: {
    const uint64_t value = ((const uint64_t *)bytes)[i];
    return value > LLONG_MAX ? LLONG_MAX : (long long)value;
  }
  default:
    return ((const long long *)bytes)[i];
  }
}

/* Source `i` of the reads, made contiguous. */
static int prepare_read(const ga_stages *s, unsigned int i, const ga_step *step) {
  const GpuArray *a = s->at[step->ins[0]];
  const size_t count = ga__array_count(a);
  if (count != step->n_out)
    return GA_FAIL(GA_VALUE_ERROR, "%s: the shape holds %zu lengths, expected %u",
                   step->label, count, step->n_out);
  s->from[i] = a;
  if (GpuArray_IS_C_CONTIGUOUS(a))
    return GA_NO_ERROR;
  s->from[i] = &s->copies[i];
  return GpuArray_copy(&s->copies[i], a, GA_C_ORDER);
}

/* One wait for the first `n` sources. */
static int wait_for(const ga_stages *s, unsigned int n, const char *label) {
  const char *own = ga__label_swap(label);
  int status = GpuArray_read_all(n, s->places, s->from);
  ga__label_swap(own);
  return status;
}

static int read_arrays(const GpuPlan *p, const ga_stage *stage, unsigned int *n,
                       int *failed_step) {
  const ga_stages *s = p->stages;
  const ga_frame f = {.plan = p, .arrays = s->arrays, .integers = s->integers};
  long long *place = s->words;
  for (unsigned int i = 0; i < stage->n_reads; i++) {
    const ga_step *step = &p->graph.steps[stage->first_read + i];
    if (!ga__branch_taken(&f, step))
      continue;
    GA_TRY(ga__transfers_await_value(p, step->ins[0], failed_step));
    *failed_step = (int)(stage->first_read + i);
    GA_TRY(prepare_read(s, *n, step));
    s->places[(*n)++] = place;
    place += step->n_out;
  }
  return wait_for(s, *n, stage->label);
}

/* Integers of the steps that read them. No read of a stage is a condition in it, so the
 * same steps are taken as in read_arrays. */
static void take_integers(const GpuPlan *p, const ga_stage *stage) {
  const ga_stages *s = p->stages;
  const ga_frame f = {.plan = p, .arrays = s->arrays, .integers = s->integers};
  unsigned int n = 0;
  for (unsigned int i = 0; i < stage->n_reads; i++) {
    const ga_step *step = &p->graph.steps[stage->first_read + i];
    if (!ga__branch_taken(&f, step))
      continue;
    for (unsigned int k = 0; k < step->n_out; k++)
      s->integers[step->outs[k]] = element(s->places[n], k, s->from[n]->typecode);
    n++;
  }
}

static int run_reads(const GpuPlan *p, const ga_stage *stage, int *failed_step) {
  unsigned int n = 0;
  if (stage->n_reads == 0)
    return GA_NO_ERROR;
  int status = read_arrays(p, stage, &n, failed_step);
  if (status == GA_NO_ERROR) {
    take_integers(p, stage);
    *failed_step = -1;
  }
  for (unsigned int i = 0; i < stage->n_reads; i++)
    drop(&p->stages->copies[i]);
  return status;
}

/* ---- loops by the host ---- */

/* Puts the loop's inputs where the step takes them. */
static int take_inputs(const GpuPlan *p, const ga_step *step, int *failed_step) {
  const ga_stages *s = p->stages;
  for (unsigned int i = 0; i < step->n_in; i++) {
    const unsigned int v = step->ins[i];
    if (p->graph.values[v].integer)
      continue;
    GA_TRY(ga__transfers_await_value(p, v, failed_step));
    if (s->at[v] != &s->arrays[v] && s->arrays[v].data == NULL)
      GA_TRY(GpuArray_view(&s->arrays[v], s->at[v]));
  }
  return GA_NO_ERROR;
}

static void leave_inputs(const GpuPlan *p, const ga_step *step) {
  const ga_stages *s = p->stages;
  for (unsigned int i = 0; i < step->n_in; i++)
    if (s->at[step->ins[i]] != &s->arrays[step->ins[i]])
      drop(&s->arrays[step->ins[i]]);
}

static int run_labelled(ga_frame *f, const ga_step *step) {
  const char *label = ga__intern(step->label);
  GA_TRY_MEMORY(label);
  const char *own = ga__label_swap(label);
  int status = ga__step_run(f, step);
  ga__label_swap(own);
  return status == GA_NO_ERROR ? status : ga__fail_within(status, "%s", step->label);
}

static int run_loop(const GpuPlan *p, unsigned int number, int *failed_step) {
  const ga_stages *s = p->stages;
  const ga_step *step = &p->graph.steps[number];
  ga_frame f = {.plan = p, .arrays = s->arrays, .integers = s->integers};
  if (!ga__branch_taken(&f, step)) {
    for (unsigned int i = 0; i < step->n_out; i++)
      GA_TRY(ga__branch_absent(&s->arrays[step->outs[i]], p, step->outs[i]));
    return GA_NO_ERROR;
  }
  int status = take_inputs(p, step, failed_step);
  if (status == GA_NO_ERROR) {
    *failed_step = (int)number;
    status = run_labelled(&f, step);
  }
  leave_inputs(p, step);
  if (status == GA_NO_ERROR)
    *failed_step = -1;
  return status;
}

static int run_stage(GpuPlan *p, const ga_stage *stage, int *failed_step) {
  GA_TRY(ga__transfers_await(p, stage, failed_step));
  GA_TRY(run_steps(p->stages, stage, failed_step));
  ga__plan_prepare_rest(p);
  GA_TRY(compute_integers(p, stage, failed_step));
  GA_TRY(run_reads(p, stage, failed_step));
  GA_TRY(ga__transfers_begin(p, stage, failed_step));
  if (stage->n_loops > 0)
    GA_TRY(run_loop(p, stage->first_read + stage->n_reads + stage->n_transfers,
                    failed_step));
  for (unsigned int i = 0; i < stage->n_dead; i++)
    drop(&p->stages->arrays[stage->dead[i]]);
  return GA_NO_ERROR;
}

/* Copies constants that are results: the caller owns each run's. */
static int copy_constants(const GpuPlan *p) {
  const ga_stages *s = p->stages;
  for (unsigned int i = 0; i < p->graph.n_outputs; i++) {
    const unsigned int v = p->graph.outputs[i];
    if (p->graph.values[v].constant.data != NULL && s->arrays[v].data == NULL)
      GA_TRY(GpuArray_copy(&s->arrays[v], s->at[v], GA_C_ORDER));
  }
  return GA_NO_ERROR;
}

/* Returns the results, each with a reference of its own. */
static void hand_out(const GpuPlan *p, GpuArray *const *outs) {
  const ga_stages *s = p->stages;
  for (unsigned int i = 0; i < p->graph.n_outputs; i++) {
    const unsigned int v = p->graph.outputs[i];
    *outs[i] = p->graph.values[v].constant.data ? s->arrays[v] : *s->at[v];
    gpudata_retain(outs[i]->data);
  }
}

int ga__stages_run(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                   const long long *ints, int *failed_step) {
  const ga_stages *s = p->stages;
  int status = begin(p, ins, ints);
  for (unsigned int k = 0; status == GA_NO_ERROR && k < s->n; k++)
    status = run_stage(p, &s->list[k], failed_step);
  GA_THEN(status, copy_constants(p));
  status = ga__transfers_end(p, status, failed_step);
  if (status == GA_NO_ERROR)
    hand_out(p, outs);
  end(p);
  return status;
}

int ga__stages_bind(GpuPlan *p, const GpuArray *const *ins, int *failed_step) {
  const ga_stages *s = p->stages;
  const ga_stage *first = &s->list[0];
  ga_bound *bound;
  int failed = -1;
  if (first->plan == NULL)
    return GA_NO_ERROR;
  for (unsigned int i = 0; i < p->graph.n_inputs; i++)
    s->at[p->graph.inputs[i]] = ins[i];
  gather(s, first);
  int status = ga__plan_get_bound(&bound, first->plan, s->ins, s->ints, &failed);
  *failed_step = whole_step(first, failed);
  return status;
}
