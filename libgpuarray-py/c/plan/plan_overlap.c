/* Aliasing of inputs: those that overlap memory which the run overwrites are copied
 * first.
 *
 * Each input is a value of its own, wherever its memory is. For one binding, the tape
 * knows what the commands write, also through early views. For a plan with stages, and
 * for a plan recorded within another one, the steps' in-place results tell it. */
#include "c/plan/plan_overlap.h"

#include <string.h>

#include "c/array/array.h"
#include "c/plan/stages_state.h"

/* ---- roots of views ---- */

unsigned int ga__plan_root(const ga_plan_graph *g, unsigned int value) {
  while (g->values[value].maker > 0) {
    const ga_step *s = &g->steps[g->values[value].maker - 1];
    bool is_view = s->kind == GA_STEP_INDEX || s->kind == GA_STEP_DIMSHUFFLE ||
                   s->kind == GA_STEP_RESHAPE || s->kind == GA_STEP_BROADCAST;
    if (!is_view)
      break;
    value = s->ins[0];
  }
  return value;
}

/* True if `value` may alias input `i`: a view of it, or a choice with such a branch. */
static bool lies_in(const ga_plan_graph *g, unsigned int value, unsigned int i) {
  const unsigned int root = ga__plan_root(g, value), maker = g->values[root].maker;
  const ga_step *s = maker > 0 ? &g->steps[maker - 1] : NULL;
  if (s != NULL && s->kind == GA_STEP_CHOOSE)
    return lies_in(g, s->ins[1], i) || lies_in(g, s->ins[2], i);
  return root == g->inputs[i];
}

bool ga__step_writes(const ga_plan_graph *g, const ga_step *s, unsigned int o,
                     unsigned int i) {
  return s->inplace != NULL && s->inplace[o] >= 0 &&
         lies_in(g, s->ins[s->inplace[o]], i);
}

bool ga__plan_writes(const ga_plan_graph *g, unsigned int i, unsigned int n) {
  for (unsigned int k = 0; k < n; k++)
    for (unsigned int o = 0; o < g->steps[k].n_out; o++)
      if (ga__step_writes(g, &g->steps[k], o, i))
        return true;
  return false;
}

/* ---- by the steps ---- */

static bool overlaps_constant(const ga_plan_graph *g, const GpuArray *a) {
  for (unsigned int i = 0; i < g->n_values; i++)
    if (g->values[i].constant.data != NULL && GpuArray_share(&g->values[i].constant, a))
      return true;
  return false;
}

/* True if input `i` must be copied. Of two overwritten inputs that overlap, the later
 * is copied; of an input and a constant, the input. */
static bool must_copy(const ga_plan_graph *g, unsigned int i,
                      const GpuArray *const *ins) {
  if (g->destroyed[i] && overlaps_constant(g, ins[i]))
    return true;
  for (unsigned int k = 0; k < g->n_inputs; k++)
    if (k != i && g->destroyed[k] && (k < i || !g->destroyed[i]) &&
        GpuArray_share(ins[k], ins[i]))
      return true;
  return false;
}

static int copy_input(const GpuArray **place, GpuArray *copy) {
  const bool is_f =
      GpuArray_IS_F_CONTIGUOUS(*place) && !GpuArray_IS_C_CONTIGUOUS(*place);
  GA_TRY(GpuArray_copy(copy, *place, is_f ? GA_F_ORDER : GA_C_ORDER));
  *place = copy;
  return GA_NO_ERROR;
}

bool ga__overlap_any(const GpuPlan *p, const GpuArray *const *ins) {
  for (unsigned int i = 0; i < p->graph.n_inputs; i++)
    if (must_copy(&p->graph, i, ins))
      return true;
  return false;
}

int ga__overlap_copy(const GpuPlan *p, const GpuArray **list, GpuArray *copies) {
  for (unsigned int i = 0; i < p->graph.n_inputs; i++)
    if (must_copy(&p->graph, i, list))
      GA_TRY(copy_input(&list[i], &copies[i]));
  return GA_NO_ERROR;
}

/* ---- by the commands of a tape ---- */

/* True if a write would reach a buffer that the tape holds: of a constant, only its
 * elements count; of a buffer from a step's function, all of it. */
static bool overlaps_held(const ga_plan_graph *g, const ga_bound *bound,
                          const GpuArray *a) {
  gpudata *const *held;
  const unsigned int n = ga__tape_held(&held, bound->tape);
  for (unsigned int i = 0; i < n; i++) {
    ptrdiff_t between;
    bool is_constant = false;
    if (held[i]->flags & (GA_BUFFER_WORD | GA_BUFFER_COUNT) ||
        !ga__buffers_meet(&between, held[i], a->data))
      continue;
    for (unsigned int k = 0; k < g->n_values; k++)
      is_constant |= g->values[k].constant.data == held[i];
    if (!is_constant)
      return true;
  }
  return overlaps_constant(g, a);
}

