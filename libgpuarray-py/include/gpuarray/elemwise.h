/* GpuElemwise: one C expression over arrays of any layout and any type.
 *
 * Ownership: an object holds its context, copies of its texts and the kernels it made;
 * it holds no array. Waiting: a call queues work and does not wait, but the first one
 * of a layout compiles a kernel. Failure: a call that fails changes neither its outputs
 * nor the object, which serves the next call as before. Threads: an object may be
 * called from several at once; it keeps nothing between calls. */
#ifndef GPUARRAY_ELEMWISE_H
#define GPUARRAY_ELEMWISE_H

#include <gpuarray/array.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
typedef struct _GpuElemwise GpuElemwise;

typedef struct _gpuelemwise_arg {
  const char *name; /* the variable's name in the expression */
  int typecode;
  int flags; /* GE_SCALAR, GE_READ, GE_WRITE */
} gpuelemwise_arg;

#define GE_SCALAR 0x0001 /* args[i] points to a host value */
#define GE_READ 0x0002
#define GE_WRITE 0x0004

#define GE_NOADDR64 0x0001 /* accepted; kernels are made when needed */
/* half and bfloat16 are float in the expression, else structs it can only hand on */
#define GE_CONVERT_F16 0x0002
#define GE_BROADCAST 0x0100  /* inputs of length 1 stretch */
#define GE_NOCOLLAPSE 0x0200 /* accepted; layout never changes a result */
#define GE_PADSHAPE 0x0400   /* lower ranks get leading axes of length 1 */

/* `expr` is C statements (or one expression) in which each argument is a scalar
 * variable of its type: ga_float, ga_cfloat with fields x and y, ... `preamble` (may be
 * NULL) stands before the kernel. Arguments that are GE_READ have their value, those
 * that are GE_WRITE are stored afterwards; one that is both is read first. `nd` is
 * accepted: but for a first kernel, which shows whether the expression compiles, they
 * are made when calls need them. NULL on failure, with the text in gpuarray_error_text;
 * GpuElemwise_create tells the status. */
GpuElemwise *GpuElemwise_new(gpucontext *ctx, const char *preamble, const char *expr,
                             unsigned int n, gpuelemwise_arg *args, unsigned int nd,
                             int flags);
/* The same, with a status, and compiling nothing yet. GA_INVALID_ERROR for arguments
 * that make no kernel: no context, expression or argument, more than 64, names that are
 * no C identifiers, stand twice or begin with "ga_i_", a scalar that is written, an
 * array that is neither read nor written, unknown flags. GA_VALUE_ERROR for what is not
 * the type of an array (but GA_SIZE and GA_SSIZE scalars), GA_DEVSUP_ERROR for types
 * that the device has not. An expression that does not compile fails in the first call,
 * with GA_COMPILE_ERROR. */
int GpuElemwise_create(GpuElemwise **out, gpucontext *ctx, const char *preamble,
                       const char *expr, unsigned int n, const gpuelemwise_arg *args,
                       int flags);
/* NULL is allowed. */
void GpuElemwise_free(GpuElemwise *ge);
/* `args[i]` is a GpuArray *, or a pointer to the value of a scalar (of a half, its 16
 * bits). The first array that is GE_WRITE gives the shape; outputs never stretch, and
 * inputs do with GE_BROADCAST (axes of length 1) and GE_PADSHAPE (missing leading
 * axes). Arrays of zero elements are a success without a launch. Outputs that overlap
 * an input in another layout are handled, by way of a copy of the input; what two
 * outputs that overlap have in common is undefined. GA_VALUE_ERROR for shapes that do
 * not fit, an array of another context, an output that is read-only, no output at all,
 * NULL; GA_INVALID_ERROR for an array of another type; GA_UNALIGNED_ERROR. */
int GpuElemwise_call(GpuElemwise *ge, void **args, int flags);

/* Makes the outputs: those arguments that are GE_WRITE only must come first; they are
 * filled with new C-contiguous arrays (F if every full-size input is F) of the shape
 * that the inputs broadcast to. GA_VALUE_ERROR if they do not. This is what an eager a
 * + b calls. */
int GpuElemwise_apply(GpuElemwise *ge, GpuArray *const *outs, void *const *ins);
/* The same for one output and one or two array inputs: no list to build. */
int GpuElemwise_apply1(GpuElemwise *ge, GpuArray *out, const GpuArray *a);
/* The same for two inputs. */
int GpuElemwise_apply2(GpuElemwise *ge, GpuArray *out, const GpuArray *a,
                       const GpuArray *b);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
