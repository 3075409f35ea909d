/* Matrix products from C: what libgpuarray 0.7 demands of them, products over raw
 * buffers, failures, and allocations that fail. Values over all types and layouts are
 * tests/gpuarray/test_linalg.py's. */
#include "device_context.h"
#include "null_context.h"

#include <gpuarray/buffer_blas.h>
#include <math.h>

/* ---- arrays ---- */

static GpuArray make(gpucontext *ctx, int typecode, unsigned int nd, const size_t *dims,
                     const void *values, ga_order order) {
  GpuArray a = {0}, turned = {0};
  CHECK_OK(GpuArray_copy_from_host(&a, ctx, values, typecode, nd, dims, NULL));
  if (order == GA_F_ORDER) {
    CHECK_OK(GpuArray_copy(&turned, &a, GA_F_ORDER));
    GpuArray_clear(&a);
    return turned;
  }
  return a;
}

static GpuArray make_empty(gpucontext *ctx, int typecode, unsigned int nd,
                           const size_t *dims) {
  GpuArray a = {0};
  CHECK_OK(GpuArray_empty(&a, ctx, typecode, nd, dims, GA_C_ORDER));
  return a;
}

/* ---- check_blas.c of libgpuarray 0.7 ---- */

static const float left[2][3][3] = {{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}},
                                    {{9, 8, 7}, {6, 5, 4}, {3, 2, 1}}};
static const float right[2][3][3] = {{{1, 0, 2}, {0, 1, 0}, {3, 0, 1}},
                                     {{2, 1, 0}, {1, 2, 1}, {0, 1, 2}}};

/* op(left[i]) op(right[i]) exactly, in C order. */
static bool is_batch(const GpuArray *c, bool ta, bool tb) {
  float got[2][3][3];
  GpuArray plain = {0};
  CHECK_OK(GpuArray_copy(&plain, c, GA_C_ORDER));
  CHECK_OK(GpuArray_read(got, sizeof got, &plain));
  GpuArray_clear(&plain);
  for (int q = 0; q < 2; q++)
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) {
        float sum = 0;
        for (int l = 0; l < 3; l++)
          sum += (ta ? left[q][l][i] : left[q][i][l]) *
                 (tb ? right[q][j][l] : right[q][l][j]);
        if (got[q][i][j] != sum)
          return false;
      }
  return true;
}

static void check_batch(gpucontext *ctx, ga_order order, int nocopy) {
  const size_t dims[] = {2, 3, 3};
  GpuArray a = make(ctx, GA_FLOAT, 3, dims, left, order);
  GpuArray b = make(ctx, GA_FLOAT, 3, dims, right, order);
  GpuArray c = make_empty(ctx, GA_FLOAT, 3, dims);
  CHECK_OK(GpuArray_sgemmBatch_3d(cb_no_trans, cb_no_trans, 1, &a, &b, 0, &c, nocopy));
  CHECK(is_batch(&c, false, false));
  CHECK_OK(GpuArray_rgemmBatch_3d(cb_trans, cb_conj_trans, 1, &a, &b, 0, &c, nocopy));
  CHECK(is_batch(&c, true, true));
  GpuArray_clear(&a);
  GpuArray_clear(&b);
  GpuArray_clear(&c);
}

/* Strides set by hand: a's matrices lie one after the other, each in Fortran order; the
 * last two axes of b are swapped. Neither is copied. */
static void check_strides(gpucontext *ctx) {
  static const float columns[2][3][3] = {{{1, 4, 7}, {2, 5, 8}, {3, 6, 9}},
                                         {{9, 6, 3}, {8, 5, 2}, {7, 4, 1}}};
  const size_t dims[] = {2, 3, 3};
  GpuArray a = make(ctx, GA_FLOAT, 3, dims, columns, GA_C_ORDER);
  GpuArray b = make(ctx, GA_FLOAT, 3, dims, right, GA_C_ORDER);
  GpuArray c = make_empty(ctx, GA_FLOAT, 3, dims);
  a.strides[1] = 4;
  a.strides[2] = 12;
  b.strides[1] = 4;
  b.strides[2] = 12;
  GpuArray_fix_flags(&a);
  GpuArray_fix_flags(&b);
  CHECK_OK(GpuArray_rgemmBatch_3d(cb_no_trans, cb_no_trans, 1, &a, &b, 0, &c, 1));
  CHECK(is_batch(&c, false, true));
  GpuArray_clear(&a);
  GpuArray_clear(&b);
  GpuArray_clear(&c);
}

