/* GEMM with a fused bias epilogue, by cuBLASLt.
 *
 * The heuristic that chooses an algorithm for a shape takes longer than a small
 * product, so its latest results are cached. */
#include "cuda/library/blaslt.h"

#include <string.h>

#include "cuda/library/blas_types.h"

#define WORKSPACE ((size_t)32 << 20) /* bytes; NVIDIA's advice for Hopper */
#define CHOICES 16                   /* cached algorithms of a queue */

enum { ATTRIBUTE_TRANS_A = 3, ATTRIBUTE_TRANS_B = 4, ATTRIBUTE_EPILOGUE = 7 };
enum { ATTRIBUTE_BIAS = 8, PREFERENCE_WORKSPACE = 1 };
enum { EPILOGUE_BIAS = 4, EPILOGUE_BIAS_RELU = 6 };
enum { COMPUTE_DOUBLE = 70, SCALE_FLOAT = 0, SCALE_DOUBLE = 1 };

/* Key of the cache; compared as bytes, so zeroed first. */
typedef struct question {
  size_t m, n, k;
  ssize_t lda, ldb, ldc;
  size_t aligned; /* low bits of the addresses: 16-byte alignment matters */
  int ta, tb, type, compute, epilogue, has_beta;
} question;

typedef struct choice {
  question asked;
  cublasLtAlgorithm algorithm;
} choice;

struct ga_cuda_lt {
  cublasLtHandle handle;
  CUdeviceptr workspace;
  choice choices[CHOICES];
  unsigned int n; /* so far; the oldest entry is replaced */
};

/* Descriptors of one call. */
typedef struct descriptions {
  cublasLtObject product, a, b, c, preference;
} descriptions;

#define LT_TRY(name, ...) CUDA_LIBRARY_TRY(ga__cuda_blas_fail, name, __VA_ARGS__)

bool ga__cuda_lt_serves(void *device, const ga_blas_call *call) {
  (void)device;
  const bool is_real = call->typecode != GA_CFLOAT && call->typecode != GA_CDOUBLE;
  return is_real && call->routine == GA_BLAS_GEMM && call->batch == 1 &&
         ga__cuda_need_cublaslt() == GA_NO_ERROR;
}

int ga__cuda_lt_open(ga_cuda_device *d) {
  if (d->lt)
    return GA_NO_ERROR;
  if (ga__cuda_stream(d) != d->stream)
    return GA_FAIL(GA_UNSUPPORTED_ERROR,
                   "cublasLtCreate: no handle is made while a graph is recorded");
  GA_TRY(ga__cuda_need_cublaslt());
  struct ga_cuda_lt *lt = ga__alloc(1, sizeof *lt);
  GA_TRY_MEMORY(lt);
  cublasStatus result = ga__cuda.cublasLtCreate(&lt->handle);
  if (result != 0) {
    ga__free(lt);
    return ga__cuda_blas_fail(result, "cublasLtCreate");
  }
  CUresult memory = ga__cuda.cuMemAlloc(&lt->workspace, WORKSPACE);
  if (memory != CUDA_SUCCESS) {
    ga__cuda.cublasLtDestroy(lt->handle);
    ga__free(lt);
    return ga__cuda_fail(memory, "cuMemAlloc");
  }
  d->lt = lt;
  return GA_NO_ERROR;
}

void ga__cuda_lt_close(ga_cuda_device *d) {
  if (d->lt == NULL)
    return;
  ga__cuda.cublasLtDestroy(d->lt->handle);
  ga__cuda.cuMemFree(d->lt->workspace);
  ga__free(d->lt);
  d->lt = NULL;
}

static question make_question(const ga_blas_call *call) {
  question q;
  memset(&q, 0, sizeof q);
  const uintptr_t addresses = (uintptr_t)ga__cuda_blas_at(&call->a) |
                              (uintptr_t)ga__cuda_blas_at(&call->b) |
                              (uintptr_t)ga__cuda_blas_at(&call->c);
  q.m = call->m;
  q.n = call->n;
  q.k = call->k;
  q.lda = call->a.ld;
  q.ldb = call->b.ld;
  q.ldc = call->c.ld;
  q.aligned = addresses % 16;
  q.ta = (int)call->ta;
  q.tb = (int)call->tb;
  q.type = ga__cuda_blas_type(call, &q.compute);
  q.epilogue = call->epilogue == GA_BLAS_BIAS ? EPILOGUE_BIAS : EPILOGUE_BIAS_RELU;
  q.has_beta = call->beta[0] != 0;
  return q;
}

