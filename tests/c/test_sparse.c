/* Sparse matrices: what is refused, ownership and failing allocations on the null
 * device, values on a device. */
#include "device_context.h"
#include "failing_allocations.h"
#include "null_context.h"

#include <gpuarray/sparse.h>

#include "c/array/array.h"

/* [[1, 0, 2], [0, 0, 0], [0, 3, 0]] */
static const float values[3] = {1, 2, 3};
static const int indices[3] = {0, 2, 1}, indptr[4] = {0, 2, 2, 3};

typedef struct arrays {
  GpuArray values, indices, indptr, wide, far;
} arrays;

static GpuArray vector(gpucontext *ctx, const void *data, int typecode, size_t n) {
  GpuArray a = {0};
  CHECK_OK(GpuArray_copy_from_host(&a, ctx, data, typecode, 1, &n, NULL));
  return a;
}

static void open_arrays(arrays *x, gpucontext *ctx, gpucontext *other) {
  const long long wide[4] = {0, 2, 2, 3};
  x->values = vector(ctx, values, GA_FLOAT, 3);
  x->indices = vector(ctx, indices, GA_INT, 3);
  x->indptr = vector(ctx, indptr, GA_INT, 4);
  x->wide = vector(ctx, wide, GA_LONG, 4);
  x->far = vector(other, indptr, GA_INT, 4);
}

static void clear_arrays(arrays *x) {
  GpuArray *all[] = {&x->values, &x->indices, &x->indptr, &x->wide, &x->far};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    GpuArray_clear(all[i]);
}

static void structs_that_are_wrong(arrays *x) {
  GpuSparse a = {0};
  GpuArray *v = &x->values, *i = &x->indices, *p = &x->indptr;
  CHECK_STATUS(GA_VALUE_ERROR, GpuSparse_set(&a, 3, 3, 3, v, i, p));
  CHECK_TEXT("format 3, expected GA_SPARSE_CSR");
  CHECK_STATUS(GA_VALUE_ERROR, GpuSparse_set(&a, GA_SPARSE_CSR, 4, 3, v, i, p));
  CHECK_TEXT("an indptr of 4 elements for a shape of (4, 3), expected 5");
  CHECK_STATUS(GA_VALUE_ERROR, GpuSparse_set(&a, GA_SPARSE_COO, 3, 3, v, i, p));
  CHECK_TEXT("4 row indices for a shape of (3, 3), expected 3, one for each value");
  CHECK_STATUS(GA_VALUE_ERROR, GpuSparse_set(&a, GA_SPARSE_CSR, 3, 3, v, p, p));
  CHECK_TEXT("3 values and 4 indices, expected one index for each value");
  CHECK_STATUS(GA_INVALID_ERROR, GpuSparse_set(&a, GA_SPARSE_CSR, 3, 3, v, v, p));
  CHECK_TEXT("expected int32 or int64 of both");
  CHECK_STATUS(GA_INVALID_ERROR,
               GpuSparse_set(&a, GA_SPARSE_CSR, 3, 3, v, i, &x->wide));
  CHECK_STATUS(GA_VALUE_ERROR, GpuSparse_set(&a, GA_SPARSE_CSR, 3, 3, v, i, &x->far));
  CHECK_STATUS(GA_XLARGE_ERROR,
               GpuSparse_set(&a, GA_SPARSE_CSR, 3, (size_t)1 << 31, v, i, p));
  CHECK_TEXT("use int64");
  CHECK(a.values.data == NULL);
  CHECK_OK(GpuSparse_set(&a, GA_SPARSE_CSR, 3, 3, v, i, p));
  CHECK_STATUS(GA_VALUE_ERROR, GpuSparse_convert(&a, &a, -1));
  CHECK_STATUS(GA_VALUE_ERROR, GpuSparse_sum(v, &a, 2));
  CHECK_STATUS(GA_VALUE_ERROR, GpuSparse_max(v, &a, 2));
  CHECK_STATUS(GA_VALUE_ERROR, GpuSparse_min(p, &a, 3));
  CHECK_STATUS(GA_VALUE_ERROR, GpuSparse_sum(p, &a, 3));
  GpuSparse_clear(&a);
  GpuSparse_clear(&a);
  GpuSparse_clear(NULL);
}

