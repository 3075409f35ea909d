/* Products of two sparse matrices. */
#include "c/sparse/sparse.h"

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

int GpuSparse_spgemm_count(GpuArray *counts, const GpuSparse *a, const GpuSparse *b) {
  const char *name = "sparse spgemm count";
  if (counts == NULL)
    return ga__fail_null(name, "result");
  GA_TRY(check_pair(a, b, name));
  const factors f = in_order(a, b);
  return ga__sparse_product_count(counts, &f.a, &f.b);
}

int GpuSparse_spgemm_fill(GpuSparse *out, const GpuSparse *a, const GpuSparse *b,
                          const GpuArray *counts, size_t n) {
  const char *name = "sparse spgemm fill";
  if (out == NULL)
    return ga__fail_null(name, "result");
  GA_TRY(check_pair(a, b, name));
  const factors f = in_order(a, b);
  GA_TRY(ga__sparse_check_counts(counts, a, f.a.rows + 1, GA_LONG, name));
  GA_TRY(ga__sparse_product_fill(out, &f.a, &f.b, counts, n));
  if (a->format == GA_SPARSE_CSC)
    *out = ga__sparse_turned(out);
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
  size_t n = 0;
  int status = GpuSparse_spgemm_count(&counts, a, b);
  GA_THEN(status, ga__sparse_last(&n, &counts));
  GA_THEN(status, GpuSparse_spgemm_fill(out, a, b, &counts, n));
  GpuArray_clear(&counts);
  return status == GA_NO_ERROR ? status : ga__fail_within(status, "%s", name);
}
