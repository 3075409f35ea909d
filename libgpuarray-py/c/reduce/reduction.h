/* Internal functions of reductions, for plans and arrays. */
#ifndef GA_C_REDUCTION_H
#define GA_C_REDUCTION_H

#include "c/array/array.h"
#include "c/program/kernel.h"
#include <gpuarray/reduction.h>

/* Sources to prebuild for a plan, as ga__elemwise_sources: all kernels that reducing
 * `axes` of `nd` axes may need, at most 6. */
int ga__reduction_sources(ga_source out[6], unsigned int *n, GpuReduction *gr,
                          unsigned int nd, unsigned int axes);

/* GpuReduction_new with a status. `borrowed`: the context owns the object, which holds
 * no reference to it. */
int ga__reduction_new(GpuReduction **out, gpucontext *ctx,
                      const gpureduction_spec *spec, bool borrowed);

/* The spec it was made from; the strings stay the reduction's. */
void ga__reduction_spec(gpureduction_spec *out, const GpuReduction *gr);

/* The spec of GpuReduction_extremum with its storage. Fails for an unknown `typecode`
 * or `results`. */
typedef struct ga_extremum {
  gpureduction_spec spec;
  gpuelemwise_arg input;
  gpureduction_component components[2];
  gpureduction_result results[2];
  char preamble[800], combine[120];
} ga_extremum;
int ga__extremum_spec(ga_extremum *out, int typecode, bool smallest, int results);

/* The context's cached extremum; borrowed. Thread-safe. */
int ga__extremum_get(GpuReduction **out, gpucontext *ctx, int typecode, bool smallest,
                     int results);

/* GpuReduction_apply over the axes list[0..n), distinct and in range; their order is
 * that of the positions. */
int ga__reduction_apply(GpuReduction *gr, GpuArray *out, void *const *ins,
                        unsigned int n, const unsigned int *list, int keepdims);

#endif
