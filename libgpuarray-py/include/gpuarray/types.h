/* Element types. The codes are libgpuarray's; the values never change.
 *
 * Words only. Ownership: nothing here is owned. Waiting: none. Failure: none. Threads:
 * nothing is shared. */
#ifndef GPUARRAY_TYPES_H
#define GPUARRAY_TYPES_H

#include <gpuarray/config.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
typedef struct _gpuarray_type {
  const char *cluda_name; /* its name in kernels, such as "ga_float" */
  size_t size;            /* bytes */
  size_t align;           /* bytes; 0: not known */
  int typecode;
} gpuarray_type;

enum GPUARRAY_TYPES {
  GA_INPUT = -3,  /* a kernel's pointer argument that it only reads */
  GA_OFFSET = -2, /* a kernel's ga_size argument: byte offset into the buffer of the
                   * nearest pointer argument before it */
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
  GA_NBASE = 26, /* codes below it are scalar types */
  GA_DELIM = 255,
  /* Short vectors: types of a kernel's variables, not of arrays. */
  GA_BYTE2 = 256,
  GA_UBYTE2 = 257,
  GA_BYTE3 = 258,
  GA_UBYTE3 = 259,
  GA_BYTE4 = 260,
  GA_UBYTE4 = 261,
  GA_BYTE8 = 262,
  GA_UBYTE8 = 263,
  GA_BYTE16 = 264,
  GA_UBYTE16 = 265,
  GA_SHORT2 = 266,
  GA_USHORT2 = 267,
  GA_SHORT3 = 268,
  GA_USHORT3 = 269,
  GA_SHORT4 = 270,
  GA_USHORT4 = 271,
  GA_SHORT8 = 272,
  GA_USHORT8 = 273,
  GA_SHORT16 = 274,
  GA_USHORT16 = 275,
  GA_INT2 = 276,
  GA_UINT2 = 277,
  GA_INT3 = 278,
  GA_UINT3 = 279,
  GA_INT4 = 280,
  GA_UINT4 = 281,
  GA_INT8 = 282,
  GA_UINT8 = 283,
  GA_INT16 = 284,
  GA_UINT16 = 285,
  GA_LONG2 = 286,
  GA_ULONG2 = 287,
  GA_LONG3 = 288,
  GA_ULONG3 = 289,
  GA_LONG4 = 290,
  GA_ULONG4 = 291,
  GA_LONG8 = 292,
  GA_ULONG8 = 293,
  GA_LONG16 = 294,
  GA_ULONG16 = 295,
  GA_FLOAT2 = 296,
  GA_FLOAT4 = 297,
  GA_FLOAT8 = 298,
  GA_FLOAT16 = 299,
  GA_DOUBLE2 = 300,
  GA_DOUBLE4 = 301,
  GA_DOUBLE8 = 302,
  GA_DOUBLE16 = 303,
  GA_HALF2 = 304,
  GA_HALF4 = 305,
  GA_HALF8 = 306,
  GA_HALF16 = 307,
  GA_NVEC = 308,
  GA_ENDVEC = 512 /* registered types count from here */
};
/* cdef: end */

GPUARRAY_END_DECLS

#endif
