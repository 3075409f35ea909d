/* Indexing by host integers, and early views: those taken before a signature is formed.
 *
 * A slice by integers of the call moves at every call, while its shape often stays. So
 * such views are taken at each run, and the signature holds their layouts in place of
 * the integers; a binding then serves all slices of a shape. The tape has them as
 * further inputs. */
#include <string.h>

#include "c/array/array.h"
#include "c/plan/plan_state.h"

/* ---- the step ---- */

unsigned int ga__index_integers(int form) {
  unsigned int n = 0;
  if (form == GP_INDEX_AT)
    return 1;
  for (int bit = GP_INDEX_START; bit <= GP_INDEX_STEP; bit *= 2)
    n += (form & bit) != 0;
  return n;
}

int GpuPlan_index(GpuPlan *p, unsigned int *out, const char *label, unsigned int a,
                  unsigned int n, const int *form, const unsigned int *ints) {
  enum { MOST = 1 + 3 * GA_MAX_NDIM };
  unsigned int ins[MOST] = {a}, n_in = 1, nd;
  GA_TRY(ga__plan_check_given(p, label, out, n > 0 ? (const void *)form : out));
  GA_TRY(ga__plan_check_value(p, label, a, false));
  nd = p->graph.values[a].nd;
  if (n > nd)
    return GA_FAIL(GA_VALUE_ERROR,
                   "plan %s, %s: the index has %u entries for an array of %u axes",
                   p->name, ga__plan_label(label), n, nd);
  ga_step s = {.kind = GA_STEP_INDEX, .run = ga__step_index, .nd = n};
  for (unsigned int i = 0; i < n; i++) {
    if (form[i] < 0 || form[i] >= 2 * GP_INDEX_SLICE)
      return GA_FAIL(GA_INVALID_ERROR, "plan %s, %s: unknown form %d of an index entry",
                     p->name, ga__plan_label(label), form[i]);
    s.pattern[i] = form[i];
    nd -= form[i] == GP_INDEX_AT;
    for (unsigned int k = ga__index_integers(form[i]); k > 0; k--, n_in++) {
      GA_TRY(ga__plan_check_given(p, label, out, ints));
      GA_TRY(ga__plan_check_value(p, label, ints[n_in - 1], true));
      ins[n_in] = ints[n_in - 1];
    }
  }
  ga_value result = ga__plan_array(p->graph.values[a].typecode, nd);
  return ga__plan_add_step(p, s, label, n_in, ins, 1, &result, out);
}

/* One axis of GpuArray_index. As in Python, negative indices count from the end and
 * slices are clipped. */
typedef struct range {
  ssize_t start, stop, step;
} range;

static ssize_t within(long long x, ssize_t length, ssize_t lowest, ssize_t highest) {
  if (x < 0)
    x += length;
  return x < lowest ? lowest : x > highest ? highest : (ssize_t)x;
}

static int slice_range(range *r, int form, const long long *given, ssize_t length) {
  long long start = form & GP_INDEX_START ? *given++ : 0;
  long long stop = form & GP_INDEX_STOP ? *given++ : 0;
  long long step = form & GP_INDEX_STEP ? *given : 1;
  if (step == 0)
    return GA_FAIL(GA_VALUE_ERROR, "slice step cannot be zero");
  bool forward = step > 0;
  ssize_t lowest = forward ? 0 : -1, highest = forward ? length : length - 1;
  r->step = (ssize_t)step;
  r->start = form & GP_INDEX_START ? within(start, length, lowest, highest)
             : forward             ? lowest
                                   : highest;
  r->stop = form & GP_INDEX_STOP ? within(stop, length, lowest, highest)
            : forward            ? highest
                                 : lowest;
  if (forward ? r->start >= r->stop : r->stop >= r->start)
    *r = (range){0, 0, 1};
  return GA_NO_ERROR;
}

static int index_range(range *r, long long given, ssize_t length, unsigned int axis) {
  if (given < -(long long)length || given >= (long long)length)
    return GA_FAIL(GA_INDEX_ERROR,
                   "index %lld is out of bounds for axis %u with size %zd", given, axis,
                   length);
  *r = (range){(ssize_t)(given < 0 ? given + length : given), 0, 0};
  return GA_NO_ERROR;
}

int ga__step_index(ga_frame *f, const ga_step *s) {
  const GpuArray *a = &f->arrays[s->ins[0]];
  ssize_t starts[GA_MAX_NDIM], stops[GA_MAX_NDIM], steps[GA_MAX_NDIM];
  const unsigned int *next = s->ins + 1;
  for (unsigned int i = 0; i < a->nd; i++) {
    int form = i < s->nd ? s->pattern[i] : GP_INDEX_SLICE;
    ssize_t length = (ssize_t)a->dimensions[i];
    long long given[3];
    unsigned int n = ga__index_integers(form);
    for (unsigned int k = 0; k < n; k++)
      given[k] = f->integers[*next++];
    range r = {0};
    GA_TRY(form == GP_INDEX_AT ? index_range(&r, given[0], length, i)
                               : slice_range(&r, form, given, length));
    starts[i] = r.start;
    stops[i] = r.stop;
    steps[i] = r.step;
  }
  return GpuArray_index(&f->arrays[s->outs[0]], a, starts, stops, steps);
}