static const GpuArray *slot_array(const GpuPlan *p, unsigned int slot,
                                  const GpuArray *const *ins) {
  return slot < p->graph.n_inputs
             ? ins[slot]
             : &p->views.arrays[p->views.list[slot - p->graph.n_inputs]];
}

static unsigned int slot_root(const GpuPlan *p, unsigned int slot) {
  const unsigned int n = p->graph.n_inputs;
  return slot < n ? p->graph.inputs[slot]
                  : ga__plan_root(&p->graph, p->views.list[slot - n]);
}

/* True if a failed run must leave the array unchanged: unless an earlier stage made it.
 */
static bool is_kept(const GpuPlan *p, const GpuArray *a) {
  if (p->stage_of == NULL)
    return true;
  for (unsigned int i = 0; i < p->stage_of->graph.n_inputs; i++)
    if (GpuArray_share(p->stage_of->stages->given[i], a))
      return true;
  return false;
}

/* The same as must_copy, for a slot: an input or an early view. A read of an input
 * after a write through its view sees the result. */
static bool must_copy_slot(const GpuPlan *p, const ga_bound *bound, unsigned int i,
                           const GpuArray *const *ins) {
  const ga_tape *tape = bound->tape;
  const GpuArray *a = slot_array(p, i, ins);
  if (a->data == NULL) /* a view in a branch that is not taken */
    return false;
  const bool writes = ga__tape_writes(tape, i);
  const bool may_fail = p->settings.confirms || ga__tape_may_fail_after(tape, i);
  if (writes && ((may_fail && is_kept(p, a)) || overlaps_held(&p->graph, bound, a)))
    return true;
  for (unsigned int k = 0; k < p->graph.n_inputs + p->views.n; k++) {
    const bool other_writes = ga__tape_writes(tape, k);
    const bool are_views = slot_root(p, i) == slot_root(p, k);
    if (k != i && ga__tape_clashes(tape, i, k, are_views) &&
        (!writes || (other_writes && k < i)) &&
        GpuArray_share(slot_array(p, k, ins), a))
      return true;
  }
  return false;
}

/* The input that a slot is, or whose view the slot writes through; -1 for a view that
 * is copied alone: one that is only read, or of a constant. */
static int input_of_slot(const GpuPlan *p, const ga_bound *bound, unsigned int i) {
  if (i < p->graph.n_inputs)
    return (int)i;
  return ga__tape_writes(bound->tape, i) ? p->graph.values[slot_root(p, i)].input : -1;
}

int ga__overlap_part(bool *changed, bool *moved, GpuPlan *p, const ga_bound *bound,
                     bool *is_ours, const GpuArray **list, GpuArray *copies) {
  *changed = *moved = false;
  for (unsigned int i = 0; i < p->graph.n_inputs + p->views.n; i++) {
    const int input = input_of_slot(p, bound, i);
    if (is_ours[input >= 0 ? (unsigned int)input : i] ||
        !must_copy_slot(p, bound, i, list))
      continue;
    *changed = true;
    if (input >= 0) {
      *moved = is_ours[input] = true;
      GA_TRY(copy_input(&list[input], &copies[input]));
      continue;
    }
    is_ours[i] = true;
    GpuArray *view = &p->views.arrays[p->views.list[i - p->graph.n_inputs]], copy;
    GA_TRY(GpuArray_copy(&copy, view, GA_C_ORDER));
    GpuArray_clear(view);
    *view = copy;
  }
  if (*moved) /* the views are of the copies from now on */
    memset(is_ours + p->graph.n_inputs, 0, p->views.n * sizeof *is_ours);
  return GA_NO_ERROR;
}

/* ---- copies of a run ---- */

int ga__apart_open(ga_apart *a, const GpuPlan *p, const GpuArray *const *ins) {
  a->n = p->graph.n_inputs;
  a->copies = ga__alloc((size_t)a->n + 1, sizeof *a->copies);
  a->list = ga__alloc((size_t)a->n + 1, sizeof *a->list);
  a->is_ours = ga__alloc((size_t)a->n + p->views.n + 1, sizeof *a->is_ours);
  GA_TRY_MEMORY(a->copies && a->list && a->is_ours);
  for (unsigned int i = 0; i < a->n; i++)
    a->list[i] = ins[i];
  return GA_NO_ERROR;
}

void ga__apart_close(ga_apart *a) {
  for (unsigned int i = 0; a->copies != NULL && i < a->n; i++)
    GpuArray_clear(&a->copies[i]);
  ga__free(a->copies);
  ga__free((void *)a->list);
  ga__free(a->is_ours);
}
