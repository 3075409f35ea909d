/* An open CUDA device: its context, queue, memory and events. Another queue of it is
 * the same struct with a stream, staging and handles of its own. */
#ifndef GA_CUDA_DEVICE_H
#define GA_CUDA_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>

#include "c/backend/backend.h"
#include "cuda/api.h"

/* Pinned memory that host data passes through, in parts used in turn. */
#define GA_CUDA_PARTS 4
typedef struct ga_cuda_staging {
  pthread_mutex_t lock;
  char *memory;                  /* NULL until first needed */
  CUevent events[GA_CUDA_PARTS]; /* behind the copies of a part */
  unsigned int part;             /* the one being filled */
  size_t used;                   /* bytes of it */
} ga_cuda_staging;

typedef struct ga_cuda_device {
  CUdevice device;
  /* The device's primary context, the one that other libraries of the process use, or
   * the one that was adopted. */
  CUcontext context;
  /* Of another queue: the device, which owns the context; else NULL. */
  struct ga_cuda_device *owner;
  bool is_borrowed; /* an application made the context, and frees it */
  /* Ordered with the legacy default stream: what another library runs there sees our
   * results with no event, and the other way round. */
  CUstream stream;
  int capability;  /* 90 for sm_90 */
  int most_shared; /* bytes of shared memory of a block that asks for it */
  /* Apart, for a read holds its own while it waits for the queue. */
  ga_cuda_staging writes, reads;
  cublasHandle blas;             /* NULL until blas_open */
  struct ga_cuda_lt *lt;         /* cuBLASLt's, blaslt.c's; NULL until first needed */
  struct ga_cuda_solver *solver; /* cuSOLVER's, solver.c's; likewise */
  struct ga_cuda_plans *plans;   /* cuFFT's, fft.c's; likewise */
  pthread_mutex_t blas_lock;     /* of the handles, their stream, and choices */
  CUstream capture; /* what a graph is recorded on; NULL until first needed */
  struct ga_cuda_recording *recording; /* graph.c's; likewise */
  struct ga_cuda_choices *choices;     /* conditional.c's; likewise */
  _Atomic(uint32_t *) progress; /* pinned: the mark last passed; NULL until needed */
  atomic_bool without_marks;    /* the driver has none */
} ga_cuda_device;

/* Where this thread's work on the device is queued: on its stream, or on the one that
 * records while the thread makes a graph. */
CUstream ga__cuda_stream(const ga_cuda_device *device);
/* This thread records a graph of the device; NULL: of none. */
void ga__cuda_record_on(const ga_cuda_device *device);

/* Makes the device's context current on this thread if it is not. *previous is what
 * ga__cuda_leave takes: a context of someone else is put back; where there was none
 * ours stays, so that the next call finds it. */
int ga__cuda_enter(CUcontext *previous, const ga_cuda_device *device);
void ga__cuda_leave(const ga_cuda_device *device, CUcontext previous);

/* Makes one call of the driver with the device current, and returns its status from the
 * function that it stands in. */
#define CUDA_RETURN(device, name, ...)                                                 \
  do {                                                                                 \
    CUcontext previous_;                                                               \
    GA_TRY(ga__cuda_enter(&previous_, device));                                        \
    CUresult result_ = ga__cuda.name(__VA_ARGS__);                                     \
    ga__cuda_leave(device, previous_);                                                 \
    return result_ == CUDA_SUCCESS ? GA_NO_ERROR : ga__cuda_fail(result_, #name);      \
  } while (0)

/* The entries of the backend's table; see c/backend/backend.h. */
int ga__cuda_platform_count(unsigned int *out);
int ga__cuda_device_count(unsigned int *out, unsigned int platform);
int ga__cuda_probe(ga_device_info *out, unsigned int platform, unsigned int index);
int ga__cuda_open(void **device, ga_device_info *info, unsigned int platform,
                  unsigned int index);
int ga__cuda_adopt(void **device, ga_device_info *info, unsigned int *platform,
                   unsigned int *index, void *native);
void ga__cuda_close(void *device);
int ga__cuda_alloc(void **memory, void *device, size_t size);
void ga__cuda_free(void *device, void *memory);
int ga__cuda_free_memory(size_t *out, void *device);
int ga__cuda_host_alloc(void **memory, void **host, void *device, size_t size);
void ga__cuda_host_free(void *device, void *memory, void *host);
int ga__cuda_queue_new(void **queue, void *device);
void ga__cuda_queue_free(void *queue);
int ga__cuda_mark(void *device, uint32_t mark);
void ga__cuda_progress(uint32_t *mark, void *device);
int ga__cuda_wait(void *device);
int ga__cuda_event(void **event, void *device, bool timed);
int ga__cuda_event_order(void *device, void *event);
int ga__cuda_event_done(bool *out, void *device, void *event);
int ga__cuda_event_wait(void *device, void *event);
int ga__cuda_event_seconds(double *out, void *device, void *start, void *end);
void ga__cuda_event_free(void *device, void *event);

#endif
