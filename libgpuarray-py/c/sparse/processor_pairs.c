/* Operations on processors whose number of values follows: rows are merged, multiplied
 * or kept one after another, each share of rows by itself. */
#include "c/base/counts.h"
#include "c/sparse/sparse.h"
#include "c/sparse/sparse_source.h"

enum { PARTS = 3 }; /* words of a share: first row, place, number of values */

static size_t shares_of(const gpucontext *ctx, size_t rows) {
  return ga__smaller(4 * (size_t)ctx->info.processors, ga__ceil_div(rows, 16));
}

static int words_of(uint64_t *out, size_t n, const GpuArray *words) {
  return gpudata_read(out, words->data, words->offset, n * sizeof *out);
}

/* The sum of a vector of at most GA_SPARSE_SHARES counts. Waits. */
static int sum_words(size_t *sum, const GpuArray *counts) {
  uint64_t words[GA_SPARSE_SHARES];
  GA_TRY(words_of(words, counts->dimensions[0], counts));
  *sum = 0;
  for (size_t share = 0; share < counts->dimensions[0]; share++)
    *sum += words[share];
  return GA_NO_ERROR;
}

/* ---- elementwise operations of two matrices ---- */

int ga__sparse_pair_type(const ga_sparse_pair *pair, int typecode) {
  const bool is_test =
      pair->kind == GA_SPARSE_BOTH_COMBINED && pair->combination >= GA_SPARSE_NOT_EQUAL;
  return is_test ? GA_BOOL : typecode;
}

/* The merged shares, before their number of values is known. */
typedef struct merged {
  GpuArray values, indices, ends, shares;
  size_t n_shares;
} merged;

static void clear_merged(merged *m) {
  GpuArray *all[] = {&m->values, &m->indices, &m->ends, &m->shares};
  for (int i = 0; i < 4; i++)
    GpuArray_clear(all[i]);
}

static int open_merged(merged *m, const GpuSparse *a, int typecode, size_t room) {
  gpucontext *ctx = ga__sparse_context(a);
  const int index = a->indices.typecode;
  const size_t words = PARTS * m->n_shares + 1;
  GA_TRY(GpuArray_empty(&m->values, ctx, typecode, 1, &room, GA_C_ORDER));
  GA_TRY(GpuArray_empty(&m->indices, ctx, index, 1, &room, GA_C_ORDER));
  GA_TRY(GpuArray_empty(&m->ends, ctx, index, 1, &a->rows, GA_C_ORDER));
  return GpuArray_zeros(&m->shares, ctx, GA_ULONG, 1, &words, GA_C_ORDER);
}

static int queue_merge(const merged *m, const GpuSparse *a, const GpuSparse *b,
                       const ga_sparse_pair *pair, size_t room) {
  const int typecode = a->values.typecode;
  const GpuArray *none = &m->shares;
  const ga_sparse_spec spec = {.kind = GA_SPARSE_MERGE_ROWS,
                               .typecode = (unsigned char)typecode,
                               .index = (unsigned char)a->indices.typecode,
                               .form = (unsigned char)pair->kind,
                               .per = (unsigned char)pair->combination};
  ga_args args = {0};
  ga__sparse_add(&args, ga__sparse_or(&m->values, none), false);
  ga__sparse_add(&args, ga__sparse_or(&m->indices, none), false);
  ga__sparse_add(&args, &m->ends, false);
  ga__sparse_add(&args, &m->shares, false);
  ga__sparse_add_matrix(&args, a);
  ga__sparse_add_matrix(&args, b);
  ga__args_u64(&args, a->rows);
  ga__args_u64(&args, a->columns);
  ga__args_u64(&args, ga__sparse_count(a));
  ga__args_u64(&args, ga__sparse_count(b));
  ga__args_u64(&args, room);
  ga__sparse_add_factor(&args, typecode, pair->alpha, 1);
  ga__sparse_add_factor(&args, typecode, pair->beta, 1);
  return ga__sparse_launch_shares(ga__sparse_context(a), &spec, &args, m->n_shares);
}

static int queue_pack(const GpuSparse *out, const merged *m) {
  const ga_sparse_spec spec = {
      .kind = GA_SPARSE_PACK_SHARES,
      .typecode = (unsigned char)gpuarray_get_elsize(out->values.typecode),
      .index = (unsigned char)out->indices.typecode};
  const GpuArray *none = &m->shares;
  ga_args args = {0};
  ga__sparse_add(&args, ga__sparse_or(&out->values, &out->indptr), false);
  ga__sparse_add(&args, ga__sparse_or(&out->indices, &out->indptr), false);
  ga__sparse_add(&args, &out->indptr, false);
  ga__sparse_add(&args, ga__sparse_or(&m->values, none), true);
  ga__sparse_add(&args, ga__sparse_or(&m->indices, none), true);
  ga__sparse_add(&args, &m->ends, true);
  ga__sparse_add(&args, &m->shares, true);
  ga__args_u64(&args, out->rows);
  return ga__sparse_launch_shares(ga__sparse_context(out), &spec, &args, m->n_shares);
}

