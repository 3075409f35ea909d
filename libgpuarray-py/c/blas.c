/* Matrix products: checks, layouts, and who computes them. */
#include "c/blas.h"

#include "c/blas_kernels.h"
#include "c/tape.h"

/* op(array): strides in elements. A vector has n = 1. */
typedef struct operand {
  const GpuArray *array;
  size_t m, n;
  ssize_t si, sj;
} operand;

/* c = alpha a b + beta c. Of a gemv, b is X and c is Y. */
typedef struct product {
  const char *operation, *b_name;
  gpucontext *context;
  const ga_blas *blas; /* NULL: our own kernels */
  cb_transpose ta, tb;
  double alpha, beta;
  operand a, b, c;
  int (*compute)(const struct product *p);
} product;

/* ---- checks ---- */

static int check_array(const GpuArray *a, const GpuArray *first, const char *operation,
                       const char *name, unsigned int nd) {
  char text[GA_ARRAY_TEXT], other[GA_ARRAY_TEXT];
  GA_TRY(ga__array_check(a, operation));
  if (a->nd != nd)
    return GA_FAIL(GA_VALUE_ERROR, "%s: %s is %s, expected %u %s", operation, name,
                   ga__array_text(text, a), nd, nd == 1 ? "axis" : "axes");
  if (a->typecode != GA_FLOAT && a->typecode != GA_DOUBLE)
    return GA_FAIL(GA_INVALID_ERROR,
                   "%s: %s is %s, expected float32 or float64; convert it with astype",
                   operation, name, ga__array_text(text, a));
  if (a->typecode != first->typecode)
    return GA_FAIL(GA_INVALID_ERROR, "%s: A is %s, %s is %s: expected one dtype",
                   operation, ga__array_text(text, first), name,
                   ga__array_text(other, a));
  GA_TRY(ga__array_same_context(first, a, operation));
  const ssize_t itemsize = (ssize_t)GpuArray_ITEMSIZE(a);
  bool whole = GpuArray_ISALIGNED(a);
  for (unsigned int i = 0; i < nd; i++)
    whole = whole && (a->dimensions[i] == 1 || a->strides[i] % itemsize == 0);
  if (!whole)
    return GA_FAIL(GA_UNALIGNED_ERROR, "%s: %s, %s, is not aligned; copy it", operation,
                   name, ga__array_text(text, a));
  return GA_NO_ERROR;
}

static operand make_operand(const GpuArray *a, cb_transpose transpose) {
  const ssize_t itemsize = (ssize_t)GpuArray_ITEMSIZE(a);
  operand o = {.array = a, .m = a->dimensions[0], .n = 1, .si = 1, .sj = 1};
  o.si = a->strides[0] / itemsize;
  if (a->nd == 2) {
    o.n = a->dimensions[1];
    o.sj = a->strides[1] / itemsize;
  }
  if (transpose != cb_no_trans)
    o = (operand){.array = a, .m = o.n, .n = o.m, .si = o.sj, .sj = o.si};
  return o;
}

static operand transposed(operand o) {
  return (operand){.array = o.array, .m = o.n, .n = o.m, .si = o.sj, .sj = o.si};
}

/* ---- the vendor's library ---- */

/* The tape of a plan that is being bound, if a buffer is a stand-in of one. */
static ga_tape *any_tape(const product *p) {
  const gpudata *const buffers[] = {p->a.array->data, p->b.array->data,
                                    p->c.array->data};
  for (int i = 0; i < 3; i++)
    if (buffers[i]->tape != NULL)
      return buffers[i]->tape;
  return NULL;
}

/* Whether BLAS can walk it with columns (or, `by_rows`, rows) as its contiguous lines.
 */
static bool has_lines(const operand *o, bool by_rows) {
  const size_t length = by_rows ? o->n : o->m, lines = by_rows ? o->m : o->n;
  const ssize_t step = by_rows ? o->sj : o->si, ld = by_rows ? o->si : o->sj;
  return (length == 1 || step == 1) && (lines == 1 || ld >= (ssize_t)length);
}

static ga_matrix make_matrix(const operand *o, bool by_rows) {
  const size_t length = by_rows ? o->n : o->m, lines = by_rows ? o->m : o->n;
  const ssize_t ld = by_rows ? o->si : o->sj;
  return (ga_matrix){.buffer = o->array->data,
                     .offset = o->array->offset,
                     .ld = lines == 1 ? length : (size_t)ld};
}