static void products_that_are_wrong(arrays *x, gpucontext *ctx) {
  const size_t two[2] = {3, 2}, four = 4;
  GpuSparse a;
  GpuArray y, matrix, longer;
  CHECK_OK(GpuSparse_set(&a, GA_SPARSE_CSR, 3, 3, &x->values, &x->indices, &x->indptr));
  CHECK_OK(GpuArray_zeros(&y, ctx, GA_FLOAT, 1, &two[0], GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&matrix, ctx, GA_FLOAT, 2, two, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&longer, ctx, GA_FLOAT, 1, &four, GA_C_ORDER));
  CHECK_STATUS(GA_VALUE_ERROR, GpuSparse_matmul(&y, &a, &matrix, NULL, NULL));
  CHECK_TEXT("a csr matrix of float32 (3, 3) with 3 values and float32 (3, 2) does not "
             "fit a result of float32 (3,)");
  CHECK_STATUS(GA_VALUE_ERROR, GpuSparse_matmul(&longer, &a, &y, NULL, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuSparse_rmatmul(&y, &longer, &a, NULL, NULL));
  CHECK_STATUS(GA_INVALID_ERROR, GpuSparse_matmul(&y, &a, &x->indices, NULL, NULL));
  y.flags &= ~GA_WRITEABLE;
  CHECK_STATUS(GA_VALUE_ERROR, GpuSparse_matmul(&y, &a, &x->values, NULL, NULL));
  y.flags |= GA_WRITEABLE;
  CHECK_STATUS(GA_VALUE_ERROR, GpuSparse_diagonal(&y, &a, 1));
  CHECK_TEXT("expected a vector of 2 elements");
  CHECK_STATUS(GA_VALUE_ERROR, GpuSparse_from_dense(&a, &y, GA_SPARSE_CSR, GA_INT));
  CHECK_TEXT("expected a matrix");
  CHECK_STATUS(GA_VALUE_ERROR,
               GpuSparse_from_dense(&a, &matrix, GA_SPARSE_CSR, GA_FLOAT));
  GpuSparse_clear(&a);
  GpuArray *all[] = {&y, &matrix, &longer};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    GpuArray_clear(all[i]);
}

/* A matrix through every format, with one product: many values, so that there is room
 * for long rows. */
static int use_all(gpucontext *ctx) {
  const size_t n = 40000, shape[2] = {n, 2};
  GpuSparse a = {0}, b = {0}, c = {0};
  GpuArray x = {0}, y = {0}, dense = {0};
  int status = GpuSparse_empty(&a, ctx, GA_SPARSE_COO, 20, n, n, GA_FLOAT, GA_INT);
  GA_THEN(status, GpuSparse_convert(&b, &a, GA_SPARSE_CSC));
  GA_THEN(status, GpuSparse_sort(&c, &b));
  GA_THEN(status, GpuSparse_to_dense(&dense, &c, GA_C_ORDER));
  GpuSparse_clear(&a);
  GA_THEN(status, GpuSparse_transpose(&a, &c));
  GA_THEN(status, GpuArray_zeros(&y, ctx, GA_FLOAT, 2, shape, GA_C_ORDER));
  GA_THEN(status, GpuArray_zeros(&x, ctx, GA_FLOAT, 2, (size_t[]){20, 2}, GA_F_ORDER));
  GA_THEN(status, GpuSparse_matmul(&y, &a, &x, NULL, NULL));
  GpuSparse_clear(&a);
  GpuSparse_clear(&b);
  GpuSparse_clear(&c);
  GpuArray *all[] = {&x, &y, &dense};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    GpuArray_clear(all[i]);
  return status;
}

static int scenario(void) {
  gpucontext *ctx = NULL;
  GA_TRY(gpucontext_open(&ctx, "null"));
  const int status = use_all(ctx);
  gpucontext_deref(ctx);
  return status;
}

/* ---- on a device ---- */

static void check_values(const GpuSparse *a, const float *expected, size_t n) {
  float got[8];
  CHECK(a->values.dimensions[0] == n);
  CHECK_OK(GpuArray_read(got, n * sizeof *got, &a->values));
  for (size_t i = 0; i < n; i++)
    CHECK(got[i] == expected[i]);
}

static void formats_and_products(gpucontext *ctx) {
  arrays x;
  GpuSparse a, turned, listed;
  GpuArray y, dense;
  float got[3], all[9];
  int flags = 0;
  open_arrays(&x, ctx, ctx);
  CHECK_OK(GpuSparse_set(&a, GA_SPARSE_CSR, 3, 3, &x.values, &x.indices, &x.indptr));
  CHECK_OK(GpuSparse_check(&flags, &a));
  CHECK(flags == (GA_SPARSE_SORTED | GA_SPARSE_UNIQUE));
  CHECK_OK(GpuSparse_check(NULL, &a));
  CHECK_OK(GpuArray_zeros(&y, ctx, GA_FLOAT, 1, (size_t[]){3}, GA_C_ORDER));
  CHECK_OK(GpuSparse_matmul(&y, &a, &x.values, NULL, NULL));
  CHECK_OK(GpuArray_read(got, sizeof got, &y));
  CHECK(got[0] == 7 && got[1] == 0 && got[2] == 6);
  /* a result that is an operand: the values of the matrix too */
  CHECK_OK(GpuSparse_rmatmul(&x.values, &y, &a, (double[]){2, 0}, (double[]){1, 0}));
  CHECK_OK(GpuArray_read(got, sizeof got, &x.values));
  CHECK(got[0] == 15 && got[1] == 38 && got[2] == 31);
  CHECK_OK(GpuSparse_convert(&listed, &a, GA_SPARSE_COO));
  CHECK_OK(GpuSparse_transpose(&turned, &listed));
  CHECK(turned.rows == 3 && turned.format == GA_SPARSE_COO);
  GpuSparse_clear(&listed);
  CHECK_OK(GpuSparse_view(&listed, &turned));
  CHECK(listed.values.data == turned.values.data);
  CHECK_OK(GpuSparse_to_dense(&dense, &turned, GA_C_ORDER));
  CHECK_OK(GpuArray_read(all, sizeof all, &dense));
  CHECK(all[0] == 15 && all[6] == 38 && all[5] == 31 && all[1] == 0);
  GpuSparse_clear(&turned);
  GpuSparse_clear(&listed);
  GpuSparse_clear(&a);
  GpuArray_clear(&y);
  GpuArray_clear(&dense);
  clear_arrays(&x);
}

/* The halves of functions that count, as plans call them. */
static void counts_and_fills(gpucontext *ctx) {
  const int order[2] = {2, 0};
  arrays x;
  GpuSparse a, b;
  GpuArray counts, taken;
  open_arrays(&x, ctx, ctx);
  taken = vector(ctx, order, GA_INT, 2);
  CHECK_OK(GpuSparse_set(&a, GA_SPARSE_CSR, 3, 3, &x.values, &x.indices, &x.indptr));
  CHECK_OK(GpuSparse_unique_count(&counts, &a));
  CHECK_OK(GpuSparse_unique_fill(&b, &a, &counts, 3));
  check_values(&b, (float[]){1, 2, 3}, 3);
  GpuSparse_clear(&b);
  GpuArray_clear(&counts);
  CHECK_OK(GpuSparse_match(&counts, &a, &a));
  CHECK_OK(GpuSparse_add_fill(&b, &a, &a, NULL, (double[]){3, 0}, &counts, 3));
  check_values(&b, (float[]){4, 8, 12}, 3);
  GpuSparse_clear(&b);
  CHECK_OK(GpuSparse_multiply_fill(&b, &a, &a, &counts, 3));
  check_values(&b, (float[]){1, 4, 9}, 3);
  CHECK_STATUS(GA_INVALID_ERROR, GpuSparse_multiply_fill(&b, &a, &a, &x.values, 3));
  GpuSparse_clear(&b);
  GpuArray_clear(&counts);
  CHECK_OK(GpuSparse_take_count(&counts, &a, &taken, 0));
  CHECK_OK(GpuSparse_take_fill(&b, &a, &taken, 0, &counts, 3));
  check_values(&b, (float[]){3, 1, 2}, 3);
  GpuSparse_clear(&b);
  GpuArray_clear(&counts);
  CHECK_STATUS(GA_VALUE_ERROR, GpuSparse_take_count(&counts, &a, &taken, 1));
  CHECK_TEXT("for columns convert it to CSC first");
  CHECK_OK(GpuSparse_spgemm_count(&counts, &a, &a));
  CHECK_OK(GpuSparse_spgemm_fill(&b, &a, &a, &counts, 3));
  check_values(&b, (float[]){1, 6, 2}, 3);
  GpuSparse_clear(&b);
  GpuArray_clear(&counts);
  GpuSparse_clear(&a);
  GpuArray_clear(&taken);
  clear_arrays(&x);
}

/* The functions that wait, and the dense matrices at places. */
static void whole_functions(gpucontext *ctx) {
  const float ones[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  const int order[2] = {2, 0};
  const size_t square[2] = {3, 3};
  arrays x;
  GpuSparse a, b;
  GpuArray dense, taken, sampled;
  open_arrays(&x, ctx, ctx);
  taken = vector(ctx, order, GA_INT, 2);
  CHECK_OK(GpuArray_copy_from_host(&dense, ctx, ones, GA_FLOAT, 2, square, NULL));
  CHECK_OK(GpuSparse_set(&a, GA_SPARSE_CSR, 3, 3, &x.values, &x.indices, &x.indptr));
  CHECK_OK(GpuSparse_sample(&sampled, &a, &dense));
  CHECK_OK(GpuSparse_sddmm(&sampled, &a, &dense, &dense, NULL, (double[]){1, 0}));
  GpuSparse sums = a; /* borrowed */
  sums.values = sampled;
  check_values(&sums, (float[]){4, 4, 4}, 3);
  CHECK_OK(GpuSparse_multiply(&b, &a, &a));
  check_values(&b, (float[]){1, 4, 9}, 3);
  GpuSparse_clear(&b);
  CHECK_OK(GpuSparse_combine(&b, &a, &a, GA_SPARSE_MAXIMUM));
  check_values(&b, (float[]){1, 2, 3}, 3);
  GpuSparse_clear(&b);
  CHECK(GpuSparse_combine(&b, &a, &a, 5) == GA_VALUE_ERROR);
  CHECK_OK(GpuSparse_take(&b, &a, &taken, 1));
  CHECK(b.columns == 2);
  check_values(&b, (float[]){2, 1}, 2);
  GpuSparse_clear(&b);
  CHECK_OK(GpuSparse_spgemm(&b, &a, &a)); /* row 0: 1 a0 + 2 a2; row 2: 3 a1 */
  check_values(&b, (float[]){1, 6, 2}, 3);
  GpuSparse_clear(&b);
  CHECK_OK(GpuSparse_sum_duplicates(&b, &a));
  check_values(&b, (float[]){1, 2, 3}, 3);
  GpuSparse_clear(&b);
  GpuSparse_clear(&a);
  GpuArray_clear(&dense);
  GpuArray_clear(&taken);
  GpuArray_clear(&sampled);
  clear_arrays(&x);
}

/* Values of row 0, column 2 and of row 2: the mask leaves out the first. */
static void values_that_are_kept(gpucontext *ctx) {
  const unsigned char chosen[3] = {0, 1, 1};
  arrays x;
  GpuSparse a, b = {0};
  GpuArray counts = {0}, mask = vector(ctx, chosen, GA_BOOL, 3);
  open_arrays(&x, ctx, ctx);
  CHECK_OK(GpuSparse_set(&a, GA_SPARSE_CSR, 3, 3, &x.values, &x.indices, &x.indptr));
  CHECK_OK(GpuSparse_keep(&b, &a, &mask));
  check_values(&b, (float[]){2, 3}, 2);
  GpuSparse_clear(&b);
  CHECK_OK(GpuSparse_keep_count(&counts, &a, &mask));
  CHECK_OK(GpuSparse_keep_fill(&b, &a, &counts, 2));
  check_values(&b, (float[]){2, 3}, 2);
  CHECK_STATUS(GA_INVALID_ERROR, GpuSparse_keep(&b, &a, &x.values));
  GpuSparse_clear(&b);
  GpuArray_clear(&counts);
  GpuArray_clear(&mask);
  GpuSparse_clear(&a);
  clear_arrays(&x);
}

/* Whatever the indices are, kernels keep to the arrays. */
static void wrong_indices(gpucontext *ctx) {
  const int wild[3] = {-5, 1 << 30, 7}, steps[4] = {1 << 30, -9, 3, 2};
  GpuArray v = vector(ctx, values, GA_FLOAT, 3), i = vector(ctx, wild, GA_INT, 3);
  GpuArray p = vector(ctx, steps, GA_INT, 4), y = vector(ctx, values, GA_FLOAT, 3);
  GpuSparse a, b = {0};
  GpuArray dense;
  CHECK_OK(GpuSparse_set(&a, GA_SPARSE_CSR, 3, 3, &v, &i, &p));
  CHECK_STATUS(GA_VALUE_ERROR, GpuSparse_check(NULL, &a));
  CHECK_STATUS(GA_VALUE_ERROR, GpuSparse_add(&b, &a, &a, NULL, NULL));
  CHECK_OK(GpuSparse_matmul(&y, &a, &v, NULL, NULL));
  CHECK_OK(GpuSparse_to_dense(&dense, &a, GA_C_ORDER));
  CHECK_OK(GpuSparse_convert(&b, &a, GA_SPARSE_CSC));
  CHECK_OK(GpuSparse_solve(&y, &a, 0));
  CHECK_OK(gpucontext_sync(ctx));
  GpuSparse_clear(&a);
  GpuSparse_clear(&b);
  GpuArray *all[] = {&v, &i, &p, &y, &dense};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    GpuArray_clear(all[k]);
}

int main(void) {
  gpucontext *ctx = open_null(), *other = NULL;
  arrays x;
  CHECK_OK(gpucontext_open(&other, "null"));
  open_arrays(&x, ctx, other);
  structs_that_are_wrong(&x);
  products_that_are_wrong(&x, ctx);
  clear_arrays(&x);
  gpucontext_deref(ctx);
  gpucontext_deref(other);
  fail_allocations_of(scenario);
  if (check_failures)
    return check_result("test_sparse");
  ctx = open_device();
  formats_and_products(ctx);
  counts_and_fills(ctx);
  values_that_are_kept(ctx);
  whole_functions(ctx);
  wrong_indices(ctx);
  gpucontext_deref(ctx);
  return check_result("test_sparse");
}