/* ---- early views ---- */

bool ga__views_are_early(const GpuPlan *p) {
  const ga_plan_graph *g = &p->graph;
  bool *varies = ga__alloc((size_t)g->n_values + 1, sizeof *varies), found = false;
  if (varies == NULL)
    return false; /* correct, but each slice binds anew */
  for (unsigned int i = 0; i < g->n_int_inputs; i++)
    varies[g->int_inputs[i]] = true;
  for (unsigned int i = 0; i < g->n_steps; i++) {
    const ga_step *s = &g->steps[i];
    bool any = false;
    for (unsigned int k = 0; k < s->n_in; k++)
      any |= varies[s->ins[k]];
    for (unsigned int k = 0; k < s->n_out; k++)
      varies[s->outs[k]] = any;
    found |= any && s->kind == GA_STEP_INDEX;
  }
  ga__free(varies);
  return found;
}

/* Liveness: arrays whose layouts the recorded steps need, and lengths that settle an
 * integer of the signature. */
static void mark_read(bool *read, const GpuPlan *p, const bool *early) {
  const ga_plan_graph *g = &p->graph;
  for (unsigned int i = 0; i < g->n_steps; i++) {
    const ga_step *s = &g->steps[i];
    bool is_early = s->n_out > 0 && early[s->outs[0]];
    bool is_length = s->kind == GA_STEP_DIM && p->signature.settles[s->outs[0]];
    for (unsigned int k = 0; (!is_early || is_length) && k < s->n_in; k++)
      read[s->ins[k]] = true;
  }
  for (unsigned int i = 0; i < g->n_outputs; i++)
    read[g->outputs[i]] = true;
}

int ga__views_settle(GpuPlan *p, const bool *early) {
  ga_plan_graph *g = &p->graph;
  ga__plan_at_free(p, ga__views_clear);
  bool *read = ga__alloc((size_t)g->n_values + 1, sizeof *read);
  p->views.list = ga__alloc((size_t)g->n_values + 1, sizeof *p->views.list);
  p->views.arrays = ga__alloc((size_t)g->n_values + 1, sizeof *p->views.arrays);
  p->views.hidden = ga__alloc((size_t)g->n_inputs + 1, sizeof *p->views.hidden);
  if (read == NULL || p->views.list == NULL || p->views.arrays == NULL ||
      p->views.hidden == NULL) {
    ga__free(read);
    ga__views_clear(p);
    return GA_MEMORY_ERROR;
  }
  mark_read(read, p, early);
  for (unsigned int i = 0; i < g->n_inputs; i++) {
    p->views.hidden[i] = !read[g->inputs[i]];
    if (p->views.hidden[i])
      p->signature.length -= ga__layout_words(g->values[g->inputs[i]].nd);
  }
  for (unsigned int i = 0; i < g->n_steps; i++) {
    unsigned int v = g->steps[i].n_out > 0 ? g->steps[i].outs[0] : 0;
    if (g->steps[i].n_out == 0 || !early[v] || g->values[v].integer || !read[v])
      continue;
    p->views.list[p->views.n++] = v;
    p->signature.length += ga__layout_words(g->values[v].nd);
  }
  ga__free(read);
  return GA_NO_ERROR;
}

void ga__views_begin(GpuPlan *p, const GpuArray *const *ins) {
  ga_plan_graph *g = &p->graph;
  for (unsigned int i = 0; i < g->n_inputs; i++)
    p->views.arrays[g->inputs[i]] = *ins[i]; /* borrowed from the caller */
  for (unsigned int i = 0; i < g->n_values; i++)
    if (g->values[i].constant.data != NULL)
      p->views.arrays[i] = g->values[i].constant;
}

void ga__views_end(GpuPlan *p) {
  if (p->views.arrays == NULL)
    return;
  for (unsigned int i = 0; i < p->signature.n_early; i++) {
    const ga_step *s = &p->graph.steps[p->signature.early[i]];
    if (!p->graph.values[s->outs[0]].integer)
      GpuArray_clear(&p->views.arrays[s->outs[0]]);
  }
}

void ga__views_clear(GpuPlan *p) {
  ga__free(p->views.list);
  ga__free(p->views.arrays);
  ga__free(p->views.hidden);
  p->views.list = NULL;
  p->views.arrays = NULL;
  p->views.hidden = NULL;
  p->views.n = 0;
}
