/* Plans: adding values and steps. */
#include "c/plan.h"

#include <string.h>

#include "c/blas.h"
#include "c/elemwise.h"
#include "c/reduce_source.h"
#include "c/reduction.h"

/* Room for one more element; `count` is an unsigned int. */
static int grow(void **list, unsigned int *capacity, unsigned int count, size_t size) {
  if (count < *capacity)
    return GA_NO_ERROR;
  unsigned int wanted = *capacity == 0 ? 8 : *capacity * 2;
  void *bigger = ga__realloc(*list, wanted, size);
  if (bigger == NULL)
    return GA_MEMORY_ERROR;
  *list = bigger;
  *capacity = wanted;
  return GA_NO_ERROR;
}

int GpuPlan_new(GpuPlan **res, gpucontext *ctx, const char *name) {
  if (res == NULL || ctx == NULL || name == NULL)
    return GA_FAIL(GA_VALUE_ERROR,
                   "plan: needs a place, a context and a name; got NULL");
  GA_TRY(ga__context_check(ctx));
  GpuPlan *p = ga__alloc(1, sizeof *p);
  if (p == NULL)
    return GA_MEMORY_ERROR;
  p->name = ga__strdup(name);
  if (p->name == NULL) {
    ga__free(p);
    return GA_MEMORY_ERROR;
  }
  p->context = ctx;
  gpucontext_retain(ctx);
  pthread_mutex_init(&p->lock, NULL);
  *res = p;
  return GA_NO_ERROR;
}

static void clear_step(ga_step *s) {
  GpuElemwise_free(s->elemwise);
  GpuReduction_free(s->reduction);
  ga__free(s->label);
  ga__free(s->ins);
  ga__free(s->outs);
  ga__free(s->stretch);
  ga__free(s->inplace);
}

void GpuPlan_free(GpuPlan *p) {
  if (p == NULL)
    return;
  while (p->bound != NULL) {
    ga_bound *next = p->bound->next;
    ga__bound_free(p->bound);
    p->bound = next;
  }
  for (unsigned int i = 0; i < p->n_steps; i++)
    clear_step(&p->steps[i]);
  for (unsigned int i = 0; i < p->n_values; i++)
    GpuArray_clear(&p->values[i].constant);
  ga__free(p->values);
  ga__free(p->steps);
  ga__free(p->inputs);
  ga__free(p->outputs);
  ga__free(p->destroyed);
  ga__free(p->signature);
  ga__free(p->name);
  pthread_mutex_destroy(&p->lock);
  gpucontext_deref(p->context);
  ga__free(p);
}

static int new_value(unsigned int *number, GpuPlan *p, ga_value value) {
  GA_TRY(grow((void **)&p->values, &p->value_capacity, p->n_values, sizeof *p->values));
  p->values[p->n_values] = value;
  *number = p->n_values++;
  return GA_NO_ERROR;
}

static ga_value array_value(int typecode, unsigned int nd) {
  return (ga_value){.nd = nd, .typecode = typecode, .input = -1};
}

static const ga_value integer_value = {
    .integer = true, .typecode = GA_LONG, .input = -1};

/* How a step without a label is called. */
static const char *named(const char *label) {
  return label ? label : "step";
}

/* GA_VALUE_ERROR if one of the pointers is NULL: the plan, where its result goes,
 * what it is made of. */
static int check_given(const GpuPlan *p, const char *step, const void *place,
                       const void *parts) {
  if (p && place && parts)
    return GA_NO_ERROR;
  return GA_FAIL(GA_VALUE_ERROR, "plan %s, %s: %s is NULL", p ? p->name : "?",
                 named(step),
                 !p       ? "the plan"
                 : !place ? "the place for the result"
                          : "an argument");
}

/* GA_INVALID_ERROR unless `value` is a number handed out, of the wanted sort. */
static int check_value(const GpuPlan *p, const char *step, unsigned int value,
                       bool integer) {
  if (value >= p->n_values)
    return GA_FAIL(GA_INVALID_ERROR, "plan %s, %s: there is no value %u (of %u)",
                   p->name, named(step), value, p->n_values);
  if (p->values[value].integer != integer)
    return GA_FAIL(GA_INVALID_ERROR, "plan %s, %s: value %u is %s, expected %s",
                   p->name, named(step), value, integer ? "an array" : "a host integer",
                   integer ? "a host integer" : "an array");
  return GA_NO_ERROR;
}

