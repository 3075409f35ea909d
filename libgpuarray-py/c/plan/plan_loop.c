/* Loops: in one kernel where that can be, else unrolled into the plan's recording, or
 * iteration by iteration by the host where the body runs in stages. */
#include <string.h>

#include "c/array/array.h"
#include "c/base/shape.h"
#include "c/device/buffer.h"
#include "c/plan/plan_state.h"
#include "c/system/interrupt.h"

static unsigned int count_carried(const char *takes) {
  unsigned int n = 0;
  for (; *takes != '\0'; takes++)
    n += ga__loop_carries(*takes);
  return n;
}

/* ---- body ---- */

static bool same_type(const ga_value *a, const ga_value *b, unsigned int fewer) {
  return !a->integer && !b->integer && a->typecode == b->typecode &&
         a->nd == b->nd + fewer;
}

static bool same_context(const GpuPlan *p, const ga_value *a, const GpuPlan *body,
                         const ga_value *b) {
  return ga__plan_context(p, a->place) == ga__plan_context(body, b->place);
}

bool ga__loop_fits(const GpuPlan *p, const ga_step *s, const GpuPlan *body) {
  const unsigned int n_carried = count_carried(s->takes);
  unsigned int n_arrays = 0, n_ints = 0;
  bool fits = body->context == ga__plan_context(p, s->place) &&
              body->graph.n_outputs == s->n_out;
  for (unsigned int i = 1; fits && i < s->n_in; i++) {
    const ga_value *v = &p->graph.values[s->ins[i]];
    if (v->integer)
      fits = ++n_ints <= body->graph.n_int_inputs;
    else if ((fits = n_arrays < body->graph.n_inputs)) {
      const ga_value *inner = &body->graph.values[body->graph.inputs[n_arrays]];
      fits = same_type(v, inner, s->takes[i - 1] == GA_LOOP_ROWS) &&
             same_context(p, v, body, inner) &&
             (ga__loop_carries(s->takes[i - 1]) ||
              !ga__plan_writes(&body->graph, n_arrays, body->graph.n_steps));
      n_arrays++;
    }
  }
  fits = fits && n_arrays == body->graph.n_inputs &&
         (n_ints == body->graph.n_int_inputs || n_ints + 1 == body->graph.n_int_inputs);
  for (unsigned int i = 0; fits && i < s->n_out; i++) {
    const ga_value *v = &p->graph.values[s->outs[i]];
    const ga_value *inner = &body->graph.values[body->graph.outputs[i]];
    fits = same_type(v, inner, i >= n_carried) && same_context(p, v, body, inner);
  }
  return fits;
}

/* ---- iterations ---- */

/* State of a loop; lists in the order of the body's inputs and outputs. */
typedef struct loop {
  ga_frame *f;
  const ga_step *s;
  gpucontext *context;
  size_t n_iterations;
  unsigned int n_arrays, n_carried;
  unsigned int stop; /* the carried value that ends it; n_carried: none */
  ga_tape *tape;     /* that records, or NULL */
  GpuArray *given, *made, *offers;
  GpuArray *homes;   /* of the carried values between blocks of iterations */
  bool *overwritten; /* inputs: an iteration writes to their memory */
  const GpuArray **ins;
  GpuArray **outs;
  long long *ints;
} loop;

/* The carried value that ends the loop; their number: none. */
static unsigned int find_stop(const char *takes) {
  unsigned int n = 0;
  for (; *takes != '\0' && *takes != GA_LOOP_UNTIL; takes++)
    n += ga__loop_carries(*takes);
  return n;
}

static void clear_all(GpuArray *arrays, unsigned int n) {
  for (unsigned int i = 0; arrays != NULL && i < n; i++)
    GpuArray_clear(&arrays[i]);
}

