/* Rows and columns of sparse matrices by index. */
#include "c/sparse/sparse.h"
#include "c/sparse/sparse_source.h"

#include "c/device/device_errors.h"

/* True if lines along `axis` are those that the format compresses. */
static bool is_along(const GpuSparse *a, int axis) {
  return axis == (a->format == GA_SPARSE_CSC ? 1 : 0);
}

static int check_take(const GpuSparse *a, const GpuArray *indices, int axis,
                      const char *operation) {
  char text[GA_ARRAY_TEXT];
  GA_TRY(ga__sparse_check(a, operation));
  GA_TRY(ga__array_check(indices, operation));
  GA_TRY(ga__array_same_context(&a->values, indices, operation));
  const char kind = ga__dtype_kind(indices->typecode);
  if (axis != 0 && axis != 1)
    return GA_FAIL(GA_VALUE_ERROR, "%s: axis %d, expected 0 or 1", operation, axis);
  if (indices->nd != 1 || (kind != 'i' && kind != 'u'))
    return GA_FAIL(GA_INVALID_ERROR, "%s: got %s, expected a vector of integers",
                   operation, ga__array_text(text, indices));
  if (a->format == GA_SPARSE_COO)
    return ga__sparse_needs(a, operation, "convert it to CSR or CSC");
  return GA_NO_ERROR;
}

static int check_axis(const GpuSparse *a, int axis, const char *operation) {
  if (is_along(a, axis))
    return GA_NO_ERROR;
  return ga__sparse_needs(a, operation,
                          axis == 0 ? "for rows convert it to CSR"
                                    : "for columns convert it to CSC");
}

/* int64 in C order. */
static int open_indices(GpuArray *out, const GpuArray *indices) {
  return indices->typecode == GA_LONG && GpuArray_IS_C_CONTIGUOUS(indices) &&
                 GpuArray_ISALIGNED(indices)
             ? GpuArray_view(out, indices)
             : GpuArray_astype(out, indices, GA_LONG, GA_C_ORDER);
}

static int queue_lengths(const GpuArray *lengths, const GpuSparse *a,
                         const GpuArray *taken) {
  const size_t count = lengths->dimensions[0] - 1;
  gpucontext *ctx = ga__sparse_context(a);
  const ga_sparse_spec spec = {.kind = GA_SPARSE_TAKE_LENGTHS,
                               .index = (unsigned char)a->indices.typecode};
  ga_args args = {0};
  ga__sparse_add(&args, lengths, false);
  ga__sparse_add(&args, &a->indptr, true);
  ga__sparse_add(&args, count > 0 ? taken : &a->indptr, true);
  ga__args_u64(&args, a->rows);
  ga__args_u64(&args, count);
  GA_TRY(ga__args_report(&args, ctx, "sparse take"));
  return ga__sparse_launch(ctx, &spec, &args, count + 1);
}

int GpuSparse_take_count(GpuArray *counts, const GpuSparse *a, const GpuArray *indices,
                         int axis) {
  const char *name = "sparse take count";
  if (counts == NULL)
    return ga__fail_null(name, "result");
  GA_TRY(check_take(a, indices, axis, name));
  GA_TRY(check_axis(a, axis, name));
  const GpuSparse lines = ga__sparse_lines(a);
  const size_t places = indices->dimensions[0] + 1;
  GpuArray result = {0}, taken = {0};
  int status = open_indices(&taken, indices);
  GA_THEN(status, GpuArray_empty(&result, ga__sparse_context(a), GA_LONG, 1, &places,
                                 GA_C_ORDER));
  GA_THEN(status, queue_lengths(&result, &lines, &taken));
  GA_THEN(status, ga__sparse_scan(&result));
  GpuArray_clear(&taken);
  return ga__array_return(counts, &result, status);
}

