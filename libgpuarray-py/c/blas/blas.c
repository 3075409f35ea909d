/* BLAS on arrays: checks, and the one product that all routines are. */
#include "c/blas/products.h"

#include <string.h>

#include "c/base/dtype.h"
#include "c/program/kernel_text.h"

/* ---- checks ---- */

static int check_type(const GpuArray *a, const char *operation, const char *name) {
  char text[GA_ARRAY_TEXT];
  if (ga__blas_type_index(a->typecode) < 0)
    return GA_FAIL(GA_INVALID_ERROR,
                   "%s: %s is %s, expected float16, bfloat16, float32, float64, "
                   "complex64 or complex128; convert it with astype",
                   operation, name, ga__array_text(text, a));
  return GA_NO_ERROR;
}

static int check_layout(const GpuArray *a, const char *operation, const char *name) {
  char text[GA_ARRAY_TEXT];
  const ssize_t itemsize = (ssize_t)GpuArray_ITEMSIZE(a);
  bool whole = GpuArray_ISALIGNED(a);
  for (unsigned int i = 0; i < a->nd; i++)
    whole = whole && (a->dimensions[i] <= 1 || a->strides[i] % itemsize == 0);
  if (!whole)
    return GA_FAIL(GA_UNALIGNED_ERROR, "%s: %s, %s, is not aligned; copy it", operation,
                   name, ga__array_text(text, a));
  return GA_NO_ERROR;
}

/* Checks an operand of a product whose first one is `first`. */
static int check_array(const GpuArray *a, const GpuArray *first, const char *operation,
                       const char *name, unsigned int nd) {
  char text[GA_ARRAY_TEXT], other[GA_ARRAY_TEXT];
  GA_TRY(ga__array_check(a, operation));
  if (a->nd != nd)
    return GA_FAIL(GA_VALUE_ERROR, "%s: %s is %s, expected %u %s", operation, name,
                   ga__array_text(text, a), nd, nd == 1 ? "axis" : "axes");
  GA_TRY(check_type(a, operation, name));
  if (a->typecode != first->typecode)
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: the first array is %s, %s is %s: expected one dtype", operation,
                   ga__array_text(text, first), name, ga__array_text(other, a));
  GA_TRY(ga__array_same_context(first, a, operation));
  return check_layout(a, operation, name);
}

static int check_output(const GpuArray *c, const GpuArray *first, const char *operation,
                        const char *name, unsigned int nd) {
  char text[GA_ARRAY_TEXT];
  GA_TRY(check_array(c, first, operation, name, nd));
  GA_TRY(ga__array_writeable(c, operation));
  for (unsigned int i = 0; i < nd; i++)
    if (c->dimensions[i] > 1 && c->strides[i] == 0 && ga__array_count(c) > 0)
      return GA_FAIL(GA_VALUE_ERROR,
                     "%s: the output %s, %s, has stride 0 along axis %u; expected an "
                     "array whose elements are distinct",
                     operation, name, ga__array_text(text, c), i);
  return GA_NO_ERROR;
}

static int check_transpose(cb_transpose t, const char *operation) {
  if (t != cb_no_trans && t != cb_trans && t != cb_conj_trans)
    return GA_FAIL(
        GA_INVALID_ERROR,
        "%s: transposition is %d, expected cb_no_trans, cb_trans or cb_conj_trans",
        operation, (int)t);
  return GA_NO_ERROR;
}

static int check_factors(const double *alpha, const double *beta, int typecode,
                         const char *operation) {
  if (alpha == NULL || beta == NULL)
    return ga__fail_null(operation, "alpha or beta");
  if (ga__dtype_kind(typecode) != 'c' && (alpha[1] != 0 || beta[1] != 0))
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: alpha or beta has an imaginary part, but the arrays are %s",
                   operation, ga__dtype_name(typecode));
  return GA_NO_ERROR;
}

/* ---- operands ---- */

/* Matrix of the last two axes (a vector is a column); a third, leading axis is the
 * batch. */
static ga_factor make_factor(const GpuArray *a, cb_transpose t) {
  const ssize_t itemsize = (ssize_t)GpuArray_ITEMSIZE(a);
  const unsigned int first = a->nd == 3;
  ga_factor f = {
      .data = a->data, .offset = a->offset, .m = 1, .n = 1, .si = 1, .sj = 1};
  if (first && a->dimensions[0] > 1)
    f.step = a->strides[0] / itemsize;
  if (a->nd > 0) {
    f.m = a->dimensions[first];
    f.si = a->strides[first] / itemsize;
  }
  if (a->nd > 1) {
    f.n = a->dimensions[first + 1];
    f.sj = a->strides[first + 1] / itemsize;
  }
  if (t != cb_no_trans)
    f = ga__factor_transposed(f);
  f.is_conjugated = t == cb_conj_trans && ga__dtype_kind(a->typecode) == 'c';
  return f;
}

