/* DLPack's dtypes and streams, for those who exchange tensors. */
#ifndef GA_C_DLPACK_H
#define GA_C_DLPACK_H

#include <gpuarray/dlpack.h>

/* The typecode of a DLPack dtype; GA_INVALID_ERROR for one that no array has. */
int ga__dlpack_typecode(int *out, DLDataType dtype, const char *operation);
/* All work on a buffer from now on waits for `stream`, and for what this thread's queue
 * was told to wait for before. */
int ga__dlpack_follow(gpudata *data, intptr_t stream, const char *operation);

#endif
