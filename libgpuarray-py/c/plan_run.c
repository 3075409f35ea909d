/* Plans: binding to a signature, and running. */
#include "c/plan.h"

#include <string.h>

#include "c/array.h"

/* Values while a plan is bound: arrays on stand-ins, or integers. */
typedef struct frame {
  const GpuPlan *plan;
  GpuArray *arrays;
  long long *integers;
} frame;

#define ALIGNMENT 16 /* bytes; what kernels look at in an offset */

/* ---- steps ---- */

static long long floor_divide(long long a, long long b) {
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}

static int run_int_op(frame *f, const ga_step *s) {
  long long a = f->integers[s->ins[0]], b = f->integers[s->ins[1]], r = 0;
  switch (s->op) {
  case GP_INT_ADD:
    r = a + b;
    break;
  case GP_INT_SUB:
    r = a - b;
    break;
  case GP_INT_MUL:
    r = a * b;
    break;
  case GP_INT_FLOORDIV:
    if (b == 0)
      return GA_FAIL(GA_VALUE_ERROR, "%lld // 0 in a shape", a);
    r = floor_divide(a, b);
    break;
  case GP_INT_MAX:
    r = a > b ? a : b;
    break;
  default:
    r = a < b ? a : b;
    break;
  }
  f->integers[s->outs[0]] = r;
  return GA_NO_ERROR;
}

/* The shape that the array inputs broadcast to. Only axes marked in `stretch` may
 * stretch. */
static int joint_shape(unsigned int *nd, size_t *dims, const frame *f,
                       const ga_step *s) {
  char text[GA_SHAPE_TEXT], joint[GA_SHAPE_TEXT];
  *nd = 0;
  for (unsigned int i = 0; i < s->n_in; i++) {
    const GpuArray *a = &f->arrays[s->ins[i]];
    if (!f->plan->values[s->ins[i]].integer)
      GA_TRY(ga__shape_broadcast(nd, dims, a->nd, a->dimensions));
  }
  for (unsigned int i = 0; i < s->n_in; i++) {
    const GpuArray *a = &f->arrays[s->ins[i]];
    if (f->plan->values[s->ins[i]].integer)
      continue;
    for (unsigned int k = 0; k < a->nd; k++) {
      bool may_stretch = (s->stretch[i] >> k & 1u) != 0;
      if (may_stretch || a->dimensions[k] == dims[*nd - a->nd + k])
        continue;
      return GA_FAIL(
          GA_VALUE_ERROR,
          "input %u of shape %s does not fit %s: axis %u has length 1 but was "
          "not declared broadcastable",
          i, ga__shape_text(text, a->nd, a->dimensions),
          ga__shape_text(joint, *nd, dims), k);
    }
  }
  return GA_NO_ERROR;
}

static bool same_shape(const GpuArray *a, unsigned int nd, const size_t *dims) {
  return a->nd == nd && memcmp(a->dimensions, dims, nd * sizeof *dims) == 0;
}

/* The array a result is written to: the input that it takes over where that fits, else
 * a new one. */
static int result_array(GpuArray *out, frame *f, const ga_step *s, unsigned int i,
                        unsigned int nd, const size_t *dims) {
  int typecode = f->plan->values[s->outs[i]].typecode;
  if (s->inplace[i] >= 0) {
    const GpuArray *over = &f->arrays[s->ins[s->inplace[i]]];
    if (GpuArray_ISWRITEABLE(over) && same_shape(over, nd, dims))
      return GpuArray_view(out, over);
  }
  return GpuArray_empty(out, f->plan->context, typecode, nd, dims, GA_C_ORDER);
}

static void input_pointers(void **args, frame *f, const ga_step *s) {
  for (unsigned int i = 0; i < s->n_in; i++) {
    unsigned int v = s->ins[i];
    args[i] = f->plan->values[v].integer ? (void *)&f->integers[v] : &f->arrays[v];
  }
}

