/* Sparse matrices: life, checks of the struct, views. */
#include "c/sparse/sparse.h"

#include <stdio.h>

#include <gpuarray/scan.h>

static const char *format_name(int format) {
  return format == GA_SPARSE_CSR ? "csr" : format == GA_SPARSE_CSC ? "csc" : "coo";
}

const char *ga__sparse_text(char text[GA_SPARSE_TEXT], const GpuSparse *a) {
  snprintf(text, GA_SPARSE_TEXT, "a %s matrix of %s (%zu, %zu) with %zu values",
           format_name(a->format), ga__dtype_name(a->values.typecode), a->rows,
           a->columns, ga__sparse_count(a));
  return text;
}

int ga__sparse_needs(const GpuSparse *a, const char *operation, const char *needed) {
  char text[GA_SPARSE_TEXT];
  return GA_FAIL(GA_VALUE_ERROR, "%s: got %s; %s first", operation,
                 ga__sparse_text(text, a), needed);
}

/* ---- checks ---- */

static int check_vector(const GpuArray *a, const char *operation, const char *role) {
  char text[GA_ARRAY_TEXT];
  int status = ga__array_check(a, operation);
  if (status != GA_NO_ERROR)
    return ga__fail_within(status, "%s", role);
  if (a->nd != 1 || !GpuArray_IS_C_CONTIGUOUS(a) || !GpuArray_ISALIGNED(a))
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: the %s are %s, expected an aligned vector in C order; copy "
                   "them first (GpuArray_copy)",
                   operation, role, ga__array_text(text, a));
  return GA_NO_ERROR;
}

static int check_indices(const GpuSparse *a, const char *operation) {
  char given[GA_ARRAY_TEXT], other[GA_ARRAY_TEXT];
  if ((a->indices.typecode == GA_INT || a->indices.typecode == GA_LONG) &&
      a->indptr.typecode == a->indices.typecode)
    return GA_NO_ERROR;
  return GA_FAIL(GA_INVALID_ERROR,
                 "%s: indices are %s and indptr is %s, expected int32 or int64 of both",
                 operation, ga__array_text(given, &a->indices),
                 ga__array_text(other, &a->indptr));
}

static int check_lengths(const GpuSparse *a, const char *operation) {
  const size_t n = ga__sparse_count(a), found = a->indptr.dimensions[0];
  const size_t lines = a->format == GA_SPARSE_CSC ? a->columns : a->rows;
  const size_t wanted = a->format == GA_SPARSE_COO ? n : lines + 1;
  if (a->indices.dimensions[0] != n)
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: %zu values and %zu indices, expected one index for each value",
                   operation, n, a->indices.dimensions[0]);
  if (found != wanted)
    return GA_FAIL(GA_VALUE_ERROR,
                   a->format == GA_SPARSE_COO
                       ? "%s: %zu row indices for a shape of (%zu, %zu), expected %zu, "
                         "one for each value"
                       : "%s: an indptr of %zu elements for a shape of (%zu, %zu), "
                         "expected %zu",
                   operation, found, a->rows, a->columns, wanted);
  if (a->indices.typecode == GA_INT &&
      (n > INT32_MAX || a->rows > INT32_MAX || a->columns > INT32_MAX))
    return GA_FAIL(GA_XLARGE_ERROR,
                   "%s: %zu values in a shape of (%zu, %zu) are too many for int32 "
                   "indices; use int64",
                   operation, n, a->rows, a->columns);
  return GA_NO_ERROR;
}

