/* DLPack: arrays shared with other libraries in the process, without a copy.
 *
 * The structs are those of DLPack 1.3, declared here so that its header is not needed;
 * that header may be included before or after this one.
 *
 * Ownership: an exported tensor keeps the array's buffer alive until its deleter is
 * called. An imported tensor belongs to the array's buffer, which calls the deleter
 * when the last array on it is cleared and the work queued on it is done. Waiting: no
 * function waits for a device, except for OpenCL without a queue to order with, and for
 * host tensors. Releasing the last array on an imported tensor waits for the work that
 * this library queued on it. Failure: a status, with outputs untouched; a tensor that
 * was not imported still belongs to the caller. Threads: functions and deleters may be
 * called from several threads at once.
 *
 * Streams: an `intptr_t stream` is the `stream` of Python's __dlpack__. CUDA: the
 * handle of the other library's stream, 1 for the legacy default stream, or 2 for the
 * per-thread default stream. OpenCL: its cl_command_queue, or 0 if there is none; then
 * our work is waited for, and theirs must be done. -1: no order. Streams are ordered by
 * an event: the device waits, the host does not. Host memory ignores the argument. */
#ifndef GPUARRAY_DLPACK_H
#define GPUARRAY_DLPACK_H

#include <gpuarray/array.h>

GPUARRAY_BEGIN_DECLS

/* The guard of DLPack's header, whose declarations serve if it was included; those
 * before 1.2 have no exchange table. */
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_
#define GPUARRAY_DECLARES_EXCHANGE

/* cdef: begin */
#define DLPACK_MAJOR_VERSION 1
#define DLPACK_MINOR_VERSION 3

/* The version that a tensor was made for. `flags` and what follows may differ in
 * another major version, whose tensors may only be deleted. */
typedef struct DLPackVersion {
  uint32_t major;
  uint32_t minor;
} DLPackVersion;

/* Kinds of device. */
typedef enum {
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3, /* of the host, pinned by CUDA */
  kDLOpenCL = 4,
  kDLVulkan = 7,
  kDLMetal = 8,
  kDLVPI = 9,
  kDLROCM = 10,
  kDLROCMHost = 11,
  kDLExtDev = 12,
  kDLCUDAManaged = 13,
  kDLOneAPI = 14,
  kDLWebGPU = 15,
  kDLHexagon = 16,
  kDLMAIA = 17,
  kDLTrn = 18
} DLDeviceType;

/* A device. Ours: (kDLCUDA, the driver's number), (kDLOpenCL, platform << 16 | number)
 * and, for the null backend, (kDLCPU, 0). */
typedef struct DLDevice {
  DLDeviceType device_type;
  int32_t device_id;
} DLDevice;

/* Kinds of element. */
typedef enum {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLOpaqueHandle = 3,
  kDLBfloat = 4,
  kDLComplex = 5,
  kDLBool = 6,
  kDLFloat8_e3m4 = 7,
  kDLFloat8_e4m3 = 8,
  kDLFloat8_e4m3b11fnuz = 9,
  kDLFloat8_e4m3fn = 10,
  kDLFloat8_e4m3fnuz = 11,
  kDLFloat8_e5m2 = 12,
  kDLFloat8_e5m2fnuz = 13,
  kDLFloat8_e8m0fnu = 14,
  kDLFloat6_e2m3fn = 15,
  kDLFloat6_e3m2fn = 16,
  kDLFloat4_e2m1fn = 17
} DLDataTypeCode;

/* An element type: kind, bits of a lane, lanes of a vector (1: a scalar). */
typedef struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

/* The elements of an array, without an owner. */
typedef struct DLTensor {
  void *data; /* a device pointer, or a cl_mem; may be NULL if there are no elements */
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides;     /* in elements; before DLPack 1.2 NULL meant C-contiguous */
  uint64_t byte_offset; /* of the first element from `data` */
} DLTensor;

/* A tensor with its owner, for libraries of DLPack before 1.0. */
typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensor *self); /* may be NULL */
} DLManagedTensor;

#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)
#define DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED (1UL << 2UL)

/* A tensor with its owner and its version. */
typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self); /* may be NULL */
  uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;
/* cdef: end */

#elif DLPACK_MAJOR_VERSION == 1 && DLPACK_MINOR_VERSION < 2
#define GPUARRAY_DECLARES_EXCHANGE
typedef struct DLManagedTensorVersioned DLManagedTensorVersioned;
#endif

#ifdef GPUARRAY_DECLARES_EXCHANGE
/* cdef: begin */
/* Makes a tensor of the prototype's device, dtype and shape. On failure calls SetError
 * once, with the name of an exception and a text. */
typedef int (*DLPackManagedTensorAllocator)(
    DLTensor *prototype, DLManagedTensorVersioned **out, void *error_ctx,
    void (*SetError)(void *error_ctx, const char *kind, const char *message));
/* Exports an object as a tensor that shares its memory, without ordering streams. */
typedef int (*DLPackManagedTensorFromPyObjectNoSync)(void *py_object,
                                                     DLManagedTensorVersioned **out);
