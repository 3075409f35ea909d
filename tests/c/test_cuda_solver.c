/* Factorizations and Fourier transforms by NVIDIA's libraries, on a mock of them: what
 * they are asked for, what is refused, and what is given back when a call fails. */
#include "mock_context.h"

#include <gpuarray/fft.h>
#include <gpuarray/solver.h>

#include "c/array/array.h"

static gpucontext *ctx;

/* `count` matrices of (m, n) in column-major order; the first element of each is
 * `first`. */
static GpuArray matrices(int typecode, size_t count, size_t m, size_t n, float first) {
  static float values[4096];
  const size_t dims[] = {count, n, m};
  const unsigned int order[] = {0, 2, 1};
  GpuArray a;
  for (size_t i = 0; i < 4096; i++)
    values[i] = i % (m * n) == 0 ? first : 1;
  const size_t bytes = count * m * n * gpuarray_get_elsize(typecode);
  CHECK(bytes <= sizeof values);
  CHECK_OK(GpuArray_empty(&a, ctx, typecode, 3, dims, GA_C_ORDER));
  CHECK_OK(GpuArray_write(&a, values, bytes));
  CHECK_OK(GpuArray_transpose_inplace(&a, order));
  return a;
}

static GpuArray vectors(int typecode, size_t count, size_t n) {
  const size_t dims[] = {count, n};
  GpuArray a;
  CHECK_OK(GpuArray_zeros(&a, ctx, typecode, 2, dims, GA_C_ORDER));
  return a;
}

static void clear_all(GpuArray *const *arrays, int n) {
  for (int i = 0; i < n; i++)
    GpuArray_clear(arrays[i]);
}
#define CLEAR(...)                                                                     \
  clear_all((GpuArray *const[]){__VA_ARGS__},                                          \
            (int)(sizeof((GpuArray *const[]){__VA_ARGS__}) / sizeof(GpuArray *)))

/* ---- factorizations ---- */

static void test_every_routine(void) {
  static const int types[] = {GA_FLOAT, GA_DOUBLE, GA_CFLOAT, GA_CDOUBLE};
  for (int t = 0; t < 4; t++) {
    const int type = types[t];
    const int real = type == GA_CFLOAT    ? GA_FLOAT
                     : type == GA_CDOUBLE ? GA_DOUBLE
                                          : type;
    GpuArray a = matrices(type, 3, 4, 4, 1), tall = matrices(type, 3, 6, 4, 1);
    GpuArray b = matrices(type, 3, 4, 2, 1), u = matrices(type, 3, 6, 6, 1);
    GpuArray pivots = vectors(GA_LONG, 3, 4), tau = vectors(type, 3, 4);
    GpuArray w = vectors(real, 3, 4), v = matrices(type, 3, 4, 4, 1);
    const long before = mock->factorizations;
    CHECK_OK(GpuArray_cholesky(&a, cb_lower, NULL));
    CHECK_OK(GpuArray_lu(&a, &pivots, NULL));
    CHECK_OK(GpuArray_lu_solve(cb_trans, &a, &pivots, &b));
    CHECK_OK(GpuArray_qr(&tall, &tau));
    CHECK_OK(GpuArray_qr_vectors(&tall, &tau));
    CHECK_OK(GpuArray_svd(&tall, &w, NULL, NULL, NULL));
    CHECK_OK(GpuArray_svd(&tall, &w, &u, &v, NULL));
    CHECK(mock->factorizations - before == 7 * 3);
    CHECK_OK(GpuArray_eigh(&a, cb_upper, 1, &w, NULL));
    CHECK(mock->factorizations - before == 7 * 3 + 1); /* one call for all */
    if (type != real)
      CHECK_OK(GpuArray_eig(&a, &tau, &v, NULL));
    CHECK_OK(gpucontext_sync(ctx));
    CLEAR(&a, &tall, &b, &u, &pivots, &tau, &w, &v);
  }
}

static void test_info(void) {
  GpuArray a = matrices(GA_FLOAT, 3, 4, 4, -1), info = vectors(GA_INT, 3, 1);
  int told[3] = {7, 7, 7};
  CHECK_OK(GpuArray_cholesky(&a, cb_upper, &info));
  CHECK_OK(GpuArray_read(told, sizeof told, &info));
  CHECK(told[0] == 1 && told[1] == 1 && told[2] == 1);
  GpuArray none = matrices(GA_FLOAT, 0, 4, 4, 1), nothing = vectors(GA_INT, 0, 1);
  CHECK_OK(GpuArray_cholesky(&none, cb_upper, &nothing));
  CHECK_OK(GpuArray_cholesky(&none, cb_upper, NULL));
  CLEAR(&a, &info, &none, &nothing);
}

