/* GpuScan: prefix scans, such as cumulative sums, along one axis of an array of any
 * layout.
 *
 * Deterministic: the same input, layouts and device give the same bits. Ownership: an
 * object holds its context and copies of its texts; it holds no array. Waiting: nothing
 * waits; the first call of a layout compiles a kernel. Failure: a status, or NULL with
 * the status in *ret; outputs are untouched. Threads: objects may be used from several
 * at once. */
#ifndef GPUARRAY_SCAN_H
#define GPUARRAY_SCAN_H

#include <gpuarray/elemwise.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
typedef struct _GpuScan GpuScan;

typedef struct _gpuscan_spec {
  size_t size;           /* sizeof(gpuscan_spec) */
  const char *preamble;  /* device functions, or NULL */
  const char *map;       /* expression of the input's name: "x", "x * x" */
  const char *combine;   /* of `a`, the earlier, and `b`; associative: "a + b" */
  const char *identity;  /* expression, such as "0": the start of an exclusive scan */
  int acc_typecode;      /* accumulator's type, to which `map` is converted */
  int out_typecode;      /* result's type, converted on store */
  gpuelemwise_arg input; /* name and type; half and bfloat16 are float in `map` */
} gpuscan_spec;

#define GA_SCAN_EXCLUSIVE 0x1 /* result i combines the elements before i */
#define GA_SCAN_REVERSE 0x2   /* from the end of the axis to its start */

/* Makes a scan object; everything in `spec` is copied, and `ctx` is kept alive. NULL on
 * failure, with the status in *ret (unless NULL): GA_VALUE_ERROR for a NULL,
 * GA_INVALID_ERROR for a wrong size, GA_DEVSUP_ERROR for a type that the device lacks.
 */
GpuScan *GpuScan_new(gpucontext *ctx, const gpuscan_spec *spec, int *ret);
/* Frees the object; queued calls still run. NULL is allowed. */
void GpuScan_free(GpuScan *gs);
/* Scans `a` into `out` along `axis` (negative counts from the last): element i combines
 * the elements 0 to i of `a`. `out` has the shape of `a` and any layout without
 * repeated elements; the two may overlap. Arrays of no elements succeed. With `out`
 * untouched: GA_INVALID_ERROR (typecodes, contexts, flags), GA_VALUE_ERROR (another
 * shape, no such axis, 0-d, a read-only `out`), GA_UNALIGNED_ERROR, GA_MEMORY_ERROR. */
int GpuScan_call(GpuScan *gs, GpuArray *out, const GpuArray *a, int axis, int flags);

/* Cumulative sum. In this and the next three functions elements are first converted to
 * the type of `out` and combined in it (half and bfloat16 in float). NumPy sums bool
 * and small integers into GA_LONG or GA_ULONG. Sum and product of bool are `or` and
 * `and`. A maximum or minimum is nan from the first nan on; complex numbers have none
 * (GA_UNSUPPORTED_ERROR). Failures as GpuScan_call. */
int GpuArray_cumsum(GpuArray *out, const GpuArray *a, int axis, int flags);
/* Cumulative product. */
int GpuArray_cumprod(GpuArray *out, const GpuArray *a, int axis, int flags);
/* Cumulative maximum. */
int GpuArray_cummax(GpuArray *out, const GpuArray *a, int axis, int flags);
/* Cumulative minimum. */
int GpuArray_cummin(GpuArray *out, const GpuArray *a, int axis, int flags);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
