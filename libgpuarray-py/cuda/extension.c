/* Interoperability with CUDA programs: the functions of gpuarray/ext_cuda.h. */

#include <gpuarray/extension.h>
#include <string.h>

#include "c/device/buffer.h"
#include "cuda/device_state.h"

static ga_cuda_device *device_of(gpucontext *ctx, const char *operation) {
  if (ctx && ctx->backend == &ga__cuda_backend)
    return ga__queue_device(ctx);
  ga__fail(GA_INVALID_ERROR, "%s: %s is not a CUDA context", operation,
           ctx ? ctx->name : "NULL");
  return NULL;
}

static int check_buffer(const gpudata *b, const char *operation) {
  if (b == NULL)
    return ga__fail_null(operation, "buffer");
  if (b->context->backend != &ga__cuda_backend || b->tape)
    return GA_FAIL(GA_INVALID_ERROR, "%s: got a buffer that is not CUDA's", operation);
  return ga__context_check(b->context);
}

/* ---- contexts ---- */

#define MAX_DEPTH 64 /* nested cuda_enter calls of a thread */

/* Stack of contexts to restore. */
static _Thread_local CUcontext entered[MAX_DEPTH];
static _Thread_local unsigned int depth;

static void enter(gpucontext *ctx) {
  const ga_cuda_device *d = device_of(ctx, "cuda_enter");
  CUcontext before = NULL;
  if (d == NULL)
    return;
  ga__cuda.cuCtxGetCurrent(&before);
  if (depth < MAX_DEPTH)
    entered[depth] = before;
  depth++;
  ga__cuda.cuCtxSetCurrent(d->context);
}

static void leave(gpucontext *ctx) {
  if (device_of(ctx, "cuda_exit") == NULL || depth == 0)
    return;
  depth--;
  if (depth < MAX_DEPTH)
    ga__cuda.cuCtxSetCurrent(entered[depth]);
}

static gpucontext *make_ctx(CUcontext native, gpucontext_props *props) {
  gpucontext *ctx = NULL;
  if (native == NULL) {
    ga__fail_null("cuda_make_ctx", "CUcontext");
    return NULL;
  }
  if (ga__context_adopt(&ctx, &ga__cuda_backend, native, props) != GA_NO_ERROR)
    return NULL;
  return ctx;
}

static CUstream get_stream(gpucontext *ctx) {
  const ga_cuda_device *d = device_of(ctx, "cuda_get_stream");
  return d ? d->stream : NULL;
}

/* ---- buffers ---- */

static gpudata *make_buf(gpucontext *ctx, CUdeviceptr address, size_t size) {
  gpudata *buffer = NULL;
  if (device_of(ctx, "cuda_make_buf") == NULL ||
      ga__buffer_wrap(&buffer, ctx, (void *)(uintptr_t)address, size, NULL, NULL) !=
          GA_NO_ERROR)
    return NULL;
  return buffer;
}

static size_t get_sz(gpudata *b) {
  return check_buffer(b, "cuda_get_sz") == GA_NO_ERROR ? b->size : 0;
}

static bool writes(int flags) {
  return flags & GPUARRAY_CUDA_WAIT_WRITE;
}

static int wait_before(gpudata *b, int flags) {
  void *device;
  GA_TRY(check_buffer(b, "cuda_wait"));
  ga_use use = {b, writes(flags)};
  return ga__context_status(b->context, ga__queue_begin(&device, b->context, 1, &use));
}

static int record_after(gpudata *b, int flags) {
  GA_TRY(check_buffer(b, "cuda_record"));
  ga_use use = {b, writes(flags)};
  ga__queue_end(b->context, 1, &use);
  return GA_NO_ERROR;
}

static int get_device(CUdeviceptr address, int *number) {
  enum { DEVICE_ORDINAL = 9 };
  if (number == NULL)
    return ga__fail_null("cuda_get_device", "pointer for the number");
  GA_TRY(ga__cuda_need_driver());
  if (ga__cuda.cuPointerGetAttribute == NULL)
    return GA_FAIL(GA_DEVSUP_ERROR, "cuda_get_device: this driver does not report it");
  CUresult result = ga__cuda.cuPointerGetAttribute(number, DEVICE_ORDINAL, address);
  if (result == CUDA_SUCCESS)
    return GA_NO_ERROR;
  ga__cuda_fail(result, "cuPointerGetAttribute");
  return ga__fail_within(GA_VALUE_ERROR, "cuda_get_device: 0x%llx is not CUDA memory",
                         address);
}

