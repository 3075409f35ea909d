/* Plans: adding compute steps and views. */
#include <string.h>

#include "c/elemwise/elemwise_private.h"
#include "c/plan/plan_state.h"
#include "c/reduce/reduce_kernel.h"
#include "c/reduce/reduction.h"

static int check_rank(const GpuPlan *p, const char *step, unsigned int value,
                      unsigned int nd) {
  GA_TRY(ga__plan_check_value(p, step, value, false));
  if (p->graph.values[value].nd != nd)
    return GA_FAIL(GA_VALUE_ERROR, "plan %s, %s: value %u has %u axes, expected %u",
                   p->name, ga__plan_label(step), value, p->graph.values[value].nd, nd);
  return GA_NO_ERROR;
}

/* A copy; zeros if `list` is NULL. */
static unsigned int *copy_list(const unsigned int *list, unsigned int n) {
  unsigned int *copy = ga__alloc(n + 1, sizeof *copy);
  if (copy != NULL && list != NULL && n > 0)
    memcpy(copy, list, n * sizeof *copy);
  return copy;
}

unsigned int ga__plan_joint_rank(const ga_plan_graph *g, unsigned int n,
                                 const unsigned int *ins) {
  unsigned int nd = 0;
  for (unsigned int i = 0; i < n; i++) {
    const ga_value *v = &g->values[ins[i]];
    if (!v->integer && v->nd > nd)
      nd = v->nd;
  }
  return nd;
}

static int check_elemwise(const GpuPlan *p, const gpuplan_elemwise *step) {
  if (step->size != sizeof *step)
    return GA_FAIL(GA_INVALID_ERROR,
                   "plan %s: gpuplan_elemwise.size is %zu, expected %zu: compile "
                   "against this library's headers",
                   p->name, step->size, sizeof *step);
  GA_TRY(ga__plan_check_given(p, step->label, step, step->expr));
  GA_TRY(
      ga__plan_check_given(p, step->label, step, step->n_out ? step->out_args : NULL));
  if (step->n_in > 0)
    GA_TRY(ga__plan_check_given(p, step->label, step->in_args, step->ins));
  for (unsigned int i = 0; i < step->n_in; i++) {
    const gpuelemwise_arg *arg = &step->in_args[i];
    const bool is_integer = (arg->flags & GE_SCALAR) != 0;
    GA_TRY(ga__plan_check_value(p, step->label, step->ins[i], is_integer));
    const int typecode = p->graph.values[step->ins[i]].typecode;
    if (!is_integer && !(arg->flags & GE_INDEX) && typecode != arg->typecode)
      return GA_FAIL(GA_INVALID_ERROR, "plan %s, %s: '%s' is %s, expected %s", p->name,
                     ga__plan_label(step->label), arg->name, ga__dtype_name(typecode),
                     ga__dtype_name(arg->typecode));
  }
  for (unsigned int i = 0; i < step->n_out; i++) {
    int over = step->inplace ? step->inplace[i] : -1;
    if (over >= (int)step->n_in)
      return GA_FAIL(
          GA_INVALID_ERROR,
          "plan %s, %s: output %u is to overwrite input %d, but there are %u inputs",
          p->name, ga__plan_label(step->label), i, over, step->n_in);
    if (over >= 0 && step->in_args[over].typecode != step->out_args[i].typecode)
      return GA_FAIL(GA_INVALID_ERROR,
                     "plan %s, %s: output %u is %s and cannot overwrite an input of %s",
                     p->name, ga__plan_label(step->label), i,
                     ga__dtype_name(step->out_args[i].typecode),
                     ga__dtype_name(step->in_args[over].typecode));
  }
  return GA_NO_ERROR;
}

