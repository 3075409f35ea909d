/* Places in sorted vectors, by a kernel that plans may record. */
#ifndef GA_C_SEARCH_H
#define GA_C_SEARCH_H

#include "c/array/array.h"

/* Where each element of `v` would be put in the vector `a` so that it stays sorted:
 * a new int64 array; the first such place, or the last one of `right`. Both have one
 * real type; nan comes after all numbers. */
int ga__search(GpuArray *out, const GpuArray *a, const GpuArray *v, bool right);

#endif
