/* A loop in one kernel: bodies of elementwise steps, where an element needs only itself
 * of what the iteration before made, and of reductions to one element.
 *
 * The axes of all values of the body are put into classes: axes along which steps go
 * together, and a state's axes with those of its next value. If a value has all the
 * classes, its axes are the loop's, and all else broadcasts along them. */
#include <string.h>

#include "c/array/array.h"
#include "c/base/shape.h"
#include "c/loop/loop.h"
#include "c/plan/plan_state.h"

#define NO_AXIS UINT32_MAX /* of length 1 */

typedef struct body_value {
  unsigned int nd;
  size_t dims[GA_MAX_NDIM];
  unsigned int axes[GA_MAX_NDIM]; /* classes, or NO_AXIS */
} body_value;

typedef struct analysis {
  ga_frame *f;
  const ga_step *s;
  const ga_plan_graph *g; /* the body's */
  body_value *values;
  ga_frame within;    /* of the body: host integers, and shapes of arrays */
  bool *is_known;     /* per value: the integer is the same in all iterations */
  unsigned int *root; /* per value: what it is a view of */
  unsigned int *parent, n_axes; /* the classes, as a forest */
  unsigned int leader;          /* the value whose axes are those of the loop */
  ga_loop loop;
  unsigned int n_carried;
  bool has_factors;
} analysis;

/* ---- steps ---- */

static bool is_plain(const ga_plan_graph *g, const ga_step *s) {
  if (s->n_when > 0)
    return false;
  if (ga__step_is_integer(s))
    return true;
  if (s->kind == GA_STEP_DIMSHUFFLE || s->kind == GA_STEP_COPY)
    return true;
  if (s->kind == GA_STEP_REDUCE)
    return g->values[s->outs[0]].nd == 0 && ga__loop_takes_reduction(s->reduction);
  if (s->kind != GA_STEP_ELEMWISE || s->elemwise->n_out != s->n_out)
    return false;
  return !ga__elemwise_has_index(s->elemwise);
}

bool ga__loop_is_elementwise(const GpuPlan *body) {
  for (unsigned int i = 0; i < body->graph.n_steps; i++)
    if (!is_plain(&body->graph, &body->graph.steps[i]))
      return false;
  return true;
}

/* ---- classes of axes ---- */

static unsigned int class_of(const analysis *a, unsigned int axis) {
  while (axis != NO_AXIS && a->parent[axis] != axis)
    axis = a->parent[axis];
  return axis;
}

static unsigned int new_class(analysis *a, size_t length) {
  if (length == 1)
    return NO_AXIS;
  a->parent[a->n_axes] = a->n_axes;
  return a->n_axes++;
}

static void join(analysis *a, unsigned int x, unsigned int y) {
  if (x != NO_AXIS && y != NO_AXIS)
    a->parent[class_of(a, x)] = class_of(a, y);
}

/* Joins the axes of two values of one shape; false: of other shapes. */
static bool join_equal(analysis *a, unsigned int x, unsigned int y) {
  const body_value *one = &a->values[x], *other = &a->values[y];
  if (one->nd != other->nd ||
      memcmp(one->dims, other->dims, one->nd * sizeof *one->dims) != 0)
    return false;
  for (unsigned int k = 0; k < one->nd; k++)
    join(a, one->axes[k], other->axes[k]);
  return true;
}

static void take_shape(analysis *a, unsigned int value, unsigned int nd,
                       const size_t *dims) {
  body_value *v = &a->values[value];
  v->nd = nd;
  for (unsigned int k = 0; k < nd; k++) {
    v->dims[k] = dims[k];
    v->axes[k] = new_class(a, dims[k]);
  }
}

