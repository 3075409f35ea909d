/* GpuArray: creation, flags, checks, and contiguous transfers. Moves no element. */
#include "c/array/array.h"

#include <stdio.h>
#include <string.h>

/* ---- checks and properties ---- */

size_t ga__array_count(const GpuArray *a) {
  size_t count = 1;
  for (unsigned int i = 0; i < a->nd; i++)
    count *= a->dimensions[i];
  return count;
}

void ga__array_extent(size_t *low, size_t *high, const GpuArray *a) {
  ptrdiff_t first, last;
  ga__shape_extent(&first, &last, a->nd, a->dimensions, a->strides,
                   gpuarray_get_elsize(a->typecode));
  *low = (size_t)((ptrdiff_t)a->offset + first);
  *high = (size_t)((ptrdiff_t)a->offset + last);
}

const char *ga__array_text(char out[GA_ARRAY_TEXT], const GpuArray *a) {
  char shape[GA_SHAPE_TEXT];
  snprintf(out, GA_ARRAY_TEXT, "%.24s %s", ga__dtype_name(a->typecode),
           ga__shape_text(shape, a->nd, a->dimensions));
  return out;
}

/* Extent of an array by its shape and strides. */
typedef struct span {
  size_t below, above; /* bytes before the first element, and from it on */
  size_t packed;       /* bytes if contiguous */
  size_t bits;         /* OR of offset and strides, for alignment */
  bool is_empty, is_too_large;
} span;

static span span_of(const GpuArray *a, size_t itemsize) {
  span s = {.above = itemsize, .packed = itemsize, .bits = a->offset};
  for (unsigned int i = 0; i < a->nd; i++) {
    size_t length = a->dimensions[i], reach;
    ssize_t stride = a->strides[i];
    s.is_empty |= length == 0;
    if (length <= 1)
      continue;
    size_t step = stride < 0 ? 0 - (size_t)stride : (size_t)stride;
    size_t *side = stride < 0 ? &s.below : &s.above;
    s.is_too_large |= __builtin_mul_overflow(length - 1, step, &reach);
    s.is_too_large |= __builtin_add_overflow(*side, reach, side);
    s.is_too_large |= __builtin_mul_overflow(s.packed, length, &s.packed);
    s.bits |= step;
  }
  return s;
}

/* True if all elements lie in the buffer. */
static bool is_within(const span *s, const GpuArray *a) {
  size_t size = a->data->size;
  return !s->is_too_large && s->below <= a->offset && a->offset <= size &&
         s->above <= size - a->offset;
}

/* True if the contiguity and alignment flags hold. An array contiguous in either order
 * spans exactly its elements. */
static bool is_as_flagged(const span *s, const GpuArray *a, size_t alignment) {
  bool is_one_segment = s->below == 0 && s->above == s->packed;
  return (is_one_segment || !GpuArray_ISONESEGMENT(a)) &&
         ((s->bits & (alignment - 1)) == 0 || !GpuArray_ISALIGNED(a));
}

/* True if the array is consistent with its buffer. */
static bool is_sound(const GpuArray *a) {
  size_t itemsize, alignment;
  if (a == NULL || a->data == NULL || a->nd > GA_MAX_NDIM ||
      !ga__dtype_layout(&itemsize, &alignment, a->typecode))
    return false;
  const span s = span_of(a, itemsize);
  return s.is_empty || (is_within(&s, a) && is_as_flagged(&s, a, alignment));
}

/* The message for what is_sound refuses. */
static int refuse_array(const GpuArray *a, const char *operation) {
  size_t itemsize, alignment;
  char text[GA_ARRAY_TEXT];
  if (a == NULL || a->data == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "%s: got %s, expected an array", operation,
                   a == NULL ? "NULL" : "a cleared array");
  if (a->nd > GA_MAX_NDIM)
    return GA_FAIL(GA_VALUE_ERROR, "%s: got an array of %u axes, expected at most %d",
                   operation, a->nd, GA_MAX_NDIM);
  GA_TRY(ga__dtype_check(a->typecode, operation));
  ga__dtype_layout(&itemsize, &alignment, a->typecode);
  const span s = span_of(a, itemsize);
  if (!is_within(&s, a))
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: %s with its strides from byte %zu reaches outside its buffer "
                   "of %zu bytes; fields set by hand must stay inside",
                   operation, ga__array_text(text, a), a->offset, a->data->size);
  return GA_FAIL(GA_VALUE_ERROR,
                 "%s: the flags of %s do not match its strides and offset; call "
                 "GpuArray_fix_flags after changing them",
                 operation, ga__array_text(text, a));
}

int ga__array_check(const GpuArray *a, const char *operation) {
  return is_sound(a) ? GA_NO_ERROR : refuse_array(a, operation);
}

