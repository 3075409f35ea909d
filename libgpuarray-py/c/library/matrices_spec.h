/* Batched factorizations by our own kernels, so that plans can record them: a work item
 * per matrix. On every device; slower than a vendor's library for single large
 * matrices. */
#ifndef GA_C_MATRICES_SPEC_H
#define GA_C_MATRICES_SPEC_H

#include "c/array/array.h"
#include "c/program/kernel.h"

enum ga_matrices_kind {
  GA_MATRICES_SOLVE,    /* a, b: x; a alone: the inverse */
  GA_MATRICES_DET,      /* a: determinant */
  GA_MATRICES_CHOLESKY, /* a: lower factor; reads one triangle */
  GA_MATRICES_QR,       /* a: q, r, and Householder reflectors h, tau */
  GA_MATRICES_EIGH,     /* a: eigenvalues, eigenvectors; reads one triangle */
  GA_MATRICES_SVD,      /* a: u, s, vh */
  GA_MATRICES_PINV,     /* a: pseudo-inverse */
  GA_MATRICES_EXPM,     /* a: exponential */
  GA_MATRICES_EIG,      /* a, complex: eigenvalues, eigenvectors */
  GA_MATRICES_N
};

/* Bits of `flags`. */
enum {
  GA_MATRICES_LOWER = 1,    /* solve: lower triangular */
  GA_MATRICES_UPPER = 2,    /* solve: upper triangular; eigh: reads that triangle */
  GA_MATRICES_NAN = 4,      /* cholesky: NaN instead of an error */
  GA_MATRICES_FULL = 8,     /* qr, svd: square factors */
  GA_MATRICES_IDENTITY = 16 /* solve: inverse */
};

enum { GA_MATRICES_ARRAYS = 5 }; /* of a kernel */

/* Specialization; compared as bytes, padding is zero. */
typedef struct ga_matrices_spec {
  unsigned char kind, typecode;
} ga_matrices_spec;

typedef struct ga_matrices_call {
  enum ga_matrices_kind kind;
  unsigned int flags;
  double cutoff; /* pinv: relative to the largest singular value; negative: default */
  const char *failure; /* text of GA_LINALG_ERROR */
} ga_matrices_call;

/* Fills `outs` with new arrays, from a stack ins[0] (batch, m, n) and possibly ins[1]
 * (batch, n, k), in float, double or their complex types; singular values and eigh's
 * eigenvalues are real. GA_INVALID_ERROR or GA_VALUE_ERROR otherwise. */
int ga__matrices_run(GpuArray **outs, unsigned int n_out, const GpuArray **ins,
                     unsigned int n_in, const ga_matrices_call *call);
/* Type of the real part. */
static inline int ga__matrices_real(int typecode) {
  return typecode == GA_CDOUBLE  ? GA_DOUBLE
         : typecode == GA_CFLOAT ? GA_FLOAT
                                 : typecode;
}
int ga__matrices_source(ga_source *out, const gpucontext *ctx, const void *spec);

#endif
