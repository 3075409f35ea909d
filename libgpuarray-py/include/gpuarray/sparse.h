/* GpuSparse: sparse matrices, as three arrays and a shape.
 *
 * CSR has the values and column indices of each row behind one another, and in `indptr`
 * where each row begins; CSC the same of columns; COO has a row and a column index for
 * each value. Indices are int32 or int64, of one type; values have any type of arrays.
 * The three arrays are vectors in C order. Duplicates (several values at one place) are
 * summed by every function.
 *
 * What is in the arrays is never trusted: GpuSparse_check tells it. A function that
 * needs sorted rows or no duplicates says so. Wrong indices give wrong results, but no
 * kernel reads or writes outside of the arrays.
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
/* Sums over the rows (axis 0) or columns (axis 1) into `y`, a vector of the values'
 * type. */
int GpuSparse_sum(GpuArray *y, const GpuSparse *a, int axis);
/* The diagonal with `offset` (as numpy.diagonal) into `y`, a vector of its length. */
int GpuSparse_diagonal(GpuArray *y, const GpuSparse *a, ssize_t offset);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