static int check_rank(const GpuPlan *p, const char *step, unsigned int value,
                      unsigned int nd) {
  GA_TRY(check_value(p, step, value, false));
  if (p->values[value].nd != nd)
    return GA_FAIL(GA_VALUE_ERROR, "plan %s, %s: value %u has %u axes, expected %u",
                   p->name, named(step), value, p->values[value].nd, nd);
  return GA_NO_ERROR;
}

static int check_axes(const GpuPlan *p, const char *step, unsigned int nd) {
  if (nd <= GA_MAX_NDIM)
    return GA_NO_ERROR;
  return GA_FAIL(GA_VALUE_ERROR, "plan %s, %s: %u axes; an array has at most %d",
                 p->name, named(step), nd, GA_MAX_NDIM);
}

int GpuPlan_input(GpuPlan *p, unsigned int *value, int typecode, unsigned int nd,
                  unsigned int broadcastable) {
  GA_TRY(check_given(p, "input", value, value));
  GA_TRY(check_axes(p, "input", nd));
  GA_TRY(ga__dtype_check(typecode, "plan input"));
  GA_TRY(grow((void **)&p->inputs, &p->input_capacity, p->n_inputs, sizeof *p->inputs));
  ga_value v = array_value(typecode, nd);
  v.broadcastable = broadcastable;
  v.input = (int)p->n_inputs;
  GA_TRY(new_value(value, p, v));
  p->inputs[p->n_inputs++] = *value;
  p->signature_length += 1 + 2 * (size_t)nd;
  return GA_NO_ERROR;
}

int GpuPlan_constant(GpuPlan *p, unsigned int *value, const GpuArray *a) {
  GA_TRY(check_given(p, "constant", value, a));
  ga_value v = array_value(a->typecode, a->nd);
  GA_TRY(GpuArray_view(&v.constant, a));
  int status = new_value(value, p, v);
  if (status != GA_NO_ERROR)
    GpuArray_clear(&v.constant);
  return status;
}

/* Adds `s` with copies of its label and inputs, and one output value for each of
 * `results`. The plan takes what `s` owns, also on failure. */
static int add_step(GpuPlan *p, ga_step s, const char *label, unsigned int n_in,
                    const unsigned int *ins, unsigned int n_out,
                    const ga_value *results, unsigned int *outs) {
  s.n_in = n_in;
  s.n_out = n_out;
  s.label = ga__strdup(label == NULL ? "step" : label);
  s.ins = ga__alloc(n_in + 1, sizeof *s.ins);
  s.outs = ga__alloc(n_out + 1, sizeof *s.outs);
  int status = s.label == NULL || s.ins == NULL || s.outs == NULL ? GA_MEMORY_ERROR
                                                                  : GA_NO_ERROR;
  if (status == GA_NO_ERROR)
    status = grow((void **)&p->steps, &p->step_capacity, p->n_steps, sizeof *p->steps);
  for (unsigned int i = 0; status == GA_NO_ERROR && i < n_out; i++)
    status = new_value(&s.outs[i], p, results[i]);
  if (status != GA_NO_ERROR) {
    clear_step(&s);
    return status;
  }
  for (unsigned int i = 0; i < n_in; i++) {
    s.ins[i] = ins[i];
    if (p->values[ins[i]].last_use < p->n_steps)
      p->values[ins[i]].last_use = p->n_steps;
  }
  for (unsigned int i = 0; i < n_out; i++) {
    p->values[s.outs[i]].last_use = p->n_steps;
    outs[i] = s.outs[i];
  }
  p->steps[p->n_steps++] = s;
  return GA_NO_ERROR;
}

int GpuPlan_int(GpuPlan *p, unsigned int *value, long long x) {
  GA_TRY(check_given(p, "integer", value, value));
  ga_step s = {.kind = GA_STEP_INT, .integer = x};
  return add_step(p, s, "integer", 0, NULL, 1, &integer_value, value);
}

int GpuPlan_dim(GpuPlan *p, unsigned int *value, unsigned int array,
                unsigned int axis) {
  GA_TRY(check_given(p, "dim", value, value));
  GA_TRY(check_value(p, "dim", array, false));
  if (axis >= p->values[array].nd)
    return GA_FAIL(GA_VALUE_ERROR, "plan %s, dim: axis %u of an array of %u axes",
                   p->name, axis, p->values[array].nd);
  ga_step s = {.kind = GA_STEP_DIM, .op = (int)axis};
  return add_step(p, s, "dim", 1, &array, 1, &integer_value, value);
}

