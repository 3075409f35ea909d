/* DLPack import: arrays from tensors. */
#include "c/array/array.h"
#include "c/array/dlpack.h"
#include "c/system/ending.h"

/* Alignment of a buffer's start that kernels may assume, bytes. */
#define BASE_ALIGNMENT ((uintptr_t)256)

static int check_device(gpucontext *ctx, DLDevice device, const char *operation) {
  DLDevice ours;
  GA_TRY(gpucontext_dlpack_device(ctx, &ours));
  if (device.device_type == ours.device_type && device.device_id == ours.device_id)
    return GA_NO_ERROR;
  return GA_FAIL(GA_INVALID_ERROR,
                 "%s: the tensor lies on DLPack's device (%d, %d), the context %s is "
                 "(%d, %d); copy the tensor there first",
                 operation, (int)device.device_type, (int)device.device_id,
                 gpucontext_name(ctx), (int)ours.device_type, (int)ours.device_id);
}

/* Converts shape and strides; strides become bytes. */
static int read_layout(GpuArray *a, const DLTensor *t, size_t itemsize,
                       const char *operation) {
  if (t->ndim < 0 || t->ndim > GA_MAX_NDIM || (t->ndim > 0 && t->shape == NULL))
    return GA_FAIL(GA_VALUE_ERROR, "%s: got a tensor of %d axes%s, expected 0 to %d",
                   operation, (int)t->ndim,
                   t->ndim > 0 && !t->shape ? " and no shape" : "", GA_MAX_NDIM);
  a->nd = (unsigned int)t->ndim;
  size_t bytes = itemsize;
  for (unsigned int i = 0; i < a->nd; i++) {
    if (t->shape[i] < 0)
      return GA_FAIL(GA_VALUE_ERROR,
                     "%s: axis %u of the tensor has length %lld, expected 0 or more",
                     operation, i, (long long)t->shape[i]);
    a->dimensions[i] = (size_t)t->shape[i];
    if (a->dimensions[i] && __builtin_mul_overflow(bytes, a->dimensions[i], &bytes))
      return GA_FAIL(GA_XLARGE_ERROR,
                     "%s: the tensor has more bytes than can be addressed", operation);
  }
  if (bytes > PTRDIFF_MAX)
    return GA_FAIL(GA_XLARGE_ERROR,
                   "%s: the tensor has more bytes than can be addressed", operation);
  ga__shape_c_strides(a->strides, a->nd, a->dimensions, itemsize);
  for (unsigned int i = 0; t->strides && i < a->nd; i++)
    if (a->dimensions[i] > 1 &&
        __builtin_mul_overflow(t->strides[i], (ssize_t)itemsize, &a->strides[i]))
      return GA_FAIL(GA_XLARGE_ERROR,
                     "%s: stride %u of the tensor, %lld elements, has more bytes than "
                     "can be addressed",
                     operation, i, (long long)t->strides[i]);
  return GA_NO_ERROR;
}

/* Bytes below the first element, and from it to the end. */
static int read_extent(size_t *below, size_t *above, const GpuArray *a, size_t itemsize,
                       const char *operation) {
  *below = 0;
  *above = ga__array_count(a) == 0 ? 0 : itemsize;
  for (unsigned int i = 0; *above && i < a->nd; i++) {
    ssize_t stride = a->strides[i];
    size_t step = stride < 0 ? 0 - (size_t)stride : (size_t)stride, reach;
    size_t *side = stride < 0 ? below : above;
    if (__builtin_mul_overflow(a->dimensions[i] - 1, step, &reach) ||
        __builtin_add_overflow(*side, reach, side) || *side > PTRDIFF_MAX)
      return GA_FAIL(GA_VALUE_ERROR,
                     "%s: the tensor's strides exceed the address space", operation);
  }
  return GA_NO_ERROR;
}

/* The memory to wrap, and the first element's offset in it. */
typedef struct extent {
  void *memory;
  size_t size, offset;
  size_t begins; /* bytes before the tensor's own */
} extent;

/* Rounds the address down: kernels assume an aligned buffer. */
static int find_address(extent *out, const DLTensor *t, size_t below, size_t above,
                        const char *operation) {
  uintptr_t first = (uintptr_t)t->data + (uintptr_t)t->byte_offset;
  if (above != 0 && (t->data == NULL || below > first))
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: the tensor has elements, but its data pointer is NULL",
                   operation);
  uintptr_t start = (first - below) & ~(BASE_ALIGNMENT - 1);
  *out = (extent){.memory = (void *)start,
                  .size = first - start + above,
                  .offset = first - start,
                  .begins = first - below - start};
  return GA_NO_ERROR;
}

