/* Sums and products, element by element, of two sorted matrices without duplicates.
 * Where a value goes follows from binary searches in the other matrix and a scan of the
 * places that both have, so that work is even whatever the lengths of rows. */
#include "c/base/counts.h"
#include "c/sparse/sparse.h"
#include "c/sparse/sparse_source.h"

static int check_pair(const GpuSparse *a, const GpuSparse *b, const char *operation) {
  char left[GA_SPARSE_TEXT], right[GA_SPARSE_TEXT];
  GA_TRY(ga__sparse_alike(a, b, operation));
  if (a->rows == b->rows && a->columns == b->columns)
    return GA_NO_ERROR;
  return GA_FAIL(GA_VALUE_ERROR, "%s: got %s and %s, expected one shape", operation,
                 ga__sparse_text(left, a), ga__sparse_text(right, b));
}

/* The arrays, or `otherwise` for those without elements, which have no memory. */
static const GpuArray *or_other(const GpuArray *a, const GpuArray *otherwise) {
  return a->data != NULL && a->dimensions[0] > 0 ? a : otherwise;
}

/* Launches over `tiles` parts of values, each with the rows that it is in. */
static int launch_tiles(gpucontext *ctx, ga_sparse_spec spec, const ga_args *args,
                        size_t tiles) {
  spec.threads = ga__sparse_threads(ctx);
  return ga__sparse_launch_sized(ctx, &spec, args, tiles);
}

static int queue_matches(const GpuArray *out, const GpuSparse *a, const GpuSparse *b) {
  const size_t n = ga__sparse_count(a);
  const ga_sparse_spec spec = {.kind = GA_SPARSE_MATCH,
                               .index = (unsigned char)a->indices.typecode};
  ga_args args = {0};
  ga__sparse_add(&args, out, false);
  ga__sparse_add(&args, &a->indptr, true);
  ga__sparse_add(&args, or_other(&a->indices, out), true);
  ga__sparse_add(&args, &b->indptr, true);
  ga__sparse_add(&args, or_other(&b->indices, out), true);
  ga__args_u64(&args, n > 0 ? a->rows : 0);
  ga__args_u64(&args, n);
  ga__args_u64(&args, ga__sparse_count(b));
  return launch_tiles(ga__sparse_context(a), spec, &args, n / GA_SPARSE_TILE + 1);
}

int GpuSparse_match(GpuArray *matches, const GpuSparse *a, const GpuSparse *b) {
  if (matches == NULL)
    return ga__fail_null("sparse match", "result");
  GA_TRY(check_pair(a, b, "sparse match"));
  const GpuSparse x = ga__sparse_lines(a), y = ga__sparse_lines(b);
  const size_t places = ga__sparse_count(a) + 1;
  GpuArray result = {0};
  GA_TRY(GpuArray_empty(&result, ga__sparse_context(a), a->indices.typecode, 1, &places,
                        GA_C_ORDER));
  int status = queue_matches(&result, &x, &y);
  GA_THEN(status, ga__sparse_scan(&result));
  return ga__array_return(matches, &result, status);
}

typedef struct merging {
  bool is_product;
  const double *alpha, *beta; /* of a sum */
  const GpuArray *matches;
  size_t n; /* values of the result */
} merging;

static int queue_merge(const GpuSparse *out, const GpuSparse *a, const GpuSparse *b,
                       const merging *m) {
  const size_t an = ga__sparse_count(a), bn = ga__sparse_count(b);
  const int typecode = a->values.typecode;
  const ga_sparse_spec spec = {.kind = GA_SPARSE_MERGE,
                               .typecode = (unsigned char)typecode,
                               .index = (unsigned char)a->indices.typecode,
                               .form = m->is_product};
  const GpuArray *none = m->matches;
  ga_args args = {0};
  ga__sparse_add(&args, or_other(&out->values, &out->indptr), false);
  ga__sparse_add(&args, or_other(&out->indices, &out->indptr), false);
  ga__sparse_add(&args, &out->indptr, false);
  ga__sparse_add(&args, none, true);
  ga__sparse_add(&args, or_other(&a->values, none), true);
  ga__sparse_add(&args, or_other(&a->indices, none), true);
  ga__sparse_add(&args, &a->indptr, true);
  ga__sparse_add(&args, or_other(&b->values, none), true);
  ga__sparse_add(&args, or_other(&b->indices, none), true);
  ga__sparse_add(&args, &b->indptr, true);
  ga__args_u64(&args, a->rows);
  ga__args_u64(&args, an);
  ga__args_u64(&args, bn);
  ga__args_u64(&args, m->n);
  ga__sparse_add_factor(&args, typecode, m->alpha, 1);
  ga__sparse_add_factor(&args, typecode, m->beta, 1);
  const size_t longest = ga__larger(an, ga__larger(bn, a->rows));
  return launch_tiles(ga__sparse_context(a), spec, &args,
                      2 * (longest / GA_SPARSE_TILE + 1));
}

