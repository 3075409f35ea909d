/* Recording of a plan whose conditions the device evaluates. */
#include "c/plan/plan_state.h"

#include <string.h>

#include "c/array/array.h"

/* Largest array (bytes) copied to give both sides of a select one address; above it,
 * waiting for the condition is cheaper. */
#define MOST_COPIED ((size_t)4 << 20)

/* True if output `o` may alias input `i`. */
static bool may_share(const ga_step *s, unsigned int o, unsigned int i) {
  switch (s->kind) {
  case GA_STEP_INDEX:
  case GA_STEP_DIMSHUFFLE:
  case GA_STEP_RESHAPE:
  case GA_STEP_BROADCAST:
    return i == 0;
  case GA_STEP_CHOOSE:
    return i > 0;
  case GA_STEP_FUNCTION: /* they may return views */
  case GA_STEP_ROUTINE:
  case GA_STEP_LOOP:
    return true;
  default:
    return s->inplace != NULL && s->inplace[o] == (int)i;
  }
}

/* Propagates possible aliasing through a step, forward or backward. */
static void spread(bool *marked, const ga_step *s, bool is_forward) {
  for (unsigned int o = 0; o < s->n_out; o++)
    for (unsigned int i = 0; i < s->n_in; i++) {
      if (!may_share(s, o, i))
        continue;
      if (is_forward)
        marked[s->outs[o]] |= marked[s->ins[i]];
      else
        marked[s->ins[i]] |= marked[s->outs[o]];
    }
}

/* True if a step from `first` on may overwrite the value's memory. */
static int is_overwritten(bool *res, const ga_plan_graph *g, unsigned int value,
                          unsigned int first) {
  bool *marked = ga__alloc((size_t)g->n_values + 1, sizeof *marked);
  GA_TRY_MEMORY(marked);
  *res = false;
  marked[value] = true;
  for (unsigned int i = first; i-- > 0;)
    spread(marked, &g->steps[i], false);
  for (unsigned int i = 0; i < g->n_steps; i++) {
    const ga_step *s = &g->steps[i];
    spread(marked, s, true);
    for (unsigned int o = 0; i >= first && s->inplace != NULL && o < s->n_out; o++)
      *res |= s->inplace[o] >= 0 && marked[s->ins[s->inplace[o]]];
  }
  ga__free(marked);
  return GA_NO_ERROR;
}

/* Records a condition: the frame's array for the integer is the condition's bytes, its
 * integer the condition's number. */
int ga__choice_read(ga_frame *f, const ga_step *s) {
  const GpuPlan *p = f->plan;
  const GpuArray *a = &f->arrays[s->ins[0]];
  GpuArray *condition = &f->arrays[s->outs[0]];
  unsigned int number;
  bool changes;
  if (ga__array_count(a) != 1)
    return GA_FAIL(GA_VALUE_ERROR, "the condition has %zu elements, expected 1",
                   ga__array_count(a));
  GA_TRY(is_overwritten(&changes, &p->graph, s->ins[0],
                        p->graph.values[s->outs[0]].maker));
  /* Kernels write the error count, without any step saying so. */
  changes |= (a->data->flags & (GA_BUFFER_WORD | GA_BUFFER_COUNT)) != 0;
  if (changes)
    GA_TRY(GpuArray_copy(condition, a, GA_C_ORDER));
  else
    GA_TRY(GpuArray_view(condition, a));
  GA_TRY(ga__tape_condition(&number, f->tape, condition->data, condition->offset,
                            gpuarray_get_elsize(condition->typecode)));
  f->integers[s->outs[0]] = number;
  return GA_NO_ERROR;
}

/* Sorted branches of a step, by the order of their reads; returns their number. */
static unsigned int list_choices(ga_choice *list, const ga_frame *f, const ga_step *s) {
  unsigned int n = 0;
  for (unsigned int i = 0; f->conditions != NULL && i < s->n_when; i++) {
    const ga_condition c = s->when[i];
    if (!f->conditions[c.value])
      continue;
    const ga_choice choice = {(unsigned int)f->integers[c.value], c.wanted};
    unsigned int place = n++;
    for (; place > 0 && list[place - 1].condition > choice.condition; place--)
      list[place] = list[place - 1];
    list[place] = choice;
  }
  return n;
}

