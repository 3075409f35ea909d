/* Matrix products by cuBLAS.
 *
 * The default math mode is exact in the sense that float32 stays float32: tensor cores
 * in TF32 are used only when asked for. Without atomics, which are off by default, the
 * same product on the same device gives the same bits. */
#include "cuda/blas.h"

#include <limits.h>

enum { POINTER_MODE_HOST = 0, DEFAULT_MATH = 0 };

static int blas_fail(cublasStatus result, const char *call) {
  const char *name = NULL, *text = NULL;
  int status = result == CUBLAS_STATUS_ALLOC_FAILED ? GA_MEMORY_ERROR : GA_IMPL_ERROR;
  if (ga__cuda.cublasGetStatusName && ga__cuda.cublasGetStatusString) {
    name = ga__cuda.cublasGetStatusName(result);
    text = ga__cuda.cublasGetStatusString(result);
  }
  if (name == NULL || text == NULL)
    return GA_FAIL(status, "%s: error %d of cuBLAS", call, result);
  return GA_FAIL(status, "%s: %s: %s", call, name, text);
}

/* ---- the handle ---- */

static int make_handle(cublasHandle *out, const ga_cuda_device *d) {
  cublasHandle handle = NULL;
  cublasStatus result = ga__cuda.cublasCreate(&handle);
  if (result != 0)
    return blas_fail(result, "cublasCreate");
  result = ga__cuda.cublasSetStream(handle, d->stream);
  if (result == 0)
    result = ga__cuda.cublasSetPointerMode(handle, POINTER_MODE_HOST);
  if (result == 0)
    result = ga__cuda.cublasSetMathMode(handle, DEFAULT_MATH);
  if (result != 0) {
    ga__cuda.cublasDestroy(handle);
    return blas_fail(result, "cublasSetStream");
  }
  *out = handle;
  return GA_NO_ERROR;
}

int ga__cuda_blas_open(void *device) {
  ga_cuda_device *d = device;
  CUcontext previous;
  GA_TRY(ga__cuda_need_cublas());
  GA_TRY(ga__cuda_enter(&previous, d));
  pthread_mutex_lock(&d->blas_lock);
  int status = d->blas ? GA_NO_ERROR : make_handle(&d->blas, d);
  pthread_mutex_unlock(&d->blas_lock);
  ga__cuda_leave(d, previous);
  /* A cuBLAS that does not start on this device counts as missing. */
  if (status == GA_IMPL_ERROR)
    return GA_FAIL(GA_LOAD_ERROR, "%s", gpuarray_error_text());
  return status;
}

void ga__cuda_blas_close(ga_cuda_device *d) {
  if (d->blas)
    ga__cuda.cublasDestroy(d->blas);
  d->blas = NULL;
}

/* For one call. A thread that records a graph holds the handle already. */
static void hold(ga_cuda_device *d) {
  if (ga__cuda_stream(d) == d->stream)
    pthread_mutex_lock(&d->blas_lock);
}

static void let_go(ga_cuda_device *d) {
  if (ga__cuda_stream(d) == d->stream)
    pthread_mutex_unlock(&d->blas_lock);
}

void ga__cuda_blas_hold(ga_cuda_device *d) {
  pthread_mutex_lock(&d->blas_lock);
}

int ga__cuda_blas_move(ga_cuda_device *d, CUstream stream) {
  cublasStatus result = d->blas ? ga__cuda.cublasSetStream(d->blas, stream) : 0;
  return result == 0 ? GA_NO_ERROR : blas_fail(result, "cublasSetStream");
}

void ga__cuda_blas_let_go(ga_cuda_device *d) {
  ga__cuda_blas_move(d, d->stream);
  pthread_mutex_unlock(&d->blas_lock);
}

/* ---- what is called ---- */

static void *matrix_at(ga_matrix a) {
  return (char *)ga__buffer_memory(a.buffer) + a.offset;
}

/* cuBLAS counts a vector with a negative step from its last element, which has the
 * lowest address. */
static void *vector_at(ga_vector x, size_t n, size_t itemsize) {
  ssize_t first = x.inc < 0 ? (ssize_t)(n - 1) * x.inc * (ssize_t)itemsize : 0;
  return (char *)ga__buffer_memory(x.buffer) + (ssize_t)x.offset + first;
}

static bool fits_int(size_t a) {
  return a <= INT_MAX;
}

/* A leading dimension is at least 1, also of a matrix without elements. */
static size_t leading(ga_matrix a) {
  return a.ld ? a.ld : 1;
}

static int too_large(const char *call, size_t m, size_t n, size_t k) {
  return GA_FAIL(GA_XLARGE_ERROR,
                 "%s: sizes %zu, %zu, %zu are over 2^31 and this cuBLAS is of before "
                 "CUDA 12, which counts in 32 bits",
                 call, m, n, k);
}

typedef struct gemm {
  int ta, tb;
  size_t m, n, k, lda, ldb, ldc;
  double alpha, beta;
  void *a, *b, *c;
} gemm;

#define DEFINE_GEMM(name, type, narrow, wide)                                          \
  static cublasStatus name(cublasHandle handle, const gemm *g, bool is_wide) {         \
    const type alpha = (type)g->alpha, beta = (type)g->beta;                           \
    if (is_wide)                                                                       \
      return ga__cuda.wide(handle, g->ta, g->tb, (int64_t)g->m, (int64_t)g->n,         \
                           (int64_t)g->k, &alpha, g->a, (int64_t)g->lda, g->b,         \
                           (int64_t)g->ldb, &beta, g->c, (int64_t)g->ldc);             \
    return ga__cuda.narrow(handle, g->ta, g->tb, (int)g->m, (int)g->n, (int)g->k,      \
                           &alpha, g->a, (int)g->lda, g->b, (int)g->ldb, &beta, g->c,  \
                           (int)g->ldc);                                               \
  }
