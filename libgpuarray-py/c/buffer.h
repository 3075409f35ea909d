/* Reference-counted device memory. The first two words are the vendor's handle and the
 * context, as consumers of libgpuarray expect. */
#ifndef GA_C_BUFFER_H
#define GA_C_BUFFER_H

#include "c/context.h"

struct _gpudata {
  void *memory; /* CUdeviceptr or cl_mem */
  gpucontext *context;
  atomic_uint references;
  size_t size;       /* bytes asked for */
  size_t block_size; /* bytes the pool gave */
  int flags;
  struct ga_tape
      *tape; /* not NULL: a stand-in of a plan that is being bound; has no memory */
};

/* As gpudata_alloc, with a status. */
int ga__buffer_new(gpudata **out, gpucontext *ctx, size_t size);
/* Sets `size` bytes from `offset`. */
int ga__buffer_fill(gpudata *buffer, size_t offset, unsigned char byte, size_t size);

#endif
