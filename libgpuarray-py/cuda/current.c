/* The current context and stream of a thread. */
#include "cuda/device_state.h"

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

/* The device that this thread captures a graph of, or NULL. */
static _Thread_local const ga_cuda_device *capturing;

CUstream ga__cuda_stream(const ga_cuda_device *device) {
  return capturing == device ? device->capture : device->stream;
}

void ga__cuda_record_on(const ga_cuda_device *device) {
  capturing = device;
}

void ga__cuda_lock_handles(ga_cuda_device *d) {
  if (ga__cuda_stream(d) == d->stream)
    pthread_mutex_lock(&d->blas_lock);
}

void ga__cuda_unlock_handles(ga_cuda_device *d) {
  if (ga__cuda_stream(d) == d->stream)
    pthread_mutex_unlock(&d->blas_lock);
}
