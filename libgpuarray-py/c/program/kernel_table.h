/* Kernels that a context keeps by what they are made of, found without a lock. */
#ifndef GA_C_KERNEL_TABLE_H
#define GA_C_KERNEL_TABLE_H

#include "c/program/kernel.h"

/* Writes the source that `spec` describes; the caller clears its body. */
typedef int (*ga_make_source)(ga_source *out, const gpucontext *ctx, const void *spec);

/* The kernel that `make` writes for these `size` bytes of `spec`, compiled when it is
 * first asked for. Bytes are compared, so padding must be zero. The context keeps the
 * kernel; the caller borrows it. Thread-safe. */
int ga__kernel_kept(gpukernel **out, gpucontext *ctx, ga_make_source make,
                    const void *spec, size_t size);

#endif
