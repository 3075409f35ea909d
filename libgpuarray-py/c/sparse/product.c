/* Products of sparse matrices with dense ones, and the sums and diagonals that are
 * computed alike.
 *
 * A row is summed by a few lanes (GPUs), by the mean length of rows, or by one item
 * (processors). Rows much longer than the mean are left to two more launches: work
 * groups take pieces of them, or warps where x is one column, then the pieces of a row
 * are summed, in order. So no row is longer than a piece to anyone, and sums depend on
 * lengths alone. */
#include <string.h>

#include "c/base/counts.h"
#include "c/sparse/sparse.h"
#include "c/sparse/sparse_source.h"

/* ---- geometry ---- */

typedef struct geometry {
  size_t width; /* columns of x */
  size_t limit; /* values of the longest row that one launch sums */
  size_t piece; /* values that another launch takes of a longer one at a time */
  size_t room;  /* pieces that long rows can have */
  ga_sparse_spec rows, pieces;
} geometry;

static void plan_lanes(geometry *g, const gpucontext *ctx, size_t mean) {
  if (ctx->info.is_cpu) { /* up to four vectors of 8 columns */
    g->rows.width = g->width > 1 ? 8 : 1;
    g->rows.per = (unsigned char)ga__smaller(4, ga__larger(1, g->width / 8));
    g->rows.lanes = 1;
    g->rows.threads = 1;
    return;
  }
  const size_t width = ga__smaller(32, ga__power_above(g->width));
  const size_t lanes = ga__smaller(32 / width, ga__power_above(mean / 8 + 1));
  g->rows.width = (unsigned char)width;
  g->rows.lanes = (unsigned char)lanes;
  g->rows.per = g->width > 32 ? 2 : 1;
  g->rows.threads = ga__sparse_threads(ctx);
}

/* Loads of 16 bytes for four adjacent values, where one column is summed. */
static unsigned char packs_of(const GpuSparse *a) {
  const size_t size = gpuarray_get_elsize(a->values.typecode);
  const bool is_aligned = (a->values.offset | a->indices.offset) % 16 == 0;
  return (size == 4 || size == 8) && is_aligned ? (unsigned char)(size / 4) : 0;
}

static void plan(geometry *g, const ga_sparse_product *p) {
  const GpuSparse *a = p->a;
  const gpucontext *ctx = ga__sparse_context(a);
  const size_t n = ga__sparse_count(a), mean = n / a->rows;
  memset(g, 0, sizeof *g);
  g->width = p->y->nd == 2 ? p->y->dimensions[1] : 1;
  g->rows.kind = GA_SPARSE_ROWS;
  g->rows.typecode = (unsigned char)a->values.typecode;
  g->rows.index = (unsigned char)a->indices.typecode;
  g->rows.form = (unsigned char)p->term;
  plan_lanes(g, ctx, mean);
  const bool is_vector = !ctx->info.is_cpu && g->width == 1;
  if (is_vector)
    g->rows.packs = packs_of(a);
  g->pieces = g->rows;
  g->pieces.kind = is_vector ? GA_SPARSE_PIECES : GA_SPARSE_LONG;
  g->pieces.lanes = is_vector ? 32 : 1;
  g->pieces.per = 1;
  if (ctx->info.is_cpu)
    g->pieces.threads = g->pieces.width;
  const size_t least = ctx->info.is_cpu ? 16384 : ga__larger(512, 64 * g->rows.lanes);
  g->piece = ga__larger(least, ga__larger(8 * mean, 4 * g->width));
  g->limit = is_vector ? ga__larger(64, 4 * mean) : g->piece;
  g->room = n > g->limit ? n / g->limit + n / g->piece + 1 : 0;
}

/* ---- launches ---- */

static int run(const ga_sparse_product *p, const geometry *g, const GpuArray *list,
               const GpuArray *parts) {
  gpucontext *ctx = ga__sparse_context(p->a);
  const size_t tile = (size_t)g->rows.width * g->rows.per;
  const size_t per_group =
      ctx->info.is_cpu ? 16 : (size_t)g->rows.threads / g->rows.lanes / g->rows.width;
  const size_t tiles = ctx->info.is_cpu ? 1 : ga__ceil_div(g->width, tile);
  ga_args args;
  const ga_sparse_sizes sizes = {
      g->width, g->room > 0 ? g->limit : ga__sparse_count(p->a), g->room, g->piece};
  args.n = 0;
  ga__sparse_add_product(&args, p, &sizes, list, parts);
  GA_TRY(ga__sparse_launch_sized(ctx, &g->rows, &args,
                                 ga__ceil_div(p->a->rows, per_group) * tiles));
  if (g->room == 0)
    return GA_NO_ERROR;
  ga_sparse_spec spec = g->pieces;
  size_t groups = g->room * ga__ceil_div(g->width, g->rows.width);
  const size_t teams = (size_t)(spec.threads / spec.lanes);
  const size_t wave = 8 * ctx->info.processors;
  if (spec.kind == GA_SPARSE_PIECES) /* mostly there are few, or none */
    groups = ga__smaller(wave, ga__ceil_div(g->room, teams));
  GA_TRY(ga__sparse_launch_sized(ctx, &spec, &args, groups));
  if (spec.kind == GA_SPARSE_PIECES) { /* of few rows there are several */
    spec.packs = 0;
    groups = ga__smaller(wave, ga__sparse_count(p->a) / g->piece / teams + 1);
  }
  spec.kind++;
  return ga__sparse_launch_sized(ctx, &spec, &args, groups);
}

