/* Fourier transforms by cuFFT.
 *
 * Creating a plan takes far longer than a small transform, so each queue has an LRU
 * cache of plans. Their work areas are the caller's. */
#include "cuda/library/fft.h"

#include <string.h>

#include "cuda/library/blas.h"

enum { PLANS = 32 };
enum { RESULT_ALLOC_FAILED = 2, FORWARD = -1, INVERSE = 1 };

/* Key of the cache; compared as bytes, so without padding. */
typedef struct question {
  size_t n[3], batch, rank;
  ssize_t from_type, to_type;
} question;

typedef struct plan {
  question asked;
  cufftPlan plan;
  size_t work_size;
  uint64_t used; /* time of last use */
} plan;

struct ga_cuda_plans {
  plan plans[PLANS];
  unsigned int n;
  uint64_t clock;
};

static int fft_fail(cufftResult result, const char *call) {
  return GA_FAIL(result == RESULT_ALLOC_FAILED ? GA_MEMORY_ERROR : GA_IMPL_ERROR,
                 "%s: error %d of cuFFT", call, result);
}

#define FFT_TRY(name, ...) CUDA_LIBRARY_TRY(fft_fail, name, __VA_ARGS__)

void ga__cuda_fft_close(ga_cuda_device *d) {
  if (d->plans == NULL)
    return;
  for (unsigned int i = 0; i < d->plans->n; i++)
    ga__cuda.cufftDestroy(d->plans->plans[i].plan);
  ga__free(d->plans);
  d->plans = NULL;
}

/* cudaDataType */
static int type_of(ssize_t typecode) {
  switch (typecode) {
  case GA_FLOAT:
    return 0;
  case GA_DOUBLE:
    return 1;
  case GA_CFLOAT:
    return 4;
  default:
    return 5;
  }
}

static question make_question(const ga_fft_call *call) {
  question q = {.n = {0, 0, 0}};
  for (unsigned int i = 0; i < call->rank; i++)
    q.n[i] = call->n[i];
  q.batch = call->batch;
  q.rank = call->rank;
  q.from_type = call->from_type;
  q.to_type = call->to_type;
  return q;
}

/* Lengths of one side, and its number of elements. The complex side of a real transform
 * is the half spectrum. */
static long long lengths(long long out[3], const question *q, ssize_t typecode) {
  const bool is_real = q->from_type != q->to_type;
  const bool is_half = is_real && (typecode == GA_CFLOAT || typecode == GA_CDOUBLE);
  long long count = 1;
  for (size_t i = 0; i < q->rank; i++) {
    out[i] = (long long)(is_half && i + 1 == q->rank ? q->n[i] / 2 + 1 : q->n[i]);
    count *= out[i];
  }
  return count;
}

static int describe_plan(plan *p, CUstream stream) {
  const question *q = &p->asked;
  long long n[3], from[3], to[3];
  const bool from_complex = q->from_type == GA_CFLOAT || q->from_type == GA_CDOUBLE;
  const int complex_type = type_of(from_complex ? q->from_type : q->to_type);
  const long long from_step = lengths(from, q, q->from_type);
  const long long to_step = lengths(to, q, q->to_type);
  for (size_t i = 0; i < q->rank; i++)
    n[i] = (long long)q->n[i];
  FFT_TRY(cufftSetAutoAllocation, p->plan, 0);
  FFT_TRY(cufftSetStream, p->plan, stream);
  FFT_TRY(cufftXtMakePlanMany, p->plan, (int)q->rank, n, from, 1, from_step,
          type_of(q->from_type), to, 1, to_step, type_of(q->to_type),
          (long long)q->batch, &p->work_size, complex_type);
  return GA_NO_ERROR;
}

static int make_plan(plan *p, const question *q, CUstream stream) {
  *p = (plan){.asked = *q};
  FFT_TRY(cufftCreate, &p->plan);
  int status = describe_plan(p, stream);
  if (status != GA_NO_ERROR)
    ga__cuda.cufftDestroy(p->plan);
  return status;
}

/* A free entry, or that of the least recently used plan, destroyed once the stream is
 * idle. */
static int make_room(plan **out, struct ga_cuda_plans *all, CUstream stream) {
  plan *oldest = &all->plans[0];
  if (all->n < PLANS) {
    *out = &all->plans[all->n];
    return GA_NO_ERROR;
  }
  for (unsigned int i = 1; i < PLANS; i++)
    if (all->plans[i].used < oldest->used)
      oldest = &all->plans[i];
  CUDA_TRY(cuStreamSynchronize, stream);
  ga__cuda.cufftDestroy(oldest->plan);
  *oldest = all->plans[--all->n];
  *out = &all->plans[all->n];
  return GA_NO_ERROR;
}

static int open_plans(struct ga_cuda_plans **out, ga_cuda_device *d) {
  if (d->plans == NULL)
    d->plans = ga__alloc(1, sizeof *d->plans);
  *out = d->plans;
  return d->plans ? GA_NO_ERROR : GA_MEMORY_ERROR;
}

/* The device is current and the handles' lock held. */
static int find_plan(plan **out, ga_cuda_device *d, const ga_fft_call *call) {
  const question q = make_question(call);
  struct ga_cuda_plans *all;
  plan *found = NULL;
  GA_TRY(open_plans(&all, d));
  for (unsigned int i = 0; i < all->n && found == NULL; i++)
    if (memcmp(&all->plans[i].asked, &q, sizeof q) == 0)
      found = &all->plans[i];
  if (found == NULL) {
    GA_TRY(make_room(&found, all, d->stream));
    GA_TRY(make_plan(found, &q, d->stream));
    all->n++;
  }
  found->used = ++all->clock;
  *out = found;
  return GA_NO_ERROR;
}

static int execute(ga_cuda_device *d, const ga_fft_call *call) {
  plan *p;
  GA_TRY(find_plan(&p, d, call));
  FFT_TRY(cufftSetWorkArea, p->plan, call->work ? ga__buffer_memory(call->work) : NULL);
  FFT_TRY(cufftXtExec, p->plan, ga__cuda_blas_at(&call->from),
          ga__cuda_blas_at(&call->to), call->is_inverse ? INVERSE : FORWARD);
  return GA_NO_ERROR;
}

/* ---- backend table ---- */

static int fft_open(void *device) {
  (void)device;
  return ga__cuda_need_cufft();
}

static int fft_workspace(size_t *out, void *device, const ga_fft_call *call) {
  ga_cuda_device *d = device;
  plan *p = NULL;
  CUcontext previous;
  GA_TRY(ga__cuda_enter(&previous, d));
  pthread_mutex_lock(&d->blas_lock);
  int status = find_plan(&p, d, call);
  if (status == GA_NO_ERROR)
    *out = p->work_size;
  pthread_mutex_unlock(&d->blas_lock);
  ga__cuda_leave(d, previous);
  return status;
}

static int fft_call(void *device, const ga_fft_call *call) {
  ga_cuda_device *d = device;
  CUcontext previous;
  GA_TRY(ga__cuda_enter(&previous, d));
  pthread_mutex_lock(&d->blas_lock);
  int status = execute(d, call);
  pthread_mutex_unlock(&d->blas_lock);
  ga__cuda_leave(d, previous);
  return status;
}

const ga_fft ga__cuda_fft = {
    .open = fft_open, .workspace = fft_workspace, .call = fft_call};
