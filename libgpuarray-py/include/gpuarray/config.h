/* How the library is compiled and linked: visibility, calling from C++, fixed limits.
 */
#ifndef GPUARRAY_CONFIG_H
#define GPUARRAY_CONFIG_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* cdef: begin */
#define GPUARRAY_API_VERSION 2
#define GPUARRAY_ABI_VERSION 4000
/* cdef: end */

#if defined(__GNUC__) || defined(__clang__)
#define GPUARRAY_PUBLIC __attribute__((visibility("default")))
#else
#define GPUARRAY_PUBLIC
#endif

#ifdef __cplusplus
#define GPUARRAY_BEGIN_DECLS extern "C" {
#define GPUARRAY_END_DECLS }
#else
#define GPUARRAY_BEGIN_DECLS
#define GPUARRAY_END_DECLS
#endif

#endif
