/* Internal functions of elementwise kernels, for plans and copies. */
#ifndef GA_C_ELEMWISE_PRIVATE_H
#define GA_C_ELEMWISE_PRIVATE_H

#include "c/array/array.h"
#include "c/program/kernel.h"
#include <gpuarray/elemwise.h>

#define GA_ELEM_MAX_ARGS 64
#define GA_ELEM_LARGE ((size_t)1 << 22)

/* Sources to prebuild for a plan: the flat kernel and the strided one of `nd` axes,
 * enough for any call with at most `nd` axes and spans below 2^31 elements. (The tiled
 * kernel takes five times as long to compile; it is built when arrays of different
 * order with over GA_ELEM_LARGE elements first come. Until then the strided one
 * serves.) Bit i of `scalars`: input i (not counting outputs) always has one element.
 * Later calls prefer these kernels to compiling better ones. Writes *n sources, at most
 * 4; the caller clears their bodies. */
int ga__elemwise_sources(ga_source out[4], unsigned int *n, GpuElemwise *ge,
                         unsigned int nd, unsigned int scalars);

/* GpuElemwise_new with a status. `borrowed`: the context owns the object, which holds
 * no reference to it. */
int ga__elemwise_new(GpuElemwise **out, gpucontext *ctx, const char *preamble,
                     const char *expr, unsigned int n, const gpuelemwise_arg *args,
                     int flags, bool borrowed);

/* Runs on checked arguments: contexts, types and alignment are right, outputs have
 * shape `dims` and are writable, inputs broadcast to it, and no output endangers an
 * input. */
int ga__elemwise_run(GpuElemwise *ge, void *const *args, unsigned int nd,
                     const size_t *dims);
/* True if an argument is GE_INDEX. */
bool ga__elemwise_has_index(const GpuElemwise *ge);
/* True if writing `out` would overwrite elements of `in` before they are read. */
bool ga__elemwise_endangers(const GpuArray *out, const GpuArray *in);

#endif