/* The list of long rows begins with no entries; their parts are undefined. */
static int make_lists(GpuArray *list, GpuArray *parts, const geometry *g,
                      const GpuSparse *a) {
  gpucontext *ctx = ga__sparse_context(a);
  const size_t words = 2 + 3 * g->room, sums = g->room * g->width;
  GA_TRY(GpuArray_empty(list, ctx, GA_ULONG, 1, &words, GA_C_ORDER));
  GA_TRY(ga__buffer_fill(list->data, list->offset, 0, 2 * sizeof(uint64_t)));
  return GpuArray_empty(parts, ctx, ga__dtype_work(a->values.typecode), 1, &sums,
                        GA_C_ORDER);
}

int ga__sparse_product(const ga_sparse_product *p) {
  geometry g;
  GpuArray list = {0}, parts = {0};
  if (ga__array_count(p->y) == 0)
    return GA_NO_ERROR;
  plan(&g, p);
  int status = g.room > 0 ? make_lists(&list, &parts, &g, p->a) : GA_NO_ERROR;
  GA_THEN(status, run(p, &g, &list, &parts));
  GpuArray_clear(&list);
  GpuArray_clear(&parts);
  return status;
}

/* ---- calls ---- */

static int check_dense(const GpuArray *x, const GpuSparse *a, const char *operation,
                       const char *role) {
  GA_TRY(ga__array_check(x, operation));
  return ga__array_fits(x, ga__sparse_context(a), a->values.typecode, operation, role);
}

/* y has the shape (rows,) or (rows, columns of x). */
static int check_product(const GpuArray *y, const GpuSparse *a, const GpuArray *x,
                         const char *operation) {
  char xs[GA_ARRAY_TEXT], ys[GA_ARRAY_TEXT], text[GA_SPARSE_TEXT];
  GA_TRY(check_dense(x, a, operation, "dense operand"));
  GA_TRY(check_dense(y, a, operation, "result"));
  GA_TRY(ga__array_writeable(y, operation));
  if ((x->nd == 1 || x->nd == 2) && y->nd == x->nd && x->dimensions[0] == a->columns &&
      y->dimensions[0] == a->rows &&
      (x->nd == 1 || x->dimensions[1] == y->dimensions[1]))
    return GA_NO_ERROR;
  return GA_FAIL(GA_VALUE_ERROR,
                 "%s: the product of %s and %s does not fit a result of %s", operation,
                 ga__sparse_text(text, a), ga__array_text(xs, x),
                 ga__array_text(ys, y));
}

/* Rows of x are read whole: in C order, if there are columns. */
static int open_dense(GpuArray *out, const GpuArray *x) {
  if (x->nd == 1 || x->dimensions[1] <= 1 ||
      x->strides[1] == (ssize_t)gpuarray_get_elsize(x->typecode))
    return GpuArray_view(out, x);
  return GpuArray_copy(out, x, GA_C_ORDER);
}

static bool meets(const GpuArray *y, const GpuSparse *a, const GpuArray *x) {
  return GpuArray_share(y, &a->values) || GpuArray_share(y, &a->indices) ||
         GpuArray_share(y, &a->indptr) || (x != NULL && GpuArray_share(y, x));
}

/* A product, into a copy where the result overlaps an operand. */
static int compute(const ga_sparse_product *given) {
  ga_sparse_product p = *given;
  GpuSparse rows = {0};
  GpuArray x = {0}, apart = {0}, target = *given->y; /* borrowed */
  const bool scatters = ga__sparse_scatters(given);
  int status =
      scatters ? GpuSparse_view(&rows, given->a) : ga__sparse_as_rows(&rows, given->a);
  p.a = &rows;
  if (given->x != NULL) {
    GA_THEN(status, open_dense(&x, given->x));
    p.x = &x;
  }
  if (status == GA_NO_ERROR && meets(given->y, &rows, given->x)) {
    status = GpuArray_copy(&apart, given->y, GA_C_ORDER);
    p.y = &apart;
  }
  GA_THEN(status, scatters ? ga__sparse_scatter(&p) : ga__sparse_product(&p));
  if (apart.data != NULL)
    GA_THEN(status, GpuArray_move(&target, &apart));
  GpuSparse_clear(&rows);
  GpuArray_clear(&x);
  GpuArray_clear(&apart);
  return status;
}