static int queue_take(const GpuSparse *out, const GpuSparse *a, const GpuArray *taken) {
  const size_t n = ga__sparse_count(out);
  gpucontext *ctx = ga__sparse_context(a);
  const bool is_cpu = ctx->info.is_cpu; /* which needs no row of each value */
  const ga_sparse_spec spec = {
      .kind = GA_SPARSE_TAKE,
      .typecode = (unsigned char)gpuarray_get_elsize(a->values.typecode),
      .index = (unsigned char)a->indices.typecode};
  GpuArray rows = {0};
  ga_args args = {0};
  if (!is_cpu)
    GA_TRY(ga__sparse_expand(&rows, out));
  ga__sparse_add(&args, &out->values, false);
  ga__sparse_add(&args, &out->indices, false);
  if (!is_cpu)
    ga__sparse_add(&args, &rows, true);
  ga__sparse_add(&args, &out->indptr, true);
  ga__sparse_add(&args, &a->values, true);
  ga__sparse_add(&args, &a->indices, true);
  ga__sparse_add(&args, &a->indptr, true);
  ga__sparse_add(&args, taken, true);
  ga__args_u64(&args, a->rows);
  ga__args_u64(&args, ga__sparse_count(a));
  ga__args_u64(&args, n);
  if (is_cpu)
    ga__args_u64(&args, out->rows);
  const int status = ga__sparse_launch(ctx, &spec, &args, n);
  GpuArray_clear(&rows);
  return status;
}

int GpuSparse_take_fill(GpuSparse *out, const GpuSparse *a, const GpuArray *indices,
                        int axis, const GpuArray *counts, size_t n) {
  const char *name = "sparse take fill";
  if (out == NULL)
    return ga__fail_null(name, "result");
  GA_TRY(check_take(a, indices, axis, name));
  GA_TRY(check_axis(a, axis, name));
  const size_t count = indices->dimensions[0];
  GA_TRY(ga__sparse_check_counts(counts, a, count + 1, GA_LONG, name));
  const GpuSparse lines = ga__sparse_lines(a);
  gpucontext *ctx = ga__sparse_context(a);
  GpuSparse result = {GA_SPARSE_CSR, count, lines.columns, {0}, {0}, {0}};
  GpuArray taken = {0};
  int status = open_indices(&taken, indices);
  GA_THEN(status,
          GpuArray_empty(&result.values, ctx, a->values.typecode, 1, &n, GA_C_ORDER));
  GA_THEN(status,
          GpuArray_empty(&result.indices, ctx, a->indices.typecode, 1, &n, GA_C_ORDER));
  GA_THEN(status,
          GpuArray_astype(&result.indptr, counts, a->indices.typecode, GA_C_ORDER));
  GA_THEN(status, ga__sparse_check(&result, name));
  if (n > 0 && ga__sparse_count(a) > 0 && count > 0)
    GA_THEN(status, queue_take(&result, &lines, &taken));
  GpuArray_clear(&taken);
  GA_TRY(ga__sparse_return(&result, &result, status));
  *out = a->format == GA_SPARSE_CSC ? ga__sparse_turned(&result) : result;
  return GA_NO_ERROR;
}

/* Along the compressed axis. */
static int take(GpuSparse *out, const GpuSparse *a, const GpuArray *indices, int axis) {
  GpuArray counts = {0};
  size_t n = 0;
  int status = GpuSparse_take_count(&counts, a, indices, axis);
  GA_THEN(status, ga__sparse_last(&n, &counts));
  GA_THEN(status, GpuSparse_take_fill(out, a, indices, axis, &counts, n));
  GpuArray_clear(&counts);
  return status;
}

int GpuSparse_take(GpuSparse *out, const GpuSparse *a, const GpuArray *indices,
                   int axis) {
  if (out == NULL)
    return ga__fail_null("sparse take", "result");
  GA_TRY(check_take(a, indices, axis, "sparse take"));
  GA_TRY(ga__sparse_must_wait(a, "sparse take"));
  if (is_along(a, axis))
    return take(out, a, indices, axis);
  GpuSparse other = {0}, part = {0};
  int status = GpuSparse_convert(&other, a, axis == 0 ? GA_SPARSE_CSR : GA_SPARSE_CSC);
  GA_THEN(status, take(&part, &other, indices, axis));
  GA_THEN(status, GpuSparse_convert(out, &part, a->format));
  GpuSparse_clear(&other);
  GpuSparse_clear(&part);
  return status;
}
