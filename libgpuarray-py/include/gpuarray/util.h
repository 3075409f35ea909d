/* Questions about element types, and helpers that need no device. */
#ifndef GPUARRAY_UTIL_H
#define GPUARRAY_UTIL_H

#include <gpuarray/config.h>
#include <gpuarray/types.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
/* The description of a type. Never NULL: an unknown code gives an entry with typecode
 * -1, size 0 and no name. Static. */
const gpuarray_type *gpuarray_get_type(int typecode);

/* Bytes of one element; 0 for an unknown code. */
size_t gpuarray_get_elsize(int typecode);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