static int open_loop(loop *l, ga_frame *f, const ga_step *s) {
  const size_t n_in = (size_t)s->n_in + 1, n_out = (size_t)s->n_out + 1;
  *l = (loop){.f = f,
              .s = s,
              .context = ga__plan_context(f->plan, s->place),
              .n_arrays = s->body->graph.n_inputs,
              .n_carried = count_carried(s->takes),
              .stop = find_stop(s->takes),
              .given = ga__alloc(n_in, sizeof *l->given),
              .made = ga__alloc(n_out, sizeof *l->made),
              .offers = ga__alloc(n_out, sizeof *l->offers),
              .homes = ga__alloc(n_out, sizeof *l->homes),
              .overwritten = ga__alloc(n_in, sizeof *l->overwritten),
              .ins = ga__alloc(n_in, sizeof(GpuArray *)),
              .outs = ga__alloc(n_out, sizeof(GpuArray *)),
              .ints = ga__alloc(n_in, sizeof *l->ints)};
  GA_TRY_MEMORY(l->given && l->made && l->offers && l->homes && l->overwritten &&
                l->ins && l->outs && l->ints);
  l->tape = ga__loop_by_host(s) ? NULL : ga__recording_current(l->context);
  for (unsigned int i = 0; i < l->n_arrays; i++) {
    l->ins[i] = &l->given[i];
    l->overwritten[i] = ga__plan_writes(&s->body->graph, i, s->body->graph.n_steps);
  }
  for (unsigned int i = 0; i < s->n_out; i++)
    l->outs[i] = &l->made[i];
  return GA_NO_ERROR;
}

static void close_loop(const loop *l) {
  clear_all(l->given, l->n_arrays);
  clear_all(l->made, l->s->n_out);
  clear_all(l->offers, l->s->n_out);
  clear_all(l->homes, l->n_carried);
  ga__free(l->given);
  ga__free(l->made);
  ga__free(l->offers);
  ga__free(l->homes);
  ga__free(l->overwritten);
  ga__free((void *)l->ins);
  ga__free((void *)l->outs);
  ga__free(l->ints);
}

/* Iteration count; sequences must have as many rows. */
static int count_iterations(loop *l) {
  const ga_step *s = l->s;
  const long long n_iterations = l->f->integers[s->ins[0]];
  l->n_iterations = n_iterations > 0 ? (size_t)n_iterations : 0;
  for (unsigned int i = 1; i < s->n_in; i++) {
    const GpuArray *a = &l->f->arrays[s->ins[i]];
    if (s->takes[i - 1] == GA_LOOP_ROWS && a->dimensions[0] != l->n_iterations)
      return GA_FAIL(
          GA_VALUE_ERROR,
          "input %u has %zu rows, expected %zu, one for each iteration; give "
          "fewer n_steps",
          i - 1, a->dimensions[0], l->n_iterations);
  }
  return GA_NO_ERROR;
}

/* View of a row. */
static int row_of(GpuArray *out, const GpuArray *a, size_t row) {
  GA_TRY(GpuArray_view(out, a));
  out->offset += row * (size_t)a->strides[0];
  out->nd--;
  memmove(out->dimensions, a->dimensions + 1, out->nd * sizeof *out->dimensions);
  memmove(out->strides, a->strides + 1, out->nd * sizeof *out->strides);
  GpuArray_fix_flags(out);
  return GA_NO_ERROR;
}

/* True if the array is in an input's memory. */
static bool is_given(const loop *l, const GpuArray *a) {
  for (unsigned int i = 1; i < l->s->n_in; i++)
    if (l->f->arrays[l->s->ins[i]].data == a->data)
      return true;
  return false;
}

/* True if the n-th carried value aliases an input, a constant of the body, a final
 * carried value or a stacked array. */
static bool is_shared(const loop *l, const GpuArray *a, unsigned int n) {
  const bool is_constant = l->tape != NULL && a->data->tape == NULL;
  if (!GpuArray_ISWRITEABLE(a) || is_constant || is_given(l, a))
    return true;
  for (unsigned int i = 0; i < l->s->n_out; i++)
    if (i != n && l->f->arrays[l->s->outs[i]].data == a->data)
      return true;
  return false;
}

/* The n-th carried value for an iteration that overwrites it: in memory of its own, not
 * in that of another one either. */
static int give_own(GpuArray *out, const loop *l, const GpuArray *a, unsigned int n) {
  bool shared = is_shared(l, a, n);
  for (unsigned int i = 0; i < l->n_carried; i++)
    shared |= i != n && l->made[i].data == a->data;
  return shared ? GpuArray_copy(out, a, GA_C_ORDER) : GpuArray_view(out, a);
}