static int run_elemwise(frame *f, const ga_step *s) {
  void *args[GA_MAX_ARGS];
  unsigned int nd;
  size_t dims[GA_MAX_NDIM];
  GA_TRY(joint_shape(&nd, dims, f, s));
  for (unsigned int i = 0; i < s->n_out; i++) {
    GpuArray *out = &f->arrays[s->outs[i]];
    GA_TRY(result_array(out, f, s, i, nd, dims));
    args[i] = out;
  }
  input_pointers(args + s->n_out, f, s);
  return GpuElemwise_call(s->elemwise, args, GE_BROADCAST | GE_PADSHAPE);
}

static int run_reduce(frame *f, const ga_step *s) {
  void *args[GA_MAX_ARGS];
  unsigned int nd;
  size_t dims[GA_MAX_NDIM];
  GA_TRY(joint_shape(&nd, dims, f, s));
  input_pointers(args, f, s);
  return GpuReduction_apply(s->reduction, &f->arrays[s->outs[0]], args, s->axes, 0);
}

/* The output of a product: c's memory, a copy of c, or new memory of the given shape.
 */
static int product_array(GpuArray *out, frame *f, const ga_step *s, unsigned int nd,
                         const size_t *dims) {
  if (s->beta == 0.0 || s->inplace[0] >= 0)
    return result_array(out, f, s, 0, nd, dims);
  return GpuArray_copy(out, &f->arrays[s->ins[2]], GA_C_ORDER);
}

static int run_product(frame *f, const ga_step *s) {
  GpuArray *a = &f->arrays[s->ins[0]], *b = &f->arrays[s->ins[1]];
  GpuArray *out = &f->arrays[s->outs[0]];
  size_t rows = a->dimensions[s->ta == cb_no_trans ? 0 : 1];
  if (s->kind == GA_STEP_GEMV) {
    GA_TRY(product_array(out, f, s, 1, &rows));
    return GpuArray_rgemv(s->ta, s->alpha, a, b, s->beta, out, 0);
  }
  size_t dims[2] = {rows, b->dimensions[s->tb == cb_no_trans ? 1 : 0]};
  GA_TRY(product_array(out, f, s, 2, dims));
  return GpuArray_rgemm(s->ta, s->tb, s->alpha, a, b, s->beta, out, 0);
}

/* The new shape of a reshape or broadcast; one -1 is what is left of `count` elements.
 */
static int wanted_shape(size_t *dims, const frame *f, const ga_step *s, size_t count) {
  size_t known = 1;
  int open = -1;
  for (unsigned int i = 0; i < s->nd; i++) {
    long long n = f->integers[s->ins[i + 1]];
    if (n == -1 && open < 0) {
      open = (int)i;
      continue;
    }
    if (n < 0)
      return GA_FAIL(GA_VALUE_ERROR, "axis %u of the new shape is %lld", i, n);
    dims[i] = (size_t)n;
    known *= dims[i];
  }
  if (open < 0)
    return GA_NO_ERROR;
  if (known == 0 || count % known != 0)
    return GA_FAIL(GA_VALUE_ERROR, "%zu elements do not divide into axes of %zu", count,
                   known);
  dims[open] = count / known;
  return GA_NO_ERROR;
}

static int run_shaped(frame *f, const ga_step *s) {
  const GpuArray *a = &f->arrays[s->ins[0]];
  GpuArray *out = &f->arrays[s->outs[0]];
  size_t dims[GA_MAX_NDIM];
  GA_TRY(wanted_shape(dims, f, s, ga__array_count(a)));
  if (s->kind == GA_STEP_BROADCAST)
    return GpuArray_broadcast_to(out, a, s->nd, dims);
  return GpuArray_reshape(out, a, s->nd, dims, GA_C_ORDER, 0);
}