void ga__choice_enter(const ga_frame *f, const ga_step *s) {
  ga_choice list[GA_CHOICES];
  const unsigned int n = list_choices(list, f, s);
  ga__tape_under(f->tape, n, list);
}

/* ---- select ---- */

static bool same_layout(const GpuArray *a, const GpuArray *b) {
  return memcmp(a->dimensions, b->dimensions, a->nd * sizeof *a->dimensions) == 0 &&
         memcmp(a->strides, b->strides, a->nd * sizeof *a->strides) == 0 &&
         a->offset == b->offset && a->flags == b->flags;
}

static bool is_same(const GpuArray *a, const GpuArray *b) {
  const bool on_tape = a->data->tape != NULL && b->data->tape != NULL;
  const bool one =
      on_tape ? ga__tape_slot(a->data) == ga__tape_slot(b->data) : a->data == b->data;
  return one && same_layout(a, b);
}

/* Copies an array under one side of the condition. */
static int copy_under(ga_tape *tape, GpuArray *to, const GpuArray *from, unsigned int n,
                      ga_choice *list, bool wanted) {
  list[n].wanted = wanted;
  ga__tape_under(tape, n + 1, list);
  int status = GpuArray_move(to, from);
  ga__tape_under(tape, n, list);
  return status;
}

/* True if a side's memory can be the result, the other side being copied into it. */
static bool can_take(ga_tape *tape, const GpuArray *a, ga_choice side) {
  return a->data->tape != NULL && GpuArray_ISWRITEABLE(a) &&
         ga__tape_is_under(a->data, side) && ga__tape_widen(tape, a->data);
}

/* `list` holds the step's n branches, then this condition. */
static int join(ga_tape *tape, GpuArray *out, const GpuArray *const sides[2],
                unsigned int n, ga_choice *list) {
  const GpuArray *a = sides[0], *b = sides[1];
  const ga_choice is = {list[n].condition, true}, is_not = {list[n].condition, false};
  if (is_same(a, b) ||
      (a->data->tape && b->data->tape && same_layout(a, b) &&
       ga__tape_is_under(a->data, is) && ga__tape_is_under(b->data, is_not) &&
       ga__tape_unite(tape, a->data, b->data)))
    return GpuArray_view(out, a);
  if (ga__array_count(a) * gpuarray_get_elsize(a->typecode) > MOST_COPIED)
    return GA_FAIL(GA_UNSUPPORTED_ERROR, "the conditional needs a copy");
  if (can_take(tape, a, is)) {
    GA_TRY(GpuArray_view(out, a));
    return copy_under(tape, out, b, n, list, false);
  }
  if (can_take(tape, b, is_not)) {
    GA_TRY(GpuArray_view(out, b));
    return copy_under(tape, out, a, n, list, true);
  }
  GA_TRY(GpuArray_empty(out, a->data->context, a->typecode, a->nd, a->dimensions,
                        GA_C_ORDER));
  GA_TRY(copy_under(tape, out, a, n, list, true));
  return copy_under(tape, out, b, n, list, false);
}

int ga__choice_join(ga_frame *f, const ga_step *s) {
  const GpuArray *const sides[2] = {&f->arrays[s->ins[1]], &f->arrays[s->ins[2]]};
  ga_choice list[GA_CHOICES]; /* one entry is always free, see plan_choice.c */
  if (sides[0]->data == NULL || sides[1]->data == NULL ||
      !ga__array_same_shape(sides[0], sides[1]))
    return GA_FAIL(GA_UNSUPPORTED_ERROR,
                   "the two sides of the conditional have different shapes");
  const unsigned int n = list_choices(list, f, s);
  list[n].condition = (unsigned int)f->integers[s->ins[0]];
  return join(f->tape, &f->arrays[s->outs[0]], sides, n, list);
}
