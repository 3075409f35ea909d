/* searchsorted, by a kernel, so that plans can record it. */
#ifndef GA_C_SEARCH_H
#define GA_C_SEARCH_H

#include "c/array/array.h"

/* Insertion points of the elements of `v` into the sorted vector `a`: a new int64
 * array; the leftmost, or the rightmost if `right`. Both have one real type; NaN comes
 * last. */
int ga__search(GpuArray *out, const GpuArray *a, const GpuArray *v, bool right);

#endif
