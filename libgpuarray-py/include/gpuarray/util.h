/* Questions about element types, and helpers that need no device. Any thread may call
 * them at any time.
 *
 * Ownership: what a pointer is returned to belongs to the library, or is a type that
 * the caller registered and keeps. Waiting: none. Failure: an unknown code has an
 * answer of its own; the others give a status. Threads: every function may be called
 * from several at once. */
#ifndef GPUARRAY_UTIL_H
#define GPUARRAY_UTIL_H

#include <string.h>

#include <gpuarray/config.h>
#include <gpuarray/types.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
/* Makes a type of the caller's known. Gives its code, 512 and up, which is also written
 * to t->typecode; a type stays registered for good. `t` is kept, not copied, so it must
 * live as long as the process. -1 on failure, with the status in *ret (if not NULL):
 * GA_VALUE_ERROR if `t` is NULL, GA_XLARGE_ERROR beyond 4096 types. The code describes
 * values to the caller and to kernels; arrays are of the types above GA_NBASE. */
int gpuarray_register_type(gpuarray_type *t, int *ret);

/* The description of a type; for a registered one the pointer that was registered.
 * Never NULL: an unknown code gives an entry with typecode -1, size 0 and no name.
 * Static. */
const gpuarray_type *gpuarray_get_type(int typecode);

/* Bytes of one element; 0 for an unknown code. */
size_t gpuarray_get_elsize(int typecode);

struct _gpuelemwise_arg;
/* The GA_USE_ flags that a kernel of these types needs. The list of typecodes ends with
 * -1. */
int gpuarray_type_flags(int init, ...);
/* The same of the arguments of a GpuElemwise. */
int gpuarray_type_flagsa(unsigned int n, struct _gpuelemwise_arg *arg);

/* Drops axes of length 1 and merges neighbouring axes that all `n` arrays walk as one,
 * in place: `nd` lengths in `dim`, and strides in bytes in each strs[i], which is NULL
 * for a scalar. The order of the axes stays, and at least one of them. */
void gpuarray_elemwise_collapse(unsigned int n, unsigned int *nd, size_t *dim,
                                ssize_t **strs);

/* Opens a folder that nobody but the user and root can change, for what is run again:
 * compiled code. *folder is its descriptor, which the caller closes; -1 on failure.
 * With `make` what is missing of the path is made, for the user alone.
 *
 * The path is walked from the user's home ($HOME), from the folder for temporary files
 * ($TMPDIR, /tmp) or, if it lies in neither, from the root. Each folder on it has to
 * belong to the user or to root, and nobody else may write to it, but for those above
 * the last that have the sticky bit, as /tmp. Links of the user's and root's are
 * followed, to folders of which the same is asked.
 *
 * GA_VALUE_ERROR where a folder is not so: the text says which, why, and what to do.
 * GA_SYS_ERROR where one is not there, or cannot be made or opened. */
int gpuarray_private_folder(int *folder, const char *path, int make);

/* Says that the calling thread is about to end the process, by exit() or by returning
 * from main(). The library then refuses what other threads still ask of devices, with
 * GA_LOST_ERROR, and waits for what they have begun, half a minute at most, before the
 * handlers that vendors' runtimes have asked for with atexit() take away what those
 * threads use. A thread that has used the library itself need not say so. */
void gpuarray_at_exit(void);
/* cdef: end */

/* float16 and bfloat16 on the host: storage only. */
typedef struct _ga_half_t {
  uint16_t h;
} ga_half_t;
typedef struct _ga_bfloat16_t {
  uint16_t h;
} ga_bfloat16_t;

/* Rounds to the nearest float16, ties to even; what is too large becomes an infinity, a
 * nan stays one. */
static inline ga_half_t ga_float2half(float f) {
  ga_half_t half;
  uint32_t bits, magnitude, mantissa, shift, rest, tie;
  memcpy(&bits, &f, sizeof bits);
  magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    magnitude = 0x7e00u;
  } else if (magnitude >= 0x47800000u) {
    magnitude = 0x7c00u;
  } else if (magnitude < 0x33000000u) { /* less than half of the smallest */
    magnitude = 0;
  } else {
    /* A subnormal keeps fewer bits, and its leading one is no exponent's. */
    shift = magnitude < 0x38800000u ? 126u - (magnitude >> 23) : 13u;
    mantissa = magnitude < 0x38800000u ? (magnitude & 0x7fffffu) | 0x800000u
                                       : magnitude - (112u << 23);
    tie = 1u << (shift - 1);
    rest = mantissa & ((tie << 1) - 1);
    magnitude = mantissa >> shift;
    magnitude += rest > tie || (rest == tie && (magnitude & 1u));
  }
  half.h = (uint16_t)(magnitude | (bits >> 16 & 0x8000u));
  return half;
}

/* Rounds to the nearest bfloat16, ties to even; a nan stays one. */
static inline ga_bfloat16_t ga_float2bfloat16(float f) {
  ga_bfloat16_t b;
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    bits |= 0x400000u;
  else
    bits += 0x7fffu + (bits >> 16 & 1u);
  b.h = (uint16_t)(bits >> 16);
  return b;
}

GPUARRAY_END_DECLS

#include <gpuarray/elemwise.h> /* last: that header needs this one */

#endif