/* Results have the inputs' shapes broadcast; false where axes may not stretch. */
static bool take_joint(analysis *a, const ga_step *s) {
  unsigned int nd = 0;
  size_t dims[GA_MAX_NDIM];
  for (unsigned int i = 0; i < s->n_in; i++)
    if (!a->g->values[s->ins[i]].integer &&
        ga__shape_broadcast(&nd, dims, a->values[s->ins[i]].nd,
                            a->values[s->ins[i]].dims) != GA_NO_ERROR)
      return false;
  for (unsigned int o = 0; o < s->n_out; o++)
    take_shape(a, s->outs[o], nd, dims);
  const body_value *first = &a->values[s->outs[0]];
  for (unsigned int i = 0; i < s->n_in; i++) {
    const body_value *v = &a->values[s->ins[i]];
    if (a->g->values[s->ins[i]].integer)
      continue;
    for (unsigned int k = 0; k < v->nd; k++) {
      const unsigned int at = nd - v->nd + k;
      if (v->dims[k] != dims[at] && !(s->stretch[i] >> k & 1u))
        return false;
      join(a, v->axes[k], first->axes[at]);
    }
  }
  for (unsigned int o = 1; o < s->n_out; o++)
    for (unsigned int k = 0; k < nd; k++)
      join(a, a->values[s->outs[o]].axes[k], first->axes[k]);
  return true;
}

/* A view, or a copy, has its input's axes in another order. */
static bool take_view(analysis *a, const ga_step *s) {
  const body_value *in = &a->values[s->ins[0]];
  body_value *out = &a->values[s->outs[0]];
  const bool copies = s->kind == GA_STEP_COPY;
  out->nd = copies ? in->nd : s->nd;
  for (unsigned int k = 0; k < out->nd; k++) {
    const int from = copies ? (int)k : s->pattern[k];
    out->dims[k] = from < 0 ? 1 : in->dims[from];
    out->axes[k] = from < 0 ? NO_AXIS : in->axes[from];
  }
  a->root[s->outs[0]] = a->root[s->ins[0]];
  return true;
}

/* Axes of length 1 that a view drops are none; others have one class each. */
static bool has_distinct_axes(const analysis *a, const body_value *v) {
  for (unsigned int k = 0; k < v->nd; k++)
    for (unsigned int m = 0; m < k; m++)
      if (v->axes[k] != NO_AXIS && class_of(a, v->axes[k]) == class_of(a, v->axes[m]))
        return false;
  return true;
}

/* ---- the loop's axes ---- */

static bool has_class(const analysis *a, const body_value *v, unsigned int wanted) {
  for (unsigned int k = 0; k < v->nd; k++)
    if (class_of(a, v->axes[k]) == wanted)
      return true;
  return false;
}

static bool has_all(const analysis *a, const body_value *v) {
  for (unsigned int axis = 0; axis < a->n_axes; axis++)
    if (a->parent[axis] == axis && !has_class(a, v, axis))
      return false;
  return true;
}

/* The value whose order of axes the threads follow: a result, if one has all axes. */
static bool find_leader(analysis *a) {
  for (unsigned int i = a->g->n_outputs; i-- > 0;)
    if (has_all(a, &a->values[a->g->outputs[i]])) {
      a->leader = a->g->outputs[i];
      return true;
    }
  for (unsigned int v = 0; v < a->g->n_values; v++)
    if (!a->g->values[v].integer && has_all(a, &a->values[v])) {
      a->leader = v;
      return true;
    }
  return false;
}

static void set_axes(analysis *a) {
  const body_value *v = &a->values[a->leader];
  ga_loop *l = &a->loop;
  for (unsigned int k = 0; k < v->nd; k++)
    if (v->dims[k] != 1)
      l->dims[l->nd++] = v->dims[k];
  if (l->nd == 0)
    l->dims[l->nd++] = 1;
}

/* ---- inputs ---- */

