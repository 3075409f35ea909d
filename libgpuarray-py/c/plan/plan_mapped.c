/* Fusion of a GEMM with the elementwise step that is its only reader (epilogue). */
#include "c/array/array.h"
#include "c/blas/gemm_epilogue.h"
#include "c/plan/plan.h"

/* ---- choice of the steps ---- */

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
                    count_reads(reader, value) == 1 && same_conditions(s, reader) &&
                    is_ready(f, reader, value, step);
  return fits ? last : 0;
}

/* ---- execution ---- */

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
