/* BLAS on raw buffers (libgpuarray 0.7's interface): checks; equidistant entries of a
 * batch become one batched product. */
#include <gpuarray/buffer_blas.h>

#include <math.h>

#include "c/base/dtype.h"
#include "c/blas/products.h"

/* ---- operands ---- */

/* A stored matrix or vector, or a list of them. */
typedef struct stored {
  const char *name;
  gpudata *const *buffers; /* listed: one per entry; else one, with a batch stride */
  const size_t *offsets;   /* bytes */
  size_t m, n;             /* a vector: n is 1 */
  ssize_t si, sj, step;
  size_t ld, length; /* matrices: leading dimension and its minimum; else 0 */
  bool is_listed, is_conjugated;
} stored;

typedef struct request {
  const char *operation;
  int typecode, flags;
  double alpha[2], beta[2];
  size_t batch;
  stored a, b, c;
  bool lacks_factor; /* alpha or beta was NULL */
} request;

/* Saturated value of offsets and extents, in bytes: beyond every buffer, and a sum of
 * two cannot overflow. */
#define FAR ((size_t)1 << 61)

static size_t itemsize_of(int typecode) {
  return gpuarray_get_elsize(typecode);
}

/* ---- checks ---- */

/* Extent of one matrix: bytes before and behind its first element. */
static void reach(ptrdiff_t *before, ptrdiff_t *behind, const stored *s,
                  size_t itemsize) {
  const ptrdiff_t rows = (ptrdiff_t)(s->m - 1) * s->si;
  const ptrdiff_t columns = (ptrdiff_t)(s->n - 1) * s->sj;
  *before = ((rows < 0 ? rows : 0) + (columns < 0 ? columns : 0)) * (ptrdiff_t)itemsize;
  *behind =
      ((rows > 0 ? rows : 0) + (columns > 0 ? columns : 0) + 1) * (ptrdiff_t)itemsize;
}

/* True if all extents fit, in bytes. */
static bool is_countable(const stored *s, size_t batch, size_t itemsize) {
  const double elements = (double)s->m * fabs((double)s->si) +
                          (double)s->n * fabs((double)s->sj) +
                          (double)batch * fabs((double)s->step);
  return elements * (double)itemsize < (double)FAR && s->ld < FAR;
}

static int check_place(const request *r, const stored *s, size_t i) {
  const size_t itemsize = itemsize_of(r->typecode);
  gpudata *const buffer = s->buffers[s->is_listed ? i : 0];
  ptrdiff_t before, behind;
  if (buffer == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "%s: a buffer of %s is NULL", r->operation, s->name);
  if (gpudata_context(buffer) != gpudata_context(r->c.buffers[0]))
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: %s and %s are on different contexts; transfer one of them",
                   r->operation, s->name, r->c.name);
  if (s->offsets[s->is_listed ? i : 0] > FAR || !is_countable(s, r->batch, itemsize))
    return GA_FAIL(GA_VALUE_ERROR, "%s: %s exceeds the address space", r->operation,
                   s->name);
  const ptrdiff_t first =
      (ptrdiff_t)s->offsets[s->is_listed ? i : 0] +
      (s->is_listed ? 0 : (ptrdiff_t)i * s->step * (ptrdiff_t)itemsize);
  if (first % (ptrdiff_t)itemsize != 0)
    return GA_FAIL(GA_UNALIGNED_ERROR, "%s: %s at byte %td is not aligned to its type",
                   r->operation, s->name, first);
  if (s->m == 0 || s->n == 0)
    return GA_NO_ERROR;
  reach(&before, &behind, s, itemsize);
  if (first + before < 0 || first + behind > (ptrdiff_t)buffer->size)
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: %s covers bytes %td to %td, outside its buffer of %zu bytes",
                   r->operation, s->name, first + before, first + behind, buffer->size);
  return GA_NO_ERROR;
}

static int check_stored(const request *r, const stored *s) {
  if (s->buffers == NULL || s->offsets == NULL)
    return ga__fail_null(r->operation, s->name);
  if (s->ld < s->length)
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: the leading dimension of %s is %zu, expected at least %zu",
                   r->operation, s->name, s->ld, s->length);
  for (size_t i = 0; i < (s->is_listed ? r->batch : 1); i++)
    GA_TRY(check_place(r, s, i));
  if (!s->is_listed && r->batch > 1)
    GA_TRY(check_place(r, s, r->batch - 1));
  return GA_NO_ERROR;
}

