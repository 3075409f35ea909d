/* Batch normalisation: checks, views of parameters, and its passes in order. */
#include "c/dnn/normalization.h"

#include <gpuarray/dnn.h>

void gpubatchnorm_init(gpubatchnorm *b, unsigned int nd, int is_spatial) {
  if (b == NULL)
    return;
  const unsigned int all = nd < GA_MAX_NDIM ? (1u << nd) - 1 : ~0u;
  *b = (gpubatchnorm){.size = sizeof *b,
                      .axes = is_spatial ? all & ~2u : 1,
                      .epsilon = 1e-4,
                      .factor = 0.1};
}

/* ---- arguments ---- */

/* A parameter or a statistic, and the view of it that broadcasts to the data. */
typedef struct operand {
  const char *role;
  const GpuArray *a; /* NULL if not wanted */
  bool is_result;
  GpuArray view;
} operand;

/* A call. Data are the arrays of the shape of `x`. */
typedef struct norm_call {
  const char *operation;
  const gpubatchnorm *b;
  const GpuArray *out, *x, *grad; /* NULL if there is none */
  int work;
  unsigned int n;
  operand *operands;
} norm_call;

static int check_description(const norm_call *c) {
  const gpubatchnorm *b = c->b;
  GA_TRY(
      ga__check_filled(b, sizeof *b, c->operation, "description", "gpubatchnorm_init"));
  if (!(b->epsilon >= 0))
    return GA_FAIL(GA_VALUE_ERROR, "%s: epsilon %g, expected 0 or more", c->operation,
                   b->epsilon);
  return GA_NO_ERROR;
}

static int check_data(const norm_call *c) {
  const GpuArray *x = c->x, *const more[] = {c->out, c->grad};
  static const char *const roles[] = {"output", "gradient"};
  char text[GA_ARRAY_TEXT], other[GA_ARRAY_TEXT];
  GA_TRY(ga__array_check(x, c->operation));
  GA_TRY(ga__context_check(GpuArray_context(x)));
  if (ga__dtype_kind(x->typecode) != 'f')
    return GA_FAIL(GA_INVALID_ERROR,
                   "%s: the data is %s, expected float16, bfloat16, float32 or float64",
                   c->operation, ga__array_text(text, x));
  GA_TRY(ga__context_supports(GpuArray_context(x), x->typecode, c->operation));
  if (c->b->axes == 0 || (x->nd < GA_MAX_NDIM && c->b->axes >> x->nd != 0))
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: axes 0x%x of data %s, expected a bit for each of some of its "
                   "axes",
                   c->operation, c->b->axes, ga__array_text(text, x));
  for (int i = 0; i < 2; i++) {
    if (more[i] == NULL)
      continue;
    GA_TRY(ga__array_fits(more[i], GpuArray_context(x), x->typecode, c->operation,
                          roles[i]));
    if (!ga__array_same_shape(more[i], x))
      return GA_FAIL(GA_VALUE_ERROR,
                     "%s: the %s is %s, expected the shape of the data "
                     "%s",
                     c->operation, roles[i], ga__array_text(text, more[i]),
                     ga__array_text(other, x));
  }
  return GA_NO_ERROR;
}

/* GA_INVALID_ERROR unless the work type holds the elements, and of a statistic that is
 * written unless it has that type. */
static int check_type(const norm_call *c, const operand *o, bool is_work) {
  const int type = o->a->typecode;
  char text[GA_ARRAY_TEXT];
  const bool fits = is_work ? type == c->work
                            : ga__dtype_kind(type) == 'f' &&
                                  (type != GA_DOUBLE || c->work == GA_DOUBLE);
  if (!fits)
    return GA_FAIL(GA_INVALID_ERROR, "%s: the %s is %s, expected %s%s", c->operation,
                   o->role, ga__array_text(text, o->a),
                   is_work ? "" : "floats no wider than ", ga__dtype_name(c->work));
  return ga__array_fits(o->a, GpuArray_context(c->x), type, c->operation, o->role);
}

/* Sets the view: length 1 along the axes. */
static int place(const norm_call *c, operand *o) {
  const GpuArray *x = c->x, *a = o->a;
  char text[GA_ARRAY_TEXT], expected[GA_SHAPE_TEXT];
  size_t dims[GA_MAX_NDIM];
  unsigned int n = 0;
  GpuArray made = *a;
  made.nd = x->nd;
  bool fits = true, is_whole = a->nd == x->nd;
  for (unsigned int i = 0; i < x->nd; i++) {
    const bool is_over = c->b->axes >> i & 1;
    const unsigned int axis = is_whole ? i : n;
    dims[i] = is_over ? 1 : x->dimensions[i];
    made.dimensions[i] = dims[i];
    made.strides[i] = 0;
    if (is_over && !is_whole)
      continue;
    fits = fits && axis < a->nd && a->dimensions[axis] == dims[i];
    if (axis < a->nd)
      made.strides[i] = a->strides[axis];
    n++;
  }
  if (!fits || n != a->nd)
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: the %s is %s, expected the shape %s, or that without the axes "
                   "of length 1",
                   c->operation, o->role, ga__array_text(text, a),
                   ga__shape_text(expected, x->nd, dims));
  GpuArray_fix_flags(&made);
  return ga__array_give_view(&o->view, &made, c->operation);
}

