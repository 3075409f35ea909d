/* What plans need of reductions beyond the public functions. */
#ifndef GA_C_REDUCTION_H
#define GA_C_REDUCTION_H

#include "c/array.h"
#include "c/kernel.h"
#include <gpuarray/reduction.h>

/* As ga__elemwise_sources: every kernel that reducing the axes `axes` of `nd` may need.
 * At most 6. */
int ga__reduction_sources(ga_source out[6], unsigned int *n, GpuReduction *gr,
                          unsigned int nd, unsigned int axes);

#endif