static int run_step(frame *f, const ga_step *s) {
  switch (s->kind) {
  case GA_STEP_INT:
    f->integers[s->outs[0]] = s->integer;
    return GA_NO_ERROR;
  case GA_STEP_DIM:
    f->integers[s->outs[0]] = (long long)f->arrays[s->ins[0]].dimensions[s->op];
    return GA_NO_ERROR;
  case GA_STEP_INT_OP:
    return run_int_op(f, s);
  case GA_STEP_ELEMWISE:
    return run_elemwise(f, s);
  case GA_STEP_REDUCE:
    return run_reduce(f, s);
  case GA_STEP_GEMV:
  case GA_STEP_GEMM:
    return run_product(f, s);
  case GA_STEP_DIMSHUFFLE:
    return GpuArray_dimshuffle(&f->arrays[s->outs[0]], &f->arrays[s->ins[0]], s->nd,
                               s->pattern);
  case GA_STEP_RESHAPE:
  case GA_STEP_BROADCAST:
    return run_shaped(f, s);
  case GA_STEP_COPY:
    return GpuArray_copy(&f->arrays[s->outs[0]], &f->arrays[s->ins[0]], GA_C_ORDER);
  }
  return GA_NO_ERROR;
}

/* ---- binding ---- */

void ga__bound_free(ga_bound *bound) {
  if (bound == NULL)
    return;
  if (bound->outputs != NULL)
    for (unsigned int i = 0; i < bound->n_outputs; i++)
      GpuArray_clear(&bound->outputs[i]);
  ga__tape_free(bound->tape);
  ga__free(bound->outputs);
  ga__free(bound->inputs);
  ga__free(bound->bindings);
  ga__free(bound->signature);
  ga__free(bound);
}

/* Puts the inputs on stand-ins, and the constants, into the frame. */
static int load_frame(frame *f, ga_bound *bound, const GpuArray *const *ins) {
  const GpuPlan *p = f->plan;
  for (unsigned int i = 0; i < p->n_inputs; i++) {
    GpuArray *a = &f->arrays[p->inputs[i]];
    GA_TRY(ga__tape_input(&bound->inputs[i], bound->tape));
    *a = *ins[i];
    a->data = bound->inputs[i];
    a->offset = ins[i]->offset % ALIGNMENT;
  }
  for (unsigned int i = 0; i < p->n_values; i++)
    if (p->values[i].constant.data != NULL)
      GA_TRY(GpuArray_view(&f->arrays[i], &p->values[i].constant));
  return GA_NO_ERROR;
}

/* Drops the arrays that no later step reads, so that their memory can be used again. */
static void drop_dead(frame *f, unsigned int step) {
  const GpuPlan *p = f->plan;
  const ga_step *s = &p->steps[step];
  for (unsigned int i = 0; i < s->n_in; i++)
    if (p->values[s->ins[i]].last_use == step)
      GpuArray_clear(&f->arrays[s->ins[i]]);
  for (unsigned int i = 0; i < s->n_out; i++)
    if (p->values[s->outs[i]].last_use == step)
      GpuArray_clear(&f->arrays[s->outs[i]]);
}

static int record(frame *f, ga_bound *bound, int *failed_step) {
  const GpuPlan *p = f->plan;
  for (unsigned int i = 0; i < p->n_steps; i++) {
    const char *label = ga__intern(p->steps[i].label);
    if (label == NULL)
      return GA_MEMORY_ERROR;
    const char *own = ga__label_swap(label);
    int status = run_step(f, &p->steps[i]);
    ga__label_swap(own);
    if (status != GA_NO_ERROR) {
      *failed_step = (int)i;
      return ga__fail_within(status, "%s", p->steps[i].label);
    }
    drop_dead(f, i);
  }
  for (unsigned int i = 0; i < p->n_outputs; i++)
    GA_TRY(GpuArray_view(&bound->outputs[i], &f->arrays[p->outputs[i]]));
  return GA_NO_ERROR;
}

