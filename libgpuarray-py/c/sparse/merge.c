/* Elementwise operations of two sorted matrices without duplicates.
 * Their merged order is cut into equal parts, so that work is even whatever the lengths
 * of rows: a launch counts the places of each part that both have, the next fills. */
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

/* Parts of the merged order, and where their counts begin among the words of each part
 * and the end: values of both before it, and rows. Behind the counts are a word that is
 * not 0 if a matrix is not as it should be, and one for their sum. */
static size_t parts_of(const GpuSparse *a, const GpuSparse *b) {
  const size_t n = ga__sparse_count(a) + ga__sparse_count(b);
  return n / ga__sparse_merged(a->indices.typecode) + 1;
}

static size_t counts_at(size_t parts) {
  return 3 * (parts + 1);
}

static size_t words_of(size_t parts) {
  return counts_at(parts) + parts + 2;
}

static int queue_parts(const GpuArray *words, const GpuSparse *a, const GpuSparse *b) {
  const size_t parts = parts_of(a, b);
  const ga_sparse_spec spec = {.kind = GA_SPARSE_MERGE_PARTS,
                               .index = (unsigned char)a->indices.typecode};
  ga_args args = {0};
  ga__sparse_add(&args, words, false);
  ga__sparse_add(&args, ga__sparse_or(&a->indices, words), true);
  ga__sparse_add(&args, &a->indptr, true);
  ga__sparse_add(&args, ga__sparse_or(&b->indices, words), true);
  ga__sparse_add(&args, &b->indptr, true);
  ga__args_u64(&args, a->rows);
  ga__args_u64(&args, ga__sparse_count(a));
  ga__args_u64(&args, ga__sparse_count(b));
  ga__args_u64(&args, parts);
  return ga__sparse_launch(ga__sparse_context(a), &spec, &args, parts + 1);
}

typedef struct merging {
  ga_sparse_pair pair;
  const GpuArray *matches;
  size_t n; /* values of the result */
} merging;

/* Counts, or the result: `out` is NULL to count. */
static int queue_merge(const GpuSparse *out, const GpuSparse *a, const GpuSparse *b,
                       const merging *m) {
  gpucontext *ctx = ga__sparse_context(a);
  const GpuArray *words = m->matches;
  const int typecode = out ? a->values.typecode : GA_BOOL;
  const size_t parts = parts_of(a, b);
  const ga_sparse_spec spec = {.kind = out ? GA_SPARSE_MERGE : GA_SPARSE_MATCH,
                               .typecode = (unsigned char)typecode,
                               .index = (unsigned char)a->indices.typecode,
                               .form = (unsigned char)m->pair.kind,
                               .per = (unsigned char)m->pair.combination,
                               .threads = ga__sparse_threads(ctx)};
  ga_args args = {0};
  ga__sparse_add(&args, out ? ga__sparse_or(&out->values, words) : words, false);
  ga__sparse_add(&args, out ? ga__sparse_or(&out->indices, words) : words, false);
  ga__sparse_add(&args, out ? &out->indptr : words, false);
  ga__sparse_add(&args, words, out != NULL);
  ga__sparse_add_matrix(&args, a);
  ga__sparse_add_matrix(&args, b);
  ga__args_u64(&args, a->rows);
  ga__args_u64(&args, a->columns);
  ga__args_u64(&args, ga__sparse_count(a));
  ga__args_u64(&args, ga__sparse_count(b));
  ga__args_u64(&args, parts);
  ga__args_u64(&args, m->n);
  ga__sparse_add_factor(&args, typecode, m->pair.alpha, 1);
  ga__sparse_add_factor(&args, typecode, m->pair.beta, 1);
  return ga__sparse_launch_sized(ctx, &spec, &args, parts);
}

int GpuSparse_match(GpuArray *matches, const GpuSparse *a, const GpuSparse *b) {
  if (matches == NULL)
    return ga__fail_null("sparse match", "result");
  GA_TRY(check_pair(a, b, "sparse match"));
  const GpuSparse x = ga__sparse_lines(a), y = ga__sparse_lines(b);
  const size_t parts = parts_of(a, b), n = words_of(parts);
  GpuArray result = {0};
  GA_TRY(GpuArray_empty(&result, ga__sparse_context(a), a->indices.typecode, 1, &n,
                        GA_C_ORDER));
  const merging m = {.matches = &result};
  int status = queue_parts(&result, &x, &y);
  GA_THEN(status, queue_merge(NULL, &x, &y, &m));
  GpuArray counts = result; /* borrowed */
  counts.offset += counts_at(parts) * gpuarray_get_elsize(counts.typecode);
  counts.dimensions[0] = parts + 2;
  GpuArray_fix_flags(&counts);
  GA_THEN(status, ga__sparse_scan(&counts));
  return ga__array_return(matches, &result, status);
}

static int merge(GpuSparse *out, const GpuSparse *a, const GpuSparse *b,
                 const merging *m, const char *operation) {
  if (out == NULL)
    return ga__fail_null(operation, "result");
  GA_TRY(check_pair(a, b, operation));
  GA_TRY(ga__sparse_check_counts(m->matches, a, words_of(parts_of(a, b)),
                                 a->indices.typecode, operation));
  const GpuSparse x = ga__sparse_lines(a), y = ga__sparse_lines(b);
  GpuSparse result = {0};
  GA_TRY(GpuSparse_empty(
      &result, ga__sparse_context(a), GA_SPARSE_CSR, x.rows, x.columns, m->n,
      ga__sparse_pair_type(&m->pair, a->values.typecode), a->indices.typecode));
  GA_TRY(ga__sparse_return(&result, &result, queue_merge(&result, &x, &y, m)));
  *out = a->format == GA_SPARSE_CSC ? ga__sparse_turned(&result) : result;
  return GA_NO_ERROR;
}