static const double one[2] = {1, 0}, zero[2] = {0, 0};

static ga_product make_product(const char *operation, const GpuArray *c,
                               const double *alpha, const double *beta) {
  return (ga_product){.operation = operation,
                      .names = {"A", "B", "C"},
                      .context = GpuArray_context(c),
                      .typecode = c->typecode,
                      .alpha = {alpha[0], alpha[1]},
                      .beta = {beta[0], beta[1]},
                      .batch = 1,
                      .c = make_factor(c, cb_no_trans)};
}

static void name_operands(ga_product *p, const char *a, const char *b, const char *c) {
  p->names[0] = a;
  p->names[1] = b;
  p->names[2] = c;
}

static int run(ga_product *p, int nocopy) {
  GA_TRY(ga__context_check(p->context));
  return ga__product(p, nocopy);
}

/* ---- dot ---- */

static int run_dot(const char *operation, GpuArray *X, GpuArray *Y, GpuArray *Z,
                   bool is_conjugated, int nocopy) {
  char x[GA_ARRAY_TEXT], y[GA_ARRAY_TEXT];
  GA_TRY(check_array(X, X, operation, "X", 1));
  GA_TRY(check_array(Y, X, operation, "Y", 1));
  GA_TRY(check_output(Z, X, operation, "Z", 0));
  if (X->dimensions[0] != Y->dimensions[0])
    return GA_FAIL(GA_VALUE_ERROR, "%s: X is %s, Y is %s: expected one length",
                   operation, ga__array_text(x, X), ga__array_text(y, Y));
  ga_product p = make_product(operation, Z, one, zero);
  name_operands(&p, "X", "Y", "Z");
  p.a = make_factor(X, is_conjugated ? cb_conj_trans : cb_trans);
  p.b = make_factor(Y, cb_no_trans);
  return run(&p, nocopy);
}

int GpuArray_rdot(GpuArray *X, GpuArray *Y, GpuArray *Z, int nocopy) {
  return run_dot("dot", X, Y, Z, false, nocopy);
}

int GpuArray_rdotc(GpuArray *X, GpuArray *Y, GpuArray *Z, int nocopy) {
  return run_dot("dotc", X, Y, Z, true, nocopy);
}

/* ---- gemv ---- */

static int check_gemv(const GpuArray *A, const GpuArray *X, const GpuArray *Y,
                      cb_transpose transA) {
  char a[GA_ARRAY_TEXT], x[GA_ARRAY_TEXT], y[GA_ARRAY_TEXT];
  GA_TRY(check_transpose(transA, "gemv"));
  GA_TRY(check_array(A, A, "gemv", "A", 2));
  GA_TRY(check_array(X, A, "gemv", "X", 1));
  GA_TRY(check_output(Y, A, "gemv", "Y", 1));
  const bool flipped = transA != cb_no_trans;
  const size_t m = A->dimensions[flipped], n = A->dimensions[!flipped];
  if (X->dimensions[0] != n || Y->dimensions[0] != m)
    return GA_FAIL(GA_VALUE_ERROR,
                   "gemv: A is %s%s, X is %s, Y is %s: expected X of %zu and Y of %zu",
                   ga__array_text(a, A), flipped ? " transposed" : "",
                   ga__array_text(x, X), ga__array_text(y, Y), n, m);
  return GA_NO_ERROR;
}

int GpuArray_cgemv(cb_transpose transA, const double *alpha, GpuArray *A, GpuArray *X,
                   const double *beta, GpuArray *Y, int nocopy) {
  GA_TRY(check_gemv(A, X, Y, transA));
  GA_TRY(check_factors(alpha, beta, A->typecode, "gemv"));
  ga_product p = make_product("gemv", Y, alpha, beta);
  name_operands(&p, "A", "X", "Y");
  p.a = make_factor(A, transA);
  p.b = make_factor(X, cb_no_trans);
  return run(&p, nocopy);
}

int GpuArray_rgemv(cb_transpose transA, double alpha, GpuArray *A, GpuArray *X,
                   double beta, GpuArray *Y, int nocopy) {
  const double factors[2][2] = {{alpha, 0}, {beta, 0}};
  return GpuArray_cgemv(transA, factors[0], A, X, factors[1], Y, nocopy);
}

/* ---- gemm ---- */

