/* Pure functions of shapes and strides. No device, no allocation, no global. */
#ifndef GA_C_SHAPE_H
#define GA_C_SHAPE_H

#include "c/base/status.h"
#include <gpuarray/array.h>

/* Product of the dimensions in *out; GA_XLARGE_ERROR if it overflows. */
int ga__shape_count(size_t *out, unsigned int nd, const size_t *dims);
/* The bytes of so many elements of a type; GA_XLARGE_ERROR as well. */
int ga__shape_bytes(size_t *out, int typecode, unsigned int nd, const size_t *dims);
void ga__shape_c_strides(ssize_t *strides, unsigned int nd, const size_t *dims,
                         size_t itemsize);
void ga__shape_f_strides(ssize_t *strides, unsigned int nd, const size_t *dims,
                         size_t itemsize);
/* NumPy's broadcasting of `dims` into the accumulated *out (start with *out_nd 0). */
int ga__shape_broadcast(unsigned int *out_nd, size_t *out, unsigned int nd,
                        const size_t *dims);
/* Drops axes of length 1 and merges neighbouring axes that every operand walks as one;
 * order is kept. strides[k] may be NULL (a scalar). At least one axis stays. In place.
 */
void ga__shape_collapse(unsigned int n, unsigned int *nd, size_t *dims,
                        ssize_t *const *strides);
/* Strides of a reshaped view, or false where only a copy will do. */
bool ga__shape_reshape_strides(ssize_t *new_strides, unsigned int nd,
                               const size_t *dims, const ssize_t *strides,
                               unsigned int new_nd, const size_t *new_dims,
                               size_t itemsize, ga_order order);
/* Byte range [*low, *high) that the elements lie in, relative to the array's offset;
 * empty arrays give 0, 0. */
void ga__shape_extent(ptrdiff_t *low, ptrdiff_t *high, unsigned int nd,
                      const size_t *dims, const ssize_t *strides, size_t itemsize);
/* "(3, 4)" into `out`; long shapes are cut with "...". Gives `out` back. */
#define GA_SHAPE_TEXT 96
const char *ga__shape_text(char out[GA_SHAPE_TEXT], unsigned int nd,
                           const size_t *dims);

#endif
