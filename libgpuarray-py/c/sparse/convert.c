/* Formats of sparse matrices, and the order of values. Sorts are stable radix sorts of
 * indices, with the values' positions behind them. */
#include <string.h>

#include "c/sort/sort.h"
#include "c/sparse/sparse.h"
#include "c/sparse/sparse_source.h"

static unsigned int bits_of(size_t length) {
  unsigned int bits = 1;
  while (bits < 64 && length > (size_t)1 << bits)
    bits++;
  return bits;
}

/* ---- rows ---- */

static int add_rows(const GpuArray *out, const GpuArray *in, size_t rows, size_t n,
                    unsigned char kind, size_t items) {
  const ga_sparse_spec spec = {.kind = kind, .index = (unsigned char)in->typecode};
  ga_args args = {0};
  ga__sparse_add(&args, out, false);
  ga__sparse_add(&args, in, true);
  ga__args_u64(&args, rows);
  ga__args_u64(&args, n);
  return ga__sparse_launch(in->data->context, &spec, &args, items);
}

int ga__sparse_expand(GpuArray *out, const GpuSparse *a) {
  const size_t n = ga__sparse_count(a);
  GpuArray result = {0};
  GA_TRY(GpuArray_empty(&result, ga__sparse_context(a), a->indices.typecode, 1, &n,
                        GA_C_ORDER));
  const int status = n > 0 && a->rows > 0 ? add_rows(&result, &a->indptr, a->rows, n,
                                                     GA_SPARSE_EXPAND, n)
                                          : GA_NO_ERROR;
  return ga__array_return(out, &result, status);
}

int ga__sparse_compress(GpuArray *out, const GpuArray *indices, size_t rows) {
  const size_t pointers = rows + 1, n = indices->dimensions[0];
  GpuArray result = {0};
  if (n == 0)
    return GpuArray_zeros(out, indices->data->context, indices->typecode, 1, &pointers,
                          GA_C_ORDER);
  GA_TRY(GpuArray_empty(&result, indices->data->context, indices->typecode, 1,
                        &pointers, GA_C_ORDER));
  return ga__array_return(
      out, &result, add_rows(&result, indices, rows, n, GA_SPARSE_COMPRESS, pointers));
}

/* ---- order ---- */

/* A stable sort: keys in `keys` if not NULL, else a vector of indices. */
typedef struct ordering {
  GpuArray order;  /* uint32: for each place that of the value */
  GpuArray sorted; /* the keys, sorted */
} ordering;

static void clear_ordering(ordering *o) {
  GpuArray_clear(&o->order);
  GpuArray_clear(&o->sorted);
}

/* Positions, and with `columns` keys of rows and columns. */
static int queue_keys(const GpuArray *order, const GpuArray *keys, const GpuArray *rows,
                      const GpuArray *columns, unsigned int bits) {
  const ga_sparse_spec spec = {.kind = GA_SPARSE_KEYS,
                               .index = (unsigned char)rows->typecode,
                               .form = keys != NULL};
  ga_args args = {0};
  ga__sparse_add(&args, order, false);
  ga__sparse_add(&args, keys ? keys : order, false);
  ga__sparse_add(&args, rows, true);
  ga__sparse_add(&args, columns ? columns : rows, true);
  ga__args_u32(&args, bits);
  ga__args_u64(&args, order->dimensions[0]);
  return ga__sparse_launch(order->data->context, &spec, &args, order->dimensions[0]);
}

/* Orders by `rows`, and with `columns` by these within a row. At least one value. */
static int find_order(ordering *out, const GpuArray *rows, const GpuArray *columns,
                      size_t n_rows, size_t n_columns) {
  gpucontext *ctx = rows->data->context;
  const size_t n = rows->dimensions[0];
  const unsigned int low = columns ? bits_of(n_columns) : 0,
                     bits = low + bits_of(n_rows);
  if (n >= GA_SORT_LONGEST || bits > 64)
    return GA_FAIL(GA_XLARGE_ERROR,
                   "sparse: %zu values in a shape of (%zu, %zu) are too many to sort",
                   n, n_rows, n_columns);
  const int typecode = columns || rows->typecode == GA_LONG ? GA_ULONG : GA_UINT;
  ordering o = {{0}, {0}};
  GpuArray iota = {0}, keys = {0};
  int status = GpuArray_empty(&o.order, ctx, GA_UINT, 1, &n, GA_C_ORDER);
  GA_THEN(status, GpuArray_empty(&o.sorted, ctx, typecode, 1, &n, GA_C_ORDER));
  GA_THEN(status, GpuArray_empty(&iota, ctx, GA_UINT, 1, &n, GA_C_ORDER));
  if (columns)
    GA_THEN(status, GpuArray_empty(&keys, ctx, GA_ULONG, 1, &n, GA_C_ORDER));
  GA_THEN(status, queue_keys(&iota, columns ? &keys : NULL, rows, columns, low));
  if (status == GA_NO_ERROR) {
    const GpuArray *from = columns ? &keys : rows;
    const ga_sort_task task = {
        .context = ctx,
        .typecode = typecode,
        .rows = 1,
        .n = n,
        .key_bits = bits,
        .keys = {from->data, from->offset},
        .out_keys = {o.sorted.data, o.sorted.offset},
        .value_size = 4,
        .values = {iota.data, iota.offset},
        .out_values = {o.order.data, o.order.offset},
    };
    status = ga__sort_rows(&task);
  }
  GpuArray_clear(&iota);
  GpuArray_clear(&keys);
  if (status == GA_NO_ERROR)
    *out = o;
  else
    clear_ordering(&o);
  return status;
}