/* ---- raw buffers ---- */

enum { ROOM = 64 };

static gpudata *put(gpucontext *ctx, const float *values) {
  gpudata *b = gpudata_alloc(ctx, ROOM * sizeof *values, (void *)(uintptr_t)values,
                             GA_BUFFER_INIT, NULL);
  CHECK(b != NULL);
  return b;
}

static void count_up(float *values) {
  for (int i = 0; i < ROOM; i++)
    values[i] = (float)(i % 7 - 3);
}

static float at(const float *x, cb_order order, size_t ld, size_t i, size_t j) {
  return x[order == cb_row ? i * ld + j : j * ld + i];
}

/* op(A) is (2, 3), op(B) (3, 4); leading dimensions have room. */
static void check_gemm_of(gpucontext *ctx, cb_order order, cb_transpose ta,
                          cb_transpose tb) {
  float a[ROOM], b[ROOM], c[ROOM], got[ROOM];
  count_up(a);
  count_up(b);
  count_up(c);
  gpudata *da = put(ctx, a), *db = put(ctx, b), *dc = put(ctx, c);
  CHECK_OK(gpublas_sgemm(order, ta, tb, 2, 4, 3, 2, da, 3, 5, db, 1, 6, -1, dc, 2, 7));
  CHECK_OK(gpudata_read(got, dc, 0, sizeof got));
  int changed = 0;
  for (int i = 0; i < ROOM; i++)
    changed += got[i] != c[i];
  CHECK(changed <= 8);
  for (size_t i = 0; i < 2; i++)
    for (size_t j = 0; j < 4; j++) {
      float sum = 0;
      for (size_t l = 0; l < 3; l++)
        sum += (ta ? at(a + 3, order, 5, l, i) : at(a + 3, order, 5, i, l)) *
               (tb ? at(b + 1, order, 6, j, l) : at(b + 1, order, 6, l, j));
      CHECK(at(got + 2, order, 7, i, j) == 2 * sum - at(c + 2, order, 7, i, j));
    }
  gpudata_release(da);
  gpudata_release(db);
  gpudata_release(dc);
}

/* Offsets are in bytes; all add to one output, as Theano's sparse blocks do. */
static void check_lists(gpucontext *ctx, cb_order order) {
  float a[ROOM], x[ROOM], y[ROOM], got[ROOM], want[2] = {0, 0};
  size_t off_a[] = {0, 24, 72}, off_x[] = {0, 4, 12}, off_y[] = {8, 8, 8};
  count_up(a);
  count_up(x);
  count_up(y);
  gpudata *da = put(ctx, a), *dx = put(ctx, x), *dy = put(ctx, y);
  gpudata *as[] = {da, da, da}, *xs[] = {dx, dx, dx}, *ys[] = {dy, dy, dy};
  const size_t ld = order == cb_row ? 3 : 2;
  CHECK_OK(gpublas_sgemvBatch(order, cb_no_trans, 2, 3, 1, as, off_a, ld, xs, off_x, 1,
                              1, ys, off_y, 1, 3, 0));
  CHECK_OK(gpudata_read(got, dy, 0, sizeof got));
  for (size_t i = 0; i < 2; i++) {
    want[i] = y[2 + i];
    for (size_t q = 0; q < 3; q++)
      for (size_t l = 0; l < 3; l++)
        want[i] += at(a + off_a[q] / 4, order, ld, i, l) * x[off_x[q] / 4 + l];
  }
  CHECK(got[2] == want[0] && got[3] == want[1] && got[4] == y[4] && got[1] == y[1]);
  CHECK_OK(gpublas_sgerBatch(order, 2, 3, 1, xs, off_x, 1, xs, off_x, 1, as, off_a, ld,
                             3, 0));
  CHECK_OK(gpudata_read(got, da, 0, sizeof got));
  for (size_t q = 0; q < 3; q++)
    for (size_t i = 0; i < 2; i++)
      for (size_t j = 0; j < 3; j++)
        CHECK(at(got + off_a[q] / 4, order, ld, i, j) ==
              at(a + off_a[q] / 4, order, ld, i, j) +
                  x[off_x[q] / 4 + i] * x[off_x[q] / 4 + j]);
  gpudata_release(da);
  gpudata_release(dx);
  gpudata_release(dy);
}

