/* GpuSparse: sparse matrices, as three arrays and a shape.
 *
 * CSR has the values and column indices of each row behind one another, and in `indptr`
 * where each row begins; CSC the same of columns; COO has a row and a column index for
 * each value. Indices are int32 or int64, of one type; values have any type of arrays.
 * The three arrays are vectors in C order. Duplicates (several values at one place) are
 * summed by every function.
 *
 * What is in the arrays is never trusted: GpuSparse_check tells it. A function that
 * needs sorted rows or no duplicates says so. No kernel reads or writes outside of the
 * arrays, whatever the indices are: products, sums along either axis and dense matrices
 * leave out each value whose index is out of range, conversions move it as it is.
 *
 * Deterministic: the same input, layout and device give the same bits. Ownership: a
 * matrix holds references to its arrays, GpuSparse_clear releases them. Functions that
 * make a matrix or an array overwrite *out without clearing it, and leave it unchanged
 * on failure. Waiting: only functions that say so wait, for a number of values that
 * only the device knows; they refuse arrays of a plan that is being bound
 * (GA_UNSUPPORTED_ERROR). Failure: a status; GA_VALUE_ERROR for shapes that do not fit,
 * formats that a function does not take, other contexts; GA_INVALID_ERROR for types
 * that do not fit; GA_XLARGE_ERROR where int32 indices do not suffice, and where 2^32 -
 * 2^20 or more values would be sorted. Threads: as for GpuArray. */
#ifndef GPUARRAY_SPARSE_H
#define GPUARRAY_SPARSE_H

#include <gpuarray/array.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
#define GA_SPARSE_CSR 0
#define GA_SPARSE_CSC 1
#define GA_SPARSE_COO 2

typedef struct _GpuSparse {
  int format;
  size_t rows;
  size_t columns;
  GpuArray values;
  GpuArray indices; /* CSR, COO: of columns; CSC: of rows */
  GpuArray indptr;  /* rows (CSC: columns) + 1 places; COO: the row indices */
} GpuSparse;

/* Makes a matrix of views of three arrays, of which lengths and types are checked.
 * Where their content is not known to be right, GpuSparse_check is the next call. */
int GpuSparse_set(GpuSparse *out, int format, size_t rows, size_t columns,
                  const GpuArray *values, const GpuArray *indices,
                  const GpuArray *indptr);
/* Makes a matrix of `n` values; indices and values are undefined. */
int GpuSparse_empty(GpuSparse *out, gpucontext *ctx, int format, size_t rows,
                    size_t columns, size_t n, int typecode, int index_typecode);
/* Makes *out a view of `a`, with references of its own. */
int GpuSparse_view(GpuSparse *out, const GpuSparse *a);
/* Releases the arrays and zeroes the struct; does nothing to a zeroed struct. */
void GpuSparse_clear(GpuSparse *a);
/* A view of the transposed matrix: CSR becomes CSC, CSC becomes CSR. */
int GpuSparse_transpose(GpuSparse *out, const GpuSparse *a);

/* Bits of GpuSparse_check: indices do not descend within a row (COO: rows neither); the
 * same, and there are no duplicates. */
#define GA_SPARSE_SORTED 0x1
#define GA_SPARSE_UNIQUE 0x2
/* Checks the content of the arrays. *flags, unless NULL, are those of the above that
 * hold. GA_INDEX_ERROR for an index out of range, GA_VALUE_ERROR for an `indptr` that
 * does not rise from 0 to the number of values; the text names the first place. Waits.
 */
int GpuSparse_check(int *flags, const GpuSparse *a);

/* Converts to a format; a view where it has it. Values keep their order within a row
 * (CSR) or column (CSC): from CSC and CSR that sorts the indices. */
int GpuSparse_convert(GpuSparse *out, const GpuSparse *a, int format);
/* Sorts the indices within each row (COO: by rows, then columns); of duplicates each
 * keeps its place behind those before it. */
int GpuSparse_sort(GpuSparse *out, const GpuSparse *a);
/* Makes a dense matrix, in C or F order. */
int GpuSparse_to_dense(GpuArray *out, const GpuSparse *a, ga_order order);
/* Makes a sparse matrix of the elements of `a`, of two axes and any layout, that are
 * not zero, sorted. Waits. */
