/* Factorizations of stacks of matrices by kernels of our own, which plans may record:
 * an item of work does a matrix. Slower than a vendor's library for single large ones,
 * and there on every device. */
#ifndef GA_C_MATRICES_H
#define GA_C_MATRICES_H

#include "c/array/array.h"
#include "c/program/kernel.h"

enum ga_matrices_kind {
  GA_MATRICES_SOLVE,    /* a, b (or a alone: the inverse): x */
  GA_MATRICES_DET,      /* a: its determinant */
  GA_MATRICES_CHOLESKY, /* a: the lower factor; one triangle is read */
  GA_MATRICES_QR,       /* a: q, r, and the reflectors: h, tau */
  GA_MATRICES_EIGH,     /* a: values, vectors; one triangle is read */
  GA_MATRICES_SVD,      /* a: u, s, vh */
  GA_MATRICES_PINV,     /* a: the pseudo-inverse */
  GA_MATRICES_EXPM,     /* a: the exponential */
  GA_MATRICES_EIG,      /* a, complex: values, vectors */
  GA_MATRICES_N
};

/* What `flags` says. */
enum {
  GA_MATRICES_LOWER = 1,    /* solve: zeros above the diagonal */
  GA_MATRICES_UPPER = 2,    /* solve: zeros below it; eigh: the triangle that is read */
  GA_MATRICES_NAN = 4,      /* cholesky: nan where there is no factor; not reported */
  GA_MATRICES_FULL = 8,     /* qr, svd: square factors */
  GA_MATRICES_IDENTITY = 16 /* solve: what is asked for are the inverses */
};

enum { GA_MATRICES_ARRAYS = 5 }; /* that a kernel takes */

/* A kernel's: bytes of a key, so padding is zero. */
typedef struct ga_matrices_spec {
  unsigned char kind, typecode;
} ga_matrices_spec;

typedef struct ga_matrices_call {
  enum ga_matrices_kind kind;
  unsigned int flags;
  double cutoff;       /* pinv: of the largest singular value; below 0: by rounding */
  const char *failure; /* of a matrix, for the text of GA_LINALG_ERROR */
} ga_matrices_call;

/* Fills in new arrays of a stack `ins[0]` (batch, m, n) of floats or doubles or complex
 * numbers of these, of which singular values and those of eigh are real; and of
 * `ins[1]` (batch, n, k). GA_INVALID_ERROR and GA_VALUE_ERROR for others. */
int ga__matrices_run(GpuArray **outs, unsigned int n_out, const GpuArray **ins,
                     unsigned int n_in, const ga_matrices_call *call);
/* The type of an element's real part. */
static inline int ga__matrices_real(int typecode) {
  return typecode == GA_CDOUBLE  ? GA_DOUBLE
         : typecode == GA_CFLOAT ? GA_FLOAT
                                 : typecode;
}
int ga__matrices_source(ga_source *out, const gpucontext *ctx, const void *spec);

#endif