int ga__sparse_check(const GpuSparse *a, const char *operation) {
  if (a == NULL)
    return ga__fail_null(operation, "sparse matrix");
  if (a->format < GA_SPARSE_CSR || a->format > GA_SPARSE_COO)
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: format %d, expected GA_SPARSE_CSR, GA_SPARSE_CSC or "
                   "GA_SPARSE_COO",
                   operation, a->format);
  GA_TRY(check_vector(&a->values, operation, "values"));
  GA_TRY(check_vector(&a->indices, operation, "indices"));
  GA_TRY(check_vector(&a->indptr, operation,
                      a->format == GA_SPARSE_COO ? "row indices" : "row pointers"));
  GA_TRY(ga__array_same_context(&a->values, &a->indices, operation));
  GA_TRY(ga__array_same_context(&a->values, &a->indptr, operation));
  GA_TRY(check_indices(a, operation));
  GA_TRY(check_lengths(a, operation));
  GA_TRY(ga__context_check(ga__sparse_context(a)));
  return ga__context_supports(ga__sparse_context(a), a->values.typecode, operation);
}

int ga__sparse_alike(const GpuSparse *a, const GpuSparse *b, const char *operation) {
  char left[GA_SPARSE_TEXT], right[GA_SPARSE_TEXT];
  GA_TRY(ga__sparse_check(a, operation));
  GA_TRY(ga__sparse_check(b, operation));
  GA_TRY(ga__array_same_context(&a->values, &b->values, operation));
  if (a->format != b->format || a->format == GA_SPARSE_COO)
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: got %s and %s, expected two CSR or two CSC matrices; convert "
                   "them first (GpuSparse_convert)",
                   operation, ga__sparse_text(left, a), ga__sparse_text(right, b));
  if (a->values.typecode != b->values.typecode ||
      a->indices.typecode != b->indices.typecode)
    return GA_FAIL(GA_INVALID_ERROR,
                   "%s: got %s with indices of %s and %s with %s, expected one type of "
                   "values and one of indices",
                   operation, ga__sparse_text(left, a),
                   ga__dtype_name(a->indices.typecode), ga__sparse_text(right, b),
                   ga__dtype_name(b->indices.typecode));
  return GA_NO_ERROR;
}

/* ---- counts ---- */

int ga__sparse_must_wait(const GpuSparse *a, const char *operation) {
  char text[GA_SPARSE_TEXT];
  if (!a->values.data->tape && !a->indices.data->tape && !a->indptr.data->tape)
    return GA_NO_ERROR;
  return GA_FAIL(GA_UNSUPPORTED_ERROR,
                 "%s: what is in %s is unknown while a plan is bound", operation,
                 ga__sparse_text(text, a));
}

/* The last `n` elements, of at most two. */
static int read_last(size_t *out, size_t n, const GpuArray *a) {
  const size_t size = gpuarray_get_elsize(a->typecode);
  int32_t narrow[2] = {0, 0};
  int64_t wide[2] = {0, 0};
  GA_TRY(gpudata_read(size == 4 ? (void *)narrow : (void *)wide, a->data,
                      a->offset + (a->dimensions[0] - n) * size, n * size));
  for (size_t i = 0; i < n; i++)
    out[i] = size == 4 ? (size_t)narrow[i] : (size_t)wide[i];
  return GA_NO_ERROR;
}

int ga__sparse_last(size_t *out, const GpuArray *a) {
  return read_last(out, 1, a);
}

int ga__sparse_last_two(size_t out[2], const GpuArray *a) {
  return read_last(out, 2, a);
}

int ga__sparse_check_counts(const GpuArray *counts, const GpuSparse *a, size_t n,
                            int typecode, const char *operation) {
  char text[GA_ARRAY_TEXT];
  GA_TRY(ga__array_check(counts, operation));
  GA_TRY(ga__array_fits(counts, ga__sparse_context(a), typecode, operation, "counts"));
  if (counts->nd == 1 && counts->dimensions[0] == n && GpuArray_IS_C_CONTIGUOUS(counts))
    return GA_NO_ERROR;
  return GA_FAIL(GA_VALUE_ERROR,
                 "%s: counts are %s, expected a vector in C order of %zu elements",
                 operation, ga__array_text(text, counts), n);
}

