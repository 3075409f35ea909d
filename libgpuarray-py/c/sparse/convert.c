/* Formats of sparse matrices, and the order of values. Sorts are stable radix sorts, in
 * which what belongs to a key moves with it. */
#include "c/base/counts.h"
#include "c/sort/sort_task.h"
#include "c/sparse/sparse.h"
#include "c/sparse/sparse_source.h"

static unsigned int bits_of(size_t length) {
  unsigned int bits = 1;
  while (bits < 64 && length > (size_t)1 << bits)
    bits++;
  return bits;
}

/* ---- rows ---- */

/* Rows, pairs or keys of the values of CSR or COO; `given` are values or columns. At
 * least one value. */
static int queue_expand(const GpuArray *out, const GpuSparse *a, const GpuArray *given,
                        unsigned char kind, size_t size, unsigned int bits) {
  gpucontext *ctx = ga__sparse_context(a);
  const size_t n = ga__sparse_count(a);
  const ga_sparse_spec spec = {
      .kind = kind,
      .typecode =
          (unsigned char)(kind == GA_SPARSE_PACK ? gpuarray_get_elsize(given->typecode)
                                                 : 1),
      .index = (unsigned char)a->indices.typecode,
      .form = a->format == GA_SPARSE_COO,
      .per = (unsigned char)size,
      .threads = ga__sparse_threads(ctx)};
  ga_args args = {0};
  if (a->rows == 0)
    return GA_NO_ERROR; /* a value without a row */
  ga__sparse_add(&args, out, false);
  ga__sparse_add(&args, &a->indptr, true);
  ga__sparse_add(&args, given, true);
  ga__args_u64(&args, a->rows);
  ga__args_u64(&args, n);
  ga__args_u32(&args, bits);
  return ga__sparse_launch_sized(
      ctx, &spec, &args, ga__ceil_div(n, ctx->info.is_cpu ? 256 : GA_SPARSE_TILE));
}

int ga__sparse_expand(GpuArray *out, const GpuSparse *a) {
  const size_t n = ga__sparse_count(a);
  GpuArray result = {0};
  GA_TRY(GpuArray_empty(&result, ga__sparse_context(a), a->indices.typecode, 1, &n,
                        GA_C_ORDER));
  const int status = n > 0
                         ? queue_expand(&result, a, &a->indptr, GA_SPARSE_EXPAND, 1, 0)
                         : GA_NO_ERROR;
  return ga__array_return(out, &result, status);
}

int ga__sparse_compress(GpuArray *out, const GpuArray *indices, size_t rows) {
  gpucontext *ctx = indices->data->context;
  const size_t pointers = rows + 1, n = indices->dimensions[0];
  const ga_sparse_spec spec = {.kind = GA_SPARSE_COMPRESS,
                               .index = (unsigned char)indices->typecode};
  GpuArray result = {0};
  ga_args args = {0};
  if (n == 0)
    return GpuArray_zeros(out, ctx, indices->typecode, 1, &pointers, GA_C_ORDER);
  GA_TRY(GpuArray_empty(&result, ctx, indices->typecode, 1, &pointers, GA_C_ORDER));
  ga__sparse_add(&args, &result, false);
  ga__sparse_add(&args, indices, true);
  ga__args_u64(&args, rows);
  ga__args_u64(&args, n);
  return ga__array_return(out, &result, ga__sparse_launch(ctx, &spec, &args, pointers));
}

/* ---- sorts ---- */

static ga_sort_place place_of(const GpuArray *a) {
  return (ga_sort_place){a->data, a->offset};
}

static ga_sort_task task_of(const GpuArray *out_keys, const GpuArray *out_values,
                            const GpuArray *keys, const GpuArray *values,
                            size_t value_size, unsigned int bits) {
  return (ga_sort_task){.context = keys->data->context,
                        .typecode = gpuarray_get_elsize(keys->typecode) == 8 ? GA_ULONG
                                                                             : GA_UINT,
                        .rows = 1,
                        .n = keys->dimensions[0],
                        .key_bits = bits,
                        .keys = place_of(keys),
                        .out_keys = place_of(out_keys),
                        .value_size = (int)value_size,
                        .values = place_of(values),
                        .out_values = place_of(out_values)};
}

