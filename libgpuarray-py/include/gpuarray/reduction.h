/* GpuReduction: reductions of an expression over any axes of arrays of any layout by
 * any commutative monoid, with one or several results in one pass.
 *
 * Deterministic: the same input on the same device gives the same bits. Ownership: an
 * object holds its context, its kernels and copies of its texts; it holds no array.
 * Waiting: a call queues work and does not wait; the first one of a layout compiles a
 * kernel. Failure: a status, or NULL with the status in *ret; outputs are untouched.
 * Threads: an object may be called from several at once. */
#ifndef GPUARRAY_REDUCTION_H
#define GPUARRAY_REDUCTION_H

#include <gpuarray/elemwise.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
typedef struct _GpuReduction GpuReduction;

/* An accumulator. With several, `combine` may also use all components of both sides,
 * a0, b0, a1, b1, ..., beside its own `a` and `b`. */
typedef struct _gpureduction_component {
  const char *map;      /* expression of an element's inputs: "x", "x * x", "a * b" */
  const char *combine;  /* expression of `a` and `b`, of this type: "a + b" */
  const char *identity; /* expression, such as "0" or "-INFINITY" */
  int typecode;         /* GA_SIZE: for positions; unsigned, of 32 bits if every
                           position fits, else 64 */
} gpureduction_component;

/* A result. */
typedef struct _gpureduction_result {
  /* Expression of v0, v1, ... (the reduced components) and `n`, the number of elements
   * reduced (64-bit): "v0 / n". `v` is the component of the result's own index, or the
   * last one. NULL: "v". Converted to the result's type; complex if that is. */
  const char *epilogue;
  int typecode;
} gpureduction_result;

/* Flag: `map` and prologue use `i`, the element's position among those reduced to one
 * result, in the order of their axes; unsigned, of 32 bits if every position fits, else
 * 64. */
#define GA_REDUCTION_INDEX 1
/* Flag: reducing no elements fails (GA_VALUE_ERROR). */
#define GA_REDUCTION_NEEDS_ELEMENTS 2
/* Flag: the reduction selects an element, as argmax does. It has two components, the
 * second the position (map "i", GA_SIZE; with GA_REDUCTION_INDEX), and `combine`
 * returns `a` or `b`, whichever is better by its first component, or if equal, has the
 * lower position. The result is the same, faster, as few elements need their position.
 */
#define GA_REDUCTION_FIRST 4

/* A reduction. Half and bfloat16 values are float in all expressions; complex ones have
 * fields x and y. */
typedef struct _gpureduction_spec {
  size_t size;          /* sizeof(gpureduction_spec); fields beyond it are not read */
  const char *preamble; /* device functions, or NULL */
  const char *prologue; /* statements that define names for `map`, or NULL */
  const char *map;      /* this and the next three: of the only component */
  const char *combine;
  const char *identity;
  int acc_typecode;
  int out_typecode; /* of the only result */
  unsigned int n;   /* inputs: arrays, GE_SCALAR or GE_INDEX; none is written */
  const gpuelemwise_arg *inputs;
  const char *epilogue;      /* of the only result, or NULL */
  unsigned int flags;        /* GA_REDUCTION_... */
  unsigned int n_components; /* nonzero: at most 8, in place of the only component */
  const gpureduction_component *components;
  unsigned int n_results; /* nonzero: at most 8, in place of the only result */
  const gpureduction_result *results;
} gpureduction_spec;

/* Makes a reduction object; everything in `spec` is copied. NULL on failure, with the
 * status in *ret. */
GpuReduction *GpuReduction_new(gpucontext *ctx, const gpureduction_spec *spec,
                               int *ret);
#define GA_EXTREMUM_VALUE 1
#define GA_EXTREMUM_POSITION 2
#define GA_EXTREMUM_BOTH 3
/* Max with argmax of one array of `typecode` (min, if `smallest`): the value, the
 * position of its first occurrence as int64, or, for GA_EXTREMUM_BOTH, two results.
 * NumPy's order: a nan goes before every number, complex numbers compare by real, then
 * by imaginary part. Reducing no elements fails. NULL on failure, with the status in
 * *ret. */
GpuReduction *GpuReduction_extremum(gpucontext *ctx, int typecode, int smallest,
                                    int results, int *ret);
/* Frees the object; queued calls still run. NULL is allowed. */
void GpuReduction_free(GpuReduction *gr);
/* The number of arrays that GpuReduction_apply makes. */
unsigned int GpuReduction_results(const GpuReduction *gr);
/* Reduces the axes whose bits are set in `axes`, of the inputs' broadcast shape (bit 0:
 * the first axis), into new arrays out[0], out[1], ..., one for each result; reduced
 * axes are dropped, or with `keepdims` get length 1. `ins[i]` is a GpuArray * or a
 * pointer to a scalar. No elements give the identity, unless
 * GA_REDUCTION_NEEDS_ELEMENTS is set. The caller owns the arrays. Does not wait. */
int GpuReduction_apply(GpuReduction *gr, GpuArray *out, void *const *ins,
                       unsigned int axes, int keepdims);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