/* out.values and out.indices are those of `a` by the order; `indices` in place of
 * a's. */
static int move(const GpuSparse *out, const GpuSparse *a, const GpuArray *indices,
                const GpuArray *order) {
  const size_t n = ga__sparse_count(a);
  const ga_sparse_spec spec = {
      .kind = GA_SPARSE_MOVE,
      .typecode = (unsigned char)gpuarray_get_elsize(a->values.typecode),
      .index = (unsigned char)indices->typecode};
  ga_args args = {0};
  ga__sparse_add(&args, &out->values, false);
  ga__sparse_add(&args, &out->indices, false);
  ga__sparse_add(&args, &a->values, true);
  ga__sparse_add(&args, indices, true);
  ga__sparse_add(&args, order, true);
  ga__args_u64(&args, n);
  return ga__sparse_launch(ga__sparse_context(a), &spec, &args, n);
}

/* New values and indices, as many as `a` has. */
static int like(GpuSparse *out, const GpuSparse *a, int format) {
  const size_t n = ga__sparse_count(a);
  gpucontext *ctx = ga__sparse_context(a);
  *out = (GpuSparse){format, a->rows, a->columns, {0}, {0}, {0}};
  GA_TRY(GpuArray_empty(&out->values, ctx, a->values.typecode, 1, &n, GA_C_ORDER));
  return GpuArray_empty(&out->indices, ctx, a->indices.typecode, 1, &n, GA_C_ORDER);
}

/* As the type of the indices, of the same size. */
static GpuArray as_indices(const GpuArray *sorted, const GpuArray *indices) {
  GpuArray same = *sorted;
  same.typecode = indices->typecode;
  return same;
}

/* ---- formats ---- */

/* COO to CSR. */
static int compress(GpuSparse *out, const GpuSparse *a) {
  ordering o = {{0}, {0}};
  GpuSparse result;
  int status = like(&result, a, GA_SPARSE_CSR);
  if (ga__sparse_count(a) == 0) {
    GA_THEN(status, ga__sparse_compress(&result.indptr, &a->indptr, a->rows));
    return ga__sparse_return(out, &result, status);
  }
  if (status == GA_NO_ERROR && ga__sparse_has_buckets(a))
    return ga__sparse_return(out, &result, ga__sparse_buckets(&result, a));
  GA_THEN(status, find_order(&o, &a->indptr, NULL, a->rows, a->columns));
  if (status == GA_NO_ERROR) {
    const GpuArray sorted = as_indices(&o.sorted, &a->indptr);
    status = move(&result, a, &a->indices, &o.order);
    GA_THEN(status, ga__sparse_compress(&result.indptr, &sorted, a->rows));
  }
  clear_ordering(&o);
  return ga__sparse_return(out, &result, status);
}

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

/* CSR from COO or CSC. */
static int to_rows(GpuSparse *out, const GpuSparse *a) {
  GpuSparse listed = *a;
  if (a->format == GA_SPARSE_CSC) { /* by columns, with their rows sorted stably */
    const GpuSparse turned = ga__sparse_turned(a);
    GA_TRY(expand(&listed, &turned));
    turn(&listed);
  }
  const int status = compress(out, &listed);
  if (a->format == GA_SPARSE_CSC)
    GpuSparse_clear(&listed);
  return status;
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

/* Sorts COO by rows and columns; of `rows` the sorted ones. */
static int sort_listed(GpuSparse *out, const GpuSparse *a) {
  ordering o = {{0}, {0}};
  GpuSparse result, by_rows;
  GA_TRY(find_order(&o, &a->indptr, &a->indices, a->rows, a->columns));
  int status = like(&result, a, GA_SPARSE_COO);
  GA_THEN(status,
          GpuArray_empty(&result.indptr, ga__sparse_context(a), a->indptr.typecode, 1,
                         a->values.dimensions, GA_C_ORDER));
  GA_THEN(status, move(&result, a, &a->indices, &o.order));
  by_rows = result; /* once more, of the rows */
  by_rows.indices = result.indptr;
  GA_THEN(status, move(&by_rows, a, &a->indptr, &o.order));
  clear_ordering(&o);
  return ga__sparse_return(out, &result, status);
}

static int sort_rows(GpuSparse *out, const GpuSparse *a) {
  GpuSparse listed, sorted;
  GA_TRY(expand(&listed, a));
  int status = sort_listed(&sorted, &listed);
  GpuSparse_clear(&listed);
  GA_TRY(status);
  GpuArray_clear(&sorted.indptr);
  sorted.format = GA_SPARSE_CSR;
  return ga__sparse_return(out, &sorted, GpuArray_view(&sorted.indptr, &a->indptr));
}

int GpuSparse_sort(GpuSparse *out, const GpuSparse *a) {
  if (out == NULL)
    return ga__fail_null("sparse sort", "result");
  GA_TRY(ga__sparse_check(a, "sparse sort"));
  if (ga__sparse_count(a) < 2)
    return GpuSparse_view(out, a);
  if (a->format == GA_SPARSE_COO)
    return sort_listed(out, a);
  if (a->format == GA_SPARSE_CSR)
    return sort_rows(out, a);
  const GpuSparse turned = ga__sparse_turned(a);
  GpuSparse result;
  GA_TRY(sort_rows(&result, &turned));
  turn(&result);
  *out = result;
  return GA_NO_ERROR;
}