int GpuPlan_elemwise(GpuPlan *p, unsigned int *outs, const gpuplan_elemwise *step) {
  GA_TRY(ga__plan_check_given(p, "elementwise", outs, step));
  GA_TRY(check_elemwise(p, step));
  unsigned int n = step->n_out + step->n_in;
  unsigned int nd = ga__plan_joint_rank(&p->graph, step->n_in, step->ins);
  gpuelemwise_arg *args = ga__alloc(n, sizeof *args);
  ga_value *results = ga__alloc(step->n_out, sizeof *results);
  ga_step s = {.kind = GA_STEP_ELEMWISE,
               .run = ga__step_run_plain,
               .stretch = copy_list(step->stretch, step->n_in),
               .inplace = ga__alloc(step->n_out, sizeof *s.inplace)};
  int status = GA_MEMORY_ERROR;
  if (args != NULL && results != NULL && s.stretch != NULL && s.inplace != NULL) {
    memcpy(args, step->out_args, step->n_out * sizeof *args);
    if (step->n_in > 0)
      memcpy(args + step->n_out, step->in_args, step->n_in * sizeof *args);
    for (unsigned int i = 0; i < step->n_out; i++)
      s.inplace[i] = step->inplace ? step->inplace[i] : -1;
    for (unsigned int i = 0; i < step->n_out; i++)
      results[i] = ga__plan_array(step->out_args[i].typecode, nd);
    status = ga__elemwise_new(&s.elemwise, ga__plan_here(p), step->preamble, step->expr,
                              n, args, GE_CONVERT_F16, false);
  }
  if (status == GA_NO_ERROR)
    status = ga__plan_add_step(p, s, step->label, step->n_in, step->ins, step->n_out,
                               results, outs);
  else
    ga__plan_clear_step(&s);
  ga__free(args);
  ga__free(results);
  return status;
}

static unsigned int bits(unsigned int mask) {
  unsigned int n = 0;
  for (; mask != 0; mask &= mask - 1)
    n++;
  return n;
}

int GpuPlan_reduce(GpuPlan *p, unsigned int *outs, const char *label,
                   const gpureduction_spec *spec, const unsigned int *ins,
                   const unsigned int *stretch, unsigned int axes) {
  GA_TRY(ga__plan_check_given(p, label, outs, spec));
  if (spec->n > 0)
    GA_TRY(ga__plan_check_given(p, label, ins, spec->inputs));
  for (unsigned int i = 0; i < spec->n; i++)
    GA_TRY(ga__plan_check_value(p, label, ins[i],
                                (spec->inputs[i].flags & GE_SCALAR) != 0));
  unsigned int nd = ga__plan_joint_rank(&p->graph, spec->n, ins);
  if (nd < GA_MAX_NDIM && axes >> nd != 0)
    return GA_FAIL(
        GA_VALUE_ERROR,
        "plan %s, %s: the mask of axes, %#x, is out of range for an array of %u axes",
        p->name, ga__plan_label(label), axes, nd);
  int status = GA_NO_ERROR;
  ga_step s = {.kind = GA_STEP_REDUCE, .run = ga__step_run_plain, .axes = axes};
  s.reduction = GpuReduction_new(ga__plan_here(p), spec, &status);
  if (s.reduction == NULL)
    return status;
  s.stretch = copy_list(stretch, spec->n);
  if (s.stretch == NULL) {
    ga__plan_clear_step(&s);
    return GA_MEMORY_ERROR;
  }
  ga_value results[GA_REDUCE_VALUES];
  gpureduction_spec whole; /* an older caller's `spec` is shorter */
  ga__reduction_spec(&whole, s.reduction);
  unsigned int n_results = GpuReduction_results(s.reduction);
  for (unsigned int i = 0; i < n_results; i++)
    results[i] =
        ga__plan_array(whole.n_results ? whole.results[i].typecode : whole.out_typecode,
                       nd - bits(axes));
  return ga__plan_add_step(p, s, label, whole.n, ins, n_results, results, outs);
}

/* Common part of gemv and gemm; `rank` of the second factor and the result. */
static int add_product(GpuPlan *p, unsigned int *out, const char *label, ga_step s,
                       unsigned int rank, unsigned int a, unsigned int b,
                       unsigned int c, int inplace) {
  unsigned int ins[3] = {a, b, c};
  unsigned int n_in = s.beta == 0.0 ? 2 : 3;
  GA_TRY(ga__plan_check_given(p, label, out, out));
  GA_TRY(check_rank(p, label, a, 2));
  for (unsigned int i = 1; i < n_in; i++)
    GA_TRY(check_rank(p, label, ins[i], rank));
  s.inplace = ga__alloc(1, sizeof *s.inplace);
  GA_TRY_MEMORY(s.inplace);
  s.inplace[0] = n_in == 3 && inplace ? 2 : -1;
  ga_value result = ga__plan_array(p->graph.values[a].typecode, rank);
  return ga__plan_add_step(p, s, label, n_in, ins, 1, &result, out);
}

