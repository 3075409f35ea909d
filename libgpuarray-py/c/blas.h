/* What plans need of matrix products beyond the public functions. */
#ifndef GA_C_BLAS_H
#define GA_C_BLAS_H

#include "c/array.h"
#include "c/kernel.h"

/* The kernels of ours that gemm or gemv of this type may need on this context: none for
 * a gemm that the vendor's library computes. At most 4. */
int ga__blas_sources(ga_source out[4], unsigned int *n, gpucontext *ctx, int typecode,
                     bool matrix);

#endif
