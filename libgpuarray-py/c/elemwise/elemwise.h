/* What plans and copies need of elementwise kernels beyond the public functions. */
#ifndef GA_C_ELEMWISE_H
#define GA_C_ELEMWISE_H

#include "c/array/array.h"
#include "c/program/kernel.h"
#include <gpuarray/elemwise.h>

#define GA_ELEM_MAX_ARGS 64
#define GA_ELEM_LARGE ((size_t)1 << 22)

/* The sources of the kernels that a call may need when its arrays have `nd` axes at
 * most and span under 2^31 elements, whatever their shapes: the flat one and the
 * strided one of `nd` axes. (A tiled one, five times as long to compile, is made when
 * arrays in different orders and of over GA_ELEM_LARGE elements first come; until then
 * the strided one serves them.) Bit i of `scalars` says that input i (of the arguments
 * that are not outputs, counted from 0) has one element in every call. From then on
 * calls prefer these kernels to compiling better ones. A source that does not exist is
 * left out; *n is how many were written, at most 4. The caller clears the bodies. */
int ga__elemwise_sources(ga_source out[4], unsigned int *n, GpuElemwise *ge,
                         unsigned int nd, unsigned int scalars);

/* As GpuElemwise_new, with a status. `borrowed`: the context owns the object, which
 * does not keep it alive. */
int ga__elemwise_new(GpuElemwise **out, gpucontext *ctx, const char *preamble,
                     const char *expr, unsigned int n, const gpuelemwise_arg *args,
                     int flags, bool borrowed);

/* Runs it on arguments that the caller has checked: contexts, types and alignment are
 * right, outputs have the shape `dims` and may be written, inputs broadcast to it, and
 * no output endangers an input. */
int ga__elemwise_run(GpuElemwise *ge, void *const *args, unsigned int nd,
                     const size_t *dims);
/* Whether writing to `out` would change elements of `in` before they are read. */
bool ga__elemwise_endangers(const GpuArray *out, const GpuArray *in);

#endif
