/* GpuElemwise: one C expression over arrays of any layout.
 *
 * The object compiles nothing until a layout needs it, keeps nothing between calls, and
 * may be called from several threads at once. */
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

#define GE_NOADDR64 0x0001    /* accepted; kernels are made when needed */
#define GE_CONVERT_F16 0x0002 /* half arguments are float in the expression */
#define GE_BROADCAST 0x0100   /* inputs of length 1 stretch */
#define GE_NOCOLLAPSE 0x0200  /* accepted; layout never changes a result */
#define GE_PADSHAPE 0x0400    /* lower ranks get leading axes of length 1 */

/* `expr` is C statements (or one expression) in which each argument is a scalar
 * variable of its type. `preamble` (may be NULL) stands before the kernel. NULL on
 * failure. */
GpuElemwise *GpuElemwise_new(gpucontext *ctx, const char *preamble, const char *expr,
                             unsigned int n, gpuelemwise_arg *args, unsigned int nd,
                             int flags);
void GpuElemwise_free(GpuElemwise *ge);
/* `args[i]` is a GpuArray *, or a pointer to the value of a scalar. Arrays of zero
 * elements are a success without a launch. Outputs that overlap an input in another
 * layout are handled. */
int GpuElemwise_call(GpuElemwise *ge, void **args, int flags);

/* Makes the outputs: those arguments that are GE_WRITE only must come first; they are
 * filled with new C-contiguous arrays (F if every full-size input is F) of the shape
 * that the inputs broadcast to. GA_VALUE_ERROR if they do not. This is what an eager a
 * + b calls. */
int GpuElemwise_apply(GpuElemwise *ge, GpuArray *const *outs, void *const *ins);
/* The same for one output and one or two array inputs: no list to build. */
int GpuElemwise_apply1(GpuElemwise *ge, GpuArray *out, const GpuArray *a);
int GpuElemwise_apply2(GpuElemwise *ge, GpuArray *out, const GpuArray *a,
                       const GpuArray *b);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