static int finish(ga_bound *bound) {
  unsigned int n_slots = ga__tape_slots(bound->tape);
  bool *kept = ga__alloc(n_slots + 1, sizeof *kept);
  bound->bindings = ga__alloc(n_slots + 1, sizeof *bound->bindings);
  int status = kept == NULL || bound->bindings == NULL ? GA_MEMORY_ERROR : GA_NO_ERROR;
  for (unsigned int i = 0; status == GA_NO_ERROR && i < bound->n_outputs; i++)
    if (bound->outputs[i].data->tape != NULL)
      kept[ga__tape_slot(bound->outputs[i].data)] = true;
  if (status == GA_NO_ERROR)
    status = ga__tape_finish(bound->tape, kept);
  ga__free(kept);
  return status;
}

/* Runs the steps on stand-ins and keeps the tape. */
static int bind(ga_bound **out, GpuPlan *p, const GpuArray *const *ins,
                int *failed_step) {
  frame f = {.plan = p,
             .arrays = ga__alloc(p->n_values + 1, sizeof *f.arrays),
             .integers = ga__alloc(p->n_values + 1, sizeof *f.integers)};
  ga_bound *bound = ga__alloc(1, sizeof *bound);
  int status = GA_MEMORY_ERROR;
  if (f.arrays == NULL || f.integers == NULL || bound == NULL)
    goto done;
  bound->n_outputs = p->n_outputs;
  bound->outputs = ga__alloc(p->n_outputs + 1, sizeof *bound->outputs);
  bound->inputs = ga__alloc(p->n_inputs + 1, sizeof *bound->inputs);
  bound->signature = ga__alloc(p->signature_length + 1, sizeof *bound->signature);
  if (bound->outputs == NULL || bound->inputs == NULL || bound->signature == NULL)
    goto done;
  memcpy(bound->signature, p->signature, p->signature_length * sizeof *p->signature);
  status = ga__tape_new(&bound->tape, p->context);
  if (status != GA_NO_ERROR)
    goto done;
  ga__tape_set_current(bound->tape);
  status = load_frame(&f, bound, ins);
  if (status == GA_NO_ERROR)
    status = record(&f, bound, failed_step);
  for (unsigned int i = 0; i < p->n_values; i++)
    GpuArray_clear(&f.arrays[i]);
  ga__tape_set_current(NULL);
  if (status == GA_NO_ERROR)
    status = finish(bound);

done:
  ga__free(f.arrays);
  ga__free(f.integers);
  if (status == GA_NO_ERROR)
    *out = bound;
  else
    ga__bound_free(bound);
  return status;
}

/* ---- running ---- */

static int check_input(const GpuPlan *p, unsigned int i, const GpuArray *a) {
  const ga_value *v = &p->values[p->inputs[i]];
  char text[GA_ARRAY_TEXT];
  if (a == NULL || a->data == NULL)
    return GA_FAIL(GA_INVALID_ERROR, "%s: input %u is no array", p->name, i);
  if (a->typecode != v->typecode || a->nd != v->nd)
    return GA_FAIL(GA_INVALID_ERROR, "%s: input %u is %s, expected %s of %u axes",
                   p->name, i, ga__array_text(text, a), ga__dtype_name(v->typecode),
                   v->nd);
  if (gpudata_context(a->data) != p->context)
    return GA_FAIL(GA_VALUE_ERROR, "%s: input %u lives on %s, the function on %s",
                   p->name, i, gpucontext_name(gpudata_context(a->data)),
                   gpucontext_name(p->context));
  for (unsigned int k = 0; k < a->nd; k++)
    if ((v->broadcastable >> k & 1u) != 0 && a->dimensions[k] != 1)
      return GA_FAIL(
          GA_VALUE_ERROR,
          "%s: input %u is %s, but its axis %u was declared broadcastable, of "
          "length 1",
          p->name, i, ga__array_text(text, a), k);
  return GA_NO_ERROR;
}

/* Everything that a bound plan depends on. */
static void write_signature(uint64_t *words, const GpuPlan *p,
                            const GpuArray *const *ins) {
  for (unsigned int i = 0; i < p->n_inputs; i++) {
    const GpuArray *a = ins[i];
    *words++ = (uint64_t)a->flags << 8 | a->offset % ALIGNMENT;
    for (unsigned int k = 0; k < a->nd; k++) {
      *words++ = a->dimensions[k];
      *words++ = (uint64_t)a->strides[k];
    }
  }
}

