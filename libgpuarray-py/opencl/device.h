/* An open OpenCL device: its context, queue, memory and events. Another queue of it is
 * the same struct with a queue and staging of its own. */
#ifndef GA_OPENCL_DEVICE_H
#define GA_OPENCL_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>

#include "c/backend/backend.h"
#include "opencl/platform.h"

/* Pinned memory that small host data passes through, in parts used in turn. */
#define GA_OPENCL_PARTS 4
typedef struct ga_opencl_staging {
  pthread_mutex_t lock;
  cl_mem memory; /* NULL until first needed */
  char *mapped;
  cl_event events[GA_OPENCL_PARTS]; /* the last transfer of a part, or NULL */
  unsigned int part;                /* the one being filled */
  size_t used;                      /* bytes of it */
} ga_opencl_staging;

typedef struct ga_opencl_device {
  struct ga_opencl_device *first; /* of a queue: the device, which owns the context */
  const ga_opencl_api *api;
  cl_device_id id;
  cl_context context;
  cl_command_queue queue;
  char options[128]; /* of every build */
  bool is_gpu, is_discrete;
  /* A program is taken anew from its binary once it is compiled: the runtime keeps some
   * 3 MB of each that it compiled, and a sixth of that of one from a binary. */
  bool reloads;
  /* A program is stored as its source: PoCL keeps on disk what it compiled for
   * launches, and makes a binary by compiling each kernel once more, for groups of any
   * size, which no launch takes. */
  bool stores_sources;
  /* Buffers lie in fine-grained shared virtual memory, which the host may touch while
   * the queue is idle, and host functions can be queued: a CPU. */
  bool shares_memory;
  /* The queue is idle when they agree: how many commands were queued, and how many of
   * them are known to be done. */
  atomic_ulong queued, done;
  /* Work in flight is bounded: behind the command `bounded` of the queue lies the
   * marker `bound`, or NULL. Both are of bound_lock. */
  atomic_ulong bounded;
  cl_event bound;
  pthread_mutex_t bound_lock;
  /* Of the first: grows whenever a buffer is freed, since its handle may come again for
   * another. */
  atomic_ulong frees;
  ga_opencl_staging staging;
  /* Keeping the times of commands costs GPUs some us a transfer, so that their queue is
   * replaced by one that does when the first event asks for it. Elsewhere it costs
   * nothing. */
  bool keeps_times;
  /* Of a GPU's queue: one thread uses it at a time, also while it is replaced. NVIDIA's
   * driver (580) crashes when two threads queue commands at once. */
  pthread_mutex_t queue_lock;
  atomic_bool is_lent; /* others queue on it too: it is never known to be idle */
} ga_opencl_device;

/* The queue is this thread's between the two. */
static inline void ga__opencl_enter(ga_opencl_device *device) {
  if (device->is_gpu)
    pthread_mutex_lock(&device->queue_lock);
}
static inline void ga__opencl_leave(ga_opencl_device *device) {
  if (device->is_gpu)
    pthread_mutex_unlock(&device->queue_lock);
}

/* To be called after a command was queued. */
static inline void ga__opencl_note(ga_opencl_device *device) {
  atomic_fetch_add_explicit(&device->queued, 1, memory_order_release);
}

/* Calls `name(queue, ...)`, which queues a command; *code is its result. */
#define OPENCL_QUEUE(code, device, name, ...)                                          \
  do {                                                                                 \
    ga__opencl_enter(device);                                                          \
    *(code) = (device)->api->name((device)->queue, __VA_ARGS__);                       \
    ga__opencl_note(device);                                                           \
    ga__opencl_leave(device);                                                          \
  } while (0)

/* The same, and hands a failure on to the caller. */
#define OPENCL_QUEUE_TRY(device, name, ...)                                            \
  do {                                                                                 \
    cl_int opencl_try_;                                                                \
    OPENCL_QUEUE(&opencl_try_, device, name, __VA_ARGS__);                             \
    if (opencl_try_ != CL_SUCCESS)                                                     \
      return ga__opencl_fail(opencl_try_, #name);                                      \
  } while (0)

/* To be called now and then, without locks, by what queues commands: waits until no
 * more than a few thousand are unfinished. Drivers keep any number of them, and memory
 * for each. */
int ga__opencl_bound(ga_opencl_device *device);

/* Whether nothing that any thread has queued so far is still to be done. */
static inline bool ga__opencl_is_idle(const ga_opencl_device *device) {
  return !atomic_load_explicit(&device->is_lent, memory_order_relaxed) &&
         atomic_load_explicit(&device->done, memory_order_acquire) ==
             atomic_load_explicit(&device->queued, memory_order_acquire);
}

/* Waits if the queue is not known to be idle. */
int ga__opencl_settle(ga_opencl_device *device);

/* The entries of the backend's table; see c/backend/backend.h. */
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
/* The queue, which is not replaced from now on: for others to hold, and to queue on. */
int ga__opencl_fixed_queue(cl_command_queue *out, ga_opencl_device *device);
/* Replaces the queue, which has nothing to do, by one of the application's. */
int ga__opencl_take_queue(ga_opencl_device *device, cl_command_queue queue);
/* Where a command's event is to be put; NULL if nobody asked for it. */
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
