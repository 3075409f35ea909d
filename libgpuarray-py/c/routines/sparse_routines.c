/* Routines of sparse matrices. A matrix is three inputs, values, indices and indptr,
 * and the lengths of its shape, which are integers behind the arrays; params[0] is its
 * format. */
#include "c/routines/calls.h"

#include <gpuarray/sparse.h>

static int set(GpuSparse *out, const ga_routine_call *c, const GpuArray *values,
               unsigned int at, long long rows, long long columns) {
  if (rows < 0 || columns < 0)
    return GA_FAIL(GA_VALUE_ERROR, "sparse: got a shape of (%lld, %lld)", rows,
                   columns);
  return GpuSparse_set(out, as_int(c->params[0]), (size_t)rows, (size_t)columns, values,
                       c->ins[at], c->ins[at + 1]);
}

/* The matrix of the inputs from `first` on, with its shape behind `n_arrays` arrays. */
static int open_matrix(GpuSparse *out, const ga_routine_call *c, unsigned int first,
                       unsigned int n_arrays) {
  return set(out, c, c->ins[first], first + 1, c->ints[n_arrays],
             c->ints[n_arrays + 1]);
}

/* Moves the arrays of a matrix to three results, if it was made. */
static int give(ga_routine_call *c, const GpuSparse *made, int status) {
  if (status != GA_NO_ERROR)
    return status;
  *c->outs[0] = made->values;
  *c->outs[1] = made->indices;
  *c->outs[2] = made->indptr;
  return GA_NO_ERROR;
}

static int count_of(size_t *n, long long given, const char *name) {
  if (given < 0)
    return GA_FAIL(GA_VALUE_ERROR, "%s: got %lld values, expected 0 or more", name,
                   given);
  *n = (size_t)given;
  return GA_NO_ERROR;
}

/* ---- products ---- */

/* Two factors from four parameters: real and imaginary part of each. */
typedef struct scaling {
  double alpha[2], beta[2];
} scaling;

static scaling scaling_of(const long long *params) {
  return (scaling){{as_double(params[0]), as_double(params[1])},
                   {as_double(params[2]), as_double(params[3])}};
}

static int multiply(GpuArray *y, const GpuSparse *a, const GpuArray *x, bool from_left,
                    const scaling *s) {
  const double *alpha = s ? s->alpha : NULL, *beta = s ? s->beta : NULL;
  return from_left ? GpuSparse_rmatmul(y, x, a, alpha, beta)
                   : GpuSparse_matmul(y, a, x, alpha, beta);
}

int ga__run_sparse_product(ga_routine_call *c) {
  const GpuArray *x = c->ins[3];
  const bool from_left = c->params[1] != 0;
  size_t dims[2];
  GpuSparse a;
  if (x->nd != 1 && x->nd != 2)
    return GA_FAIL(GA_VALUE_ERROR,
                   "sparse product: got a dense operand of %u axes, expected 1 or 2",
                   x->nd);
  GA_TRY(open_matrix(&a, c, 0, 4));
  const size_t own = from_left ? a.columns : a.rows;
  dims[0] = x->nd == 2 && from_left ? x->dimensions[0] : own;
  dims[1] = x->nd == 2 && !from_left ? x->dimensions[1] : own;
  int status = GpuArray_empty(c->outs[0], c->context, a.values.typecode, x->nd, dims,
                              GA_C_ORDER);
  if (status == GA_NO_ERROR)
    status = or_clear(c, multiply(c->outs[0], &a, x, from_left, NULL));
  GpuSparse_clear(&a);
  return status;
}

int ga__run_sparse_product_add(ga_routine_call *c) {
  const scaling s = scaling_of(c->params + 2);
  GpuSparse a;
  GA_TRY(open_matrix(&a, c, 0, 5));
  int status = GpuArray_view(c->outs[0], c->ins[4]);
  if (status == GA_NO_ERROR)
    status = or_clear(c, multiply(c->outs[0], &a, c->ins[3], c->params[1] != 0, &s));
  GpuSparse_clear(&a);
  return status;
}

