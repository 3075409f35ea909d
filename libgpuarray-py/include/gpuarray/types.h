/* Element types. The codes are libgpuarray's; the values never change. */
#ifndef GPUARRAY_TYPES_H
#define GPUARRAY_TYPES_H

#include <gpuarray/config.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
typedef struct _gpuarray_type {
  const char *cluda_name; /* its name in kernels, such as "ga_float" */
  size_t size;            /* bytes */
  size_t align;           /* bytes */
  int typecode;
} gpuarray_type;

enum GPUARRAY_TYPES {
  GA_BUFFER = -1, /* a kernel's pointer argument */
  GA_BOOL = 0,
  GA_BYTE = 1,
  GA_UBYTE = 2,
  GA_SHORT = 3,
  GA_USHORT = 4,
  GA_INT = 5,
  GA_UINT = 6,
  GA_LONG = 7,
  GA_ULONG = 8,
  GA_LONGLONG = 9,
  GA_ULONGLONG = 10,
  GA_FLOAT = 11,
  GA_DOUBLE = 12,
  GA_QUAD = 13,
  GA_CFLOAT = 14,
  GA_CDOUBLE = 15,
  GA_CQUAD = 16,
  GA_BFLOAT16 = 17,
  GA_HALF = 23,
  GA_SIZE = 24,
  GA_SSIZE = 25,
  GA_NBASE = 26,
  GA_DELIM = 255,
  GA_NVEC = 308,
  GA_ENDVEC = 512
};
/* cdef: end */

GPUARRAY_END_DECLS

#endif