int ga__array_same_context(const GpuArray *a, const GpuArray *b,
                           const char *operation) {
  if (a->data->context == b->data->context)
    return GA_NO_ERROR;
  return GA_FAIL(GA_VALUE_ERROR,
                 "%s: the arrays are on %s and %s, expected one context; move one of "
                 "them first (GpuArray_transfer)",
                 operation, gpucontext_name(a->data->context),
                 gpucontext_name(b->data->context));
}

int ga__array_fits(const GpuArray *a, gpucontext *ctx, int typecode,
                   const char *operation, const char *role) {
  char text[GA_ARRAY_TEXT];
  GA_TRY(ga__array_check(a, operation));
  if (a->typecode != typecode)
    return GA_FAIL(GA_INVALID_ERROR, "%s: the %s is %s, expected %s", operation, role,
                   ga__array_text(text, a), ga__dtype_name(typecode));
  if (GpuArray_context(a) != ctx)
    return GA_FAIL(GA_INVALID_ERROR,
                   "%s: the %s is on %s, expected %s; transfer it first", operation,
                   role, gpucontext_name(GpuArray_context(a)), gpucontext_name(ctx));
  if (!GpuArray_ISALIGNED(a))
    return GA_FAIL(GA_UNALIGNED_ERROR, "%s: the %s, %s, is not aligned; copy it",
                   operation, role, ga__array_text(text, a));
  return GA_NO_ERROR;
}

int ga__array_writeable(const GpuArray *a, const char *operation) {
  if (GpuArray_ISWRITEABLE(a))
    return GA_NO_ERROR;
  char text[GA_ARRAY_TEXT];
  return GA_FAIL(GA_VALUE_ERROR,
                 "%s: the output %s is read-only, expected a writeable array; write to "
                 "a copy",
                 operation, ga__array_text(text, a));
}

bool ga__array_same_shape(const GpuArray *a, const GpuArray *b) {
  return ga__array_has_shape(a, b->nd, b->dimensions);
}

/* True if both, of the same shape, place elements alike. */
static bool same_layout(const GpuArray *a, const GpuArray *b) {
  int common = a->flags & b->flags;
  if (common & (GA_C_CONTIGUOUS | GA_F_CONTIGUOUS))
    return true;
  for (unsigned int i = 0; i < a->nd; i++)
    if (a->dimensions[i] > 1 && a->strides[i] != b->strides[i])
      return false;
  return true;
}

int ga__array_return(GpuArray *out, GpuArray *result, int status) {
  if (status == GA_NO_ERROR)
    *out = *result;
  else
    GpuArray_clear(result);
  return status;
}

bool ga__array_same_start(const GpuArray *a, const GpuArray *b) {
  ptrdiff_t between;
  return ga__buffers_meet(&between, a->data, b->data) &&
         (ptrdiff_t)a->offset == (ptrdiff_t)b->offset + between;
}

bool ga__array_same_place(const GpuArray *a, const GpuArray *b) {
  return ga__array_same_start(a, b) &&
         gpuarray_get_elsize(a->typecode) == gpuarray_get_elsize(b->typecode) &&
         ga__array_same_shape(a, b) && same_layout(a, b);
}

int GpuArray_share(const GpuArray *a, const GpuArray *b) {
  ptrdiff_t between;
  if (a == NULL || b == NULL || a->data == NULL || b->data == NULL ||
      a->data->context != b->data->context ||
      !ga__buffers_meet(&between, a->data, b->data))
    return 0;
  if (!is_sound(a) || !is_sound(b))
    return 1;
  size_t low, high;
  ga__array_extent(&low, &high, a);
  const ptrdiff_t a_low = (ptrdiff_t)low, a_high = (ptrdiff_t)high;
  ga__array_extent(&low, &high, b);
  const ptrdiff_t b_low = (ptrdiff_t)low + between, b_high = (ptrdiff_t)high + between;
  return a_low < b_high && b_low < a_high && a_low < a_high && b_low < b_high;
}

gpucontext *GpuArray_context(const GpuArray *a) {
  return a == NULL || a->data == NULL ? NULL : a->data->context;
}

const char *GpuArray_error(const GpuArray *a, int err) {
  return gpucontext_error(GpuArray_context(a), err);
}

/* ---- flags ---- */

/* True if the strides are contiguous in C order, or in F order if `reversed`. */
static bool is_contiguous(const GpuArray *a, size_t itemsize, bool reversed) {
  size_t expected = itemsize;
  for (unsigned int k = 0; k < a->nd; k++) {
    unsigned int i = reversed ? k : a->nd - 1 - k;
    if (a->dimensions[i] != 1 && a->strides[i] != (ssize_t)expected)
      return false;
    expected *= a->dimensions[i];
  }
  return true;
}

