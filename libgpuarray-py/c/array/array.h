/* What files of c/ share about arrays beyond the public functions. */
#ifndef GA_C_ARRAY_H
#define GA_C_ARRAY_H

#include "c/base/dtype.h"
#include "c/base/shape.h"
#include "c/device/buffer.h"

/* Elements of an array, known not to overflow. */
size_t ga__array_count(const GpuArray *a);
/* Byte range of the elements in the buffer, [*low, *high). */
void ga__array_extent(size_t *low, size_t *high, const GpuArray *a);
/* GA_VALUE_ERROR unless both live on one context. */
int ga__array_same_context(const GpuArray *a, const GpuArray *b, const char *operation);
/* GA_VALUE_ERROR unless elements of `a` may be written. */
int ga__array_writeable(const GpuArray *a, const char *operation);
/* GA_VALUE_ERROR unless `a` is an array that can be worked with: not NULL, not cleared,
 * rank and type in range, all elements in its buffer, no flag that is not true. The
 * door of every operation that looks at elements or at axes. */
int ga__array_check(const GpuArray *a, const char *operation);
/* Makes `made`, whose metadata is ready, a view of its buffer in *r. */
int ga__array_give_view(GpuArray *r, GpuArray *made, const char *operation);
/* GA_NO_ERROR if `a` is one block of at least `given` bytes. */
int ga__array_check_block(const GpuArray *a, size_t given, const char *operation);
/* Whether both begin with the same byte. */
bool ga__array_same_start(const GpuArray *a, const GpuArray *b);
/* Whether both have the same elements in the same bytes. */
bool ga__array_same_place(const GpuArray *a, const GpuArray *b);
bool ga__array_same_shape(const GpuArray *a, const GpuArray *b);
/* Whether both put their elements in the same places; the shapes are the same. */
bool ga__array_same_layout(const GpuArray *a, const GpuArray *b);
/* "float32 (3, 4)", for messages. Gives `out` back. */
#define GA_ARRAY_TEXT 128
const char *ga__array_text(char out[GA_ARRAY_TEXT], const GpuArray *a);

#endif
