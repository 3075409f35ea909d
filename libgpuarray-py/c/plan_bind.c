/* Binding a plan to a signature: its steps are run once on stand-ins and recorded. */
#include <string.h>

#include "c/array.h"
#include "c/label.h"
#include "c/plan.h"

void ga__bound_free(ga_bound *bound) {
  if (bound == NULL)
    return;
  if (bound->outputs != NULL)
    for (unsigned int i = 0; i < bound->n_outputs; i++)
      GpuArray_clear(&bound->outputs[i]);
  ga__tape_free(bound->tape);
  ga__free(bound->outputs);
  ga__free(bound->inputs);
  ga__free(bound->bindings);
  ga__free(bound->signature);
  ga__free(bound);
}

size_t ga__plan_origin(const GpuArray *a) {
  size_t first = a->offset;
  for (unsigned int i = 0; i < a->nd; i++)
    if (a->strides[i] < 0 && a->dimensions[i] > 0)
      first -= (a->dimensions[i] - 1) * (size_t)-a->strides[i];
  return first - first % GA_PLAN_ALIGNMENT;
}

size_t ga__plan_base(const GpuPlan *p, unsigned int i, const GpuArray *a) {
  return p->fixed[i] ? 0 : ga__plan_origin(a);
}

/* Puts an array that a run gives on a stand-in into the frame. */
static int load_input(ga_frame *f, ga_bound *bound, unsigned int slot,
                      unsigned int value, const GpuArray *given) {
  GpuArray *a = &f->arrays[value];
  GA_TRY(ga__tape_input(&bound->inputs[slot], bound->tape));
  if (given->data == NULL) { /* a view in a branch that is not taken */
    gpudata_release(bound->inputs[slot]);
    return GA_NO_ERROR;
  }
  *a = *given;
  a->data = bound->inputs[slot];
  a->offset = given->offset - ga__plan_base(f->plan, slot, given);
  return GA_NO_ERROR;
}

/* Puts the inputs and views on stand-ins, the integers and the constants into the
 * frame. */
static int load_frame(ga_frame *f, ga_bound *bound, const GpuArray *const *ins,
                      const long long *ints) {
  const GpuPlan *p = f->plan;
  for (unsigned int i = 0; i < p->n_inputs; i++)
    GA_TRY(load_input(f, bound, i, p->inputs[i], ins[i]));
  for (unsigned int i = 0; i < p->n_views; i++)
    GA_TRY(load_input(f, bound, p->n_inputs + i, p->views[i], &p->arrays[p->views[i]]));
  if (p->n_views > 0)
    memcpy(f->integers, p->integers, p->n_values * sizeof *f->integers);
  for (unsigned int i = 0; i < p->n_int_inputs; i++)
    f->integers[p->int_inputs[i]] = ints[i];
  for (unsigned int i = 0; i < p->n_values; i++)
    if (p->values[i].constant.data != NULL)
      GA_TRY(GpuArray_view(&f->arrays[i], &p->values[i].constant));
  return GA_NO_ERROR;
}

/* Drops the arrays that no later step reads, so that their memory can be used again. */
static void drop_dead(ga_frame *f, unsigned int step) {
  const GpuPlan *p = f->plan;
  const ga_step *s = &p->steps[step];
  for (unsigned int i = 0; i < s->n_in; i++)
    if (p->values[s->ins[i]].last_use == step)
      GpuArray_clear(&f->arrays[s->ins[i]]);
  for (unsigned int i = 0; i < s->n_out; i++)
    if (p->values[s->outs[i]].last_use == step)
      GpuArray_clear(&f->arrays[s->outs[i]]);
}

/* Does a step, perhaps with a later one, of which it is noted that it is done. */
static int record_step(ga_frame *f, ga_bound *bound, unsigned int i) {
  const GpuPlan *p = f->plan;
  const char *label = ga__intern(p->steps[i].label);
  unsigned int reader = 0;
  if (label == NULL)
    return GA_MEMORY_ERROR;
  const char *own = ga__label_swap(label);
  ga__tape_set_step(bound->tape, i + 1);
  ga__choice_enter(f, &p->steps[i]);
  int status = ga__step_mapped(&reader, f, i);
  if (status == GA_NO_ERROR && reader > 0)
    f->done[reader] = true;
  else if (status == GA_NO_ERROR)
    status = ga__step_run(f, &p->steps[i]);
  ga__label_swap(own);
  return status;
}