/* Input of an iteration, read-only: others read it too. */
static int give_array(GpuArray *out, const loop *l, const GpuArray *a, char letter,
                      size_t iteration) {
  if (letter == GA_LOOP_ROWS && l->n_iterations == 0)
    GA_TRY(GpuArray_zeros(out, l->context, a->typecode, a->nd - 1, a->dimensions + 1,
                          GA_C_ORDER));
  else if (letter == GA_LOOP_ROWS)
    GA_TRY(row_of(out, a, iteration));
  else
    GA_TRY(GpuArray_view(out, a));
  out->flags &= ~GA_WRITEABLE;
  return GA_NO_ERROR;
}

/* Sets the inputs of an iteration; carried ones come from the previous one. */
static int give(loop *l, size_t iteration) {
  const ga_step *s = l->s;
  unsigned int n_arrays = 0, n_ints = 0, n_carried = 0;
  clear_all(l->given, l->n_arrays);
  for (unsigned int i = 1; i < s->n_in; i++) {
    const unsigned int v = s->ins[i];
    const char letter = s->takes[i - 1];
    if (l->f->plan->graph.values[v].integer) {
      l->ints[n_ints++] = l->f->integers[v];
      continue;
    }
    const GpuArray *a = &l->f->arrays[v];
    if (ga__loop_carries(letter) && iteration > 0)
      a = &l->made[n_carried];
    GA_TRY(l->overwritten[n_arrays]
               ? give_own(&l->given[n_arrays], l, a, n_carried)
               : give_array(&l->given[n_arrays], l, a, letter, iteration));
    n_arrays++;
    n_carried += ga__loop_carries(letter);
  }
  l->ints[n_ints] = (long long)iteration;
  clear_all(l->made, s->n_out);
  return GA_NO_ERROR;
}

static int new_stack(const loop *l, unsigned int i, const GpuArray *row) {
  size_t dims[GA_MAX_NDIM] = {l->n_iterations};
  memcpy(dims + 1, row->dimensions, row->nd * sizeof *dims);
  const unsigned int value = l->s->outs[i];
  return ga__step_memory(&l->f->arrays[value], l->f, value, row->nd + 1, dims);
}

/* Stores a result as a row of the stacked array. */
static int put_row(const loop *l, unsigned int i, size_t iteration) {
  GpuArray *whole = &l->f->arrays[l->s->outs[i]], row = {0};
  const GpuArray *made = &l->made[i];
  char first[GA_SHAPE_TEXT], other[GA_SHAPE_TEXT];
  if (whole->data == NULL)
    GA_TRY(new_stack(l, i, made));
  if (l->n_iterations == 0)
    return GA_NO_ERROR;
  if (memcmp(whole->dimensions + 1, made->dimensions,
             made->nd * sizeof *made->dimensions) != 0)
    return GA_FAIL(GA_VALUE_ERROR,
                   "the results of two iterations have shapes %s and %s; expected one "
                   "shape in all iterations",
                   ga__shape_text(first, made->nd, whole->dimensions + 1),
                   ga__shape_text(other, made->nd, made->dimensions));
  int status = row_of(&row, whole, iteration);
  if (row.data != made->data || row.offset != made->offset)
    GA_THEN(status, GpuArray_setarray(&row, made));
  GpuArray_clear(&row);
  return status;
}

/* Carried arrays keep their shape from iteration to iteration. */
static int check_carried(const loop *l) {
  const ga_step *s = l->s;
  unsigned int n_arrays = 0, n_carried = 0;
  char before[GA_SHAPE_TEXT], after[GA_SHAPE_TEXT];
  for (unsigned int i = 1; i < s->n_in; i++) {
    const char letter = s->takes[i - 1];
    if (l->f->plan->graph.values[s->ins[i]].integer)
      continue;
    const GpuArray *given = &l->given[n_arrays++];
    if (!ga__loop_carries(letter))
      continue;
    const GpuArray *made = &l->made[n_carried++];
    if (!ga__array_same_shape(given, made))
      return GA_FAIL(GA_VALUE_ERROR,
                     "input %u, a state, has shape %s, and %s after an iteration; "
                     "expected one shape in all iterations",
                     i - 1, ga__shape_text(before, given->nd, given->dimensions),
                     ga__shape_text(after, made->nd, made->dimensions));
  }
  return GA_NO_ERROR;
}

/* Before the first iteration: allocates the stacked arrays of carried values, whose
 * shapes are known. */
