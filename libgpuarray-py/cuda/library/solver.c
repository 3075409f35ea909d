/* Dense factorizations by cuSOLVER.
 *
 * By its generic 64-bit API. Without a batched routine (see solver_batch.c) the
 * matrices of a batch are enqueued one by one. */
#include "cuda/library/solver.h"

#include <limits.h>

#include "cuda/library/blas.h"
#include "cuda/library/solver_batch.h"

enum { FILL_LOWER = 0, FILL_UPPER = 1 };

struct ga_cuda_solver {
  cusolverHandle handle;
  cusolverParams params;
};

#define SOLVER_TRY(name, ...) CUDA_LIBRARY_TRY(ga__cuda_solver_fail, name, __VA_ARGS__)

/* ---- handle ---- */

static int make_handle(struct ga_cuda_solver *s, CUstream stream) {
  SOLVER_TRY(cusolverDnCreate, &s->handle);
  SOLVER_TRY(cusolverDnCreateParams, &s->params);
  SOLVER_TRY(cusolverDnSetStream, s->handle, stream);
  return GA_NO_ERROR;
}

static void free_handle(struct ga_cuda_solver *s) {
  if (s->params)
    ga__cuda.cusolverDnDestroyParams(s->params);
  if (s->handle)
    ga__cuda.cusolverDnDestroy(s->handle);
  ga__free(s);
}

/* The device is current and the handles' lock held. */
static int need_handle(ga_cuda_device *d) {
  if (d->solver)
    return GA_NO_ERROR;
  struct ga_cuda_solver *s = ga__alloc(1, sizeof *s);
  GA_TRY_MEMORY(s);
  int status = make_handle(s, d->stream);
  if (status != GA_NO_ERROR) {
    free_handle(s);
    return status;
  }
  d->solver = s;
  return GA_NO_ERROR;
}

void ga__cuda_solver_close(ga_cuda_device *d) {
  if (d->solver)
    free_handle(d->solver);
  d->solver = NULL;
}

/* ---- one call ---- */

/* Arguments for one matrix. */
typedef struct job {
  cusolverHandle handle;
  cusolverParams params;
  const ga_solver_call *call;
  int type, real_type; /* cudaDataType of a, and of its real part */
  int64_t m, n, k;
  void *a, *b, *c, *values;
  int *info;
  void *work, *host_work;
  size_t work_size, host_size;
} job;

enum { REAL_32 = 0, REAL_64 = 1, COMPLEX_32 = 4, COMPLEX_64 = 5 };

static void *at(const ga_blas_operand *o, size_t q, size_t itemsize) {
  if (o->buffer == NULL)
    return NULL;
  return (char *)ga__cuda_blas_at(o) + (ptrdiff_t)q * o->step * (ptrdiff_t)itemsize;
}

static bool is_double(const ga_solver_call *call) {
  return call->typecode == GA_DOUBLE || call->typecode == GA_CDOUBLE;
}

static size_t value_size(const ga_solver_call *call) {
  switch (call->routine) {
  case GA_SOLVER_LU:
  case GA_SOLVER_LU_SOLVE:
    return sizeof(int64_t);
  case GA_SOLVER_SVD:
  case GA_SOLVER_EIGH:
    return is_double(call) ? sizeof(double) : sizeof(float);
  default:
    return gpuarray_get_elsize(call->typecode);
  }
}

/* Arguments of matrix `q`. */
static job make_job(const ga_cuda_device *d, const ga_solver_call *call, size_t q) {
  const size_t itemsize = gpuarray_get_elsize(call->typecode);
  const bool is_complex = call->typecode == GA_CFLOAT || call->typecode == GA_CDOUBLE;
  const int real = is_double(call) ? REAL_64 : REAL_32;
  return (job){.handle = d->solver->handle,
               .params = d->solver->params,
               .call = call,
               .type = !is_complex       ? real
                       : is_double(call) ? COMPLEX_64
                                         : COMPLEX_32,
               .real_type = real,
               .m = (int64_t)call->m,
               .n = (int64_t)call->n,
               .k = (int64_t)call->k,
               .a = at(&call->a, q, itemsize),
               .b = at(&call->b, q, itemsize),
               .c = at(&call->c, q, itemsize),
               .values = at(&call->values, q, value_size(call)),
               .info = at(&call->info, q, sizeof(int)),
               .work = call->work ? ga__buffer_memory(call->work) : NULL,
               .work_size = call->work_size};
}

