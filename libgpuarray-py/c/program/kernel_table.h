/* Kernels by specialization, per context; lock-free look-up. */
#ifndef GA_C_KERNEL_TABLE_H
#define GA_C_KERNEL_TABLE_H

#include "c/program/kernel.h"

/* Generates the source for `spec`; the caller clears its body. */
typedef int (*ga_make_source)(ga_source *out, const gpucontext *ctx, const void *spec);

/* The kernel that `make` generates for `spec` (`size` bytes), compiled at first use.
 * Specs are compared as bytes: zero the padding. The context owns the kernel; the
 * caller borrows it. Thread-safe. */
int ga__kernel_kept(gpukernel **out, gpucontext *ctx, ga_make_source make,
                    const void *spec, size_t size);

#endif