static void test_batches(void) {
  static const int types[] = {GA_FLOAT, GA_DOUBLE, GA_CFLOAT, GA_CDOUBLE};
  for (int t = 0; t < 4; t++) {
    GpuArray a = matrices(types[t], 5, 3, 3, 1), info = vectors(GA_INT, 5, 1);
    const long alone = mock->factorizations, together = mock->batches;
    CHECK_OK(GpuArray_cholesky(&a, cb_lower, &info));
    CHECK_OK(gpucontext_sync(ctx));
    CHECK(mock->factorizations == alone && mock->batches == together + 1);
    GpuArray pivots = vectors(GA_LONG, 5, 3), b = matrices(types[t], 5, 3, 2, 1);
    CHECK_OK(GpuArray_lu(&a, &pivots, NULL));
    CHECK_OK(GpuArray_lu_solve(cb_trans, &a, &pivots, &b));
    CHECK_OK(gpucontext_sync(ctx));
    CHECK(mock->factorizations == alone && mock->batches == together + 3);
    CLEAR(&a, &info, &pivots, &b);
  }
}

/* What the kernel would do that reports a failure. */
static void report_first(const mock_launch *launch) {
  if (strncmp(launch->name, "report_info", 11) != 0)
    return;
  const int *info =
      (const int *)((const char *)(uintptr_t)launch->args[0] + launch->args[1]);
  uint32_t *word =
      (uint32_t *)(void *)((char *)(uintptr_t)launch->args[3] + launch->args[4]);
  for (uint64_t i = 0; i < launch->args[2]; i++)
    if (info[i] != 0 && word[0]++ == 0) {
      word[1] = (uint32_t)launch->args[5];
      word[2] = (uint32_t)i;
      word[3] = 0;
      word[4] = word[5] = UINT32_MAX;
    }
}

static void test_failures_are_told_by_the_next_wait(void) {
  GpuArray a = matrices(GA_DOUBLE, 1, 2, 2, 1);
  mock->run = report_first;
  const double minus = -1;
  CHECK_OK(gpudata_write(a.data, a.offset, &minus, sizeof minus));
  CHECK_OK(GpuArray_cholesky(&a, cb_lower, NULL));
  CHECK_STATUS(GA_LINALG_ERROR, gpucontext_sync(ctx));
  CHECK_TEXT("cholesky: a matrix is not positive definite (matrix 0 of the stack)");
  CHECK_OK(gpucontext_sync(ctx));
  mock->run = NULL;
  GpuArray_clear(&a);
}

static void test_refusals(void) {
  GpuArray a = matrices(GA_FLOAT, 2, 4, 4, 1), wide = matrices(GA_FLOAT, 2, 3, 4, 1);
  GpuArray pivots = vectors(GA_LONG, 2, 4), w = vectors(GA_FLOAT, 2, 4);
  GpuArray rows, half = matrices(GA_HALF, 2, 4, 4, 1);
  CHECK_OK(GpuArray_view(&rows, &a));
  CHECK_OK(GpuArray_transpose_inplace(&rows, (unsigned int[]){0, 2, 1}));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_cholesky(NULL, cb_lower, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_lu(&a, NULL, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_lu_solve(cb_no_trans, &a, &pivots, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_qr(&a, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_qr_vectors(&a, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_svd(&a, NULL, NULL, NULL, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_eigh(&a, cb_lower, 0, NULL, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_cholesky(&rows, cb_lower, NULL));
  CHECK_TEXT("column-major");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_cholesky(&wide, cb_lower, NULL));
  CHECK_TEXT("square");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_svd(&wide, &w, NULL, NULL, NULL));
  CHECK_TEXT("as many rows as columns");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_svd(&a, &w, &a, NULL, NULL));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_cholesky(&half, cb_lower, NULL));
  CHECK_TEXT("float16");
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_cholesky(&a, (cb_uplo)7, NULL));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_lu(&a, &w, NULL));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_eig(&a, &w, NULL, NULL));
  CHECK_TEXT("complex");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_eigh(&wide, cb_lower, 0, &w, NULL));
  CLEAR(&a, &wide, &pivots, &w, &rows, &half);
}

/* ---- transforms ---- */

static GpuArray signal(int typecode, size_t count, size_t n) {
  return vectors(typecode, count, n);
}

static void test_transforms(void) {
  GpuArray z = signal(GA_CFLOAT, 3, 8), y = signal(GA_CFLOAT, 3, 8);
  GpuArray x = signal(GA_FLOAT, 3, 8), half = signal(GA_CFLOAT, 3, 5);
  const long plans = mock->plans, before = mock->transforms;
  CHECK_OK(GpuArray_fft(&y, &z, 1, 0));
  CHECK(mock->direction == -1);
  CHECK_OK(GpuArray_fft(&y, &z, 1, 1));
  CHECK(mock->direction == 1 && mock->plans == plans + 1);
  CHECK_OK(GpuArray_fft(&z, &z, 2, 0));
  CHECK_OK(GpuArray_fft(&half, &x, 1, 0));
  CHECK_OK(GpuArray_fft(&x, &half, 1, 1));
  CHECK(mock->plans == plans + 4 && mock->transforms == before + 5);
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_fft(NULL, &z, 1, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_fft(&z, NULL, 1, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_fft(&y, &z, 3, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_fft(&half, &z, 1, 0));
  CHECK_TEXT("n / 2 + 1");
  GpuArray wide = signal(GA_CDOUBLE, 3, 8), whole = signal(GA_INT, 3, 8);
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_fft(&wide, &z, 1, 0));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_fft(&z, &whole, 1, 0));
  CLEAR(&z, &y, &x, &half, &wide, &whole);
}