static ga_vector make_vector(const operand *o) {
  return (ga_vector){.buffer = o->array->data,
                     .offset = o->array->offset,
                     .inc = o->m == 1 ? 1 : o->si};
}

static cb_transpose transpose_of(const operand *o) {
  return has_lines(o, false) ? cb_no_trans : cb_trans;
}

/* The operands have lines of one kind or the other, c too. A row-major c is made as its
 * transpose. */
static int vendor_gemm(const product *p) {
  const bool flip = !has_lines(&p->c, false);
  const operand a = flip ? transposed(p->b) : p->a;
  const operand b = flip ? transposed(p->a) : p->b;
  const operand c = flip ? transposed(p->c) : p->c;
  const int typecode = c.array->typecode;
  const cb_transpose ta = transpose_of(&a), tb = transpose_of(&b);
  const ga_matrix ma = make_matrix(&a, ta != cb_no_trans);
  const ga_matrix mb = make_matrix(&b, tb != cb_no_trans);
  const ga_matrix mc = make_matrix(&c, false);
  ga_tape *tape = any_tape(p);
  if (tape != NULL)
    return ga__tape_gemm(tape, typecode, ta, tb, c.m, c.n, a.n, p->alpha, ma, mb,
                         p->beta, mc);
  return ga__context_status(p->context,
                            p->blas->gemm(p->context->device, typecode, ta, tb, c.m,
                                          c.n, a.n, p->alpha, ma, mb, p->beta, mc));
}

static int vendor_gemv(const product *p) {
  const operand a = p->a;
  const int typecode = a.array->typecode;
  const cb_transpose ta = transpose_of(&a);
  const ga_matrix ma = make_matrix(&a, ta != cb_no_trans);
  const ga_vector vx = make_vector(&p->b), vy = make_vector(&p->c);
  const size_t m = ta == cb_no_trans ? a.m : a.n, n = ta == cb_no_trans ? a.n : a.m;
  ga_tape *tape = any_tape(p);
  if (tape != NULL)
    return ga__tape_gemv(tape, typecode, ta, m, n, p->alpha, ma, vx, p->beta, vy);
  return ga__context_status(p->context,
                            p->blas->gemv(p->context->device, typecode, ta, m, n,
                                          p->alpha, ma, vx, p->beta, vy));
}

/* ---- our own kernels ---- */

static size_t ceil_div(size_t a, size_t b) {
  return a / b + (a % b != 0);
}

static size_t power_above(size_t n) {
  size_t power = 1;
  while (power < n)
    power *= 2;
  return power;
}

static ssize_t magnitude(ssize_t stride) {
  return stride < 0 ? -stride : stride;
}

static void add_array(ga_args *args, const operand *o) {
  ga__args_buffer(args, o->array->data);
  ga__args_offset(args, o->array->data, o->array->offset);
}

static void add_factor(ga_args *args, int typecode, double factor) {
  float narrow = (float)factor;
  if (typecode == GA_DOUBLE)
    ga__args_value(args, &factor, sizeof factor);
  else
    ga__args_value(args, &narrow, sizeof narrow);
}

static int get_kernel(gpukernel **out, gpucontext *ctx, enum ga_blas_kind kind,
                      int typecode) {
  _Atomic(gpukernel *) *kept = &ctx->blas_kernels[kind][typecode == GA_DOUBLE];
  *out = atomic_load(kept);
  if (*out != NULL)
    return GA_NO_ERROR;
  ga_source source = {0};
  GA_TRY(ga__blas_source(&source, ctx, kind, typecode));
  int status = ga__kernel_get(out, ctx, &source);
  ga__strbuf_clear(&source.body);
  if (status == GA_NO_ERROR)
    atomic_store(kept, *out);
  return status;
}

/* Rows of a tile: few enough of them to keep the processors busy where that pays. */
static size_t cpu_rows(const gpucontext *ctx, size_t most, size_t m, size_t across,
                       size_t work) {
  size_t down = ceil_div(m, most), busy = ceil_div(2 * ctx->info.processors, across);
  if (down < busy && work > 1 << 18)
    down = busy;
  return ceil_div(ceil_div(m, down), 8) * 8;
}