DEFINE_GEMM(sgemm, float, cublasSgemm, cublasSgemm_v2_64)
DEFINE_GEMM(dgemm, double, cublasDgemm, cublasDgemm_v2_64)

static int cuda_gemm(void *device, int typecode, cb_transpose ta, cb_transpose tb,
                     size_t m, size_t n, size_t k, double alpha, ga_matrix a,
                     ga_matrix b, double beta, ga_matrix c) {
  ga_cuda_device *d = device;
  gemm g = {(int)ta,      (int)tb,      m,           n,     k,
            leading(a),   leading(b),   leading(c),  alpha, beta,
            matrix_at(a), matrix_at(b), matrix_at(c)};
  bool is_wide = !fits_int(m) || !fits_int(n) || !fits_int(k) || !fits_int(g.lda) ||
                 !fits_int(g.ldb) || !fits_int(g.ldc);
  CUcontext previous;
  if (m == 0 || n == 0)
    return GA_NO_ERROR;
  if (is_wide && !(ga__cuda.cublasSgemm_v2_64 && ga__cuda.cublasDgemm_v2_64))
    return too_large("gemm", m, n, k);
  GA_TRY(ga__cuda_enter(&previous, d));
  hold(d);
  cublasStatus result =
      typecode == GA_FLOAT ? sgemm(d->blas, &g, is_wide) : dgemm(d->blas, &g, is_wide);
  let_go(d);
  ga__cuda_leave(d, previous);
  return result == 0 ? GA_NO_ERROR : blas_fail(result, "cublas gemm");
}

typedef struct gemv {
  int ta;
  size_t m, n, lda;
  double alpha, beta;
  ssize_t incx, incy;
  void *a, *x, *y;
} gemv;

#define DEFINE_GEMV(name, type, narrow, wide)                                          \
  static cublasStatus name(cublasHandle handle, const gemv *g, bool is_wide) {         \
    const type alpha = (type)g->alpha, beta = (type)g->beta;                           \
    if (is_wide)                                                                       \
      return ga__cuda.wide(handle, g->ta, (int64_t)g->m, (int64_t)g->n, &alpha, g->a,  \
                           (int64_t)g->lda, g->x, g->incx, &beta, g->y, g->incy);      \
    return ga__cuda.narrow(handle, g->ta, (int)g->m, (int)g->n, &alpha, g->a,          \
                           (int)g->lda, g->x, (int)g->incx, &beta, g->y,               \
                           (int)g->incy);                                              \
  }
DEFINE_GEMV(sgemv, float, cublasSgemv, cublasSgemv_v2_64)
DEFINE_GEMV(dgemv, double, cublasDgemv, cublasDgemv_v2_64)

static bool step_fits_int(ssize_t inc) {
  return inc >= -INT_MAX && inc <= INT_MAX;
}

/* Without terms to add, y = beta * y is a product of inner length 0: cuBLAS's gemv
 * would leave y alone. */
static int scale_only(void *device, int typecode, size_t n, double beta, ga_vector y) {
  size_t itemsize = gpuarray_get_elsize(typecode);
  if (y.inc < 0) {
    y.offset += (size_t)((ssize_t)(n - 1) * y.inc * (ssize_t)itemsize);
    y.inc = -y.inc;
  }
  ga_matrix row = {y.buffer, y.offset, (size_t)y.inc};
  return cuda_gemm(device, typecode, cb_no_trans, cb_no_trans, 1, n, 0, 1.0, row, row,
                   beta, row);
}

static int cuda_gemv(void *device, int typecode, cb_transpose ta, size_t m, size_t n,
                     double alpha, ga_matrix a, ga_vector x, double beta, ga_vector y) {
  ga_cuda_device *d = device;
  size_t terms = ta == cb_no_trans ? n : m, results = ta == cb_no_trans ? m : n;
  CUcontext previous;
  if (results == 0)
    return GA_NO_ERROR;
  if (terms == 0)
    return scale_only(device, typecode, results, beta, y);
  size_t itemsize = gpuarray_get_elsize(typecode);
  gemv g = {(int)ta,
            m,
            n,
            leading(a),
            alpha,
            beta,
            x.inc,
            y.inc,
            matrix_at(a),
            vector_at(x, terms, itemsize),
            vector_at(y, results, itemsize)};
  bool is_wide = !fits_int(m) || !fits_int(n) || !fits_int(g.lda) ||
                 !step_fits_int(x.inc) || !step_fits_int(y.inc);
  if (is_wide && !(ga__cuda.cublasSgemv_v2_64 && ga__cuda.cublasDgemv_v2_64))
    return too_large("gemv", m, n, 1);
  GA_TRY(ga__cuda_enter(&previous, d));
  hold(d);
  cublasStatus result =
      typecode == GA_FLOAT ? sgemv(d->blas, &g, is_wide) : dgemv(d->blas, &g, is_wide);
  let_go(d);
  ga__cuda_leave(d, previous);
  return result == 0 ? GA_NO_ERROR : blas_fail(result, "cublas gemv");
}

const ga_blas ga__cuda_blas = {.gemm = cuda_gemm, .gemv = cuda_gemv};
