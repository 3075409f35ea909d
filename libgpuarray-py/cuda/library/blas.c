/* Matrix products by cuBLAS.
 *
 * float32 products use tensor cores (TF32) only where a call allows it. half and
 * bfloat16 accumulate in float32. Bitwise reproducible on a device: atomics are off by
 * default. */
#include "cuda/library/blas.h"

#include <limits.h>

#include "cuda/library/blaslt.h"

enum { POINTER_MODE_HOST = 0, DEFAULT_MATH = 0, DEFAULT_ALGORITHM = -1 };

/* ---- handle ---- */

static int make_handle(cublasHandle *out, const ga_cuda_device *d) {
  cublasHandle handle = NULL;
  if (ga__cuda_stream(d) != d->stream)
    return GA_FAIL(GA_UNSUPPORTED_ERROR,
                   "cublasCreate: no handle is made while a graph is recorded");
  cublasStatus result = ga__cuda.cublasCreate(&handle);
  if (result != 0)
    return ga__cuda_blas_fail(result, "cublasCreate");
  result = ga__cuda.cublasSetStream(handle, d->stream);
  if (result == 0)
    result = ga__cuda.cublasSetPointerMode(handle, POINTER_MODE_HOST);
  if (result == 0)
    result = ga__cuda.cublasSetMathMode(handle, DEFAULT_MATH);
  if (result != 0) {
    ga__cuda.cublasDestroy(handle);
    return ga__cuda_blas_fail(result, "cublasSetStream");
  }
  *out = handle;
  return GA_NO_ERROR;
}

int ga__cuda_blas_open(void *device, bool with_epilogues) {
  ga_cuda_device *d = device;
  CUcontext previous;
  GA_TRY(ga__cuda_need_cublas());
  GA_TRY(ga__cuda_enter(&previous, d));
  pthread_mutex_lock(&d->blas_lock);
  int status = d->blas ? GA_NO_ERROR : make_handle(&d->blas, d);
  if (status == GA_NO_ERROR && with_epilogues)
    status = ga__cuda_lt_open(d);
  pthread_mutex_unlock(&d->blas_lock);
  ga__cuda_leave(d, previous);
  /* A cuBLAS that fails to initialize on the device counts as missing. */
  if (status == GA_IMPL_ERROR)
    return GA_FAIL(GA_LOAD_ERROR, "%s", gpuarray_error_text());
  return status;
}

void ga__cuda_blas_close(ga_cuda_device *d) {
  ga__cuda_lt_close(d);
  if (d->blas)
    ga__cuda.cublasDestroy(d->blas);
  d->blas = NULL;
}

void ga__cuda_blas_hold(ga_cuda_device *d) {
  pthread_mutex_lock(&d->blas_lock);
}

int ga__cuda_blas_move(ga_cuda_device *d, CUstream stream) {
  cublasStatus result = d->blas ? ga__cuda.cublasSetStream(d->blas, stream) : 0;
  return result == 0 ? GA_NO_ERROR : ga__cuda_blas_fail(result, "cublasSetStream");
}

size_t ga__cuda_blas_workspace_size(const ga_cuda_device *d) {
  const int mib = d->capability >= 120 ? 12 : d->capability >= 90 ? 32 : 4;
  return (size_t)mib << 20;
}

int ga__cuda_blas_workspace(ga_cuda_device *d, CUdeviceptr workspace, size_t size) {
  cublasStatus result =
      d->blas ? ga__cuda.cublasSetWorkspace(d->blas, (void *)(uintptr_t)workspace, size)
              : 0;
  return result == 0 ? GA_NO_ERROR : ga__cuda_blas_fail(result, "cublasSetWorkspace");
}

void ga__cuda_blas_let_go(ga_cuda_device *d) {
  ga__cuda_blas_move(d, d->stream);
  pthread_mutex_unlock(&d->blas_lock);
}

/* ---- factors ---- */

/* Factors in the accumulator's type: real and imaginary part, or the real one. */
typedef union scale {
  float narrow[2];
  double wide[2];
} scale;

static scale make_scale(const ga_cuda_precision *p, const double factor[2]) {
  scale s;
  if (p->compute == GA_COMPUTE_64F)
    s.wide[0] = factor[0], s.wide[1] = factor[1];
  else
    s.narrow[0] = (float)factor[0], s.narrow[1] = (float)factor[1];
  return s;
}

/* cuBLAS wants the lowest address of a vector also where its stride is negative. */
static void *vector_at(const ga_blas_operand *x, size_t n, size_t itemsize) {
  ssize_t first = x->ld < 0 ? (ssize_t)(n - 1) * x->ld * (ssize_t)itemsize : 0;
  return (char *)ga__cuda_blas_at(x) + first;
}

static bool fits_int(size_t a) {
  return a <= INT_MAX;
}

static bool step_fits_int(ssize_t a) {
  return a >= -INT_MAX && a <= INT_MAX;
}

/* True if the 32-bit functions suffice. */
static bool is_narrow(const ga_blas_call *c) {
  return fits_int(c->m) && fits_int(c->n) && fits_int(c->k) && fits_int(c->batch) &&
         step_fits_int(c->a.ld) && step_fits_int(c->b.ld) && step_fits_int(c->c.ld);
}

/* ---- calls ---- */

