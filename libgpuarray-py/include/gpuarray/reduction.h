/* GpuReduction: any commutative monoid over any axes of an expression of arrays of any
 * layout, with one result or several in one pass.
 *
 * Deterministic: the same input on the same device gives the same bits. Ownership: an
 * object holds its context, copies of its texts and the kernels it made; it holds no
 * array. Waiting: a call queues work and does not wait, but the first one of a layout
 * compiles a kernel. Failure: a status, or NULL with the status in *ret; outputs are
 * untouched. Threads: an object may be called from several at once. */
#ifndef GPUARRAY_REDUCTION_H
#define GPUARRAY_REDUCTION_H

#include <gpuarray/elemwise.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
typedef struct _GpuReduction GpuReduction;

/* A value that is accumulated. Where there are several, `combine` may use of the two
 * accumulators a0, b0, a1, b1, ... (each component of both) beside `a` and `b`. */
typedef struct _gpureduction_component {
  const char *map;      /* of the inputs, for one element: "x", "x * x", "a * b" */
  const char *combine;  /* of `a` and `b`, of this component's type: "a + b" */
  const char *identity; /* an expression, such as "0" or "-INFINITY" */
  int typecode; /* GA_SIZE: an unsigned number for positions, of 32 bits where every
                   position fits, else 64 */
} gpureduction_component;

/* A value that is stored. */
typedef struct _gpureduction_result {
  /* Of v0, v1, ... (each component, reduced) and `n`, how many elements were reduced
   * (64-bit): "v0 / n". `v` is the component of the result's own number, or the last
   * one. NULL: "v". Its value is converted to the result's type; where that is complex,
   * it is complex. */
  const char *epilogue;
  int typecode;
} gpureduction_result;

/* `map` and the prologue may use `i`, the element's position among those that are
 * reduced to one result, in the order of their axes; an unsigned number of 32 bits
 * where every position fits, else 64. */
#define GA_REDUCTION_INDEX 1
/* Reducing no elements fails (GA_VALUE_ERROR). */
#define GA_REDUCTION_NEEDS_ELEMENTS 2
/* The reduction picks an element: there are two components, the second is the position
 * (map "i", GA_SIZE; with GA_REDUCTION_INDEX), and `combine` gives back that one of `a`
 * and `b` whose first component goes before the other's, or, where the two are level,
 * whose position is lower. Then most elements need no position, and the result is the
 * same but sooner. */
#define GA_REDUCTION_FIRST 4

/* Half and bfloat16 values are float in all expressions; complex ones have fields x and
 * y. */
typedef struct _gpureduction_spec {
  size_t size;          /* sizeof(gpureduction_spec); fields beyond it are not read */
  const char *preamble; /* device functions, or NULL */
  const char *prologue; /* statements that name what `map` uses, or NULL */
  const char *map;      /* these three: of the only component */
  const char *combine;
  const char *identity;
  int acc_typecode; /* of the only component */
  int out_typecode; /* of the only result */
  unsigned int n;   /* inputs: arrays or GE_SCALAR; none is written */
  const gpuelemwise_arg *inputs;
  const char *epilogue;      /* of the only result, or NULL */
  unsigned int flags;        /* GA_REDUCTION_... */
  unsigned int n_components; /* if not 0: these, and what is said above of the only */
  const gpureduction_component *components; /* component does not count; at most 8 */
  unsigned int n_results;                   /* as much for results; at most 8 */
  const gpureduction_result *results;
} gpureduction_spec;

/* Everything in `spec` is copied. NULL on failure, and then the status in *ret. */
GpuReduction *GpuReduction_new(gpucontext *ctx, const gpureduction_spec *spec,
                               int *ret);
#define GA_EXTREMUM_VALUE 1
#define GA_EXTREMUM_POSITION 2
#define GA_EXTREMUM_BOTH 3
/* The greatest element of one array of `typecode` (the least if `smallest`) and the
 * position of the first of its kind, as int64: two results if `results` is
 * GA_EXTREMUM_BOTH, else one. NumPy's order: a nan goes before every number, complex
 * numbers are compared by their real, then by their imaginary part. Reducing no
 * elements fails. NULL on failure, and then the status in *ret. */
GpuReduction *GpuReduction_extremum(gpucontext *ctx, int typecode, int smallest,
                                    int results, int *ret);
/* Frees the object; calls that are queued run to their end. NULL is fine. */
void GpuReduction_free(GpuReduction *gr);
/* How many arrays GpuReduction_apply makes. */
unsigned int GpuReduction_results(const GpuReduction *gr);
/* Reduces the axes whose bit is set in `axes` (of the shape that the inputs broadcast
 * to, from the right) into new arrays out[0], out[1], ..., one for each result, without
 * those axes, or with length 1 if `keepdims`. `ins[i]` is a GpuArray * or a pointer to
 * a scalar. No elements give the identity, unless GA_REDUCTION_NEEDS_ELEMENTS is set.
 * The caller owns the arrays. Does not wait. */
int GpuReduction_apply(GpuReduction *gr, GpuArray *out, void *const *ins,
                       unsigned int axes, int keepdims);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