static int record(ga_frame *f, ga_bound *bound, int *failed_step) {
  const GpuPlan *p = f->plan;
  unsigned int n_done = 0; /* steps that were done before the signature */
  for (unsigned int i = 0; i < p->n_steps; i++) {
    if (p->n_views > 0 && n_done < p->n_early && p->early[n_done] == i) {
      n_done++;
      continue;
    }
    if (!f->done[i] && ga__branch_taken(f, &p->steps[i])) {
      int status = record_step(f, bound, i);
      if (status != GA_NO_ERROR) {
        *failed_step = (int)i;
        return ga__fail_within(status, "%s", p->steps[i].label);
      }
    }
    drop_dead(f, i);
  }
  if (p->chosen != NULL && ga__tape_defers(bound->tape))
    return GA_FAIL(GA_UNSUPPORTED_ERROR, "a function that each run calls");
  for (unsigned int i = 0; i < p->n_outputs; i++) {
    GpuArray *a = &f->arrays[p->outputs[i]];
    if (a->data == NULL)
      GA_TRY(ga__branch_absent(a, p, p->outputs[i]));
    GA_TRY(GpuArray_view(&bound->outputs[i], a));
  }
  return GA_NO_ERROR;
}

int ga__bound_finish(ga_bound *bound) {
  unsigned int n_slots = ga__tape_slots(bound->tape);
  bool *kept = ga__alloc(n_slots + 1, sizeof *kept);
  bound->bindings = ga__alloc(n_slots + 1, sizeof *bound->bindings);
  int status = kept == NULL || bound->bindings == NULL ? GA_MEMORY_ERROR : GA_NO_ERROR;
  for (unsigned int i = 0; status == GA_NO_ERROR && i < bound->n_outputs; i++)
    if (bound->outputs[i].data->tape != NULL)
      kept[ga__tape_slot(bound->outputs[i].data)] = true;
  if (status == GA_NO_ERROR)
    status = ga__tape_finish(bound->tape, kept);
  ga__free(kept);
  return status;
}

/* Ends the recording; a kernel that does not compile is of a step. */
static int finish(ga_bound *bound, const GpuPlan *p, int *failed_step) {
  int status = ga__bound_finish(bound);
  const unsigned int step = ga__tape_failed(bound->tape);
  if (status == GA_NO_ERROR || step == 0)
    return status;
  *failed_step = (int)step - 1;
  return ga__fail_within(status, "%s", p->steps[step - 1].label);
}

/* Runs the steps on stand-ins and keeps the tape. */
int ga__plan_bind(ga_bound **out, GpuPlan *p, const GpuArray *const *ins,
                  const long long *ints, int *failed_step) {
  ga_frame f = {.plan = p,
                .chosen = p->chosen,
                .arrays = ga__alloc(p->n_values + 1, sizeof *f.arrays),
                .integers = ga__alloc(p->n_values + 1, sizeof *f.integers),
                .done = ga__alloc(p->n_steps + 1, sizeof *f.done)};
  ga_bound *bound = ga__alloc(1, sizeof *bound);
  int status = GA_MEMORY_ERROR;
  if (f.arrays == NULL || f.integers == NULL || f.done == NULL || bound == NULL)
    goto done;
  bound->n_outputs = p->n_outputs;
  bound->outputs = ga__alloc(p->n_outputs + 1, sizeof *bound->outputs);
  bound->inputs =
      ga__alloc((size_t)p->n_inputs + p->n_views + 1, sizeof *bound->inputs);
  bound->signature = ga__alloc(p->signature_length + 1, sizeof *bound->signature);
  if (bound->outputs == NULL || bound->inputs == NULL || bound->signature == NULL)
    goto done;
  memcpy(bound->signature, p->signature, p->signature_length * sizeof *p->signature);
  status = ga__tape_new(&bound->tape, p->context);
  if (status != GA_NO_ERROR)
    goto done;
  ga__tape_set_current(bound->tape);
  status = load_frame(&f, bound, ins, ints);
  if (status == GA_NO_ERROR)
    status = record(&f, bound, failed_step);
  for (unsigned int i = 0; i < p->n_values; i++)
    GpuArray_clear(&f.arrays[i]);
  ga__tape_set_current(NULL);
  if (status == GA_NO_ERROR)
    status = finish(bound, p, failed_step);

done:
  ga__free(f.arrays);
  ga__free(f.integers);
  ga__free(f.done);
  if (status == GA_NO_ERROR)
    *out = bound;
  else
    ga__bound_free(bound);
  return status;
}
