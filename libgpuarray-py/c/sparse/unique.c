/* Sums of duplicates: of sorted matrices, in the order of the values. */
#include "c/sparse/sparse.h"

int GpuSparse_unique_count(GpuArray *counts, const GpuSparse *a) {
  const ga_sparse_choice c = {.operation = "sparse unique count"};
  if (counts == NULL)
    return ga__fail_null(c.operation, "result");
  GA_TRY(ga__sparse_check(a, c.operation));
  return ga__sparse_choice_count(counts, a, &c);
}

int GpuSparse_unique_fill(GpuSparse *out, const GpuSparse *a, const GpuArray *counts,
                          size_t n) {
  const ga_sparse_choice c = {.operation = "sparse unique fill"};
  if (out == NULL)
    return ga__fail_null(c.operation, "result");
  GA_TRY(ga__sparse_check(a, c.operation));
  return ga__sparse_choice_fill(out, a, counts, n, &c);
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
  const ga_sparse_choice c = {.operation = "sparse sum of duplicates"};
  int flags = 0;
  GpuSparse sorted = {0};
  if (out == NULL)
    return ga__fail_null(c.operation, "result");
  GA_TRY(ga__sparse_check(a, c.operation));
  GA_TRY(ga__sparse_must_wait(a, c.operation));
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
    return ga__sparse_choose(out, a, &c);
  GA_TRY(GpuSparse_sort(&sorted, a));
  const int status = ga__sparse_choose(out, &sorted, &c);
  GpuSparse_clear(&sorted);
  return status;
}