static int find_handle(extent *out, gpucontext *ctx, const DLTensor *t, size_t below,
                       size_t above, const char *operation) {
  size_t size = 0, offset = (size_t)t->byte_offset;
  if (above == 0) {
    *out = (extent){.memory = NULL};
    return GA_NO_ERROR;
  }
  if (t->data == NULL)
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: the tensor has elements, but its data pointer is NULL",
                   operation);
  GA_TRY(ga__vendor_enter());
  int status = ctx->backend->sharing->check(&size, ctx->device, t->data);
  ga__vendor_leave();
  if (status != GA_NO_ERROR)
    return ga__fail_within(status, "%s", operation);
  if (below > offset || offset > size || above > size - offset)
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: the tensor reaches from %zu bytes before to %zu bytes after "
                   "byte %zu, outside its buffer of %zu bytes",
                   operation, below, above, offset, size);
  *out = (extent){.memory = t->data, .size = size, .offset = offset};
  return GA_NO_ERROR;
}

static int find_extent(extent *out, gpucontext *ctx, const DLTensor *t,
                       const GpuArray *a, const char *operation) {
  size_t below = 0, above = 0, itemsize = gpuarray_get_elsize(a->typecode);
  GA_TRY(read_extent(&below, &above, a, itemsize, operation));
  if (ctx->backend->sharing->is_address)
    GA_TRY(find_address(out, t, below, above, operation));
  else
    GA_TRY(find_handle(out, ctx, t, below, above, operation));
  size_t align = gpuarray_get_type(a->typecode)->align;
  if (above != 0 && align > 1 && out->offset % align != 0)
    return GA_FAIL(GA_UNALIGNED_ERROR,
                   "%s: the elements of %s do not lie at multiples of %zu bytes; copy "
                   "the tensor first",
                   operation, ga__dtype_name(a->typecode), align);
  return GA_NO_ERROR;
}

/* Deleters. */
static void give_back_versioned(void *tensor) {
  DLManagedTensorVersioned *t = tensor;
  if (t->deleter)
    t->deleter(t);
}

static void give_back_plain(void *tensor) {
  DLManagedTensor *t = tensor;
  if (t->deleter)
    t->deleter(t);
}

/* Wraps the tensor's memory; the buffer finally calls give_back(owner). */
static int take(GpuArray *out, gpucontext *ctx, const DLTensor *t, bool is_read_only,
                intptr_t stream, void (*give_back)(void *), void *owner,
                const char *operation) {
  GpuArray array = {.flags = is_read_only ? 0 : GA_WRITEABLE};
  extent where = {0};
  GA_TRY(check_device(ctx, t->device, operation));
  GA_TRY(ga__dlpack_typecode(&array.typecode, t->dtype, operation));
  size_t itemsize = gpuarray_get_elsize(array.typecode);
  GA_TRY(read_layout(&array, t, itemsize, operation));
  GA_TRY(find_extent(&where, ctx, t, &array, operation));
  GA_TRY(ga__buffer_wrap(&array.data, ctx, where.memory, where.size, give_back, owner));
  int status = ga__dlpack_follow(array.data, stream, operation);
  if (status != GA_NO_ERROR) {
    array.data->release = NULL; /* the caller keeps the tensor */
    gpudata_release(array.data);
    return status;
  }
  array.data->begins = where.begins;
  array.offset = where.offset;
  GpuArray_fix_flags(&array);
  *out = array;
  return GA_NO_ERROR;
}

static int check_import(const GpuArray *out, const void *tensor,
                        const char *operation) {
  if (out && tensor)
    return GA_NO_ERROR;
  return ga__fail_null(operation, out ? "tensor" : "output array");
}

int GpuArray_from_dlpack(GpuArray *out, gpucontext *ctx, DLManagedTensorVersioned *t,
                         intptr_t stream) {
  GA_TRY(check_import(out, t, "from_dlpack"));
  if (t->version.major != DLPACK_MAJOR_VERSION)
    return GA_FAIL(GA_INVALID_ERROR,
                   "from_dlpack: the tensor is of DLPack %u.%u, expected version %d; "
                   "ask its producer for that (max_version)",
                   (unsigned int)t->version.major, (unsigned int)t->version.minor,
                   DLPACK_MAJOR_VERSION);
  return take(out, ctx, &t->dl_tensor, t->flags & DLPACK_FLAG_BITMASK_READ_ONLY, stream,
              give_back_versioned, t, "from_dlpack");
}

int GpuArray_from_dlpack_unversioned(GpuArray *out, gpucontext *ctx, DLManagedTensor *t,
                                     intptr_t stream) {
  GA_TRY(check_import(out, t, "from_dlpack_unversioned"));
  return take(out, ctx, &t->dl_tensor, false, stream, give_back_plain, t,
              "from_dlpack_unversioned");
}
