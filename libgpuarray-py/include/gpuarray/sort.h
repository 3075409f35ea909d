/* Sort, argsort and top-k along one axis of an array of any layout.
 *
 * The order is NumPy's: nan after all numbers, -0.0 equal to 0.0, complex numbers by
 * real, then by imaginary part. All sorts are stable and deterministic: the same input
 * and device give the same bits. An axis may have 2^32 - 2^20 elements
 * (GA_XLARGE_ERROR).
 *
 * Ownership: arrays are borrowed, the results too. Waiting: nothing waits. Threads:
 * functions may be called from several at once. Failure: with every result untouched,
 * GA_INVALID_ERROR (typecodes, contexts, flags), GA_VALUE_ERROR (shapes, no such axis,
 * 0-d, a read-only result), GA_UNALIGNED_ERROR, GA_DEVSUP_ERROR, GA_MEMORY_ERROR. */
#ifndef GPUARRAY_SORT_H
#define GPUARRAY_SORT_H

#include <gpuarray/array.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
#define GA_SORT_DESCENDING 0x1 /* largest first, nan before all numbers */
/* argsort: the keys are random bits, GA_ULONG. The result is the same, and takes longer
 * where many keys have equal upper halves. */
#define GA_SORT_RANDOM 0x2

/* Sorts `a` along `axis` (negative counts from the last) into `out`, of the same type
 * and shape and any layout; it may be `a` or overlap it. */
int GpuArray_sort(GpuArray *out, const GpuArray *a, int axis, int flags);
/* Indices along the axis, GA_LONG, that sort `a`. `out` has the shape of `a`. */
int GpuArray_argsort(GpuArray *out, const GpuArray *a, int axis, int flags);
/* Sorts `keys` and permutes `values`, of any type and the same shape, alike. Each
 * result has the type of its input and may be that array. */
int GpuArray_sort_pairs(GpuArray *out_keys, GpuArray *out_values, const GpuArray *keys,
                        const GpuArray *values, int axis, int flags);
/* Writes the `k` largest elements along the axis (smallest, if `largest` is 0) to
 * `values` and their indices to `indices` (GA_LONG); either may be NULL. Of equal
 * elements the lowest indices are taken; nan counts as largest. Results are always in
 * order, best first; `sorted` is ignored. They have the shape of `a` with `k` for the
 * axis and do not overlap it. GA_VALUE_ERROR if k is more than the length of the axis.
 */
int GpuArray_topk(GpuArray *values, GpuArray *indices, const GpuArray *a, size_t k,
                  int axis, int largest, int sorted);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
