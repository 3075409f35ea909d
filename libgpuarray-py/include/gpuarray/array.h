/* GpuArray: an n-d array on a device, with its shape and strides. A view allocates
 * nothing, and the struct is copied by value.
 *
 * Ownership: an array holds one reference to its buffer; GpuArray_clear releases it.
 * Functions that make an array overwrite `*a` without clearing it, and leave it
 * unchanged on failure. Waiting: only GpuArray_read, GpuArray_read_all, GpuArray_fdump
 * and GpuArray_sync wait. Failure: a status, with outputs unchanged. Threads: arrays
 * may be used from several threads at once while no thread changes the struct. Fields
 * may be set by hand; GA_VALUE_ERROR from every function for an array that then reaches
 * outside its buffer or has wrong flags. Shapes are in elements, strides and offset in
 * bytes. */
#ifndef GPUARRAY_ARRAY_H
#define GPUARRAY_ARRAY_H

#include <gpuarray/buffer.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
#define GA_MAX_NDIM 32

typedef struct _GpuArray {
  gpudata *data;
  size_t offset;
  unsigned int nd;
  int flags;
  int typecode;
  size_t dimensions[32];
  ssize_t strides[32];
} GpuArray;

#define GA_C_CONTIGUOUS 0x0001
#define GA_F_CONTIGUOUS 0x0002
#define GA_ALIGNED 0x0100
#define GA_WRITEABLE 0x0400
#define GA_BEHAVED 0x0500
#define GA_CARRAY 0x0501
#define GA_FARRAY 0x0502

typedef enum _ga_order { GA_ANY_ORDER = -1, GA_C_ORDER = 0, GA_F_ORDER = 1 } ga_order;

/* Recomputes the flags after dimensions, strides or offset were set by hand. An array
 * of no elements is both C and F contiguous; strides of axes of length 1 are ignored.
 * With more than GA_MAX_NDIM axes only GA_WRITEABLE remains. */
void GpuArray_fix_flags(GpuArray *a);

/* Makes an array of this type and shape in C or F order (GA_ANY_ORDER is C); its
 * elements are undefined. Lengths and `nd` may be 0. GA_XLARGE_ERROR for a size that
 * cannot be addressed. */
int GpuArray_empty(GpuArray *a, gpucontext *ctx, int typecode, unsigned int nd,
                   const size_t *dims, ga_order ord);
/* GpuArray_empty with every element 0. */
int GpuArray_zeros(GpuArray *a, gpucontext *ctx, int typecode, unsigned int nd,
                   const size_t *dims, ga_order ord);
/* Makes an array that is a view of `data`, which is retained. `offset` and `strides`
 * are in bytes; `strides` NULL: C-contiguous. GA_VALUE_ERROR if it reaches outside the
 * buffer. */
int GpuArray_fromdata(GpuArray *a, gpudata *data, size_t offset, int typecode,
                      unsigned int nd, const size_t *dims, const ssize_t *strides,
                      int writeable);
/* Copies host values into a new C-contiguous array. `buf` is the first element;
 * `strides` in bytes, NULL: C-contiguous. */
int GpuArray_copy_from_host(GpuArray *a, gpucontext *ctx, const void *buf, int typecode,
                            unsigned int nd, const size_t *dims,
                            const ssize_t *strides);
/* Makes `v` a view of all of `a`, with its own reference. `v` may be `a`. */
int GpuArray_view(GpuArray *v, const GpuArray *a);
/* Waits until all work on the array's buffer is done; reports its failures. */
int GpuArray_sync(GpuArray *a);
/* Basic slicing; always a view. A step of 0 picks `start` and drops the axis. Bounds
 * are normalised: start and stop lie in [-1, dim], where -1 is the end before element 0
 * of a negative step. */
int GpuArray_index(GpuArray *r, const GpuArray *a, const ssize_t *starts,
                   const ssize_t *stops, const ssize_t *steps);
/* GpuArray_index with the result in `a`, which is unchanged on failure. */
int GpuArray_index_inplace(GpuArray *a, const ssize_t *starts, const ssize_t *stops,
                           const ssize_t *steps);
/* a[k] = v[i[k]] along the first axis. `a` and the integer array `i` are C-contiguous;
 * element types of `a` and `v` may differ. A row whose index is out of bounds keeps its
 * values; with `check_error` the call waits and gives GA_VALUE_ERROR ("Index out of
 * bounds"), else the next wait fails with GA_INDEX_ERROR. GA_INVALID_ERROR for shapes
 * that do not fit and arrays that are not C-contiguous. See also <gpuarray/index.h>. */
int GpuArray_take1(GpuArray *a, const GpuArray *v, const GpuArray *i, int check_error);
/* a[...] = v, with NumPy's broadcasting and conversion. The two may overlap. */
int GpuArray_setarray(GpuArray *a, const GpuArray *v);
/* A view if the strides permit it, else a copy, or GA_COPY_ERROR with `nocopy`. */
int GpuArray_reshape(GpuArray *res, const GpuArray *a, unsigned int nd,
                     const size_t *newdims, ga_order ord, int nocopy);
/* GpuArray_reshape with the result in `a`, as a view: GA_COPY_ERROR if it needs a copy.
 */
int GpuArray_reshape_inplace(GpuArray *a, unsigned int nd, const size_t *newdims,
                             ga_order ord);
/* A view with its axes permuted; NULL reverses them. */
int GpuArray_transpose(GpuArray *res, const GpuArray *a, const unsigned int *new_axes);
/* GpuArray_transpose with the result in `a`. */
int GpuArray_transpose_inplace(GpuArray *a, const unsigned int *new_axes);
/* A view whose axis i is axis pattern[i] of `a`, or a new axis of length 1 where
 * pattern[i] is -1. An axis of `a` that is left out must have length 1. */