/* The number of values; *has_flaw if the operands are not as they should be. Waits. */
static int count_merged(size_t *out, bool *has_flaw, const merged *m) {
  uint64_t words[PARTS * GA_SPARSE_SHARES + 1];
  GA_TRY(words_of(words, PARTS * m->n_shares + 1, &m->shares));
  *out = 0;
  for (size_t share = 0; share < m->n_shares; share++)
    *out += words[PARTS * share + 2];
  *has_flaw = words[PARTS * m->n_shares] != 0;
  return GA_NO_ERROR;
}

bool ga__sparse_merges_rows(const GpuSparse *a) {
  return ga__sparse_context(a)->info.is_cpu && a->rows > 0 && a->columns > 0;
}

int ga__sparse_merge_rows(GpuSparse *out, bool *has_flaw, const GpuSparse *a,
                          const GpuSparse *b, const ga_sparse_pair *pair) {
  gpucontext *ctx = ga__sparse_context(a);
  const int typecode = ga__sparse_pair_type(pair, a->values.typecode);
  const bool is_union =
      pair->kind == GA_SPARSE_BOTH_SUM || pair->kind == GA_SPARSE_BOTH_COMBINED;
  const size_t room = ga__sparse_count(a) + (is_union ? ga__sparse_count(b) : 0);
  merged m = {.n_shares = ga__smaller(shares_of(ctx, a->rows), GA_SPARSE_SHARES)};
  GpuSparse result = {0};
  size_t n = 0;
  int status = open_merged(&m, a, typecode, room);
  GA_THEN(status, queue_merge(&m, a, b, pair, room));
  GA_THEN(status, count_merged(&n, has_flaw, &m));
  const bool is_same = pair->kind == GA_SPARSE_OWN_SUM && n == room;
  if (status == GA_NO_ERROR && !*has_flaw && is_same) {
    status = GpuSparse_view(&result, a);
  } else if (status == GA_NO_ERROR && !*has_flaw) {
    status = GpuSparse_empty(&result, ctx, GA_SPARSE_CSR, a->rows, a->columns, n,
                             typecode, a->indices.typecode);
    GA_THEN(status, queue_pack(&result, &m));
  }
  clear_merged(&m);
  return ga__sparse_return(out, &result, status);
}

/* ---- values by a mask ---- */

/* Counts of the shares, or the result: `out` is NULL to count. */
static int queue_keep(const GpuSparse *out, const GpuSparse *a, const GpuArray *mask,
                      const GpuArray *counts) {
  const int typecode = a->values.typecode;
  const ga_sparse_spec spec = {
      .kind = GA_SPARSE_KEEP_ROWS,
      .typecode =
          (unsigned char)(mask ? gpuarray_get_elsize(typecode) : (size_t)typecode),
      .index = (unsigned char)a->indices.typecode,
      .form = (unsigned char)((out != NULL) + (mask ? 0 : 2))};
  ga_args args = {0};
  ga__sparse_add(&args, out ? ga__sparse_or(&out->values, counts) : counts, false);
  ga__sparse_add(&args, out ? ga__sparse_or(&out->indices, counts) : counts, false);
  ga__sparse_add(&args, out ? &out->indptr : counts, false);
  ga__sparse_add(&args, counts, false);
  ga__sparse_add(&args, mask ? mask : &a->values, true);
  ga__sparse_add_matrix(&args, a);
  ga__args_u64(&args, a->rows);
  ga__args_u64(&args, ga__sparse_count(a));
  return ga__sparse_launch_shares(ga__sparse_context(a), &spec, &args,
                                  counts->dimensions[0]);
}

int ga__sparse_keep_rows(GpuSparse *out, const GpuSparse *a, const GpuArray *mask) {
  gpucontext *ctx = ga__sparse_context(a);
  const size_t shares = ga__smaller(shares_of(ctx, a->rows), GA_SPARSE_SHARES);
  GpuArray counts = {0};
  GpuSparse result = {0};
  size_t n = 0;
  int status = GpuArray_empty(&counts, ctx, GA_ULONG, 1, &shares, GA_C_ORDER);
  GA_THEN(status, queue_keep(NULL, a, mask, &counts));
  GA_THEN(status, sum_words(&n, &counts));
  if (status == GA_NO_ERROR && mask == NULL && n == ga__sparse_count(a)) {
    status = GpuSparse_view(&result, a);
  } else {
    GA_THEN(status, GpuSparse_empty(&result, ctx, GA_SPARSE_CSR, a->rows, a->columns, n,
                                    a->values.typecode, a->indices.typecode));
    GA_THEN(status, queue_keep(&result, a, mask, &counts));
  }
  GpuArray_clear(&counts);
  return ga__sparse_return(out, &result, status);
}

/* ---- products of matrices ---- */

/* Memory of the shares: marks of columns, and a sum for each. */
typedef struct rows_product {
  GpuArray marks, sums, totals;
  size_t shares;
} rows_product;