/* The result stands for the values of the matrix, which are not read. */
int ga__run_sparse_sampled(ga_routine_call *c) {
  GpuSparse a;
  GA_TRY(GpuArray_empty(c->outs[0], c->context, c->ins[2]->typecode, 1,
                        c->ins[0]->dimensions, GA_C_ORDER));
  int status = set(&a, c, c->outs[0], 0, c->ints[4], c->ints[5]);
  if (status == GA_NO_ERROR) {
    status = GpuSparse_sddmm(c->outs[0], &a, c->ins[2], c->ins[3], NULL, NULL);
    GpuSparse_clear(&a);
  }
  return or_clear(c, status);
}

int ga__run_sparse_sample(ga_routine_call *c) {
  GpuSparse a;
  GpuArray values; /* not read, but of a type */
  GA_TRY(GpuArray_empty(&values, c->context, c->ins[2]->typecode, 1,
                        c->ins[0]->dimensions, GA_C_ORDER));
  int status = set(&a, c, &values, 0, c->ints[3], c->ints[4]);
  GpuArray_clear(&values);
  GA_TRY(status);
  status = GpuSparse_sample(c->outs[0], &a, c->ins[2]);
  GpuSparse_clear(&a);
  return status;
}

int ga__run_sparse_solve(ga_routine_call *c) {
  GpuSparse a;
  GA_TRY(open_matrix(&a, c, 0, 4));
  int status = GpuArray_view(c->outs[0], c->ins[3]);
  if (status == GA_NO_ERROR)
    status = or_clear(c, GpuSparse_solve(c->outs[0], &a, as_int(c->params[1])));
  GpuSparse_clear(&a);
  return status;
}

/* ---- one matrix ---- */

int ga__run_sparse_dense(ga_routine_call *c) {
  GpuSparse a;
  GA_TRY(open_matrix(&a, c, 0, 3));
  const int status = GpuSparse_to_dense(c->outs[0], &a, GA_C_ORDER);
  GpuSparse_clear(&a);
  return status;
}

int ga__run_sparse_convert(ga_routine_call *c) {
  GpuSparse a, made;
  GA_TRY(open_matrix(&a, c, 0, 3));
  const int status = GpuSparse_convert(&made, &a, as_int(c->params[1]));
  GpuSparse_clear(&a);
  return give(c, &made, status);
}

int ga__run_sparse_sort(ga_routine_call *c) {
  GpuSparse a, made;
  GA_TRY(open_matrix(&a, c, 0, 3));
  const int status = GpuSparse_sort(&made, &a);
  GpuSparse_clear(&a);
  return give(c, &made, status);
}

int ga__run_sparse_sum(ga_routine_call *c) {
  const int axis = as_int(c->params[1]);
  GpuSparse a;
  GA_TRY(open_matrix(&a, c, 0, 3));
  int status = GpuArray_empty(c->outs[0], c->context, a.values.typecode, 1,
                              axis == 0 ? &a.columns : &a.rows, GA_C_ORDER);
  if (status == GA_NO_ERROR)
    status = or_clear(c, GpuSparse_sum(c->outs[0], &a, axis));
  GpuSparse_clear(&a);
  return status;
}

int ga__run_sparse_diagonal(ga_routine_call *c) {
  const long long offset = c->params[1];
  GpuSparse a;
  GA_TRY(open_matrix(&a, c, 0, 3));
  const long long down = offset < 0 ? -offset : 0, right = offset > 0 ? offset : 0;
  const long long high = (long long)a.rows - down, wide = (long long)a.columns - right;
  const long long length = high < wide ? high : wide;
  const size_t n = length > 0 ? (size_t)length : 0;
  int status =
      GpuArray_empty(c->outs[0], c->context, a.values.typecode, 1, &n, GA_C_ORDER);
  if (status == GA_NO_ERROR)
    status = or_clear(c, GpuSparse_diagonal(c->outs[0], &a, (ssize_t)offset));
  GpuSparse_clear(&a);
  return status;
}

