/* nonzero for plans. */
#ifndef GA_C_MASK_H
#define GA_C_MASK_H

#include <gpuarray/array.h>

/* GpuArray_nonzero without a wait: a new int64 array (axes of a, elements of a) whose
 * rows begin with the indices; the rest is undefined. */
int ga__nonzero_bounded(GpuArray *out, const GpuArray *a);

#endif
