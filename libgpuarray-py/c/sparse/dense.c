/* Sparse matrices from dense ones, and back. */
#include <gpuarray/index.h>

#include "c/base/counts.h"
#include "c/sparse/sparse.h"
#include "c/sparse/sparse_source.h"

static ssize_t stride(const GpuArray *a, unsigned int axis) {
  return a->strides[axis] / (ssize_t)gpuarray_get_elsize(a->typecode);
}

#define CLEARED_ROWS 64 /* for each processor to have some */

/* True on processors where the kernel sets rows to zero itself, while they are in its
 * cache. */
static bool clears_rows(const GpuSparse *a, ga_order order) {
  const int type = a->values.typecode;
  return ga__sparse_context(a)->info.is_cpu && a->format != GA_SPARSE_CSC &&
         order != GA_F_ORDER && a->rows >= CLEARED_ROWS &&
         (type == GA_FLOAT || type == GA_DOUBLE);
}

/* out += a, for CSR; out = a if the kernel clears rows. */
static int fill(const GpuArray *out, const GpuSparse *a, bool is_cleared) {
  gpucontext *ctx = ga__sparse_context(a);
  const unsigned short threads = ga__sparse_threads(ctx);
  const ga_sparse_spec spec = {.kind = GA_SPARSE_DENSE,
                               .typecode = (unsigned char)a->values.typecode,
                               .index = (unsigned char)a->indices.typecode,
                               .form = is_cleared,
                               .threads = threads};
  ga_args args = {0};
  ga__sparse_add(&args, out, false);
  ga__sparse_add_matrix(&args, a);
  ga__args_u64(&args, a->rows);
  ga__args_u64(&args, a->columns);
  ga__args_u64(&args, ga__sparse_count(a));
  ga__args_i64(&args, stride(out, 0));
  ga__args_i64(&args, stride(out, 1));
  return ga__sparse_launch_sized(ctx, &spec, &args, ga__ceil_div(a->rows, threads));
}

int GpuSparse_to_dense(GpuArray *out, const GpuSparse *a, ga_order order) {
  if (out == NULL)
    return ga__fail_null("sparse to dense", "result");
  GA_TRY(ga__sparse_check(a, "sparse to dense"));
  const size_t shape[2] = {a->rows, a->columns};
  GpuArray result = {0};
  const bool is_empty = ga__sparse_count(a) == 0 || a->rows == 0 || a->columns == 0;
  const bool is_cleared = !is_empty && clears_rows(a, order);
  GA_TRY((is_cleared ? GpuArray_empty : GpuArray_zeros)(
      &result, ga__sparse_context(a), a->values.typecode, 2, shape, order));
  if (is_empty)
    return ga__array_return(out, &result, GA_NO_ERROR);
  GpuArray target = result; /* borrowed */
  GpuSparse rows = {0};
  int status = GA_NO_ERROR;
  if (a->format == GA_SPARSE_CSC) {
    const GpuSparse turned = ga__sparse_turned(a);
    target.strides[0] = result.strides[1];
    target.strides[1] = result.strides[0];
    status = fill(&target, &turned, false);
  } else {
    status = ga__sparse_as_rows(&rows, a);
    GA_THEN(status, fill(&target, &rows, is_cleared));
    GpuSparse_clear(&rows);
  }
  return ga__array_return(out, &result, status);
}

/* Row `i` of positions, as a vector of the index type. */
static int take_positions(GpuArray *out, const GpuArray *positions, unsigned int i,
                          int typecode) {
  GpuArray row = *positions; /* borrowed */
  row.nd = 1;
  row.dimensions[0] = positions->dimensions[1];
  row.offset += i * row.dimensions[0] * sizeof(int64_t);
  row.strides[0] = sizeof(int64_t);
  GpuArray_fix_flags(&row);
  return GpuArray_astype(out, &row, typecode, GA_C_ORDER);
}

/* CSR from dense. */
static int list(GpuSparse *out, const GpuArray *a, int typecode) {
  GpuArray positions = {0}, rows = {0};
  GpuSparse result = {GA_SPARSE_CSR, a->dimensions[0], a->dimensions[1], {0}, {0}, {0}};
  GA_TRY(GpuArray_nonzero(&positions, a));
  int status = take_positions(&rows, &positions, 0, typecode);
  GA_THEN(status, take_positions(&result.indices, &positions, 1, typecode));
  const GpuArray *const both[2] = {&rows, &result.indices};
  if (status == GA_NO_ERROR && rows.dimensions[0] > 0)
    status = GpuArray_take(&result.values, a, 2, both, 0, GA_INDEX_RAISE);
  else
    GA_THEN(status, GpuArray_empty(&result.values, a->data->context, a->typecode, 1,
                                   rows.dimensions, GA_C_ORDER));
  GA_THEN(status, ga__sparse_compress(&result.indptr, &rows, result.rows));
  GA_THEN(status, ga__sparse_check(&result, "sparse from dense"));
  GpuArray_clear(&positions);
  GpuArray_clear(&rows);
  return ga__sparse_return(out, &result, status);
}

int GpuSparse_from_dense(GpuSparse *out, const GpuArray *a, int format,
                         int index_typecode) {
  const char *name = "sparse from dense";
  char text[GA_ARRAY_TEXT];
  if (out == NULL)
    return ga__fail_null(name, "result");
  GA_TRY(ga__array_check(a, name));
  if (a->nd != 2)
    return GA_FAIL(GA_VALUE_ERROR, "%s: got %s, expected a matrix", name,
                   ga__array_text(text, a));
  if (format < GA_SPARSE_CSR || format > GA_SPARSE_COO ||
      (index_typecode != GA_INT && index_typecode != GA_LONG))
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: format %d with indices of %s, expected GA_SPARSE_CSR, "
                   "GA_SPARSE_CSC or GA_SPARSE_COO with int32 or int64",
                   name, format, ga__dtype_name(index_typecode));
  GpuArray turned = *a; /* borrowed; a CSC matrix is the CSR one of the transpose */
  if (format == GA_SPARSE_CSC) {
    turned.dimensions[0] = a->dimensions[1];
    turned.dimensions[1] = a->dimensions[0];
    turned.strides[0] = a->strides[1];
    turned.strides[1] = a->strides[0];
    GpuArray_fix_flags(&turned);
  }
  GpuSparse rows = {0};
  GA_TRY(list(&rows, &turned, index_typecode));
  if (format == GA_SPARSE_CSC)
    rows = ga__sparse_turned(&rows);
  if (format != GA_SPARSE_COO) {
    *out = rows;
    return GA_NO_ERROR;
  }
  const int status = GpuSparse_convert(out, &rows, format);
  GpuSparse_clear(&rows);
  return status;
}
