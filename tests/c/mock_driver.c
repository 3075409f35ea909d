/* The mock of NVIDIA's driver, on host memory: contexts, streams, events and memory.
 *
 * A queue runs only when it is waited for, so that whoever forgets to wait, or to order
 * two queues, sees old bytes. Memory that is freed while queued work needs it is a use
 * after free, which AddressSanitizer reports. */
#include "mock_queue.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SHARED_ATTRIBUTE = 97 };
#define TOTAL_MEMORY ((size_t)1 << 33)

struct ga_cuda_event_ {
  CUstream stream; /* NULL: never recorded */
  size_t place;
};

static struct ga_cuda_context_ contexts[MOCK_DEVICES];

/* ---- the driver and its devices ---- */

CUresult cuInit(unsigned int flags) {
  return flags == 0 ? mock_state.init : INVALID_VALUE;
}

CUresult cuDriverGetVersion(int *version) {
  *version = mock_state.version;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **text) {
  *text = error == CUDA_ERROR_OUT_OF_MEMORY     ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : error == INVALID_VALUE              ? "CUDA_ERROR_INVALID_VALUE"
                                                : NULL;
  return *text ? CUDA_SUCCESS : INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
  *text = error == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : NULL;
  return *text ? CUDA_SUCCESS : INVALID_VALUE;
}

CUresult cuDeviceGetCount(int *count) {
  *count = mock_state.devices;
  return mock_state.init == CUDA_SUCCESS ? CUDA_SUCCESS : 3; /* not initialised */
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  *device = ordinal;
  return ordinal >= 0 && ordinal < mock_state.devices ? CUDA_SUCCESS : 101;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
  snprintf(name, (size_t)size, "Mock %d", device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device) {
  (void)device;
  *bytes = TOTAL_MEMORY;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
  static const int attributes[] = {
      [1] = 1024,       [2] = 1024,  [3] = 1024,  [4] = 64, /* threads of a block */
      [5] = 0x7fffffff, [6] = 65535, [7] = 65535,           /* blocks */
      [10] = 32,        [16] = 132,  [18] = 0};
  (void)device;
  if (attribute == 75)
    *value = mock_state.capability / 10;
  else if (attribute == 76)
    *value = mock_state.capability % 10;
  else if (attribute == MOST_SHARED_ATTRIBUTE)
    *value = MOST_SHARED;
  else if (attribute > 0 && (size_t)attribute < sizeof attributes / sizeof *attributes)
    *value = attributes[attribute];
  else
    return INVALID_VALUE;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *id, int size, CUdevice device) {
  snprintf(id, (size_t)size, "0000:0%d:00.0", device);
  return CUDA_SUCCESS;
}

/* ---- contexts ---- */

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  CUresult result = mock_begin_anywhere();
  if (result == CUDA_SUCCESS) {
    contexts[device].references++;
    mock_state.contexts++;
    *context = &contexts[device];
  }
  return mock_end(result);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  mock_lock();
  mock_state.contexts--;
  if (--contexts[device].references == 0)
    contexts[device].sticky = CUDA_SUCCESS;
  return mock_end(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active) {
  mock_lock();
  *flags = 0;
  *active = contexts[device].references > 0;
  return mock_end(CUDA_SUCCESS);
}

CUresult cuCtxGetCurrent(CUcontext *context) {
  *context = mock_current;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  mock_lock();
  if (context && context->references == 0)
    return mock_end(INVALID_CONTEXT);
  mock_current = context;
  return mock_end(CUDA_SUCCESS);
}

CUresult cuCtxGetDevice(CUdevice *device) {
  CUresult result = mock_begin();
  if (result == CUDA_SUCCESS)
    *device = (CUdevice)(mock_current - contexts);
  return mock_end(result);
}

/* ---- streams and events ---- */

CUresult cuStreamCreate(CUstream *stream, unsigned int flags) {
  (void)flags;
  CUresult result = mock_begin_unrecorded();
  if (result == CUDA_SUCCESS) {
    *stream = calloc(1, sizeof **stream);
    (*stream)->context = mock_current;
    mock_state.streams++;
  }
  return mock_end(result);
}

/* Commands of others may still name a stream that is gone. */
static CUstream gone;

CUresult cuStreamDestroy(CUstream stream) {
  mock_lock();
  mock_run_until(stream, SIZE_MAX);
  stream->next = gone;
  gone = stream;
  mock_state.streams--;
  return mock_end(CUDA_SUCCESS);
}

__attribute__((destructor)) static void free_streams(void) {
  while (gone) {
    CUstream next = gone->next;
    free(gone->commands.items);
    free(gone);
    gone = next;
  }
}

/* A wait that fails has waited. */
static CUresult wait_until(CUstream stream, size_t place) {
  CUresult result = mock_begin_unrecorded();
  if (result != INVALID_CONTEXT && result != CAPTURE_UNSUPPORTED)
    mock_run_until(stream, place);
  if (result == CUDA_SUCCESS)
    result = stream->context->sticky;
  return mock_end(result);
}

CUresult cuStreamSynchronize(CUstream stream) {
  return wait_until(stream, SIZE_MAX);
}

static void run_wait(command *c, CUstream stream) {
  (void)stream;
  mock_run_until(c->awaited, c->size);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
  CUcontext ours = mock_current;
  (void)flags;
  mock_current = stream->context; /* it may be of another device than the event */
  CUresult result = mock_push(
      stream,
      &(command){.run = run_wait, .awaited = event->stream, .size = event->place});
  mock_current = ours;
  return result;
}

CUresult cuEventCreate(CUevent *event, unsigned int flags) {
  (void)flags;
  CUresult result = mock_begin_unrecorded();
  if (result == CUDA_SUCCESS) {
    *event = calloc(1, sizeof **event);
    mock_state.events++;
  }
  return mock_end(result);
}

CUresult cuEventDestroy(CUevent event) {
  mock_lock();
  mock_state.events--;
  free(event);
  return mock_end(CUDA_SUCCESS);
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  CUresult result = mock_begin_unrecorded();
  if (result == CUDA_SUCCESS) {
    event->stream = stream;
    event->place = stream->commands.n;
  }
  return mock_end(result);
}

CUresult cuEventQuery(CUevent event) {
  CUresult result = mock_begin_unrecorded();
  if (result == CUDA_SUCCESS && event->stream && event->place > event->stream->done)
    result = CUDA_ERROR_NOT_READY;
  return mock_end(result);
}

/* An event that was never recorded is done. */
CUresult cuEventSynchronize(CUevent event) {
  return event->stream ? wait_until(event->stream, event->place) : CUDA_SUCCESS;
}

/* A command takes a millisecond. */
CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end_event) {
  CUresult result = mock_begin_unrecorded();
  if (result == CUDA_SUCCESS && (start->place > start->stream->done ||
                                 end_event->place > end_event->stream->done))
    result = CUDA_ERROR_NOT_READY;
  if (result == CUDA_SUCCESS)
    *milliseconds =
        (float)(end_event->place - start->place) * (mock_state.is_fast ? 1e-3F : 1);
  return mock_end(result);
}

