/* GpuScan: running combinations, such as cumulative sums, along one axis of an array of
 * any layout.
 *
 * Deterministic: the same input, layouts and device give the same bits. Ownership: an
 * object holds its context and copies of its texts; it holds no array. Waiting: nothing
 * waits, but the first call of a layout compiles a kernel. Failure: a status, or NULL
 * with the status in *ret; outputs are untouched. Threads: objects may be used from
 * several at once. */
#ifndef GPUARRAY_SCAN_H
#define GPUARRAY_SCAN_H

#include <gpuarray/elemwise.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
typedef struct _GpuScan GpuScan;

typedef struct _gpuscan_spec {
  size_t size;           /* sizeof(gpuscan_spec) */
  const char *preamble;  /* device functions, or NULL */
  const char *map;       /* what is combined, of the input's name: "x", "x * x" */
  const char *combine;   /* of `a`, the earlier, and `b`: associative, as "a + b" */
  const char *identity;  /* an expression, such as "0"; what an exclusive scan begins
                            with */
  int acc_typecode;      /* the type that `map` is converted to and combined in */
  int out_typecode;      /* the result's; converted on store */
  gpuelemwise_arg input; /* its name and type; half and bfloat16 are float in `map` */
} gpuscan_spec;

#define GA_SCAN_EXCLUSIVE 0x1 /* an element is not part of its own result */
#define GA_SCAN_REVERSE 0x2   /* from the axis's end: the last element comes first */

/* Everything in `spec` is copied. NULL on failure, and then the status in *ret (which
 * may be NULL): GA_VALUE_ERROR for a NULL, GA_INVALID_ERROR for a wrong size,
 * GA_DEVSUP_ERROR for a type that the device lacks. The object keeps `ctx` alive. */
GpuScan *GpuScan_new(gpucontext *ctx, const gpuscan_spec *spec, int *ret);
/* Frees the object; calls that are queued run to their end. NULL is fine. */
void GpuScan_free(GpuScan *gs);
/* Element i of `out` along `axis` (negative: from the last) becomes the combination of
 * the elements 0 to i of `a`. `out` has the shape of `a` and any layout that writes no
 * element twice; the two may overlap. Arrays of no elements are a success. Failures,
 * with `out` untouched: GA_INVALID_ERROR (typecodes, contexts, flags),
 * GA_VALUE_ERROR (another shape, no such axis, 0-d, a read-only `out`),
 * GA_UNALIGNED_ERROR, GA_MEMORY_ERROR. */
int GpuScan_call(GpuScan *gs, GpuArray *out, const GpuArray *a, int axis, int flags);

/* Cumulative sums, products, maxima and minima. Elements are converted to the type of
 * `out` first and combined in it (half and bfloat16 in float). NumPy sums bool and
 * small integers into GA_LONG or GA_ULONG. Sums and products of bool are its `or` and
 * `and`. A maximum or minimum is nan from the first nan on; complex numbers have none
 * (GA_UNSUPPORTED_ERROR). Fail as GpuScan_call does. */
int GpuArray_cumsum(GpuArray *out, const GpuArray *a, int axis, int flags);
/* The same for running products. */
int GpuArray_cumprod(GpuArray *out, const GpuArray *a, int axis, int flags);
/* The same for running maxima. */
int GpuArray_cummax(GpuArray *out, const GpuArray *a, int axis, int flags);
/* The same for running minima. */
int GpuArray_cummin(GpuArray *out, const GpuArray *a, int axis, int flags);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