/* Results but `out` share memory with nothing. */
static int check_sharing(const norm_call *c, const operand *o) {
  const GpuArray *const data[] = {c->out, c->x, c->grad};
  bool shares = false;
  GA_TRY(ga__array_writeable(o->a, c->operation));
  for (int i = 0; i < 3; i++)
    shares = shares || (data[i] != NULL && GpuArray_share(o->a, data[i]));
  for (unsigned int i = 0; i < c->n; i++) {
    const operand *other = &c->operands[i];
    shares =
        shares || (other != o && other->a != NULL && GpuArray_share(o->a, other->a));
  }
  if (shares)
    return GA_FAIL(GA_VALUE_ERROR, "%s: the %s shares memory with another array",
                   c->operation, o->role);
  return GA_NO_ERROR;
}

static void clear(const norm_call *c) {
  for (unsigned int i = 0; i < c->n; i++)
    GpuArray_clear(&c->operands[i].view);
}

/* Checks all, and makes the views. */
static int prepare(norm_call *c, bool has_statistics) {
  GA_TRY(check_description(c));
  if (c->x == NULL)
    return ga__fail_null(c->operation, "data");
  GA_TRY(check_data(c));
  if (c->out != NULL)
    GA_TRY(ga__array_writeable(c->out, c->operation));
  c->work = ga__dtype_work(c->x->typecode);
  int status = GA_NO_ERROR;
  for (unsigned int i = 0; status == GA_NO_ERROR && i < c->n; i++) {
    operand *o = &c->operands[i];
    if (o->a == NULL && o->is_result)
      continue;
    if (o->a == NULL) {
      status = ga__fail_null(c->operation, o->role);
      continue;
    }
    status = ga__array_check(o->a, c->operation);
    GA_THEN(status, check_type(c, o, has_statistics && i < 2));
    GA_THEN(status, place(c, o));
    if (o->is_result)
      GA_THEN(status, check_sharing(c, o));
  }
  if (status != GA_NO_ERROR)
    clear(c);
  return status;
}

/* Elements that a statistic is of. */
static double count_of(const norm_call *c) {
  double n = 1;
  for (unsigned int i = 0; i < c->x->nd; i++)
    if (c->b->axes >> i & 1)
      n *= (double)c->x->dimensions[i];
  return n;
}

/* ---- training ---- */

/* The first element of each batch; of batches without elements the data. */
static int first_of(GpuArray *out, const norm_call *c) {
  ssize_t start[GA_MAX_NDIM] = {0}, stop[GA_MAX_NDIM], step[GA_MAX_NDIM];
  for (unsigned int i = 0; i < c->x->nd; i++) {
    const bool is_over = c->b->axes >> i & 1;
    stop[i] = is_over ? 1 : (ssize_t)c->x->dimensions[i];
    step[i] = 1;
    if (is_over && c->x->dimensions[i] == 0)
      return GpuArray_view(out, c->x);
  }
  return GpuArray_index(out, c->x, start, stop, step);
}

enum { MEAN, INVSTD, OLD_MEAN, OLD_VAR, GAMMA, BETA, OPERANDS };

static int train(const norm_call *c) {
  operand *const o = c->operands;
  const double n = count_of(c),
               numbers[] = {c->b->factor, c->b->factor * (n / (n - 1))};
  GpuArray first = {0}, moments[2] = {{0}}, made[2] = {{0}};
  const GpuArray *mean = &o[MEAN].view, *invstd = &o[INVSTD].view;
  int status = first_of(&first, c);
  GA_THEN(status, ga__norm_moments(moments, c->work, c->x, &first, c->b->axes));
  for (int i = 0; i < 2; i++)
    if (o[i].a == NULL)
      GA_THEN(status, GpuArray_empty(&made[i], GpuArray_context(c->x), c->work,
                                     c->x->nd, moments[0].dimensions, GA_C_ORDER));
  mean = o[MEAN].a ? mean : &made[MEAN], invstd = o[INVSTD].a ? invstd : &made[INVSTD];
  /* nothing is added to an offset of no elements, which is nan */
  const GpuArray *shift = n > 0 ? &first : &moments[0];
  const GpuArray *const statistics[] = {mean, invstd, &moments[0], &moments[1], shift};
  GA_THEN(status,
          ga__norm_pass(GA_NORM_STATISTICS, c->work, statistics, &c->b->epsilon));
  const GpuArray *const averages[] = {&o[OLD_MEAN].view, &o[OLD_VAR].view, mean,
                                      &moments[1]};
  if (o[OLD_MEAN].a != NULL)
    GA_THEN(status, ga__norm_pass(GA_NORM_AVERAGES, c->work, averages, numbers));
  const GpuArray *const normal[] = {c->out,        c->x, &o[GAMMA].view,
                                    &o[BETA].view, mean, invstd};
  GA_THEN(status, ga__norm_pass(GA_NORM_TRAIN, c->work, normal, NULL));
  GpuArray_clear(&first);
  for (int i = 0; i < 2; i++) {
    GpuArray_clear(&moments[i]);
    GpuArray_clear(&made[i]);
  }
  return status;
}