static cublasStatus gemm(cublasHandle handle, const ga_blas_call *g) {
  const ga_cuda_precision p = ga__cuda_precision_of(g);
  const scale alpha = make_scale(&p, g->alpha), beta = make_scale(&p, g->beta);
  const void *a = ga__cuda_blas_at(&g->a), *b = ga__cuda_blas_at(&g->b);
  void *c = ga__cuda_blas_at(&g->c);
  if (!is_narrow(g))
    return ga__cuda.cublasGemmStridedBatchedEx_64(
        handle, (int)g->ta, (int)g->tb, (int64_t)g->m, (int64_t)g->n, (int64_t)g->k,
        &alpha, a, p.type, g->a.ld, g->a.step, b, p.type, g->b.ld, g->b.step, &beta, c,
        p.type, g->c.ld, g->c.step, (int64_t)g->batch, p.compute, DEFAULT_ALGORITHM);
  if (g->batch == 1)
    return ga__cuda.cublasGemmEx(handle, (int)g->ta, (int)g->tb, (int)g->m, (int)g->n,
                                 (int)g->k, &alpha, a, p.type, (int)g->a.ld, b, p.type,
                                 (int)g->b.ld, &beta, c, p.type, (int)g->c.ld,
                                 p.compute, DEFAULT_ALGORITHM);
  return ga__cuda.cublasGemmStridedBatchedEx(
      handle, (int)g->ta, (int)g->tb, (int)g->m, (int)g->n, (int)g->k, &alpha, a,
      p.type, (int)g->a.ld, g->a.step, b, p.type, (int)g->b.ld, g->b.step, &beta, c,
      p.type, (int)g->c.ld, g->c.step, (int)g->batch, p.compute, DEFAULT_ALGORITHM);
}

static cublasStatus gemv(cublasHandle handle, const ga_blas_call *g) {
  const ga_cuda_precision p = ga__cuda_precision_of(g);
  const scale alpha = make_scale(&p, g->alpha), beta = make_scale(&p, g->beta);
  const size_t terms = g->ta == cb_no_trans ? g->n : g->m;
  const size_t results = g->ta == cb_no_trans ? g->m : g->n;
  const size_t itemsize = gpuarray_get_elsize(g->typecode);
  cublasStatus (*const function)(
      cublasHandle, int, int, int, const void *, const void *, int, const void *, int,
      const void *, void *, int) = g->typecode == GA_FLOAT    ? ga__cuda.cublasSgemv
                                   : g->typecode == GA_DOUBLE ? ga__cuda.cublasDgemv
                                   : g->typecode == GA_CFLOAT ? ga__cuda.cublasCgemv
                                                              : ga__cuda.cublasZgemv;
  return function(handle, (int)g->ta, (int)g->m, (int)g->n, &alpha,
                  ga__cuda_blas_at(&g->a), (int)g->a.ld,
                  vector_at(&g->b, terms, itemsize), (int)g->b.ld, &beta,
                  vector_at(&g->c, results, itemsize), (int)g->c.ld);
}

static int cuda_product(void *device, const ga_blas_call *call) {
  ga_cuda_device *d = device;
  CUcontext previous;
  int status = GA_NO_ERROR;
  GA_TRY(ga__cuda_enter(&previous, d));
  ga__cuda_lock_handles(d);
  if (d->blas == NULL) /* first product of a further queue */
    status = make_handle(&d->blas, d);
  if (status == GA_NO_ERROR && call->epilogue != GA_BLAS_PLAIN) {
    status = ga__cuda_lt_product(d, call);
  } else if (status == GA_NO_ERROR) {
    const cublasStatus result =
        call->routine == GA_BLAS_GEMM ? gemm(d->blas, call) : gemv(d->blas, call);
    if (result != 0)
      status = ga__cuda_blas_fail(
          result, call->routine == GA_BLAS_GEMM ? "cublas gemm" : "cublas gemv");
  }
  ga__cuda_unlock_handles(d);
  ga__cuda_leave(d, previous);
  return status;
}

static bool cuda_serves(void *device, const ga_blas_call *call) {
  const ga_cuda_device *d = device;
  const bool is_short = call->typecode == GA_HALF || call->typecode == GA_BFLOAT16;
  if (call->routine == GA_BLAS_GEMV)
    return !is_short && is_narrow(call);
  if (call->epilogue != GA_BLAS_PLAIN && !ga__cuda_lt_serves(device, call))
    return false;
  if (call->typecode == GA_BFLOAT16 && d->capability < 80)
    return false;
  return call->a.step >= 0 && call->b.step >= 0 && call->c.step >= 0 &&
         (is_narrow(call) || ga__cuda.cublasGemmStridedBatchedEx_64 != NULL);
}

/* GEMV is bound by memory, and our kernels are faster on an H100: 2900 GB/s against
 * 2400 for 8192 x 8192 floats, 5 us against 9 for 400 x 784. cuBLAS is preferred where
 * there are too few results to fill the device. */
static bool cuda_prefers(void *device, const ga_blas_call *call) {
  (void)device;
  if (call->routine == GA_BLAS_GEMM)
    return true;
  const bool by_rows = call->ta != cb_no_trans;
  const size_t results = by_rows ? call->n : call->m;
  return results < (by_rows ? 256 : 4096) && call->m * call->n >= 1 << 20;
}

const ga_blas ga__cuda_blas = {
    .serves = cuda_serves, .prefers = cuda_prefers, .call = cuda_product};
