/* Positions of elements that are not zero, for plans. */
#ifndef GA_C_MASK_H
#define GA_C_MASK_H

#include <gpuarray/array.h>

/* GpuArray_nonzero without its wait: a new int64 array (axes of a, elements of a),
 * whose rows begin with the positions; what is behind these is undefined. */
int ga__nonzero_bounded(GpuArray *out, const GpuArray *a);

#endif