static int sort_task(const ga_sort_task *task) {
  if (task->n >= GA_SORT_LONGEST)
    return GA_FAIL(GA_XLARGE_ERROR, "sparse: %zu values are too many to sort", task->n);
  return ga__sort_rows(task);
}

/* Sorts by unsigned keys, stably; `values` move with them, whatever their type. */
static int sort_by(const GpuArray *out_keys, const GpuArray *out_values,
                   const GpuArray *keys, const GpuArray *values, size_t value_size,
                   unsigned int bits) {
  const ga_sort_task task =
      task_of(out_keys, out_values, keys, values, value_size, bits);
  return sort_task(&task);
}

static int queue_split(const GpuSparse *out, const GpuArray *other,
                       const GpuArray *sorted, int form, size_t size,
                       unsigned int bits) {
  const size_t n = ga__sparse_count(out);
  const ga_sparse_spec spec = {
      .kind = GA_SPARSE_SPLIT,
      .typecode = (unsigned char)(form == 0 ? gpuarray_get_elsize(other->typecode) : 1),
      .index = (unsigned char)out->indices.typecode,
      .form = (unsigned char)form,
      .per = (unsigned char)size};
  ga_args args = {0};
  ga__sparse_add(&args, other, false);
  ga__sparse_add(&args, &out->indices, false);
  ga__sparse_add(&args, sorted, true);
  ga__args_u64(&args, n);
  ga__args_u32(&args, bits);
  return ga__sparse_launch(sorted->data->context, &spec, &args, n);
}

/* New values and indices, as many as `a` has. */
static int like(GpuSparse *out, const GpuSparse *a, int format) {
  const size_t n = ga__sparse_count(a);
  gpucontext *ctx = ga__sparse_context(a);
  *out = (GpuSparse){format, a->rows, a->columns, {0}, {0}, {0}};
  GA_TRY(GpuArray_empty(&out->values, ctx, a->values.typecode, 1, &n, GA_C_ORDER));
  return GpuArray_empty(&out->indices, ctx, a->indices.typecode, 1, &n, GA_C_ORDER);
}

/* Values and rows of `lines` (CSR or COO), sorted by its columns, in one sort of pairs
 * of them: 8 bytes, or 16. */
static int sort_packed(const GpuSparse *out, const GpuArray *sorted,
                       const GpuSparse *lines, unsigned int bits) {
  const bool is_short =
      gpuarray_get_elsize(lines->values.typecode) <= 4 && lines->rows <= UINT32_MAX;
  const size_t size = is_short ? 8 : 16, words = ga__sparse_count(lines) * (size / 8);
  gpucontext *ctx = ga__sparse_context(lines);
  GpuArray pairs = {0}, moved = {0};
  int status = GpuArray_empty(&pairs, ctx, GA_ULONG, 1, &words, GA_C_ORDER);
  GA_THEN(status, queue_expand(&pairs, lines, &lines->values, GA_SPARSE_PACK, size, 0));
  GA_THEN(status, GpuArray_empty(&moved, ctx, GA_ULONG, 1, &words, GA_C_ORDER));
  GA_THEN(status, sort_by(sorted, &moved, &lines->indices, &pairs, size, bits));
  GA_THEN(status, queue_split(out, &out->values, &moved, 0, size, 0));
  GpuArray_clear(&pairs);
  GpuArray_clear(&moved);
  return status;
}

/* The row of each value of CSR or COO: a new vector, or a view. */
static int rows_of(GpuArray *out, const GpuSparse *lines) {
  return lines->format == GA_SPARSE_COO ? GpuArray_view(out, &lines->indptr)
                                        : ga__sparse_expand(out, lines);
}

/* The same; where values and rows are the halves of a pair, and the first digit of
 * several can read them apart, no pairs are made before and behind. */
