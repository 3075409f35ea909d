/* Values of sparse matrices by a mask. */
#include <gpuarray/index.h>

#include "c/sparse/sparse.h"

static int check_mask(const GpuSparse *a, const GpuArray *mask, const char *operation) {
  char text[GA_ARRAY_TEXT];
  GA_TRY(ga__sparse_check(a, operation));
  GA_TRY(ga__array_check(mask, operation));
  GA_TRY(ga__array_fits(mask, ga__sparse_context(a), GA_BOOL, operation, "mask"));
  if (mask->nd == 1 && mask->dimensions[0] == ga__sparse_count(a) &&
      GpuArray_IS_C_CONTIGUOUS(mask))
    return GA_NO_ERROR;
  return GA_FAIL(GA_VALUE_ERROR,
                 "%s: the mask is %s, expected a vector in C order of %zu elements, "
                 "one for each value",
                 operation, ga__array_text(text, mask), ga__sparse_count(a));
}

int GpuSparse_keep_count(GpuArray *counts, const GpuSparse *a, const GpuArray *mask) {
  const ga_sparse_choice c = {true, mask, "sparse keep count"};
  if (counts == NULL)
    return ga__fail_null(c.operation, "result");
  GA_TRY(check_mask(a, mask, c.operation));
  return ga__sparse_choice_count(counts, a, &c);
}

int GpuSparse_keep_fill(GpuSparse *out, const GpuSparse *a, const GpuArray *counts,
                        size_t n) {
  const ga_sparse_choice c = {true, NULL, "sparse keep fill"};
  if (out == NULL)
    return ga__fail_null(c.operation, "result");
  GA_TRY(ga__sparse_check(a, c.operation));
  return ga__sparse_choice_fill(out, a, counts, n, &c);
}

static int keep_nonzeros(GpuSparse *out, const GpuSparse *a) {
  GpuArray mask = {0};
  size_t n = 0;
  const ga_sparse_choice c = {true, &mask, "sparse keep"};
  GA_TRY(GpuArray_count_nonzero(&n, &a->values));
  if (n == ga__sparse_count(a))
    return GpuSparse_view(out, a);
  GA_TRY(GpuArray_astype(&mask, &a->values, GA_BOOL, GA_C_ORDER));
  const int status = ga__sparse_choose(out, a, &c);
  GpuArray_clear(&mask);
  return status;
}

int GpuSparse_keep(GpuSparse *out, const GpuSparse *a, const GpuArray *mask) {
  const ga_sparse_choice c = {true, mask, "sparse keep"};
  if (out == NULL)
    return ga__fail_null(c.operation, "result");
  GA_TRY(mask ? check_mask(a, mask, c.operation) : ga__sparse_check(a, c.operation));
  GA_TRY(ga__sparse_must_wait(a, c.operation));
  const GpuSparse lines = ga__sparse_lines(a);
  if (lines.format == GA_SPARSE_COO || ga__sparse_count(a) == 0 ||
      !ga__sparse_merges_rows(&lines))
    return mask ? ga__sparse_choose(out, a, &c) : keep_nonzeros(out, a);
  GA_TRY(ga__sparse_keep_rows(out, &lines, mask));
  if (a->format == GA_SPARSE_CSC)
    *out = ga__sparse_turned(out);
  return GA_NO_ERROR;
}