int GpuPlan_gemv(GpuPlan *p, unsigned int *out, const char *label, double alpha,
                 unsigned int a, cb_transpose trans_a, unsigned int x, double beta,
                 unsigned int c, int inplace) {
  ga_step s = {.kind = GA_STEP_GEMV,
               .run = ga__step_run_plain,
               .alpha = alpha,
               .beta = beta,
               .ta = trans_a};
  return add_product(p, out, label, s, 1, a, x, c, inplace);
}

int GpuPlan_gemm(GpuPlan *p, unsigned int *out, const char *label, double alpha,
                 unsigned int a, cb_transpose trans_a, unsigned int b,
                 cb_transpose trans_b, double beta, unsigned int c, int inplace) {
  ga_step s = {.kind = GA_STEP_GEMM,
               .run = ga__step_run_plain,
               .alpha = alpha,
               .beta = beta,
               .ta = trans_a,
               .tb = trans_b};
  return add_product(p, out, label, s, 2, a, b, c, inplace);
}

int GpuPlan_dimshuffle(GpuPlan *p, unsigned int *out, const char *label, unsigned int a,
                       unsigned int nd, const int *pattern) {
  GA_TRY(ga__plan_check_given(p, label, out, nd > 0 ? (const void *)pattern : out));
  GA_TRY(ga__plan_check_value(p, label, a, false));
  GA_TRY(ga__plan_check_axes(p, label, nd));
  ga_step s = {.kind = GA_STEP_DIMSHUFFLE, .run = ga__step_run_plain, .nd = nd};
  if (nd > 0)
    memcpy(s.pattern, pattern, nd * sizeof *pattern);
  ga_value result = ga__plan_array(p->graph.values[a].typecode, nd);
  return ga__plan_add_step(p, s, label, 1, &a, 1, &result, out);
}

/* reshape and broadcast: inputs are the array, then the new shape's integers. */
static int add_shaped(GpuPlan *p, unsigned int *out, const char *label,
                      enum ga_step_kind kind, unsigned int a, unsigned int nd,
                      const unsigned int *dims) {
  unsigned int ins[GA_MAX_NDIM + 1] = {a};
  GA_TRY(ga__plan_check_given(p, label, out, nd > 0 ? dims : out));
  GA_TRY(ga__plan_check_value(p, label, a, false));
  GA_TRY(ga__plan_check_axes(p, label, nd));
  for (unsigned int i = 0; i < nd; i++) {
    GA_TRY(ga__plan_check_value(p, label, dims[i], true));
    ins[i + 1] = dims[i];
  }
  ga_step s = {.kind = kind, .run = ga__step_run_plain, .nd = nd};
  ga_value result = ga__plan_array(p->graph.values[a].typecode, nd);
  return ga__plan_add_step(p, s, label, nd + 1, ins, 1, &result, out);
}

int GpuPlan_reshape(GpuPlan *p, unsigned int *out, const char *label, unsigned int a,
                    unsigned int nd, const unsigned int *dims) {
  return add_shaped(p, out, label, GA_STEP_RESHAPE, a, nd, dims);
}

int GpuPlan_broadcast(GpuPlan *p, unsigned int *out, const char *label, unsigned int a,
                      unsigned int nd, const unsigned int *dims) {
  return add_shaped(p, out, label, GA_STEP_BROADCAST, a, nd, dims);
}

int GpuPlan_copy(GpuPlan *p, unsigned int *out, const char *label, unsigned int a) {
  GA_TRY(ga__plan_check_given(p, label, out, out));
  GA_TRY(ga__plan_check_value(p, label, a, false));
  ga_value result = ga__plan_array(p->graph.values[a].typecode, p->graph.values[a].nd);
  return ga__plan_add_step(p,
                           (ga_step){.kind = GA_STEP_COPY, .run = ga__step_run_plain},
                           label, 1, &a, 1, &result, out);
}

int GpuPlan_reports(GpuPlan *p, unsigned int *out, const char *label) {
  GA_TRY(ga__plan_check_given(p, label, out, out));
  ga_value result = ga__plan_array(GA_UINT, 0);
  return ga__plan_add_step(
      p, (ga_step){.kind = GA_STEP_REPORTS, .run = ga__step_run_plain}, label, 0, NULL,
      1, &result, out);
}

