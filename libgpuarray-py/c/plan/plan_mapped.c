/* Steps that work for a later one: a GEMM for the elementwise step that is its only
 * reader (epilogue), and elementwise steps that write into what a join makes. */
#include <string.h>

#include "c/array/array.h"
#include "c/blas/gemm_epilogue.h"
#include "c/plan/plan.h"
#include "c/routines/routines.h"

/* ---- products: choice of the steps ---- */

static bool same_conditions(const ga_step *a, const ga_step *b) {
  if (a->n_when != b->n_when)
    return false;
  for (unsigned int i = 0; i < a->n_when; i++)
    if (a->when[i].value != b->when[i].value || a->when[i].wanted != b->when[i].wanted)
      return false;
  return true;
}

static unsigned int count_reads(const ga_step *s, unsigned int value) {
  unsigned int n = 0;
  for (unsigned int i = 0; i < s->n_in; i++)
    n += s->ins[i] == value;
  return n;
}

/* The dimshuffle step that would make a missing value from an available one; 0:
 * none. */
static unsigned int find_view(const ga_frame *f, const ga_step *reader,
                              unsigned int value) {
  const unsigned int maker = f->plan->graph.values[value].maker;
  if (maker < 2 || f->arrays[value].data != NULL)
    return 0;
  const ga_step *s = &f->plan->graph.steps[maker - 1];
  const bool may_run = s->kind == GA_STEP_DIMSHUFFLE && same_conditions(s, reader) &&
                       f->arrays[s->ins[0]].data != NULL;
  return may_run ? maker - 1 : 0;
}

/* True if the reader's other inputs are available after `step`, except for views. */
static bool is_ready(const ga_frame *f, const ga_step *reader, unsigned int value,
                     unsigned int step) {
  for (unsigned int i = 0; i < reader->n_in; i++) {
    const unsigned int given = reader->ins[i];
    const bool is_there = f->plan->graph.values[given].integer
                              ? f->plan->graph.values[given].maker <= step
                              : f->arrays[given].data != NULL;
    if (given != value && !is_there && find_view(f, reader, given) == 0)
      return false;
  }
  return true;
}

/* The fusible reader of `step`'s product, or 0. */
static unsigned int find_reader(const ga_frame *f, unsigned int step) {
  const GpuPlan *p = f->plan;
  const ga_step *s = &p->graph.steps[step];
  if (s->kind != GA_STEP_GEMM || s->alpha != 1.0 || s->beta != 0.0)
    return 0;
  const unsigned int value = s->outs[0], last = p->graph.values[value].last_use;
  if (last <= step || last >= p->graph.n_steps)
    return 0;
  for (unsigned int i = step + 1; i < last; i++)
    if (count_reads(&p->graph.steps[i], value) > 0)
      return 0;
  const ga_step *reader = &p->graph.steps[last];
  const bool fits = reader->kind == GA_STEP_ELEMWISE && reader->n_out == 1 &&
                    reader->n_in + 1 <= GA_MAPPED_ARGS &&
                    !ga__elemwise_has_index(reader->elemwise) &&
                    count_reads(reader, value) == 1 && same_conditions(s, reader) &&
                    is_ready(f, reader, value, step);
  return fits ? last : 0;
}

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
    if (count_reads(reader, value) == 0 || ga__step_is_integer(reader))
      continue;
    if (!is_join(reader))
      return NULL;
    join = reader;
  }
  const bool fits = join != NULL && count_reads(join, value) == 1 &&
                    same_conditions(s, join) &&
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

/* ---- products: execution ---- */

/* Describes the product, without memory for c; false if shapes do not match. */
static bool describe(ga_product *out, const ga_frame *f, const ga_step *s,
                     size_t dims[2]) {
  const GpuArray *a = &f->arrays[s->ins[0]], *b = &f->arrays[s->ins[1]];
  if (ga__product_without_result(out, s->ta, s->tb, a, b, "gemm") != GA_NO_ERROR)
    return false;
  dims[0] = out->c.m;
  dims[1] = out->c.n;
  return true;
}

static unsigned int count_of(const ga_frame *f, const ga_step *s, const gpudata *data) {
  unsigned int n = 0;
  for (unsigned int i = 0; i < s->n_in; i++)
    n += !f->plan->graph.values[s->ins[i]].integer && f->arrays[s->ins[i]].data == data;
  return n;
}

/* True if no step from `first` on and no other input of step `last` uses input `i`'s
 * memory. Steps to come could get it only from steps already done. */