static int open_analysis(analysis *a, ga_frame *f, const ga_step *s) {
  const ga_plan_graph *g = &s->body->graph;
  const size_t n = (size_t)g->n_values + 1, operands = 2 * (n + s->n_out);
  *a = (analysis){.f = f,
                  .s = s,
                  .g = g,
                  .values = ga__alloc(n, sizeof *a->values),
                  .within = {.plan = s->body,
                             .arrays = ga__alloc(n, sizeof(GpuArray)),
                             .integers = ga__alloc(n, sizeof(long long))},
                  .is_known = ga__alloc(n, sizeof *a->is_known),
                  .root = ga__alloc(n, sizeof *a->root),
                  .parent = ga__alloc(n * GA_MAX_NDIM, sizeof *a->parent)};
  a->loop = (ga_loop){.operands = ga__alloc(operands, sizeof(ga_loop_operand)),
                      .steps = ga__alloc((size_t)g->n_steps + 1, sizeof(ga_loop_step)),
                      .integers = ga__alloc(n, sizeof(ga_loop_integer)),
                      .root = a->root,
                      .n_values = g->n_values,
                      .stop = -1};
  GA_TRY_MEMORY(a->values && a->within.arrays && a->within.integers && a->is_known &&
                a->root && a->parent && a->loop.operands && a->loop.steps &&
                a->loop.integers);
  for (unsigned int v = 0; v < g->n_values; v++)
    a->root[v] = v;
  return GA_NO_ERROR;
}

static void close_analysis(const analysis *a) {
  ga__free(a->values);
  ga__free(a->within.arrays);
  ga__free(a->within.integers);
  ga__free(a->is_known);
  ga__free(a->root);
  ga__free(a->parent);
  ga__free(a->loop.operands);
  ga__free(a->loop.steps);
  ga__free(a->loop.integers);
}

static ga_loop_operand *add_operand(analysis *a, enum ga_loop_kind kind,
                                    unsigned int value, const GpuArray *array) {
  ga_loop_operand *o = &a->loop.operands[a->loop.n_operands++];
  *o = (ga_loop_operand){.kind = kind, .value = value, .array = array};
  return o;
}

static void add_integer(analysis *a, unsigned int value, bool is_iteration,
                        long long integer) {
  a->is_known[value] = !is_iteration;
  a->within.integers[value] = integer;
  a->loop.integers[a->loop.n_integers++] =
      (ga_loop_integer){value, is_iteration, integer};
}

/* The body's inputs: shapes of one iteration. */
static void take_inputs(analysis *a) {
  unsigned int n_arrays = 0, n_ints = 0, n_carried = 0;
  for (unsigned int i = 1; i < a->s->n_in; i++) {
    const unsigned int v = a->s->ins[i];
    const char letter = a->s->takes[i - 1];
    if (a->f->plan->graph.values[v].integer) {
      add_integer(a, a->g->int_inputs[n_ints++], false, a->f->integers[v]);
      continue;
    }
    const GpuArray *array = &a->f->arrays[v];
    const unsigned int own = a->g->inputs[n_arrays++], rows = letter == GA_LOOP_ROWS;
    ga_loop_operand *o = add_operand(a,
                                     letter == GA_LOOP_SAMES ? GA_LOOP_SAME
                                     : rows                  ? GA_LOOP_ROW
                                                             : GA_LOOP_STATE,
                                     own, array);
    take_shape(a, own, array->nd - rows, array->dimensions + rows);
    o->row = rows ? array->strides[0] : 0;
    if (o->kind != GA_LOOP_STATE)
      continue;
    if (letter == GA_LOOP_UNTIL)
      a->loop.stop = (int)own;
    o->is_factor = letter == GA_LOOP_FACTOR;
    o->is_sum = letter == GA_LOOP_SUM;
    o->next = a->g->outputs[n_carried++];
  }
  a->n_carried = n_carried;
  if (n_ints < a->g->n_int_inputs)
    add_integer(a, a->g->int_inputs[n_ints], true, 0);
  for (unsigned int v = 0; v < a->g->n_values; v++) {
    const GpuArray *constant = &a->g->values[v].constant;
    if (constant->data == NULL)
      continue;
    take_shape(a, v, constant->nd, constant->dimensions);
    add_operand(a, GA_LOOP_SAME, v, constant);
  }
}

/* Tells affine states of their factors, in the same order, which go along with them;
 * false: of another shape. */
