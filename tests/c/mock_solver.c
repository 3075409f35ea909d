/* The mock's cuSOLVER and cuFFT: what they are asked for, in order, without the
 * numbers.
 *
 * A factorization fails whose first element is negative; what needs no more than that
 * it was queued, where and how often, is seen in the counts. A transform copies. */
#include "mock_queue.h"

#include <stdlib.h>
#include <string.h>

enum { DEVICE_BYTES = 64, HOST_BYTES = 16, INVALID_ARGUMENT = 3 };

struct ga_cusolver_handle_ {
  CUstream stream;
};
struct ga_cusolver_params_ {
  int unused;
};

/* ---- queued work ---- */

static void run_factorization(command *c, CUstream stream) {
  (void)stream;
  const double first = c->size == sizeof(double) ? *(const double *)c->from
                                                 : (double)*(const float *)c->from;
  *(int *)c->to = first < 0;
}

static int factorize(cusolverHandle handle, const void *a, int type, const void *work,
                     int *info) {
  mock_state.factorizations++;
  if (a == NULL || work == NULL || info == NULL)
    return INVALID_ARGUMENT;
  const size_t size = type == 1 || type == 5 ? sizeof(double) : sizeof(float);
  const command c = {.run = run_factorization, .to = info, .from = a, .size = size};
  return mock_push(handle->stream, &c);
}

static int measure(size_t *device_size, size_t *host_size, size_t on_host) {
  *device_size = DEVICE_BYTES;
  *host_size = on_host;
  return mock_end(mock_begin_anywhere());
}

/* ---- handles ---- */

cusolverStatus cusolverDnCreate(cusolverHandle *handle) {
  return mock_make(mock_begin_anywhere(), handle, sizeof **handle);
}

cusolverStatus cusolverDnDestroy(cusolverHandle handle) {
  return mock_discard(handle);
}

cusolverStatus cusolverDnSetStream(cusolverHandle handle, CUstream stream) {
  cusolverStatus result = mock_begin_anywhere();
  if (result == 0)
    handle->stream = stream;
  return mock_end(result);
}

cusolverStatus cusolverDnCreateParams(cusolverParams *params) {
  return mock_make(mock_begin_anywhere(), params, sizeof **params);
}

cusolverStatus cusolverDnDestroyParams(cusolverParams params) {
  return mock_discard(params);
}

cusolverStatus cusolverDnXpotrf_bufferSize(cusolverHandle handle, cusolverParams params,
                                           int uplo, int64_t n, int type, const void *a,
                                           int64_t lda, int compute,
                                           size_t *device_size, size_t *host_size) {
  (void)handle, (void)params, (void)uplo, (void)n, (void)type, (void)a, (void)lda,
      (void)compute;
  return measure(device_size, host_size, 0);
}

cusolverStatus cusolverDnXpotrf(cusolverHandle handle, cusolverParams params, int uplo,
                                int64_t n, int type, void *a, int64_t lda, int compute,
                                void *work, size_t work_size, void *host_work,
                                size_t host_size, int *info) {
  (void)params, (void)uplo, (void)n, (void)lda, (void)compute, (void)work_size,
      (void)host_work, (void)host_size;
  return factorize(handle, a, type, work, info);
}

cusolverStatus cusolverDnXgetrf_bufferSize(cusolverHandle handle, cusolverParams params,
                                           int64_t m, int64_t n, int type,
                                           const void *a, int64_t lda, int compute,
                                           size_t *device_size, size_t *host_size) {
  (void)handle, (void)params, (void)m, (void)n, (void)type, (void)a, (void)lda,
      (void)compute;
  return measure(device_size, host_size, 0);
}

cusolverStatus cusolverDnXgetrf(cusolverHandle handle, cusolverParams params, int64_t m,
                                int64_t n, int type, void *a, int64_t lda,
                                int64_t *pivots, int compute, void *work,
                                size_t work_size, void *host_work, size_t host_size,
                                int *info) {
  (void)params, (void)m, (void)n, (void)lda, (void)pivots, (void)compute,
      (void)work_size, (void)host_work, (void)host_size;
  return factorize(handle, a, type, work, info);
}