static bool may_take_over(const ga_frame *f, unsigned int first, unsigned int last,
                          unsigned int i) {
  const ga_step *reader = &f->plan->graph.steps[last];
  const gpudata *data = f->arrays[reader->ins[i]].data;
  for (unsigned int k = first; k < last; k++)
    if (count_of(f, &f->plan->graph.steps[k], data) > 0)
      return false;
  return count_of(f, reader, data) == 1;
}

/* Allocates the output, or takes over an input in place. */
static int make_result(ga_frame *f, unsigned int step, unsigned int last,
                       const size_t dims[2]) {
  const GpuPlan *p = f->plan;
  const ga_step *reader = &p->graph.steps[last];
  GpuArray *out = &f->arrays[reader->outs[0]];
  const int over = reader->inplace[0];
  const ga_step *join = find_join(f, reader, 0);
  if (join != NULL)
    GA_TRY(place_part(f, join, reader->outs[0], 2, dims));
  if (out->data != NULL)
    return GA_NO_ERROR;
  if (over >= 0 && reader->ins[over] != p->graph.steps[step].outs[0] &&
      may_take_over(f, step, last, (unsigned int)over))
    return ga__step_result(out, f, reader, 0, 2, dims);
  return ga__step_memory(out, f, reader->outs[0], 2, dims);
}

/* True if an input of at most 2 axes broadcasts to `dims` and is aligned. */
static bool broadcasts(const GpuArray *a, unsigned int stretch, const size_t dims[2]) {
  for (unsigned int k = 0; k < a->nd; k++) {
    const bool may_stretch = a->dimensions[k] == 1 && (stretch >> k & 1u);
    if (a->dimensions[k] != dims[2 - a->nd + k] && !may_stretch)
      return false;
  }
  return GpuArray_ISALIGNED(a);
}

/* True if the reader's output has the product's shape. */
static bool has_shape(const ga_frame *f, const ga_step *reader, unsigned int value,
                      const size_t dims[2]) {
  for (unsigned int i = 0; i < reader->n_in; i++) {
    const unsigned int given = reader->ins[i];
    if (given == value || f->plan->graph.values[given].integer)
      continue;
    const GpuArray *a = &f->arrays[given];
    if (a->nd > 2 || !broadcasts(a, reader->stretch[i], dims))
      return false;
  }
  return true;
}

/* Makes the views that the reader needs; false on failure. */
static bool run_views(ga_frame *f, const ga_step *reader) {
  for (unsigned int i = 0; i < reader->n_in; i++) {
    const unsigned int view = find_view(f, reader, reader->ins[i]);
    if (view == 0)
      continue;
    if (ga__step_run(f, &f->plan->graph.steps[view]) != GA_NO_ERROR) {
      GpuArray_clear(&f->arrays[f->plan->graph.steps[view].outs[0]]);
      return false;
    }
    f->done[view] = true;
  }
  return true;
}

static int run_both(ga_frame *f, const ga_product *product, unsigned int step,
                    unsigned int last, const size_t dims[2]) {
  const ga_step *reader = &f->plan->graph.steps[last];
  void *args[GA_MAPPED_ARGS];
  ga_mapping map = {.ge = reader->elemwise, .made = 1, .values = args};
  GA_TRY(make_result(f, step, last, dims));
  args[0] = &f->arrays[reader->outs[0]];
  ga__step_inputs(args + 1, f, reader);
  while (reader->ins[map.made - 1] != f->plan->graph.steps[step].outs[0])
    map.made++;
  return ga__product_mapped(product, &map);
}

int ga__step_mapped(unsigned int *reader, ga_frame *f, unsigned int step) {
  const ga_step *s = &f->plan->graph.steps[step];
  ga_product product;
  size_t dims[2];
  *reader = 0;
  if (f->plan->context->info.is_cpu)
    return GA_NO_ERROR;
  const unsigned int last = find_reader(f, step);
  /* Errors are raised by the steps run separately. */
  if (last == 0 || !describe(&product, f, s, dims) || !ga__product_is_mapped(&product))
    return GA_NO_ERROR;
  const ga_step *other = &f->plan->graph.steps[last];
  if (!run_views(f, other) || !has_shape(f, other, s->outs[0], dims))
    return GA_NO_ERROR;
  int status = run_both(f, &product, step, last, dims);
  if (status == GA_DEVSUP_ERROR) {
    GpuArray_clear(&f->arrays[other->outs[0]]);
    return GA_NO_ERROR;
  }
  *reader = last;
  return status;
}

/* ---- joins: a step ---- */

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
