/* Pooling: geometry, checks, and layouts that the kernels take. */
#include "c/dnn/pooling_call.h"

#include <string.h>

#include "c/base/counts.h"

void gpupool_init(gpupool *p, unsigned int nd, gpupool_mode mode,
                  const size_t *window) {
  if (p == NULL)
    return;
  *p = (gpupool){.size = sizeof *p, .nd = nd, .mode = mode};
  for (unsigned int i = 0; window != NULL && i < nd && i < GA_POOL_AXES; i++)
    p->window[i] = p->stride[i] = window[i];
}

/* ---- geometry ---- */

static int check_numbers(const gpupool *p, unsigned int axis, const char *operation) {
  const size_t window = p->window[axis], stride = p->stride[axis];
  const size_t before = p->before[axis], after = p->after[axis];
  const size_t most = INT32_MAX;
  if (window == 0 || stride == 0 || window > most || stride > most)
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: window %zu and stride %zu of spatial axis %u, expected 1 to "
                   "2^31 - 1",
                   operation, window, stride, axis);
  if (before >= window || after >= window)
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: padding %zu and %zu of spatial axis %u, expected less than the "
                   "window, %zu",
                   operation, before, after, axis, window);
  return GA_NO_ERROR;
}

static int check_description(const gpupool *p, const char *operation) {
  GA_TRY(ga__check_filled(p, sizeof *p, operation, "description", "gpupool_init"));
  if (p->nd < 1 || p->nd > GA_POOL_AXES)
    return GA_FAIL(GA_VALUE_ERROR, "%s: %u spatial axes, expected 1 to %d", operation,
                   p->nd, GA_POOL_AXES);
  if ((unsigned int)p->mode > GA_POOL_AVERAGE_PADDED ||
      (p->flags & ~(GA_POOL_CEIL | GA_POOL_SHARED)) != 0)
    return GA_FAIL(GA_INVALID_ERROR,
                   "%s: mode %d and flags 0x%x, expected a gpupool_mode and some of "
                   "GA_POOL_CEIL and GA_POOL_SHARED",
                   operation, (int)p->mode, (unsigned int)p->flags);
  for (unsigned int i = 0; i < p->nd; i++)
    GA_TRY(check_numbers(p, i, operation));
  return GA_NO_ERROR;
}

static size_t result_of(const gpupool *p, unsigned int axis, size_t length) {
  const size_t window = p->window[axis], stride = p->stride[axis];
  const size_t inside = length + p->before[axis], v = inside + p->after[axis];
  if ((p->flags & GA_POOL_CEIL) == 0)
    return v < window ? 0 : (v - window) / stride + 1;
  const size_t whole = v < window ? 0 : ga__ceil_div(v - window, stride);
  return ga__smaller(whole + 1, ga__ceil_div(inside, stride));
}

static int fill_axes(ga_pooling_axis axes[GA_POOL_AXES], const gpupool *p,
                     const size_t *lengths, const char *operation) {
  const size_t most = SIZE_MAX / 8; /* so that no sum overflows */
  for (int i = 0; i < GA_POOL_AXES; i++)
    axes[i] = (ga_pooling_axis){1, 1, 1, 1, 0, 0};
  for (unsigned int i = 0; i < p->nd; i++) {
    ga_pooling_axis *x = &axes[GA_POOL_AXES - p->nd + i];
    if (lengths[i] > most)
      return GA_FAIL(GA_VALUE_ERROR, "%s: spatial axis %u of %zu elements is too long",
                     operation, i, lengths[i]);
    *x = (ga_pooling_axis){lengths[i],   result_of(p, i, lengths[i]),
                           p->window[i], p->stride[i],
                           p->before[i], p->after[i]};
    if (x->length == 0 && x->result > 0)
      return GA_FAIL(GA_VALUE_ERROR,
                     "%s: spatial axis %u has no elements, only padding %zu and %zu, "
                     "for windows of %zu",
                     operation, i, x->before, x->after, x->window);
  }
  return GA_NO_ERROR;
}

