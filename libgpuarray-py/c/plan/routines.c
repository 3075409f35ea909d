/* Table of the library's routines that plans call by name. */
#include "c/plan/routines.h"

#include <gpuarray/blas.h>
#include <gpuarray/index.h>
#include <gpuarray/reduction.h>
#include <gpuarray/scan.h>
#include <gpuarray/sort.h>
#include <string.h>

#include "c/array/array.h"
#include "c/index/count.h"
#include "c/index/mask.h"
#include "c/library/fourier.h"
#include "c/library/matrices.h"
#include "c/plan/plan_launch.h"
#include "c/reduce/reduction.h"
#include "c/reduce/rows.h"
#include "c/sort/search.h"

/* ---- arguments ---- */

/* Normalizes an axis that may be negative. */
static int check_axis(unsigned int *axis, const GpuArray *a, long long number,
                      const char *name) {
  const long long at = number < 0 ? number + (long long)a->nd : number;
  if (at < 0 || at >= (long long)a->nd)
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: axis %lld is out of range for an array of %u axes", name,
                   number, a->nd);
  *axis = (unsigned int)at;
  return GA_NO_ERROR;
}

/* Saturates: no int beyond is an axis or a flag. */
static int as_int(long long number) {
  return number < INT32_MIN || number > INT32_MAX ? INT32_MAX : (int)number;
}

static int empty_like(ga_routine_call *c, unsigned int i, const GpuArray *a,
                      int typecode) {
  return GpuArray_empty(c->outs[i], c->context, typecode, a->nd, a->dimensions,
                        GA_C_ORDER);
}

/* Clears the results where computing them failed. */
static int or_clear(ga_routine_call *c, int status) {
  for (unsigned int i = 0; status != GA_NO_ERROR && i < c->n_out; i++)
    GpuArray_clear(c->outs[i]);
  return status;
}

/* The number of inputs before the integers. */
static unsigned int count_arrays(const ga_routine_call *c) {
  unsigned int n = 0;
  while (n < c->n_in && c->ins[n] != NULL)
    n++;
  return n;
}

/* ---- sorting ---- */

static int run_sort(ga_routine_call *c) {
  const GpuArray *a = c->ins[0];
  GA_TRY(empty_like(c, 0, a, a->typecode));
  return or_clear(
      c, GpuArray_sort(c->outs[0], a, as_int(c->params[0]), as_int(c->params[1])));
}

static int run_argsort(ga_routine_call *c) {
  const GpuArray *a = c->ins[0];
  GA_TRY(empty_like(c, 0, a, GA_LONG));
  return or_clear(
      c, GpuArray_argsort(c->outs[0], a, as_int(c->params[0]), as_int(c->params[1])));
}

static int run_topk(ga_routine_call *c) {
  const GpuArray *a = c->ins[0];
  size_t dims[GA_MAX_NDIM];
  unsigned int axis = 0;
  GA_TRY(check_axis(&axis, a, c->params[0], "topk"));
  if (c->ints[1] < 0)
    return GA_FAIL(GA_VALUE_ERROR, "topk: k is %lld, expected 0 or more", c->ints[1]);
  memcpy(dims, a->dimensions, a->nd * sizeof *dims);
  dims[axis] = (size_t)c->ints[1];
  GA_TRY(GpuArray_empty(c->outs[0], c->context, a->typecode, a->nd, dims, GA_C_ORDER));
  int status = GpuArray_empty(c->outs[1], c->context, GA_LONG, a->nd, dims, GA_C_ORDER);
  GA_THEN(status, GpuArray_topk(c->outs[0], c->outs[1], a, dims[axis], (int)axis,
                                c->params[1] != 0, 1));
  return or_clear(c, status);
}

/* ---- scans and reductions ---- */