/* Kernels write neighbours along the second axis of c. */
static int own_gemm(const product *p) {
  gpucontext *const ctx = p->context;
  const bool flip =
      p->c.n == 1 || (p->c.m > 1 && magnitude(p->c.si) < magnitude(p->c.sj));
  const operand a = flip ? transposed(p->b) : p->a;
  const operand b = flip ? transposed(p->a) : p->b;
  const operand c = flip ? transposed(p->c) : p->c;
  const int typecode = c.array->typecode;
  const ga_blas_shape shape = ga__blas_shape(ctx, GA_BLAS_GEMM, typecode);
  gpukernel *kernel;
  GA_TRY(get_kernel(&kernel, ctx, GA_BLAS_GEMM, typecode));
  const bool cpu = ctx->info.is_cpu;
  const size_t columns = cpu ? (size_t)shape.lanes * shape.width : 64;
  const size_t rows =
      cpu ? cpu_rows(ctx, shape.rows, c.m, ceil_div(c.n, columns), c.m * c.n * a.n)
          : shape.rows;
  ga_args args;
  args.n = 0;
  add_array(&args, &c);
  add_array(&args, &a);
  add_array(&args, &b);
  ga__args_i64(&args, (int64_t)c.m);
  ga__args_i64(&args, (int64_t)c.n);
  ga__args_i64(&args, p->alpha == 0 ? 0 : (int64_t)a.n);
  ga__args_i64(&args, (int64_t)rows);
  ga__args_i64(&args, a.si);
  ga__args_i64(&args, a.sj);
  ga__args_i64(&args, b.si);
  ga__args_i64(&args, b.sj);
  ga__args_i64(&args, c.si);
  ga__args_i64(&args, c.sj);
  add_factor(&args, typecode, p->alpha);
  add_factor(&args, typecode, p->beta);
  const ga_launch launch = {.nd = 2,
                            .grid = {ceil_div(c.n, columns), ceil_div(c.m, rows), 1},
                            .block = {cpu ? shape.lanes : 256, 1, 1},
                            .n_args = args.n,
                            .args = args.list};
  return ga__kernel_launch(kernel, &launch);
}

typedef struct gemv_geometry {
  size_t rows; /* of a group */
  size_t block[2];
} gemv_geometry;

static gemv_geometry choose_gemv(const gpucontext *ctx, enum ga_blas_kind kind,
                                 ga_blas_shape shape, size_t m, size_t n) {
  if (ctx->info.is_cpu) {
    /* A group for every 32768 elements of a, at most 4 a processor. */
    size_t groups = m * n / 32768 + 1, most = 4 * (size_t)ctx->info.processors;
    size_t grain = kind == GA_BLAS_ROWS ? shape.rows : shape.lanes * shape.width;
    size_t rows = ceil_div(ceil_div(m, groups < most ? groups : most), grain) * grain;
    return (gemv_geometry){rows, {shape.lanes, 1}};
  }
  if (kind == GA_BLAS_ROWS) {
    size_t lanes = power_above(ceil_div(n, 4));
    lanes = lanes > 256 ? 256 : lanes;
    size_t slots = 256 / lanes;
    while (slots > 1 && lanes * slots > 32 &&
           ceil_div(m, slots) < 2 * ctx->info.processors)
      slots /= 2;
    return (gemv_geometry){slots, {lanes, slots}};
  }
  size_t lanes = power_above(m);
  lanes = lanes > 32 ? 32 : lanes;
  while (lanes > (n * m < 1 << 20 ? 2 : 8) && ceil_div(m, lanes) < ctx->info.processors)
    lanes /= 2;
  size_t items = power_above(ceil_div(n, 4));
  return (gemv_geometry){lanes, {lanes, items < 256 / lanes ? items : 256 / lanes}};
}

static int own_gemv(const product *p) {
  gpucontext *const ctx = p->context;
  const operand a = p->a;
  const int typecode = a.array->typecode;
  enum ga_blas_kind kind = a.n > 1 && (a.m == 1 || magnitude(a.sj) <= magnitude(a.si))
                               ? GA_BLAS_ROWS
                               : GA_BLAS_COLUMNS;
  const ga_blas_shape shape = ga__blas_shape(ctx, kind, typecode);
  gpukernel *kernel;
  GA_TRY(get_kernel(&kernel, ctx, kind, typecode));
  const gemv_geometry g = choose_gemv(ctx, kind, shape, a.m, a.n);
  ga_args args;
  args.n = 0;
  add_array(&args, &p->c);
  add_array(&args, &a);
  add_array(&args, &p->b);
  ga__args_i64(&args, (int64_t)a.m);
  ga__args_i64(&args, p->alpha == 0 ? 0 : (int64_t)a.n);
  ga__args_i64(&args, (int64_t)g.rows);
  ga__args_i64(&args, a.si);
  ga__args_i64(&args, a.sj);
  ga__args_i64(&args, p->b.si);
  ga__args_i64(&args, p->c.si);
  add_factor(&args, typecode, p->alpha);
  add_factor(&args, typecode, p->beta);
  const ga_launch launch = {.nd = 2,
                            .grid = {ceil_div(a.m, g.rows), 1, 1},
                            .block = {g.block[0], g.block[1], 1},
                            .n_args = args.n,
                            .args = args.list};
  return ga__kernel_launch(kernel, &launch);
}

