/* Triangular systems. */
#include "c/base/counts.h"
#include "c/sparse/sparse.h"
#include "c/sparse/sparse_source.h"

static ssize_t stride(const GpuArray *a, unsigned int axis) {
  return axis < a->nd ? a->strides[axis] / (ssize_t)gpuarray_get_elsize(a->typecode)
                      : 0;
}

static int check_solve(const GpuArray *x, const GpuSparse *a, int flags,
                       const char *operation) {
  char text[GA_ARRAY_TEXT], matrix[GA_SPARSE_TEXT];
  GA_TRY(ga__sparse_check(a, operation));
  GA_TRY(ga__array_check(x, operation));
  GA_TRY(ga__array_fits(x, ga__sparse_context(a), a->values.typecode, operation,
                        "right-hand side"));
  GA_TRY(ga__array_writeable(x, operation));
  const char kind = ga__dtype_kind(a->values.typecode);
  if (kind != 'f' && kind != 'c')
    return GA_FAIL(GA_INVALID_ERROR, "%s: got %s, expected floats or complex numbers",
                   operation, ga__sparse_text(matrix, a));
  if (flags & ~(GA_SPARSE_UPPER | GA_SPARSE_UNIT))
    return GA_FAIL(GA_INVALID_ERROR, "%s: flags 0x%x, expected bits of 0x%x", operation,
                   (unsigned int)flags, GA_SPARSE_UPPER | GA_SPARSE_UNIT);
  if (a->rows == a->columns && (x->nd == 1 || x->nd == 2) &&
      x->dimensions[0] == a->rows)
    return GA_NO_ERROR;
  return GA_FAIL(GA_VALUE_ERROR,
                 "%s: got %s and %s, expected a square matrix and as many rows of the "
                 "right-hand side",
                 operation, ga__sparse_text(matrix, a), ga__array_text(text, x));
}

static int launch(const GpuArray *x, const GpuSparse *a, int flags) {
  gpucontext *ctx = ga__sparse_context(a);
  const size_t n = ga__sparse_count(a), width = x->nd == 2 ? x->dimensions[1] : 1;
  const size_t per = !ctx->info.is_cpu || width == 1
                         ? 1
                         : ga__smaller(8, ga__ceil_div(width, ctx->info.processors));
  const ga_sparse_spec spec = {.kind = GA_SPARSE_SOLVE,
                               .typecode = (unsigned char)a->values.typecode,
                               .index = (unsigned char)a->indices.typecode,
                               .form = (unsigned char)flags,
                               .per = (unsigned char)per,
                               .threads = ga__sparse_threads(ctx)};
  ga_args args = {0};
  ga__sparse_add(&args, x, false);
  ga__sparse_add_matrix(&args, a);
  ga__args_u64(&args, a->rows);
  ga__args_u64(&args, n);
  ga__args_u64(&args, width);
  ga__args_i64(&args, stride(x, 0));
  ga__args_i64(&args, stride(x, 1));
  return ga__sparse_launch_sized(ctx, &spec, &args, ga__ceil_div(width, per));
}

int GpuSparse_solve(GpuArray *x, const GpuSparse *a, int flags) {
  GA_TRY(check_solve(x, a, flags, "sparse solve"));
  if (ga__array_count(x) == 0)
    return GA_NO_ERROR;
  GpuSparse rows = {0};
  GpuArray apart = {0};
  int status = ga__sparse_as_rows(&rows, a);
  const bool meets = status == GA_NO_ERROR && GpuArray_share(x, &rows.values);
  if (meets)
    status = GpuArray_copy(&apart, x, GA_C_ORDER);
  GA_THEN(status, launch(meets ? &apart : x, &rows, flags));
  if (meets)
    GA_THEN(status, GpuArray_move(x, &apart));
  GpuArray_clear(&apart);
  GpuSparse_clear(&rows);
  return status;
}