static signed char svd_job(const ga_solver_call *call) {
  return !call->has_vectors ? 'N' : call->is_full ? 'A' : 'S';
}

static bool is_batched(const ga_solver_call *call) {
  return call->routine == GA_SOLVER_EIGH && call->batch > 1 &&
         call->a.step == call->a.ld * (ssize_t)call->n &&
         call->values.step == (ssize_t)call->n && ga__cuda.cusolverDnXsyevBatched &&
         ga__cuda.cusolverDnXsyevBatched_bufferSize;
}

/* Q from Householder reflectors exists in the 32-bit API only. */
static int measure_vectors(job *j) {
  cusolverStatus (*const function)(cusolverHandle, int, int, int, const void *, int,
                                   const void *, int *) =
      j->type == REAL_32      ? ga__cuda.cusolverDnSorgqr_bufferSize
      : j->type == REAL_64    ? ga__cuda.cusolverDnDorgqr_bufferSize
      : j->type == COMPLEX_32 ? ga__cuda.cusolverDnCungqr_bufferSize
                              : ga__cuda.cusolverDnZungqr_bufferSize;
  int size = 0;
  cusolverStatus result = function(j->handle, (int)j->m, (int)j->n, (int)j->k, j->a,
                                   (int)j->call->a.ld, j->values, &size);
  j->work_size = (size_t)size * gpuarray_get_elsize(j->call->typecode);
  return result == 0 ? GA_NO_ERROR
                     : ga__cuda_solver_fail(result, "cusolverDn orgqr_bufferSize");
}

static int run_vectors(const job *j) {
  cusolverStatus (*const function)(cusolverHandle, int, int, int, void *, int,
                                   const void *, void *, int, int *) =
      j->type == REAL_32      ? ga__cuda.cusolverDnSorgqr
      : j->type == REAL_64    ? ga__cuda.cusolverDnDorgqr
      : j->type == COMPLEX_32 ? ga__cuda.cusolverDnCungqr
                              : ga__cuda.cusolverDnZungqr;
  const size_t itemsize = gpuarray_get_elsize(j->call->typecode);
  cusolverStatus result =
      function(j->handle, (int)j->m, (int)j->n, (int)j->k, j->a, (int)j->call->a.ld,
               j->values, j->work, (int)(j->work_size / itemsize), j->info);
  return result == 0 ? GA_NO_ERROR : ga__cuda_solver_fail(result, "cusolverDn orgqr");
}

/* Queries workspace sizes, on device and host. */
static int measure_eigen(job *j) {
  const ga_solver_call *c = j->call;
  const int uplo = c->is_upper ? FILL_UPPER : FILL_LOWER, vectors = c->has_vectors;
  if (c->routine == GA_SOLVER_EIG)
    SOLVER_TRY(cusolverDnXgeev_bufferSize, j->handle, j->params, 0, vectors, j->n,
               j->type, j->a, c->a.ld, j->type, j->values, j->type, NULL, 1, j->type,
               j->b, c->has_vectors ? c->b.ld : 1, j->type, &j->work_size,
               &j->host_size);
  else if (is_batched(c))
    SOLVER_TRY(cusolverDnXsyevBatched_bufferSize, j->handle, j->params, vectors, uplo,
               j->n, j->type, j->a, c->a.ld, j->real_type, j->values, j->type,
               &j->work_size, &j->host_size, (int64_t)c->batch);
  else
    SOLVER_TRY(cusolverDnXsyevd_bufferSize, j->handle, j->params, vectors, uplo, j->n,
               j->type, j->a, c->a.ld, j->real_type, j->values, j->type, &j->work_size,
               &j->host_size);
  return GA_NO_ERROR;
}