static int run_scan(ga_routine_call *c) {
  static int (*const scans[])(GpuArray *, const GpuArray *, int, int) = {
      GpuArray_cumsum, GpuArray_cumprod, GpuArray_cummax, GpuArray_cummin};
  const long long kind = c->params[0];
  if (kind < 0 || kind >= (long long)(sizeof scans / sizeof *scans))
    return GA_FAIL(GA_VALUE_ERROR, "scan: unknown kind %lld", kind);
  GA_TRY(empty_like(c, 0, c->ins[0], c->types[0].typecode));
  return or_clear(c, scans[kind](c->outs[0], c->ins[0], as_int(c->params[1]),
                                 as_int(c->params[2])));
}

static int run_extremum(ga_routine_call *c) {
  const GpuArray *a = c->ins[0];
  const int wanted = as_int(c->params[2]);
  GpuArray results[2];
  GpuReduction *gr;
  unsigned int axis = 0;
  GA_TRY(check_axis(&axis, a, c->params[0], "extremum"));
  if (wanted < GA_EXTREMUM_VALUE || wanted > GA_EXTREMUM_BOTH ||
      c->n_out != (wanted == GA_EXTREMUM_BOTH ? 2u : 1u))
    return GA_FAIL(GA_VALUE_ERROR,
                   "extremum: the results %d do not match %u output arrays", wanted,
                   c->n_out);
  GA_TRY(ga__extremum_get(&gr, c->context, a->typecode, c->params[1] != 0, wanted));
  const void *ins[] = {a};
  GA_TRY(ga__reduction_apply(gr, results, (void *const *)(uintptr_t)ins, 1, &axis, 0));
  for (unsigned int i = 0; i < c->n_out; i++)
    *c->outs[i] = results[i];
  return GA_NO_ERROR;
}

/* ---- indexing and search ---- */

static int run_join(ga_routine_call *c) {
  return GpuArray_concatenate(c->outs[0], c->ins, c->n_in,
                              (unsigned int)as_int(c->params[0]), c->types[0].typecode);
}

static int run_nonzero(ga_routine_call *c) {
  return ga__nonzero_bounded(c->outs[0], c->ins[0]);
}

static int run_take(ga_routine_call *c) {
  return GpuArray_take(c->outs[0], c->ins[0], c->n_in - 1, c->ins + 1,
                       (unsigned int)as_int(c->params[0]), GA_INDEX_RAISE);
}

/* In place: the result is a view of the first input. */
static int run_put(ga_routine_call *c) {
  GA_TRY(GpuArray_view(c->outs[0], c->ins[0]));
  return or_clear(c, GpuArray_put(c->outs[0], c->n_in - 2, c->ins + 1,
                                  (unsigned int)as_int(c->params[0]),
                                  c->ins[c->n_in - 1], GA_INDEX_RAISE));
}

static int run_add_at(ga_routine_call *c) {
  GA_TRY(GpuArray_view(c->outs[0], c->ins[0]));
  return or_clear(c, GpuArray_add_at(c->outs[0], c->n_in - 2, c->ins + 1,
                                     (unsigned int)as_int(c->params[0]),
                                     c->ins[c->n_in - 1], GA_INDEX_RAISE));
}

static int run_assign(ga_routine_call *c) {
  GA_TRY(GpuArray_view(c->outs[0], c->ins[0]));
  return or_clear(c, GpuArray_setarray(c->outs[0], c->ins[1]));
}

static int run_search(ga_routine_call *c) {
  return ga__search(c->outs[0], c->ins[0], c->ins[1], c->params[0] != 0);
}

/* ---- products ---- */