static bool pair_factors(analysis *a) {
  ga_loop_operand *operands = a->loop.operands;
  unsigned int at = 0;
  for (unsigned int i = 0, input = 1; input < a->s->n_in; input++) {
    if (a->f->plan->graph.values[a->s->ins[input]].integer)
      continue;
    ga_loop_operand *state = &operands[i++];
    if (a->s->takes[input - 1] != GA_LOOP_AFFINE)
      continue;
    while (!operands[at].is_factor)
      at++;
    if (!join_equal(a, state->value, operands[at].value))
      return false;
    state->factor = ++at;
    a->has_factors = true;
  }
  return true;
}

/* A host integer that is the same in all iterations: of lengths, or given. */
static bool take_integer(analysis *a, const ga_step *s) {
  for (unsigned int i = 0; i < s->n_in; i++) {
    const unsigned int v = s->ins[i];
    if (a->g->values[v].integer ? !a->is_known[v] : a->values[v].nd == 0)
      return false;
    a->within.arrays[v].nd = a->values[v].nd;
    memcpy(a->within.arrays[v].dimensions, a->values[v].dims,
           a->values[v].nd * sizeof(size_t));
  }
  if (ga__step_run(&a->within, s) != GA_NO_ERROR)
    return false;
  add_integer(a, s->outs[0], false, a->within.integers[s->outs[0]]);
  return true;
}

/* What is reduced to one element: inputs go together, and the result goes with all. */
static bool take_reduction(analysis *a, const ga_step *s) {
  const body_value *first = NULL;
  for (unsigned int i = 0; i < s->n_in; i++) {
    const body_value *v = &a->values[s->ins[i]];
    if (a->g->values[s->ins[i]].integer)
      return false;
    if (first != NULL && (v->nd != first->nd ||
                          memcmp(v->dims, first->dims, v->nd * sizeof *v->dims) != 0))
      return false;
    for (unsigned int k = 0; first != NULL && k < v->nd; k++)
      join(a, v->axes[k], first->axes[k]);
    first = first != NULL ? first : v;
  }
  take_shape(a, s->outs[0], 0, NULL);
  a->loop.reduces = true;
  a->loop.steps[a->loop.n_steps++] =
      (ga_loop_step){.reduction = s->reduction, .outs = s->outs, .ins = s->ins};
  return first != NULL;
}

static bool take_steps(analysis *a) {
  for (unsigned int i = 0; i < a->g->n_steps; i++) {
    const ga_step *s = &a->g->steps[i];
    if (ga__step_is_integer(s) || s->kind == GA_STEP_REDUCE) {
      if (s->kind == GA_STEP_REDUCE ? !take_reduction(a, s) : !take_integer(a, s))
        return false;
      continue;
    }
    if (s->kind != GA_STEP_ELEMWISE) {
      take_view(a, s);
      continue;
    }
    if (!take_joint(a, s))
      return false;
    a->loop.steps[a->loop.n_steps++] =
        (ga_loop_step){.ge = s->elemwise, .outs = s->outs, .ins = s->ins};
  }
  return true;
}

/* A state keeps its shape, and goes along with itself. */
static bool join_states(analysis *a) {
  for (unsigned int i = 0; i < a->loop.n_operands; i++) {
    const ga_loop_operand *o = &a->loop.operands[i];
    if (o->kind != GA_LOOP_STATE)
      continue;
    if (!join_equal(a, o->value, o->next))
      return false;
  }
  return true;
}

/* True if what is reduced has all elements of the iteration. */
static bool reduces_all(const analysis *a) {
  for (unsigned int i = 0; i < a->loop.n_steps; i++) {
    const ga_loop_step *step = &a->loop.steps[i];
    if (step->reduction != NULL && !has_all(a, &a->values[step->ins[0]]))
      return false;
  }
  return true;
}

/* Finds the loop's axes; false: not the same for all elements. */
static bool analyze(analysis *a) {
  take_inputs(a);
  if (!pair_factors(a) || !take_steps(a) || !join_states(a) || !find_leader(a))
    return false;
  for (unsigned int v = 0; v < a->g->n_values; v++)
    if (!has_distinct_axes(a, &a->values[v]))
      return false;
  set_axes(a);
  return !a->loop.reduces ||
         (reduces_all(a) && ga__loop_count(&a->loop) <= GA_LOOP_MOST);
}