cusolverStatus cusolverDnXgetrs(cusolverHandle handle, cusolverParams params, int trans,
                                int64_t n, int64_t k, int type, const void *a,
                                int64_t lda, const int64_t *pivots, int b_type, void *b,
                                int64_t ldb, int *info) {
  (void)params, (void)trans, (void)n, (void)k, (void)lda, (void)pivots, (void)b_type,
      (void)b, (void)ldb;
  return factorize(handle, a, type, a, info);
}

cusolverStatus cusolverDnXgeqrf_bufferSize(cusolverHandle handle, cusolverParams params,
                                           int64_t m, int64_t n, int type,
                                           const void *a, int64_t lda, int tau_type,
                                           const void *tau, int compute,
                                           size_t *device_size, size_t *host_size) {
  (void)handle, (void)params, (void)m, (void)n, (void)type, (void)a, (void)lda,
      (void)tau_type, (void)tau, (void)compute;
  return measure(device_size, host_size, 0);
}

cusolverStatus cusolverDnXgeqrf(cusolverHandle handle, cusolverParams params, int64_t m,
                                int64_t n, int type, void *a, int64_t lda, int tau_type,
                                void *tau, int compute, void *work, size_t work_size,
                                void *host_work, size_t host_size, int *info) {
  (void)params, (void)m, (void)n, (void)lda, (void)tau_type, (void)tau, (void)compute,
      (void)work_size, (void)host_work, (void)host_size;
  return factorize(handle, a, type, work, info);
}

#define QR_FACTOR(name, is_double)                                                     \
  cusolverStatus name##_bufferSize(cusolverHandle handle, int m, int n, int k,         \
                                   const void *a, int lda, const void *tau,            \
                                   int *size) {                                        \
    (void)handle, (void)m, (void)n, (void)k, (void)a, (void)lda, (void)tau;            \
    *size = DEVICE_BYTES;                                                              \
    return mock_end(mock_begin_anywhere());                                            \
  }                                                                                    \
  cusolverStatus name(cusolverHandle handle, int m, int n, int k, void *a, int lda,    \
                      const void *tau, void *work, int size, int *info) {              \
    (void)m, (void)n, (void)k, (void)lda, (void)tau, (void)size;                       \
    return factorize(handle, a, is_double, work, info);                                \
  }
QR_FACTOR(cusolverDnSorgqr, 0)
QR_FACTOR(cusolverDnDorgqr, 1)
QR_FACTOR(cusolverDnCungqr, 0)
QR_FACTOR(cusolverDnZungqr, 1)

cusolverStatus cusolverDnXgesvd_bufferSize(
    cusolverHandle handle, cusolverParams params, signed char job_u, signed char job_v,
    int64_t m, int64_t n, int type, const void *a, int64_t lda, int s_type,
    const void *s, int u_type, const void *u, int64_t ldu, int v_type, const void *v,
    int64_t ldv, int compute, size_t *device_size, size_t *host_size) {
  (void)handle, (void)params, (void)job_u, (void)job_v, (void)m, (void)n, (void)type,
      (void)a, (void)lda, (void)s_type, (void)s, (void)u_type, (void)u, (void)ldu,
      (void)v_type, (void)v, (void)ldv, (void)compute;
  return measure(device_size, host_size, 0);
}

cusolverStatus cusolverDnXgesvd(cusolverHandle handle, cusolverParams params,
                                signed char job_u, signed char job_v, int64_t m,
                                int64_t n, int type, void *a, int64_t lda, int s_type,
                                void *s, int u_type, void *u, int64_t ldu, int v_type,
                                void *v, int64_t ldv, int compute, void *work,
                                size_t work_size, void *host_work, size_t host_size,
                                int *info) {
  (void)params, (void)job_u, (void)job_v, (void)m, (void)n, (void)lda, (void)s_type,
      (void)s, (void)u_type, (void)u, (void)ldu, (void)v_type, (void)v, (void)ldv,
      (void)compute, (void)work_size, (void)host_work, (void)host_size;
  return factorize(handle, a, type, work, info);
}