static int sort_pairs(const GpuSparse *out, const GpuArray *sorted,
                      const GpuSparse *lines, unsigned int bits) {
  ga_sort_task task =
      task_of(sorted, &out->values, &lines->indices, &lines->values, 8, bits);
  GpuArray rows = {0};
  if (gpuarray_get_elsize(lines->values.typecode) != 4 ||
      lines->indices.typecode != GA_INT || bits <= 8 || !ga__sweeps_serve(&task))
    return sort_packed(out, sorted, lines, bits);
  GA_TRY(rows_of(&rows, lines));
  task.upper = place_of(&rows);
  task.out_upper = place_of(&out->indices);
  const int status = sort_task(&task);
  GpuArray_clear(&rows);
  return status;
}

/* The same in two sorts, of values of 16 bytes. */
static int sort_apart(const GpuSparse *out, const GpuArray *sorted,
                      const GpuSparse *lines, unsigned int bits) {
  const size_t size = gpuarray_get_elsize(lines->values.typecode);
  const size_t width = gpuarray_get_elsize(lines->indices.typecode);
  GpuArray rows = {0};
  GA_TRY(rows_of(&rows, lines));
  int status =
      sort_by(sorted, &out->values, &lines->indices, &lines->values, size, bits);
  GA_THEN(status, sort_by(sorted, &out->indices, &lines->indices, &rows, width, bits));
  GpuArray_clear(&rows);
  return status;
}

/* CSR from the transpose, `lines`, as CSR or COO of at least one value. */
static int sort_lines(GpuSparse *out, const GpuSparse *lines) {
  const GpuSparse turned = ga__sparse_turned(lines);
  const unsigned int bits = bits_of(lines->columns);
  GpuArray sorted = {0};
  GpuSparse result;
  int status = like(&result, &turned, GA_SPARSE_CSR);
  GA_THEN(status,
          GpuArray_empty(&sorted, ga__sparse_context(lines), lines->indices.typecode, 1,
                         lines->values.dimensions, GA_C_ORDER));
  GA_THEN(status, gpuarray_get_elsize(lines->values.typecode) <= 8
                      ? sort_pairs(&result, &sorted, lines, bits)
                      : sort_apart(&result, &sorted, lines, bits));
  GA_THEN(status, ga__sparse_compress(&result.indptr, &sorted, result.rows));
  GpuArray_clear(&sorted);
  return ga__sparse_return(out, &result, status);
}

/* ---- formats ---- */

/* CSR to COO. */
static int expand(GpuSparse *out, const GpuSparse *a) {
  GpuSparse result = {GA_SPARSE_COO, a->rows, a->columns, {0}, {0}, {0}};
  int status = GpuArray_view(&result.values, &a->values);
  GA_THEN(status, GpuArray_view(&result.indices, &a->indices));
  GA_THEN(status, ga__sparse_expand(&result.indptr, a));
  return ga__sparse_return(out, &result, status);
}

static void turn(GpuSparse *a) {
  *a = ga__sparse_turned(a);
}

/* CSR of no values, as CSC or COO with any. */
static int no_rows(GpuSparse *out, const GpuSparse *a) {
  GpuSparse result;
  int status = like(&result, a, GA_SPARSE_CSR);
  GA_THEN(status, ga__sparse_compress(&result.indptr, &a->indices, a->rows));
  return ga__sparse_return(out, &result, status);
}

/* CSR by counting, on processors. */
static int fill_buckets(GpuSparse *out, const GpuSparse *a) {
  GpuSparse result;
  int status = like(&result, a, GA_SPARSE_CSR);
  GA_THEN(status, ga__sparse_buckets(&result, a));
  return ga__sparse_return(out, &result, status);
}

/* CSR from COO or CSC. */
static int to_rows(GpuSparse *out, const GpuSparse *a) {
  if (ga__sparse_count(a) == 0)
    return no_rows(out, a);
  if (ga__sparse_has_buckets(a))
    return fill_buckets(out, a);
  const GpuSparse turned = ga__sparse_turned(a);
  return sort_lines(out, &turned);
}

int ga__sparse_as_rows(GpuSparse *out, const GpuSparse *a) {
  return a->format == GA_SPARSE_CSR ? GpuSparse_view(out, a) : to_rows(out, a);
}