/* ---- memory ---- */

CUresult cuMemAlloc(CUdeviceptr *memory, size_t size) {
  CUresult result = mock_begin_unrecorded();
  if (result == CUDA_SUCCESS && (size == 0 || size > TOTAL_MEMORY))
    result = size == 0 ? INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
  if (result == CUDA_SUCCESS) {
    void *block = malloc(size);
    memset(block, 0xab, size);
    *memory = (CUdeviceptr)(uintptr_t)block;
    mock_state.allocations++;
  }
  return mock_end(result);
}

CUresult cuMemFree(CUdeviceptr memory) {
  mock_lock();
  mock_state.allocations--;
  free((void *)(uintptr_t)memory);
  return mock_end(CUDA_SUCCESS);
}

CUresult cuMemGetInfo(size_t *free_bytes, size_t *total) {
  *free_bytes = *total = TOTAL_MEMORY;
  return mock_end(mock_begin());
}

CUresult cuMemAllocHost(void **memory, size_t size) {
  CUresult result = mock_begin_unrecorded();
  if (result == CUDA_SUCCESS) {
    *memory = malloc(size);
    mock_state.pinned++;
  }
  return mock_end(result);
}

CUresult cuMemFreeHost(void *memory) {
  mock_lock();
  mock_state.pinned--;
  free(memory);
  return mock_end(CUDA_SUCCESS);
}