int GpuSparse_from_dense(GpuSparse *out, const GpuArray *a, int format,
                         int index_typecode);

/* y = alpha A x + beta y, of a vector x, or a matrix x of any layout; y has the shape
 * of the product and may have any layout. `alpha` and `beta` are real and imaginary
 * part; NULL is 1 and 0. Without beta y is not read. Values are multiplied and summed
 * in their own type (float16 and bfloat16 in float32, bool by `and` and `or`), which x
 * and y share. CSR is multiplied as it is; CSC and COO are first converted, at each
 * call. */
int GpuSparse_matmul(GpuArray *y, const GpuSparse *a, const GpuArray *x,
                     const double *alpha, const double *beta);
/* y = alpha x A + beta y; here CSC is multiplied as it is. */
int GpuSparse_rmatmul(GpuArray *y, const GpuArray *x, const GpuSparse *a,
                      const double *alpha, const double *beta);
/* values = alpha (x y) + beta values, at the places of `a` only: a vector of one
 * element for each value of `a` (whose own are not read), in C order and of their type.
 * x has the rows of `a`, y its columns; both have any layout. Any format. */
int GpuSparse_sddmm(GpuArray *values, const GpuSparse *a, const GpuArray *x,
                    const GpuArray *y, const double *alpha, const double *beta);
/* Makes the vector of the elements of a dense matrix at the places of `a`: what the
 * values are multiplied with for a elementwise times dense. `dense`, of any type and
 * layout, broadcasts to the shape of `a`: rows or columns are scaled so. */
int GpuSparse_sample(GpuArray *out, const GpuSparse *a, const GpuArray *dense);
/* Flags of GpuSparse_solve. */
#define GA_SPARSE_UPPER 0x1
#define GA_SPARSE_UNIT 0x2
/* Solves a x = x in place, for a vector or the columns of a matrix of any layout; `a`
 * has float or complex values, and is lower triangular, or upper with the flag. Values
 * of the other triangle are ignored, with GA_SPARSE_UNIT those of the diagonal, too. A
 * diagonal of 0 gives infinities and nans. Each column is solved by one work group, on
 * a processor by one thread. The group takes up to 256 adjacent rows at a time, and
 * those of them at once that need no other of them, so that long chains of rows take
 * long. */
int GpuSparse_solve(GpuArray *x, const GpuSparse *a, int flags);
/* Sums over the rows (axis 0) or columns (axis 1) into `y`, a vector of the values'
 * type. */
int GpuSparse_sum(GpuArray *y, const GpuSparse *a, int axis);
/* The greatest stored value of each column (axis 0) or row (axis 1) into `y`, a vector
 * of the values' type, nan if one is; duplicates count one by one. Lines without values
 * have the least number of the type. Complex values: GA_INVALID_ERROR. */
int GpuSparse_max(GpuArray *y, const GpuSparse *a, int axis);
/* The same of the least; lines without values have the greatest number. */
int GpuSparse_min(GpuArray *y, const GpuSparse *a, int axis);
/* The diagonal with `offset` (as numpy.diagonal) into `y`, a vector of its length. */
int GpuSparse_diagonal(GpuArray *y, const GpuSparse *a, ssize_t offset);

/* Functions whose result has a number of values that the device knows. Each waits for
 * it. Behind each are the two halves of which it is made, for plans: a count, whose
 * last element is the number or tells it, and a fill, which takes that number and does
 * not wait. Two matrices have one format, CSR or CSC, one type of values and one of
 * indices.
 *
 * Sums duplicates, in the order of the values; sorts first where `a` is not sorted. */
int GpuSparse_sum_duplicates(GpuSparse *out, const GpuSparse *a);
/* Makes the counts of the first half, for a sorted matrix, of the index type; the last
 * is the number of values. */
int GpuSparse_unique_count(GpuArray *counts, const GpuSparse *a);
/* Makes the sums by those counts. */
int GpuSparse_unique_fill(GpuSparse *out, const GpuSparse *a, const GpuArray *counts,
                          size_t n);