int GpuPlan_confirm(GpuPlan *p) {
  GA_TRY(ga__plan_check_given(p, "confirm", p, p));
  p->settings.confirms = true;
  return GA_NO_ERROR;
}

int GpuPlan_function(GpuPlan *p, unsigned int *outs, const char *label,
                     gpuplan_function function, void *data, unsigned int n_in,
                     const unsigned int *ins, unsigned int n_out,
                     const gpuplan_type *results, const int *inplace) {
  GA_TRY(ga__plan_check_given(p, label, outs, results));
  if (n_in > 0 && ins == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "plan %s, %s: the list of inputs is NULL", p->name,
                   ga__plan_label(label));
  for (unsigned int i = 0; i < n_in; i++)
    GA_TRY(ga__plan_check_value(p, label, ins[i],
                                ins[i] < p->graph.n_values &&
                                    p->graph.values[ins[i]].integer));
  for (unsigned int i = 0; i < n_out; i++) {
    GA_TRY(ga__plan_check_axes(p, label, results[i].nd));
    GA_TRY(ga__dtype_check(results[i].typecode, "plan function"));
    if (inplace && inplace[i] >= (int)n_in)
      return GA_FAIL(
          GA_INVALID_ERROR,
          "plan %s, %s: output %u is to overwrite input %d, but there are %u inputs",
          p->name, ga__plan_label(label), i, inplace[i], n_in);
  }
  ga_step s = {.kind = GA_STEP_FUNCTION,
               .run = ga__function_run,
               .function = function,
               .data = data,
               .inplace = ga__alloc(n_out + 1, sizeof *s.inplace)};
  GA_TRY_MEMORY(s.inplace);
  for (unsigned int i = 0; i < n_out; i++)
    s.inplace[i] = inplace ? inplace[i] : -1;
  return ga__plan_add_typed(p, s, label, n_in, ins, n_out, results, outs);
}

/* ---- loops ---- */

static int check_loop_size(const GpuPlan *p, const gpuplan_loop *step) {
  if (step->size == sizeof *step)
    return GA_NO_ERROR;
  return GA_FAIL(
      GA_INVALID_ERROR,
      "plan %s: gpuplan_loop.size is %zu, expected %zu: compile against this "
      "library's headers",
      p->name, step->size, sizeof *step);
}

/* Checks that an input fits its letter. */
static int check_loop_input(const GpuPlan *p, const gpuplan_loop *step,
                            unsigned int i) {
  const char letter = step->takes[i];
  if (letter != GA_LOOP_ROWS && letter != GA_LOOP_SAMES && !ga__loop_carries(letter))
    return GA_FAIL(
        GA_VALUE_ERROR,
        "plan %s, %s: the letter of input %u is '%c', expected r, c, u, a, f, + or s",
        p->name, ga__plan_label(step->label), i, letter);
  const bool integer = letter == GA_LOOP_SAMES && step->ins[i] < p->graph.n_values &&
                       p->graph.values[step->ins[i]].integer;
  GA_TRY(ga__plan_check_value(p, step->label, step->ins[i], integer));
  const ga_value *v = &p->graph.values[step->ins[i]];
  if (letter == GA_LOOP_ROWS && v->nd == 0)
    return GA_FAIL(
        GA_VALUE_ERROR,
        "plan %s, %s: input %u is 0-d and has no rows, as the letter r needs", p->name,
        ga__plan_label(step->label), i);
  if (letter == GA_LOOP_UNTIL && (v->nd != 0 || v->typecode != GA_BOOL))
    return GA_FAIL(GA_VALUE_ERROR,
                   "plan %s, %s: input %u, which ends the loop, is %s of %u axes, "
                   "expected one bool",
                   p->name, ga__plan_label(step->label), i, ga__dtype_name(v->typecode),
                   v->nd);
  return GA_NO_ERROR;
}

/* The input of the n-th letter of a kind; the number of inputs: none. */
static unsigned int find_letter(const char *takes, char letter, unsigned int n) {
  unsigned int i = 0;
  while (takes[i] != '\0' && (takes[i] != letter || n-- > 0))
    i++;
  return i;
}