int gpupool_shape(size_t *out, const gpupool *p, const size_t *lengths) {
  ga_pooling_axis axes[GA_POOL_AXES];
  GA_TRY(check_description(p, "pool"));
  if (out == NULL || lengths == NULL)
    return ga__fail_null("pool", "shape");
  GA_TRY(fill_axes(axes, p, lengths, "pool"));
  for (unsigned int i = 0; i < p->nd; i++)
    out[i] = axes[GA_POOL_AXES - p->nd + i].result;
  return GA_NO_ERROR;
}

/* ---- operands ---- */

/* A call: its operands, NULL where the role has none. */
typedef struct pool_call {
  const char *operation;
  enum ga_pooling_role role;
  const gpupool *p;
  const GpuArray *list[GA_POOL_OPERANDS];
} pool_call;

static const char *name_of(const pool_call *c, int which) {
  static const char *const names[] = {"output", "data", "result", "values"};
  const bool is_grad = c->role == GA_POOL_GRAD || c->role == GA_POOL_SHARES;
  return which == GA_POOL_VALUES && is_grad ? "gradient" : names[which];
}

static int check_type(const pool_call *c) {
  const GpuArray *a = c->list[GA_POOL_OUT];
  const char kind = ga__dtype_kind(a->typecode);
  const bool takes_integers = c->role == GA_POOL_RESULT && c->p->mode <= GA_POOL_SUM;
  char text[GA_ARRAY_TEXT];
  if (kind != 'f' && !(takes_integers && (kind == 'i' || kind == 'u')))
    return GA_FAIL(GA_INVALID_ERROR, "%s: the output is %s, expected %s", c->operation,
                   ga__array_text(text, a),
                   takes_integers ? "real numbers" : "floating-point numbers");
  return ga__context_supports(GpuArray_context(a), a->typecode, c->operation);
}

static int check_arrays(const pool_call *c) {
  const GpuArray *out = c->list[GA_POOL_OUT];
  char text[GA_ARRAY_TEXT];
  if (c->role > GA_POOL_GRAD && c->p->mode != GA_POOL_MAX)
    return GA_FAIL(GA_INVALID_ERROR, "%s: mode %d, expected GA_POOL_MAX", c->operation,
                   (int)c->p->mode);
  GA_TRY(ga__array_check(out, c->operation));
  GA_TRY(check_type(c));
  for (int i = 0; i < GA_POOL_OPERANDS; i++) {
    const GpuArray *a = c->list[i];
    if (!ga__pooling_has(c->role, (int)c->p->mode, (enum ga_pooling_operand)i))
      continue;
    if (a == NULL)
      return ga__fail_null(c->operation, name_of(c, i));
    GA_TRY(ga__array_fits(a, GpuArray_context(out), out->typecode, c->operation,
                          name_of(c, i)));
    if (a->nd < c->p->nd)
      return GA_FAIL(GA_VALUE_ERROR, "%s: the %s is %s, expected %u axes or more",
                     c->operation, name_of(c, i), ga__array_text(text, a), c->p->nd);
  }
  return ga__array_writeable(out, c->operation);
}

/* GA_VALUE_ERROR unless each operand has the shape of the data or of its result. */
static int check_shapes(const pool_call *c, const ga_pooling_axis axes[GA_POOL_AXES]) {
  const GpuArray *data = c->list[c->role == GA_POOL_GRAD ? GA_POOL_OUT : GA_POOL_DATA];
  const unsigned int outer = data->nd - c->p->nd;
  char given[GA_ARRAY_TEXT], expected[GA_SHAPE_TEXT];
  for (int i = 0; i < GA_POOL_OPERANDS; i++) {
    const GpuArray *a = c->list[i];
    size_t dims[GA_MAX_NDIM];
    if (!ga__pooling_has(c->role, (int)c->p->mode, (enum ga_pooling_operand)i))
      continue;
    memcpy(dims, data->dimensions, data->nd * sizeof *dims);
    for (unsigned int k = 0; k < c->p->nd; k++)
      if (!ga__pooling_is_data(c->role, (enum ga_pooling_operand)i))
        dims[outer + k] = axes[GA_POOL_AXES - c->p->nd + k].result;
    if (!ga__array_has_shape(a, data->nd, dims))
      return GA_FAIL(GA_VALUE_ERROR, "%s: the %s is %s, expected the shape %s",
                     c->operation, name_of(c, i), ga__array_text(given, a),
                     ga__shape_text(expected, data->nd, dims));
  }
  return GA_NO_ERROR;
}