static int describe_product(descriptions *d, const question *q, const void *bias) {
  LT_TRY(cublasLtMatmulDescCreate, &d->product, q->compute,
         q->compute == COMPUTE_DOUBLE ? SCALE_DOUBLE : SCALE_FLOAT);
  LT_TRY(cublasLtMatmulDescSetAttribute, d->product, ATTRIBUTE_TRANS_A, &q->ta,
         sizeof q->ta);
  LT_TRY(cublasLtMatmulDescSetAttribute, d->product, ATTRIBUTE_TRANS_B, &q->tb,
         sizeof q->tb);
  LT_TRY(cublasLtMatmulDescSetAttribute, d->product, ATTRIBUTE_EPILOGUE, &q->epilogue,
         sizeof q->epilogue);
  LT_TRY(cublasLtMatmulDescSetAttribute, d->product, ATTRIBUTE_BIAS, &bias,
         sizeof bias);
  return GA_NO_ERROR;
}

static int describe_all(descriptions *d, const question *q, const void *bias) {
  const size_t am = q->ta ? q->k : q->m, an = q->ta ? q->m : q->k;
  const size_t bm = q->tb ? q->n : q->k, bn = q->tb ? q->k : q->n;
  const size_t workspace = WORKSPACE;
  GA_TRY(describe_product(d, q, bias));
  LT_TRY(cublasLtMatrixLayoutCreate, &d->a, q->type, am, an, q->lda);
  LT_TRY(cublasLtMatrixLayoutCreate, &d->b, q->type, bm, bn, q->ldb);
  LT_TRY(cublasLtMatrixLayoutCreate, &d->c, q->type, q->m, q->n, q->ldc);
  LT_TRY(cublasLtMatmulPreferenceCreate, &d->preference);
  LT_TRY(cublasLtMatmulPreferenceSetAttribute, d->preference, PREFERENCE_WORKSPACE,
         &workspace, sizeof workspace);
  return GA_NO_ERROR;
}

static void destroy(const descriptions *d) {
  if (d->preference)
    ga__cuda.cublasLtMatmulPreferenceDestroy(d->preference);
  const cublasLtObject layouts[] = {d->a, d->b, d->c};
  for (int i = 0; i < 3; i++)
    if (layouts[i])
      ga__cuda.cublasLtMatrixLayoutDestroy(layouts[i]);
  if (d->product)
    ga__cuda.cublasLtMatmulDescDestroy(d->product);
}

/* The algorithm, from the cache or the heuristic. */
static int choose(const cublasLtAlgorithm **out, struct ga_cuda_lt *lt,
                  const descriptions *d, const question *q) {
  const unsigned int kept = lt->n < CHOICES ? lt->n : CHOICES;
  cublasLtHeuristic best;
  int found = 0;
  for (unsigned int i = 0; i < kept; i++)
    if (memcmp(&lt->choices[i].asked, q, sizeof *q) == 0) {
      *out = &lt->choices[i].algorithm;
      return GA_NO_ERROR;
    }
  LT_TRY(cublasLtMatmulAlgoGetHeuristic, lt->handle, d->product, d->a, d->b, d->c, d->c,
         d->preference, 1, &best, &found);
  if (found == 0 || best.state != 0)
    return GA_FAIL(GA_DEVSUP_ERROR,
                   "cublasLt has no algorithm for this product and bias");
  choice *place = &lt->choices[lt->n++ % CHOICES];
  place->asked = *q;
  place->algorithm = best.algorithm;
  *out = &place->algorithm;
  return GA_NO_ERROR;
}

static int run(ga_cuda_device *device, const ga_blas_call *call, const descriptions *d,
               const question *q) {
  const bool is_wide = q->compute == COMPUTE_DOUBLE;
  const float alpha = (float)call->alpha[0], beta = (float)call->beta[0];
  const cublasLtAlgorithm *algorithm = NULL;
  struct ga_cuda_lt *lt = device->lt;
  void *c = ga__cuda_blas_at(&call->c);
  GA_TRY(choose(&algorithm, lt, d, q));
  LT_TRY(cublasLtMatmul, lt->handle, d->product,
         is_wide ? (const void *)call->alpha : &alpha, ga__cuda_blas_at(&call->a), d->a,
         ga__cuda_blas_at(&call->b), d->b, is_wide ? (const void *)call->beta : &beta,
         c, d->c, c, d->c, algorithm, (void *)(uintptr_t)lt->workspace, WORKSPACE,
         ga__cuda_stream(device));
  return GA_NO_ERROR;
}

int ga__cuda_lt_product(ga_cuda_device *device, const ga_blas_call *call) {
  descriptions d = {NULL, NULL, NULL, NULL, NULL};
  const question q = make_question(call);
  GA_TRY(ga__cuda_lt_open(device));
  int status = describe_all(&d, &q, ga__cuda_blas_at(&call->bias));
  GA_THEN(status, run(device, call, &d, &q));
  destroy(&d);
  return status;
}