/* Bit cast. */
static double as_double(long long bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Casts const away for functions that only read. */
static GpuArray *input(const ga_routine_call *c, unsigned int i) {
  return (GpuArray *)(uintptr_t)c->ins[i];
}

enum product_kind { DOT, GEMV, GEMM, GEMM_BATCH };

static int run_product(ga_routine_call *c) {
  const long long *p = c->params;
  GpuArray *a = input(c, 0), *b = input(c, 1), *r = c->outs[0];
  if (p[1] < cb_no_trans || p[1] > cb_conj_trans || p[2] < cb_no_trans ||
      p[2] > cb_conj_trans)
    return GA_FAIL(GA_VALUE_ERROR,
                   "product: got transpositions %lld and %lld, expected cb_no_trans, "
                   "cb_trans or cb_conj_trans",
                   p[1], p[2]);
  const cb_transpose ta = (cb_transpose)p[1], tb = (cb_transpose)p[2];
  const double alpha[2] = {as_double(p[3]), as_double(p[4])};
  const double beta[2] = {as_double(p[5]), as_double(p[6])};
  GA_TRY(GpuArray_view(r, c->ins[2]));
  switch (p[0]) {
  case DOT:
    return or_clear(c, GpuArray_rdot(a, b, r, 0));
  case GEMV:
    return or_clear(c, GpuArray_cgemv(ta, alpha, a, b, beta, r, 0));
  case GEMM:
    return or_clear(c, GpuArray_cgemm(ta, tb, alpha, a, b, beta, r, 0));
  case GEMM_BATCH:
    return or_clear(c, GpuArray_cgemmBatch_3d(ta, tb, alpha, a, b, beta, r, 0));
  default:
    return or_clear(c, GA_FAIL(GA_VALUE_ERROR, "product: unknown kind %lld", p[0]));
  }
}

static int run_ger(ga_routine_call *c) {
  const double alpha[2] = {as_double(c->params[0]), as_double(c->params[1])};
  GA_TRY(GpuArray_view(c->outs[0], c->ins[0]));
  return or_clear(c, GpuArray_cgeru(alpha, input(c, 1), input(c, 2), c->outs[0], 0));
}

/* Factorizations and solves: the kind, flags, and the bits of a cutoff. */
static int run_matrices(ga_routine_call *c) {
  const ga_matrices_call m = {.kind = (enum ga_matrices_kind)c->params[0],
                              .flags = (unsigned int)as_int(c->params[1]),
                              .cutoff = as_double(c->params[2]),
                              .failure = c->texts[0]};
  if (c->params[0] < 0 || c->params[0] >= GA_MATRICES_N)
    return GA_FAIL(GA_VALUE_ERROR, "matrices: unknown kind %lld", c->params[0]);
  return ga__matrices_run(c->outs, c->n_out, c->ins, c->n_in, &m);
}

/* A row program's texts: arguments, results, the operation of its indices, then a name
 * and a source for each form. */
typedef struct rows_texts {
  const char *names[GA_ROWS_TEXTS], *texts[GA_ROWS_TEXTS];
} rows_texts;

static ga_rows_call rows_call(rows_texts *t, const char *const *texts) {
  for (unsigned int i = 0; i < GA_ROWS_TEXTS; i++) {
    t->names[i] = texts[3 + 2 * i];
    t->texts[i] = texts[4 + 2 * i];
  }
  return (ga_rows_call){.arguments = texts[0],
                        .outputs = texts[1],
                        .operation = texts[2],
                        .names = t->names,
                        .texts = t->texts};
}

static int rows_source(ga_source *out, const char *const *texts) {
  rows_texts t;
  const ga_rows_call call = rows_call(&t, texts);
  return ga__rows_source(out, &call);
}

/* Parameters: the words of scratch, with totals the bytes of the folds, then for each
 * result the input that it overwrites. */
static int call_rows(ga_routine_call *c, bool has_totals, bool is_product) {
  enum { MOST = 64 }; /* results */
  const unsigned int n_arrays = count_arrays(c), n_own = has_totals ? 2 : 1;
  int typecodes[MOST];
  rows_texts t;
  ga_rows_call rows = rows_call(&t, c->texts);
  const bool has_over = c->n_params == n_own + c->n_out;
  const bool is_old = c->n_params == n_own && !has_totals; /* nothing is overwritten */
  if (c->n_out > MOST || !(has_over || is_old) || c->params[0] < 0 ||
      c->params[n_own - 1] < 0)
    return GA_FAIL(GA_VALUE_ERROR, "rows: %u results and %u parameters do not match",
                   c->n_out, c->n_params);
  for (unsigned int i = 0; i < c->n_out; i++)
    typecodes[i] = c->types[i].typecode;
  rows.words = (unsigned int)as_int(c->params[0]);
  rows.over = has_over ? c->params + n_own : NULL;
  rows.is_product = is_product;
  rows.totals.fold_bytes = has_totals ? (size_t)as_int(c->params[1]) : 0;
  return (has_totals ? ga__rows_totals : ga__rows_run)(
      c->outs, typecodes, c->n_out, c->ins, n_arrays, c->ints + n_arrays,
      c->n_in - n_arrays, c->context, &rows);
}

static int run_rows(ga_routine_call *c) {
  return call_rows(c, false, false);
}

static int run_row_products(ga_routine_call *c) {
  return call_rows(c, false, true);
}

static int run_row_totals(ga_routine_call *c) {
  return call_rows(c, true, false);
}

/* The user's own kernel. It writes into its arrays; the first one is the result. */
static int run_kernel(ga_routine_call *c) {
  const unsigned int n_arrays = count_arrays(c);
  const ga_plan_launch l = {.context = c->context,
                            .source = c->texts[0],
                            .name = c->texts[1],
                            .n_params = c->n_params,
                            .n_arrays = n_arrays,
                            .n_ints = c->n_in - n_arrays,
                            .params = c->params,
                            .ints = c->ints + n_arrays,
                            .arrays = c->ins};
  GA_TRY(GpuArray_view(c->outs[0], c->ins[0]));
  return or_clear(c, ga__plan_launch(&l));
}

/* ---- transforms ---- */

static int run_fft(ga_routine_call *c) {
  const long long flags = c->params[1];
  return ga__fourier(c->outs[0], c->ins[0], c->params[0], c->ints[1],
                     flags < 0 || flags > INT32_MAX ? UINT32_MAX : (unsigned int)flags);
}

/* ---- creation, casts, checks ---- */

static int check_lengths(size_t *dims, const ga_routine_call *c, const char *name) {
  if (c->n_in > GA_MAX_NDIM)
    return GA_FAIL(GA_VALUE_ERROR, "%s: got %u lengths, expected at most %d", name,
                   c->n_in, GA_MAX_NDIM);
  for (unsigned int i = 0; i < c->n_in; i++) {
    if (c->ints[i] < 0)
      return GA_FAIL(GA_VALUE_ERROR,
                     "%s: got length %lld for axis %u, expected 0 or more", name,
                     c->ints[i], i);
    dims[i] = (size_t)c->ints[i];
  }
  return GA_NO_ERROR;
}

static int run_empty(ga_routine_call *c) {
  size_t dims[GA_MAX_NDIM];
  GA_TRY(check_lengths(dims, c, "empty"));
  return GpuArray_empty(c->outs[0], c->context, c->types[0].typecode, c->n_in, dims,
                        GA_C_ORDER);
}

static int run_zeros(ga_routine_call *c) {
  size_t dims[GA_MAX_NDIM];
  GA_TRY(check_lengths(dims, c, "zeros"));
  return GpuArray_zeros(c->outs[0], c->context, c->types[0].typecode, c->n_in, dims,
                        GA_C_ORDER);
}

static int run_arange(ga_routine_call *c) {
  const size_t n = c->ints[0] > 0 ? (size_t)c->ints[0] : 0;
  GpuArray counted = {0};
  if (c->types[0].typecode == GA_LONG)
    return ga__count(c->outs[0], c->context, n);
  GA_TRY(ga__count(&counted, c->context, n));
  int status = GpuArray_astype(c->outs[0], &counted, c->types[0].typecode, GA_C_ORDER);
  GpuArray_clear(&counted);
  return status;
}

static int count_source(ga_source *out, const char *const *texts) {
  (void)texts;
  return ga__count_source(out);
}

static int run_cast(ga_routine_call *c) {
  if (c->ins[0]->typecode == c->types[0].typecode)
    return GpuArray_view(c->outs[0], c->ins[0]);
  return GpuArray_astype(c->outs[0], c->ins[0], c->types[0].typecode, GA_C_ORDER);
}

static int run_contiguous(ga_routine_call *c) {
  return GpuArray_IS_C_CONTIGUOUS(c->ins[0])
             ? GpuArray_view(c->outs[0], c->ins[0])
             : GpuArray_copy(c->outs[0], c->ins[0], GA_C_ORDER);
}

static int run_diagonal(ga_routine_call *c) {
  const GpuArray *a = c->ins[0];
  unsigned int first = 0, second = 0, nd = 0;
  GA_TRY(check_axis(&first, a, c->params[1], "diagonal"));
  GA_TRY(check_axis(&second, a, c->params[2], "diagonal"));
  if (first == second)
    return GA_FAIL(GA_VALUE_ERROR, "diagonal: axis %u is given twice", first);
  const long long shift = as_int(c->params[0]);
  const size_t down = shift < 0 ? (size_t)-shift : 0,
               right = shift > 0 ? (size_t)shift : 0;
  const size_t rows = a->dimensions[first], columns = a->dimensions[second];
  const size_t high = rows > down ? rows - down : 0;
  const size_t wide = columns > right ? columns - right : 0;
  GpuArray *r = c->outs[0];
  GA_TRY(GpuArray_view(r, a));
  for (unsigned int i = 0; i < a->nd; i++)
    if (i != first && i != second) {
      r->dimensions[nd] = a->dimensions[i];
      r->strides[nd++] = a->strides[i];
    }
  r->dimensions[nd] = high < wide ? high : wide;
  r->strides[nd] = a->strides[first] + a->strides[second];
  if (r->dimensions[nd] > 0)
    r->offset += down * (size_t)a->strides[first] + right * (size_t)a->strides[second];
  r->nd = nd + 1;
  GpuArray_fix_flags(r);
  return GA_NO_ERROR;
}

/* Identity, or a failure with the step's text where an integer is zero. */
static int run_check(ga_routine_call *c, int status) {
  for (unsigned int i = 1; i < c->n_in; i++)
    if (c->ints[i] == 0)
      return GA_FAIL(status, "%s", c->texts[0]);
  return GpuArray_view(c->outs[0], c->ins[0]);
}

static int run_require(ga_routine_call *c) {
  return run_check(c, GA_VALUE_ERROR);
}

/* Identity, or a failure where the first integer differs from the second. */
static int run_length(ga_routine_call *c) {
  if (c->ints[1] != c->ints[2])
    return GA_FAIL(GA_VALUE_ERROR, "%s %lld, expected %lld", c->texts[0], c->ints[1],
                   c->ints[2]);
  return GpuArray_view(c->outs[0], c->ins[0]);
}

/* Identity, or a failure where there are more rows than the second integer. */
static int run_at_most(ga_routine_call *c) {
  if (c->ints[1] > c->ints[2])
    return GA_FAIL(GA_INDEX_ERROR,
                   "index %lld is out of bounds for axis 0 of length %lld",
                   c->ints[1] - 1, c->ints[2]);
  return GpuArray_view(c->outs[0], c->ins[0]);
}

/* The array itself, or a failure where its axes from one on are not as long as a
 * mask's. */
static int run_mask(ga_routine_call *c) {
  const GpuArray *a = c->ins[0], *mask = c->ins[1];
  const unsigned int axis = (unsigned int)as_int(c->params[0]);
  for (unsigned int k = 0; k < mask->nd; k++)
    if (axis + k >= a->nd || a->dimensions[axis + k] != mask->dimensions[k]) {
      char shape[GA_SHAPE_TEXT];
      return GA_FAIL(GA_INDEX_ERROR,
                     "index: a mask of shape %s does not fit axis %u of length %zu",
                     ga__shape_text(shape, mask->nd, mask->dimensions), axis + k,
                     axis + k < a->nd ? a->dimensions[axis + k] : 0);
    }
  return GpuArray_view(c->outs[0], a);
}

static int run_assert(ga_routine_call *c) {
  return run_check(c, GA_ASSERT_ERROR);
}

static const ga_routine routines[] = {
    {"sort", "a", 2, 0, 1, -1, run_sort, NULL},
    {"argsort", "a", 2, 0, 1, -1, run_argsort, NULL},
    {"topk", "ai", 2, 0, 2, -1, run_topk, NULL},
    {"scan", "a", 3, 0, 1, -1, run_scan, NULL},
    {"extremum", "a", 3, 0, 0, -1, run_extremum, NULL},
    {"join", "a+", 1, 0, 1, -1, run_join, NULL},
    {"take", "aa+", 1, 0, 1, -1, run_take, NULL},
    {"nonzero", "a", 0, 0, 1, -1, run_nonzero, NULL},
    {"put", "aaa+", 1, 0, 1, 0, run_put, NULL},
    {"add_at", "aaa+", 1, 0, 1, 0, run_add_at, NULL},
    {"assign", "aa", 0, 0, 1, 0, run_assign, NULL},
    {"product", "aaa", 7, 0, 1, 2, run_product, NULL},
    {"searchsorted", "aa", 1, 0, 1, -1, run_search, NULL},
    {"matrices", "a+", 3, 1, 0, -1, run_matrices, NULL},
    {"fft", "ai", 2, 0, 1, -1, run_fft, NULL},
    {"ger", "aaa", 2, 0, 1, 0, run_ger, NULL},
    {"rows", "a+i*", GA_ANY_PARAMS, 3 + 2 * GA_ROWS_TEXTS, 0, GA_OVER_PARAMS, run_rows,
     rows_source},
    {"row_products", "a+i*", GA_ANY_PARAMS, 3 + 2 * GA_ROWS_TEXTS, 0, GA_OVER_PARAMS,
     run_row_products, rows_source},
    {"row_totals", "a+i*", GA_ANY_PARAMS, 3 + 2 * GA_ROWS_TEXTS, 0, GA_OVER_PARAMS,
     run_row_totals, NULL},
    {GA_PLAN_KERNEL, "a+i*", GA_ANY_PARAMS, 2, 1, 0, run_kernel, NULL},
    {"empty", "i*", 0, 0, 1, -1, run_empty, NULL},
    {"zeros", "i*", 0, 0, 1, -1, run_zeros, NULL},
    {"arange", "i", 0, 0, 1, -1, run_arange, count_source},
    {"cast", "a", 0, 0, 1, -1, run_cast, NULL},
    {"contiguous", "a", 0, 0, 1, -1, run_contiguous, NULL},
    {"diagonal", "a", 3, 0, 1, -1, run_diagonal, NULL},
    {"require", "ai*", 0, 1, 1, -1, run_require, NULL},
    {"length", "aii", 0, 1, 1, -1, run_length, NULL},
    {"at_most", "aii", 0, 0, 1, -1, run_at_most, NULL},
    {"mask", "aa", 1, 0, 1, -1, run_mask, NULL},
    {"assert", "ai*", 0, 1, 1, -1, run_assert, NULL},
};

const ga_routine *ga__routine_find(const char *name) {
  for (size_t i = 0; i < sizeof routines / sizeof *routines; i++)
    if (strcmp(routines[i].name, name) == 0)
      return &routines[i];
  return NULL;
}