int GpuSparse_add_fill(GpuSparse *out, const GpuSparse *a, const GpuSparse *b,
                       const double *alpha, const double *beta, const GpuArray *matches,
                       size_t n) {
  const merging m = {{GA_SPARSE_BOTH_SUM, alpha, beta, 0}, matches, n};
  return merge(out, a, b, &m, "sparse add");
}

int GpuSparse_multiply_fill(GpuSparse *out, const GpuSparse *a, const GpuSparse *b,
                            const GpuArray *matches, size_t n) {
  const merging m = {.pair.kind = GA_SPARSE_BOTH_PRODUCT, .matches = matches, .n = n};
  return merge(out, a, b, &m, "sparse multiply");
}

/* On processors by rows; *has_flaw if an operand is not as it should be. */
static int merge_rows(GpuSparse *out, bool *has_flaw, const GpuSparse *a,
                      const GpuSparse *b, const merging *m) {
  const GpuSparse x = ga__sparse_lines(a), y = ga__sparse_lines(b);
  GpuSparse result;
  GA_TRY(ga__sparse_merge_rows(&result, has_flaw, &x, &y, &m->pair));
  if (!*has_flaw)
    *out = a->format == GA_SPARSE_CSC ? ga__sparse_turned(&result) : result;
  return GA_NO_ERROR;
}

/* By parts, the same. */
static int merge_parts(GpuSparse *out, bool *has_flaw, const GpuSparse *a,
                       const GpuSparse *b, merging m, const char *operation) {
  GpuArray matches = {0};
  size_t shared[2] = {0, 0};
  GA_TRY(GpuSparse_match(&matches, a, b));
  int status = ga__sparse_last_two(shared, &matches);
  *has_flaw = shared[0] != shared[1];
  m.matches = &matches;
  m.n = m.pair.kind == GA_SPARSE_BOTH_PRODUCT
            ? shared[1]
            : ga__sparse_count(a) + ga__sparse_count(b) - shared[1];
  if (!*has_flaw)
    GA_THEN(status, merge(out, a, b, &m, operation));
  GpuArray_clear(&matches);
  return status;
}

/* Names the flaw. */
static int fail_flaw(const GpuSparse *a, const GpuSparse *b, const char *operation) {
  int flags[2];
  GA_TRY(GpuSparse_check(&flags[0], a));
  GA_TRY(GpuSparse_check(&flags[1], b));
  return ga__sparse_needs(flags[0] & GA_SPARSE_UNIQUE ? b : a, operation,
                          "of which a row is not sorted or has duplicates: call "
                          "GpuSparse_sum_duplicates");
}

/* The operation, with the count waited for. */
static int compute(GpuSparse *out, const GpuSparse *a, const GpuSparse *b,
                   ga_sparse_pair pair, const char *operation) {
  const merging m = {.pair = pair};
  bool has_flaw = false;
  if (out == NULL)
    return ga__fail_null(operation, "result");
  GA_TRY(check_pair(a, b, operation));
  GA_TRY(ga__sparse_must_wait(a, operation));
  GA_TRY(ga__sparse_must_wait(b, operation));
  GA_TRY(ga__sparse_merges_rows(a) ? merge_rows(out, &has_flaw, a, b, &m)
                                   : merge_parts(out, &has_flaw, a, b, m, operation));
  return has_flaw ? fail_flaw(a, b, operation) : GA_NO_ERROR;
}

int GpuSparse_add(GpuSparse *out, const GpuSparse *a, const GpuSparse *b,
                  const double *alpha, const double *beta) {
  return compute(out, a, b, (ga_sparse_pair){GA_SPARSE_BOTH_SUM, alpha, beta, 0},
                 "sparse add");
}

int GpuSparse_multiply(GpuSparse *out, const GpuSparse *a, const GpuSparse *b) {
  return compute(out, a, b, (ga_sparse_pair){.kind = GA_SPARSE_BOTH_PRODUCT},
                 "sparse multiply");
}

int GpuSparse_combine(GpuSparse *out, const GpuSparse *a, const GpuSparse *b,
                      int operation) {
  char text[GA_SPARSE_TEXT];
  GA_TRY(ga__sparse_check(a, "sparse combine"));
  if (operation < GA_SPARSE_MAXIMUM || operation > GA_SPARSE_GREATER)
    return GA_FAIL(GA_VALUE_ERROR,
                   "sparse combine: operation %d, expected one from %d (the greater) "
                   "to %d (whether it is greater)",
                   operation, GA_SPARSE_MAXIMUM, GA_SPARSE_GREATER);
  if (ga__dtype_kind(a->values.typecode) == 'c')
    return GA_FAIL(GA_INVALID_ERROR,
                   "sparse combine: got %s, complex numbers have no order",
                   ga__sparse_text(text, a));
  const ga_sparse_pair pair = {.kind = GA_SPARSE_BOTH_COMBINED,
                               .combination = operation};
  return compute(out, a, b, pair, "sparse combine");
}
