/* Elementwise steps whose results are parts of a join: they write into what it makes.
 */
#include <string.h>

#include "c/array/array.h"
#include "c/plan/plan_state.h"
#include "c/routines/routine.h"

/* ---- shapes of what is not made yet ---- */

#define MOST_VALUES 256

/* Looks for shapes from a step on. A value that many steps read is looked at again for
 * each of them, so the search ends after `left` values. */
typedef struct search {
  ga_frame *f;
  unsigned int step, left;
} search;

static bool find_shape(unsigned int *nd, size_t *dims, search *look,
                       unsigned int value);

static bool is_view(const ga_step *s) {
  return s->kind == GA_STEP_INDEX || s->kind == GA_STEP_DIMSHUFFLE ||
         s->kind == GA_STEP_BROADCAST;
}

/* Makes host integers and views of later steps than this one before their turn, for
 * they launch nothing; false where that takes more. */
static bool make_early(search *look, unsigned int value) {
  ga_frame *f = look->f;
  const ga_plan_graph *g = &f->plan->graph;
  const unsigned int maker = g->values[value].maker;
  if (look->left == 0)
    return false;
  look->left--;
  if (maker <= look->step + 1 || f->done[maker - 1])
    return f->arrays[value].data != NULL || g->values[value].integer;
  const ga_step *s = &g->steps[maker - 1];
  if (s->n_when > 0 || !(ga__step_is_integer(s) || is_view(s)))
    return false;
  for (unsigned int i = 0; i < s->n_in; i++)
    if (!make_early(look, s->ins[i]))
      return false;
  if (ga__step_run(f, s) == GA_NO_ERROR)
    return f->done[maker - 1] = true;
  GpuArray_clear(&f->arrays[value]);
  return false;
}

static bool joint_shape(unsigned int *nd, size_t *dims, search *look,
                        const ga_step *s) {
  *nd = 0;
  for (unsigned int i = 0; i < s->n_in; i++) {
    size_t own[GA_MAX_NDIM];
    unsigned int n;
    if (look->f->plan->graph.values[s->ins[i]].integer)
      continue;
    if (!find_shape(&n, own, look, s->ins[i]) ||
        ga__shape_broadcast(nd, dims, n, own) != GA_NO_ERROR)
      return false;
  }
  return true;
}

static bool product_shape(unsigned int *nd, size_t *dims, search *look,
                          const ga_step *s) {
  size_t a[GA_MAX_NDIM], b[GA_MAX_NDIM];
  *nd = 2;
  if (!find_shape(nd, a, look, s->ins[0]) || !find_shape(nd, b, look, s->ins[1]))
    return false;
  dims[0] = a[s->ta == cb_no_trans ? 0 : 1];
  dims[1] = b[s->tb == cb_no_trans ? 1 : 0];
  return true;
}

static bool view_shape(unsigned int *nd, size_t *dims, search *look, const ga_step *s) {
  size_t own[GA_MAX_NDIM];
  if (!find_shape(nd, own, look, s->ins[0]))
    return false;
  *nd = s->nd;
  for (unsigned int k = 0; k < s->nd; k++)
    dims[k] = s->pattern[k] < 0 ? 1 : own[s->pattern[k]];
  return true;
}

/* The shape of a value, also where a later step makes it of what is there; false where
 * it is not known. */
static bool find_shape(unsigned int *nd, size_t *dims, search *look,
                       unsigned int value) {
  const ga_frame *f = look->f;
  const ga_plan_graph *g = &f->plan->graph;
  const unsigned int maker = g->values[value].maker;
  const ga_step *s = maker > 0 ? &g->steps[maker - 1] : NULL;
  const GpuArray *a = &f->arrays[value];
  if (make_early(look, value)) {
    *nd = a->nd;
    memcpy(dims, a->dimensions, a->nd * sizeof *dims);
    return true;
  }
  if (s == NULL || look->left == 0)
    return false;
  if (s->kind == GA_STEP_ELEMWISE)
    return joint_shape(nd, dims, look, s);
  if (s->kind == GA_STEP_GEMM)
    return product_shape(nd, dims, look, s);
  return s->kind == GA_STEP_DIMSHUFFLE && view_shape(nd, dims, look, s);
}

/* ---- joins ---- */

static bool is_join(const ga_step *s) {
  return s->kind == GA_STEP_ROUTINE &&
         strcmp(ga__routine_name(s->routine), "join") == 0;
}

static unsigned int axis_of(const ga_step *join) {
  return (unsigned int)join->routine->params[0];
}

/* The last join that reads result `i` of the step, if nothing but joins does, host
 * integers aside; or NULL. The other joins copy the part from there: what an earlier
 * one makes may be overwritten before the last one reads the part. */
