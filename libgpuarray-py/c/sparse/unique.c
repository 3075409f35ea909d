/* Sums of duplicates: of sorted matrices, in the order of the values. */
#include "c/sparse/sparse.h"
#include "c/sparse/sparse_source.h"

/* Counts (`out` is NULL) or sums, of compressed rows or COO. At least one value, or one
 * row. */
static int launch(const GpuArray *counts, const GpuSparse *out, const GpuSparse *a) {
  const size_t n = ga__sparse_count(a);
  const bool is_listed = a->format == GA_SPARSE_COO;
  const ga_sparse_spec spec = {.kind = GA_SPARSE_UNIQUE_OF,
                               .typecode =
                                   (unsigned char)(out ? a->values.typecode : GA_BOOL),
                               .index = (unsigned char)a->indices.typecode,
                               .form = (unsigned char)((out ? 2 : 0) + is_listed)};
  /* what has no elements has no memory, and is not read */
  const GpuArray *some = n > 0 ? &a->values : counts;
  const GpuArray *indices = n > 0 ? &a->indices : counts;
  const bool has_result = out && ga__sparse_count(out) > 0;
  ga_args args = {0};
  ga__sparse_add(&args, counts, false);
  ga__sparse_add(&args, has_result ? &out->values : counts, false);
  ga__sparse_add(&args, has_result ? &out->indices : counts, false);
  ga__sparse_add(&args, out && (has_result || !is_listed) ? &out->indptr : counts,
                 false);
  ga__sparse_add(&args, some, true);
  ga__sparse_add(&args, indices, true);
  ga__sparse_add(&args, n > 0 || !is_listed ? &a->indptr : counts, true);
  ga__args_u64(&args, a->rows);
  ga__args_u64(&args, n);
  ga__args_u64(&args, out ? ga__sparse_count(out) : 0);
  return ga__sparse_launch(ga__sparse_context(a), &spec, &args,
                           n > a->rows ? n + 1 : a->rows + 1);
}

int GpuSparse_unique_count(GpuArray *counts, const GpuSparse *a) {
  const char *name = "sparse unique count";
  if (counts == NULL)
    return ga__fail_null(name, "result");
  GA_TRY(ga__sparse_check(a, name));
  const GpuSparse lines = ga__sparse_lines(a);
  const size_t places = ga__sparse_count(a) + 1;
  GpuArray result = {0};
  GA_TRY(GpuArray_empty(&result, ga__sparse_context(a), a->indices.typecode, 1, &places,
                        GA_C_ORDER));
  int status = launch(&result, NULL, &lines);
  GA_THEN(status, ga__sparse_scan(&result));
  return ga__array_return(counts, &result, status);
}

int GpuSparse_unique_fill(GpuSparse *out, const GpuSparse *a, const GpuArray *counts,
                          size_t n) {
  const char *name = "sparse unique fill";
  if (out == NULL)
    return ga__fail_null(name, "result");
  GA_TRY(ga__sparse_check(a, name));
  GA_TRY(ga__sparse_check_counts(counts, a, ga__sparse_count(a) + 1,
                                 a->indices.typecode, name));
  const GpuSparse lines = ga__sparse_lines(a);
  GpuSparse result = {0};
  GA_TRY(GpuSparse_empty(&result, ga__sparse_context(a), lines.format, lines.rows,
                         lines.columns, n, a->values.typecode, a->indices.typecode));
  GA_TRY(ga__sparse_return(&result, &result, launch(counts, &result, &lines)));
  *out = a->format == GA_SPARSE_CSC ? ga__sparse_turned(&result) : result;
  return GA_NO_ERROR;
}

/* The sums of a sorted matrix. */
static int sum(GpuSparse *out, const GpuSparse *a) {
  GpuArray counts = {0};
  size_t n = 0;
  int status = GpuSparse_unique_count(&counts, a);
  GA_THEN(status, ga__sparse_last(&n, &counts));
  GA_THEN(status, GpuSparse_unique_fill(out, a, &counts, n));
  GpuArray_clear(&counts);
  return status;
}

/* On processors: sorts if the sums cannot be made; *is_done unless indices are wrong.
 */
static int sum_rows(GpuSparse *out, bool *is_done, const GpuSparse *a) {
  const GpuSparse lines = ga__sparse_lines(a);
  const ga_sparse_pair pair = {.kind = GA_SPARSE_OWN_SUM};
  GpuSparse sorted = {0}, result;
  bool has_flaw = false;
  int status = ga__sparse_merge_rows(&result, &has_flaw, &lines, &lines, &pair);
  if (status == GA_NO_ERROR && has_flaw && ga__sparse_sorts_rows(&lines)) {
    GA_TRY(ga__sparse_sort_rows(&sorted, &lines));
    status = ga__sparse_merge_rows(&result, &has_flaw, &sorted, &sorted, &pair);
    GpuSparse_clear(&sorted);
  }
  *is_done = status == GA_NO_ERROR && !has_flaw;
  if (*is_done)
    *out = a->format == GA_SPARSE_CSC ? ga__sparse_turned(&result) : result;
  return status;
}

int GpuSparse_sum_duplicates(GpuSparse *out, const GpuSparse *a) {
  int flags = 0;
  GpuSparse sorted = {0};
  if (out == NULL)
    return ga__fail_null("sparse sum of duplicates", "result");
  GA_TRY(ga__sparse_check(a, "sparse sum of duplicates"));
  GA_TRY(ga__sparse_must_wait(a, "sparse sum of duplicates"));
  if (a->format != GA_SPARSE_COO && ga__sparse_merges_rows(a)) {
    bool is_done;
    GA_TRY(sum_rows(out, &is_done, a));
    if (is_done)
      return GA_NO_ERROR;
  } /* wrong indices are named by the check */
  GA_TRY(GpuSparse_check(&flags, a));
  if (flags & GA_SPARSE_UNIQUE)
    return GpuSparse_view(out, a);
  if (flags & GA_SPARSE_SORTED)
    return sum(out, a);
  GA_TRY(GpuSparse_sort(&sorted, a));
  const int status = sum(out, &sorted);
  GpuSparse_clear(&sorted);
  return status;
}
