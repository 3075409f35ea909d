/* DLPack's dtypes and streams. */
#ifndef GA_C_DLPACK_H
#define GA_C_DLPACK_H

#include <gpuarray/dlpack.h>

/* The typecode of a DLPack dtype; GA_INVALID_ERROR if arrays have none. */
int ga__dlpack_typecode(int *out, DLDataType dtype, const char *operation);
/* Later work on the buffer waits for `stream`, and for what this thread's queue waits
 * for already. */
int ga__dlpack_follow(gpudata *data, intptr_t stream, const char *operation);

#endif