/* The binding of p->signature, moved to the front; NULL if there is none. */
static ga_bound *find_bound(GpuPlan *p) {
  size_t bytes = p->signature_length * sizeof *p->signature;
  for (ga_bound **link = &p->bound; *link != NULL; link = &(*link)->next) {
    ga_bound *bound = *link;
    if (memcmp(bound->signature, p->signature, bytes) != 0)
      continue;
    *link = bound->next;
    bound->next = p->bound;
    p->bound = bound;
    return bound;
  }
  return NULL;
}

static void drop_oldest(GpuPlan *p) {
  ga_bound **link = &p->bound;
  while ((*link)->next != NULL)
    link = &(*link)->next;
  ga__bound_free(*link);
  *link = NULL;
  p->info.n_bindings--;
}

static int get_bound(ga_bound **out, GpuPlan *p, const GpuArray *const *ins,
                     int *failed_step) {
  write_signature(p->signature, p, ins);
  *out = find_bound(p);
  if (*out != NULL)
    return GA_NO_ERROR;
  GA_TRY(bind(out, p, ins, failed_step));
  (*out)->next = p->bound;
  p->bound = *out;
  p->info.n_binds++;
  if (++p->info.n_bindings > GA_MAX_BINDINGS)
    drop_oldest(p);
  return GA_NO_ERROR;
}

/* Results as arrays on real buffers. A buffer that several results share is retained
 * for each. */
static void hand_out(GpuArray *const *outs, const ga_bound *bound) {
  for (unsigned int i = 0; i < bound->n_outputs; i++) {
    *outs[i] = bound->outputs[i];
    gpudata *stand_in = bound->outputs[i].data;
    if (stand_in->tape != NULL) {
      ga_binding real = bound->bindings[ga__tape_slot(stand_in)];
      outs[i]->data = real.buffer;
      outs[i]->offset += real.base;
    }
    gpudata_retain(outs[i]->data);
  }
}

static int replay(GpuArray *const *outs, ga_bound *bound, const GpuPlan *p,
                  const GpuArray *const *ins) {
  unsigned int n_slots = ga__tape_slots(bound->tape);
  for (unsigned int i = 0; i < p->n_inputs; i++)
    bound->bindings[i] =
        (ga_binding){ins[i]->data, ins[i]->offset - ins[i]->offset % ALIGNMENT};
  GA_TRY(ga__tape_replay(bound->tape, bound->bindings));
  hand_out(outs, bound);
  for (unsigned int i = p->n_inputs; i < n_slots; i++) /* the results hold their own */
    if (ga__tape_kept(bound->tape, i))
      gpudata_release(bound->bindings[i].buffer);
  return GA_NO_ERROR;
}

/* Whether some step may write into the memory of input `i`. */
static bool is_destroyed(const GpuPlan *p, unsigned int i) {
  for (unsigned int k = 0; k < p->n_steps; k++) {
    const ga_step *s = &p->steps[k];
    for (unsigned int o = 0; s->inplace != NULL && o < s->n_out; o++)
      if (s->inplace[o] >= 0 && s->ins[s->inplace[o]] == p->inputs[i])
        return true;
  }
  return false;
}

/* What the first run settles: scratch memory, and which inputs are written. */
static int settle(GpuPlan *p) {
  p->signature = ga__alloc(p->signature_length + 1, sizeof *p->signature);
  p->destroyed = ga__alloc(p->n_inputs + 1, sizeof *p->destroyed);
  if (p->signature == NULL || p->destroyed == NULL) {
    ga__free(p->signature);
    ga__free(p->destroyed);
    p->signature = NULL;
    p->destroyed = NULL;
    return GA_MEMORY_ERROR;
  }
  for (unsigned int i = 0; i < p->n_inputs; i++)
    p->destroyed[i] = is_destroyed(p, i);
  for (unsigned int i = 0; i < p->n_outputs; i++)
    p->values[p->outputs[i]].last_use = p->n_steps;
  return GA_NO_ERROR;
}

