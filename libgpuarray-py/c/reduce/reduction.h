/* What plans and arrays need of reductions beyond the public functions. */
#ifndef GA_C_REDUCTION_H
#define GA_C_REDUCTION_H

#include "c/array/array.h"
#include "c/program/kernel.h"
#include <gpuarray/reduction.h>

/* As ga__elemwise_sources: every kernel that reducing the axes `axes` of `nd` may need.
 * At most 6. */
int ga__reduction_sources(ga_source out[6], unsigned int *n, GpuReduction *gr,
                          unsigned int nd, unsigned int axes);

/* As GpuReduction_new, with a status. `borrowed`: the context owns the object, which
 * does not keep it alive. */
int ga__reduction_new(GpuReduction **out, gpucontext *ctx,
                      const gpureduction_spec *spec, bool borrowed);

/* What it was made from. The texts are the reduction's. */
void ga__reduction_spec(gpureduction_spec *out, const GpuReduction *gr);

/* The spec of GpuReduction_extremum, and what it points to. Fails where `typecode` is
 * no dtype or `results` no choice. */
typedef struct ga_extremum {
  gpureduction_spec spec;
  gpuelemwise_arg input;
  gpureduction_component components[2];
  gpureduction_result results[2];
  char preamble[800], combine[120];
} ga_extremum;
int ga__extremum_spec(ga_extremum *out, int typecode, bool smallest, int results);

/* The one that the context keeps; the caller borrows it. Thread-safe. */
int ga__extremum_get(GpuReduction **out, gpucontext *ctx, int typecode, bool smallest,
                     int results);

/* GpuReduction_apply over the axes list[0..n), distinct and in range, whose order is
 * that of the positions that the map sees. */
int ga__reduction_apply(GpuReduction *gr, GpuArray *out, void *const *ins,
                        unsigned int n, const unsigned int *list, int keepdims);

#endif
