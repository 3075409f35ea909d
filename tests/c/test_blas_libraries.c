/* The BLAS of the host and CLBlast, opened at run time: a mock of both, and none. */
#define _POSIX_C_SOURCE 200809L
#include "null_context.h"

#include "c/system/host_blas.h"
#include "opencl/library/clblast.h"

#include <sys/wait.h>
#include <unistd.h>

/* Two (2, 2) matrices in column-major order, as a batch. */
static const double left[8] = {1, 2, 3, 4, -1, 0, 2, 5};
static const double right[8] = {2, 1, 0, 3, 1, 1, 4, -2};

/* Element (i, j) of 2 left right^T - c of matrix q, where c is all ones. */
static double expected(int q, int i, int j) {
  const double *a = left + 4 * q, *b = right + 4 * q;
  return 2 * (a[i] * b[j] + a[i + 2] * b[j + 2]) - 1;
}

static const int types[] = {GA_FLOAT, GA_DOUBLE, GA_CFLOAT, GA_CDOUBLE};

static bool is_complex(int typecode) {
  return typecode == GA_CFLOAT || typecode == GA_CDOUBLE;
}

static void put(void *to, int typecode, const double *values) {
  const int step = is_complex(typecode) ? 2 : 1;
  for (int i = 0; i < 8; i++)
    for (int part = 0; part < step; part++) {
      const double value = part == 0 ? values[i] : 0;
      if (typecode == GA_FLOAT || typecode == GA_CFLOAT)
        ((float *)to)[i * step + part] = (float)value;
      else
        ((double *)to)[i * step + part] = value;
    }
}

static bool is_expected(const void *c, int typecode, int matrices) {
  const int step = is_complex(typecode) ? 2 : 1;
  for (int q = 0; q < matrices; q++)
    for (int j = 0; j < 2; j++)
      for (int i = 0; i < 2; i++) {
        const int at = (4 * q + 2 * j + i) * step;
        const double got = typecode == GA_FLOAT || typecode == GA_CFLOAT
                               ? (double)((const float *)c)[at]
                               : ((const double *)c)[at];
        if (got != expected(q, i, j))
          return false;
      }
  return true;
}

static const double ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};

static void test_host(void) {
  CHECK_OK(ga__host_blas_open());
  for (int t = 0; t < 4; t++) {
    char a[128], b[128], c[128];
    put(a, types[t], left);
    put(b, types[t], right);
    put(c, types[t], ones);
    const ga_host_product p = {.typecode = types[t],
                               .tb = cb_conj_trans,
                               .m = 2,
                               .n = 2,
                               .k = 2,
                               .batch = 2,
                               .alpha = {2, 0},
                               .beta = {-1, 0},
                               .a = a,
                               .b = b,
                               .c = c,
                               .lda = 2,
                               .ldb = 2,
                               .ldc = 2,
                               .a_step = 4,
                               .b_step = 4,
                               .c_step = 4};
    CHECK(ga__host_blas_counts(&p));
    ga__host_blas_product(&p);
    CHECK(is_expected(c, types[t], 2));
  }
  ga_strbuf report = {0};
  ga__host_blas_report(&report);
  CHECK(strstr(report.text, "a BLAS of the host: open") != NULL);
  ga__strbuf_clear(&report);
}

static gpudata *buffer_of(gpucontext *ctx, int typecode, const double *values) {
  char bytes[128];
  put(bytes, typecode, values);
  return gpudata_alloc(ctx, sizeof bytes, bytes, GA_BUFFER_INIT, NULL);
}

/* The null device's memory is the host's, where the mock computes. */
static void test_clblast(void) {
  gpucontext *ctx = open_null();
  ga_opencl_device device = {.is_gpu = true};
  pthread_mutex_init(&device.queue_lock, NULL);
  CHECK_OK(ga__clblast_open(&device));
  for (int t = 0; t < 4; t++)
    for (size_t batch = 1; batch <= 2; batch++) {
      char got[128];
      gpudata *a = buffer_of(ctx, types[t], left), *b = buffer_of(ctx, types[t], right);
      gpudata *c = buffer_of(ctx, types[t], ones);
      ga_blas_call call = {.typecode = types[t],
                           .tb = cb_trans,
                           .m = 2,
                           .n = 2,
                           .k = 2,
                           .batch = batch,
                           .alpha = {2, 0},
                           .beta = {-1, 0},
                           .a = {.buffer = a, .ld = 2, .step = 4},
                           .b = {.buffer = b, .ld = 2, .step = 4},
                           .c = {.buffer = c, .ld = 2, .step = 4}};
      CHECK(ga__clblast_serves(&device, &call));
      CHECK_OK(ga__clblast_product(&device, &call));
      CHECK_OK(gpudata_read(got, c, 0, sizeof got));
      CHECK(is_expected(got, types[t], (int)batch));
      call.a.step = -4;
      CHECK(!ga__clblast_serves(&device, &call));
      gpudata_release(a);
      gpudata_release(b);
      gpudata_release(c);
    }
  pthread_mutex_destroy(&device.queue_lock);
  gpucontext_deref(ctx);
}

/* In a process of its own, since what was tried once is not tried again. */
static void test_none(void) {
  pid_t child = fork();
  if (child == 0) {
    setenv("GPUARRAY_HOST_BLAS", "/nonexistent/libblas.so", 1);
    setenv("GPUARRAY_CLBLAST", "/nonexistent/libclblast.so", 1);
    CHECK_STATUS(GA_LOAD_ERROR, ga__host_blas_open());
    CHECK_TEXT("GPUARRAY_HOST_BLAS");
    CHECK_STATUS(GA_LOAD_ERROR, ga__clblast_open(NULL));
    CHECK_TEXT("GPUARRAY_CLBLAST");
    ga_strbuf report = {0};
    ga__host_blas_report(&report);
    CHECK(strstr(report.text, "/nonexistent/libblas.so: not opened") != NULL);
    _exit(check_failures != 0);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(void) {
  const char *mock = getenv("GPUARRAY_CUDA_DRIVER");
  CHECK(mock != NULL);
  test_none();
  setenv("GPUARRAY_HOST_BLAS", mock ? mock : "", 1);
  setenv("GPUARRAY_CLBLAST", mock ? mock : "", 1);
  test_host();
  test_clblast();
  return check_result("blas libraries");
}
