/* DLPack export: arrays as tensors; dtypes, devices and streams. */
#include "c/array/dlpack.h"

#include <stdio.h>
#include <string.h>

#include "c/array/array.h"
#include "c/device/queue.h"
#include "c/system/ending.h"

/* ---- dtypes ---- */

typedef struct dtype_row {
  int typecode;
  DLDataType dtype;
} dtype_row;

static const dtype_row dtypes[] = {
    {GA_BOOL, {kDLBool, 8, 1}},        {GA_BYTE, {kDLInt, 8, 1}},
    {GA_UBYTE, {kDLUInt, 8, 1}},       {GA_SHORT, {kDLInt, 16, 1}},
    {GA_USHORT, {kDLUInt, 16, 1}},     {GA_INT, {kDLInt, 32, 1}},
    {GA_UINT, {kDLUInt, 32, 1}},       {GA_LONG, {kDLInt, 64, 1}},
    {GA_ULONG, {kDLUInt, 64, 1}},      {GA_HALF, {kDLFloat, 16, 1}},
    {GA_BFLOAT16, {kDLBfloat, 16, 1}}, {GA_FLOAT, {kDLFloat, 32, 1}},
    {GA_DOUBLE, {kDLFloat, 64, 1}},    {GA_CFLOAT, {kDLComplex, 64, 1}},
    {GA_CDOUBLE, {kDLComplex, 128, 1}}};
#define N_DTYPES (sizeof dtypes / sizeof *dtypes)

static int dtype_of(DLDataType *out, int typecode, const char *operation) {
  for (size_t i = 0; i < N_DTYPES; i++)
    if (dtypes[i].typecode == typecode) {
      *out = dtypes[i].dtype;
      return GA_NO_ERROR;
    }
  return GA_FAIL(GA_DEVSUP_ERROR, "%s: DLPack has no dtype for %s", operation,
                 ga__dtype_name(typecode));
}

int ga__dlpack_typecode(int *out, DLDataType dtype, const char *operation) {
  for (size_t i = 0; i < N_DTYPES; i++)
    if (dtypes[i].dtype.code == dtype.code && dtypes[i].dtype.bits == dtype.bits &&
        dtype.lanes == 1) {
      *out = dtypes[i].typecode;
      return GA_NO_ERROR;
    }
  return GA_FAIL(GA_INVALID_ERROR,
                 "%s: got elements of DLPack's kind %u with %u bits in %u lanes, which "
                 "no array has; expected 1 lane of bool, int or uint (8 to 64 bits), "
                 "float (16 to 64), bfloat16 or complex (64, 128)",
                 operation, dtype.code, dtype.bits, dtype.lanes);
}

/* ---- devices and streams ---- */

static int sharing_of(const ga_sharing **out, gpucontext *ctx, const char *operation) {
  GA_TRY(ga__context_check(ctx));
  if (ctx->backend->sharing == NULL)
    return GA_FAIL(GA_DEVSUP_ERROR, "%s: DLPack has no device type for %s", operation,
                   ctx->backend->name);
  *out = ctx->backend->sharing;
  return GA_NO_ERROR;
}

/* Device id, from the context's name: "cuda1", "opencl0:2". */
static int32_t device_id(const gpucontext *ctx) {
  unsigned int first = 0, second = 0;
  int n_read =
      sscanf(ctx->name + strcspn(ctx->name, "0123456789"), "%u:%u", &first, &second);
  return (int32_t)(n_read == 2 ? first << 16 | second : first);
}

int gpucontext_dlpack_device(gpucontext *ctx, DLDevice *out) {
  const ga_sharing *sharing = NULL;
  GA_TRY(sharing_of(&sharing, ctx, __func__));
  if (out == NULL)
    return ga__fail_null(__func__, "pointer for the device");
  out->device_type = (DLDeviceType)sharing->device_type;
  out->device_id = device_id(ctx);
  return GA_NO_ERROR;
}

int gpucontext_dlpack_stream(gpucontext *ctx, intptr_t *out) {
  const ga_sharing *sharing = NULL;
  GA_TRY(sharing_of(&sharing, ctx, __func__));
  if (out == NULL)
    return ga__fail_null(__func__, "pointer for the stream");
  intptr_t stream = -1;
  GA_TRY(ga__vendor_enter());
  int status =
      sharing->stream ? sharing->stream(&stream, ga__queue_device(ctx)) : GA_NO_ERROR;
  ga__vendor_leave();
  if (status == GA_NO_ERROR)
    *out = stream;
  return status;
}