cusolverStatus cusolverDnXsyevd_bufferSize(cusolverHandle handle, cusolverParams params,
                                           int job, int uplo, int64_t n, int type,
                                           const void *a, int64_t lda, int w_type,
                                           const void *w, int compute,
                                           size_t *device_size, size_t *host_size) {
  (void)handle, (void)params, (void)job, (void)uplo, (void)n, (void)type, (void)a,
      (void)lda, (void)w_type, (void)w, (void)compute;
  return measure(device_size, host_size, 0);
}

cusolverStatus cusolverDnXsyevd(cusolverHandle handle, cusolverParams params, int job,
                                int uplo, int64_t n, int type, void *a, int64_t lda,
                                int w_type, void *w, int compute, void *work,
                                size_t work_size, void *host_work, size_t host_size,
                                int *info) {
  (void)params, (void)job, (void)uplo, (void)n, (void)lda, (void)w_type, (void)w,
      (void)compute, (void)work_size, (void)host_work, (void)host_size;
  return factorize(handle, a, type, work, info);
}

cusolverStatus cusolverDnXsyevBatched(cusolverHandle handle, cusolverParams params,
                                      int job, int uplo, int64_t n, int type, void *a,
                                      int64_t lda, int w_type, void *w, int compute,
                                      void *work, size_t work_size, void *host_work,
                                      size_t host_size, int *info, int64_t batch) {
  (void)params, (void)job, (void)uplo, (void)n, (void)lda, (void)w_type, (void)w,
      (void)compute, (void)work_size, (void)host_work, (void)host_size, (void)batch;
  return factorize(handle, a, type, work, info);
}

cusolverStatus cusolverDnXgeev(cusolverHandle handle, cusolverParams params,
                               int job_left, int job_right, int64_t n, int type,
                               void *a, int64_t lda, int w_type, void *w, int left_type,
                               void *left, int64_t ld_left, int right_type, void *right,
                               int64_t ld_right, int compute, void *work,
                               size_t work_size, void *host_work, size_t host_size,
                               int *info) {
  (void)params, (void)job_left, (void)job_right, (void)n, (void)lda, (void)w_type,
      (void)w, (void)left_type, (void)left, (void)ld_left, (void)right_type,
      (void)right, (void)ld_right, (void)compute, (void)work_size, (void)host_work,
      (void)host_size;
  return factorize(handle, a, type, work, info);
}

cusolverStatus cusolverDnXsyevBatched_bufferSize(
    cusolverHandle handle, cusolverParams params, int job, int uplo, int64_t n,
    int type, const void *a, int64_t lda, int w_type, const void *w, int compute,
    size_t *device_size, size_t *host_size, int64_t batch) {
  (void)handle, (void)params, (void)job, (void)uplo, (void)n, (void)type, (void)a,
      (void)lda, (void)w_type, (void)w, (void)compute, (void)batch;
  return measure(device_size, host_size, 0);
}

cusolverStatus cusolverDnXgeev_bufferSize(
    cusolverHandle handle, cusolverParams params, int job_left, int job_right,
    int64_t n, int type, const void *a, int64_t lda, int w_type, const void *w,
    int left_type, const void *left, int64_t ld_left, int right_type, const void *right,
    int64_t ld_right, int compute, size_t *device_size, size_t *host_size) {
  (void)handle, (void)params, (void)job_left, (void)job_right, (void)n, (void)type,
      (void)a, (void)lda, (void)w_type, (void)w, (void)left_type, (void)left,
      (void)ld_left, (void)right_type, (void)right, (void)ld_right, (void)compute;
  return measure(device_size, host_size, HOST_BYTES);
}

/* ---- batches ---- */

/* The list of addresses is there when the queue has come so far. */
static void run_list(command *c, CUstream stream) {
  void *const *list = c->from;
  for (unsigned int q = 0; q < c->byte; q++) {
    command one = {.to = (int *)c->to + q, .from = list[q], .size = c->size};
    run_factorization(&one, stream);
  }
}

static int factorize_all(CUstream stream, void *const *a, bool is_wide, int *info,
                         int batch) {
  const command c = {.run = run_list,
                     .to = info,
                     .from = a,
                     .size = is_wide ? sizeof(double) : sizeof(float),
                     .byte = (unsigned char)batch};
  mock_state.batches++;
  return mock_push(stream, &c);
}