static bool is_aligned(const GpuArray *a) {
  size_t itemsize, alignment;
  return !ga__dtype_layout(&itemsize, &alignment, a->typecode) ||
         (span_of(a, itemsize).bits & (alignment - 1)) == 0;
}

void GpuArray_fix_flags(GpuArray *a) {
  if (a == NULL)
    return;
  size_t itemsize = gpuarray_get_elsize(a->typecode);
  int flags = a->flags & GA_WRITEABLE;
  if (a->nd > GA_MAX_NDIM) { /* every operation refuses it */
    a->flags = flags;
    return;
  }
  bool empty = ga__array_count(a) == 0;
  if (empty || is_contiguous(a, itemsize, false))
    flags |= GA_C_CONTIGUOUS;
  if (empty || is_contiguous(a, itemsize, true))
    flags |= GA_F_CONTIGUOUS;
  if (is_aligned(a))
    flags |= GA_ALIGNED;
  a->flags = flags;
}

/* ---- creation ---- */

/* Checks type and shape; returns the size in bytes. */
static int check_shape(size_t *bytes, const char *operation, int typecode,
                       unsigned int nd, const size_t *dims) {
  GA_TRY(ga__dtype_check(typecode, operation));
  if (nd > GA_MAX_NDIM || (nd > 0 && dims == NULL))
    return GA_FAIL(GA_VALUE_ERROR, "%s: got %u axes%s, expected at most %d", operation,
                   nd, dims == NULL ? " without dimensions" : "", GA_MAX_NDIM);
  int status = ga__shape_bytes(bytes, typecode, nd, dims);
  return status == GA_NO_ERROR ? status : ga__fail_within(status, "%s", operation);
}

int GpuArray_empty(GpuArray *a, gpucontext *ctx, int typecode, unsigned int nd,
                   const size_t *dims, ga_order ord) {
  if (a == NULL || ctx == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "empty: got no %s",
                   a == NULL ? "output array" : "context");
  if (ord != GA_ANY_ORDER && ord != GA_C_ORDER && ord != GA_F_ORDER)
    return GA_FAIL(GA_VALUE_ERROR, "empty: got order %d, expected -1, 0 or 1",
                   (int)ord);
  size_t bytes = 0;
  GA_TRY(check_shape(&bytes, "empty", typecode, nd, dims));
  gpudata *data;
  GA_TRY(ga__buffer_new(&data, ctx, bytes));

  a->data = data;
  a->offset = 0;
  a->nd = nd;
  a->flags = GA_WRITEABLE;
  a->typecode = typecode;
  if (nd > 0)
    memmove(a->dimensions, dims, nd * sizeof *dims);
  size_t itemsize = gpuarray_get_elsize(typecode);
  if (ord == GA_F_ORDER)
    ga__shape_f_strides(a->strides, nd, a->dimensions, itemsize);
  else
    ga__shape_c_strides(a->strides, nd, a->dimensions, itemsize);
  GpuArray_fix_flags(a);
  return GA_NO_ERROR;
}

int GpuArray_zeros(GpuArray *a, gpucontext *ctx, int typecode, unsigned int nd,
                   const size_t *dims, ga_order ord) {
  if (a == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "zeros: got no output array");
  GpuArray array;
  GA_TRY(GpuArray_empty(&array, ctx, typecode, nd, dims, ord));
  size_t bytes = ga__array_count(&array) * gpuarray_get_elsize(typecode);
  int status = bytes == 0 ? GA_NO_ERROR : ga__buffer_fill(array.data, 0, 0, bytes);
  return ga__array_return(a, &array, status);
}

int GpuArray_fromdata(GpuArray *a, gpudata *data, size_t offset, int typecode,
                      unsigned int nd, const size_t *dims, const ssize_t *strides,
                      int writeable) {
  if (a == NULL || data == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "fromdata: got no %s",
                   a == NULL ? "output array" : "buffer");
  size_t bytes = 0, itemsize = gpuarray_get_elsize(typecode);
  GA_TRY(check_shape(&bytes, "fromdata", typecode, nd, dims));
  GpuArray array;
  array.data = data;
  array.offset = offset;
  array.nd = nd;
  array.flags = writeable ? GA_WRITEABLE : 0;
  array.typecode = typecode;
  if (nd > 0)
    memcpy(array.dimensions, dims, nd * sizeof *dims);
  if (strides == NULL)
    ga__shape_c_strides(array.strides, nd, dims, itemsize);
  else if (nd > 0)
    memcpy(array.strides, strides, nd * sizeof *strides);
  const span reached = span_of(&array, itemsize);
  if (bytes > 0 && !is_within(&reached, &array)) {
    char text[GA_ARRAY_TEXT];
    return GA_FAIL(GA_VALUE_ERROR,
                   "fromdata: %s with these strides from byte %zu reaches outside the "
                   "buffer of %zu bytes",
                   ga__array_text(text, &array), offset, data->size);
  }
  GpuArray_fix_flags(&array);
  gpudata_retain(data);
  *a = array;
  return GA_NO_ERROR;
}