static int measure(job *j) {
  const ga_solver_call *c = j->call;
  switch (c->routine) {
  case GA_SOLVER_CHOLESKY:
    SOLVER_TRY(cusolverDnXpotrf_bufferSize, j->handle, j->params,
               c->is_upper ? FILL_UPPER : FILL_LOWER, j->n, j->type, j->a, c->a.ld,
               j->type, &j->work_size, &j->host_size);
    break;
  case GA_SOLVER_LU:
    SOLVER_TRY(cusolverDnXgetrf_bufferSize, j->handle, j->params, j->m, j->n, j->type,
               j->a, c->a.ld, j->type, &j->work_size, &j->host_size);
    break;
  case GA_SOLVER_QR:
    SOLVER_TRY(cusolverDnXgeqrf_bufferSize, j->handle, j->params, j->m, j->n, j->type,
               j->a, c->a.ld, j->type, j->values, j->type, &j->work_size,
               &j->host_size);
    break;
  case GA_SOLVER_QR_VECTORS:
    return measure_vectors(j);
  case GA_SOLVER_SVD:
    SOLVER_TRY(cusolverDnXgesvd_bufferSize, j->handle, j->params, svd_job(c),
               svd_job(c), j->m, j->n, j->type, j->a, c->a.ld, j->real_type, j->values,
               j->type, j->b, c->has_vectors ? c->b.ld : j->m, j->type, j->c,
               c->has_vectors ? c->c.ld : j->n, j->type, &j->work_size, &j->host_size);
    break;
  case GA_SOLVER_EIGH:
  case GA_SOLVER_EIG:
    return measure_eigen(j);
  case GA_SOLVER_LU_SOLVE:
    break;
  }
  return GA_NO_ERROR;
}

static int run_eigen(const job *j) {
  const ga_solver_call *c = j->call;
  const int uplo = c->is_upper ? FILL_UPPER : FILL_LOWER, vectors = c->has_vectors;
  if (c->routine == GA_SOLVER_EIG)
    SOLVER_TRY(cusolverDnXgeev, j->handle, j->params, 0, vectors, j->n, j->type, j->a,
               c->a.ld, j->type, j->values, j->type, NULL, 1, j->type, j->b,
               c->has_vectors ? c->b.ld : 1, j->type, j->work, j->work_size,
               j->host_work, j->host_size, j->info);
  else if (is_batched(c))
    SOLVER_TRY(cusolverDnXsyevBatched, j->handle, j->params, vectors, uplo, j->n,
               j->type, j->a, c->a.ld, j->real_type, j->values, j->type, j->work,
               j->work_size, j->host_work, j->host_size, j->info, (int64_t)c->batch);
  else
    SOLVER_TRY(cusolverDnXsyevd, j->handle, j->params, vectors, uplo, j->n, j->type,
               j->a, c->a.ld, j->real_type, j->values, j->type, j->work, j->work_size,
               j->host_work, j->host_size, j->info);
  return GA_NO_ERROR;
}

static int run(const job *j) {
  const ga_solver_call *c = j->call;
  switch (c->routine) {
  case GA_SOLVER_CHOLESKY:
    SOLVER_TRY(cusolverDnXpotrf, j->handle, j->params,
               c->is_upper ? FILL_UPPER : FILL_LOWER, j->n, j->type, j->a, c->a.ld,
               j->type, j->work, j->work_size, j->host_work, j->host_size, j->info);
    break;
  case GA_SOLVER_LU:
    SOLVER_TRY(cusolverDnXgetrf, j->handle, j->params, j->m, j->n, j->type, j->a,
               c->a.ld, j->values, j->type, j->work, j->work_size, j->host_work,
               j->host_size, j->info);
    break;
  case GA_SOLVER_LU_SOLVE:
    SOLVER_TRY(cusolverDnXgetrs, j->handle, j->params, (int)c->trans, j->n, j->k,
               j->type, j->a, c->a.ld, j->values, j->type, j->b, c->b.ld, j->info);
    break;
  case GA_SOLVER_QR:
    SOLVER_TRY(cusolverDnXgeqrf, j->handle, j->params, j->m, j->n, j->type, j->a,
               c->a.ld, j->type, j->values, j->type, j->work, j->work_size,
               j->host_work, j->host_size, j->info);
    break;
  case GA_SOLVER_QR_VECTORS:
    return run_vectors(j);
  case GA_SOLVER_SVD:
    SOLVER_TRY(cusolverDnXgesvd, j->handle, j->params, svd_job(c), svd_job(c), j->m,
               j->n, j->type, j->a, c->a.ld, j->real_type, j->values, j->type, j->b,
               c->has_vectors ? c->b.ld : j->m, j->type, j->c,
               c->has_vectors ? c->c.ld : j->n, j->type, j->work, j->work_size,
               j->host_work, j->host_size, j->info);
    break;
  case GA_SOLVER_EIGH:
  case GA_SOLVER_EIG:
    return run_eigen(j);
  }
  return GA_NO_ERROR;
}