#define BATCHES(L, IS_WIDE)                                                            \
  cusolverStatus cusolverDn##L##potrfBatched(cusolverHandle handle, int uplo, int n,   \
                                             void **a, int lda, int *info,             \
                                             int batch) {                              \
    (void)uplo, (void)n, (void)lda;                                                    \
    return factorize_all(handle->stream, a, IS_WIDE, info, batch);                     \
  }                                                                                    \
  cublasStatus cublas##L##getrfBatched(cublasHandle handle, int n, void *const *a,     \
                                       int lda, int *pivots, int *info, int batch) {   \
    (void)lda;                                                                         \
    (void)n, (void)pivots;                                                             \
    return factorize_all(handle->stream, a, IS_WIDE, info, batch);                     \
  }                                                                                    \
  cublasStatus cublas##L##getrsBatched(                                                \
      cublasHandle handle, int trans, int n, int k, const void *const *a, int lda,     \
      const int *pivots, void *const *b, int ldb, int *info, int batch) {              \
    (void)handle, (void)trans, (void)k, (void)a, (void)lda, (void)ldb, (void)batch;    \
    (void)n;                                                                           \
    *info = 0;                                                                         \
    mock_state.batches++;                                                              \
    return b == NULL || pivots == NULL ? INVALID_ARGUMENT                              \
                                       : mock_end(mock_begin_anywhere());              \
  }
BATCHES(S, false)
BATCHES(D, true)
BATCHES(C, false)
BATCHES(Z, true)

/* ---- cuFFT ---- */

enum { PLANS = 64 };

static struct {
  bool is_made;
  CUstream stream;
  size_t size;
} plans[PLANS];

static void run_copy(command *c, CUstream stream) {
  (void)stream;
  memmove(c->to, c->from, c->size);
}

cufftResult cufftCreate(cufftPlan *plan) {
  cufftResult result = mock_begin_anywhere();
  for (int i = 0; i < PLANS && result == 0; i++)
    if (!plans[i].is_made) {
      plans[i].is_made = true;
      *plan = i;
      mock_state.handles++;
      return mock_end(0);
    }
  return mock_end(result ? result : INVALID_ARGUMENT);
}

cufftResult cufftDestroy(cufftPlan plan) {
  mock_lock();
  plans[plan].is_made = false;
  mock_state.handles--;
  return mock_end(0);
}

cufftResult cufftSetStream(cufftPlan plan, CUstream stream) {
  cufftResult result = mock_begin_anywhere();
  plans[plan].stream = stream;
  return mock_end(result);
}

cufftResult cufftSetAutoAllocation(cufftPlan plan, int on) {
  (void)plan;
  cufftResult result = mock_begin_anywhere();
  return mock_end(result == 0 && on ? INVALID_ARGUMENT : result);
}

cufftResult cufftSetWorkArea(cufftPlan plan, void *work) {
  (void)plan;
  cufftResult result = mock_begin_anywhere();
  return mock_end(result == 0 && work == NULL ? INVALID_ARGUMENT : result);
}

cufftResult cufftXtMakePlanMany(cufftPlan plan, int rank, long long *n,
                                long long *from_embed, long long from_stride,
                                long long from_step, int from_type, long long *to_embed,
                                long long to_stride, long long to_step, int to_type,
                                long long batch, size_t *work_size, int type) {
  cufftResult result = mock_begin_anywhere();
  mock_state.plans++;
  const bool is_wide = type == 5;
  plans[plan].size = (size_t)(from_step * batch) * (from_type < 4 ? 1 : 2) *
                     (is_wide ? sizeof(double) : sizeof(float));
  *work_size = DEVICE_BYTES;
  const bool fits = rank >= 1 && rank <= 3 && n[0] > 0 && from_embed[0] > 0 &&
                    to_embed[0] > 0 && from_stride == 1 && to_stride == 1 &&
                    to_step > 0;
  (void)to_type;
  return mock_end(result == 0 && !fits ? INVALID_ARGUMENT : result);
}

cufftResult cufftXtExec(cufftPlan plan, void *from, void *to, int direction) {
  const command c = {.run = run_copy, .to = to, .from = from, .size = plans[plan].size};
  mock_state.transforms++;
  mock_state.direction = direction;
  return mock_push(plans[plan].stream, &c);
}
