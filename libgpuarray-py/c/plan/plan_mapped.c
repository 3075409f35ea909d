/* Epilogues: a product or a convolution computes the elementwise step that is its only
 * reader, too. */
#include "c/array/array.h"
#include "c/blas/gemm_epilogue.h"
#include "c/plan/plan_state.h"
#include "c/routines/routine.h"

/* ---- choice of the steps ---- */

/* The dimshuffle step that would make a missing value from an available one; 0:
 * none. */
static unsigned int find_view(const ga_frame *f, const ga_step *reader,
                              unsigned int value) {
  const unsigned int maker = f->plan->graph.values[value].maker;
  if (maker < 2 || f->arrays[value].data != NULL)
    return 0;
  const ga_step *s = &f->plan->graph.steps[maker - 1];
  const bool may_run = s->kind == GA_STEP_DIMSHUFFLE &&
                       ga__step_same_conditions(s, reader) &&
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

/* True for steps that may have an epilogue. */
static bool may_map(const ga_step *s) {
  if (s->kind == GA_STEP_ROUTINE)
    return ga__routine_mappable(s->routine->row) != NULL;
  return s->kind == GA_STEP_GEMM && s->alpha == 1.0 && s->beta == 0.0;
}

/* The fusible reader of `step`'s result, or 0. */
static unsigned int find_reader(const ga_frame *f, unsigned int step) {
  const GpuPlan *p = f->plan;
  const ga_step *s = &p->graph.steps[step];
  if (!may_map(s))
    return 0;
  const unsigned int value = s->outs[0], last = p->graph.values[value].last_use;
  if (last <= step || last >= p->graph.n_steps)
    return 0;
  for (unsigned int i = step + 1; i < last; i++)
    if (ga__step_reads(&p->graph.steps[i], value) > 0)
      return 0;
  const ga_step *reader = &p->graph.steps[last];
  const bool fits =
      reader->kind == GA_STEP_ELEMWISE && reader->n_out == 1 &&
      reader->n_in + 1 <= GA_MAPPED_ARGS && !ga__elemwise_has_index(reader->elemwise) &&
      ga__step_reads(reader, value) == 1 && ga__step_same_conditions(s, reader) &&
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

/* Allocates the output, or takes over an input in place unless it `is_apart`. */
static int make_result(ga_frame *f, unsigned int step, unsigned int last,
                       unsigned int nd, const size_t *dims, bool is_apart) {
  const GpuPlan *p = f->plan;
  const ga_step *reader = &p->graph.steps[last];
  GpuArray *out = &f->arrays[reader->outs[0]];
  const int over = reader->inplace[0];
  GA_TRY(ga__step_placed(f, reader, 0, nd, dims));
  if (out->data != NULL)
    return GA_NO_ERROR;
  if (!is_apart && over >= 0 && reader->ins[over] != p->graph.steps[step].outs[0] &&
      may_take_over(f, step, last, (unsigned int)over))
    return ga__step_result(out, f, reader, 0, nd, dims);
  return ga__step_memory(out, f, reader->outs[0], nd, dims);
}

/* True if an input of at most `nd` axes broadcasts to `dims` and is aligned. */
static bool broadcasts(const GpuArray *a, unsigned int stretch, unsigned int nd,
                       const size_t *dims) {
  for (unsigned int k = 0; k < a->nd; k++) {
    const bool may_stretch = a->dimensions[k] == 1 && (stretch >> k & 1u);
    if (a->dimensions[k] != dims[nd - a->nd + k] && !may_stretch)
      return false;
  }
  return GpuArray_ISALIGNED(a);
}

/* True if the reader's output has the shape. */
static bool has_shape(const ga_frame *f, const ga_step *reader, unsigned int value,
                      unsigned int nd, const size_t *dims) {
  for (unsigned int i = 0; i < reader->n_in; i++) {
    const unsigned int given = reader->ins[i];
    if (given == value || f->plan->graph.values[given].integer)
      continue;
    const GpuArray *a = &f->arrays[given];
    if (a->nd > nd || !broadcasts(a, reader->stretch[i], nd, dims))
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

/* What computes a step's result with an epilogue: a product, or a routine's call. */
typedef struct maker {
  const ga_product *product;
  const ga_mappable *mappable;
  ga_routine_call *call;
} maker;

static int run_both(ga_frame *f, const maker *m, unsigned int step, unsigned int last,
                    unsigned int nd, const size_t *dims) {
  const ga_step *reader = &f->plan->graph.steps[last];
  GpuArray *out = &f->arrays[reader->outs[0]];
  void *args[GA_MAPPED_ARGS];
  ga_mapping map = {.ge = reader->elemwise, .made = 1, .values = args};
  const bool is_apart =
      m->mappable && m->mappable->is_apart && m->mappable->is_apart(m->call);
  GA_TRY(make_result(f, step, last, nd, dims, is_apart));
  args[0] = out;
  ga__step_inputs(args + 1, f, reader);
  while (reader->ins[map.made - 1] != f->plan->graph.steps[step].outs[0])
    map.made++;
  return m->product ? ga__product_mapped(m->product, &map)
                    : m->mappable->run(out, m->call, &map);
}

/* Errors of the operands are raised by the steps run separately. */
static int map_steps(unsigned int *reader, ga_frame *f, const maker *m,
                     unsigned int step, unsigned int last, unsigned int nd,
                     const size_t *dims) {
  const ga_step *other = &f->plan->graph.steps[last];
  if (!run_views(f, other) ||
      !has_shape(f, other, f->plan->graph.steps[step].outs[0], nd, dims))
    return GA_NO_ERROR;
  const int status = run_both(f, m, step, last, nd, dims);
  if (status == GA_DEVSUP_ERROR) {
    GpuArray_clear(&f->arrays[other->outs[0]]);
    return GA_NO_ERROR;
  }
  *reader = last;
  return status;
}

static int map_product(unsigned int *reader, ga_frame *f, unsigned int step,
                       unsigned int last) {
  ga_product product;
  size_t dims[2];
  if (!describe(&product, f, &f->plan->graph.steps[step], dims) ||
      !ga__product_is_mapped(&product))
    return GA_NO_ERROR;
  return map_steps(reader, f, &(maker){.product = &product}, step, last, 2, dims);
}

static int map_routine(unsigned int *reader, ga_frame *f, unsigned int step,
                       unsigned int last) {
  const ga_step *s = &f->plan->graph.steps[step];
  const ga_mappable *mappable = ga__routine_mappable(s->routine->row);
  ga_step_lists lists;
  ga_routine_call call;
  unsigned int nd;
  size_t dims[GA_MAX_NDIM];
  int status = ga__step_lists_open(&lists, f, s);
  if (status == GA_NO_ERROR) {
    call = ga__routine_call_of(f, s, &lists);
    if (mappable->shape(&nd, dims, &call) == GA_NO_ERROR)
      status = map_steps(reader, f, &(maker){.mappable = mappable, .call = &call}, step,
                         last, nd, dims);
  }
  ga__step_lists_close(&lists);
  return status;
}

int ga__step_mapped(unsigned int *reader, ga_frame *f, unsigned int step) {
  *reader = 0;
  const unsigned int last = f->plan->context->info.is_cpu ? 0 : find_reader(f, step);
  if (last == 0)
    return GA_NO_ERROR;
  return f->plan->graph.steps[step].kind == GA_STEP_GEMM
             ? map_product(reader, f, step, last)
             : map_routine(reader, f, step, last);
}
