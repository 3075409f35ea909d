/* Internal functions of sparse matrices. Kernels are written for compressed rows: a CSC
 * matrix is the CSR matrix of its transpose. */
#ifndef GA_C_SPARSE_H
#define GA_C_SPARSE_H

#include <gpuarray/sparse.h>

#include "c/array/array.h"
#include "c/device/arguments.h"

/* Entry check of every operation: GA_VALUE_ERROR, GA_INVALID_ERROR or GA_XLARGE_ERROR
 * unless formats, types, lengths and layouts of the arrays fit. */
int ga__sparse_check(const GpuSparse *a, const char *operation);

static inline gpucontext *ga__sparse_context(const GpuSparse *a) {
  return a->values.data->context;
}

/* The number of stored values. */
static inline size_t ga__sparse_count(const GpuSparse *a) {
  return a->values.dimensions[0];
}

/* The transposed matrix, with borrowed arrays. */
GpuSparse ga__sparse_turned(const GpuSparse *a);
/* Moves a result to *out, or clears it after a failure. Returns `status`. */
int ga__sparse_return(GpuSparse *out, GpuSparse *result, int status);
/* "csr float32 (3, 4) of 5 values", for messages. Returns `text`. */
#define GA_SPARSE_TEXT 160
const char *ga__sparse_text(char text[GA_SPARSE_TEXT], const GpuSparse *a);
/* GA_VALUE_ERROR, naming the call that a matrix needs first. */
int ga__sparse_needs(const GpuSparse *a, const char *operation, const char *needed);

/* GA_UNSUPPORTED_ERROR for a matrix of a plan that is being bound. */
int ga__sparse_must_wait(const GpuSparse *a, const char *operation);
/* The last element of a vector of integers; waits. */
int ga__sparse_last(size_t *out, const GpuArray *a);
/* The last two, of a vector that has them. */
int ga__sparse_last_two(size_t out[2], const GpuArray *a);
/* GA_VALUE_ERROR or GA_INVALID_ERROR unless `counts` is a vector of `n` elements of
 * this type, in C order, on the context of `a`. */
int ga__sparse_check_counts(const GpuArray *counts, const GpuSparse *a, size_t n,
                            int typecode, const char *operation);
/* Exclusive sums of a vector of counts, in place. */
int ga__sparse_scan(GpuArray *counts);
/* GA_VALUE_ERROR or GA_INVALID_ERROR unless both have one format, CSR or CSC, one type
 * of values and one of indices, and one context. */
int ga__sparse_alike(const GpuSparse *a, const GpuSparse *b, const char *operation);
/* The compressed lines of CSR or CSC as rows, with borrowed arrays; back again. */
static inline GpuSparse ga__sparse_lines(const GpuSparse *a) {
  return a->format == GA_SPARSE_CSC ? ga__sparse_turned(a) : *a;
}

/* `a` as CSR: borrowed, or a new matrix. In both cases *out is cleared. */
int ga__sparse_as_rows(GpuSparse *out, const GpuSparse *a);

/* The row of each value of a CSR matrix: a new vector of the index type. */
int ga__sparse_expand(GpuArray *out, const GpuSparse *a);
/* Where each of `rows` rows begins among sorted row indices: a new vector of rows + 1.
 */
int ga__sparse_compress(GpuArray *out, const GpuArray *indices, size_t rows);

/* The product of two matrices in compressed rows whose shapes fit: counts of values of
 * each row, scanned, int64; the result by those, CSR, sorted and without duplicates. */
int ga__sparse_product_count(GpuArray *counts, const GpuSparse *a, const GpuSparse *b);
int ga__sparse_product_fill(GpuSparse *out, const GpuSparse *a, const GpuSparse *b,
                            const GpuArray *counts, size_t n);

/* Some of the values of a matrix: where `mask` is true (the fill does not read it), or
 * the sums of duplicates. Counts, the matrix by them, and both, which waits. */
typedef struct ga_sparse_choice {
  bool is_masked;
  const GpuArray *mask;
  const char *operation;
} ga_sparse_choice;
int ga__sparse_choice_count(GpuArray *counts, const GpuSparse *a,
                            const ga_sparse_choice *c);