/* Checks the inner dimension; `first` is 1 if a batch axis leads. */
static int check_inner(const GpuArray *A, const GpuArray *B, cb_transpose transA,
                       cb_transpose transB, unsigned int first, const char *operation) {
  char a[GA_ARRAY_TEXT], b[GA_ARRAY_TEXT];
  const bool fa = transA != cb_no_trans, fb = transB != cb_no_trans;
  const size_t k = A->dimensions[first + !fa], other = B->dimensions[first + fb];
  if (other != k)
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: A is %s%s, B is %s%s: inner dimensions %zu and %zu differ",
                   operation, ga__array_text(a, A), fa ? " transposed" : "",
                   ga__array_text(b, B), fb ? " transposed" : "", k, other);
  return GA_NO_ERROR;
}

static int check_outer(const GpuArray *A, const GpuArray *B, const GpuArray *C,
                       cb_transpose transA, cb_transpose transB, unsigned int first,
                       const char *operation) {
  char a[GA_ARRAY_TEXT], b[GA_ARRAY_TEXT], c[GA_ARRAY_TEXT];
  const bool fa = transA != cb_no_trans, fb = transB != cb_no_trans;
  const size_t m = A->dimensions[first + fa], n = B->dimensions[first + !fb];
  if (C->dimensions[first] != m || C->dimensions[first + 1] != n)
    return GA_FAIL(
        GA_VALUE_ERROR, "%s: A is %s%s, B is %s%s, C is %s: expected C of (%zu, %zu)",
        operation, ga__array_text(a, A), fa ? " transposed" : "", ga__array_text(b, B),
        fb ? " transposed" : "", ga__array_text(c, C), m, n);
  return GA_NO_ERROR;
}

static int check_batch(const GpuArray *A, const GpuArray *B, const GpuArray *C) {
  char a[GA_ARRAY_TEXT], b[GA_ARRAY_TEXT], c[GA_ARRAY_TEXT];
  const size_t n = C->dimensions[0], na = A->dimensions[0], nb = B->dimensions[0];
  if ((na != n && na != 1) || (nb != n && nb != 1))
    return GA_FAIL(GA_VALUE_ERROR,
                   "gemmBatch_3d: A is %s, B is %s, C is %s: expected leading axes of "
                   "%zu, or of 1 in A or B",
                   ga__array_text(a, A), ga__array_text(b, B), ga__array_text(c, C), n);
  return GA_NO_ERROR;
}

static int check_pair(const GpuArray *A, const GpuArray *B, cb_transpose transA,
                      cb_transpose transB, unsigned int nd, const char *operation) {
  GA_TRY(check_transpose(transA, operation));
  GA_TRY(check_transpose(transB, operation));
  GA_TRY(check_array(A, A, operation, "A", nd));
  return check_array(B, A, operation, "B", nd);
}

static int check_gemm(const GpuArray *A, const GpuArray *B, const GpuArray *C,
                      cb_transpose transA, cb_transpose transB, unsigned int nd,
                      const char *operation) {
  GA_TRY(check_pair(A, B, transA, transB, nd, operation));
  GA_TRY(check_output(C, A, operation, "C", nd));
  if (nd == 3)
    GA_TRY(check_batch(A, B, C));
  GA_TRY(check_inner(A, B, transA, transB, nd - 2, operation));
  return check_outer(A, B, C, transA, transB, nd - 2, operation);
}

static int run_gemm(cb_transpose transA, cb_transpose transB, const double *alpha,
                    GpuArray *A, GpuArray *B, const double *beta, GpuArray *C,
                    int nocopy, unsigned int nd, const char *operation) {
  GA_TRY(check_gemm(A, B, C, transA, transB, nd, operation));
  GA_TRY(check_factors(alpha, beta, A->typecode, operation));
  ga_product p = make_product(operation, C, alpha, beta);
  p.a = make_factor(A, transA);
  p.b = make_factor(B, transB);
  if (nd == 3)
    p.batch = C->dimensions[0];
  return run(&p, nocopy);
}

int ga__product_of_gemm(ga_product *out, cb_transpose transA, cb_transpose transB,
                        const GpuArray *A, const GpuArray *B, const GpuArray *C,
                        const char *operation) {
  GA_TRY(check_gemm(A, B, C, transA, transB, 2, operation));
  GA_TRY(ga__context_check(GpuArray_context(C)));
  *out = make_product(operation, C, one, zero);
  out->a = make_factor(A, transA);
  out->b = make_factor(B, transB);
  return GA_NO_ERROR;
}

int ga__product_without_result(ga_product *out, cb_transpose transA,
                               cb_transpose transB, const GpuArray *A,
                               const GpuArray *B, const char *operation) {
  GA_TRY(check_pair(A, B, transA, transB, 2, operation));
  GA_TRY(check_inner(A, B, transA, transB, 0, operation));
  GA_TRY(ga__context_check(GpuArray_context(A)));
  *out = make_product(operation, A, one, zero);
  out->a = make_factor(A, transA);
  out->b = make_factor(B, transB);
  out->c = (ga_factor){.m = out->a.m, .n = out->b.n, .si = (ssize_t)out->b.n, .sj = 1};
  return GA_NO_ERROR;
}

