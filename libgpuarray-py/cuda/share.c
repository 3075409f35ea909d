/* Interoperability with other users of CUDA in the process (DLPack).
 *
 * All share the primary context, so that addresses, streams and events are valid for
 * all. DLPack's stream numbers 1 (legacy default) and 2 (per-thread default) are
 * handles to the driver as well. */
#include "cuda/share.h"

enum { DL_CUDA = 2, EVENT_DISABLE_TIMING = 2 };

static int stream_of(intptr_t *out, void *device) {
  *out = (intptr_t)ga__cuda_stream(device);
  return GA_NO_ERROR;
}

/* Makes later work on `second` wait for the work queued on `first`. */
static int order_current(CUstream first, CUstream second) {
  CUevent event = NULL;
  CUDA_TRY(cuEventCreate, &event, EVENT_DISABLE_TIMING);
  const char *call = "cuEventRecord";
  CUresult result = ga__cuda.cuEventRecord(event, first);
  if (result == CUDA_SUCCESS) {
    call = "cuStreamWaitEvent";
    result = ga__cuda.cuStreamWaitEvent(second, event, 0);
  }
  ga__cuda.cuEventDestroy(event); /* released once no stream waits for it */
  return result == CUDA_SUCCESS ? GA_NO_ERROR : ga__cuda_fail(result, call);
}

static int order(const ga_cuda_device *d, CUstream first, CUstream second) {
  if (first == second)
    return GA_NO_ERROR;
  CUcontext previous;
  GA_TRY(ga__cuda_enter(&previous, d));
  int status = order_current(first, second);
  ga__cuda_leave(d, previous);
  return status;
}

static int check_stream(intptr_t stream) {
  if (stream > 0)
    return GA_NO_ERROR;
  return GA_FAIL(
      GA_VALUE_ERROR,
      "stream %td is not a CUDA stream: expected a stream's handle, 1 (the legacy "
      "default stream), 2 (the thread's default stream) or -1 (no order); 0 "
      "would mean either of the defaults",
      (ptrdiff_t)stream);
}

static int publish(void *device, intptr_t stream) {
  const ga_cuda_device *d = device;
  GA_TRY(check_stream(stream));
  return order(d, ga__cuda_stream(d), (CUstream)stream);
}

static int follow(void *device, intptr_t stream) {
  const ga_cuda_device *d = device;
  GA_TRY(check_stream(stream));
  return order(d, (CUstream)stream, ga__cuda_stream(d));
}

const ga_sharing ga__cuda_sharing = {.device_type = DL_CUDA,
                                     .is_address = true,
                                     .stream = stream_of,
                                     .publish = publish,
                                     .follow = follow};