/* ---- layouts ---- */

/* Strides of the outer axes of all operands, merged. */
typedef struct outer_axes {
  unsigned int nd;
  size_t dims[GA_MAX_NDIM];
  ssize_t strides[GA_POOL_OPERANDS][GA_MAX_NDIM];
} outer_axes;

static void merge_outer(outer_axes *o, const pool_call *c) {
  const GpuArray *out = c->list[GA_POOL_OUT];
  ssize_t *lists[GA_POOL_OPERANDS];
  unsigned int n = 0;
  memset(o, 0, sizeof *o);
  o->nd = out->nd - c->p->nd;
  memcpy(o->dims, out->dimensions, o->nd * sizeof *o->dims);
  for (int i = 0; i < GA_POOL_OPERANDS; i++) {
    if (!ga__pooling_has(c->role, (int)c->p->mode, (enum ga_pooling_operand)i))
      continue;
    memcpy(o->strides[i], c->list[i]->strides, o->nd * sizeof *o->strides[i]);
    lists[n++] = o->strides[i];
  }
  if (o->nd > 0)
    ga__shape_collapse(n, &o->nd, o->dims, lists);
}

static ga_pooling_array memory_of(const GpuArray *a, const outer_axes *o,
                                  const ssize_t *outer, unsigned int nd) {
  const ssize_t size = (ssize_t)GpuArray_ITEMSIZE(a);
  ga_pooling_array m = {.data = a->data, .offset = a->offset};
  for (unsigned int i = 0; i < o->nd; i++)
    m.outer[2 - o->nd + i] = outer[i] / size;
  for (unsigned int i = 0; i < nd; i++)
    m.inner[GA_POOL_AXES - nd + i] = a->strides[a->nd - nd + i] / size;
  return m;
}

static int launch(const pool_call *c, const ga_pooling_axis axes[GA_POOL_AXES],
                  const outer_axes *o) {
  const GpuArray *out = c->list[GA_POOL_OUT];
  ga_pooling pool = {.role = c->role,
                     .mode = (int)c->p->mode,
                     .typecode = out->typecode,
                     .is_shared = c->role == GA_POOL_AT_MAXIMA &&
                                  (c->p->flags & GA_POOL_SHARED) != 0,
                     .context = GpuArray_context(out),
                     .outer = {1, 1}};
  memcpy(pool.axes, axes, sizeof pool.axes);
  for (unsigned int i = 0; i < o->nd; i++)
    pool.outer[2 - o->nd + i] = o->dims[i];
  for (int i = 0; i < GA_POOL_OPERANDS; i++)
    if (ga__pooling_has(c->role, pool.mode, (enum ga_pooling_operand)i))
      pool.operands[i] = memory_of(c->list[i], o, o->strides[i], c->p->nd);
  return ga__pooling_launch(&pool);
}

static bool shares_memory(const pool_call *c) {
  for (int i = 1; i < GA_POOL_OPERANDS; i++)
    if (ga__pooling_has(c->role, (int)c->p->mode, (enum ga_pooling_operand)i) &&
        GpuArray_share(c->list[GA_POOL_OUT], c->list[i]))
      return true;
  return false;
}

/* The same on copies in C order, whose outer axes are one. */
static int run_on_copies(const pool_call *c, const ga_pooling_axis axes[GA_POOL_AXES]) {
  const GpuArray *out = c->list[GA_POOL_OUT];
  GpuArray copies[GA_POOL_OPERANDS] = {0};
  pool_call packed = *c;
  outer_axes outer;
  int status = GpuArray_empty(&copies[GA_POOL_OUT], GpuArray_context(out),
                              out->typecode, out->nd, out->dimensions, GA_C_ORDER);
  packed.list[GA_POOL_OUT] = &copies[GA_POOL_OUT];
  for (int i = 1; i < GA_POOL_OPERANDS; i++) {
    if (!ga__pooling_has(c->role, (int)c->p->mode, (enum ga_pooling_operand)i))
      continue;
    GA_THEN(status, GpuArray_copy(&copies[i], c->list[i], GA_C_ORDER));
    packed.list[i] = &copies[i];
  }
  if (status == GA_NO_ERROR) {
    merge_outer(&outer, &packed);
    status = launch(&packed, axes, &outer);
  }
  GA_THEN(status, GpuArray_move((GpuArray *)(uintptr_t)out, &copies[GA_POOL_OUT]));
  for (int i = 0; i < GA_POOL_OPERANDS; i++)
    GpuArray_clear(&copies[i]);
  return status;
}

