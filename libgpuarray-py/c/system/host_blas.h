/* A BLAS of the host (OpenBLAS, MKL, BLIS), opened at run time. */
#ifndef GA_C_HOST_BLAS_H
#define GA_C_HOST_BLAS_H

#include "c/base/strbuf.h"
#include <gpuarray/blas.h>

/* c = alpha op(a) op(b) + beta c, column-major, `batch` times; in memory of the host.
 * Distances are in elements, those of columns at least 1. */
typedef struct ga_host_product {
  int typecode; /* GA_FLOAT, GA_DOUBLE, GA_CFLOAT or GA_CDOUBLE */
  cb_transpose ta, tb;
  size_t m, n, k, batch;
  double alpha[2], beta[2];
  const char *a, *b;
  char *c;
  ssize_t lda, ldb, ldc, a_step, b_step, c_step;
} ga_host_product;

/* Opens the library if that was not done: the file that GPUARRAY_HOST_BLAS names, else
 * the one that NumPy's or SciPy's wheel carries, else the system's. GA_LOAD_ERROR if
 * there is none. */
int ga__host_blas_open(void);
/* Whether its integers can count this product. */
bool ga__host_blas_counts(const ga_host_product *p);
/* Computes, on the library's own threads, and returns when that is done. The library is
 * open. May be called from several threads at once. */
void ga__host_blas_product(const ga_host_product *p);
/* Adds what was searched and found, a line each. */
void ga__host_blas_report(ga_strbuf *out);

#endif