/* ---- copies ---- */

/* Replaces o->array by a C-contiguous copy, which `copy` owns then. */
static int copy_operand(operand *o, GpuArray *copy, cb_transpose transpose, int nocopy,
                        const char *operation, const char *name) {
  char text[GA_ARRAY_TEXT];
  if (nocopy)
    return GA_FAIL(GA_COPY_ERROR,
                   "%s: %s, %s, overlaps the output or has a layout that needs a copy, "
                   "and none is allowed",
                   operation, name, ga__array_text(text, o->array));
  GA_TRY(GpuArray_copy(copy, o->array, GA_C_ORDER));
  *o = make_operand(copy, transpose);
  return GA_NO_ERROR;
}

/* An input may be used as it lies: it is no part of the output, and the vendor, if it
 * is one that computes, can walk it. */
static bool is_usable(const operand *o, const GpuArray *output, bool vendor) {
  if (GpuArray_share(o->array, output))
    return false;
  if (!vendor)
    return true;
  if (o->array->nd == 1)
    return o->m == 1 || o->si != 0;
  return has_lines(o, false) || has_lines(o, true);
}

/* Calls `compute` with copies in place of the operands that cannot be used as they lie.
 * `a` and `b` are inputs, `c` is the output. */
static int with_copies(product *p, int nocopy) {
  GpuArray a = {0}, b = {0}, c = {0};
  int status = GA_NO_ERROR;
  const GpuArray *const output = p->c.array;
  const bool vendor = p->blas != NULL;
  if (!is_usable(&p->a, output, vendor))
    status = copy_operand(&p->a, &a, p->ta, nocopy, p->operation, "A");
  if (status == GA_NO_ERROR && !is_usable(&p->b, output, vendor))
    status = copy_operand(&p->b, &b, p->tb, nocopy, p->operation, p->b_name);
  bool moved =
      vendor && output->nd == 2 && !has_lines(&p->c, false) && !has_lines(&p->c, true);
  if (status == GA_NO_ERROR && moved)
    status = copy_operand(&p->c, &c, cb_no_trans, nocopy, p->operation, "C");
  if (status == GA_NO_ERROR)
    status = p->compute(p);
  if (status == GA_NO_ERROR && moved) {
    GpuArray to = *output;
    status = GpuArray_move(&to, &c);
  }
  GpuArray_clear(&a);
  GpuArray_clear(&b);
  GpuArray_clear(&c);
  return status;
}

/* ---- the calls ---- */

static int check_gemv(const GpuArray *A, const GpuArray *X, const GpuArray *Y,
                      cb_transpose transA) {
  char a[GA_ARRAY_TEXT], x[GA_ARRAY_TEXT], y[GA_ARRAY_TEXT];
  GA_TRY(check_array(A, A, "gemv", "A", 2));
  GA_TRY(check_array(X, A, "gemv", "X", 1));
  GA_TRY(check_array(Y, A, "gemv", "Y", 1));
  GA_TRY(ga__array_writeable(Y, "gemv"));
  const bool flipped = transA != cb_no_trans;
  const size_t m = A->dimensions[flipped], n = A->dimensions[!flipped];
  if (X->dimensions[0] != n || Y->dimensions[0] != m)
    return GA_FAIL(GA_VALUE_ERROR,
                   "gemv: A is %s%s, X is %s, Y is %s: expected X of %zu and Y of %zu",
                   ga__array_text(a, A), flipped ? " transposed" : "",
                   ga__array_text(x, X), ga__array_text(y, Y), n, m);
  return GA_NO_ERROR;
}

/* For a small matrix our kernels come back sooner than a vendor's that are made for
 * large ones (on an H100, 5 us against 9 for 400 by 784). */
static bool serves_gemv(const GpuArray *A) {
  return A->dimensions[0] * A->dimensions[1] >= 1 << 20;
}