/* Enqueues all matrices; they share the workspace, in stream order. */
static int run_all(const ga_cuda_device *d, const ga_solver_call *call, void *host_work,
                   size_t host_size) {
  const size_t rounds = is_batched(call) ? 1 : call->batch;
  for (size_t q = 0; q < rounds; q++) {
    job j = make_job(d, call, q);
    j.host_work = host_work;
    j.host_size = host_size;
    GA_TRY(run(&j));
  }
  return GA_NO_ERROR;
}

/* The host workspace must outlive the work: waits for routines that use it. */
static int run_with_host(const ga_cuda_device *d, const ga_solver_call *call) {
  job j = make_job(d, call, 0);
  GA_TRY(measure(&j));
  if (j.host_size == 0)
    return run_all(d, call, NULL, 0);
  void *host = ga__alloc(1, j.host_size);
  GA_TRY_MEMORY(host);
  int status = run_all(d, call, host, j.host_size);
  CUresult result = ga__cuda.cuStreamSynchronize(d->stream);
  ga__free(host);
  GA_TRY(status);
  return result == CUDA_SUCCESS ? GA_NO_ERROR
                                : ga__cuda_fail(result, "cuStreamSynchronize");
}

/* ---- backend table ---- */

static int solver_open(void *device) {
  (void)device;
  return ga__cuda_need_cusolver();
}

static bool solver_serves(void *device, const ga_solver_call *call) {
  (void)device;
  if (call->routine == GA_SOLVER_EIG)
    return ga__cuda.cusolverDnXgeev != NULL &&
           ga__cuda.cusolverDnXgeev_bufferSize != NULL;
  if (call->routine == GA_SOLVER_QR_VECTORS)
    return call->m <= INT_MAX && call->a.ld <= INT_MAX;
  return true;
}

static bool solver_narrows(void *device, const ga_solver_call *call) {
  (void)device;
  return ga__cuda_batch_serves(call);
}

static int solver_workspace(size_t *out, void *device, const ga_solver_call *call) {
  ga_cuda_device *d = device;
  CUcontext previous;
  GA_TRY(ga__cuda_enter(&previous, d));
  pthread_mutex_lock(&d->blas_lock);
  int status = need_handle(d);
  if (status == GA_NO_ERROR && ga__cuda_batch_serves(call)) {
    *out = ga__cuda_batch_workspace(call);
  } else if (status == GA_NO_ERROR) {
    job j = make_job(d, call, 0);
    status = measure(&j);
    *out = j.work_size;
  }
  pthread_mutex_unlock(&d->blas_lock);
  ga__cuda_leave(d, previous);
  return status;
}

static int solver_call(void *device, const ga_solver_call *call) {
  ga_cuda_device *d = device;
  CUcontext previous;
  const bool is_batch = ga__cuda_batch_serves(call);
  if (is_batch)
    GA_TRY(ga__cuda_blas_open(d, false));
  GA_TRY(ga__cuda_enter(&previous, d));
  pthread_mutex_lock(&d->blas_lock);
  int status = need_handle(d);
  GA_THEN(status, is_batch ? ga__cuda_batch_call(d, d->solver->handle, call)
                           : run_with_host(d, call));
  pthread_mutex_unlock(&d->blas_lock);
  ga__cuda_leave(d, previous);
  return status;
}

const ga_solver ga__cuda_solver = {.open = solver_open,
                                   .serves = solver_serves,
                                   .narrows = solver_narrows,
                                   .workspace = solver_workspace,
                                   .call = solver_call};
