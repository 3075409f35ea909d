/* BLAS of the host (OpenBLAS, MKL, BLIS), opened at run time. */
#ifndef GA_C_HOST_BLAS_H
#define GA_C_HOST_BLAS_H

#include "c/base/strbuf.h"
#include <gpuarray/blas.h>

/* GEMM in host memory: c = alpha op(a) op(b) + beta c, column-major, `batch` times.
 * Leading dimensions (at least 1) and steps are in elements. */
typedef struct ga_host_product {
  int typecode; /* GA_FLOAT, GA_DOUBLE, GA_CFLOAT or GA_CDOUBLE */
  cb_transpose ta, tb;
  size_t m, n, k, batch;
  double alpha[2], beta[2];
  const char *a, *b;
  char *c;
  ssize_t lda, ldb, ldc, a_step, b_step, c_step;
} ga_host_product;

/* Opens the library once: GPUARRAY_HOST_BLAS, else NumPy's or SciPy's wheel, else the
 * system's. GA_LOAD_ERROR if there is none. */
int ga__host_blas_open(void);
/* True if the sizes fit the library's integers. */
bool ga__host_blas_counts(const ga_host_product *p);
/* Computes on the library's own threads and returns when done. The library must be
 * open. Thread-safe. */
void ga__host_blas_product(const ga_host_product *p);
/* Adds the search report, a line for each attempt. */
void ga__host_blas_report(ga_strbuf *out);

#endif