/* gemmBatch counts in elements, and gemm3D in elements between matrices. */
static void check_batches_of_buffers(gpucontext *ctx) {
  float a[ROOM], got[3][ROOM];
  size_t even[] = {0, 4, 8}, odd[] = {0, 5, 8}, out[] = {0, 4, 8};
  count_up(a);
  gpudata *da = put(ctx, a), *c[3] = {put(ctx, a), put(ctx, a), put(ctx, a)};
  gpudata *as[] = {da, da, da}, *cs[3][3];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      cs[i][j] = c[i];
  CHECK_OK(gpublas_sgemmBatch(cb_row, cb_no_trans, cb_trans, 2, 2, 2, 1, as, even, 2,
                              as, even, 2, 0, cs[0], out, 2, 3, 0));
  CHECK_OK(gpublas_sgemm3D(cb_row, cb_no_trans, cb_trans, 2, 2, 2, 1, da, 0, 2, 4, da,
                           0, 2, 4, 0, c[1], 0, 2, 4, 3, 0));
  CHECK_OK(gpublas_sgemmBatch(cb_row, cb_no_trans, cb_trans, 2, 2, 2, 1, as, odd, 2, as,
                              odd, 2, 0, cs[2], out, 2, 3, 0));
  for (int i = 0; i < 3; i++)
    CHECK_OK(gpudata_read(got[i], c[i], 0, sizeof got[i]));
  CHECK(memcmp(got[0], got[1], 12 * sizeof(float)) == 0);
  for (size_t q = 0; q < 3; q++)
    for (size_t i = 0; i < 2; i++)
      for (size_t j = 0; j < 2; j++) {
        const float *e = a + even[q], *o = a + odd[q];
        const size_t to = 4 * q + 2 * i + j;
        CHECK(got[0][to] == e[2 * i] * e[2 * j] + e[2 * i + 1] * e[2 * j + 1]);
        CHECK(got[2][to] == o[2 * i] * o[2 * j] + o[2 * i + 1] * o[2 * j + 1]);
      }
  gpudata_release(da);
  for (int i = 0; i < 3; i++)
    gpudata_release(c[i]);
}

/* A double that the functions of 0.7 read as floats; and what steps backwards. */
static void check_vectors_of_buffers(gpucontext *ctx) {
  const double values[] = {1, 2, 3, 4, 5, 6};
  double got[6];
  size_t off_x[] = {0}, off_y[] = {16}, off_a[] = {0};
  gpudata *x = gpudata_alloc(ctx, sizeof values, (void *)(uintptr_t)values,
                             GA_BUFFER_INIT, NULL);
  gpudata *a = gpudata_alloc(ctx, sizeof values, (void *)(uintptr_t)values,
                             GA_BUFFER_INIT, NULL);
  CHECK_OK(gpublas_dgerBatch(cb_column, 2, 3, 0.5, &x, off_x, 1, &x, off_y, 1, &a,
                             off_a, 2, 1, 0));
  CHECK_OK(gpudata_read(got, a, 0, sizeof got));
  CHECK(got[0] == 2.5 && got[1] == 5 && got[2] == 5 && got[5] == 11);
  CHECK_OK(gpublas_ddot(3, x, 0, 2, x, 1, 1, a, 0));
  CHECK_OK(gpudata_read(got, a, 0, sizeof got));
  CHECK(got[0] == 1 * 2 + 3 * 3 + 5 * 4);
  CHECK_OK(gpublas_dgemv(cb_row, cb_no_trans, 1, 3, 1, x, 0, 3, x, 3, -1, 0, a, 0, 1));
  CHECK_OK(gpudata_read(got, a, 0, sizeof got));
  CHECK(got[0] == 1 * 6 + 2 * 5 + 3 * 4);
  gpudata_release(x);
  gpudata_release(a);
}