/* Of pages that somebody else allocates and frees. */
CUresult cuMemHostRegister(void *memory, size_t size, unsigned int flags) {
  CUresult result = mock_begin_unrecorded();
  if (result == CUDA_SUCCESS && (memory == NULL || size == 0 || flags != 1))
    result = INVALID_VALUE;
  if (result == CUDA_SUCCESS)
    mock_state.pinned++;
  return mock_end(result);
}

CUresult cuMemHostUnregister(void *memory) {
  (void)memory;
  mock_lock();
  mock_state.pinned--;
  return mock_end(CUDA_SUCCESS);
}

static void run_copy(command *c, CUstream stream) {
  (void)stream;
  memcpy(c->to, c->from, c->size);
}

static void run_fill(command *c, CUstream stream) {
  (void)stream;
  memset(c->to, c->byte, c->size);
}

static CUresult push_copy(void *to, const void *from, size_t size, CUstream stream) {
  return mock_push(stream,
                   &(command){.run = run_copy, .to = to, .from = from, .size = size});
}

static CUresult push_host_copy(void *to, const void *from, size_t size,
                               CUstream stream) {
  mock_lock();
  mock_state.host_copies++;
  mock_end(CUDA_SUCCESS);
  return push_copy(to, from, size, stream);
}

static void *host(CUdeviceptr memory) {
  return (void *)(uintptr_t)memory;
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t size,
                           CUstream stream) {
  return push_host_copy(host(to), from, size, stream);
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t size, CUstream stream) {
  return push_host_copy(to, host(from), size, stream);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t size,
                           CUstream stream) {
  return push_copy(host(to), host(from), size, stream);
}

/* As the driver does, it refuses what it has done before; nobody is to mind. */
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
  if (flags || mock_state.reached == peer)
    return INVALID_VALUE;
  mock_state.reached = peer;
  return CUDA_SUCCESS;
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                           CUcontext from_context, size_t size, CUstream stream) {
  if (to_context == from_context)
    return INVALID_VALUE;
  mock_state.peer_copies++;
  return push_copy(host(to), host(from), size, stream);
}

CUresult cuMemsetD8Async(CUdeviceptr memory, unsigned char byte, size_t size,
                         CUstream stream) {
  return mock_push(
      stream,
      &(command){.run = run_fill, .to = host(memory), .size = size, .byte = byte});
}

static void run_mark(command *c, CUstream stream) {
  (void)stream;
  __atomic_store_n((uint32_t *)c->to, (uint32_t)c->size, __ATOMIC_RELEASE);
}

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, uint32_t value,
                              unsigned int flags) {
  (void)flags;
  return mock_push(stream,
                   &(command){.run = run_mark, .to = host(address), .size = value});
}

/* What was allocated lies on device 0, but for the first page of the process. */
CUresult cuPointerGetAttribute(void *value, int attribute, CUdeviceptr address) {
  CUresult result = mock_begin();
  if (result == CUDA_SUCCESS && (attribute != 9 || address < 4096))
    result = 1; /* CUDA_ERROR_INVALID_VALUE */
  if (result == CUDA_SUCCESS)
    *(int *)value = 0;
  return mock_end(result);
}

/* An allocation begins at a multiple of 16 bytes; other addresses are within it. */
CUresult cuMemGetAddressRange(CUdeviceptr *begin, size_t *size, CUdeviceptr memory) {
  CUresult result = mock_begin();
  if (result == CUDA_SUCCESS) {
    *begin = memory - memory % 16;
    *size = 16;
  }
  return mock_end(result);
}

/* A handle is the address; what was opened is counted as pinned. */
CUresult cuIpcGetMemHandle(void *handle, CUdeviceptr memory) {
  CUresult result = mock_begin();
  if (result == CUDA_SUCCESS)
    memcpy(handle, &memory, sizeof memory);
  return mock_end(result);
}

CUresult cuIpcOpenMemHandle(CUdeviceptr *memory, ga_cuda_ipc_handle handle,
                            unsigned int flags) {
  CUresult result = mock_begin();
  (void)flags;
  if (result == CUDA_SUCCESS) {
    memcpy(memory, handle.bytes, sizeof *memory);
    mock_state.pinned++;
  }
  return mock_end(result);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr memory) {
  (void)memory;
  mock_lock();
  mock_state.pinned--;
  return mock_end(CUDA_SUCCESS);
}