static int check_request(const request *r) {
  if (r->flags != 0)
    return GA_FAIL(GA_INVALID_ERROR, "%s: flags are %d, expected 0", r->operation,
                   r->flags);
  if (r->lacks_factor)
    return ga__fail_null(r->operation, "alpha or beta");
  if (r->c.buffers == NULL || r->c.buffers[0] == NULL)
    return ga__fail_null(r->operation, r->c.name);
  gpucontext *ctx = gpudata_context(r->c.buffers[0]);
  GA_TRY(ga__context_check(ctx));
  GA_TRY(ga__context_supports(ctx, r->typecode, r->operation));
  GA_TRY(check_stored(r, &r->c));
  GA_TRY(check_stored(r, &r->a));
  GA_TRY(check_stored(r, &r->b));
  const bool repeats = (r->c.m > 1 && r->c.si == 0) || (r->c.n > 1 && r->c.sj == 0);
  if (repeats)
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: the output %s has a stride of 0; expected an array whose "
                   "elements are distinct",
                   r->operation, r->c.name);
  return GA_NO_ERROR;
}

/* ---- batches ---- */

static ptrdiff_t place_of(const stored *s, size_t i, size_t itemsize) {
  return s->is_listed
             ? (ptrdiff_t)s->offsets[i]
             : (ptrdiff_t)s->offsets[0] + (ptrdiff_t)i * s->step * (ptrdiff_t)itemsize;
}

/* True if entry i lies `step` bytes behind the one before. */
static bool is_equidistant(const stored *s, size_t i, ptrdiff_t step, size_t itemsize) {
  return (!s->is_listed || s->buffers[i] == s->buffers[i - 1]) &&
         place_of(s, i, itemsize) - place_of(s, i - 1, itemsize) == step;
}

/* True if an input shares its buffer with the output, which an earlier entry may have
 * changed. */
static bool is_at(const stored *input, const stored *output, size_t i) {
  return input->buffers[input->is_listed ? i : 0] ==
         output->buffers[output->is_listed ? i : 0];
}

/* Number of entries from `first` on that are one batched product: equidistant, with
 * disjoint outputs. steps[]: of a, b and c, in bytes. */
static size_t run_length(ptrdiff_t steps[3], const request *r, size_t first) {
  const stored *const parts[] = {&r->a, &r->b, &r->c};
  const size_t itemsize = itemsize_of(r->typecode);
  ptrdiff_t before, behind;
  for (int j = 0; j < 3; j++)
    steps[j] = first + 1 == r->batch ? 0
                                     : place_of(parts[j], first + 1, itemsize) -
                                           place_of(parts[j], first, itemsize);
  reach(&before, &behind, &r->c, itemsize);
  const ptrdiff_t apart = steps[2] < 0 ? -steps[2] : steps[2];
  size_t n = 1;
  if (apart < behind - before || is_at(&r->a, &r->c, first) ||
      is_at(&r->b, &r->c, first))
    return n;
  for (; first + n < r->batch; n++)
    for (int j = 0; j < 3; j++)
      if (!is_equidistant(parts[j], first + n, steps[j], itemsize))
        return n;
  return n;
}

static ga_factor factor_at(const stored *s, size_t i, ptrdiff_t step, size_t itemsize) {
  return (ga_factor){.data = s->buffers[s->is_listed ? i : 0],
                     .offset = (size_t)place_of(s, i, itemsize),
                     .m = s->m,
                     .n = s->n,
                     .si = s->si,
                     .sj = s->sj,
                     .step = step / (ptrdiff_t)itemsize,
                     .is_conjugated = s->is_conjugated};
}