/* Results and sums of no elements; an array without elements has strides of 0. */
static void check_nothing(gpucontext *ctx) {
  const size_t a_dims[2] = {3, 2}, b_dims[2] = {2, 0}, c_dims[2] = {3, 0};
  const size_t square[2] = {3, 3};
  GpuArray a = make_empty(ctx, GA_FLOAT, 2, a_dims);
  GpuArray b = make_empty(ctx, GA_FLOAT, 2, b_dims);
  GpuArray c = make_empty(ctx, GA_FLOAT, 2, c_dims);
  GpuArray d = make_empty(ctx, GA_FLOAT, 2, square);
  float sums[9];
  CHECK_OK(GpuArray_rgemm(cb_no_trans, cb_no_trans, 1, &a, &b, 0, &c, 1));
  CHECK_OK(GpuArray_rgemm(cb_no_trans, cb_trans, 1, &c, &c, 0, &d, 1));
  CHECK_OK(GpuArray_read(sums, sizeof sums, &d));
  for (int i = 0; i < 9; i++)
    CHECK(sums[i] == 0);
  GpuArray_clear(&a);
  GpuArray_clear(&b);
  GpuArray_clear(&c);
  GpuArray_clear(&d);
}

/* ---- failures ---- */

static void test_failures(void) {
  gpucontext *ctx = open_null(), *other = NULL;
  CHECK_OK(gpucontext_open(&other, "null"));
  const size_t dims[] = {3, 4, 4};
  GpuArray a = make_empty(ctx, GA_FLOAT, 2, dims);
  GpuArray b = make_empty(ctx, GA_FLOAT, 2, dims + 1);
  GpuArray c = make_empty(ctx, GA_FLOAT, 2, dims),
           d = make_empty(ctx, GA_DOUBLE, 2, dims);
  GpuArray v = make_empty(ctx, GA_FLOAT, 1, dims), n = make_empty(ctx, GA_INT, 2, dims);
  GpuArray far = make_empty(other, GA_FLOAT, 2, dims + 1), view, thin;
  const cb_transpose no = cb_no_trans;
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_rgemm(no, no, 1, &n, &n, 0, &n, 0));
  CHECK_TEXT("gemm: A is int32");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_rgemm(no, no, 1, &a, &b, 0, &d, 0));
  CHECK_TEXT("expected one dtype");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_rgemm(no, no, 1, &a, &a, 0, &c, 0));
  CHECK_TEXT("inner dimensions 4 and 3 differ");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_rgemm(no, no, 1, &a, &b, 0, &b, 0));
  CHECK_TEXT("expected C of (3, 4)");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_rgemm(no, no, 1, &a, &v, 0, &c, 0));
  CHECK_TEXT("expected 2 axes");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_rgemm(no, no, 1, &a, &far, 0, &c, 0));
  CHECK_STATUS(GA_INVALID_ERROR,
               GpuArray_rgemm((cb_transpose)7, no, 1, &a, &b, 0, &c, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_rgemm(no, no, 1, NULL, &b, 0, &c, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_rgemv(no, 1, &a, &v, 0, &v, 0));
  CHECK_TEXT("expected X of 4 and Y of 3");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_rger(1, &v, &v, &c, 0));
  CHECK_TEXT("expected A of (3, 3)");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_rdot(&v, &v, &v, 0));
  CHECK_TEXT("Z is float32");
  CHECK_STATUS(GA_COPY_ERROR, GpuArray_rgemm(no, no, 1, &b, &b, 0, &b, 1));
  CHECK_TEXT("A overlaps the output C");
  CHECK_OK(GpuArray_rgemm(no, no, 1, &b, &b, 0, &b, 0));
  const double imaginary[2] = {0, 1}, none[2] = {0, 0};
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_cgemm(no, no, imaginary, &a, &b, none, &c, 0));
  CHECK_TEXT("imaginary part");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_cgemm(no, no, NULL, &a, &b, none, &c, 0));
  CHECK_OK(GpuArray_view(&view, &c));
  view.flags &= ~GA_WRITEABLE;
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_rgemm(no, no, 1, &a, &b, 0, &view, 0));
  GpuArray_clear(&view);
  CHECK_OK(GpuArray_view(&thin, &c));
  thin.strides[0] = 0;
  GpuArray_fix_flags(&thin);
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_rgemm(no, no, 1, &a, &b, 0, &thin, 0));
  CHECK_TEXT("whose elements are distinct");
  thin.strides[0] = 14;
  GpuArray_fix_flags(&thin);
  CHECK_STATUS(GA_UNALIGNED_ERROR, GpuArray_rgemm(no, no, 1, &thin, &b, 0, &c, 0));
  GpuArray_clear(&thin);
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_gemm_bias(no, no, &a, &b, &v, 9, &c, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_gemm_bias(no, no, &a, &b, &v, 0, &c, 0));
  CHECK_TEXT("a bias for each column of C");
  GpuArray *all[] = {&a, &b, &c, &d, &v, &n, &far};
  for (int i = 0; i < 7; i++)
    GpuArray_clear(all[i]);
  gpucontext_deref(ctx);
  gpucontext_deref(other);
}

