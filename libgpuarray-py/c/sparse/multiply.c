/* Products of two sparse matrices: all terms as a COO matrix, sorted and summed. */
#include "c/sparse/sparse.h"
#include "c/sparse/sparse_source.h"

static int check_pair(const GpuSparse *a, const GpuSparse *b, const char *operation) {
  char left[GA_SPARSE_TEXT], right[GA_SPARSE_TEXT];
  GA_TRY(ga__sparse_alike(a, b, operation));
  if (a->columns == b->rows)
    return GA_NO_ERROR;
  return GA_FAIL(GA_VALUE_ERROR,
                 "%s: got %s and %s, expected as many rows of the second as the first "
                 "has columns",
                 operation, ga__sparse_text(left, a), ga__sparse_text(right, b));
}

/* The factors as CSR: of CSC the transposes, in the other order. */
typedef struct factors {
  GpuSparse a, b;
} factors;

static factors in_order(const GpuSparse *a, const GpuSparse *b) {
  return a->format == GA_SPARSE_CSC
             ? (factors){ga__sparse_turned(b), ga__sparse_turned(a)}
             : (factors){*a, *b};
}

int GpuSparse_terms_count(GpuArray *counts, const GpuSparse *a, const GpuSparse *b) {
  const char *name = "sparse terms count";
  if (counts == NULL)
    return ga__fail_null(name, "result");
  GA_TRY(check_pair(a, b, name));
  const factors f = in_order(a, b);
  const size_t n = ga__sparse_count(&f.a), places = n + 1;
  gpucontext *ctx = ga__sparse_context(a);
  const ga_sparse_spec spec = {.kind = GA_SPARSE_TERM_COUNTS,
                               .index = (unsigned char)a->indices.typecode};
  GpuArray result = {0};
  ga_args args = {0};
  GA_TRY(GpuArray_empty(&result, ctx, GA_LONG, 1, &places, GA_C_ORDER));
  ga__sparse_add(&args, &result, false);
  ga__sparse_add(&args, n > 0 ? &f.a.indices : &f.b.indptr, true);
  ga__sparse_add(&args, &f.b.indptr, true);
  ga__args_u64(&args, f.b.rows);
  ga__args_u64(&args, n);
  int status = ga__sparse_launch(ctx, &spec, &args, places);
  GA_THEN(status, ga__sparse_scan(&result));
  return ga__array_return(counts, &result, status);
}

/* `begins` are the counts, of the index type. At least one term. */
static int queue_terms(const GpuSparse *out, const factors *f, const GpuArray *begins) {
  const size_t n = ga__sparse_count(out), owners = ga__sparse_count(&f->a);
  const GpuSparse *a = &f->a, *b = &f->b;
  const ga_sparse_spec spec = {.kind = GA_SPARSE_TERMS,
                               .typecode = (unsigned char)a->values.typecode,
                               .index = (unsigned char)a->indices.typecode};
  GpuSparse by_owner = *out; /* borrowed: the terms of a value as a row */
  GpuArray rows = {0}, owner = {0};
  by_owner.format = GA_SPARSE_CSR;
  by_owner.rows = owners;
  by_owner.indptr = *begins;
  int status = ga__sparse_expand(&owner, &by_owner);
  GA_THEN(status, ga__sparse_expand(&rows, a));
  if (status == GA_NO_ERROR) {
    ga_args args = {0};
    ga__sparse_add(&args, &out->values, false);
    ga__sparse_add(&args, &out->indptr, false);
    ga__sparse_add(&args, &out->indices, false);
    ga__sparse_add(&args, &owner, true);
    ga__sparse_add(&args, begins, true);
    ga__sparse_add(&args, &a->values, true);
    ga__sparse_add(&args, &rows, true);
    ga__sparse_add(&args, &a->indices, true);
    ga__sparse_add(&args, &b->values, true);
    ga__sparse_add(&args, &b->indices, true);
    ga__sparse_add(&args, &b->indptr, true);
    ga__args_u64(&args, b->rows);
    ga__args_u64(&args, ga__sparse_count(b));
    ga__args_u64(&args, n);
    status = ga__sparse_launch(ga__sparse_context(a), &spec, &args, n);
  }
  GpuArray_clear(&owner);
  GpuArray_clear(&rows);
  return status;
}

int GpuSparse_terms_fill(GpuSparse *out, const GpuSparse *a, const GpuSparse *b,
                         const GpuArray *counts, size_t n) {
  const char *name = "sparse terms fill";
  if (out == NULL)
    return ga__fail_null(name, "result");
  GA_TRY(check_pair(a, b, name));
  const factors f = in_order(a, b);
  GA_TRY(ga__sparse_check_counts(counts, a, ga__sparse_count(&f.a) + 1, GA_LONG, name));
  GpuSparse result = {0};
  GpuArray begins = {0};
  int status = GpuSparse_empty(&result, ga__sparse_context(a), GA_SPARSE_COO, f.a.rows,
                               f.b.columns, n, a->values.typecode, a->indices.typecode);
  GA_THEN(status, GpuArray_astype(&begins, counts, a->indices.typecode, GA_C_ORDER));
  if (n > 0 && ga__sparse_count(&f.a) > 0 && ga__sparse_count(&f.b) > 0)
    GA_THEN(status, queue_terms(&result, &f, &begins));
  GpuArray_clear(&begins);
  GA_TRY(ga__sparse_return(&result, &result, status));
  *out = a->format == GA_SPARSE_CSC ? ga__sparse_turned(&result) : result;
  return GA_NO_ERROR;
}

/* CSR of sorted COO. */
static int compress(GpuSparse *out, GpuSparse *listed) {
  GpuSparse result = *listed; /* takes what it keeps */
  GA_TRY(ga__sparse_compress(&result.indptr, &listed->indptr, listed->rows));
  result.format = GA_SPARSE_CSR;
  GpuArray_clear(&listed->indptr);
  *listed = (GpuSparse){0};
  *out = result;
  return GA_NO_ERROR;
}

int GpuSparse_spgemm(GpuSparse *out, const GpuSparse *a, const GpuSparse *b) {
  const char *name = "sparse spgemm";
  if (out == NULL)
    return ga__fail_null(name, "result");
  GA_TRY(check_pair(a, b, name));
  GA_TRY(ga__sparse_must_wait(a, name));
  GA_TRY(ga__sparse_must_wait(b, name));
  const factors f = in_order(a, b);
  if (ga__sparse_multiplies_rows(&f.a, &f.b)) {
    GA_TRY(ga__sparse_multiply_rows(out, &f.a, &f.b));
    if (a->format == GA_SPARSE_CSC)
      *out = ga__sparse_turned(out);
    return GA_NO_ERROR;
  }
  GpuArray counts = {0};
  GpuSparse terms = {0}, listed = {0}, result = {0};
  size_t n = 0;
  int status = GpuSparse_terms_count(&counts, &f.a, &f.b);
  GA_THEN(status, ga__sparse_last(&n, &counts));
  GA_THEN(status, GpuSparse_terms_fill(&terms, &f.a, &f.b, &counts, n));
  GpuArray_clear(&counts);
  GA_THEN(status, GpuSparse_sum_duplicates(&listed, &terms));
  GpuSparse_clear(&terms);
  GA_THEN(status, compress(&result, &listed));
  GpuSparse_clear(&listed);
  if (status != GA_NO_ERROR)
    return ga__fail_within(status, "%s", name);
  *out = a->format == GA_SPARSE_CSC ? ga__sparse_turned(&result) : result;
  return GA_NO_ERROR;
}
