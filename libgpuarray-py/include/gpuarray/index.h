/* Advanced indexing: elements selected by index arrays and masks.
 *
 * Operands may have any layout; none is copied to be read. Indices are of any integer
 * type; -1 is the last element, as in NumPy. Ownership: functions that make an array
 * fill *out, which the caller clears, and leave it unchanged on failure. Waiting: only
 * functions that depend on the count of a mask wait, as they say; they refuse arrays of
 * a plan that is being bound (GA_UNSUPPORTED_ERROR). Failure: a status, with outputs
 * untouched. Threads: as for GpuArray.
 *
 * An index out of bounds is found by the kernel: the next wait or read on the context
 * fails once with GA_INDEX_ERROR, whose text names operation, index and length. The
 * element of such an index is not written; in a new array it is undefined. */
#ifndef GPUARRAY_INDEX_H
#define GPUARRAY_INDEX_H

#include <gpuarray/array.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
/* Modes for an index out of bounds: fail, wrap around, or clip to the ends. */
#define GA_INDEX_RAISE 0
#define GA_INDEX_WRAP 1
#define GA_INDEX_CLIP 2

/* Makes a[..., i, ...], C-contiguous: `n` index arrays, broadcast together, replace as
 * many neighbouring axes from `first_axis` on; the broadcast shape takes their place.
 * One index array is numpy.take. GA_VALUE_ERROR for axes that `a` lacks, or other
 * contexts; GA_INVALID_ERROR for indices that are not integers; GA_INDEX_ERROR for
 * indices whose shapes do not broadcast, and for any index into an axis of length 0. An
 * empty result checks no index. */
int GpuArray_take(GpuArray *out, const GpuArray *a, unsigned int n,
                  const GpuArray *const *indices, unsigned int first_axis, int mode);
/* a[..., i, ...] = v, where `v` is broadcast and converted as in NumPy and may overlap
 * `a`. Of repeated indices the last in C order wins. Fails as GpuArray_take, and with
 * GA_VALUE_ERROR if `a` is read-only; GA_XLARGE_ERROR for 2^31 or more indices at once,
 * unless `v` is the same for all of them. */
int GpuArray_put(GpuArray *a, unsigned int n, const GpuArray *const *indices,
                 unsigned int first_axis, const GpuArray *v, int mode);
/* A flag beside the mode of add_at: atomic adds of float32 and float64 in any order,
 * which is faster; the last bits vary. */
#define GA_ADD_AT_ANY_ORDER 0x10

/* a[..., i, ...] += v, a scatter-add: values of repeated indices are summed, in an
 * order that depends on the indices alone, so that floats are deterministic. `v` is
 * first converted to the type of `a`; float16 and bfloat16 are summed in float32 and
 * rounded once. `mode` may have GA_ADD_AT_ANY_ORDER. Fails as GpuArray_put, and with
 * GA_XLARGE_ERROR for nearly 2^32 or more indices at once, unless integers of 32 or 64
 * bits are added. */
int GpuArray_add_at(GpuArray *a, unsigned int n, const GpuArray *const *indices,
                    unsigned int first_axis, const GpuArray *v, int mode);

/* Counts the elements that are not zero. Waits. */
int GpuArray_count_nonzero(size_t *count, const GpuArray *a);
/* Positions of the elements that are not zero, in C order: a new int64 array of shape
 * (axes of a, count), whose row k has the positions along axis k. Waits. */
int GpuArray_nonzero(GpuArray *out, const GpuArray *a);
/* Makes a[mask]: the mask, bool of rank 1 or more, has the shape of the first axes of
 * `a`; one axis, as long as the mask's count, replaces them. GA_VALUE_ERROR for another
 * shape, GA_INVALID_ERROR for another type. Waits. */
int GpuArray_compress(GpuArray *out, const GpuArray *a, const GpuArray *mask);
/* a[mask] = v. A `v` with no more axes than `a` has after the mask broadcasts, without
 * a wait; a larger one has one value, or as many as the mask counts, along its first
 * axis, and waits. Fails as GpuArray_compress, and with GA_VALUE_ERROR if `a` is
 * read-only or `v` has another number of values. */
int GpuArray_put_mask(GpuArray *a, const GpuArray *mask, const GpuArray *v);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