int GpuArray_view(GpuArray *v, const GpuArray *a) {
  GA_TRY(ga__array_check(a, "view"));
  if (v == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "view: got no output array");
  gpudata_retain(a->data);
  if (v != a)
    *v = *a;
  return GA_NO_ERROR;
}

void GpuArray_clear(GpuArray *a) {
  if (a == NULL)
    return;
  if (a->data != NULL)
    gpudata_release(a->data);
  memset(a, 0, sizeof *a);
}

int GpuArray_sync(GpuArray *a) {
  GA_TRY(ga__array_check(a, "sync"));
  return gpudata_sync(a->data);
}

/* ---- host transfers ---- */

int ga__array_check_block(const GpuArray *a, size_t given, const char *operation) {
  GA_TRY(ga__array_check(a, operation));
  char text[GA_ARRAY_TEXT];
  if (!GpuArray_ISONESEGMENT(a))
    return GA_FAIL(GA_UNSUPPORTED_ERROR,
                   "%s: %s is strided, expected a C or F contiguous array; copy it "
                   "first (GpuArray_copy)",
                   operation, ga__array_text(text, a));
  size_t bytes = ga__array_count(a) * gpuarray_get_elsize(a->typecode);
  if (bytes < given)
    return GA_FAIL(GA_VALUE_ERROR, "%s: %s has %zu bytes, got a host block of %zu",
                   operation, ga__array_text(text, a), bytes, given);
  return GA_NO_ERROR;
}

int GpuArray_read(void *dst, size_t dst_sz, const GpuArray *src) {
  GA_TRY(ga__array_check_block(src, dst_sz, "read"));
  if (dst_sz == 0)
    return GA_NO_ERROR;
  if (dst == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "read: got NULL, expected %zu bytes", dst_sz);
  return gpudata_read(dst, src->data, src->offset, dst_sz);
}

int GpuArray_write(GpuArray *dst, const void *src, size_t src_sz) {
  GA_TRY(ga__array_check_block(dst, src_sz, "write"));
  GA_TRY(ga__array_writeable(dst, "write"));
  if (src_sz == 0)
    return GA_NO_ERROR;
  if (src == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "write: got NULL, expected %zu bytes", src_sz);
  return gpudata_write(dst->data, dst->offset, src, src_sz);
}

/* Packs strided host elements into a C-contiguous block. */
static void pack(char *to, const char *from, unsigned int nd, const size_t *dims,
                 const ssize_t *strides, size_t itemsize) {
  if (nd == 0) {
    memcpy(to, from, itemsize);
    return;
  }
  size_t inner = itemsize;
  for (unsigned int i = 1; i < nd; i++)
    inner *= dims[i];
  for (size_t i = 0; i < dims[0]; i++)
    pack(to + i * inner, from + (ssize_t)i * strides[0], nd - 1, dims + 1, strides + 1,
         itemsize);
}

/* Writes strided host elements into the new C-contiguous array `a`. */
static int write_packed(GpuArray *a, const void *buf, const ssize_t *strides,
                        size_t bytes) {
  size_t itemsize = gpuarray_get_elsize(a->typecode);
  char *packed = ga__alloc(bytes, 1);
  GA_TRY_MEMORY(packed);
  pack(packed, buf, a->nd, a->dimensions, strides, itemsize);
  int status = GpuArray_write(a, packed, bytes);
  ga__free(packed);
  return status;
}

int GpuArray_copy_from_host(GpuArray *a, gpucontext *ctx, const void *buf, int typecode,
                            unsigned int nd, const size_t *dims,
                            const ssize_t *strides) {
  if (a == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "copy_from_host: got no output array");
  GpuArray array;
  GA_TRY(GpuArray_empty(&array, ctx, typecode, nd, dims, GA_C_ORDER));
  size_t bytes = ga__array_count(&array) * gpuarray_get_elsize(typecode);
  bool packed = true;
  for (unsigned int i = 0; strides != NULL && i < nd; i++)
    packed &= dims[i] == 1 || strides[i] == array.strides[i];

  int status = GA_NO_ERROR;
  if (bytes > 0 && buf == NULL)
    status =
        GA_FAIL(GA_VALUE_ERROR, "copy_from_host: got NULL, expected %zu bytes", bytes);
  else if (bytes > 0 && packed)
    status = GpuArray_write(&array, buf, bytes);
  else if (bytes > 0)
    status = write_packed(&array, buf, strides, bytes);
  return ga__array_return(a, &array, status);
}