int ga__sparse_choice_fill(GpuSparse *out, const GpuSparse *a, const GpuArray *counts,
                           size_t n, const ga_sparse_choice *c);
int ga__sparse_choose(GpuSparse *out, const GpuSparse *a, const ga_sparse_choice *c);

/* What a product, a sum, a diagonal or an extreme makes of the values of a row. */
enum ga_sparse_term {
  GA_SPARSE_TIMES,
  GA_SPARSE_SUM,
  GA_SPARSE_DIAGONAL,
  GA_SPARSE_MAX,
  GA_SPARSE_MIN
};

/* y = alpha A x + beta y for CSR; without x for sums and diagonals. Shapes fit. */
typedef struct ga_sparse_product {
  const GpuSparse *a;
  enum ga_sparse_term term;
  const GpuArray *x, *y;
  const double *alpha, *beta;
  ssize_t offset; /* of a diagonal */
} ga_sparse_product;
int ga__sparse_product(const ga_sparse_product *p);

/* On processors the product with CSC, x A by its rows, without a conversion: each item
 * scatters into a part of its own. */
bool ga__sparse_scatters(const ga_sparse_product *p);
int ga__sparse_scatter(const ga_sparse_product *p);
/* Columns of x; values of the longest row that one launch sums; pieces of longer rows,
 * or shares of a scatter; values of a piece. */
typedef struct ga_sparse_sizes {
  size_t width, limit, room, piece;
} ga_sparse_sizes;
/* The arguments of such products; `list` and `parts` may have no memory. */
void ga__sparse_add_product(ga_args *args, const ga_sparse_product *p,
                            const ga_sparse_sizes *s, const GpuArray *list,
                            const GpuArray *parts);
/* An elementwise operation of two matrices, or the sums of the duplicates of one. */
typedef struct ga_sparse_pair {
  enum {
    GA_SPARSE_BOTH_SUM,
    GA_SPARSE_BOTH_PRODUCT,
    GA_SPARSE_BOTH_COMBINED,
    GA_SPARSE_OWN_SUM
  } kind;
  const double *alpha, *beta; /* of a sum */
  int combination;            /* GA_SPARSE_MAXIMUM, ... */
} ga_sparse_pair;
/* The type of its values. */
int ga__sparse_pair_type(const ga_sparse_pair *pair, int typecode);
/* On processors the operation of two matrices of one shape, as CSR; for the sums of the
 * duplicates of `a`, `b` is `a`. Each share of rows is merged, then packed. Waits.
 * *has_flaw, and no result, if one is not sorted, or has duplicates (but for these
 * sums) or wrong indices. */
int ga__sparse_merge_rows(GpuSparse *out, bool *has_flaw, const GpuSparse *a,
                          const GpuSparse *b, const ga_sparse_pair *pair);
/* True if it is the way for this shape. */
bool ga__sparse_merges_rows(const GpuSparse *a);
/* On processors the values of CSR where a mask is true; without one, where they are not
 * 0, a view if all are. Waits. */
int ga__sparse_keep_rows(GpuSparse *out, const GpuSparse *a, const GpuArray *mask);
/* On processors the product of two matrices, CSR, where a sum for each column and share
 * of rows is little memory. Waits. */
bool ga__sparse_multiplies_rows(const GpuSparse *a, const GpuSparse *b);
int ga__sparse_multiply_rows(GpuSparse *out, const GpuSparse *a, const GpuSparse *b);
/* On processors the sort of the indices within each row of CSR. */
bool ga__sparse_sorts_rows(const GpuSparse *a);
int ga__sparse_sort_rows(GpuSparse *out, const GpuSparse *a);
/* On processors the sort of COO or CSC by rows, by counting, where values are many:
 * fills the arrays of *out, of which indptr is made. */
bool ga__sparse_has_buckets(const GpuSparse *a);
int ga__sparse_buckets(GpuSparse *out, const GpuSparse *a);

#endif