static int run_request(const request *r) {
  const size_t itemsize = itemsize_of(r->typecode);
  size_t n = 0;
  if (r->batch == 0)
    return GA_NO_ERROR;
  GA_TRY(check_request(r));
  for (size_t first = 0; first < r->batch && r->c.m > 0 && r->c.n > 0; first += n) {
    ptrdiff_t steps[3];
    n = run_length(steps, r, first);
    const ga_product p = {.operation = r->operation,
                          .names = {r->a.name, r->b.name, r->c.name},
                          .context = gpudata_context(r->c.buffers[0]),
                          .typecode = r->typecode,
                          .alpha = {r->alpha[0], r->alpha[1]},
                          .beta = {r->beta[0], r->beta[1]},
                          .batch = n,
                          .a = factor_at(&r->a, first, n > 1 ? steps[0] : 0, itemsize),
                          .b = factor_at(&r->b, first, n > 1 ? steps[1] : 0, itemsize),
                          .c = factor_at(&r->c, first, n > 1 ? steps[2] : 0, itemsize)};
    GA_TRY(ga__product(&p, 0));
  }
  return GA_NO_ERROR;
}

/* ---- matrices and vectors ---- */

/* Operand op(X) of shape (m, n); stored as (n, m) if transposed. */
static stored matrix(const char *name, cb_order order, cb_transpose t,
                     gpudata *const *buffers, const size_t *offsets, size_t m, size_t n,
                     size_t ld, int typecode) {
  const bool by_rows = (order == cb_row) == (t == cb_no_trans);
  return (stored){.name = name,
                  .buffers = buffers,
                  .offsets = offsets,
                  .m = m,
                  .n = n,
                  .ld = ld,
                  .length = by_rows ? n : m,
                  .si = by_rows ? (ssize_t)ld : 1,
                  .sj = by_rows ? 1 : (ssize_t)ld,
                  .is_conjugated =
                      t == cb_conj_trans && ga__dtype_kind(typecode) == 'c'};
}

static stored vector(const char *name, gpudata *const *buffers, const size_t *offsets,
                     size_t n, ssize_t inc) {
  return (stored){.name = name,
                  .buffers = buffers,
                  .offsets = offsets,
                  .m = n,
                  .n = 1,
                  .si = inc,
                  .sj = 1};
}

static stored row_of(stored column) {
  column.n = column.m;
  column.m = 1;
  column.sj = column.si;
  column.si = 1;
  return column;
}

/* Offset in bytes, saturated at FAR. */
static size_t in_bytes(size_t offset, size_t itemsize) {
  return offset < FAR / itemsize ? offset * itemsize : FAR;
}

/* Byte offset of a vector's first element; with a negative increment that is its
 * end. */
static size_t start(size_t offset, size_t n, int inc, size_t itemsize) {
  const double before = inc < 0 && n > 0 ? (double)(n - 1) * -(double)inc : 0;
  if (offset >= FAR || before >= (double)FAR)
    return FAR;
  return in_bytes(before > 0 ? offset + (n - 1) * (size_t)-(ssize_t)inc : offset,
                  itemsize);
}

static int check_enums(const char *operation, cb_order order, cb_transpose ta,
                       cb_transpose tb) {
  const bool known = (order == cb_row || order == cb_column) && (int)ta >= 0 &&
                     ta <= cb_conj_trans && (int)tb >= 0 && tb <= cb_conj_trans;
  if (!known)
    return GA_FAIL(
        GA_INVALID_ERROR,
        "%s: order %d or transposition %d, %d is not of cb_order and cb_transpose",
        operation, (int)order, (int)ta, (int)tb);
  return GA_NO_ERROR;
}

static request make_request(const char *operation, int typecode, const double alpha[2],
                            const double beta[2], size_t batch, int flags) {
  return (request){.operation = operation,
                   .typecode = typecode,
                   .flags = flags,
                   .alpha = {alpha ? alpha[0] : 0, alpha ? alpha[1] : 0},
                   .beta = {beta ? beta[0] : 0, beta ? beta[1] : 0},
                   .batch = batch,
                   .lacks_factor = alpha == NULL || beta == NULL};
}

static const double one[2] = {1, 0}, zero[2] = {0, 0};

/* ---- routines, for any type ---- */

static int any_dot(int typecode, size_t n, gpudata *x, size_t offx, size_t incx,
                   gpudata *y, size_t offy, size_t incy, gpudata *z, size_t offz) {
  const size_t itemsize = itemsize_of(typecode);
  const size_t offsets[] = {in_bytes(offx, itemsize), in_bytes(offy, itemsize),
                            in_bytes(offz, itemsize)};
  request r = make_request("dot", typecode, one, zero, 1, 0);
  r.a = row_of(vector("X", &x, &offsets[0], n, (ssize_t)incx));
  r.b = vector("Y", &y, &offsets[1], n, (ssize_t)incy);
  r.c = vector("Z", &z, &offsets[2], 1, 1);
  return run_request(&r);
}