static const ga_step *find_join(const ga_frame *f, const ga_step *s, unsigned int i) {
  const ga_plan_graph *g = &f->plan->graph;
  const unsigned int value = s->outs[i], last = g->values[value].last_use;
  const ga_step *join = NULL;
  if (last >= g->n_steps)
    return NULL;
  for (unsigned int k = g->values[value].maker; k <= last; k++) {
    const ga_step *reader = &g->steps[k];
    if (ga__step_reads(reader, value) == 0 || ga__step_is_integer(reader))
      continue;
    if (!is_join(reader))
      return NULL;
    join = reader;
  }
  const bool fits = join != NULL && ga__step_reads(join, value) == 1 &&
                    ga__step_same_conditions(s, join) &&
                    g->values[value].typecode == g->values[join->outs[0]].typecode &&
                    g->values[value].nd == g->values[join->outs[0]].nd;
  return fits ? join : NULL;
}

/* Place of value `wanted` along the axis of the join, and the length of all parts;
 * false where a length is not known, or another axis differs. */
static bool find_place(size_t *place, size_t *length, ga_frame *f, const ga_step *join,
                       unsigned int wanted, const size_t *shape) {
  const unsigned int axis = axis_of(join);
  search look = {f, f->plan->graph.values[wanted].maker - 1, MOST_VALUES};
  size_t dims[GA_MAX_NDIM];
  unsigned int nd;
  *length = 0;
  for (unsigned int i = 0; i < join->n_in; i++) {
    if (join->ins[i] == wanted)
      *place = *length;
    if (join->ins[i] == wanted)
      memcpy(dims, shape, (nd = f->plan->graph.values[wanted].nd) * sizeof *dims);
    else if (!find_shape(&nd, dims, &look, join->ins[i]))
      return false;
    for (unsigned int k = 0; k < nd; k++)
      if (k != axis && dims[k] != shape[k])
        return false;
    *length += dims[axis];
  }
  return true;
}

static int view_part(GpuArray *out, const GpuArray *whole, unsigned int axis,
                     size_t place, size_t length) {
  GA_TRY(GpuArray_view(out, whole));
  out->dimensions[axis] = length;
  out->offset += place * (size_t)whole->strides[axis];
  GpuArray_fix_flags(out);
  return GA_NO_ERROR;
}

/* Makes `value`, of shape `dims`, the part of the join that it is to be. */
static int place_part(ga_frame *f, const ga_step *join, unsigned int value,
                      unsigned int nd, const size_t *dims) {
  const unsigned int axis = axis_of(join);
  size_t place = 0, joined[GA_MAX_NDIM];
  memcpy(joined, dims, nd * sizeof *dims);
  if (!find_place(&place, &joined[axis], f, join, value, dims))
    return GA_NO_ERROR;
  GpuArray *whole = &f->arrays[join->outs[0]];
  if (whole->data == NULL)
    GA_TRY(ga__step_memory(whole, f, join->outs[0], nd, joined));
  return view_part(&f->arrays[value], whole, axis, place, dims[axis]);
}

/* Copies the parts that are not yet in the joined array. */
static int copy_rest(ga_frame *f, const ga_step *join) {
  const GpuArray *whole = &f->arrays[join->outs[0]];
  const unsigned int axis = axis_of(join);
  size_t place = 0;
  int status = GA_NO_ERROR;
  for (unsigned int i = 0; i < join->n_in && status == GA_NO_ERROR; i++) {
    const GpuArray *part = &f->arrays[join->ins[i]];
    GpuArray own = {0};
    const size_t length = part->dimensions[axis];
    status = view_part(&own, whole, axis, place, length);
    if (part->data != own.data || part->offset != own.offset)
      GA_THEN(status, GpuArray_setarray(&own, part));
    GpuArray_clear(&own);
    place += length;
  }
  return status;
}

int ga__step_placed(ga_frame *f, const ga_step *s, unsigned int i, unsigned int nd,
                    const size_t *dims) {
  const ga_step *join = find_join(f, s, i);
  return join != NULL ? place_part(f, join, s->outs[i], nd, dims) : GA_NO_ERROR;
}

int ga__step_joined(ga_frame *f, unsigned int step) {
  const ga_step *s = &f->plan->graph.steps[step];
  search look = {f, step, MOST_VALUES};
  unsigned int nd;
  size_t dims[GA_MAX_NDIM];
  if (is_join(s) && f->arrays[s->outs[0]].data != NULL) {
    f->done[step] = true;
    return copy_rest(f, s);
  }
  for (unsigned int i = 0; s->kind == GA_STEP_ELEMWISE && i < s->n_out; i++) {
    const ga_step *join = find_join(f, s, i);
    if (join != NULL && joint_shape(&nd, dims, &look, s) && nd > 0)
      GA_TRY(place_part(f, join, s->outs[i], nd, dims));
  }
  return GA_NO_ERROR;
}
