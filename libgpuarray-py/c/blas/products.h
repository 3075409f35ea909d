/* Internal interface of matrix products. */
#ifndef GA_C_PRODUCTS_H
#define GA_C_PRODUCTS_H

#include "c/array/array.h"
#include "c/blas/blas_kernels.h"

/* A strided matrix, or a batch: element (i, j) of matrix q is i * si + j * sj + q *
 * step elements from the first. Vectors have one column, scalars one element. */
typedef struct ga_factor {
  gpudata *data;
  size_t offset; /* bytes, of the first element */
  size_t m, n;
  ssize_t si, sj, step;
  bool is_conjugated; /* multiply by the complex conjugates; not for c */
} ga_factor;

/* The general product: c = alpha a b + beta c, `batch` times. With beta 0, c is not
 * read. */
typedef struct ga_product {
  const char *operation;
  const char *names[3]; /* names of a, b and c in messages */
  gpucontext *context;
  int typecode;
  enum ga_blas_epilogue epilogue; /* bias: one per column of c */
  double alpha[2], beta[2];
  size_t batch;
  ga_factor a, b, c, bias;
} ga_product;

/* Queues the product, by the vendor's BLAS or our own kernels, whichever was measured
 * faster. Inputs that alias c are copied, as are those that the vendor can only read as
 * copies, if that pays; with `nocopy` the former fail with GA_COPY_ERROR, the latter go
 * to our kernels. Arguments are checked; the epilogue is PLAIN unless
 * ga__product_fuses. */
int ga__product(const ga_product *p, int nocopy);

/* True if the vendor's BLAS can fuse this product's bias epilogue, and gains by it. */
bool ga__product_fuses(const ga_product *p);

/* True if the vendor's BLAS is preferred, possibly with copies of the inputs. */
bool ga__product_is_vendored(const ga_product *p);

/* True for a skinny product (narrow side), where our special kernels beat tiles and the
 * vendor's BLAS. */
bool ga__product_is_narrow(const ga_product *p);

/* True for a product so small that our tiles match the vendor's BLAS, which need not be
 * loaded then. */
bool ga__product_is_small(const ga_product *p);

/* Skinny product by special kernels, for any strides. No aliasing. */
int ga__product_narrow(const ga_product *p);

/* Product by our own kernels, for any strides. No aliasing. */
int ga__product_own(const ga_product *p);

/* The product C = op(A) op(B), checked. */
int ga__product_of_gemm(ga_product *out, cb_transpose transA, cb_transpose transB,
                        const GpuArray *A, const GpuArray *B, const GpuArray *C,
                        const char *operation);

/* The same before C is allocated; it will be C-contiguous. */
int ga__product_without_result(ga_product *out, cb_transpose transA,
                               cb_transpose transB, const GpuArray *A,
                               const GpuArray *B, const char *operation);

static inline ga_factor ga__factor_transposed(ga_factor f) {
  ga_factor t = f;
  t.m = f.n;
  t.n = f.m;
  t.si = f.sj;
  t.sj = f.si;
  return t;
}

/* Number of multiply-adds. */
static inline double ga__product_work(const ga_product *p) {
  return (double)p->c.m * (double)p->c.n * (double)p->a.n * (double)p->batch;
}

/* GPUARRAY_BLAS=vendor forces the vendor's BLAS wherever it serves. */
static inline bool ga__product_is_vendors(const ga_product *p) {
  return p->context->blas.wants_vendor && ga__context_blas(p->context) != NULL;
}

/* Sources to prebuild for a plan's step: matrix-matrix or matrix-vector products of
 * this type; at most 4. Variants for special layouts and sizes on GPUs are compiled
 * when needed. */
int ga__blas_sources(ga_source out[4], unsigned int *n, gpucontext *ctx, int typecode,
                     bool matrix);

#endif
