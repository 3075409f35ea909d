/* GpuArray: an n-d array on a device. It carries its shape and strides, so a view
 * allocates nothing and is copied by value.
 *
 * Ownership: an array holds one reference to its buffer; GpuArray_clear gives it back.
 * Functions that make an array overwrite `*a` without clearing it, and leave it as it
 * was on failure. Waiting: only GpuArray_read, GpuArray_read_all, GpuArray_fdump and
 * GpuArray_sync wait. Failure: a status, with outputs as they were. Threads: arrays may
 * be used from several threads at once as long as nobody changes the same GpuArray
 * struct. Fields may be changed by hand; every function gives GA_VALUE_ERROR for an
 * array that then reaches outside its buffer, or whose flags are not true any more.
 * Shapes are in elements, strides and offset in bytes. */
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

/* Recomputes the flags after dimensions, strides or offset were changed by hand. An
 * array of no elements is both C and F contiguous; strides of axes of length 1 do not
 * matter. Of more axes than an array can have no flag is left but GA_WRITEABLE. */
void GpuArray_fix_flags(GpuArray *a);

/* A new array of this type and shape in C or F order (GA_ANY_ORDER is C); its elements
 * are undefined. Any length may be 0, and `nd` too. GA_XLARGE_ERROR for a size that
 * cannot be addressed. */
int GpuArray_empty(GpuArray *a, gpucontext *ctx, int typecode, unsigned int nd,
                   const size_t *dims, ga_order ord);
/* The same, with every element 0. */
int GpuArray_zeros(GpuArray *a, gpucontext *ctx, int typecode, unsigned int nd,
                   const size_t *dims, ga_order ord);
/* A view of `data`, which is retained; `strides` NULL: C-contiguous. GA_VALUE_ERROR if
 * it reaches outside the buffer. */
int GpuArray_fromdata(GpuArray *a, gpudata *data, size_t offset, int typecode,
                      unsigned int nd, const size_t *dims, const ssize_t *strides,
                      int writeable);
/* A new C-contiguous array of the host values at `buf`, the first element, with these
 * strides; NULL: they are C-contiguous. */
int GpuArray_copy_from_host(GpuArray *a, gpucontext *ctx, const void *buf, int typecode,
                            unsigned int nd, const size_t *dims,
                            const ssize_t *strides);
/* Another struct for the same elements, which holds a reference of its own. `v` may be
 * `a`. */
int GpuArray_view(GpuArray *v, const GpuArray *a);
/* Waits until all work on the array's buffer is done; reports what failed meanwhile. */
int GpuArray_sync(GpuArray *a);
/* Basic slicing. A step of 0 picks `start` and drops the axis. Indices are normalised:
 * start and stop lie in [-1, dim], -1 only before element 0 of a negative step. Always
 * a view. */
int GpuArray_index(GpuArray *r, const GpuArray *a, const ssize_t *starts,
                   const ssize_t *stops, const ssize_t *steps);
/* The same with the result in `a` itself, which is as it was on failure. */
int GpuArray_index_inplace(GpuArray *a, const ssize_t *starts, const ssize_t *stops,
                           const ssize_t *steps);
/* a[k] = v[i[k]] along the first axis: `a` and `i`, of integers, are C-contiguous, and
 * types of elements may differ. A row whose index is out of bounds keeps its values;
 * with `check_error` the call waits and gives GA_VALUE_ERROR then ("Index out of
 * bounds"), else the next wait fails, with GA_INDEX_ERROR. GA_INVALID_ERROR for shapes
 * that do not fit and arrays that are not C-contiguous. <gpuarray/index.h> has more. */
int GpuArray_take1(GpuArray *a, const GpuArray *v, const GpuArray *i, int check_error);
/* a[...] = v, with NumPy's broadcasting and conversion. The two may overlap. */
int GpuArray_setarray(GpuArray *a, const GpuArray *v);
/* A view where the strides permit it, else a copy, unless `nocopy` (GA_COPY_ERROR). */
int GpuArray_reshape(GpuArray *res, const GpuArray *a, unsigned int nd,
                     const size_t *newdims, ga_order ord, int nocopy);
/* The same with the result in `a` itself, as a view: GA_COPY_ERROR where only a copy
 * would do. */
int GpuArray_reshape_inplace(GpuArray *a, unsigned int nd, const size_t *newdims,
                             ga_order ord);
