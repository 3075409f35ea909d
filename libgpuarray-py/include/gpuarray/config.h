/* How the library is compiled and linked: visibility, calling from C++, fixed limits.
 *
 * Words only. Ownership: nothing here is owned. Waiting: none. Failure: none. Threads:
 * nothing is shared. */
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

/* Visibility: put around the declarations of a header, they export what is between; the
 * library is compiled with all else hidden. */
#if defined(__GNUC__) || defined(__clang__)
#define GPUARRAY_SHOW _Pragma("GCC visibility push(default)")
#define GPUARRAY_HIDE _Pragma("GCC visibility pop")
#else
#define GPUARRAY_SHOW
#define GPUARRAY_HIDE
#endif

#ifdef __cplusplus
#define GPUARRAY_BEGIN_DECLS GPUARRAY_SHOW extern "C" {
#define GPUARRAY_END_DECLS                                                             \
  }                                                                                    \
  GPUARRAY_HIDE
#else
#define GPUARRAY_BEGIN_DECLS GPUARRAY_SHOW
#define GPUARRAY_END_DECLS GPUARRAY_HIDE
#endif

#endif
