/* What files of c/ share about matrix products. */
#ifndef GA_C_BLAS_H
#define GA_C_BLAS_H

#include "c/array/array.h"
#include "c/blas/blas_kernels.h"

/* A matrix as it lies, or the batch of them: element (i, j) of matrix q is
 * i * si + j * sj + q * step elements from the first. A vector is a matrix with one
 * column, and a number one of one element. */
typedef struct ga_factor {
  gpudata *data;
  size_t offset; /* bytes, of the first element */
  size_t m, n;
  ssize_t si, sj, step;
  bool is_conjugated; /* the product takes its elements' conjugates; not of c */
} ga_factor;

/* c = alpha a b + beta c, `batch` times: all products are this. With beta 0, c is not
 * read. */
typedef struct ga_product {
  const char *operation;
  const char *names[3]; /* of a, b and c, for messages */
  gpucontext *context;
  int typecode;
  enum ga_blas_epilogue epilogue; /* c is the sum with bias, one for each column of c */
  double alpha[2], beta[2];
  size_t batch;
  ga_factor a, b, c, bias;
} ga_product;

/* Queues the product, by the vendor's library or our own kernels, as timing tells. An
 * input that overlaps c, or that only a copy lets the vendor read where that pays, is
 * copied; with `nocopy` the first is GA_COPY_ERROR and the second is left to our
 * kernels. Arguments have been checked; shapes agree; the epilogue is PLAIN unless
 * ga__product_fuses says so. */
int ga__product(const ga_product *p, int nocopy);

/* Whether the vendor's library adds this product's bias on its way, and gains by it. */
bool ga__product_fuses(const ga_product *p);

/* Whether the vendor's library is preferred, which reads the operands as they lie or
 * may be given copies. */
bool ga__product_is_vendored(const ga_product *p);

/* Whether one side of the product is so narrow that kernels made for that are faster
 * than tiles, and than the vendor's library if there is one. */
bool ga__product_is_narrow(const ga_product *p);

/* Whether the product is so small that our tiles are as fast as the vendor's library,
 * which then need not be loaded. */
bool ga__product_is_small(const ga_product *p);

/* A narrow product by those kernels, which read every layout. Nothing overlaps. */
int ga__product_narrow(const ga_product *p);

/* The same by our own kernels, which read every layout. Nothing overlaps. */
int ga__product_own(const ga_product *p);

/* The product C = op(A) op(B) of arrays, checked. */
int ga__product_of_gemm(ga_product *out, cb_transpose transA, cb_transpose transB,
                        const GpuArray *A, const GpuArray *B, const GpuArray *C,
                        const char *operation);

/* The same where C has no memory yet; it is to be a matrix in C order. */
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

/* How often two elements are multiplied. */
static inline double ga__product_work(const ga_product *p) {
  return (double)p->c.m * (double)p->c.n * (double)p->a.n * (double)p->batch;
}

/* GPUARRAY_BLAS=vendor takes the vendor's library wherever it serves. */
static inline bool ga__product_is_vendors(const ga_product *p) {
  return p->context->blas.wants_vendor && ga__context_blas(p->context) != NULL;
}

/* The sources that a plan's step may launch: of the products of matrices, or of a
 * matrix and a vector, of this type; `out` has room for all kinds. What a GPU takes
 * for some layouts and sizes only is compiled when it is met. */
int ga__blas_sources(ga_source out[4], unsigned int *n, gpucontext *ctx, int typecode,
                     bool matrix);

#endif