/* Zeros: the gradient of no windows. */
static int write_zeros(const GpuArray *out) {
  GpuArray zeros;
  GA_TRY(GpuArray_zeros(&zeros, GpuArray_context(out), out->typecode, out->nd,
                        out->dimensions, GA_C_ORDER));
  int status = GpuArray_move((GpuArray *)(uintptr_t)out, &zeros);
  GpuArray_clear(&zeros);
  return status;
}

static int check(const pool_call *c, ga_pooling_axis axes[GA_POOL_AXES]) {
  GA_TRY(check_description(c->p, c->operation));
  GA_TRY(check_arrays(c));
  const GpuArray *data = c->list[c->role == GA_POOL_GRAD ? GA_POOL_OUT : GA_POOL_DATA];
  GA_TRY(fill_axes(axes, c->p, data->dimensions + data->nd - c->p->nd, c->operation));
  return check_shapes(c, axes);
}

static int run(const pool_call *c) {
  ga_pooling_axis axes[GA_POOL_AXES];
  outer_axes outer;
  bool has_windows = true;
  GA_TRY(check(c, axes));
  const GpuArray *out = c->list[GA_POOL_OUT];
  if (ga__array_count(out) == 0)
    return GA_NO_ERROR;
  for (int i = 0; i < GA_POOL_AXES; i++)
    has_windows = has_windows && axes[i].result > 0;
  if (!has_windows)
    return write_zeros(out);
  merge_outer(&outer, c);
  return outer.nd > 2 || shares_memory(c) ? run_on_copies(c, axes)
                                          : launch(c, axes, &outer);
}

/* Divides each window's gradient by the number of its maxima, then adds these up. */
static int run_shared(const pool_call *c) {
  ga_pooling_axis axes[GA_POOL_AXES];
  GpuArray shares;
  pool_call of_windows = *c, of_elements = *c;
  GA_TRY(check(c, axes));
  const GpuArray *grad = c->list[GA_POOL_VALUES];
  GA_TRY(GpuArray_empty(&shares, GpuArray_context(grad), grad->typecode, grad->nd,
                        grad->dimensions, GA_C_ORDER));
  of_windows.role = GA_POOL_SHARES, of_windows.list[GA_POOL_OUT] = &shares;
  of_elements.list[GA_POOL_VALUES] = &shares;
  int status = run(&of_windows);
  GA_THEN(status, run(&of_elements));
  GpuArray_clear(&shares);
  return status;
}

/* ---- entries ---- */

int GpuArray_pool(GpuArray *out, const GpuArray *a, const gpupool *p) {
  return run(&(pool_call){"pool", GA_POOL_RESULT, p, {out, a, NULL, NULL}});
}

int GpuArray_pool_grad(GpuArray *out, const GpuArray *a, const GpuArray *result,
                       const GpuArray *grad, const gpupool *p) {
  const pool_call c = {"pool_grad", GA_POOL_GRAD, p, {out, a, result, grad}};
  const bool is_shared = p != NULL && p->size == sizeof *p && p->mode == GA_POOL_MAX &&
                         (p->flags & GA_POOL_SHARED) != 0;
  return is_shared ? run_shared(&c) : run(&c);
}

int GpuArray_pool_at_maxima(GpuArray *out, const GpuArray *a, const GpuArray *result,
                            const GpuArray *v, const gpupool *p) {
  return run(&(pool_call){"pool_at_maxima", GA_POOL_AT_MAXIMA, p, {out, a, result, v}});
}

int GpuArray_pool_at_first(GpuArray *out, const GpuArray *a, const GpuArray *v,
                           const gpupool *p) {
  return run(&(pool_call){"pool_at_first", GA_POOL_AT_FIRST, p, {out, a, NULL, v}});
}