static void test_failures_of_buffers(void) {
  gpucontext *ctx = open_null(), *other = NULL;
  CHECK_OK(gpucontext_open(&other, "null"));
  gpudata *x = gpudata_alloc(ctx, 64, NULL, 0, NULL), *none = NULL;
  gpudata *far = gpudata_alloc(other, 64, NULL, 0, NULL);
  size_t zero[] = {0}, two[] = {2};
  const cb_transpose no = cb_no_trans;
  CHECK_OK(gpublas_setup(ctx));
  CHECK_STATUS(GA_VALUE_ERROR, gpublas_setup(NULL));
  gpublas_teardown(ctx);
  CHECK_STATUS(GA_INVALID_ERROR, gpublas_sgemm((cb_order)5, no, no, 2, 2, 2, 1, x, 0, 2,
                                               x, 4, 2, 0, x, 8, 2));
  CHECK_STATUS(GA_VALUE_ERROR,
               gpublas_sgemm(cb_row, no, no, 2, 2, 2, 1, x, 0, 1, x, 4, 2, 0, x, 8, 2));
  CHECK_TEXT("leading dimension of A is 1");
  CHECK_STATUS(GA_VALUE_ERROR, gpublas_sgemm(cb_row, no, no, 2, 2, 2, 1, x, 13, 2, x, 4,
                                             2, 0, x, 8, 2));
  CHECK_TEXT("outside its buffer of 64 bytes");
  CHECK(strcmp(gpublas_error(ctx), gpuarray_error_text()) == 0);
  CHECK_STATUS(GA_VALUE_ERROR, gpublas_sgemm(cb_row, no, no, 2, 2, 2, 1, far, 0, 2, x,
                                             4, 2, 0, x, 8, 2));
  CHECK_TEXT("different contexts");
  CHECK_STATUS(GA_VALUE_ERROR, gpublas_sdot(2, none, 0, 1, x, 0, 1, x, 8));
  CHECK_STATUS(GA_VALUE_ERROR, gpublas_sdot(2, x, 0, 1, x, 0, 1, none, 8));
  CHECK_STATUS(GA_INVALID_ERROR, gpublas_sgemvBatch(cb_row, no, 2, 2, 1, &x, zero, 2,
                                                    &x, zero, 1, 1, &x, zero, 1, 1, 3));
  CHECK_TEXT("flags are 3");
  CHECK_STATUS(GA_UNALIGNED_ERROR,
               gpublas_sgemvBatch(cb_row, no, 2, 2, 1, &x, two, 2, &x, zero, 1, 1, &x,
                                  zero, 1, 1, 0));
  CHECK_OK(gpublas_sgemvBatch(cb_row, no, 2, 2, 1, NULL, NULL, 2, NULL, NULL, 1, 1,
                              NULL, NULL, 1, 0, 0));
  CHECK_STATUS(GA_VALUE_ERROR,
               gpublas_sgemmBatch(cb_row, no, no, 2, 2, 2, 1, NULL, zero, 2, &x, zero,
                                  2, 0, &x, zero, 2, 1, 0));
  CHECK_STATUS(GA_VALUE_ERROR,
               gpublas_sgemmBatch(cb_row, no, no, 2, 2, 2, 1, &x, NULL, 2, &x, zero, 2,
                                  0, &x, zero, 2, 1, 0));
  gpudata_release(x);
  gpudata_release(far);
  gpucontext_deref(ctx);
  gpucontext_deref(other);
}