/* Prefixes a failure with the operation. */
static int check_status(gpucontext *ctx, int status, const char *operation) {
  return status == GA_NO_ERROR
             ? status
             : ga__fail_within(ga__context_status(ctx, status), "%s", operation);
}

/* The consumer's stream waits for the work on a buffer; it may write to it. */
static int publish(gpudata *data, intptr_t stream, const char *operation) {
  if (stream == -1)
    return GA_NO_ERROR;
  gpucontext *ctx = data->context;
  const ga_use use = {.buffer = data, .writes = true};
  void *device;
  GA_TRY(ga__queue_begin(&device, ctx, 1, &use));
  int status = ctx->backend->sharing->publish(device, stream);
  ga__queue_end(ctx, 1, &use);
  return check_status(ctx, status, operation);
}

int ga__dlpack_follow(gpudata *data, intptr_t stream, const char *operation) {
  gpucontext *ctx = data->context;
  const ga_use use = {.buffer = data, .writes = true};
  void *device;
  GA_TRY(ga__queue_begin(&device, ctx, 1, &use));
  int status =
      stream == -1 ? GA_NO_ERROR : ctx->backend->sharing->follow(device, stream);
  ga__queue_end(ctx, 1, &use);
  return check_status(ctx, status, operation);
}

/* ---- export ---- */

/* An exported tensor, and what it keeps alive. */
typedef struct loan {
  union {
    DLManagedTensorVersioned versioned;
    DLManagedTensor plain;
  } tensor;
  gpudata *data;
  int64_t shape[GA_MAX_NDIM], strides[GA_MAX_NDIM];
} loan;

static void end_loan(void *manager) {
  loan *l = manager;
  gpudata_release(l->data);
  ga__free(l);
}

static void delete_versioned(DLManagedTensorVersioned *self) {
  if (self)
    end_loan(self->manager_ctx);
}

static void delete_plain(DLManagedTensor *self) {
  if (self)
    end_loan(self->manager_ctx);
}

/* Fills in dtype, shape and strides. */
static int describe(loan *l, DLTensor *out, const GpuArray *a, const char *operation) {
  ssize_t itemsize = (ssize_t)gpuarray_get_elsize(a->typecode);
  GA_TRY(dtype_of(&out->dtype, a->typecode, operation));
  for (unsigned int i = 0; i < a->nd; i++) {
    if (a->strides[i] % itemsize != 0 && a->dimensions[i] > 1) {
      char text[GA_ARRAY_TEXT];
      return GA_FAIL(GA_UNALIGNED_ERROR,
                     "%s: a stride of %s is %zd bytes, which is no multiple of its "
                     "elements' %zd; export a copy",
                     operation, ga__array_text(text, a), a->strides[i], itemsize);
    }
    l->shape[i] = (int64_t)a->dimensions[i];
    l->strides[i] = a->strides[i] / itemsize;
  }
  out->ndim = (int32_t)a->nd;
  out->shape = l->shape;
  out->strides = l->strides;
  return GA_NO_ERROR;
}

/* Where the consumer accesses the memory. */
typedef struct place {
  bool on_host;    /* on the host, after a wait */
  intptr_t stream; /* else on this stream, which waits for pending work */
} place;

/* Exports device memory. The offset is added to the pointer, as many consumers expect,
 * unless memory is a handle. */
static int put_on_device(DLTensor *out, const GpuArray *a, intptr_t stream,
                         const char *operation) {
  bool is_address = a->data->context->backend->sharing->is_address;
  char *memory = ga__buffer_memory(a->data);
  GA_TRY(gpucontext_dlpack_device(a->data->context, &out->device));
  out->data = is_address ? memory + a->offset : memory;
  out->byte_offset = is_address ? 0 : a->offset;
  return publish(a->data, stream, operation);
}

/* Exports unified memory as host memory. */
static int put_on_host(DLTensor *out, const GpuArray *a, const char *operation) {
  char *memory = ga__buffer_on_host(a->data);
  if (memory == NULL)
    return GA_FAIL(GA_DEVSUP_ERROR,
                   "%s: the array is on %s, whose memory the host does not share; "
                   "copy the array to the host",
                   operation, gpucontext_name(a->data->context));
  out->device = (DLDevice){kDLCPU, 0};
  out->data = memory + a->offset;
  out->byte_offset = 0;
  return gpudata_sync(a->data);
}