static int open_stacks(const loop *l) {
  const ga_plan_graph *body = &l->s->body->graph;
  unsigned int n = 0;
  for (unsigned int k = 1; k < l->s->n_in; k++) {
    if (!ga__loop_carries(l->s->takes[k - 1]))
      continue;
    for (unsigned int i = l->n_carried; i < l->s->n_out; i++)
      if (body->outputs[i] == body->outputs[n] &&
          l->f->arrays[l->s->outs[i]].data == NULL)
        GA_TRY(new_stack(l, i, &l->f->arrays[l->s->ins[k]]));
    n++;
  }
  return GA_NO_ERROR;
}

/* Offers the rows of the stacked arrays to the results of an iteration. */
static int offer_rows(loop *l, size_t iteration) {
  clear_all(l->offers, l->s->n_out);
  for (unsigned int i = l->n_carried; l->n_iterations > 0 && i < l->s->n_out; i++)
    if (l->f->arrays[l->s->outs[i]].data != NULL)
      GA_TRY(row_of(&l->offers[i], &l->f->arrays[l->s->outs[i]], iteration));
  return GA_NO_ERROR;
}

static int run_body(loop *l, size_t iteration) {
  int failed;
  if (ga__loop_by_host(l->s))
    return l->s->body->iterate(l->s->body, l->outs, l->ins, l->ints);
  GA_TRY(offer_rows(l, iteration));
  return ga__plan_run_body(l->s->body, l->outs, l->ins, l->ints, l->offers, &failed);
}

static int run_iteration(loop *l, size_t iteration) {
  GA_TRY(give(l, iteration));
  GA_TRY(run_body(l, iteration));
  GA_TRY(check_carried(l));
  for (unsigned int i = l->n_carried; i < l->s->n_out; i++)
    GA_TRY(put_row(l, i, iteration));
  return GA_NO_ERROR;
}

static int run_each(loop *l, size_t first, size_t n) {
  for (size_t iteration = first; iteration < first + n; iteration++)
    GA_TRY(run_iteration(l, iteration));
  return GA_NO_ERROR;
}

static bool is_read(const loop *l, unsigned int out) {
  const ga_plan_graph *g = &l->f->plan->graph;
  return g->values[out].last_use > (size_t)(l->s - g->steps);
}

/* Final carried values, in memory of their own: later steps may overwrite them. */
static int put_carried(const loop *l) {
  unsigned int n = 0;
  for (unsigned int i = 1; i < l->s->n_in; i++) {
    if (!ga__loop_carries(l->s->takes[i - 1]))
      continue;
    GpuArray *out = &l->f->arrays[l->s->outs[n]];
    const GpuArray *a = l->n_iterations ? &l->made[n] : &l->f->arrays[l->s->ins[i]];
    const bool copies = is_shared(l, a, n) && is_read(l, l->s->outs[n]);
    GA_TRY(copies ? GpuArray_copy(out, a, GA_C_ORDER) : GpuArray_view(out, a));
    n++;
  }
  return GA_NO_ERROR;
}

/* ---- blocks of iterations, for loops with a stop condition ---- */

/* Iterations between two looks at the condition; a block of blocks, too, has as many
 * parts. */
#define BLOCK 16

/* True if a carried value is not in its home, but a view of one. */
static bool is_elsewhere(const loop *l, unsigned int i) {
  for (unsigned int k = 0; k < l->n_carried; k++)
    if (l->homes[k].data != NULL && l->made[i].data == l->homes[k].data)
      return k != i || memcmp(l->made[i].strides, l->homes[i].strides,
                              l->made[i].nd * sizeof *l->made[i].strides) != 0;
  return false;
}

/* Copies carried values that are views of homes, which are written now. */
static int leave_homes(loop *l) {
  for (unsigned int i = 0; i < l->n_carried; i++) {
    GpuArray copy = {0};
    if (!is_elsewhere(l, i))
      continue;
    GA_TRY(GpuArray_copy(&copy, &l->made[i], GA_C_ORDER));
    GpuArray_clear(&l->made[i]);
    l->made[i] = copy;
  }
  return GA_NO_ERROR;
}

/* Writes the carried values to their homes: there they are whether the blocks after
 * this one run or not. */
static int go_home(loop *l) {
  GA_TRY(leave_homes(l));
  for (unsigned int i = 0; i < l->n_carried; i++) {
    GpuArray *home = &l->homes[i], *made = &l->made[i];
    if (home->data == NULL)
      GA_TRY(GpuArray_copy(home, made, GA_C_ORDER));
    else if (made->data != home->data)
      GA_TRY(GpuArray_move(home, made));
    GpuArray_clear(made);
    GA_TRY(GpuArray_view(made, home));
  }
  return GA_NO_ERROR;
}