int ga__sparse_scan(GpuArray *counts) {
  return GpuArray_cumsum(counts, counts, 0, GA_SCAN_EXCLUSIVE);
}

/* ---- life ---- */

void GpuSparse_clear(GpuSparse *a) {
  if (a == NULL)
    return;
  GpuArray_clear(&a->values);
  GpuArray_clear(&a->indices);
  GpuArray_clear(&a->indptr);
  a->format = GA_SPARSE_CSR;
  a->rows = a->columns = 0;
}

int ga__sparse_return(GpuSparse *out, GpuSparse *result, int status) {
  if (status == GA_NO_ERROR)
    *out = *result;
  else
    GpuSparse_clear(result);
  return status;
}

/* New references to the arrays of `borrowed`. */
static int keep(GpuSparse *out, const GpuSparse *borrowed) {
  GpuSparse result = {
      borrowed->format, borrowed->rows, borrowed->columns, {0}, {0}, {0}};
  int status = GpuArray_view(&result.values, &borrowed->values);
  GA_THEN(status, GpuArray_view(&result.indices, &borrowed->indices));
  GA_THEN(status, GpuArray_view(&result.indptr, &borrowed->indptr));
  return ga__sparse_return(out, &result, status);
}

int GpuSparse_set(GpuSparse *out, int format, size_t rows, size_t columns,
                  const GpuArray *values, const GpuArray *indices,
                  const GpuArray *indptr) {
  const char *name = "sparse matrix";
  if (out == NULL)
    return ga__fail_null(name, "result");
  if (values == NULL || indices == NULL || indptr == NULL)
    return ga__fail_null(name, values == NULL    ? "values"
                               : indices == NULL ? "indices"
                                                 : "indptr");
  const GpuSparse given = {format, rows, columns, *values, *indices, *indptr};
  GA_TRY(ga__sparse_check(&given, name));
  return keep(out, &given);
}

int GpuSparse_empty(GpuSparse *out, gpucontext *ctx, int format, size_t rows,
                    size_t columns, size_t n, int typecode, int index_typecode) {
  const char *name = "sparse matrix";
  if (out == NULL)
    return ga__fail_null(name, "result");
  const size_t lines = (format == GA_SPARSE_CSC ? columns : rows) + 1;
  const size_t pointers = format == GA_SPARSE_COO ? n : lines;
  GpuSparse result = {format, rows, columns, {0}, {0}, {0}};
  int status = GpuArray_empty(&result.values, ctx, typecode, 1, &n, GA_C_ORDER);
  GA_THEN(status,
          GpuArray_empty(&result.indices, ctx, index_typecode, 1, &n, GA_C_ORDER));
  GA_THEN(status, GpuArray_empty(&result.indptr, ctx, index_typecode, 1, &pointers,
                                 GA_C_ORDER));
  GA_THEN(status, ga__sparse_check(&result, name));
  return ga__sparse_return(out, &result, status);
}

int GpuSparse_view(GpuSparse *out, const GpuSparse *a) {
  if (out == NULL)
    return ga__fail_null("sparse view", "result");
  GA_TRY(ga__sparse_check(a, "sparse view"));
  return keep(out, a);
}

GpuSparse ga__sparse_turned(const GpuSparse *a) {
  GpuSparse turned = *a;
  turned.rows = a->columns;
  turned.columns = a->rows;
  if (a->format == GA_SPARSE_COO) {
    turned.indices = a->indptr;
    turned.indptr = a->indices;
  } else
    turned.format = a->format == GA_SPARSE_CSR ? GA_SPARSE_CSC : GA_SPARSE_CSR;
  return turned;
}

int GpuSparse_transpose(GpuSparse *out, const GpuSparse *a) {
  if (out == NULL)
    return ga__fail_null("sparse transpose", "result");
  GA_TRY(ga__sparse_check(a, "sparse transpose"));
  const GpuSparse turned = ga__sparse_turned(a);
  return keep(out, &turned);
}