int GpuSparse_matmul(GpuArray *y, const GpuSparse *a, const GpuArray *x,
                     const double *alpha, const double *beta) {
  GA_TRY(ga__sparse_check(a, "sparse matmul"));
  GA_TRY(check_product(y, a, x, "sparse matmul"));
  const ga_sparse_product p = {.a = a, .x = x, .y = y, .alpha = alpha, .beta = beta};
  return compute(&p);
}

/* The transpose of a matrix, borrowed; a vector is its own. */
static GpuArray transposed(const GpuArray *a) {
  GpuArray t = *a;
  if (a->nd != 2)
    return t;
  t.dimensions[0] = a->dimensions[1];
  t.dimensions[1] = a->dimensions[0];
  t.strides[0] = a->strides[1];
  t.strides[1] = a->strides[0];
  GpuArray_fix_flags(&t);
  return t;
}

int GpuSparse_rmatmul(GpuArray *y, const GpuArray *x, const GpuSparse *a,
                      const double *alpha, const double *beta) {
  GA_TRY(ga__sparse_check(a, "sparse rmatmul"));
  GA_TRY(ga__array_check(x, "sparse rmatmul"));
  GA_TRY(ga__array_check(y, "sparse rmatmul"));
  const GpuSparse turned = ga__sparse_turned(a);
  const GpuArray left = transposed(x), result = transposed(y);
  GA_TRY(check_product(&result, &turned, &left, "sparse rmatmul"));
  const ga_sparse_product p = {
      .a = &turned, .x = &left, .y = &result, .alpha = alpha, .beta = beta};
  return compute(&p);
}

static int check_vector(const GpuArray *y, const GpuSparse *a, size_t length,
                        const char *operation) {
  char text[GA_ARRAY_TEXT];
  GA_TRY(check_dense(y, a, operation, "result"));
  GA_TRY(ga__array_writeable(y, operation));
  if (y->nd == 1 && y->dimensions[0] == length)
    return GA_NO_ERROR;
  return GA_FAIL(GA_VALUE_ERROR,
                 "%s: the result is %s, expected a vector of %zu elements", operation,
                 ga__array_text(text, y), length);
}

/* A fold of each row (axis 1) or column (axis 0). */
static int fold(GpuArray *y, const GpuSparse *a, int axis, enum ga_sparse_term term,
                const char *operation) {
  char text[GA_SPARSE_TEXT];
  GA_TRY(ga__sparse_check(a, operation));
  if (axis != 0 && axis != 1)
    return GA_FAIL(GA_VALUE_ERROR, "%s: axis %d, expected 0 or 1", operation, axis);
  if (term != GA_SPARSE_SUM && ga__dtype_kind(a->values.typecode) == 'c')
    return GA_FAIL(GA_INVALID_ERROR, "%s: got %s, complex numbers have no order",
                   operation, ga__sparse_text(text, a));
  const GpuSparse lines = axis == 1 ? *a : ga__sparse_turned(a);
  GA_TRY(check_vector(y, a, lines.rows, operation));
  const ga_sparse_product p = {.a = &lines, .term = term, .y = y};
  return compute(&p);
}

int GpuSparse_sum(GpuArray *y, const GpuSparse *a, int axis) {
  return fold(y, a, axis, GA_SPARSE_SUM, "sparse sum");
}

int GpuSparse_max(GpuArray *y, const GpuSparse *a, int axis) {
  return fold(y, a, axis, GA_SPARSE_MAX, "sparse max");
}

int GpuSparse_min(GpuArray *y, const GpuSparse *a, int axis) {
  return fold(y, a, axis, GA_SPARSE_MIN, "sparse min");
}

/* The first elements of a vector. */
static GpuArray head(const GpuArray *a, size_t n) {
  GpuArray part = *a;
  part.dimensions[0] = n;
  GpuArray_fix_flags(&part);
  return part;
}

int GpuSparse_diagonal(GpuArray *y, const GpuSparse *a, ssize_t offset) {
  GA_TRY(ga__sparse_check(a, "sparse diagonal"));
  const size_t down = offset < 0 ? ga__magnitude(offset) : 0,
               right = offset > 0 ? (size_t)offset : 0;
  const size_t high = a->rows > down ? a->rows - down : 0;
  const size_t wide = a->columns > right ? a->columns - right : 0;
  const size_t n = ga__smaller(high, wide);
  GA_TRY(check_vector(y, a, n, "sparse diagonal"));
  if (n == 0)
    return GA_NO_ERROR;
  GpuSparse rows = {0};
  GA_TRY(ga__sparse_as_rows(&rows, a));
  GpuSparse part = rows; /* borrowed: the rows that the diagonal meets */
  part.rows = n;
  part.indptr.offset += down * gpuarray_get_elsize(rows.indptr.typecode);
  part.indptr = head(&part.indptr, n + 1);
  const ga_sparse_product p = {.a = &part,
                               .term = GA_SPARSE_DIAGONAL,
                               .y = y,
                               .offset = offset < 0 ? 0 : offset};
  const int status = compute(&p);
  GpuSparse_clear(&rows);
  return status;
}