static int any_gemv(int typecode, cb_order order, cb_transpose ta, size_t m, size_t n,
                    const double alpha[2], gpudata *a, size_t offa, size_t lda,
                    gpudata *x, size_t offx, int incx, const double beta[2], gpudata *y,
                    size_t offy, int incy) {
  const size_t itemsize = itemsize_of(typecode);
  const size_t results = ta == cb_no_trans ? m : n, terms = ta == cb_no_trans ? n : m;
  const size_t offsets[] = {in_bytes(offa, itemsize),
                            start(offx, terms, incx, itemsize),
                            start(offy, results, incy, itemsize)};
  GA_TRY(check_enums("gemv", order, ta, cb_no_trans));
  request r = make_request("gemv", typecode, alpha, beta, 1, 0);
  r.a = matrix("A", order, ta, &a, &offsets[0], results, terms, lda, typecode);
  r.b = vector("X", &x, &offsets[1], terms, incx);
  r.c = vector("Y", &y, &offsets[2], results, incy);
  return run_request(&r);
}

/* A single gemm is a batch of one. */
static int any_gemm(int typecode, cb_order order, cb_transpose ta, cb_transpose tb,
                    size_t m, size_t n, size_t k, const double alpha[2], gpudata *a,
                    size_t offa, size_t lda, ssize_t stepa, gpudata *b, size_t offb,
                    size_t ldb, ssize_t stepb, const double beta[2], gpudata *c,
                    size_t offc, size_t ldc, ssize_t stepc, size_t batch, int flags) {
  const size_t itemsize = itemsize_of(typecode);
  const size_t offsets[] = {in_bytes(offa, itemsize), in_bytes(offb, itemsize),
                            in_bytes(offc, itemsize)};
  GA_TRY(check_enums("gemm", order, ta, tb));
  request r = make_request("gemm", typecode, alpha, beta, batch, flags);
  r.a = matrix("A", order, ta, &a, &offsets[0], m, k, lda, typecode);
  r.b = matrix("B", order, tb, &b, &offsets[1], k, n, ldb, typecode);
  r.c = matrix("C", order, cb_no_trans, &c, &offsets[2], m, n, ldc, typecode);
  r.a.step = stepa;
  r.b.step = stepb;
  r.c.step = stepc;
  return run_request(&r);
}

static int any_ger(int typecode, cb_order order, size_t m, size_t n,
                   const double alpha[2], gpudata *x, size_t offx, int incx, gpudata *y,
                   size_t offy, int incy, gpudata *a, size_t offa, size_t lda) {
  const size_t itemsize = itemsize_of(typecode);
  const size_t offsets[] = {start(offx, m, incx, itemsize),
                            start(offy, n, incy, itemsize), in_bytes(offa, itemsize)};
  GA_TRY(check_enums("ger", order, cb_no_trans, cb_no_trans));
  request r = make_request("ger", typecode, alpha, one, 1, 0);
  r.a = vector("X", &x, &offsets[0], m, incx);
  r.b = row_of(vector("Y", &y, &offsets[1], n, incy));
  r.c = matrix("A", order, cb_no_trans, &a, &offsets[2], m, n, lda, typecode);
  return run_request(&r);
}

static int run_listed(request *r) {
  r->a.is_listed = r->b.is_listed = r->c.is_listed = true;
  return run_request(r);
}

