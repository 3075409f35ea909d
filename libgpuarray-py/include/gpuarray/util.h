/* Element types, and helpers that need no device.
 *
 * Ownership: returned pointers belong to the library, or are types that the caller
 * registered and keeps. Waiting: none. Failure: for an unknown code as said below; the
 * others give a status. Threads: functions may be called from several at once, at any
 * time. */
#ifndef GPUARRAY_UTIL_H
#define GPUARRAY_UTIL_H

#include <string.h>

#include <gpuarray/config.h>
#include <gpuarray/types.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
/* Registers a type of the caller's, for good, and returns its code, 512 or more, which
 * is also written to t->typecode. `t` is not copied and must live as long as the
 * process. The code describes values to the caller and to kernels; arrays have only the
 * types below GA_NBASE. -1 on failure, with the status in *ret (unless NULL):
 * GA_VALUE_ERROR if `t` is NULL, GA_XLARGE_ERROR beyond 4096 types. */
int gpuarray_register_type(gpuarray_type *t, int *ret);

/* The description of a type; for a registered one the registered pointer. Never NULL:
 * an unknown code gives an entry with typecode -1, size 0 and no name. Static. */
const gpuarray_type *gpuarray_get_type(int typecode);

/* Bytes of one element; 0 for an unknown code. */
size_t gpuarray_get_elsize(int typecode);

struct _gpuelemwise_arg;
/* The GA_USE_ flags that a kernel of these types needs. The list of typecodes ends with
 * -1. */
int gpuarray_type_flags(int init, ...);
/* gpuarray_type_flags for the arguments of a GpuElemwise. */
int gpuarray_type_flagsa(unsigned int n, struct _gpuelemwise_arg *arg);

/* Collapses shapes in place: drops axes of length 1 and merges neighbouring axes that
 * are contiguous in all `n` arrays. `dim` has `nd` lengths; each strs[i] has strides in
 * bytes, or is NULL for a scalar. Axes keep their order, and at least one stays. */
void gpuarray_elemwise_collapse(unsigned int n, unsigned int *nd, size_t *dim,
                                ssize_t **strs);

/* Opens a folder that only the user and root can change, for files that are executed:
 * compiled code. *folder is its descriptor, which the caller closes; -1 on failure.
 * With `make` missing folders of the path are made, for the user alone.
 *
 * The path is checked from the user's home ($HOME), from the folder for temporary files
 * ($TMPDIR, /tmp), or, if it is in neither, from the root. Each folder on it must
 * belong to the user or root and be writable by nobody else; those above the last may
 * be, if they have the sticky bit, as /tmp. Links of the user or root are followed, to
 * folders that must be alike.
 *
 * GA_VALUE_ERROR for a folder that is not so: the text says which, why, and what to do.
 * GA_SYS_ERROR for one that does not exist, or cannot be made or opened. */
int gpuarray_private_folder(int *folder, const char *path, int make);

/* Announces that the calling thread is about to end the process, by exit() or by
 * returning from main(). Other threads' calls on devices then fail with GA_LOST_ERROR,
 * and their work is waited for, half a minute at most, before the atexit() handlers of
 * vendors' runtimes destroy what it uses. Not needed by a thread that has used the
 * library itself. */
void gpuarray_at_exit(void);

/* Has the library ask, between the iterations of a loop whose iterations the host
 * starts, whether to go on: where `asks`, which is called on the thread that runs the
 * plan, once in 20 ms at most, returns other than 0, the run fails with GA_MISC_ERROR,
 * and its inputs are as they were. NULL, as at first: it is not asked. One function for
 * the process. */
void gpuarray_interrupt_by(int (*asks)(void));
/* cdef: end */

/* float16 and bfloat16 on the host: storage only. */
typedef struct _ga_half_t {
  uint16_t h;
} ga_half_t;
typedef struct _ga_bfloat16_t {
  uint16_t h;
} ga_bfloat16_t;

/* Rounds to the nearest float16, ties to even; overflow gives infinity, a nan stays
 * nan.
 */
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

/* Rounds to the nearest bfloat16, ties to even; a nan stays nan. */
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
