/* Dense matrices at the places of a sparse one: products and elements. */
#include <gpuarray/index.h>

#include "c/base/counts.h"
#include "c/sparse/sparse.h"
#include "c/sparse/sparse_source.h"

/* The row of each value, of any format; and its column. */
typedef struct places {
  GpuArray rows, columns;
} places;

static void clear_places(places *p) {
  GpuArray_clear(&p->rows);
  GpuArray_clear(&p->columns);
}

static int find_places(places *out, const GpuSparse *a) {
  const GpuSparse lines = ga__sparse_lines(a);
  places p = {{0}, {0}};
  int status = lines.format == GA_SPARSE_COO ? GpuArray_view(&p.rows, &lines.indptr)
                                             : ga__sparse_expand(&p.rows, &lines);
  GA_THEN(status, GpuArray_view(&p.columns, &lines.indices));
  if (status != GA_NO_ERROR) {
    clear_places(&p);
    return status;
  }
  *out = a->format == GA_SPARSE_CSC ? (places){p.columns, p.rows} : p;
  return GA_NO_ERROR;
}

/* ---- sampled products ---- */

typedef struct sampling {
  const GpuArray *values, *x, *y;
  const double *alpha, *beta;
} sampling;

static int check_dense(const GpuArray *x, const GpuSparse *a, unsigned int nd,
                       const char *role) {
  char text[GA_ARRAY_TEXT];
  GA_TRY(ga__array_check(x, "sparse sddmm"));
  GA_TRY(ga__array_fits(x, ga__sparse_context(a), a->values.typecode, "sparse sddmm",
                        role));
  if (x->nd == nd)
    return GA_NO_ERROR;
  return GA_FAIL(GA_VALUE_ERROR, "sparse sddmm: the %s is %s, expected %u axes", role,
                 ga__array_text(text, x), nd);
}

static int check_sampling(const GpuSparse *a, const sampling *s) {
  char xs[GA_ARRAY_TEXT], ys[GA_ARRAY_TEXT], text[GA_SPARSE_TEXT];
  GA_TRY(check_dense(s->x, a, 2, "first factor"));
  GA_TRY(check_dense(s->y, a, 2, "second factor"));
  GA_TRY(check_dense(s->values, a, 1, "result"));
  GA_TRY(ga__array_writeable(s->values, "sparse sddmm"));
  if (s->x->dimensions[0] != a->rows || s->y->dimensions[1] != a->columns ||
      s->x->dimensions[1] != s->y->dimensions[0])
    return GA_FAIL(GA_VALUE_ERROR,
                   "sparse sddmm: the product of %s and %s has not the shape of %s",
                   ga__array_text(xs, s->x), ga__array_text(ys, s->y),
                   ga__sparse_text(text, a));
  if (s->values->dimensions[0] != ga__sparse_count(a) ||
      !GpuArray_IS_C_CONTIGUOUS(s->values))
    return GA_FAIL(GA_VALUE_ERROR,
                   "sparse sddmm: the result is %s, expected a vector in C order of "
                   "%zu elements, one for each value",
                   ga__array_text(xs, s->values), ga__sparse_count(a));
  return GA_NO_ERROR;
}

/* A factor with its terms adjacent: the axis `along` has stride 1. */
static int open_factor(GpuArray *out, const GpuArray *x, unsigned int along) {
  if (x->dimensions[along] <= 1 ||
      x->strides[along] == (ssize_t)gpuarray_get_elsize(x->typecode))
    return GpuArray_view(out, x);
  return GpuArray_copy(out, x, along == 1 ? GA_C_ORDER : GA_F_ORDER);
}

/* Loads of 16 bytes for four adjacent terms, where all of them lie so. */
static unsigned char packs_of(const GpuArray *x, const GpuArray *y) {
  const size_t size = gpuarray_get_elsize(x->typecode);
  const size_t all =
      x->offset | y->offset | (size_t)x->strides[0] | (size_t)y->strides[1];
  return size % 4 == 0 && x->dimensions[1] % 4 == 0 && all % 16 == 0
             ? (unsigned char)(size / 4)
             : 0;
}