int GpuPlan_int_op(GpuPlan *p, unsigned int *value, int op, unsigned int a,
                   unsigned int b) {
  GA_TRY(check_given(p, "int_op", value, value));
  GA_TRY(check_value(p, "int_op", a, true));
  GA_TRY(check_value(p, "int_op", b, true));
  if (op < GP_INT_ADD || op > GP_INT_MIN)
    return GA_FAIL(GA_INVALID_ERROR, "plan %s, int_op: there is no operation %d",
                   p->name, op);
  ga_step s = {.kind = GA_STEP_INT_OP, .op = op};
  return add_step(p, s, "integer", 2, (unsigned int[]){a, b}, 1, &integer_value, value);
}

/* Zeros where there is no list. */
static unsigned int *copy_list(const unsigned int *list, unsigned int n) {
  unsigned int *copy = ga__alloc(n + 1, sizeof *copy);
  if (copy != NULL && list != NULL && n > 0)
    memcpy(copy, list, n * sizeof *copy);
  return copy;
}

/* The rank that `n` inputs broadcast to; host integers count as scalars. */
static unsigned int joint_rank(const GpuPlan *p, unsigned int n,
                               const unsigned int *ins) {
  unsigned int nd = 0;
  for (unsigned int i = 0; i < n; i++) {
    const ga_value *v = &p->values[ins[i]];
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
  GA_TRY(check_given(p, step->label, step, step->expr));
  GA_TRY(check_given(p, step->label, step, step->n_out ? step->out_args : NULL));
  if (step->n_in > 0)
    GA_TRY(check_given(p, step->label, step->in_args, step->ins));
  for (unsigned int i = 0; i < step->n_in; i++)
    GA_TRY(check_value(p, step->label, step->ins[i],
                       (step->in_args[i].flags & GE_SCALAR) != 0));
  for (unsigned int i = 0; i < step->n_out; i++) {
    int over = step->inplace ? step->inplace[i] : -1;
    if (over >= (int)step->n_in)
      return GA_FAIL(GA_INVALID_ERROR,
                     "plan %s, %s: output %u in place of input %d of %u", p->name,
                     named(step->label), i, over, step->n_in);
    if (over >= 0 && step->in_args[over].typecode != step->out_args[i].typecode)
      return GA_FAIL(GA_INVALID_ERROR,
                     "plan %s, %s: output %u is %s and cannot take over %s memory",
                     p->name, named(step->label), i,
                     ga__dtype_name(step->out_args[i].typecode),
                     ga__dtype_name(step->in_args[over].typecode));
  }
  return GA_NO_ERROR;
}

int GpuPlan_elemwise(GpuPlan *p, unsigned int *outs, const gpuplan_elemwise *step) {
  GA_TRY(check_given(p, "elementwise", outs, step));
  GA_TRY(check_elemwise(p, step));
  unsigned int n = step->n_out + step->n_in;
  unsigned int nd = joint_rank(p, step->n_in, step->ins);
  gpuelemwise_arg *args = ga__alloc(n, sizeof *args);
  ga_value *results = ga__alloc(step->n_out, sizeof *results);
  ga_step s = {.kind = GA_STEP_ELEMWISE,
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
      results[i] = array_value(step->out_args[i].typecode, nd);
    status = ga__elemwise_new(&s.elemwise, p->context, step->preamble, step->expr, n,
                              args, GE_CONVERT_F16, false);
  }
  if (status == GA_NO_ERROR)
    status =
        add_step(p, s, step->label, step->n_in, step->ins, step->n_out, results, outs);
  else
    clear_step(&s);
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
  GA_TRY(check_given(p, label, outs, spec));
  if (spec->n > 0)
    GA_TRY(check_given(p, label, ins, spec->inputs));
  for (unsigned int i = 0; i < spec->n; i++)
    GA_TRY(check_value(p, label, ins[i], (spec->inputs[i].flags & GE_SCALAR) != 0));
  unsigned int nd = joint_rank(p, spec->n, ins);
  if (nd < GA_MAX_NDIM && axes >> nd != 0)
    return GA_FAIL(GA_VALUE_ERROR, "plan %s, %s: axes %#x of an array of %u axes",
                   p->name, named(label), axes, nd);
  int status = GA_NO_ERROR;
  ga_step s = {.kind = GA_STEP_REDUCE, .axes = axes};
  s.reduction = GpuReduction_new(p->context, spec, &status);
  if (s.reduction == NULL)
    return status;
  s.stretch = copy_list(stretch, spec->n);
  if (s.stretch == NULL) {
    clear_step(&s);
    return GA_MEMORY_ERROR;
  }
  ga_value results[GA_REDUCE_VALUES];
  gpureduction_spec whole; /* an older caller's `spec` may be shorter */
  ga__reduction_spec(&whole, s.reduction);
  unsigned int n_results = GpuReduction_results(s.reduction);
  for (unsigned int i = 0; i < n_results; i++)
    results[i] =
        array_value(whole.n_results ? whole.results[i].typecode : whole.out_typecode,
                    nd - bits(axes));
  return add_step(p, s, label, whole.n, ins, n_results, results, outs);
}

/* The part that gemv and gemm share; `rank` is that of the second factor and the
 * result. */
static int add_product(GpuPlan *p, unsigned int *out, const char *label, ga_step s,
                       unsigned int rank, unsigned int a, unsigned int b,
                       unsigned int c, int inplace) {
  unsigned int ins[3] = {a, b, c};
  unsigned int n_in = s.beta == 0.0 ? 2 : 3;
  GA_TRY(check_given(p, label, out, out));
  GA_TRY(check_rank(p, label, a, 2));
  for (unsigned int i = 1; i < n_in; i++)
    GA_TRY(check_rank(p, label, ins[i], rank));
  s.inplace = ga__alloc(1, sizeof *s.inplace);
  if (s.inplace == NULL)
    return GA_MEMORY_ERROR;
  s.inplace[0] = n_in == 3 && inplace ? 2 : -1;
  ga_value result = array_value(p->values[a].typecode, rank);
  return add_step(p, s, label, n_in, ins, 1, &result, out);
}

int GpuPlan_gemv(GpuPlan *p, unsigned int *out, const char *label, double alpha,
                 unsigned int a, cb_transpose trans_a, unsigned int x, double beta,
                 unsigned int c, int inplace) {
  ga_step s = {.kind = GA_STEP_GEMV, .alpha = alpha, .beta = beta, .ta = trans_a};
  return add_product(p, out, label, s, 1, a, x, c, inplace);
}

int GpuPlan_gemm(GpuPlan *p, unsigned int *out, const char *label, double alpha,
                 unsigned int a, cb_transpose trans_a, unsigned int b,
                 cb_transpose trans_b, double beta, unsigned int c, int inplace) {
  ga_step s = {
      .kind = GA_STEP_GEMM, .alpha = alpha, .beta = beta, .ta = trans_a, .tb = trans_b};
  return add_product(p, out, label, s, 2, a, b, c, inplace);
}

int GpuPlan_dimshuffle(GpuPlan *p, unsigned int *out, const char *label, unsigned int a,
                       unsigned int nd, const int *pattern) {
  GA_TRY(check_given(p, label, out, nd > 0 ? (const void *)pattern : out));
  GA_TRY(check_value(p, label, a, false));
  GA_TRY(check_axes(p, label, nd));
  ga_step s = {.kind = GA_STEP_DIMSHUFFLE, .nd = nd};
  if (nd > 0)
    memcpy(s.pattern, pattern, nd * sizeof *pattern);
  ga_value result = array_value(p->values[a].typecode, nd);
  return add_step(p, s, label, 1, &a, 1, &result, out);
}

/* reshape and broadcast: the array, then the host integers of its new shape. */
static int add_shaped(GpuPlan *p, unsigned int *out, const char *label,
                      enum ga_step_kind kind, unsigned int a, unsigned int nd,
                      const unsigned int *dims) {
  unsigned int ins[GA_MAX_NDIM + 1] = {a};
  GA_TRY(check_given(p, label, out, nd > 0 ? dims : out));
  GA_TRY(check_value(p, label, a, false));
  GA_TRY(check_axes(p, label, nd));
  for (unsigned int i = 0; i < nd; i++) {
    GA_TRY(check_value(p, label, dims[i], true));
    ins[i + 1] = dims[i];
  }
  ga_step s = {.kind = kind, .nd = nd};
  ga_value result = array_value(p->values[a].typecode, nd);
  return add_step(p, s, label, nd + 1, ins, 1, &result, out);
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
  GA_TRY(check_given(p, label, out, out));
  GA_TRY(check_value(p, label, a, false));
  ga_value result = array_value(p->values[a].typecode, p->values[a].nd);
  return add_step(p, (ga_step){.kind = GA_STEP_COPY}, label, 1, &a, 1, &result, out);
}

int GpuPlan_output(GpuPlan *p, unsigned int value) {
  GA_TRY(check_given(p, "output", p, p));
  GA_TRY(check_value(p, "output", value, false));
  GA_TRY(grow((void **)&p->outputs, &p->output_capacity, p->n_outputs,
              sizeof *p->outputs));
  p->outputs[p->n_outputs++] = value;
  return GA_NO_ERROR;
}

/* Inputs of an elementwise step that have one element whatever the shapes are. */
static unsigned int scalar_inputs(const GpuPlan *p, const ga_step *s) {
  unsigned int mask = 0;
  for (unsigned int i = 0; i < s->n_in && i < 32; i++) {
    const ga_value *v = &p->values[s->ins[i]];
    unsigned int all = v->nd >= 32 ? ~0u : (1u << v->nd) - 1;
    if (!v->integer && (s->stretch[i] & all) == all)
      mask |= 1u << i;
  }
  return mask;
}

/* The sources of the kernels a step may launch. */
static int step_sources(ga_source *out, unsigned int *n, const GpuPlan *p,
                        const ga_step *s) {
  *n = 0;
  switch (s->kind) {
  case GA_STEP_ELEMWISE:
    return ga__elemwise_sources(out, n, s->elemwise, joint_rank(p, s->n_in, s->ins),
                                scalar_inputs(p, s));
  case GA_STEP_REDUCE:
    return ga__reduction_sources(out, n, s->reduction, joint_rank(p, s->n_in, s->ins),
                                 s->axes);
  case GA_STEP_GEMV:
  case GA_STEP_GEMM:
    return ga__blas_sources(out, n, p->context, p->values[s->ins[0]].typecode,
                            s->kind == GA_STEP_GEMM);
  default:
    return GA_NO_ERROR;
  }
}

#define STEP_SOURCES 6 /* the most that one step has */

int GpuPlan_prepare(GpuPlan *p) {
  GA_TRY(check_given(p, "prepare", p, p));
  size_t room = (size_t)p->n_steps * STEP_SOURCES + 1;
  ga_source *sources = ga__alloc(room, sizeof *sources);
  const ga_source **list = ga__alloc(room, sizeof *list);
  int status = sources == NULL || list == NULL ? GA_MEMORY_ERROR : GA_NO_ERROR;
  unsigned int total = 0;
  for (unsigned int i = 0; status == GA_NO_ERROR && i < p->n_steps; i++) {
    unsigned int n = 0;
    status = step_sources(sources + total, &n, p, &p->steps[i]);
    total += n;
  }
  for (unsigned int i = 0; i < total; i++)
    list[i] = &sources[i];
  if (status == GA_NO_ERROR && total > 0)
    status = ga__kernel_prepare(p->context, total, list);
  for (unsigned int i = 0; i < total; i++)
    ga__strbuf_clear(&sources[i].body);
  ga__free(sources);
  ga__free(list);
  return status;
}

int GpuPlan_info(GpuPlan *p, gpuplan_info *res) {
  if (p == NULL || res == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "plan info: needs a plan and a place; got NULL");
  pthread_mutex_lock(&p->lock);
  *res = p->info;
  res->n_inputs = p->n_inputs;
  res->n_outputs = p->n_outputs;
  res->n_steps = p->n_steps;
  pthread_mutex_unlock(&p->lock);
  return GA_NO_ERROR;
}

int GpuPlan_input_type(GpuPlan *p, unsigned int i, int *typecode, unsigned int *nd,
                       unsigned int *broadcastable) {
  if (p == NULL || i >= p->n_inputs)
    return GA_FAIL(GA_VALUE_ERROR, "plan %s: there is no input %u (of %u)",
                   p ? p->name : "NULL", i, p ? p->n_inputs : 0);
  const ga_value *v = &p->values[p->inputs[i]];
  if (typecode)
    *typecode = v->typecode;
  if (nd)
    *nd = v->nd;
  if (broadcastable)
    *broadcastable = v->broadcastable;
  return GA_NO_ERROR;
}

int GpuPlan_output_type(GpuPlan *p, unsigned int i, int *typecode, unsigned int *nd) {
  if (p == NULL || i >= p->n_outputs)
    return GA_FAIL(GA_VALUE_ERROR, "plan %s: there is no output %u (of %u)",
                   p ? p->name : "NULL", i, p ? p->n_outputs : 0);
  const ga_value *v = &p->values[p->outputs[i]];
  if (typecode)
    *typecode = v->typecode;
  if (nd)
    *nd = v->nd;
  return GA_NO_ERROR;
}