/* The same without an owner, valid while the object lives. */
typedef int (*DLPackDLTensorFromPyObjectNoSync)(void *py_object, DLTensor *out);
/* Writes the library's current stream. */
typedef int (*DLPackCurrentWorkStream)(DLDeviceType device_type, int32_t device_id,
                                       void **out_current_stream);
/* Imports a tensor as a new object, without ordering streams. */
typedef int (*DLPackManagedTensorToPyObjectNoSync)(DLManagedTensorVersioned *tensor,
                                                   void **out_py_object);

/* The start of the exchange table in each of its versions. */
typedef struct DLPackExchangeAPIHeader {
  DLPackVersion version;
  struct DLPackExchangeAPIHeader *prev_api; /* of an older major version, or NULL */
} DLPackExchangeAPIHeader;

/* The exchange table: C functions to exchange tensors, each of which returns 0 or -1.
 */
typedef struct DLPackExchangeAPI {
  DLPackExchangeAPIHeader header;
  DLPackManagedTensorAllocator managed_tensor_allocator;
  DLPackManagedTensorFromPyObjectNoSync managed_tensor_from_py_object_no_sync;
  DLPackManagedTensorToPyObjectNoSync managed_tensor_to_py_object_no_sync;
  DLPackDLTensorFromPyObjectNoSync dltensor_from_py_object_no_sync; /* or NULL */
  DLPackCurrentWorkStream current_work_stream;
} DLPackExchangeAPI;
/* cdef: end */
#undef GPUARRAY_DECLARES_EXCHANGE
#endif

/* cdef: begin */
/* Writes the context's device in DLPack's terms. GA_DEVSUP_ERROR if DLPack has none. */
int gpucontext_dlpack_device(gpucontext *ctx, DLDevice *out);
/* Writes the context's own stream, for another library to take as its `stream`: work
 * that it queues there runs in order with the context's work. -1 if the context has
 * none. */
int gpucontext_dlpack_stream(gpucontext *ctx, intptr_t *out);

/* Exports the array's elements, in any layout; the tensor is read-only if the array is.
 * The caller owns *out and releases it by its deleter, on any thread, also after the
 * array and the context are gone. Work queued on the array so far comes before later
 * work on `stream`. When the deleter is called the consumer's work must be done, or
 * ordered before ours, as it always is on CUDA's legacy default stream. GA_VALUE_ERROR
 * for an invalid stream, GA_UNSUPPORTED_ERROR for an array of a plan that is being
 * bound, GA_DEVSUP_ERROR for a dtype or device that DLPack lacks. */
int GpuArray_to_dlpack(DLManagedTensorVersioned **out, const GpuArray *a,
                       intptr_t stream);
/* GpuArray_to_dlpack for consumers of DLPack before 1.0, which has no read-only
 * tensors: GA_READONLY_ERROR unless the array is writeable. */
int GpuArray_to_dlpack_unversioned(DLManagedTensor **out, const GpuArray *a,
                                   intptr_t stream);

/* Exports an array as a host tensor, (kDLCPU, 0), if host and device share its memory,
 * as a CPU device does. Waits for the work queued on the array. After gpudata_sync the
 * consumer sees later work too; its own use must be done before that work.
 * GA_DEVSUP_ERROR if the memory is not shared. */
int GpuArray_to_dlpack_host(DLManagedTensorVersioned **out, const GpuArray *a);
/* GpuArray_to_dlpack_host for consumers of DLPack before 1.0. */
int GpuArray_to_dlpack_host_unversioned(DLManagedTensor **out, const GpuArray *a);
/* The device to export an array on if the consumer asks for none: the host where
 * GpuArray_to_dlpack_host works, as every library accepts that, else the context's. */
int GpuArray_dlpack_device(DLDevice *out, const GpuArray *a);

/* Imports a tensor as an array on the same memory, writeable unless the tensor is
 * read-only. On success the tensor belongs to `out`, on failure to the caller. Work
 * queued on `stream` so far comes before later work of the context. GA_INVALID_ERROR:
 * another major version, a dtype that arrays lack, vectors (lanes), or another device
 * than the context's. GA_VALUE_ERROR: a negative shape, more than GA_MAX_NDIM axes,
 * elements outside the memory, or no memory. GA_UNALIGNED_ERROR: elements not at
 * multiples of their size. */
int GpuArray_from_dlpack(GpuArray *out, gpucontext *ctx, DLManagedTensorVersioned *t,
                         intptr_t stream);
/* GpuArray_from_dlpack for producers of DLPack before 1.0. The array is writeable. */
int GpuArray_from_dlpack_unversioned(GpuArray *out, gpucontext *ctx, DLManagedTensor *t,
                                     intptr_t stream);

/* DLPack's exchange table for C callers. Its objects are `GpuArray *`, exported on the
 * device that GpuArray_dlpack_device gives. An object made by
 * managed_tensor_to_py_object_no_sync is released by GpuArray_clear and free(). That
 * function and the allocator use one context per device, opened on demand and kept
 * until the process ends. The stream is CUDA's legacy default stream, with which all
 * contexts are in order. Failure texts are in gpuarray_error_text(). Static. */
const DLPackExchangeAPI *gpuarray_dlpack_exchange_api(void);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
