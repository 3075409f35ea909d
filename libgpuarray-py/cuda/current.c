/* Which context is current on a thread, and where the thread's work is queued. */
#include "cuda/device.h"

int ga__cuda_enter(CUcontext *previous, const ga_cuda_device *device) {
  CUDA_TRY(cuCtxGetCurrent, previous);
  if (*previous != device->context)
    CUDA_TRY(cuCtxSetCurrent, device->context);
  return GA_NO_ERROR;
}

void ga__cuda_leave(const ga_cuda_device *device, CUcontext previous) {
  if (previous != NULL && previous != device->context)
    ga__cuda.cuCtxSetCurrent(previous);
}

/* The device whose graph this thread records, or NULL. */
static _Thread_local const ga_cuda_device *recording;

CUstream ga__cuda_stream(const ga_cuda_device *device) {
  return recording == device ? device->capture : device->stream;
}

void ga__cuda_record_on(const ga_cuda_device *device) {
  recording = device;
}
