/* Values of sparse matrices by a mask. */
#include "c/sparse/sparse.h"
#include "c/sparse/sparse_source.h"

/* Counts (`out` is NULL) or values, of compressed rows or COO. */
static int launch(const GpuArray *counts, const GpuSparse *out, const GpuSparse *a,
                  const GpuArray *mask) {
  const size_t n = ga__sparse_count(a);
  const bool is_listed = a->format == GA_SPARSE_COO;
  const ga_sparse_spec spec = {
      .kind = GA_SPARSE_KEEP,
      .typecode = (unsigned char)(out ? gpuarray_get_elsize(a->values.typecode) : 1),
      .index = (unsigned char)a->indices.typecode,
      .form = (unsigned char)((out ? 2 : 0) + is_listed)};
  /* what has no elements has no memory, and is not read */
  const bool has_result = out && ga__sparse_count(out) > 0;
  ga_args args = {0};
  ga__sparse_add(&args, counts, false);
  ga__sparse_add(&args, has_result ? &out->values : counts, false);
  ga__sparse_add(&args, has_result ? &out->indices : counts, false);
  ga__sparse_add(&args, out && (has_result || !is_listed) ? &out->indptr : counts,
                 false);
  ga__sparse_add(&args, mask, true);
  ga__sparse_add(&args, &a->values, true);
  ga__sparse_add(&args, &a->indices, true);
  ga__sparse_add(&args, &a->indptr, true);
  ga__args_u64(&args, a->rows);
  ga__args_u64(&args, n);
  ga__args_u64(&args, out ? ga__sparse_count(out) : 0);
  return ga__sparse_launch(ga__sparse_context(a), &spec, &args,
                           n > a->rows ? n + 1 : a->rows + 1);
}

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
  const char *name = "sparse keep count";
  if (counts == NULL)
    return ga__fail_null(name, "result");
  GA_TRY(check_mask(a, mask, name));
  const GpuSparse lines = ga__sparse_lines(a);
  const size_t n = ga__sparse_count(a), places = n + 1;
  GpuArray result = {0};
  if (n == 0)
    return GpuArray_zeros(counts, ga__sparse_context(a), a->indices.typecode, 1,
                          &places, GA_C_ORDER);
  GA_TRY(GpuArray_empty(&result, ga__sparse_context(a), a->indices.typecode, 1, &places,
                        GA_C_ORDER));
  int status = launch(&result, NULL, &lines, mask);
  GA_THEN(status, ga__sparse_scan(&result));
  return ga__array_return(counts, &result, status);
}

int GpuSparse_keep_fill(GpuSparse *out, const GpuSparse *a, const GpuArray *counts,
                        size_t n) {
  const char *name = "sparse keep fill";
  if (out == NULL)
    return ga__fail_null(name, "result");
  GA_TRY(ga__sparse_check(a, name));
  GA_TRY(ga__sparse_check_counts(counts, a, ga__sparse_count(a) + 1,
                                 a->indices.typecode, name));
  if (ga__sparse_count(a) == 0)
    return GpuSparse_view(out, a);
  const GpuSparse lines = ga__sparse_lines(a);
  GpuSparse result = {0};
  GA_TRY(GpuSparse_empty(&result, ga__sparse_context(a), lines.format, lines.rows,
                         lines.columns, n, a->values.typecode, a->indices.typecode));
  GA_TRY(ga__sparse_return(&result, &result, launch(counts, &result, &lines, counts)));
  *out = a->format == GA_SPARSE_CSC ? ga__sparse_turned(&result) : result;
  return GA_NO_ERROR;
}

int GpuSparse_keep(GpuSparse *out, const GpuSparse *a, const GpuArray *mask) {
  const char *name = "sparse keep";
  if (out == NULL)
    return ga__fail_null(name, "result");
  GA_TRY(check_mask(a, mask, name));
  GA_TRY(ga__sparse_must_wait(a, name));
  const GpuSparse lines = ga__sparse_lines(a);
  if (lines.format == GA_SPARSE_CSR && ga__sparse_count(a) > 0 &&
      ga__sparse_merges_rows(&lines)) {
    GA_TRY(ga__sparse_keep_rows(out, &lines, mask));
    if (a->format == GA_SPARSE_CSC)
      *out = ga__sparse_turned(out);
    return GA_NO_ERROR;
  }
  GpuArray counts = {0};
  size_t n = 0;
  int status = GpuSparse_keep_count(&counts, a, mask);
  GA_THEN(status, ga__sparse_last(&n, &counts));
  GA_THEN(status, GpuSparse_keep_fill(out, a, &counts, n));
  GpuArray_clear(&counts);
  return status;
}
