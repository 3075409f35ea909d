/* Matrices of some of the values of another one: those where a mask is true, or the
 * sums of duplicates. Counts of the values are scanned, and say where each goes. */
#include "c/sparse/sparse.h"
#include "c/sparse/sparse_source.h"

/* Counts (`out` is NULL) or values, of compressed rows or COO. */
static int launch(const GpuArray *counts, const GpuSparse *out, const GpuSparse *a,
                  const ga_sparse_choice *c) {
  const size_t n = ga__sparse_count(a);
  const bool is_listed = a->format == GA_SPARSE_COO;
  const int typecode = a->values.typecode;
  const size_t moved = c->is_masked ? (out ? gpuarray_get_elsize(typecode) : 1)
                                    : (size_t)(out ? typecode : GA_BOOL);
  const ga_sparse_spec spec = {.kind =
                                   c->is_masked ? GA_SPARSE_KEEP : GA_SPARSE_UNIQUE_OF,
                               .typecode = (unsigned char)moved,
                               .index = (unsigned char)a->indices.typecode,
                               .form = (unsigned char)((out ? 2 : 0) + is_listed)};
  /* what has no elements has no memory, and is not read */
  const bool has_values = n > 0, has_result = out && ga__sparse_count(out) > 0;
  const bool has_mask = has_values && c->mask != NULL;
  ga_args args = {0};
  ga__sparse_add(&args, counts, false);
  ga__sparse_add(&args, has_result ? &out->values : counts, false);
  ga__sparse_add(&args, has_result ? &out->indices : counts, false);
  ga__sparse_add(&args, out && (has_result || !is_listed) ? &out->indptr : counts,
                 false);
  ga__sparse_add(&args, has_mask ? c->mask : counts, true);
  ga__sparse_add(&args, has_values ? &a->values : counts, true);
  ga__sparse_add(&args, has_values ? &a->indices : counts, true);
  ga__sparse_add(&args, has_values || !is_listed ? &a->indptr : counts, true);
  ga__args_u64(&args, a->rows);
  ga__args_u64(&args, n);
  ga__args_u64(&args, out ? ga__sparse_count(out) : 0);
  return ga__sparse_launch(ga__sparse_context(a), &spec, &args,
                           n > a->rows ? n + 1 : a->rows + 1);
}

int ga__sparse_choice_count(GpuArray *counts, const GpuSparse *a,
                            const ga_sparse_choice *c) {
  const GpuSparse lines = ga__sparse_lines(a);
  const size_t places = ga__sparse_count(a) + 1;
  GpuArray result = {0};
  GA_TRY(GpuArray_empty(&result, ga__sparse_context(a), a->indices.typecode, 1, &places,
                        GA_C_ORDER));
  int status = launch(&result, NULL, &lines, c);
  GA_THEN(status, ga__sparse_scan(&result));
  return ga__array_return(counts, &result, status);
}

int ga__sparse_choice_fill(GpuSparse *out, const GpuSparse *a, const GpuArray *counts,
                           size_t n, const ga_sparse_choice *c) {
  GA_TRY(ga__sparse_check_counts(counts, a, ga__sparse_count(a) + 1,
                                 a->indices.typecode, c->operation));
  const GpuSparse lines = ga__sparse_lines(a);
  GpuSparse result = {0};
  GA_TRY(GpuSparse_empty(&result, ga__sparse_context(a), lines.format, lines.rows,
                         lines.columns, n, a->values.typecode, a->indices.typecode));
  GA_TRY(ga__sparse_return(&result, &result, launch(counts, &result, &lines, c)));
  *out = a->format == GA_SPARSE_CSC ? ga__sparse_turned(&result) : result;
  return GA_NO_ERROR;
}

int ga__sparse_choose(GpuSparse *out, const GpuSparse *a, const ga_sparse_choice *c) {
  GpuArray counts = {0};
  size_t n = 0;
  int status = ga__sparse_choice_count(&counts, a, c);
  GA_THEN(status, ga__sparse_last(&n, &counts));
  GA_THEN(status, ga__sparse_choice_fill(out, a, &counts, n, c));
  GpuArray_clear(&counts);
  return status;
}
