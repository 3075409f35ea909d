/* DLPack: arrays shared with other libraries of the process, without a copy.
 *
 * The structs are those of DLPack 1.3, declared here so that nothing else need be
 * installed; DLPack's own header may be included before or after this one.
 *
 * Ownership: a tensor that is given away keeps the array's buffer alive until its
 * deleter is called; a tensor that is taken belongs to the array's buffer, which calls
 * the deleter when the last array on it is cleared and the work queued on it is done.
 * Waiting: no function here waits for a device, but for OpenCL without a queue to order
 * with, and for tensors of the host. Releasing the last array on a foreign tensor waits
 * until the work that this library queued before is done. Failure: a status, with the
 * outputs untouched; a tensor that was not taken still belongs to the caller. Threads:
 * every function, and the deleters, may be called from several threads at once.
 *
 * Streams: an `intptr_t stream` is the `stream` of Python's __dlpack__: for CUDA the
 * handle of the other library's stream, or 1 for the legacy default stream, or 2 for
 * the thread's own default stream; for OpenCL its cl_command_queue, or 0 where there is
 * none to order with: then our work is waited for, and theirs must be done; -1 asks for
 * no order. An order is made by an event: the device waits and the host does not. For
 * memory of the host the argument means nothing. */
#ifndef GPUARRAY_DLPACK_H
#define GPUARRAY_DLPACK_H

#include <gpuarray/array.h>

GPUARRAY_BEGIN_DECLS

/* DLPack's header has this guard. Where it was included, its declarations serve; those
 * before 1.2 had no exchange table. */
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_
#define GPUARRAY_DECLARES_EXCHANGE

/* cdef: begin */
#define DLPACK_MAJOR_VERSION 1
#define DLPACK_MINOR_VERSION 3

/* The version that a tensor was made for. Another major version may have another
 * layout behind `flags`: such a tensor may only be deleted. */
typedef struct DLPackVersion {
  uint32_t major;
  uint32_t minor;
} DLPackVersion;

/* Where memory lies. */
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

/* The kinds of element. */
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

/* An element: its kind, bits of a lane, lanes of a vector (1: a plain number). */
typedef struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

/* The elements of an array, and nothing of who owns them. */
typedef struct DLTensor {
  void *data; /* a pointer of the device, or a cl_mem; NULL may stand for no elements */
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides;     /* in elements; before DLPack 1.2 NULL meant C-contiguous */
  uint64_t byte_offset; /* of the first element from `data` */
} DLTensor;

/* A tensor with its owner, as libraries of before DLPack 1.0 exchange it. */
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
/* A new tensor of the prototype's device, dtype and shape. On failure SetError is
 * called once with the name of an exception and a text. */
typedef int (*DLPackManagedTensorAllocator)(
    DLTensor *prototype, DLManagedTensorVersioned **out, void *error_ctx,
    void (*SetError)(void *error_ctx, const char *kind, const char *message));
/* A tensor that shares the memory of an object, with no order of streams. */
typedef int (*DLPackManagedTensorFromPyObjectNoSync)(void *py_object,
                                                     DLManagedTensorVersioned **out);
/* The same without an owner, valid while the object is. */
typedef int (*DLPackDLTensorFromPyObjectNoSync)(void *py_object, DLTensor *out);
/* The stream that the library works on. */
typedef int (*DLPackCurrentWorkStream)(DLDeviceType device_type, int32_t device_id,
                                       void **out_current_stream);
/* A new object that takes the tensor, with no order of streams. */
typedef int (*DLPackManagedTensorToPyObjectNoSync)(DLManagedTensorVersioned *tensor,
                                                   void **out_py_object);

/* What every version of the table begins with. */
typedef struct DLPackExchangeAPIHeader {
  DLPackVersion version;
  struct DLPackExchangeAPIHeader *prev_api; /* of an older major version, or NULL */
} DLPackExchangeAPIHeader;

/* The functions by which a library exchanges tensors from C; each gives 0 or -1. */
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
/* The device of a context in DLPack's words. GA_DEVSUP_ERROR where DLPack has none. */
int gpucontext_dlpack_device(gpucontext *ctx, DLDevice *out);
/* The context's own stream, to be handed to another library as its `stream`: whatever
 * that library queues there runs in order with the context's work. -1 where the
 * context has none. */
int gpucontext_dlpack_stream(gpucontext *ctx, intptr_t *out);

/* A tensor of the array's elements, any layout, with the read-only flag where the array
 * is not writeable. The caller owns *out and gives it back by its deleter, on any
 * thread, also after the array and the context were given up. What was queued on the
 * array before is done before what `stream` runs from now on. Work of the consumer must
 * be done, or ordered before ours, when the deleter is called; it is without further
 * ado on CUDA's legacy default stream. GA_VALUE_ERROR for a stream that is none,
 * GA_UNSUPPORTED_ERROR for an array of a plan that is being bound, GA_DEVSUP_ERROR for
 * a dtype or a device that DLPack has no word for. */
int GpuArray_to_dlpack(DLManagedTensorVersioned **out, const GpuArray *a,
                       intptr_t stream);
/* The same for consumers of before DLPack 1.0, which know no read-only tensors:
 * GA_READONLY_ERROR unless the array is writeable. */
int GpuArray_to_dlpack_unversioned(DLManagedTensor **out, const GpuArray *a,
                                   intptr_t stream);

/* The same as a tensor of the host, (kDLCPU, 0), of an array in memory that the host
 * and the device share: a processor's. Waits for the work that was queued on the array;
 * what is queued on it later the consumer does not see before gpudata_sync, and its own
 * use must be done then. GA_DEVSUP_ERROR where the host does not share the memory. */
int GpuArray_to_dlpack_host(DLManagedTensorVersioned **out, const GpuArray *a);
/* The same for consumers of before DLPack 1.0. */
int GpuArray_to_dlpack_host_unversioned(DLManagedTensor **out, const GpuArray *a);
/* The device to say that an array is on, where the consumer has not asked for one: the
 * host where GpuArray_to_dlpack_host serves, as every library can take that, else the
 * context's. */
int GpuArray_dlpack_device(DLDevice *out, const GpuArray *a);

/* An array on the tensor's own memory; it is writeable unless the tensor says that it
 * is read-only. On success the tensor belongs to `out`; on failure it stays the
 * caller's. What `stream` has queued so far is done before what the context does from
 * now on. GA_INVALID_ERROR: the tensor is of another major version, of a dtype that no
 * array has, of vectors (lanes), or lies on another device than the context.
 * GA_VALUE_ERROR: the shape is negative, has more than GA_MAX_NDIM axes, or reaches
 * outside its memory, or memory is missing. GA_UNALIGNED_ERROR: elements do not lie at
 * multiples of their size. */
int GpuArray_from_dlpack(GpuArray *out, gpucontext *ctx, DLManagedTensorVersioned *t,
                         intptr_t stream);
/* The same for producers of before DLPack 1.0. The array is writeable. */
int GpuArray_from_dlpack_unversioned(GpuArray *out, gpucontext *ctx, DLManagedTensor *t,
                                     intptr_t stream);

/* DLPack's exchange table for callers in C: its objects are `GpuArray *`, whose tensors
 * are on the device that GpuArray_dlpack_device says. One that
 * managed_tensor_to_py_object_no_sync makes is given back by GpuArray_clear and free().
 * It and the allocator use a context per device that they open when first needed and
 * keep until the process ends. The stream is CUDA's legacy default stream, with which
 * all contexts are in order. A failure's text is gpuarray_error_text(). Static. */
const DLPackExchangeAPI *gpuarray_dlpack_exchange_api(void);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