int GpuArray_dimshuffle(GpuArray *res, const GpuArray *a, unsigned int nd,
                        const int *pattern);
/* A read-only view broadcast to `dims` (stride 0), as numpy.broadcast_to. */
int GpuArray_broadcast_to(GpuArray *res, const GpuArray *a, unsigned int nd,
                          const size_t *dims);
/* Releases the buffer and zeroes the struct; does nothing to a zeroed struct. */
void GpuArray_clear(GpuArray *a);
/* 1 if the two arrays may have an element in common, else 0. */
int GpuArray_share(const GpuArray *a, const GpuArray *b);
/* The context of an array: borrowed. NULL for NULL and for a cleared array. */
gpucontext *GpuArray_context(const GpuArray *a);
/* Copies the elements of `src` into `dst` of the same shape, converted as NumPy's
 * astype does. The two may overlap. */
int GpuArray_move(GpuArray *dst, const GpuArray *src);
/* Splits `a` at `n` points along `axis` into n + 1 views, written to the caller's
 * structs *rs[i]; view i spans points i - 1 to i. GA_VALUE_ERROR, with no view made,
 * unless the points ascend within the axis. */
int GpuArray_split(GpuArray **rs, const GpuArray *a, size_t n, size_t *p,
                   unsigned int axis);
/* Joins `n` arrays along `axis` into a new C-contiguous array of type `restype`. They
 * have one context and, except along `axis`, one shape (else GA_VALUE_ERROR); layouts
 * and types may differ. */
int GpuArray_concatenate(GpuArray *r, const GpuArray **as, size_t n, unsigned int axis,
                         int restype);
/* Copies `src_sz` raw bytes to the start of a C or F contiguous array. GA_VALUE_ERROR
 * for more than it has. */
int GpuArray_write(GpuArray *dst, const void *src, size_t src_sz);
/* Copies the first `dst_sz` raw bytes of a C or F contiguous array to host memory;
 * waits for them. GA_VALUE_ERROR for more than it has. */
int GpuArray_read(void *dst, size_t dst_sz, const GpuArray *src);
/* GpuArray_read of `n` whole arrays of one context, with one wait where the device
 * permits. dsts[i] has room for srcs[i]; on failure their content is undefined. */
int GpuArray_read_all(unsigned int n, void *const *dsts, const GpuArray *const *srcs);
/* Sets each byte of the array's elements. */
int GpuArray_memset(GpuArray *a, int data);
/* Makes a copy of `a`; GA_ANY_ORDER is C order. */
int GpuArray_copy(GpuArray *res, const GpuArray *a, ga_order order);
/* Makes a copy of `a` converted to `typecode`; GA_ANY_ORDER is C order. */
int GpuArray_astype(GpuArray *res, const GpuArray *a, int typecode, ga_order order);
/* Copies the elements of `a`, of any context, into `res` of the same shape and
 * typecode. */
int GpuArray_transfer(GpuArray *res, const GpuArray *a);
/* Maximum and argmax of `src` over the `reduxLen` axes of `reduxList`. The argmax
 * (int64 or uint64) is the position of the first maximum among the reduced elements,
 * counted in the order of the list. A nan is greater than every number. The caller
 * provides both results, of any strides, with the shape of `src` without these axes;
 * dstMax has the type of `src`. GA_INVALID_ERROR for axes that do not exist, repeat or
 * are missing; GA_VALUE_ERROR for results that do not fit and for no elements. On
 * failure results are unchanged. Does not wait. */
int GpuArray_maxandargmax(GpuArray *dstMax, GpuArray *dstArgmax, const GpuArray *src,
                          unsigned int reduxLen, const unsigned int *reduxList);
/* The text of the last failure on this thread. The arguments are ignored; they are
 * there for libgpuarray 0.7. */
const char *GpuArray_error(const GpuArray *a, int err);

/* Prints type, shape, strides, flags and place in a few lines, without reading
 * elements. Accepts NULL and cleared arrays. */
void GpuArray_fprintf(FILE *fd, const GpuArray *a);
/* Prints the elements in C order, one line "[i, j] = value" each; any type and layout.
 * Waits for them. GA_SYS_ERROR if the file cannot be written. */
int GpuArray_fdump(FILE *fd, const GpuArray *a);
/* cdef: end */

#define GpuArray_CHKFLAGS(a, fl) (((a)->flags & (fl)) == (fl))
#define GpuArray_ISWRITEABLE(a) GpuArray_CHKFLAGS(a, GA_WRITEABLE)
#define GpuArray_ISALIGNED(a) GpuArray_CHKFLAGS(a, GA_ALIGNED)
#define GpuArray_IS_C_CONTIGUOUS(a) GpuArray_CHKFLAGS(a, GA_C_CONTIGUOUS)
#define GpuArray_IS_F_CONTIGUOUS(a) GpuArray_CHKFLAGS(a, GA_F_CONTIGUOUS)
#define GpuArray_ISFORTRAN(a) GpuArray_IS_F_CONTIGUOUS(a)
#define GpuArray_ISONESEGMENT(a)                                                       \
  (((a)->flags & (GA_C_CONTIGUOUS | GA_F_CONTIGUOUS)) != 0)
#define GpuArray_ITEMSIZE(a) gpuarray_get_elsize((a)->typecode)

GPUARRAY_END_DECLS

#include <gpuarray/util.h>

#endif
