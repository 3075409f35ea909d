/* An open OpenCL device: context, queue, memory. A further queue is the same struct
 * with a queue and staging of its own. */
#ifndef GA_OPENCL_DEVICE_STATE_H
#define GA_OPENCL_DEVICE_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "c/backend/backend.h"
#include "opencl/api.h"

/* Pinned staging memory for small transfers, a ring of parts. */
#define GA_OPENCL_PARTS 4
typedef struct ga_opencl_staging {
  pthread_mutex_t lock;
  cl_mem memory; /* NULL until first used */
  char *mapped;
  cl_event events[GA_OPENCL_PARTS]; /* last transfer of each part, or NULL */
  unsigned int part;                /* being filled */
  size_t used;                      /* bytes of it */
} ga_opencl_staging;

typedef struct ga_opencl_device {
  struct ga_opencl_device
      *first; /* the device, which owns the context; itself for the first queue */
  const ga_opencl_api *api;
  cl_device_id id;
  cl_context context;
  cl_command_queue queue;
  /* Runs a command in the thread that enqueues it, before that returns; or NULL. A
   * launch and a wait take Intel's runtime 2 us so, and 7 by a thread of its own. */
  cl_command_queue at_once;
  char options[128];    /* of every build */
  const char *skipping; /* options more by which a build skips the runtime's header */
  bool is_gpu, is_discrete;
  /* Replaces a compiled program by one from its binary: the runtime keeps some 3 MB of
   * each that it compiled, and a sixth of that of one from a binary. */
  bool reloads;
  /* Caches source in place of binaries. PoCL has a disk cache of its own for kernels by
   * group size; its binaries recompile each kernel for any group size, which no launch
   * uses. */
  bool stores_sources;
  /* A CPU with fine-grained shared virtual memory, which the host accesses while the
   * queue is idle, and with native kernels (queued host functions). */
  bool shares_memory;
  /* Commands enqueued, and known to be complete; the queue is idle if they are
   * equal. */
  atomic_ulong queued, done;
  /* Back pressure: `bound` is a marker after command `bounded`, or NULL. Both are
   * guarded by bound_lock. */
  atomic_ulong bounded;
  cl_event bound;
  pthread_mutex_t bound_lock;
  /* Of the first queue's struct: a generation, increased when a buffer is freed, as its
   * handle may be reused. */
  atomic_ulong frees;
  ga_opencl_staging staging;
  /* Profiling: it costs GPUs some us a transfer, so that the first timed event replaces
   * the queue by a profiling one. Elsewhere it is free. */
  bool keeps_times;
  /* Serializes use and replacement of a GPU's queue. NVIDIA's driver (580) crashes when
   * two threads enqueue at once. */
  pthread_mutex_t queue_lock;
  atomic_bool is_lent; /* others enqueue on it too, so it is never known to be idle */
} ga_opencl_device;

/* Locks a GPU's queue between the two. */
static inline void ga__opencl_enter(ga_opencl_device *device) {
  if (device->is_gpu)
    pthread_mutex_lock(&device->queue_lock);
}
static inline void ga__opencl_leave(ga_opencl_device *device) {
  if (device->is_gpu)
    pthread_mutex_unlock(&device->queue_lock);
}

/* After a command is enqueued. */
static inline void ga__opencl_note(ga_opencl_device *device) {
  atomic_fetch_add_explicit(&device->queued, 1, memory_order_release);
}

/* Enqueues by `name(queue, ...)`; *code is its result. */
#define OPENCL_QUEUE(code, device, name, ...)                                          \
  do {                                                                                 \
    ga__opencl_enter(device);                                                          \
    *(code) = (device)->api->name((device)->queue, __VA_ARGS__);                       \
    ga__opencl_note(device);                                                           \
    ga__opencl_leave(device);                                                          \
  } while (0)

/* The same; returns a failure from the caller. */
#define OPENCL_QUEUE_TRY(device, name, ...)                                            \
  do {                                                                                 \
    cl_int opencl_try_;                                                                \
    OPENCL_QUEUE(&opencl_try_, device, name, __VA_ARGS__);                             \
    if (opencl_try_ != CL_SUCCESS)                                                     \
      return ga__opencl_fail(opencl_try_, #name);                                      \
  } while (0)

/* Back pressure, to be called without locks after enqueuing: waits until at most a few
 * thousand commands are unfinished, for drivers queue without limit, with memory for
 * each. */
int ga__opencl_bound(ga_opencl_device *device);

/* True if all commands enqueued so far, by any thread, are complete. */
static inline bool ga__opencl_is_idle(const ga_opencl_device *device) {
  return !atomic_load_explicit(&device->is_lent, memory_order_relaxed) &&
         atomic_load_explicit(&device->done, memory_order_acquire) ==
             atomic_load_explicit(&device->queued, memory_order_acquire);
}

/* Waits unless the queue is known to be idle. */
int ga__opencl_settle(ga_opencl_device *device);

/* Backend table entries; see c/backend/backend.h. */
int ga__opencl_platform_count(unsigned int *out);
int ga__opencl_device_count(unsigned int *out, unsigned int platform);
int ga__opencl_probe(ga_device_info *out, unsigned int platform, unsigned int index);
int ga__opencl_open(void **device, ga_device_info *info, unsigned int platform,
                    unsigned int index);
int ga__opencl_adopt(void **device, ga_device_info *info, unsigned int *platform,
                     unsigned int *index, void *native);
void ga__opencl_close(void *device);
int ga__opencl_alloc(void **memory, void *device, size_t size);
void ga__opencl_free(void *device, void *memory);
int ga__opencl_free_memory(size_t *out, void *device);
int ga__opencl_host_alloc(void **memory, void **host, void *device, size_t size);
void ga__opencl_host_free(void *device, void *memory, void *host);
void ga__opencl_forget(void *device);
int ga__opencl_queue_new(void **queue, void *device);
void ga__opencl_queue_free(void *queue);
/* The queue, to be shared; it is not replaced from now on. */
int ga__opencl_fixed_queue(cl_command_queue *out, ga_opencl_device *device);
/* Replaces the idle queue by the application's. */
int ga__opencl_take_queue(ga_opencl_device *device, cl_command_queue queue);
/* Where to store a command's event, or NULL if none is wanted. */
cl_event *ga__opencl_event_place(const ga_opencl_device *device);
void ga__opencl_watch(void *device);
void *ga__opencl_watched(void *device);
int ga__opencl_event_span(double *start, double *end, void *device, void *origin,
                          void *event);
int ga__opencl_wait(void *device);
int ga__opencl_event(void **event, void *device, bool timed);
int ga__opencl_event_order(void *device, void *event);
int ga__opencl_event_done(bool *out, void *device, void *event);
int ga__opencl_event_wait(void *device, void *event);
int ga__opencl_event_seconds(double *out, void *device, void *start, void *end);
void ga__opencl_event_free(void *device, void *event);

#endif