/* ---- inter-process memory ---- */

static int no_ipc(const char *operation) {
  return GA_FAIL(GA_DEVSUP_ERROR, "%s: this driver shares no memory between processes",
                 operation);
}

/* A handle names a whole allocation: whoever opened that of a part would read the
 * beginning of the allocation instead. */
static int check_whole(const ga_cuda_device *d, CUdeviceptr memory) {
  CUcontext previous;
  CUdeviceptr begin = 0;
  size_t size = 0;
  GA_TRY(ga__cuda_enter(&previous, d));
  CUresult result = ga__cuda.cuMemGetAddressRange(&begin, &size, memory);
  ga__cuda_leave(d, previous);
  if (result != CUDA_SUCCESS)
    return ga__cuda_fail(result, "cuMemGetAddressRange");
  if (begin == memory)
    return GA_NO_ERROR;
  return GA_FAIL(
      GA_VALUE_ERROR,
      "cuda_get_ipc_handle: the buffer begins %llu bytes within an allocation "
      "of another library, and a handle names a whole one; copy the buffer",
      memory - begin);
}

static int get_ipc_handle(gpudata *b, GpuArrayIpcMemHandle *handle) {
  GA_TRY(check_buffer(b, "cuda_get_ipc_handle"));
  if (handle == NULL)
    return ga__fail_null("cuda_get_ipc_handle", "pointer for the handle");
  if (ga__cuda.cuIpcGetMemHandle == NULL || ga__cuda.cuMemGetAddressRange == NULL)
    return no_ipc("cuda_get_ipc_handle");
  const ga_cuda_device *d = b->context->device;
  CUdeviceptr memory = (CUdeviceptr)(uintptr_t)b->memory;
  GA_TRY(check_whole(d, memory));
  CUDA_RETURN(d, cuIpcGetMemHandle, handle, memory);
}

/* Mapping of another process's memory. */
typedef struct mapping {
  const ga_cuda_device *device;
  CUdeviceptr address;
} mapping;

static void close_mapping(void *owner) {
  mapping *m = owner;
  CUDA_RELEASE(m->device, cuIpcCloseMemHandle, m->address);
  ga__free(m);
}

static int open_mapping(mapping *m, const GpuArrayIpcMemHandle *handle) {
  enum { LAZY_PEER_ACCESS = 1 };
  ga_cuda_ipc_handle native;
  memcpy(native.bytes, handle->priv, sizeof native.bytes);
  CUDA_RETURN(m->device, cuIpcOpenMemHandle, &m->address, native, LAZY_PEER_ACCESS);
}

static gpudata *open_ipc_handle(gpucontext *ctx, GpuArrayIpcMemHandle *handle,
                                size_t size) {
  gpudata *buffer = NULL;
  if (device_of(ctx, "cuda_open_ipc_handle") == NULL)
    return NULL;
  if (handle == NULL) {
    ga__fail_null("cuda_open_ipc_handle", "handle");
    return NULL;
  }
  if (ga__cuda.cuIpcOpenMemHandle == NULL || ga__cuda.cuIpcCloseMemHandle == NULL) {
    no_ipc("cuda_open_ipc_handle");
    return NULL;
  }
  mapping *m = ga__alloc(1, sizeof *m);
  if (m == NULL)
    return NULL;
  m->device = ctx->device;
  if (open_mapping(m, handle) != GA_NO_ERROR) {
    ga__free(m);
    return NULL;
  }
  if (ga__buffer_wrap(&buffer, ctx, (void *)(uintptr_t)m->address, size, close_mapping,
                      m) != GA_NO_ERROR) {
    close_mapping(m);
    return NULL;
  }
  return buffer;
}

#define ENTRY(name, function) {name, (void (*)(void))(function)}
const ga_extension ga__cuda_extensions[] = {
    ENTRY("cuda_enter", enter),
    ENTRY("cuda_exit", leave),
    ENTRY("cuda_make_ctx", make_ctx),
    ENTRY("cuda_get_stream", get_stream),
    ENTRY("cuda_make_buf", make_buf),
    ENTRY("cuda_get_sz", get_sz),
    ENTRY("cuda_wait", wait_before),
    ENTRY("cuda_record", record_after),
    ENTRY("cuda_get_device", get_device),
    ENTRY("cuda_get_ipc_handle", get_ipc_handle),
    ENTRY("cuda_open_ipc_handle", open_ipc_handle),
    {NULL, NULL},
};
