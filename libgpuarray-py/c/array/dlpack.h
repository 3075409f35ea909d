/* DLPack's dtypes, for those who exchange tensors. */
#ifndef GA_C_DLPACK_H
#define GA_C_DLPACK_H

#include <gpuarray/dlpack.h>

/* The typecode of a DLPack dtype; GA_INVALID_ERROR for one that no array has. */
int ga__dlpack_typecode(int *out, DLDataType dtype, const char *operation);

#endif