int GpuArray_cgemm(cb_transpose transA, cb_transpose transB, const double *alpha,
                   GpuArray *A, GpuArray *B, const double *beta, GpuArray *C,
                   int nocopy) {
  return run_gemm(transA, transB, alpha, A, B, beta, C, nocopy, 2, "gemm");
}

int GpuArray_rgemm(cb_transpose transA, cb_transpose transB, double alpha, GpuArray *A,
                   GpuArray *B, double beta, GpuArray *C, int nocopy) {
  const double factors[2][2] = {{alpha, 0}, {beta, 0}};
  return GpuArray_cgemm(transA, transB, factors[0], A, B, factors[1], C, nocopy);
}

int GpuArray_cgemmBatch_3d(cb_transpose transA, cb_transpose transB,
                           const double *alpha, GpuArray *A, GpuArray *B,
                           const double *beta, GpuArray *C, int nocopy) {
  return run_gemm(transA, transB, alpha, A, B, beta, C, nocopy, 3, "gemmBatch_3d");
}

int GpuArray_rgemmBatch_3d(cb_transpose transA, cb_transpose transB, double alpha,
                           GpuArray *A, GpuArray *B, double beta, GpuArray *C,
                           int nocopy) {
  const double factors[2][2] = {{alpha, 0}, {beta, 0}};
  return GpuArray_cgemmBatch_3d(transA, transB, factors[0], A, B, factors[1], C,
                                nocopy);
}

/* ---- ger ---- */

static int run_ger(const char *operation, const double *alpha, GpuArray *X, GpuArray *Y,
                   GpuArray *A, bool is_conjugated, int nocopy) {
  char x[GA_ARRAY_TEXT], y[GA_ARRAY_TEXT], a[GA_ARRAY_TEXT];
  GA_TRY(check_array(X, X, operation, "X", 1));
  GA_TRY(check_array(Y, X, operation, "Y", 1));
  GA_TRY(check_output(A, X, operation, "A", 2));
  GA_TRY(check_factors(alpha, one, A->typecode, operation));
  if (A->dimensions[0] != X->dimensions[0] || A->dimensions[1] != Y->dimensions[0])
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: X is %s, Y is %s, A is %s: expected A of (%zu, %zu)", operation,
                   ga__array_text(x, X), ga__array_text(y, Y), ga__array_text(a, A),
                   X->dimensions[0], Y->dimensions[0]);
  ga_product p = make_product(operation, A, alpha, one);
  name_operands(&p, "X", "Y", "A");
  p.a = make_factor(X, cb_no_trans);
  p.b = make_factor(Y, is_conjugated ? cb_conj_trans : cb_trans);
  return run(&p, nocopy);
}

int GpuArray_cgeru(const double *alpha, GpuArray *X, GpuArray *Y, GpuArray *A,
                   int nocopy) {
  return run_ger("ger", alpha, X, Y, A, false, nocopy);
}

int GpuArray_cgerc(const double *alpha, GpuArray *X, GpuArray *Y, GpuArray *A,
                   int nocopy) {
  return run_ger("gerc", alpha, X, Y, A, true, nocopy);
}

int GpuArray_rger(double alpha, GpuArray *X, GpuArray *Y, GpuArray *A, int nocopy) {
  const double factor[2] = {alpha, 0};
  return run_ger("ger", factor, X, Y, A, false, nocopy);
}

int gpucontext_set_tf32(gpucontext *ctx, int on) {
  GA_TRY(ga__context_check(ctx));
  atomic_store(&ctx->blas.is_tf32, on != 0);
  return GA_NO_ERROR;
}

/* ---- prebuilding for plans ---- */

int ga__blas_sources(ga_source out[4], unsigned int *n, gpucontext *ctx, int typecode,
                     bool matrix) {
  const enum ga_blas_kind first = matrix ? GA_GEMM_SMALL : GA_GEMV_ROWS;
  const enum ga_blas_kind last = matrix ? GA_GEMM_SMALL : GA_GEMV_COLUMNS;
  *n = 0;
  if (ga__blas_type_index(typecode) < 0 ||
      (matrix && (!ctx->info.is_cpu || ga__context_blas(ctx) != NULL)))
    return GA_NO_ERROR;
  for (int kind = (int)first; kind <= (int)last; kind++) {
    if (kind == GA_GEMV_ROWS_PACKS)
      continue;
    GA_TRY(ga__sources_count(
        out, n, ga__blas_source(&out[*n], ctx, (enum ga_blas_kind)kind, typecode)));
  }
  return GA_NO_ERROR;
}