/* More shapes than plans are kept; all are given back in the end. */
static void test_plans_make_room(void) {
  const long plans = mock->plans, handles = mock->handles;
  for (size_t n = 16; n < 66; n++) {
    GpuArray z = signal(GA_CFLOAT, 1, n);
    CHECK_OK(GpuArray_fft(&z, &z, 1, 0));
    CHECK_OK(GpuArray_fft(&z, &z, 1, 0));
    GpuArray_clear(&z);
  }
  CHECK(mock->plans == plans + 50);
  CHECK(mock->handles <= handles + 32);
}

/* ---- failures ---- */

static int use_both(void) {
  GpuArray a = matrices(GA_CFLOAT, 2, 4, 4, 1), w = vectors(GA_CFLOAT, 2, 4);
  GpuArray real = vectors(GA_FLOAT, 2, 4), z = signal(GA_CFLOAT, 1, 8);
  int status = GpuArray_cholesky(&a, cb_lower, NULL);
  if (status == GA_NO_ERROR)
    status = GpuArray_qr(&a, &w);
  if (status == GA_NO_ERROR)
    status = GpuArray_svd(&a, &real, NULL, NULL, NULL);
  if (status == GA_NO_ERROR)
    status = GpuArray_eig(&a, &w, NULL, NULL);
  if (status == GA_NO_ERROR)
    status = GpuArray_fft(&z, &z, 1, 0);
  CLEAR(&a, &w, &real, &z);
  return status;
}

/* Each allocation of the library fails in turn. */
static void test_no_memory(void) {
  GpuArray a = matrices(GA_CFLOAT, 2, 4, 4, 1), w = vectors(GA_CFLOAT, 2, 4);
  GpuArray z = signal(GA_CFLOAT, 1, 8);
  for (int i = 0; i < 3; i++) {
    int status = GA_MEMORY_ERROR;
    for (long n = 0; n < 100 && status != GA_NO_ERROR; n++) {
      ga__alloc_fail_at(n);
      status = i == 0   ? GpuArray_cholesky(&a, cb_lower, NULL)
               : i == 1 ? GpuArray_eig(&a, &w, NULL, NULL)
                        : GpuArray_fft(&z, &z, 1, 0);
      CHECK(status == GA_NO_ERROR || status == GA_MEMORY_ERROR);
    }
    ga__alloc_fail_at(-1);
    CHECK(status == GA_NO_ERROR);
  }
  CLEAR(&a, &w, &z);
}

/* Each call of the vendor's fails in turn, in a context of its own: nothing is lost,
 * and the context works on. */
static void test_failing_calls(void) {
  int retried = 0;
  for (long n = 0; n < 200; n++) {
    gpucontext *kept = ctx;
    ctx = open_cuda("cuda1");
    GpuArray a = matrices(GA_CFLOAT, 2, 4, 4, 1), w = vectors(GA_CFLOAT, 2, 4);
    GpuArray z = signal(GA_CFLOAT, 1, 8);
    mock->fail_with = 7;
    mock->fail_at = n;
    int status = GpuArray_cholesky(&a, cb_lower, NULL);
    if (status == GA_NO_ERROR)
      status = GpuArray_eig(&a, &w, NULL, NULL);
    if (status == GA_NO_ERROR)
      status = GpuArray_fft(&z, &z, 1, 0);
    const bool was_reached = mock->fail_at < 0;
    mock->fail_at = -1;
    CHECK(was_reached || status == GA_NO_ERROR);
    retried += was_reached && status == GA_NO_ERROR;
    CHECK_OK(use_both());
    CLEAR(&a, &w, &z);
    gpucontext_deref(ctx);
    ctx = kept;
    if (!was_reached) {
      CHECK(retried <= 3);
      return;
    }
  }
  CHECK(!"all calls were reached");
}

int main(void) {
  open_mock();
  ctx = open_cuda("cuda0");
  CHECK(gpuarray_solves(ctx) == 1 && gpuarray_transforms(ctx) == 1);
  test_every_routine();
  test_info();
  test_batches();
  test_failures_are_told_by_the_next_wait();
  test_refusals();
  test_transforms();
  test_plans_make_room();
  test_no_memory();
  test_failing_calls();
  gpucontext_deref(ctx);
  check_given_back();
  return check_failures != 0;
}
