/* An open CUDA device: context, stream, memory. A further queue is the same struct with
 * a stream, staging and handles of its own. */
#ifndef GA_CUDA_DEVICE_STATE_H
#define GA_CUDA_DEVICE_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "c/backend/backend.h"
#include "cuda/api.h"

/* Pinned staging memory, a ring of parts. */
#define GA_CUDA_PARTS 4
typedef struct ga_cuda_staging {
  pthread_mutex_t lock;
  char *memory;                  /* NULL until first used */
  CUevent events[GA_CUDA_PARTS]; /* after a part's copies */
  unsigned int part;             /* being filled */
  size_t used;                   /* bytes of it */
} ga_cuda_staging;

typedef struct ga_cuda_device {
  CUdevice device;
  /* The primary context, which other libraries of the process share, or a borrowed
   * one. */
  CUcontext context;
  _Atomic(CUcontext) reached; /* the latest peer to whose memory it has access */
  /* Of a further queue: the device, which owns the context; else NULL. */
  struct ga_cuda_device *owner;
  bool is_borrowed; /* the application made the context, and frees it */
  /* Blocking with respect to the legacy default stream: other libraries' work there is
   * ordered with ours without events. */
  CUstream stream;
  int capability;  /* 90 for sm_90 */
  int most_shared; /* opt-in shared memory of a block, in bytes */
  /* Separate, for a read holds its lock while it waits. */
  ga_cuda_staging writes, reads;
  cublasHandle blas;                   /* NULL until blas_open */
  struct ga_cuda_lt *lt;               /* blaslt.c; NULL until first used */
  struct ga_cuda_solver *solver;       /* solver.c; likewise */
  struct ga_cuda_plans *plans;         /* fft.c; likewise */
  struct ga_cuda_dnn *dnn;             /* dnn.c; likewise */
  pthread_mutex_t blas_lock;           /* guards handles, their streams, and choices */
  CUstream capture;                    /* captures graphs; NULL until first used */
  struct ga_cuda_recording *recording; /* graph.c; likewise */
  struct ga_cuda_choices *choices;     /* conditional.c; likewise */
  _Atomic(uint32_t *) progress; /* pinned: the last mark passed; NULL until used */
  atomic_bool without_marks;    /* marks are unsupported */
} ga_cuda_device;

/* The thread's stream on the device, or its capture stream while it captures. */
CUstream ga__cuda_stream(const ga_cuda_device *device);
/* Sets the device whose graph this thread captures; NULL for none. */
void ga__cuda_record_on(const ga_cuda_device *device);

/* Pushes the device's context on this thread. ga__cuda_leave restores *previous; where
 * that is NULL ours stays current, so that the next call need not switch. */
int ga__cuda_enter(CUcontext *previous, const ga_cuda_device *device);
void ga__cuda_leave(const ga_cuda_device *device, CUcontext previous);

/* Locks the libraries' handles for one call; a thread that captures a graph holds the
 * lock already. */
void ga__cuda_lock_handles(ga_cuda_device *device);
void ga__cuda_unlock_handles(ga_cuda_device *device);

/* Returns the status of one driver call with the context pushed. */
#define CUDA_RETURN(device, name, ...)                                                 \
  do {                                                                                 \
    CUcontext previous_;                                                               \
    GA_TRY(ga__cuda_enter(&previous_, device));                                        \
    CUresult result_ = ga__cuda.name(__VA_ARGS__);                                     \
    ga__cuda_leave(device, previous_);                                                 \
    return result_ == CUDA_SUCCESS ? GA_NO_ERROR : ga__cuda_fail(result_, #name);      \
  } while (0)

/* Releases something by one driver call with the device current; ignores failures. */
#define CUDA_RELEASE(device, name, ...)                                                \
  do {                                                                                 \
    CUcontext previous_;                                                               \
    if (ga__cuda_enter(&previous_, device) == GA_NO_ERROR) {                           \
      ga__cuda.name(__VA_ARGS__);                                                      \
      ga__cuda_leave(device, previous_);                                               \
    }                                                                                  \
  } while (0)

/* Backend table entries; see c/backend/backend.h. */
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