int GpuSparse_convert(GpuSparse *out, const GpuSparse *a, int format) {
  if (out == NULL)
    return ga__fail_null("sparse convert", "result");
  GA_TRY(ga__sparse_check(a, "sparse convert"));
  if (format < GA_SPARSE_CSR || format > GA_SPARSE_COO)
    return GA_FAIL(GA_VALUE_ERROR,
                   "sparse convert: format %d, expected GA_SPARSE_CSR, GA_SPARSE_CSC "
                   "or GA_SPARSE_COO",
                   format);
  if (a->format == format)
    return GpuSparse_view(out, a);
  if (format == GA_SPARSE_CSR)
    return to_rows(out, a);
  const GpuSparse turned = ga__sparse_turned(a);
  GpuSparse result;
  if (format == GA_SPARSE_COO && a->format == GA_SPARSE_CSR)
    return expand(out, a);
  GA_TRY(format == GA_SPARSE_COO ? expand(&result, &turned)
                                 : to_rows(&result, &turned));
  turn(&result);
  *out = result;
  return GA_NO_ERROR;
}

/* Sorts COO on processors: by rows, then within each. */
static int sort_by_rows(GpuSparse *out, const GpuSparse *a) {
  GpuSparse rows = {0}, sorted = {0};
  int status = to_rows(&rows, a);
  GA_THEN(status, ga__sparse_sort_rows(&sorted, &rows));
  GA_THEN(status, expand(out, &sorted));
  GpuSparse_clear(&rows);
  GpuSparse_clear(&sorted);
  return status;
}

/* Sorts CSR or COO by rows and columns: by keys of both, with which the values move. */
static int sort_all(GpuSparse *out, const GpuSparse *a) {
  gpucontext *ctx = ga__sparse_context(a);
  const size_t *n = a->values.dimensions,
               size = gpuarray_get_elsize(a->values.typecode);
  const unsigned int low = bits_of(a->columns), bits = low + bits_of(a->rows);
  const bool is_coo = a->format == GA_SPARSE_COO;
  const size_t width = bits <= 32 ? 4 : 8;
  GpuArray keys = {0}, sorted = {0};
  GpuSparse result;
  if (ga__sparse_sorts_rows(a)) {
    if (!is_coo)
      return ga__sparse_sort_rows(out, a);
    if (ga__sparse_has_buckets(a))
      return sort_by_rows(out, a);
  }
  if (bits > 64)
    return GA_FAIL(GA_XLARGE_ERROR,
                   "sparse: %zu values in a shape of (%zu, %zu) are too many to sort",
                   n[0], a->rows, a->columns);
  int status = like(&result, a, a->format);
  GA_THEN(status, is_coo ? GpuArray_empty(&result.indptr, ctx, a->indptr.typecode, 1, n,
                                          GA_C_ORDER)
                         : GpuArray_view(&result.indptr, &a->indptr));
  const int typecode = width == 4 ? GA_UINT : GA_ULONG;
  GA_THEN(status, GpuArray_empty(&keys, ctx, typecode, 1, n, GA_C_ORDER));
  GA_THEN(status, GpuArray_empty(&sorted, ctx, typecode, 1, n, GA_C_ORDER));
  GA_THEN(status, queue_expand(&keys, a, &a->indices, GA_SPARSE_KEYS, width, low));
  GA_THEN(status, sort_by(&sorted, &result.values, &keys, &a->values, size, bits));
  GA_THEN(status, queue_split(&result, is_coo ? &result.indptr : &sorted, &sorted,
                              is_coo ? 2 : 1, width, low));
  GpuArray_clear(&keys);
  GpuArray_clear(&sorted);
  return ga__sparse_return(out, &result, status);
}

int GpuSparse_sort(GpuSparse *out, const GpuSparse *a) {
  if (out == NULL)
    return ga__fail_null("sparse sort", "result");
  GA_TRY(ga__sparse_check(a, "sparse sort"));
  if (ga__sparse_count(a) < 2)
    return GpuSparse_view(out, a);
  if (a->format != GA_SPARSE_CSC)
    return sort_all(out, a);
  const GpuSparse turned = ga__sparse_turned(a);
  GpuSparse result;
  GA_TRY(sort_all(&result, &turned));
  turn(&result);
  *out = result;
  return GA_NO_ERROR;
}