int GpuArray_rgemv(cb_transpose transA, double alpha, GpuArray *A, GpuArray *X,
                   double beta, GpuArray *Y, int nocopy) {
  GA_TRY(check_gemv(A, X, Y, transA));
  gpucontext *ctx = GpuArray_context(A);
  GA_TRY(ga__context_check(ctx));
  if (Y->dimensions[0] == 0)
    return GA_NO_ERROR;
  product p = {.operation = "gemv",
               .b_name = "X",
               .context = ctx,
               .blas = serves_gemv(A) ? ga__context_blas(ctx) : NULL,
               .ta = transA,
               .tb = cb_no_trans,
               .alpha = alpha,
               .beta = beta,
               .a = make_operand(A, transA),
               .b = make_operand(X, cb_no_trans),
               .c = make_operand(Y, cb_no_trans)};
  p.compute = p.blas ? vendor_gemv : own_gemv;
  return with_copies(&p, nocopy);
}

static int check_gemm(const GpuArray *A, const GpuArray *B, const GpuArray *C,
                      cb_transpose transA, cb_transpose transB) {
  char a[GA_ARRAY_TEXT], b[GA_ARRAY_TEXT], c[GA_ARRAY_TEXT];
  GA_TRY(check_array(A, A, "gemm", "A", 2));
  GA_TRY(check_array(B, A, "gemm", "B", 2));
  GA_TRY(check_array(C, A, "gemm", "C", 2));
  GA_TRY(ga__array_writeable(C, "gemm"));
  const bool fa = transA != cb_no_trans, fb = transB != cb_no_trans;
  const size_t m = A->dimensions[fa], k = A->dimensions[!fa];
  const size_t n = B->dimensions[!fb];
  if (B->dimensions[fb] != k)
    return GA_FAIL(GA_VALUE_ERROR,
                   "gemm: A is %s%s, B is %s%s: inner dimensions %zu and %zu differ",
                   ga__array_text(a, A), fa ? " transposed" : "", ga__array_text(b, B),
                   fb ? " transposed" : "", k, B->dimensions[fb]);
  if (C->dimensions[0] != m || C->dimensions[1] != n)
    return GA_FAIL(GA_VALUE_ERROR,
                   "gemm: A is %s%s, B is %s%s, C is %s: expected C of (%zu, %zu)",
                   ga__array_text(a, A), fa ? " transposed" : "", ga__array_text(b, B),
                   fb ? " transposed" : "", ga__array_text(c, C), m, n);
  return GA_NO_ERROR;
}

int GpuArray_rgemm(cb_transpose transA, cb_transpose transB, double alpha, GpuArray *A,
                   GpuArray *B, double beta, GpuArray *C, int nocopy) {
  GA_TRY(check_gemm(A, B, C, transA, transB));
  gpucontext *ctx = GpuArray_context(A);
  GA_TRY(ga__context_check(ctx));
  if (C->dimensions[0] == 0 || C->dimensions[1] == 0)
    return GA_NO_ERROR;
  const operand a = make_operand(A, transA);
  product p = {.operation = "gemm",
               .b_name = "B",
               .context = ctx,
               .blas = a.n > 0 ? ga__context_blas(ctx) : NULL,
               .ta = transA,
               .tb = transB,
               .alpha = alpha,
               .beta = beta,
               .a = a,
               .b = make_operand(B, transB),
               .c = make_operand(C, cb_no_trans)};
  p.compute = p.blas ? vendor_gemm : own_gemm;
  return with_copies(&p, nocopy);
}

int ga__blas_sources(ga_source out[4], unsigned int *n, gpucontext *ctx, int typecode,
                     bool matrix) {
  const enum ga_blas_kind first = matrix ? GA_BLAS_GEMM : GA_BLAS_ROWS;
  const enum ga_blas_kind last = matrix ? GA_BLAS_GEMM : GA_BLAS_COLUMNS;
  *n = 0;
  if (matrix && ga__context_blas(ctx) != NULL)
    return GA_NO_ERROR;
  for (int kind = (int)first; kind <= (int)last; kind++) {
    int status = ga__blas_source(&out[*n], ctx, (enum ga_blas_kind)kind, typecode);
    if (status != GA_NO_ERROR) {
      while (*n > 0)
        ga__strbuf_clear(&out[--*n].body);
      return status;
    }
    ++*n;
  }
  return GA_NO_ERROR;
}
