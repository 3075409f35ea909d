/* GpuElemwise: one C expression over arrays of any layout and type.
 *
 * Ownership: an object holds its context, its kernels and copies of its texts; it holds
 * no array. Waiting: a call queues work and does not wait; the first one of a layout
 * compiles a kernel. Failure: a call that fails changes neither its outputs nor the
 * object. Threads: an object may be called from several at once; it keeps nothing
 * between calls. */
#ifndef GPUARRAY_ELEMWISE_H
#define GPUARRAY_ELEMWISE_H

#include <gpuarray/array.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
typedef struct _GpuElemwise GpuElemwise;

typedef struct _gpuelemwise_arg {
  const char *name; /* the variable's name in the expression */
  int typecode;
  int flags; /* GE_SCALAR, GE_READ, GE_WRITE, GE_INDEX */
} gpuelemwise_arg;

#define GE_SCALAR 0x0001 /* args[i] points to a host value */
#define GE_READ 0x0002
#define GE_WRITE 0x0004
/* The variable, a GA_ULONG, is the element's number in C order of the array's shape.
 * The array, of any type, is not read: a broadcast view of one element serves. */
#define GE_INDEX 0x0008

#define GE_NOADDR64 0x0001 /* ignored; kernels are compiled on demand */
/* half and bfloat16 are float in the expression, else structs that it can only copy */
#define GE_CONVERT_F16 0x0002
#define GE_BROADCAST 0x0100  /* broadcast axes of length 1 */
#define GE_NOCOLLAPSE 0x0200 /* ignored; layout never changes a result */
#define GE_PADSHAPE 0x0400   /* broadcast lower ranks: add leading axes of length 1 */

/* Makes an elementwise object. `expr` is C statements, or one expression, in which each
 * argument is a scalar variable of its type: ga_float, ga_cfloat with fields x and y,
 * ... `preamble` (or NULL) stands before the kernel. GE_READ arguments hold their
 * value, GE_WRITE arguments are stored afterwards; one that is both is read first. `nd`
 * is ignored. Compiles one kernel, to show whether the expression compiles; others are
 * compiled on demand. NULL on failure, with the text in gpuarray_error_text;
 * GpuElemwise_create returns the status. */
GpuElemwise *GpuElemwise_new(gpucontext *ctx, const char *preamble, const char *expr,
                             unsigned int n, gpuelemwise_arg *args, unsigned int nd,
                             int flags);
/* GpuElemwise_new with a status, and without compiling. GA_INVALID_ERROR for: no
 * context, expression or argument; more than 64 arguments; names that are no C
 * identifiers, repeat or begin with "ga_i_"; a scalar that is written; an array neither
 * read nor written; GE_INDEX with other flags or another type; unknown flags.
 * GA_VALUE_ERROR for a type that arrays do not have (GA_SIZE and GA_SSIZE scalars are
 * allowed), GA_DEVSUP_ERROR for a type that the device lacks. An expression that does
 * not compile fails in the first call, with GA_COMPILE_ERROR. */
int GpuElemwise_create(GpuElemwise **out, gpucontext *ctx, const char *preamble,
                       const char *expr, unsigned int n, const gpuelemwise_arg *args,
                       int flags);
/* Frees the object. NULL is allowed. */
void GpuElemwise_free(GpuElemwise *ge);
/* Runs the expression. `args[i]` is a GpuArray *, or a pointer to the value of a scalar
 * (of a half, its 16 bits). The first GE_WRITE array gives the shape; outputs do not
 * broadcast, inputs do with GE_BROADCAST (axes of length 1) and GE_PADSHAPE (missing
 * leading axes). Arrays of no elements succeed without a launch. An input that overlaps
 * an output in another layout is copied first; where two outputs overlap, the elements
 * in common are undefined. GA_VALUE_ERROR for shapes that do not fit, an array of
 * another context, a read-only output, no output, NULL; GA_INVALID_ERROR for an array
 * of another type; GA_UNALIGNED_ERROR. */
int GpuElemwise_call(GpuElemwise *ge, void **args, int flags);

/* Runs the expression into new arrays, as an eager a + b does. Arguments that are only
 * GE_WRITE must come first; they become new C-contiguous arrays (F if every full-size
 * input is F) of the inputs' broadcast shape. GA_VALUE_ERROR if shapes do not
 * broadcast. */
int GpuElemwise_apply(GpuElemwise *ge, GpuArray *const *outs, void *const *ins);
/* GpuElemwise_apply for one output and one input array, without lists. */
int GpuElemwise_apply1(GpuElemwise *ge, GpuArray *out, const GpuArray *a);
/* GpuElemwise_apply for one output and two input arrays. */
int GpuElemwise_apply2(GpuElemwise *ge, GpuArray *out, const GpuArray *a,
                       const GpuArray *b);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
