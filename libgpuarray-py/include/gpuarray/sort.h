/* Sorting along one axis of an array of any layout.
 *
 * The order is NumPy's: nan after all numbers, -0.0 equal to 0.0, complex numbers by
 * their real part, then by their imaginary one. All sorts are stable and give the same
 * bits for the same input and device. An axis may have 2^32 - 2^20 elements
 * (GA_XLARGE_ERROR).
 *
 * Ownership: arrays are borrowed; new ones are the caller's. Waiting: nothing waits.
 * Threads: functions may be called from several at once. Failure: with every result
 * untouched, GA_INVALID_ERROR (typecodes, contexts, flags), GA_VALUE_ERROR
 * (shapes, no such axis, 0-d, a read-only result), GA_UNALIGNED_ERROR, GA_DEVSUP_ERROR,
 * GA_MEMORY_ERROR. */
#ifndef GPUARRAY_SORT_H
#define GPUARRAY_SORT_H

#include <gpuarray/array.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
#define GA_SORT_DESCENDING 0x1 /* the other way round; nan then comes first */

/* The elements of `a` in order along `axis` (negative: from the last) into `out`, of
 * the same type and shape and any layout; it may be `a` or overlap it. */
int GpuArray_sort(GpuArray *out, const GpuArray *a, int axis, int flags);
/* Places along the axis, GA_LONG, that would sort `a`. `out` has its shape. */
int GpuArray_argsort(GpuArray *out, const GpuArray *a, int axis, int flags);
/* Sorts keys and moves `values`, of any type and the shape of `keys`, with them. The
 * results have the types of what they come from; each may be that array. */
int GpuArray_sort_pairs(GpuArray *out_keys, GpuArray *out_values, const GpuArray *keys,
                        const GpuArray *values, int axis, int flags);
/* The `k` largest elements along the axis (or smallest, if `largest` is 0) into
 * `values`, and their places into `indices` (GA_LONG); either may be NULL. Of equal
 * elements those with the smallest places are taken; nan counts as largest. Results are
 * in order, the first one first, whether or not `sorted` asks for it. They have the
 * shape of `a` with `k` for the axis and do not overlap it. GA_VALUE_ERROR where k is
 * more than the axis has. */
int GpuArray_topk(GpuArray *values, GpuArray *indices, const GpuArray *a, size_t k,
                  int axis, int largest, int sorted);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