/* The values where a mask is true: a vector of bool in C order, one for each value.
 * NULL stands for the values that are not 0; if all are, the result is a view. They
 * keep their order. Any format. */
int GpuSparse_keep(GpuSparse *out, const GpuSparse *a, const GpuArray *mask);
/* Makes the counts of the first half, of the index type; the last is the number. */
int GpuSparse_keep_count(GpuArray *counts, const GpuSparse *a, const GpuArray *mask);
/* Makes the matrix by those counts. */
int GpuSparse_keep_fill(GpuSparse *out, const GpuSparse *a, const GpuArray *counts,
                        size_t n);
/* alpha a + beta b (NULL is 1) at all places that either has. Both are sorted and
 * without duplicates, else GA_VALUE_ERROR; the halves do not look. */
int GpuSparse_add(GpuSparse *out, const GpuSparse *a, const GpuSparse *b,
                  const double *alpha, const double *beta);
/* The product, element by element, at the places that both have; else as GpuSparse_add.
 */
int GpuSparse_multiply(GpuSparse *out, const GpuSparse *a, const GpuSparse *b);
/* Operations of GpuSparse_combine: the greater or the lesser of two elements (nan if
 * one is), and comparisons of them. */
#define GA_SPARSE_MAXIMUM 0
#define GA_SPARSE_MINIMUM 1
#define GA_SPARSE_NOT_EQUAL 2
#define GA_SPARSE_LESS 3
#define GA_SPARSE_GREATER 4
/* One of those at all places that either has, where the other counts as 0, with values
 * of their type, or of bool for a comparison; else as GpuSparse_add. Results that are 0
 * are stored, too. Complex values: GA_INVALID_ERROR. */
int GpuSparse_combine(GpuSparse *out, const GpuSparse *a, const GpuSparse *b,
                      int operation);
/* Makes the counts of places that both have, of the index type: what the second half
 * needs to know about equal parts of the values. The last is the number of values of
 * the product; the sum has as many less than both matrices together. */
int GpuSparse_match(GpuArray *matches, const GpuSparse *a, const GpuSparse *b);
/* Makes the sum by those counts. */
int GpuSparse_add_fill(GpuSparse *out, const GpuSparse *a, const GpuSparse *b,
                       const double *alpha, const double *beta, const GpuArray *matches,
                       size_t n);
/* Makes the product of elements by those counts. */
int GpuSparse_multiply_fill(GpuSparse *out, const GpuSparse *a, const GpuSparse *b,
                            const GpuArray *matches, size_t n);
/* Takes rows (axis 0) or columns (axis 1) by a vector of integers, of which -1 is the
 * last; CSR or CSC. Along the other axis than the compressed one the matrix is
 * converted and back, which sorts it. An index out of range fails as in
 * <gpuarray/index.h>. */
int GpuSparse_take(GpuSparse *out, const GpuSparse *a, const GpuArray *indices,
                   int axis);
/* Makes the counts of the first half, along the compressed axis only: int64, the last
 * is the number of values. */
int GpuSparse_take_count(GpuArray *counts, const GpuSparse *a, const GpuArray *indices,
                         int axis);
/* Takes by those counts. */
int GpuSparse_take_fill(GpuSparse *out, const GpuSparse *a, const GpuArray *indices,
                        int axis, const GpuArray *counts, size_t n);
/* The matrix product a b, sorted and without duplicates; terms are summed in the order
 * of the values of `a`. Beside the result it needs memory for two indices of each row
 * and for bits of the columns, a few MB; one row of millions of terms takes long. */
int GpuSparse_spgemm(GpuSparse *out, const GpuSparse *a, const GpuSparse *b);
/* Makes the counts of the first half: int64, for each row (CSC: column) of the product
 * and one more, where its values begin; the last is their number. */
int GpuSparse_spgemm_count(GpuArray *counts, const GpuSparse *a, const GpuSparse *b);
/* Makes the product by those counts. */
int GpuSparse_spgemm_fill(GpuSparse *out, const GpuSparse *a, const GpuSparse *b,
                          const GpuArray *counts, size_t n);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
