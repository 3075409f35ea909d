/* Internal functions of arrays. */
#ifndef GA_C_ARRAY_H
#define GA_C_ARRAY_H

#include <string.h>

#include "c/base/dtype.h"
#include "c/base/shape.h"
#include "c/device/buffer.h"

/* Number of elements; cannot overflow. */
size_t ga__array_count(const GpuArray *a);
/* Byte range of the elements in the buffer, [*low, *high). */
void ga__array_extent(size_t *low, size_t *high, const GpuArray *a);
/* GA_VALUE_ERROR unless both live on one context. */
int ga__array_same_context(const GpuArray *a, const GpuArray *b, const char *operation);
/* GA_VALUE_ERROR unless elements of `a` may be written. */
int ga__array_writeable(const GpuArray *a, const char *operation);
/* GA_INVALID_ERROR for another type or context, GA_UNALIGNED_ERROR; "sort: the keys
 * ...". */
int ga__array_fits(const GpuArray *a, gpucontext *ctx, int typecode,
                   const char *operation, const char *role);
/* Entry check of every operation: GA_VALUE_ERROR unless `a` is not NULL, not cleared,
 * rank and type are in range, all elements are in the buffer, and the flags hold. */
int ga__array_check(const GpuArray *a, const char *operation);
/* Makes *r a view with the metadata in `made`. */
int ga__array_give_view(GpuArray *r, GpuArray *made, const char *operation);
/* Fails unless `a` is contiguous (C or F) and has at least `given` bytes. */
int ga__array_check_block(const GpuArray *a, size_t given, const char *operation);
/* True if both begin at the same byte. */
bool ga__array_same_start(const GpuArray *a, const GpuArray *b);
/* True if both have the same elements at the same addresses. */
bool ga__array_same_place(const GpuArray *a, const GpuArray *b);
bool ga__array_same_shape(const GpuArray *a, const GpuArray *b);
static inline bool ga__array_has_shape(const GpuArray *a, unsigned int nd,
                                       const size_t *dims) {
  return a->nd == nd &&
         (nd == 0 || memcmp(a->dimensions, dims, nd * sizeof *dims) == 0);
}
/* Moves a result to *out, or clears it after a failure. Returns `status`. */
int ga__array_return(GpuArray *out, GpuArray *result, int status);
/* "float32 (3, 4)", for messages. Returns `out`. */
#define GA_ARRAY_TEXT 128
const char *ga__array_text(char out[GA_ARRAY_TEXT], const GpuArray *a);

#endif