/* ---- allocations ---- */

/* Products that copy, make lists and compile. */
static int scenario(void) {
  gpucontext *ctx = NULL;
  GpuArray a = {0}, v = {0};
  size_t offsets[] = {0, 0};
  const size_t dims[] = {40000, 1};
  GA_TRY(gpucontext_open(&ctx, "null"));
  int status = GpuArray_zeros(&a, ctx, GA_FLOAT, 2, (const size_t[]){4, 4}, GA_C_ORDER);
  if (status == GA_NO_ERROR)
    status = GpuArray_zeros(&v, ctx, GA_FLOAT, 1, dims, GA_C_ORDER);
  if (status == GA_NO_ERROR)
    status = GpuArray_rgemm(cb_no_trans, cb_no_trans, 1, &a, &a, 0, &a, 0);
  gpudata *list[] = {a.data, a.data};
  if (status == GA_NO_ERROR)
    status =
        gpublas_sgemmBatch(cb_row, cb_no_trans, cb_no_trans, 2, 2, 2, 1, list, offsets,
                           2, list, offsets, 2, 1, list, offsets, 2, 2, 0);
  if (status == GA_NO_ERROR)
    status = gpublas_sdot(dims[0], v.data, 0, 1, v.data, 0, 1, a.data, 0);
  GpuArray_clear(&a);
  GpuArray_clear(&v);
  gpucontext_deref(ctx);
  return status;
}

static void test_allocations_fail(void) {
  setenv("GPUARRAY_CACHE_DIR", "", 1);
  int passed = 0;
  long n = 0;
  for (; passed < 20 && n < 2000; n++) {
    ga__alloc_fail_at(n);
    int status = scenario();
    CHECK(status == GA_NO_ERROR || status == GA_MEMORY_ERROR);
    passed = status == GA_NO_ERROR ? passed + 1 : 0;
  }
  ga__alloc_fail_at(-1);
  CHECK(passed == 20 && n > 40);
  CHECK_OK(scenario());
}

int main(void) {
  test_failures();
  test_failures_of_buffers();
  test_allocations_fail();
  gpucontext *ctx = open_device();
  check_batch(ctx, GA_C_ORDER, 1);
  check_batch(ctx, GA_F_ORDER, 0);
  check_strides(ctx);
  check_nothing(ctx);
  for (int way = 0; way < 8; way++)
    check_gemm_of(ctx, way & 1 ? cb_row : cb_column, way & 2 ? cb_trans : cb_no_trans,
                  way & 4 ? cb_trans : cb_no_trans);
  check_lists(ctx, cb_row);
  check_lists(ctx, cb_column);
  check_batches_of_buffers(ctx);
  int has_double = 0;
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_HAS_DOUBLE, &has_double));
  if (has_double)
    check_vectors_of_buffers(ctx);
  gpucontext_deref(ctx);
  return check_result("blas");
}
