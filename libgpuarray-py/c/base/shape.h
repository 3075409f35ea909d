/* Pure functions of shapes and strides. No device, no allocation, no global. */
#ifndef GA_C_SHAPE_H
#define GA_C_SHAPE_H

#include "c/base/status.h"
#include <gpuarray/array.h>

/* GA_XLARGE_ERROR if an axis behind the first has a length beyond 32 bits, with advice.
 */
int ga__shape_narrow(unsigned int nd, const size_t *dims, const char *operation,
                     const char *advice);
/* Product of the dimensions in *out; GA_XLARGE_ERROR if it overflows. */
int ga__shape_count(size_t *out, unsigned int nd, const size_t *dims);
/* Bytes of an array of this type and shape; GA_XLARGE_ERROR if it overflows. */
int ga__shape_bytes(size_t *out, int typecode, unsigned int nd, const size_t *dims);
void ga__shape_c_strides(ssize_t *strides, unsigned int nd, const size_t *dims,
                         size_t itemsize);
void ga__shape_f_strides(ssize_t *strides, unsigned int nd, const size_t *dims,
                         size_t itemsize);
/* NumPy's broadcasting of `dims` into the accumulated *out (start with *out_nd 0). */
int ga__shape_broadcast(unsigned int *out_nd, size_t *out, unsigned int nd,
                        const size_t *dims);
/* Drops axes of length 1 and merges adjacent axes that are contiguous in one another in
 * every operand. In place; the order and at least one axis are kept. strides[k] may be
 * NULL (a scalar). */
void ga__shape_collapse(unsigned int n, unsigned int *nd, size_t *dims,
                        ssize_t *const *strides);
/* Strides of a reshaped view, or false if reshaping needs a copy. */
bool ga__shape_reshape_strides(ssize_t *new_strides, unsigned int nd,
                               const size_t *dims, const ssize_t *strides,
                               unsigned int new_nd, const size_t *new_dims,
                               size_t itemsize, ga_order order);
/* Byte range [*low, *high) of the elements, relative to the array's offset; 0, 0 if
 * empty. */
void ga__shape_extent(ptrdiff_t *low, ptrdiff_t *high, unsigned int nd,
                      const size_t *dims, const ssize_t *strides, size_t itemsize);
/* Writes the shape as "(3, 4)", a long one cut with "...", and returns `out`. */
#define GA_SHAPE_TEXT 96
const char *ga__shape_text(char out[GA_SHAPE_TEXT], unsigned int nd,
                           const size_t *dims);

#endif
