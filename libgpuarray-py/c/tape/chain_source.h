/* The text of a chain: several kernels as functions of one, which calls them in the
 * order of a table. */
#ifndef GA_C_CHAIN_SOURCE_H
#define GA_C_CHAIN_SOURCE_H

#include "c/program/kernel.h"

#define GA_CHAIN_KERNELS 16 /* most kernels of a chain */
#define GA_CHAIN_BUFFERS                                                               \
  48 /* most buffers: an OpenCL launch has 1 KiB of arguments                          \
      */
#define GA_CHAIN_TEXT (1 << 16) /* most characters */

/* True if a kernel can be a function of a chain: closed, and without dynamic local
 * memory. */
bool ga__chain_takes(const gpukernel *k);

/* Source of the chain of `n` kernels over `n_buffers` buffers. Its arguments: the table
 * (ga_ulong words), the number of calls, then the pointer and byte offset of each
 * buffer. A call is the number of its kernel and a word for each argument: the number
 * of a buffer, an offset, or a number's bytes. */
int ga__chain_source(ga_source *out, unsigned int n, gpukernel *const *kernels,
                     const ga_launch *const *launches, unsigned int n_buffers);

#endif