/* Whether input `i` shares memory with another that this plan overwrites. Of two that
 * are both overwritten, the later gives way. */
static bool needs_copy(const GpuPlan *p, unsigned int i, const GpuArray *const *ins) {
  for (unsigned int k = 0; k < p->n_inputs; k++)
    if (k != i && p->destroyed[k] && (k < i || !p->destroyed[i]) &&
        ins[k]->data == ins[i]->data && GpuArray_share(ins[k], ins[i]))
      return true;
  return false;
}

static int run_locked(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                      int *failed_step) {
  ga_bound *bound = NULL;
  GA_TRY(get_bound(&bound, p, ins, failed_step));
  GA_TRY(replay(outs, bound, p, ins));
  ga__tape_counts(bound->tape, &p->info.n_launches, &p->info.n_allocs,
                  &p->info.workspace);
  return GA_NO_ERROR;
}

/* Replaces inputs that overlap an overwritten one by copies, and runs. */
static int run_with_copies(GpuPlan *p, GpuArray *const *outs,
                           const GpuArray *const *ins, int *failed_step) {
  GpuArray *copies = ga__alloc(p->n_inputs, sizeof *copies);
  const GpuArray **list = ga__alloc(p->n_inputs, sizeof *list);
  int status = copies == NULL || list == NULL ? GA_MEMORY_ERROR : GA_NO_ERROR;
  for (unsigned int i = 0; status == GA_NO_ERROR && i < p->n_inputs; i++) {
    list[i] = ins[i];
    if (!needs_copy(p, i, ins))
      continue;
    status = GpuArray_copy(&copies[i], ins[i], GA_C_ORDER);
    list[i] = &copies[i];
  }
  if (status == GA_NO_ERROR)
    status = run_locked(p, outs, list, failed_step);
  for (unsigned int i = 0; copies != NULL && i < p->n_inputs; i++)
    GpuArray_clear(&copies[i]);
  ga__free(copies);
  ga__free(list);
  return status;
}

static bool any_overlap(const GpuPlan *p, const GpuArray *const *ins) {
  for (unsigned int i = 0; i < p->n_inputs; i++)
    if (needs_copy(p, i, ins))
      return true;
  return false;
}

/* What must hold before a run looks at its inputs. */
static int ready(GpuPlan *p, const GpuArray *const *ins) {
  GA_TRY(ga__context_check(p->context));
  if (p->signature == NULL)
    GA_TRY(settle(p));
  for (unsigned int i = 0; i < p->n_inputs; i++)
    GA_TRY(check_input(p, i, ins[i]));
  return GA_NO_ERROR;
}

int GpuPlan_run(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                int *failed_step) {
  int ignored;
  if (failed_step == NULL)
    failed_step = &ignored;
  *failed_step = -1;
  pthread_mutex_lock(&p->lock);
  int status = ready(p, ins);
  if (status == GA_NO_ERROR)
    status = any_overlap(p, ins) ? run_with_copies(p, outs, ins, failed_step)
                                 : run_locked(p, outs, ins, failed_step);
  pthread_mutex_unlock(&p->lock);
  return status;
}

int GpuPlan_bind(GpuPlan *p, const GpuArray *const *ins, int *failed_step) {
  int ignored;
  ga_bound *bound;
  if (p == NULL)
    return GA_FAIL(GA_INVALID_ERROR, "plan bind: no plan was given");
  if (failed_step == NULL)
    failed_step = &ignored;
  *failed_step = -1;
  pthread_mutex_lock(&p->lock);
  int status = ready(p, ins);
  if (status == GA_NO_ERROR)
    status = get_bound(&bound, p, ins, failed_step);
  pthread_mutex_unlock(&p->lock);
  return status;
}