static int launch(const places *p, const GpuSparse *a, const sampling *s) {
  gpucontext *ctx = ga__sparse_context(a);
  const int typecode = a->values.typecode;
  const size_t n = ga__sparse_count(a), depth = s->x->dimensions[1];
  const ssize_t size = (ssize_t)gpuarray_get_elsize(typecode);
  const unsigned char packs = ctx->info.is_cpu ? 0 : packs_of(s->x, s->y);
  const size_t each = packs > 0 ? depth / 4 : depth / 4 + 1;
  const size_t lanes = ctx->info.is_cpu ? 1 : ga__smaller(32, ga__power_above(each));
  const ga_sparse_spec spec = {.kind = GA_SPARSE_SAMPLED,
                               .typecode = (unsigned char)typecode,
                               .index = (unsigned char)a->indices.typecode,
                               .lanes = (unsigned char)lanes,
                               .per = ctx->info.is_cpu ? 8 : 1,
                               .packs = packs,
                               .threads = ctx->info.is_cpu ? 1 : 256};
  const bool is_empty = depth == 0; /* such factors have no memory */
  ga_args args = {0};
  ga__sparse_add(&args, s->values, false);
  ga__sparse_add(&args, &p->rows, true);
  ga__sparse_add(&args, &p->columns, true);
  ga__sparse_add(&args, is_empty ? s->values : s->x, true);
  ga__sparse_add(&args, is_empty ? s->values : s->y, true);
  ga__args_u64(&args, a->rows);
  ga__args_u64(&args, a->columns);
  ga__args_u64(&args, n);
  ga__args_u64(&args, depth);
  ga__args_i64(&args, s->x->strides[0] / size);
  ga__args_i64(&args, s->y->strides[1] / size);
  ga__sparse_add_factor(&args, typecode, s->alpha, 1);
  ga__sparse_add_factor(&args, typecode, s->beta, 0);
  ga__args_i32(&args, s->beta && (s->beta[0] != 0 || s->beta[1] != 0));
  return lanes > 1 ? ga__sparse_launch_sized(ctx, &spec, &args,
                                             ga__ceil_div(n, 4 * 256 / lanes))
                   : ga__sparse_launch(ctx, &spec, &args, n);
}

/* Into a copy where the result overlaps a factor. */
static int sample(const GpuSparse *a, const sampling *given) {
  sampling s = *given;
  GpuArray x = {0}, y = {0}, apart = {0}, target = *given->values; /* borrowed */
  places p = {{0}, {0}};
  int status = find_places(&p, a);
  GA_THEN(status, open_factor(&x, given->x, 1));
  GA_THEN(status, open_factor(&y, given->y, 0));
  s.x = &x;
  s.y = &y;
  if (status == GA_NO_ERROR &&
      (GpuArray_share(&target, &x) || GpuArray_share(&target, &y))) {
    status = GpuArray_copy(&apart, &target, GA_C_ORDER);
    s.values = &apart;
  }
  GA_THEN(status, launch(&p, a, &s));
  if (apart.data != NULL)
    GA_THEN(status, GpuArray_move(&target, &apart));
  GpuArray *all[] = {&x, &y, &apart};
  for (int i = 0; i < 3; i++)
    GpuArray_clear(all[i]);
  clear_places(&p);
  return status;
}

int GpuSparse_sddmm(GpuArray *values, const GpuSparse *a, const GpuArray *x,
                    const GpuArray *y, const double *alpha, const double *beta) {
  const sampling s = {values, x, y, alpha, beta};
  GA_TRY(ga__sparse_check(a, "sparse sddmm"));
  GA_TRY(check_sampling(a, &s));
  return ga__sparse_count(a) > 0 ? sample(a, &s) : GA_NO_ERROR;
}

/* ---- elements ---- */

int GpuSparse_sample(GpuArray *out, const GpuSparse *a, const GpuArray *dense) {
  const char *name = "sparse sample";
  if (out == NULL)
    return ga__fail_null(name, "result");
  GA_TRY(ga__sparse_check(a, name));
  GA_TRY(ga__array_check(dense, name));
  GA_TRY(ga__array_same_context(&a->values, dense, name));
  const size_t shape[2] = {a->rows, a->columns};
  if (ga__sparse_count(a) == 0)
    return GpuArray_empty(out, ga__sparse_context(a), dense->typecode, 1,
                          a->values.dimensions, GA_C_ORDER);
  GpuArray whole = {0};
  places p = {{0}, {0}};
  int status = GpuArray_broadcast_to(&whole, dense, 2, shape);
  if (status != GA_NO_ERROR)
    return ga__fail_within(status, "%s", name);
  status = find_places(&p, a);
  const GpuArray *const both[2] = {&p.rows, &p.columns};
  GA_THEN(status, GpuArray_take(out, &whole, 2, both, 0, GA_INDEX_RAISE));
  clear_places(&p);
  GpuArray_clear(&whole);
  return status;
}
