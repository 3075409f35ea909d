/* Running the steps of a plan: on placeholders, while it is recorded. */
#include <string.h>

#include "c/array/array.h"
#include "c/device/device_errors.h"
#include "c/plan/plan_state.h"

/* Host integers wrap as NumPy's int64: in unsigned arithmetic, for signed overflow is
 * undefined. Division by -1 is a negation: the processor traps on INT64_MIN / -1. */

static long long wrapped(unsigned long long bits) {
  long long x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static long long sum_of(long long a, long long b) {
  return wrapped((unsigned long long)a + (unsigned long long)b);
}

static long long difference_of(long long a, long long b) {
  return wrapped((unsigned long long)a - (unsigned long long)b);
}

static long long product_of(long long a, long long b) {
  return wrapped((unsigned long long)a * (unsigned long long)b);
}

static long long floor_divide(long long a, long long b) {
  if (b == -1)
    return difference_of(0, a);
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}

/* As in Python: the result has the divisor's sign. */
static long long floor_modulo(long long a, long long b) {
  if (b == -1)
    return 0;
  const long long m = a % b;
  return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

/* Narrowing cast to an integer type. */
static long long as_typecode(long long x, int typecode) {
  switch (typecode) {
  case GA_BOOL:
    return x != 0;
  case GA_BYTE:
    return (int8_t)x;
  case GA_UBYTE:
    return (uint8_t)x;
  case GA_SHORT:
    return (int16_t)x;
  case GA_USHORT:
    return (uint16_t)x;
  case GA_INT:
    return (int32_t)x;
  case GA_UINT:
    return (uint32_t)x;
  default:
    return x;
  }
}

static int run_int_op(ga_frame *f, const ga_step *s) {
  long long a = f->integers[s->ins[0]], b = f->integers[s->ins[1]], r = 0;
  switch (s->op) {
  case GP_INT_ADD:
    r = sum_of(a, b);
    break;
  case GP_INT_SUB:
    r = difference_of(a, b);
    break;
  case GP_INT_MUL:
    r = product_of(a, b);
    break;
  case GP_INT_FLOORDIV:
    if (b == 0)
      return GA_FAIL(GA_VALUE_ERROR, "%lld // 0 in a shape", a);
    r = floor_divide(a, b);
    break;
  case GP_INT_MOD:
    if (b == 0)
      return GA_FAIL(GA_VALUE_ERROR, "%lld %% 0 in a shape", a);
    r = floor_modulo(a, b);
    break;
  case GP_INT_LT:
    r = a < b;
    break;
  case GP_INT_LE:
    r = a <= b;
    break;
  case GP_INT_EQ:
    r = a == b;
    break;
  case GP_INT_AND:
    r = a & b;
    break;
  case GP_INT_OR:
    r = a | b;
    break;
  case GP_INT_CAST:
    r = as_typecode(a, (int)b);
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

/* Broadcast shape of the array inputs, along axes in `stretch` only. */
static int step_shape(unsigned int *nd, size_t *dims, const ga_frame *f,
                      const ga_step *s) {
  char text[GA_SHAPE_TEXT], joint[GA_SHAPE_TEXT];
  *nd = 0;
  for (unsigned int i = 0; i < s->n_in; i++) {
    const GpuArray *a = &f->arrays[s->ins[i]];
    if (!f->plan->graph.values[s->ins[i]].integer)
      GA_TRY(ga__shape_broadcast(nd, dims, a->nd, a->dimensions));
  }
  for (unsigned int i = 0; i < s->n_in; i++) {
    const GpuArray *a = &f->arrays[s->ins[i]];
    if (f->plan->graph.values[s->ins[i]].integer)
      continue;
    for (unsigned int k = 0; k < a->nd; k++) {
      bool may_stretch = (s->stretch[i] >> k & 1u) != 0;
      if (may_stretch || a->dimensions[k] == dims[*nd - a->nd + k])
        continue;
      return GA_FAIL(
          GA_VALUE_ERROR,
          "input %u of shape %s does not fit %s: axis %u has length 1 but was "
          "not declared broadcastable: declare it in the input's type, or give all of "
          "the axis",
          i, ga__shape_text(text, a->nd, a->dimensions),
          ga__shape_text(joint, *nd, dims), k);
    }
  }
  return GA_NO_ERROR;
}

bool ga__step_same_conditions(const ga_step *a, const ga_step *b) {
  if (a->n_when != b->n_when)
    return false;
  for (unsigned int i = 0; i < a->n_when; i++)
    if (a->when[i].value != b->when[i].value || a->when[i].wanted != b->when[i].wanted)
      return false;
  return true;
}

unsigned int ga__step_reads(const ga_step *s, unsigned int value) {
  unsigned int n = 0;
  for (unsigned int i = 0; i < s->n_in; i++)
    n += s->ins[i] == value;
  return n;
}

int ga__step_lists_open(ga_step_lists *lists, ga_frame *f, const ga_step *s) {
  const ga_value *values = f->plan->graph.values;
  *lists =
      (ga_step_lists){.ins = ga__alloc((size_t)s->n_in + 1, sizeof *lists->ins),
                      .ints = ga__alloc((size_t)s->n_in + 1, sizeof *lists->ints),
                      .outs = ga__alloc((size_t)s->n_out + 1, sizeof *lists->outs),
                      .types = ga__alloc((size_t)s->n_out + 1, sizeof *lists->types)};
  GA_TRY_MEMORY(lists->ins && lists->ints && lists->outs && lists->types);
  for (unsigned int i = 0; i < s->n_in; i++)
    if (values[s->ins[i]].integer)
      lists->ints[i] = f->integers[s->ins[i]];
    else
      lists->ins[i] = &f->arrays[s->ins[i]];
  for (unsigned int i = 0; i < s->n_out; i++) {
    const ga_value *v = &values[s->outs[i]];
    lists->outs[i] = &f->arrays[s->outs[i]];
    lists->types[i] = (gpuplan_type){v->typecode, v->nd};
  }
  return GA_NO_ERROR;
}

void ga__step_lists_close(ga_step_lists *lists) {
  ga__free((void *)lists->ins);
  ga__free(lists->ints);
  ga__free((void *)lists->outs);
  ga__free(lists->types);
}

/* The input of the step which makes the value that this overwrites in place; false for
 * a value that is new memory. */
static bool overwritten(unsigned int *value, const ga_plan_graph *g) {
  if (g->values[*value].maker == 0)
    return false;
  const ga_step *s = &g->steps[g->values[*value].maker - 1];
  for (unsigned int i = 0; s->inplace != NULL && i < s->n_out; i++)
    if (s->outs[i] == *value && s->inplace[i] >= 0) {
      *value = s->ins[s->inplace[i]];
      return true;
    }
  return false;
}

/* Memory offered for the value: that of the output which it is, or which later steps
 * make of it in place. NULL if there is none of this shape. */
static const GpuArray *offer_for(const ga_frame *f, unsigned int value, unsigned int nd,
                                 const size_t *dims) {
  const ga_plan_graph *g = &f->plan->graph;
  for (unsigned int i = 0; f->offers != NULL && i < g->n_outputs; i++) {
    const GpuArray *offer = &f->offers[i];
    if (offer->data == NULL || offer->typecode != g->values[value].typecode ||
        !ga__array_has_shape(offer, nd, dims))
      continue;
    unsigned int v = g->outputs[i];
    do {
      if (v == value)
        return offer;
    } while (overwritten(&v, g));
  }
  return NULL;
}

int ga__step_memory(GpuArray *out, ga_frame *f, unsigned int value, unsigned int nd,
                    const size_t *dims) {
  const GpuArray *offer = offer_for(f, value, nd, dims);
  if (offer != NULL)
    return GpuArray_view(out, offer);
  const ga_value *v = &f->plan->graph.values[value];
  return GpuArray_empty(out, ga__plan_context(f->plan, v->place), v->typecode, nd, dims,
                        GA_C_ORDER);
}

int ga__step_result(GpuArray *out, ga_frame *f, const ga_step *s, unsigned int i,
                    unsigned int nd, const size_t *dims) {
  if (s->inplace[i] >= 0) {
    const GpuArray *over = &f->arrays[s->ins[s->inplace[i]]];
    if (GpuArray_ISWRITEABLE(over) && ga__array_has_shape(over, nd, dims))
      return GpuArray_view(out, over);
  }
  return ga__step_memory(out, f, s->outs[i], nd, dims);
}

void ga__step_inputs(void **args, ga_frame *f, const ga_step *s) {
  for (unsigned int i = 0; i < s->n_in; i++) {
    unsigned int v = s->ins[i];
    args[i] =
        f->plan->graph.values[v].integer ? (void *)&f->integers[v] : &f->arrays[v];
  }
}

static int run_elemwise(ga_frame *f, const ga_step *s) {
  void *args[GA_MAX_ARGS];
  unsigned int nd;
  size_t dims[GA_MAX_NDIM];
  GA_TRY(step_shape(&nd, dims, f, s));
  for (unsigned int i = 0; i < s->n_out; i++) {
    GpuArray *out = &f->arrays[s->outs[i]];
    if (out->data == NULL) /* else the part of a join */
      GA_TRY(ga__step_result(out, f, s, i, nd, dims));
    args[i] = out;
  }
  ga__step_inputs(args + s->n_out, f, s);
  return GpuElemwise_call(s->elemwise, args, GE_BROADCAST | GE_PADSHAPE);
}

static int run_reduce(ga_frame *f, const ga_step *s) {
  void *args[GA_MAX_ARGS];
  unsigned int nd;
  size_t dims[GA_MAX_NDIM];
  GA_TRY(step_shape(&nd, dims, f, s));
  ga__step_inputs(args, f, s);
  return GpuReduction_apply(s->reduction, &f->arrays[s->outs[0]], args, s->axes, 0);
}

/* The output of a product: c in place, a copy of c, or new memory. */
static int product_array(GpuArray *out, ga_frame *f, const ga_step *s, unsigned int nd,
                         const size_t *dims) {
  const GpuArray *c = s->inplace[0] >= 0 ? &f->arrays[s->ins[2]] : NULL;
  if (s->beta == 0.0 || (c != NULL && GpuArray_ISWRITEABLE(c)))
    return ga__step_result(out, f, s, 0, nd, dims);
  const GpuArray *offer = offer_for(f, s->outs[0], nd, dims);
  if (offer == NULL)
    return GpuArray_copy(out, &f->arrays[s->ins[2]], GA_C_ORDER);
  GA_TRY(GpuArray_view(out, offer));
  return GpuArray_setarray(out, &f->arrays[s->ins[2]]);
}

static int run_product(ga_frame *f, const ga_step *s) {
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

/* The new shape of a reshape or broadcast. A -1 of a reshape is inferred from
 * `count`. */
static int wanted_shape(size_t *dims, const ga_frame *f, const ga_step *s,
                        size_t count) {
  size_t known = 1;
  bool is_large = false;
  int open = -1;
  for (unsigned int i = 0; i < s->nd; i++) {
    long long n = f->integers[s->ins[i + 1]];
    if (n == -1 && open < 0 && s->kind == GA_STEP_RESHAPE) {
      open = (int)i;
      continue;
    }
    if (n < 0)
      return GA_FAIL(GA_VALUE_ERROR,
                     "axis %u of the new shape has length %lld, expected 0 or more", i,
                     n);
    dims[i] = (size_t)n;
    is_large |= __builtin_mul_overflow(known, dims[i], &known);
  }
  if (open < 0)
    return GA_NO_ERROR;
  if (is_large)
    return GA_FAIL(GA_XLARGE_ERROR,
                   "the new shape has more elements than can be addressed");
  if (known == 0 || count % known != 0)
    return GA_FAIL(
        GA_VALUE_ERROR,
        "%zu elements do not fill the -1 of a shape whose other axes have %zu", count,
        known);
  dims[open] = count / known;
  return GA_NO_ERROR;
}

static int run_shaped(ga_frame *f, const ga_step *s) {
  const GpuArray *a = &f->arrays[s->ins[0]];
  GpuArray *out = &f->arrays[s->outs[0]];
  size_t dims[GA_MAX_NDIM];
  GA_TRY(wanted_shape(dims, f, s, ga__array_count(a)));
  if (s->kind == GA_STEP_BROADCAST)
    return GpuArray_broadcast_to(out, a, s->nd, dims);
  return GpuArray_reshape(out, a, s->nd, dims, GA_C_ORDER, 0);
}

/* Checks a result against its declared type. */
static int check_result(const ga_frame *f, const ga_step *s, unsigned int i) {
  const ga_value *v = &f->plan->graph.values[s->outs[i]];
  const GpuArray *a = &f->arrays[s->outs[i]];
  char text[GA_ARRAY_TEXT];
  if (a->data != NULL && a->typecode == v->typecode && a->nd == v->nd)
    return GA_NO_ERROR;
  return GA_FAIL(GA_INVALID_ERROR, "result %u is %s, declared as %s of %u axes", i,
                 a->data ? ga__array_text(text, a) : "no array",
                 ga__dtype_name(v->typecode), v->nd);
}

int ga__step_check_results(const ga_frame *f, const ga_step *s) {
  for (unsigned int i = 0; i < s->n_out; i++)
    GA_TRY(check_result(f, s, i));
  return GA_NO_ERROR;
}

static int run_reports(ga_frame *f, const ga_step *s) {
  gpudata *count;
  GA_TRY(ga__report_count(&count, f->plan->context));
  return GpuArray_fromdata(&f->arrays[s->outs[0]], count, 0, GA_UINT, 0, NULL, NULL, 0);
}

int ga__step_run_plain(ga_frame *f, const ga_step *s) {
  switch (s->kind) {
  case GA_STEP_INT:
  case GA_STEP_DEVICE:
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
  case GA_STEP_TRANSFER: /* one that does not cross */
    return GpuArray_copy(&f->arrays[s->outs[0]], &f->arrays[s->ins[0]], GA_C_ORDER);
  case GA_STEP_REPORTS:
    return run_reports(f, s);
  default: /* has its own run function */
    break;
  }
  return GA_NO_ERROR;
}