int ga__run_sparse_unique_count(ga_routine_call *c) {
  GpuSparse a;
  GA_TRY(open_matrix(&a, c, 0, 3));
  const int status = GpuSparse_unique_count(c->outs[0], &a);
  GpuSparse_clear(&a);
  return status;
}

int ga__run_sparse_unique(ga_routine_call *c) {
  GpuSparse a, made;
  size_t n = 0;
  GA_TRY(count_of(&n, c->ints[6], "sparse unique"));
  GA_TRY(open_matrix(&a, c, 0, 4));
  const int status = GpuSparse_unique_fill(&made, &a, c->ins[3], n);
  GpuSparse_clear(&a);
  return give(c, &made, status);
}

int ga__run_sparse_take_count(ga_routine_call *c) {
  GpuSparse a;
  GA_TRY(open_matrix(&a, c, 0, 4));
  const int status =
      GpuSparse_take_count(c->outs[0], &a, c->ins[3], as_int(c->params[1]));
  GpuSparse_clear(&a);
  return status;
}

int ga__run_sparse_take(ga_routine_call *c) {
  GpuSparse a, made;
  size_t n = 0;
  GA_TRY(count_of(&n, c->ints[7], "sparse take"));
  GA_TRY(open_matrix(&a, c, 0, 5));
  const int status =
      GpuSparse_take_fill(&made, &a, c->ins[3], as_int(c->params[1]), c->ins[4], n);
  GpuSparse_clear(&a);
  return give(c, &made, status);
}

/* ---- two matrices ---- */

/* The second matrix is inputs 3 to 5; shapes are (m, k) and (k, n), or one. */
static int open_pair(GpuSparse pair[2], const ga_routine_call *c, const long long *m,
                     const long long *k, const long long *n) {
  GA_TRY(set(&pair[0], c, c->ins[0], 1, *m, k ? *k : *n));
  const int status = set(&pair[1], c, c->ins[3], 4, k ? *k : *m, *n);
  if (status != GA_NO_ERROR)
    GpuSparse_clear(&pair[0]);
  return status;
}

static int close_pair(GpuSparse pair[2], int status) {
  GpuSparse_clear(&pair[0]);
  GpuSparse_clear(&pair[1]);
  return status;
}

int ga__run_sparse_match(ga_routine_call *c) {
  GpuSparse p[2];
  GA_TRY(open_pair(p, c, c->ints + 6, NULL, c->ints + 7));
  return close_pair(p, GpuSparse_match(c->outs[0], &p[0], &p[1]));
}

int ga__run_sparse_merge(ga_routine_call *c) {
  const scaling s = scaling_of(c->params + 2);
  const GpuArray *matches = c->ins[6];
  GpuSparse p[2], made;
  size_t n = 0;
  GA_TRY(count_of(&n, c->ints[9], "sparse merge"));
  GA_TRY(open_pair(p, c, c->ints + 7, NULL, c->ints + 8));
  return give(
      c, &made,
      close_pair(p, c->params[1] != 0
                        ? GpuSparse_multiply_fill(&made, &p[0], &p[1], matches, n)
                        : GpuSparse_add_fill(&made, &p[0], &p[1], s.alpha, s.beta,
                                             matches, n)));
}

int ga__run_sparse_spgemm_count(ga_routine_call *c) {
  GpuSparse p[2];
  GA_TRY(open_pair(p, c, c->ints + 6, c->ints + 7, c->ints + 8));
  return close_pair(p, GpuSparse_spgemm_count(c->outs[0], &p[0], &p[1]));
}

int ga__run_sparse_spgemm(ga_routine_call *c) {
  GpuSparse p[2], made;
  size_t n = 0;
  GA_TRY(count_of(&n, c->ints[10], "sparse spgemm"));
  GA_TRY(open_pair(p, c, c->ints + 7, c->ints + 8, c->ints + 9));
  return give(c, &made,
              close_pair(p, GpuSparse_spgemm_fill(&made, &p[0], &p[1], c->ins[6], n)));
}
