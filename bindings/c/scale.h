/* A kernel in C that works on an array which any language has made. */
#ifndef SCALE_H
#define SCALE_H

#include <gpuarray/array.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Multiplies the elements of a C-contiguous float32 array by `factor`, in place.
 * Queued. A status of libgpuarray; the text is gpuarray_error_text(). */
int scale(GpuArray *a, float factor);

#ifdef __cplusplus
}
#endif

#endif
