/* Ways of processors: items are few, so that each can have memory of its own as long as
 * a row or a column. */
#include "c/base/counts.h"
#include "c/sparse/sparse.h"
#include "c/sparse/sparse_source.h"

/* ---- x A ---- */

/* Columns of y, a power of 2. */
static size_t width_of(const GpuArray *y) {
  return y->nd == 2 ? ga__power_above(y->dimensions[1]) : 1;
}

/* Shares whose parts are at most four times as many elements as there are values: then
 * to add them up costs less than to convert the matrix. At most 32 columns. */
static size_t scatter_shares(const ga_sparse_product *p) {
  const size_t size = p->a->rows * width_of(p->y), n = ga__sparse_count(p->a);
  const size_t most =
      ga__smaller(ga__sparse_context(p->a)->info.processors, p->a->columns);
  if (p->y->nd == 1)
    return most;
  return width_of(p->y) <= 32 && size > 0 ? ga__smaller(most, 4 * n / size) : 0;
}

bool ga__sparse_scatters(const ga_sparse_product *p) {
  return ga__sparse_context(p->a)->info.is_cpu && p->a->format == GA_SPARSE_CSC &&
         p->term != GA_SPARSE_DIAGONAL && ga__sparse_count(p->a) > 0 &&
         ga__array_count(p->y) > 0 && scatter_shares(p) > 0;
}

int ga__sparse_scatter(const ga_sparse_product *p) {
  const GpuSparse a = ga__sparse_turned(p->a); /* y = x a */
  gpucontext *ctx = ga__sparse_context(&a);
  const size_t shares = scatter_shares(p), width = width_of(p->y);
  const size_t length = shares * a.columns * width;
  ga_sparse_spec spec = {.kind = GA_SPARSE_COLUMNS,
                         .typecode = (unsigned char)a.values.typecode,
                         .index = (unsigned char)a.indices.typecode,
                         .form = (unsigned char)p->term,
                         .width = (unsigned char)width};
  GpuArray parts = {0};
  ga_args args = {0};
  GA_TRY(GpuArray_empty(&parts, ctx, ga__dtype_work(a.values.typecode), 1, &length,
                        GA_C_ORDER));
  const ga_sparse_product turned = {.a = &a,
                                    .term = p->term,
                                    .x = p->x,
                                    .y = p->y,
                                    .alpha = p->alpha,
                                    .beta = p->beta};
  const ga_sparse_sizes sizes = {p->y->nd == 2 ? p->y->dimensions[1] : 1, 0, shares, 0};
  const GpuArray none = {0};
  ga__sparse_add_product(&args, &turned, &sizes, &none, &parts);
  int status = ga__sparse_launch_shares(ctx, &spec, &args, shares);
  spec.kind = GA_SPARSE_COLUMNS_SUM;
  GA_THEN(status, ga__sparse_launch(ctx, &spec, &args, a.columns));
  GpuArray_clear(&parts);
  return status;
}

/* ---- sorts by rows ---- */

/* Ranges of keys: few, for places apart by a power of 2 share cache lines; at most as
 * many as kernels/cpu/buckets_cpu.cl.h has counts. */
enum { LEAST_RANGES = 16, MOST_RANGES = 256 };

/* A sort by rows: keys and values of the first pass, and counts. */
typedef struct buckets {
  size_t shares, ranges;
  unsigned int shift; /* of a row to its range */
  GpuArray counts, keys, indices, values;
} buckets;

static void clear_buckets(buckets *b) {
  GpuArray *all[] = {&b->counts, &b->keys, &b->indices, &b->values};
  for (int i = 0; i < 4; i++)
    GpuArray_clear(all[i]);
}

static int open_buckets(buckets *b, const GpuSparse *a) {
  gpucontext *ctx = ga__sparse_context(a);
  const int index = a->indices.typecode;
  const size_t *n = a->values.dimensions;
  b->shares = ctx->info.processors;
  const size_t most =
      ga__smaller(ga__larger(ga__power_above(b->shares), LEAST_RANGES), MOST_RANGES);
  while ((a->rows - 1) >> b->shift >= most)
    b->shift++;
  b->ranges = ((a->rows - 1) >> b->shift) + 1;
  const size_t counts = b->ranges * b->shares + 1;
  GA_TRY(GpuArray_zeros(&b->counts, ctx, index, 1, &counts, GA_C_ORDER));
  GA_TRY(GpuArray_empty(&b->keys, ctx, index, 1, n, GA_C_ORDER));
  GA_TRY(GpuArray_empty(&b->indices, ctx, index, 1, n, GA_C_ORDER));
  return GpuArray_empty(&b->values, ctx, a->values.typecode, 1, n, GA_C_ORDER);
}