int GpuArray_batch_norm_train(GpuArray *out, GpuArray *mean, GpuArray *invstd,
                              GpuArray *running_mean, GpuArray *running_var,
                              const GpuArray *x, const GpuArray *gamma,
                              const GpuArray *beta, const gpubatchnorm *b) {
  operand operands[OPERANDS] = {
      [MEAN] = {"mean", mean, true, {0}},
      [INVSTD] = {"inverse deviation", invstd, true, {0}},
      [OLD_MEAN] = {"running mean", running_mean, true, {0}},
      [OLD_VAR] = {"running variance", running_var, true, {0}},
      [GAMMA] = {"gamma", gamma, false, {0}},
      [BETA] = {"beta", beta, false, {0}}};
  norm_call c = {"batch_norm_train", b, out, x, NULL, 0, OPERANDS, operands};
  if (out == NULL)
    return ga__fail_null(c.operation, "output");
  if ((running_mean == NULL) != (running_var == NULL))
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: got one of the running mean and variance, expected both or "
                   "none",
                   c.operation);
  GA_TRY(prepare(&c, true));
  const int status = train(&c);
  clear(&c);
  return status;
}

/* ---- inference ---- */

int GpuArray_batch_norm(GpuArray *out, const GpuArray *x, const GpuArray *gamma,
                        const GpuArray *beta, const GpuArray *mean,
                        const GpuArray *variance, const gpubatchnorm *b) {
  operand o[] = {{"gamma", gamma, false, {0}},
                 {"beta", beta, false, {0}},
                 {"mean", mean, false, {0}},
                 {"variance", variance, false, {0}}};
  norm_call c = {"batch_norm", b, out, x, NULL, 0, 4, o};
  if (out == NULL)
    return ga__fail_null(c.operation, "output");
  GA_TRY(prepare(&c, false));
  const GpuArray *const arrays[] = {out,        x,          &o[0].view,
                                    &o[1].view, &o[2].view, &o[3].view};
  const int status = ga__norm_pass(GA_NORM_INFERENCE, c.work, arrays, &b->epsilon);
  clear(&c);
  return status;
}

/* ---- gradient ---- */

static int gradients(const norm_call *c, const operand *o) {
  const GpuArray *gamma = &o[2].view, *mean = &o[3].view, *invstd = &o[4].view;
  const double share = 1 / count_of(c);
  GpuArray sums[2] = {{0}};
  int status = ga__norm_sums(sums, c->work, c->grad, c->x, mean, c->b->axes);
  const GpuArray *const product[] = {&sums[1], invstd};
  GA_THEN(status, ga__norm_pass(GA_NORM_PRODUCT, c->work, product, NULL));
  const GpuArray *const all[] = {c->out, c->grad, c->x,     gamma,
                                 mean,   invstd,  &sums[0], &sums[1]};
  if (c->out != NULL)
    GA_THEN(status, ga__norm_pass(GA_NORM_GRADIENT, c->work, all, &share));
  for (int i = 0; i < 2; i++) {
    GpuArray view = o[i].view;
    if (o[i].a != NULL)
      GA_THEN(status, GpuArray_move(&view, &sums[1 - i]));
  }
  for (int i = 0; i < 2; i++)
    GpuArray_clear(&sums[i]);
  return status;
}

int GpuArray_batch_norm_grad(GpuArray *out, GpuArray *gamma_grad, GpuArray *beta_grad,
                             const GpuArray *grad, const GpuArray *x,
                             const GpuArray *gamma, const GpuArray *mean,
                             const GpuArray *invstd, const gpubatchnorm *b) {
  operand o[] = {{"gradient by gamma", gamma_grad, true, {0}},
                 {"gradient by beta", beta_grad, true, {0}},
                 {"gamma", gamma, false, {0}},
                 {"mean", mean, false, {0}},
                 {"inverse deviation", invstd, false, {0}}};
  norm_call c = {"batch_norm_grad", b, out, x, grad, 0, 5, o};
  if (grad == NULL)
    return ga__fail_null(c.operation, "gradient");
  GA_TRY(prepare(&c, false));
  const int status = gradients(&c, o);
  clear(&c);
  return status;
}
