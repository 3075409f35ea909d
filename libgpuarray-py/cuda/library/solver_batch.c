/* Batched factorizations of small matrices.
 *
 * cuBLAS and cuSOLVER take arrays of pointers in device memory; they are written to the
 * workspace. */
#include "cuda/library/solver_batch.h"

#include <limits.h>

#include "cuda/library/blas.h"
#include "cuda/transfer.h"

/* Larger matrices fill the device one by one. */
enum { MOST_ROWS = 256, LEAST_BATCH = 4 };

/* Batched routines of a type. */
typedef struct routines {
  int typecode;
  cusolverStatus (*cholesky)(cusolverHandle, int, int, void **, int, int *, int);
  cublasStatus (*lu)(cublasHandle, int, void *const *, int, int *, int *, int);
  cublasStatus (*solve)(cublasHandle, int, int, int, const void *const *, int,
                        const int *, void *const *, int, int *, int);
} routines;

static routines routines_of(int typecode) {
  const ga_cuda_api *a = &ga__cuda;
  switch (typecode) {
  case GA_FLOAT:
    return (routines){typecode, a->cusolverDnSpotrfBatched, a->cublasSgetrfBatched,
                      a->cublasSgetrsBatched};
  case GA_DOUBLE:
    return (routines){typecode, a->cusolverDnDpotrfBatched, a->cublasDgetrfBatched,
                      a->cublasDgetrsBatched};
  case GA_CFLOAT:
    return (routines){typecode, a->cusolverDnCpotrfBatched, a->cublasCgetrfBatched,
                      a->cublasCgetrsBatched};
  default:
    return (routines){typecode, a->cusolverDnZpotrfBatched, a->cublasZgetrfBatched,
                      a->cublasZgetrsBatched};
  }
}

static bool fits(ssize_t length) {
  return length <= INT_MAX;
}

bool ga__cuda_batch_serves(const ga_solver_call *c) {
  if (c->batch < LEAST_BATCH || c->batch > INT_MAX || c->m != c->n ||
      c->n > MOST_ROWS || c->k > INT_MAX || !fits(c->a.ld) || !fits(c->b.ld))
    return false;
  const routines r = routines_of(c->typecode);
  if (c->routine == GA_SOLVER_LU || c->routine == GA_SOLVER_LU_SOLVE)
    return r.lu != NULL && r.solve != NULL;
  return c->routine == GA_SOLVER_CHOLESKY && r.cholesky != NULL;
}

size_t ga__cuda_batch_workspace(const ga_solver_call *c) {
  return 2 * c->batch * sizeof(void *);
}

/* Writes the address of each matrix. */
static void list_addresses(void **out, const ga_blas_operand *o, size_t batch,
                           size_t itemsize) {
  for (size_t q = 0; q < batch; q++)
    out[q] = o->buffer == NULL ? NULL
                               : (char *)ga__cuda_blas_at(o) +
                                     (ptrdiff_t)q * o->step * (ptrdiff_t)itemsize;
}

static int write_lists(ga_cuda_device *d, const ga_solver_call *c) {
  const size_t itemsize = gpuarray_get_elsize(c->typecode);
  void **lists = ga__alloc(2 * c->batch, sizeof *lists);
  GA_TRY_MEMORY(lists);
  list_addresses(lists, &c->a, c->batch, itemsize);
  list_addresses(lists + c->batch, &c->b, c->batch, itemsize);
  bool waited = false; /* only for staging memory, which is not reported */
  int status = ga__cuda_write(d, ga__buffer_memory(c->work), 0, lists,
                              ga__cuda_batch_workspace(c), &waited);
  ga__free(lists);
  return status;
}

static int call_blas(const ga_cuda_device *d, const ga_solver_call *c, void **a,
                     void **b) {
  const routines r = routines_of(c->typecode);
  int *pivots = ga__cuda_blas_at(&c->values), *info = ga__cuda_blas_at(&c->info);
  const int n = (int)c->n, batch = (int)c->batch;
  int wrong = 0; /* index of an invalid argument, returned to the host */
  if (c->routine == GA_SOLVER_LU) {
    cublasStatus result = r.lu(d->blas, n, a, (int)c->a.ld, pivots, info, batch);
    return result == 0 ? GA_NO_ERROR
                       : ga__cuda_blas_fail(result, "cublas getrfBatched");
  }
  cublasStatus result =
      r.solve(d->blas, (int)c->trans, n, (int)c->k, (const void *const *)a,
              (int)c->a.ld, pivots, b, (int)c->b.ld, &wrong, batch);
  return result == 0 ? GA_NO_ERROR : ga__cuda_blas_fail(result, "cublas getrsBatched");
}

int ga__cuda_batch_call(ga_cuda_device *d, cusolverHandle handle,
                        const ga_solver_call *c) {
  enum { FILL_LOWER = 0, FILL_UPPER = 1 };
  GA_TRY(write_lists(d, c));
  void **a = ga__buffer_memory(c->work), **b = a + c->batch;
  if (c->routine != GA_SOLVER_CHOLESKY)
    return call_blas(d, c, a, b);
  cusolverStatus result =
      routines_of(c->typecode)
          .cholesky(handle, c->is_upper ? FILL_UPPER : FILL_LOWER, (int)c->n, a,
                    (int)c->a.ld, ga__cuda_blas_at(&c->info), (int)c->batch);
  return result == 0 ? GA_NO_ERROR
                     : ga__cuda_solver_fail(result, "cusolverDn potrfBatched");
}