enum { COUNT_RANGES, TO_RANGES, WITHIN_RANGES, LINES_TO_RANGES };

/* A pass over COO, or CSC, whose columns are the lines; the last fills `out`. */
static int queue_buckets(const buckets *b, const GpuSparse *out, const GpuSparse *a,
                         int pass) {
  const bool is_last = pass == WITHIN_RANGES, is_listed = a->format == GA_SPARSE_COO;
  const GpuArray *keys = is_listed ? &a->indptr : &a->indices;
  const GpuArray *indices = is_listed ? &a->indices : &a->indptr;
  const ga_sparse_spec spec = {
      .kind = GA_SPARSE_BUCKETS,
      .typecode = (unsigned char)(pass ? gpuarray_get_elsize(a->values.typecode) : 1),
      .index = (unsigned char)a->indices.typecode,
      .form = (unsigned char)pass};
  ga_args args = {0};
  ga__sparse_add(&args, &b->counts, false);
  ga__sparse_add(&args, is_last ? &out->indptr : &b->keys, false);
  ga__sparse_add(&args, is_last ? &out->values : &b->values, false);
  ga__sparse_add(&args, is_last ? &out->indices : &b->indices, false);
  ga__sparse_add(&args, is_last ? &b->keys : keys, true);
  ga__sparse_add(&args, is_last ? &b->values : &a->values, true);
  ga__sparse_add(&args, is_last ? &b->indices : indices, true);
  ga__args_u64(&args, a->rows);
  ga__args_u64(&args, ga__sparse_count(a));
  ga__args_u64(&args, b->ranges);
  ga__args_u64(&args, b->shares);
  ga__args_u64(&args, a->columns);
  ga__args_u32(&args, b->shift);
  return ga__sparse_launch_shares(ga__sparse_context(a), &spec, &args,
                                  is_last ? b->ranges : b->shares);
}

bool ga__sparse_has_buckets(const GpuSparse *a) {
  return ga__sparse_context(a)->info.is_cpu && a->rows > 0 &&
         a->rows / 4 < ga__sparse_count(a);
}

int ga__sparse_buckets(GpuSparse *out, const GpuSparse *a) {
  const size_t pointers = a->rows + 1;
  buckets b = {0};
  int status = open_buckets(&b, a);
  GA_THEN(status, GpuArray_empty(&out->indptr, ga__sparse_context(a),
                                 a->indices.typecode, 1, &pointers, GA_C_ORDER));
  GA_THEN(status, queue_buckets(&b, NULL, a, COUNT_RANGES));
  GA_THEN(status, ga__sparse_scan(&b.counts));
  GA_THEN(status,
          queue_buckets(&b, NULL, a,
                        a->format == GA_SPARSE_COO ? TO_RANGES : LINES_TO_RANGES));
  GA_THEN(status, queue_buckets(&b, out, a, WITHIN_RANGES));
  clear_buckets(&b);
  return status;
}

/* ---- sorts within rows ---- */

bool ga__sparse_sorts_rows(const GpuSparse *a) {
  return ga__sparse_context(a)->info.is_cpu && a->columns <= UINT32_MAX &&
         ga__sparse_count(a) <= UINT32_MAX;
}

int ga__sparse_sort_rows(GpuSparse *out, const GpuSparse *a) {
  gpucontext *ctx = ga__sparse_context(a);
  const size_t n = ga__sparse_count(a), places = 2 * n;
  const ga_sparse_spec spec = {
      .kind = GA_SPARSE_SORT_ROWS,
      .typecode = (unsigned char)gpuarray_get_elsize(a->values.typecode),
      .index = (unsigned char)a->indices.typecode};
  GpuSparse result = {GA_SPARSE_CSR, a->rows, a->columns, {0}, {0}, {0}};
  GpuArray keys = {0};
  int status =
      GpuArray_empty(&result.values, ctx, a->values.typecode, 1, &n, GA_C_ORDER);
  GA_THEN(status,
          GpuArray_empty(&result.indices, ctx, a->indices.typecode, 1, &n, GA_C_ORDER));
  GA_THEN(status, GpuArray_view(&result.indptr, &a->indptr));
  GA_THEN(status, GpuArray_empty(&keys, ctx, GA_ULONG, 1, &places, GA_C_ORDER));
  if (status == GA_NO_ERROR) {
    ga_args args = {0};
    ga__sparse_add(&args, &result.values, false);
    ga__sparse_add(&args, &result.indices, false);
    ga__sparse_add(&args, &keys, false);
    ga__sparse_add_matrix(&args, a);
    ga__args_u64(&args, a->rows);
    ga__args_u64(&args, n);
    status = ga__sparse_launch(ctx, &spec, &args, n);
  }
  GpuArray_clear(&keys);
  return ga__sparse_return(out, &result, status);
}