/* gemmBatch has offsets in elements; converts a copy of the lists to bytes. */
static int any_gemm_batch(int typecode, cb_order order, cb_transpose ta,
                          cb_transpose tb, size_t m, size_t n, size_t k,
                          const double alpha[2], gpudata **a, const size_t *offa,
                          size_t lda, gpudata **b, const size_t *offb, size_t ldb,
                          const double beta[2], gpudata **c, const size_t *offc,
                          size_t ldc, size_t batch, int flags) {
  const size_t itemsize = itemsize_of(typecode);
  const size_t *const given[] = {offa, offb, offc};
  GA_TRY(check_enums("gemmBatch", order, ta, tb));
  if (batch > 0 && (offa == NULL || offb == NULL || offc == NULL))
    return ga__fail_null("gemmBatch", "list of offsets");
  size_t *bytes = ga__alloc(batch > 0 ? batch : 1, 3 * sizeof *bytes);
  GA_TRY_MEMORY(bytes);
  for (size_t j = 0; j < 3; j++)
    for (size_t i = 0; i < batch; i++)
      bytes[j * batch + i] = in_bytes(given[j][i], itemsize);
  request r = make_request("gemmBatch", typecode, alpha, beta, batch, flags);
  r.a = matrix("A", order, ta, a, bytes, m, k, lda, typecode);
  r.b = matrix("B", order, tb, b, bytes + batch, k, n, ldb, typecode);
  r.c = matrix("C", order, cb_no_trans, c, bytes + 2 * batch, m, n, ldc, typecode);
  int status = run_listed(&r);
  ga__free(bytes);
  return status;
}

static int any_gemv_batch(int typecode, cb_order order, cb_transpose ta, size_t m,
                          size_t n, const double alpha[2], gpudata **a,
                          const size_t *offa, size_t lda, gpudata **x,
                          const size_t *offx, size_t incx, const double beta[2],
                          gpudata **y, const size_t *offy, size_t incy, size_t batch,
                          int flags) {
  const size_t results = ta == cb_no_trans ? m : n, terms = ta == cb_no_trans ? n : m;
  GA_TRY(check_enums("gemvBatch", order, ta, cb_no_trans));
  request r = make_request("gemvBatch", typecode, alpha, beta, batch, flags);
  r.a = matrix("A", order, ta, a, offa, results, terms, lda, typecode);
  r.b = vector("x", x, offx, terms, (ssize_t)incx);
  r.c = vector("y", y, offy, results, (ssize_t)incy);
  return run_listed(&r);
}

static int any_ger_batch(int typecode, cb_order order, size_t m, size_t n,
                         const double alpha[2], gpudata **x, const size_t *offx,
                         size_t incx, gpudata **y, const size_t *offy, size_t incy,
                         gpudata **a, const size_t *offa, size_t lda, size_t batch,
                         int flags) {
  GA_TRY(check_enums("gerBatch", order, cb_no_trans, cb_no_trans));
  request r = make_request("gerBatch", typecode, alpha, one, batch, flags);
  r.a = vector("x", x, offx, m, (ssize_t)incx);
  r.b = row_of(vector("y", y, offy, n, (ssize_t)incy));
  r.c = matrix("A", order, cb_no_trans, a, offa, m, n, lda, typecode);
  return run_listed(&r);
}

/* ---- public functions ---- */

int gpublas_setup(gpucontext *ctx) {
  GA_TRY(ga__context_check(ctx));
  (void)ga__context_blas(ctx);
  return GA_NO_ERROR;
}

void gpublas_teardown(gpucontext *ctx) {
  (void)ctx;
}

const char *gpublas_error(gpucontext *ctx) {
  return gpucontext_error(ctx, GA_NO_ERROR);
}

/* The eight routines of a type. NUMBER: type of alpha and beta; PAIR: makes it (real,
 * imaginary). */