/* The n-th factor is that of the n-th affine state, and of its type. */
static int check_loop_factors(const GpuPlan *p, const gpuplan_loop *step) {
  for (unsigned int n = 0;; n++) {
    const unsigned int state = find_letter(step->takes, GA_LOOP_AFFINE, n);
    const unsigned int factor = find_letter(step->takes, GA_LOOP_FACTOR, n);
    if (state == step->n_in && factor == step->n_in)
      return GA_NO_ERROR;
    const ga_value *values = p->graph.values;
    const ga_value *a = state < step->n_in ? &values[step->ins[state]] : NULL;
    const ga_value *b = factor < step->n_in ? &values[step->ins[factor]] : NULL;
    if (a == NULL || b == NULL || a->typecode != b->typecode || a->nd != b->nd)
      return GA_FAIL(GA_VALUE_ERROR,
                     "plan %s, %s: affine state %u has no factor of its type, or the "
                     "other way round; give an f for each a",
                     p->name, ga__plan_label(step->label), n);
  }
}

/* Carried results come first, with the types of their initial values. */
static int check_loop_results(const GpuPlan *p, const gpuplan_loop *step) {
  unsigned int n = 0;
  if (step->n_out == 0)
    return GA_FAIL(GA_VALUE_ERROR,
                   "plan %s, %s: the loop has no results, expected at least one",
                   p->name, ga__plan_label(step->label));
  for (unsigned int i = 0; i < step->n_in; i++) {
    const ga_value *v = &p->graph.values[step->ins[i]];
    if (!ga__loop_carries(step->takes[i]))
      continue;
    if (n == step->n_out || step->results[n].typecode != v->typecode ||
        step->results[n].nd != v->nd)
      return GA_FAIL(
          GA_VALUE_ERROR,
          "plan %s, %s: input %u is carried, but result %u is missing or of another "
          "type; carried results come first, with the types of their inputs",
          p->name, ga__plan_label(step->label), i, n);
    n++;
  }
  for (; n < step->n_out; n++) {
    GA_TRY(ga__plan_check_axes(p, step->label, step->results[n].nd));
    GA_TRY(ga__dtype_check(step->results[n].typecode, "plan loop"));
    if (step->results[n].nd == 0)
      return GA_FAIL(
          GA_VALUE_ERROR,
          "plan %s, %s: result %u is 0-d, expected an axis for the iterations", p->name,
          ga__plan_label(step->label), n);
  }
  return GA_NO_ERROR;
}

static int check_loop(const GpuPlan *p, const gpuplan_loop *step) {
  GA_TRY(check_loop_size(p, step));
  GA_TRY(ga__plan_check_given(p, step->label, step->takes, step->results));
  if (step->n_in > 0)
    GA_TRY(ga__plan_check_given(p, step->label, step, step->ins));
  GA_TRY(ga__plan_check_value(p, step->label, step->turns, true));
  if (strlen(step->takes) != step->n_in)
    return GA_FAIL(
        GA_VALUE_ERROR,
        "plan %s, %s: got %u inputs, but `takes` has %zu letters; give one for each",
        p->name, ga__plan_label(step->label), step->n_in, strlen(step->takes));
  for (unsigned int i = 0; i < step->n_in; i++)
    GA_TRY(check_loop_input(p, step, i));
  GA_TRY(check_loop_factors(p, step));
  return check_loop_results(p, step);
}

int GpuPlan_loop(GpuPlan *p, unsigned int *outs, const gpuplan_loop *step) {
  GA_TRY(ga__plan_check_given(p, "loop", outs, step));
  GA_TRY(check_loop(p, step));
  unsigned int *ins = ga__alloc((size_t)step->n_in + 1, sizeof *ins);
  ga_step s = {
      .kind = GA_STEP_LOOP, .run = ga__loop_run, .takes = ga__strdup(step->takes)};
  int status = GA_MEMORY_ERROR;
  if (ins && s.takes) {
    ins[0] = step->turns;
    if (step->n_in > 0)
      memcpy(ins + 1, step->ins, step->n_in * sizeof *ins);
    status = ga__plan_add_typed(p, s, step->label, step->n_in + 1, ins, step->n_out,
                                step->results, outs);
  } else
    ga__plan_clear_step(&s);
  ga__free(ins);
  return status;
}