static int run_range(loop *l, size_t first, size_t n);

/* Runs iterations where the loop has not ended before them. */
static int run_unless(loop *l, size_t first, size_t n) {
  ga_choice path[GA_CHOICES];
  const unsigned int depth = ga__tape_path(path, l->tape);
  const GpuArray *ended = &l->homes[l->stop];
  if (depth == GA_CHOICES)
    return run_range(l, first, n);
  path[depth].wanted = false;
  GA_TRY(ga__tape_condition(&path[depth].condition, l->tape, ended->data, ended->offset,
                            gpuarray_get_elsize(ended->typecode)));
  ga__tape_under(l->tape, depth + 1, path);
  const int status = run_range(l, first, n);
  ga__tape_under(l->tape, depth, path);
  return status;
}

/* Runs a block, or the blocks of one. */
static int run_range(loop *l, size_t first, size_t n) {
  size_t part = BLOCK;
  if (n <= BLOCK) {
    GA_TRY(run_each(l, first, n));
    return go_home(l);
  }
  while (part * BLOCK < n)
    part *= BLOCK;
  GA_TRY(run_range(l, first, part));
  for (size_t at = part; at < n; at += part)
    GA_TRY(run_unless(l, first + at, n - at < part ? n - at : part));
  return GA_NO_ERROR;
}

/* ---- iterations that the host starts ---- */

/* The number of waits for the body's contexts so far. */
static size_t count_waits(const loop *l) {
  const GpuPlan *body = l->s->body;
  size_t n = 0;
  for (unsigned int i = 0; i < ga__plan_places(body); i++)
    n += atomic_load_explicit(&ga__plan_context(body, i)->waits, memory_order_relaxed);
  return n;
}

/* Reads the condition. */
static int look(bool *ended, const loop *l) {
  uint8_t byte;
  GA_TRY(GpuArray_read(&byte, 1, &l->made[l->stop]));
  *ended = byte != 0;
  return GA_NO_ERROR;
}

/* Where an iteration waits anyway the condition is read after each. Else iterations are
 * queued, and it is read after a block of them: past their end they change nothing. */
static int run_by_host(loop *l) {
  bool ended = false;
  for (size_t i = 0; i < l->n_iterations && !ended; i++) {
    const size_t before = count_waits(l);
    GA_TRY(ga__check_interrupt());
    GA_TRY(run_iteration(l, i));
    if (l->stop < l->n_carried && (count_waits(l) > before || i % BLOCK == BLOCK - 1))
      GA_TRY(look(&ended, l));
  }
  return GA_NO_ERROR;
}

/* True if the shape of a stacked array is not known from a state. */
static bool lacks_stack(const loop *l) {
  for (unsigned int i = l->n_carried; i < l->s->n_out; i++)
    if (l->f->arrays[l->s->outs[i]].data == NULL)
      return true;
  return false;
}

/* Without iterations the body runs once on zeros, for the results' shapes only. */
static int run_iterations(loop *l) {
  bool done = false;
  const bool by_host = ga__loop_by_host(l->s);
  GA_TRY(count_iterations(l));
  if (!by_host)
    GA_TRY(ga__loop_run_kernel(&done, l->f, l->s, l->n_iterations));
  if (done)
    return GA_NO_ERROR;
  GA_TRY(open_stacks(l));
  if (l->n_iterations == 0 && lacks_stack(l))
    GA_TRY(run_iteration(l, 0));
  const bool has_blocks =
      l->tape != NULL && l->stop < l->n_carried && l->n_iterations > BLOCK;
  GA_TRY(by_host      ? run_by_host(l)
         : has_blocks ? run_range(l, 0, l->n_iterations)
                      : run_each(l, 0, l->n_iterations));
  return put_carried(l);
}

int ga__loop_run(ga_frame *f, const ga_step *s) {
  loop l;
  if (s->body == NULL)
    return GA_FAIL(GA_VALUE_ERROR,
                   "the loop has no body; give it one with GpuPlan_body");
  int status = open_loop(&l, f, s);
  GA_THEN(status, run_iterations(&l));
  GA_THEN(status, ga__step_check_results(f, s));
  close_loop(&l);
  return status;
}