#define DEFINE_TYPE(L, CODE, NUMBER, PAIR)                                             \
  int gpublas_##L##dot(size_t N, gpudata *X, size_t offX, size_t incX, gpudata *Y,     \
                       size_t offY, size_t incY, gpudata *Z, size_t offZ) {            \
    return any_dot(CODE, N, X, offX, incX, Y, offY, incY, Z, offZ);                    \
  }                                                                                    \
  int gpublas_##L##gemv(cb_order order, cb_transpose transA, size_t M, size_t N,       \
                        NUMBER alpha, gpudata *A, size_t offA, size_t lda, gpudata *X, \
                        size_t offX, int incX, NUMBER beta, gpudata *Y, size_t offY,   \
                        int incY) {                                                    \
    return any_gemv(CODE, order, transA, M, N, PAIR(alpha), A, offA, lda, X, offX,     \
                    incX, PAIR(beta), Y, offY, incY);                                  \
  }                                                                                    \
  int gpublas_##L##gemm(cb_order order, cb_transpose transA, cb_transpose transB,      \
                        size_t M, size_t N, size_t K, NUMBER alpha, gpudata *A,        \
                        size_t offA, size_t lda, gpudata *B, size_t offB, size_t ldb,  \
                        NUMBER beta, gpudata *C, size_t offC, size_t ldc) {            \
    return any_gemm(CODE, order, transA, transB, M, N, K, PAIR(alpha), A, offA, lda,   \
                    0, B, offB, ldb, 0, PAIR(beta), C, offC, ldc, 0, 1, 0);            \
  }                                                                                    \
  int gpublas_##L##ger(cb_order order, size_t M, size_t N, NUMBER alpha, gpudata *X,   \
                       size_t offX, int incX, gpudata *Y, size_t offY, int incY,       \
                       gpudata *A, size_t offA, size_t lda) {                          \
    return any_ger(CODE, order, M, N, PAIR(alpha), X, offX, incX, Y, offY, incY, A,    \
                   offA, lda);                                                         \
  }                                                                                    \
  int gpublas_##L##gemmBatch(cb_order order, cb_transpose transA, cb_transpose transB, \
                             size_t M, size_t N, size_t K, NUMBER alpha, gpudata **A,  \
                             size_t *offA, size_t lda, gpudata **B, size_t *offB,      \
                             size_t ldb, NUMBER beta, gpudata **C, size_t *offC,       \
                             size_t ldc, size_t batchCount, int flags) {               \
    return any_gemm_batch(CODE, order, transA, transB, M, N, K, PAIR(alpha), A, offA,  \
                          lda, B, offB, ldb, PAIR(beta), C, offC, ldc, batchCount,     \
                          flags);                                                      \
  }                                                                                    \
  int gpublas_##L##gemm3D(                                                             \
      cb_order order, cb_transpose transA, cb_transpose transB, size_t M, size_t N,    \
      size_t K, NUMBER alpha, gpudata *A, size_t offA, size_t lda, ssize_t strideA,    \
      gpudata *B, size_t offB, size_t ldb, ssize_t strideB, NUMBER beta, gpudata *C,   \
      size_t offC, size_t ldc, ssize_t strideC, size_t batchCount, int flags) {        \
    return any_gemm(CODE, order, transA, transB, M, N, K, PAIR(alpha), A, offA, lda,   \
                    strideA, B, offB, ldb, strideB, PAIR(beta), C, offC, ldc, strideC, \
                    batchCount, flags);                                                \
  }                                                                                    \
  int gpublas_##L##gemvBatch(cb_order order, cb_transpose transA, size_t M, size_t N,  \
                             NUMBER alpha, gpudata **A, size_t *offA, size_t lda,      \
                             gpudata **x, size_t *offX, size_t incX, NUMBER beta,      \
                             gpudata **y, size_t *offY, size_t incY,                   \
                             size_t batchCount, int flags) {                           \
    return any_gemv_batch(CODE, order, transA, M, N, PAIR(alpha), A, offA, lda, x,     \
                          offX, incX, PAIR(beta), y, offY, incY, batchCount, flags);   \
  }                                                                                    \
  int gpublas_##L##gerBatch(cb_order order, size_t M, size_t N, NUMBER alpha,          \
                            gpudata **x, size_t *offX, size_t incX, gpudata **y,       \
                            size_t *offY, size_t incY, gpudata **A, size_t *offA,      \
                            size_t lda, size_t batchCount, int flags) {                \
    return any_ger_batch(CODE, order, M, N, PAIR(alpha), x, offX, incX, y, offY, incY, \
                         A, offA, lda, batchCount, flags);                             \
  }

#define REAL(x) ((const double[]){(double)(x), 0})
#define WIDENED(x) ((x) ? (const double[]){(double)(x)[0], (double)(x)[1]} : NULL)
#define AS_IT_IS(x) (x)
DEFINE_TYPE(h, GA_HALF, float, REAL)
DEFINE_TYPE(b, GA_BFLOAT16, float, REAL)
DEFINE_TYPE(s, GA_FLOAT, float, REAL)
DEFINE_TYPE(d, GA_DOUBLE, double, REAL)
DEFINE_TYPE(c, GA_CFLOAT, const float *, WIDENED)
DEFINE_TYPE(z, GA_CDOUBLE, const double *, AS_IT_IS)
