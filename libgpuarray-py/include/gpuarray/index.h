/* Elements picked by index arrays and masks.
 *
 * Every operand may have any layout; none is copied to be read. Indices are of any
 * integer type; -1 is the last element, as in NumPy. Ownership: functions that make an
 * array fill *out, which the caller clears, and leave it as it was on failure. Waiting:
 * only what depends on the count of a mask waits, and says so; such a function refuses
 * the arrays of a plan that is being bound (GA_UNSUPPORTED_ERROR). Failure: a status,
 * with outputs untouched. Threads: as for GpuArray.
 *
 * An index out of bounds does not wait to be found: the next wait or read on the
 * context fails once with GA_INDEX_ERROR, and the text names operation, index and
 * length. The element that belongs to such an index is not written: one of a new array
 * is undefined. */
#ifndef GPUARRAY_INDEX_H
#define GPUARRAY_INDEX_H

#include <gpuarray/array.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
/* What an index out of bounds does: fails, counts round and round, or stops at the
 * ends. */
#define GA_INDEX_RAISE 0
#define GA_INDEX_WRAP 1
#define GA_INDEX_CLIP 2

/* A new C-contiguous array, a[..., i, ...]: `n` index arrays, which broadcast together,
 * stand in place of as many neighbouring axes from `first_axis` on. Its shape is that
 * of `a` with the broadcast shape in their place; one index array is numpy.take.
 * GA_VALUE_ERROR for axes that `a` lacks, or other contexts; GA_INVALID_ERROR for
 * indices that are no integers; GA_INDEX_ERROR for indices whose shapes do not
 * broadcast, and for any index into an axis of length 0. No element in the result: no
 * index is looked at. */
int GpuArray_take(GpuArray *out, const GpuArray *a, unsigned int n,
                  const GpuArray *const *indices, unsigned int first_axis, int mode);
/* a[..., i, ...] = v, with NumPy's broadcasting and conversion of `v`, which may be a
 * part of `a`. Where an index is repeated, the last one in C order wins. Fails as
 * GpuArray_take, and with GA_VALUE_ERROR if `a` is read-only; GA_XLARGE_ERROR for 2^31
 * and more indices at once, unless `v` is the same for all of them. */
int GpuArray_put(GpuArray *a, unsigned int n, const GpuArray *const *indices,
                 unsigned int first_axis, const GpuArray *v, int mode);
/* Beside a mode of add_at: float32 and float64 are added in any order, which is faster
 * and gives other last bits each time. */
#define GA_ADD_AT_ANY_ORDER 0x10

/* a[..., i, ...] += v, in which what belongs to a repeated index is summed up: in an
 * order that the indices tell, so that floats have the same bits each time. `v` is
 * converted to the type of `a` first; float16 and bfloat16 are summed in float32 and
 * rounded once. `mode` may have GA_ADD_AT_ANY_ORDER. Fails as GpuArray_put, and with
 * GA_XLARGE_ERROR for nearly 2^32 and more indices at once, unless integers of 32 or 64
 * bits are added. */
int GpuArray_add_at(GpuArray *a, unsigned int n, const GpuArray *const *indices,
                    unsigned int first_axis, const GpuArray *v, int mode);

/* How many elements are not zero. Waits. */
int GpuArray_count_nonzero(size_t *count, const GpuArray *a);
/* Where they are, in C order: a new int64 array of shape (axes of a, count), whose row
 * k has the positions along axis k. Waits. */
int GpuArray_nonzero(GpuArray *out, const GpuArray *a);
/* A new array, a[mask]: the mask, bool of any rank from 1 on, stands in place of the
 * first axes of `a`, which have its shape; one axis as long as its count comes instead.
 * GA_VALUE_ERROR for another shape, GA_INVALID_ERROR for another type. Waits. */
int GpuArray_compress(GpuArray *out, const GpuArray *a, const GpuArray *mask);
/* a[mask] = v. A `v` with no more axes than `a` has beyond the mask broadcasts to each
 * place and is not waited for; a larger one gives its values in order along its first
 * axis, as many as the mask counts (or one), and waits. Fails as GpuArray_compress, and
 * with GA_VALUE_ERROR if `a` is read-only or `v` has another number of values. */
int GpuArray_put_mask(GpuArray *a, const GpuArray *mask, const GpuArray *v);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