static int merge(GpuSparse *out, const GpuSparse *a, const GpuSparse *b,
                 const merging *m, const char *operation) {
  if (out == NULL)
    return ga__fail_null(operation, "result");
  GA_TRY(check_pair(a, b, operation));
  GA_TRY(ga__sparse_check_counts(m->matches, a, ga__sparse_count(a) + 1,
                                 a->indices.typecode, operation));
  const GpuSparse x = ga__sparse_lines(a), y = ga__sparse_lines(b);
  GpuSparse result = {0};
  GA_TRY(GpuSparse_empty(&result, ga__sparse_context(a), GA_SPARSE_CSR, x.rows,
                         x.columns, m->n, a->values.typecode, a->indices.typecode));
  GA_TRY(ga__sparse_return(&result, &result, queue_merge(&result, &x, &y, m)));
  *out = a->format == GA_SPARSE_CSC ? ga__sparse_turned(&result) : result;
  return GA_NO_ERROR;
}

int GpuSparse_add_fill(GpuSparse *out, const GpuSparse *a, const GpuSparse *b,
                       const double *alpha, const double *beta, const GpuArray *matches,
                       size_t n) {
  const merging m = {false, alpha, beta, matches, n};
  return merge(out, a, b, &m, "sparse add");
}

int GpuSparse_multiply_fill(GpuSparse *out, const GpuSparse *a, const GpuSparse *b,
                            const GpuArray *matches, size_t n) {
  const merging m = {true, NULL, NULL, matches, n};
  return merge(out, a, b, &m, "sparse multiply");
}

/* The operation, with the count waited for. */
static int compute(GpuSparse *out, const GpuSparse *a, const GpuSparse *b, merging m,
                   const char *operation) {
  GpuArray matches = {0};
  int flags[2];
  size_t shared = 0;
  if (out == NULL)
    return ga__fail_null(operation, "result");
  GA_TRY(check_pair(a, b, operation));
  GA_TRY(ga__sparse_must_wait(a, operation));
  GA_TRY(ga__sparse_must_wait(b, operation));
  if (ga__sparse_merges_rows(a)) {
    const GpuSparse x = ga__sparse_lines(a), y = ga__sparse_lines(b);
    const ga_sparse_pair pair = {
        m.is_product ? GA_SPARSE_BOTH_PRODUCT : GA_SPARSE_BOTH_SUM, m.alpha, m.beta};
    GpuSparse result;
    bool has_flaw;
    GA_TRY(ga__sparse_merge_rows(&result, &has_flaw, &x, &y, &pair));
    if (!has_flaw) {
      *out = a->format == GA_SPARSE_CSC ? ga__sparse_turned(&result) : result;
      return GA_NO_ERROR;
    } /* which the checks below name */
  }
  GA_TRY(GpuSparse_check(&flags[0], a));
  GA_TRY(GpuSparse_check(&flags[1], b));
  if (!(flags[0] & flags[1] & GA_SPARSE_UNIQUE))
    return ga__sparse_needs(flags[0] & GA_SPARSE_UNIQUE ? b : a, operation,
                            "of which a row is not sorted or has duplicates: call "
                            "GpuSparse_sum_duplicates");
  GA_TRY(GpuSparse_match(&matches, a, b));
  int status = ga__sparse_last(&shared, &matches);
  m.matches = &matches;
  m.n = m.is_product ? shared : ga__sparse_count(a) + ga__sparse_count(b) - shared;
  GA_THEN(status, merge(out, a, b, &m, operation));
  GpuArray_clear(&matches);
  return status;
}

int GpuSparse_add(GpuSparse *out, const GpuSparse *a, const GpuSparse *b,
                  const double *alpha, const double *beta) {
  return compute(out, a, b, (merging){false, alpha, beta, NULL, 0}, "sparse add");
}

int GpuSparse_multiply(GpuSparse *out, const GpuSparse *a, const GpuSparse *b) {
  return compute(out, a, b, (merging){true, NULL, NULL, NULL, 0}, "sparse multiply");
}
