/* GpuReduction: any commutative monoid over any axes of an expression of arrays of any
 * layout.
 *
 * Deterministic: the same input on the same device gives the same bits. May be called
 * from several threads at once. */
#ifndef GPUARRAY_REDUCTION_H
#define GPUARRAY_REDUCTION_H

#include <gpuarray/elemwise.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
typedef struct _GpuReduction GpuReduction;

typedef struct _gpureduction_spec {
  size_t size;          /* sizeof(gpureduction_spec) */
  const char *preamble; /* device functions, or NULL */
  const char *prologue; /* statements that name what `map` uses, or NULL */
  const char *map;      /* the value reduced, of the inputs: "x", "x * x", "a * b" */
  const char *combine;  /* of `a` and `b`, of the accumulator's type: "a + b" */
  const char *identity; /* an expression, such as "0" or "-INFINITY" */
  int acc_typecode;     /* the accumulator */
  int out_typecode;     /* the result; converted on store */
  unsigned int n;       /* inputs: arrays or GE_SCALAR; none is written */
  const gpuelemwise_arg *inputs; /* half inputs are float in the expression */
} gpureduction_spec;

/* Everything in `spec` is copied. NULL on failure, and then the status in *ret. */
GpuReduction *GpuReduction_new(gpucontext *ctx, const gpureduction_spec *spec,
                               int *ret);
void GpuReduction_free(GpuReduction *gr);
/* Reduces the axes whose bit is set in `axes` (of the shape that the inputs broadcast
 * to, from the right) into a new array *out without those axes, or with length 1 if
 * `keepdims`. `ins[i]` is a GpuArray * or a pointer to a scalar. No elements give the
 * identity. */
int GpuReduction_apply(GpuReduction *gr, GpuArray *out, void *const *ins,
                       unsigned int axes, int keepdims);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