/* A view with its axes in another order; NULL reverses them. */
int GpuArray_transpose(GpuArray *res, const GpuArray *a, const unsigned int *new_axes);
/* The same with the result in `a` itself. */
int GpuArray_transpose_inplace(GpuArray *a, const unsigned int *new_axes);
/* A view whose axis i is axis pattern[i] of `a`, or a new axis of length 1 where
 * pattern[i] is -1. An axis of `a` that is left out must have length 1. */
int GpuArray_dimshuffle(GpuArray *res, const GpuArray *a, unsigned int nd,
                        const int *pattern);
/* A read-only view of `a` repeated along axes of length 1 (stride 0), NumPy's
 * broadcast_to. */
int GpuArray_broadcast_to(GpuArray *res, const GpuArray *a, unsigned int nd,
                          const size_t *dims);
/* Releases the buffer and zeroes the struct; safe on a zeroed struct. */
void GpuArray_clear(GpuArray *a);
/* 1 if the two may have an element in common, else 0. */
int GpuArray_share(const GpuArray *a, const GpuArray *b);
/* The context of an array: borrowed. NULL for NULL and for a cleared array. */
gpucontext *GpuArray_context(const GpuArray *a);
/* Elements of `src` into `dst` of the same shape, converted as NumPy's astype does. The
 * two may overlap. */
int GpuArray_move(GpuArray *dst, const GpuArray *src);
/* `n` points along `axis` cut `a` into n + 1 views, written to the structs *rs[i],
 * which the caller has; view i reaches from point i - 1 up to point i. GA_VALUE_ERROR,
 * with no view made, unless the points ascend and none is beyond the axis. */
int GpuArray_split(GpuArray **rs, const GpuArray *a, size_t n, size_t *p,
                   unsigned int axis);
/* A new C-contiguous array of the `n` arrays, side by side along `axis`, converted to
 * `restype`. They have one context and, but for `axis`, one shape (else
 * GA_VALUE_ERROR); layouts and types may differ. */
int GpuArray_concatenate(GpuArray *r, const GpuArray **as, size_t n, unsigned int axis,
                         int restype);
/* Raw bytes into a C or F contiguous array: as many of the first ones as `src_sz` says.
 * GA_VALUE_ERROR for more than it has. */
int GpuArray_write(GpuArray *dst, const void *src, size_t src_sz);
/* The first `dst_sz` bytes of a C or F contiguous array into host memory, as they lie.
 * Waits for them. GA_VALUE_ERROR for more than it has. */
int GpuArray_read(void *dst, size_t dst_sz, const GpuArray *src);
/* GpuArray_read of `n` arrays of one context, each whole, with one wait where the
 * device permits. dsts[i] has room for srcs[i]; on failure what they hold is undefined.
 */
int GpuArray_read_all(unsigned int n, void *const *dsts, const GpuArray *const *srcs);
/* Sets every byte of the array's elements, and no other. */
int GpuArray_memset(GpuArray *a, int data);
/* A new array with the elements of `a`; GA_ANY_ORDER is C order. */
int GpuArray_copy(GpuArray *res, const GpuArray *a, ga_order order);
/* A new array with `typecode`, always a copy, C order unless `order` says otherwise. */
int GpuArray_astype(GpuArray *res, const GpuArray *a, int typecode, ga_order order);
/* Elements of `a`, of any context, into `res` of the same shape and typecode. */
int GpuArray_transfer(GpuArray *res, const GpuArray *a);
/* The greatest elements of `src` over the `reduxLen` axes of `reduxList` into dstMax,
 * and where they are into dstArgmax (int64 or uint64): the position among the reduced
 * elements, counted in the order of the list, of the first maximum. A nan is greater
 * than every number. Both results are the caller's, of any strides, with the shape of
 * `src` without these axes; dstMax has its type. GA_INVALID_ERROR for axes that are
 * none, repeated or missing; GA_VALUE_ERROR for results that do not fit and for maxima
 * of no elements. On failure the results keep their elements. Does not wait. */
int GpuArray_maxandargmax(GpuArray *dstMax, GpuArray *dstArgmax, const GpuArray *src,
                          unsigned int reduxLen, const unsigned int *reduxList);
/* The text of the last failure on this thread; both arguments are there for libgpuarray
 * 0.7. */
const char *GpuArray_error(const GpuArray *a, int err);

/* Writes what the array is, in a few lines: type, shape, strides, flags, place. Does
 * not look at elements. NULL and cleared arrays are written as such. */
void GpuArray_fprintf(FILE *fd, const GpuArray *a);
/* Writes the elements, in C order, a line "[i, j] = value" each; any type and layout.
 * Waits for them. GA_SYS_ERROR if the file refuses. */
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
