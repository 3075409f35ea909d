/* Streams of a CUDA device: waits, events and progress marks. */
#include "cuda/device_state.h"

enum { EVENT_DISABLE_TIMING = 2 };

int ga__cuda_wait(void *device) {
  const ga_cuda_device *d = device;
  CUDA_RETURN(d, cuStreamSynchronize, d->stream);
}

int ga__cuda_event(void **event, void *device, bool timed) {
  const ga_cuda_device *d = device;
  CUevent created = NULL;
  CUcontext previous;
  GA_TRY(ga__cuda_enter(&previous, d));
  CUresult result = ga__cuda.cuEventCreate(&created, timed ? 0 : EVENT_DISABLE_TIMING);
  if (result == CUDA_SUCCESS)
    result = ga__cuda.cuEventRecord(created, d->stream);
  if (result != CUDA_SUCCESS && created)
    ga__cuda.cuEventDestroy(created);
  ga__cuda_leave(d, previous);
  if (result != CUDA_SUCCESS)
    return ga__cuda_fail(result, created ? "cuEventRecord" : "cuEventCreate");
  *event = created;
  return GA_NO_ERROR;
}

/* On the device's stream, also during capture. */
int ga__cuda_event_order(void *device, void *event) {
  const ga_cuda_device *d = device;
  CUDA_RETURN(d, cuStreamWaitEvent, d->stream, event, 0);
}

int ga__cuda_event_done(bool *out, void *device, void *event) {
  const ga_cuda_device *d = device;
  CUcontext previous;
  GA_TRY(ga__cuda_enter(&previous, d));
  CUresult result = ga__cuda.cuEventQuery(event);
  ga__cuda_leave(d, previous);
  *out = result == CUDA_SUCCESS;
  return result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY
             ? GA_NO_ERROR
             : ga__cuda_fail(result, "cuEventQuery");
}

int ga__cuda_event_wait(void *device, void *event) {
  const ga_cuda_device *d = device;
  CUDA_RETURN(d, cuEventSynchronize, event);
}

static int elapsed(float *out, const ga_cuda_device *d, void *start, void *end) {
  CUDA_RETURN(d, cuEventElapsedTime, out, start, end);
}

int ga__cuda_event_seconds(double *out, void *device, void *start, void *end) {
  float milliseconds;
  GA_TRY(elapsed(&milliseconds, device, start, end));
  *out = (double)milliseconds * 1e-3;
  return GA_NO_ERROR;
}

void ga__cuda_event_free(void *device, void *event) {
  const ga_cuda_device *d = device;
  CUcontext previous;
  if (event == NULL || ga__cuda_enter(&previous, d) != GA_NO_ERROR)
    return;
  ga__cuda.cuEventDestroy(event);
  ga__cuda_leave(d, previous);
}

/* ---- progress marks ---- */

/* The pinned word that marks are written to, allocated on first use; NULL on
 * failure. */
static uint32_t *progress_word(ga_cuda_device *d) {
  uint32_t *word = atomic_load(&d->progress);
  if (word != NULL)
    return word;
  pthread_mutex_lock(&d->writes.lock);
  word = atomic_load(&d->progress);
  void *memory;
  if (word == NULL && ga__cuda.cuMemAllocHost(&memory, sizeof *word) == CUDA_SUCCESS) {
    word = memory;
    *word = 0;
    atomic_store(&d->progress, word);
  }
  pthread_mutex_unlock(&d->writes.lock);
  return word;
}

/* Marks are optional: no failure without support. */
int ga__cuda_mark(void *device, uint32_t mark) {
  ga_cuda_device *d = device;
  CUcontext previous;
  if (ga__cuda.cuStreamWriteValue32 == NULL || ga__cuda_stream(d) != d->stream ||
      atomic_load_explicit(&d->without_marks, memory_order_relaxed))
    return GA_NO_ERROR;
  GA_TRY(ga__cuda_enter(&previous, d));
  uint32_t *word = progress_word(d);
  if (word == NULL ||
      ga__cuda.cuStreamWriteValue32(d->stream, (CUdeviceptr)(uintptr_t)word, mark, 0) !=
          CUDA_SUCCESS)
    atomic_store(&d->without_marks, true);
  ga__cuda_leave(d, previous);
  return GA_NO_ERROR;
}

void ga__cuda_progress(uint32_t *mark, void *device) {
  const ga_cuda_device *d = device;
  const uint32_t *word = atomic_load(&d->progress);
  *mark = word ? __atomic_load_n(word, __ATOMIC_ACQUIRE) : 0; /* the device writes it */
}