/* ---- results and launch ---- */

/* Strides of an operand along the loop's axes; `rows`: its first axis is of rows. */
static void set_strides(const analysis *a, ga_loop_operand *o, unsigned int rows) {
  const body_value *leader = &a->values[a->leader], *own = &a->values[o->value];
  unsigned int axis = 0;
  for (unsigned int k = 0; k < leader->nd; k++) {
    if (leader->dims[k] == 1)
      continue;
    o->lacks[axis] = true;
    for (unsigned int m = 0; m < own->nd; m++)
      if (class_of(a, own->axes[m]) == class_of(a, leader->axes[k])) {
        o->lacks[axis] = false;
        o->strides[axis] = o->array->strides[m + rows];
      }
    axis++;
  }
}

/* Memory of the results: final states, then traces. Nothing reads a factor: its result
 * is what it began as. */
static int add_results(analysis *a, size_t n_iterations) {
  unsigned int state = 0;
  for (unsigned int i = 0; i < a->s->n_out; i++) {
    const unsigned int made = a->g->outputs[i], rows = i >= a->n_carried;
    const body_value *v = &a->values[made];
    GpuArray *out = &a->f->arrays[a->s->outs[i]];
    size_t dims[GA_MAX_NDIM] = {n_iterations};
    if (!rows) {
      while (a->loop.operands[state].kind != GA_LOOP_STATE)
        state++;
      const ga_loop_operand *o = &a->loop.operands[state++];
      if (o->is_factor) {
        GA_TRY(GpuArray_view(out, o->array));
        continue;
      }
    }
    memcpy(dims + rows, v->dims, v->nd * sizeof *dims);
    GA_TRY(ga__step_memory(out, a->f, a->s->outs[i], v->nd + rows, dims));
    add_operand(a, rows ? GA_LOOP_TRACE : GA_LOOP_FINAL, made, out)->row =
        rows ? out->strides[0] : 0;
  }
  return GA_NO_ERROR;
}

/* A final state is what the state was carried on as. */
static void name_finals(const analysis *a) {
  ga_loop_operand *operands = a->loop.operands;
  unsigned int state = 0;
  for (unsigned int i = 0; i < a->loop.n_operands; i++) {
    if (operands[i].kind != GA_LOOP_FINAL)
      continue;
    while (operands[state].kind != GA_LOOP_STATE || operands[state].is_factor)
      state++;
    operands[i].value = operands[state++].value;
  }
}

static int run_analyzed(bool *done, analysis *a, size_t n_iterations) {
  GA_TRY(add_results(a, n_iterations));
  name_finals(a);
  a->loop.n_iterations = (uint32_t)n_iterations;
  for (unsigned int i = 0; i < a->loop.n_operands; i++) {
    ga_loop_operand *o = &a->loop.operands[i];
    set_strides(a, o, o->kind == GA_LOOP_ROW || o->kind == GA_LOOP_TRACE);
  }
  ga__loop_merge_axes(&a->loop);
  *done = ga__loop_fits_kernel(&a->loop);
  gpucontext *ctx = a->f->plan->context;
  if (*done)
    GA_TRY(a->has_factors ? ga__loop_launch_affine(done, ctx, &a->loop)
                          : ga__loop_launch(done, ctx, &a->loop));
  for (unsigned int i = 0; !*done && i < a->s->n_out; i++)
    GpuArray_clear(&a->f->arrays[a->s->outs[i]]);
  return GA_NO_ERROR;
}

int ga__loop_run_kernel(bool *done, ga_frame *f, const ga_step *s,
                        size_t n_iterations) {
  analysis a;
  *done = false;
  const size_t least = strchr(s->takes, GA_LOOP_FACTOR) != NULL ? 1 : 2;
  if (n_iterations < least || n_iterations > INT32_MAX ||
      !ga__loop_is_elementwise(s->body))
    return GA_NO_ERROR;
  int status = open_analysis(&a, f, s);
  if (status == GA_NO_ERROR && analyze(&a))
    status = run_analyzed(done, &a, n_iterations);
  close_analysis(&a);
  return status;
}