/* Fills in the tensor at `out` in `l`, which both versions share. */
static int lend(loan *l, DLTensor *out, const GpuArray *a, place where,
                const char *operation) {
  GA_TRY(describe(l, out, a, operation));
  GA_TRY(where.on_host ? put_on_host(out, a, operation)
                       : put_on_device(out, a, where.stream, operation));
  if (ga__array_count(a) == 0) {
    out->data = NULL;
    out->byte_offset = 0;
  }
  l->data = a->data;
  gpudata_retain(l->data);
  return GA_NO_ERROR;
}

static int check_export(const void *out, const GpuArray *a, const char *operation) {
  const ga_sharing *sharing;
  if (out == NULL)
    return ga__fail_null(operation, "pointer for the tensor");
  GA_TRY(ga__array_check(a, operation));
  if (a->data->tape)
    return GA_FAIL(GA_UNSUPPORTED_ERROR,
                   "%s: the array is of a plan that is being bound and has no memory "
                   "yet",
                   operation);
  return sharing_of(&sharing, a->data->context, operation);
}

static int lend_versioned(DLManagedTensorVersioned **out, const GpuArray *a,
                          place where, const char *operation) {
  GA_TRY(check_export(out, a, operation));
  loan *l = ga__alloc(1, sizeof *l);
  GA_TRY_MEMORY(l);
  DLManagedTensorVersioned *t = &l->tensor.versioned;
  int status = lend(l, &t->dl_tensor, a, where, operation);
  if (status != GA_NO_ERROR) {
    ga__free(l);
    return status;
  }
  t->version.major = DLPACK_MAJOR_VERSION;
  t->version.minor = DLPACK_MINOR_VERSION;
  t->manager_ctx = l;
  t->deleter = delete_versioned;
  t->flags = GpuArray_ISWRITEABLE(a) ? 0 : DLPACK_FLAG_BITMASK_READ_ONLY;
  *out = t;
  return GA_NO_ERROR;
}

static int lend_plain(DLManagedTensor **out, const GpuArray *a, place where,
                      const char *operation) {
  GA_TRY(check_export(out, a, operation));
  if (!GpuArray_ISWRITEABLE(a))
    return GA_FAIL(GA_READONLY_ERROR,
                   "%s: the array is read-only, which DLPack before 1.0 cannot "
                   "express; export a copy",
                   operation);
  loan *l = ga__alloc(1, sizeof *l);
  GA_TRY_MEMORY(l);
  DLManagedTensor *t = &l->tensor.plain;
  int status = lend(l, &t->dl_tensor, a, where, operation);
  if (status != GA_NO_ERROR) {
    ga__free(l);
    return status;
  }
  t->manager_ctx = l;
  t->deleter = delete_plain;
  *out = t;
  return GA_NO_ERROR;
}

int GpuArray_to_dlpack(DLManagedTensorVersioned **out, const GpuArray *a,
                       intptr_t stream) {
  return lend_versioned(out, a, (place){.stream = stream}, "to_dlpack");
}

int GpuArray_to_dlpack_unversioned(DLManagedTensor **out, const GpuArray *a,
                                   intptr_t stream) {
  return lend_plain(out, a, (place){.stream = stream}, "to_dlpack_unversioned");
}

int GpuArray_to_dlpack_host(DLManagedTensorVersioned **out, const GpuArray *a) {
  return lend_versioned(out, a, (place){.on_host = true}, "to_dlpack_host");
}

int GpuArray_to_dlpack_host_unversioned(DLManagedTensor **out, const GpuArray *a) {
  return lend_plain(out, a, (place){.on_host = true}, "to_dlpack_host_unversioned");
}

int GpuArray_dlpack_device(DLDevice *out, const GpuArray *a) {
  GA_TRY(check_export(out, a, "dlpack_device"));
  if (ga__buffer_on_host(a->data) == NULL)
    return gpucontext_dlpack_device(a->data->context, out);
  *out = (DLDevice){kDLCPU, 0};
  return GA_NO_ERROR;
}