/* Words of the marks of a share: bits of both kinds, or the last row of each column. */
static size_t marks_of(size_t columns, int index) {
  const size_t low = ga__ceil_div(columns, 64), mid = ga__ceil_div(low, 64);
  return ga__larger(low + mid + ga__ceil_div(mid, 64),
                    ga__ceil_div(columns, index == GA_INT ? 2 : 1));
}

/* Shares whose sums take no more memory than the operands; 0 if none does. */
static size_t product_shares(const GpuSparse *a, const GpuSparse *b) {
  const size_t most = 4 * (ga__sparse_count(a) + ga__sparse_count(b)) + 65536;
  const size_t fitting = b->columns > 0 ? most / b->columns : most;
  const size_t wanted = shares_of(ga__sparse_context(a), a->rows);
  return ga__smaller(ga__smaller(wanted, fitting), GA_SPARSE_SHARES);
}

bool ga__sparse_multiplies_rows(const GpuSparse *a, const GpuSparse *b) {
  return ga__sparse_context(a)->info.is_cpu && a->rows > 0 && product_shares(a, b) > 0;
}

static int queue_product(const GpuSparse *out, const GpuSparse *a, const GpuSparse *b,
                         const rows_product *p, bool is_fill) {
  const GpuArray *none = &p->totals;
  const ga_sparse_spec spec = {
      .kind = GA_SPARSE_MULTIPLY_ROWS,
      .typecode = (unsigned char)(is_fill ? a->values.typecode : GA_BOOL),
      .index = (unsigned char)a->indices.typecode,
      .form = is_fill};
  ga_args args = {0};
  ga__sparse_add(&args, ga__sparse_or(&out->values, none), false);
  ga__sparse_add(&args, ga__sparse_or(&out->indices, none), false);
  ga__sparse_add(&args, &out->indptr, false);
  ga__sparse_add(&args, &p->totals, false);
  ga__sparse_add(&args, ga__sparse_or(&p->marks, none), false);
  ga__sparse_add(&args, is_fill ? ga__sparse_or(&p->sums, none) : none, false);
  ga__sparse_add_matrix(&args, a);
  ga__sparse_add_matrix(&args, b);
  ga__args_u64(&args, a->rows);
  ga__args_u64(&args, b->rows);
  ga__args_u64(&args, b->columns);
  ga__args_u64(&args, ga__sparse_count(a));
  ga__args_u64(&args, ga__sparse_count(b));
  ga__args_u64(&args, out->values.data ? ga__sparse_count(out) : 0);
  return ga__sparse_launch_shares(ga__sparse_context(a), &spec, &args, p->shares);
}

/* Counts the places of each row into out->indptr, and all of them. Waits. */
static int count_places(size_t *n, const GpuSparse *out, const GpuSparse *a,
                        const GpuSparse *b, const rows_product *p) {
  GA_TRY(queue_product(out, a, b, p, false));
  return sum_words(n, &p->totals);
}

static int fill_places(GpuSparse *out, const GpuSparse *a, const GpuSparse *b,
                       rows_product *p, size_t n) {
  gpucontext *ctx = ga__sparse_context(a);
  const int typecode = a->values.typecode;
  const size_t sums = p->shares * b->columns;
  GA_TRY(GpuArray_empty(&out->values, ctx, typecode, 1, &n, GA_C_ORDER));
  GA_TRY(GpuArray_empty(&out->indices, ctx, a->indices.typecode, 1, &n, GA_C_ORDER));
  GA_TRY(ga__sparse_check(out, "sparse spgemm"));
  GA_TRY(ga__sparse_scan(&out->indptr));
  GA_TRY(GpuArray_empty(&p->sums, ctx, ga__dtype_work(typecode), 1, &sums, GA_C_ORDER));
  return queue_product(out, a, b, p, true);
}

int ga__sparse_multiply_rows(GpuSparse *out, const GpuSparse *a, const GpuSparse *b) {
  gpucontext *ctx = ga__sparse_context(a);
  rows_product p = {.shares = product_shares(a, b)};
  const size_t pointers = a->rows + 1,
               marks = p.shares * marks_of(b->columns, a->indices.typecode);
  GpuSparse result = {GA_SPARSE_CSR, a->rows, b->columns, {0}, {0}, {0}};
  size_t n = 0;
  int status = GpuArray_empty(&result.indptr, ctx, a->indices.typecode, 1, &pointers,
                              GA_C_ORDER);
  GA_THEN(status, GpuArray_empty(&p.totals, ctx, GA_ULONG, 1, &p.shares, GA_C_ORDER));
  GA_THEN(status, GpuArray_empty(&p.marks, ctx, GA_ULONG, 1, &marks, GA_C_ORDER));
  GA_THEN(status, count_places(&n, &result, a, b, &p));
  GA_THEN(status, fill_places(&result, a, b, &p, n));
  GpuArray_clear(&p.totals);
  GpuArray_clear(&p.marks);
  GpuArray_clear(&p.sums);
  return ga__sparse_return(out, &result, status);
}
