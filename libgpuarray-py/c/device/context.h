/* A context: an open device with its backend, pool, queues, caches and error state. */
#ifndef GA_C_CONTEXT_H
#define GA_C_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>

#include "c/backend/backends.h"
#include "c/backend/pool.h"
#include "c/device/host_pool.h"
#include "c/device/launches.h"
#include "c/device/profile.h"
#include "c/device/queue.h"
#include "c/system/ending.h"
#include "c/system/process.h"

/* Deleter of an attachment (ga__context_attach). */
typedef void (*ga_attachment_free)(gpucontext *ctx, void *object);
typedef struct ga_attachment ga_attachment;

/* Order of deletion: users of kernels, kernels, programs. */
enum ga_attached {
  GA_ATTACHED_USERS,
  GA_ATTACHED_KERNELS,
  GA_ATTACHED_PROGRAMS,
  GA_ATTACHED
};

/* Reference count and deleter. */
typedef struct ga_context_life {
  atomic_uint references;
  void (*close)(gpucontext *ctx); /* the deleter */
  pid_t opened_by;
  ga_waited at_end; /* on CPU devices: exit waits for the queues */
} ga_context_life;

/* Buffers and allocators. */
typedef struct ga_context_memory {
  ga_pool *pool;
  ga_host_pool *host_pool; /* host memory for results */
  void *spare;             /* free list of gpudata, linked by the first member */
  gpudata *live;           /* doubly linked list of buffers */
} ga_context_memory;

typedef struct ga_context_queues {
  gpuqueue main;                       /* default queue, on the context's `device` */
  gpuqueue *list[GPUARRAY_MAX_QUEUES]; /* by index; guarded by lock, as are the next */
  uint64_t tickets[GPUARRAY_MAX_QUEUES]; /* ticket count that the next queue at an index
                                            continues */
  unsigned int epoch;   /* number of times that queues were added to the default one */
  atomic_bool are_many; /* more queues than the default one */
  bool is_single;       /* single stream: no other queue may be made */
  pthread_mutex_t lock; /* of queues and buffer uses; innermost lock */
} ga_context_queues;

/* Error state. */
typedef struct ga_context_errors {
  ga_launches launches;                 /* ring of the latest launches, the suspects */
  _Atomic(struct ga_reports *) reports; /* of device_errors.c, made when needed */
  _Atomic(char *) lost; /* text of the first cause if the context is lost, else NULL */
} ga_context_errors;

/* Attachments: objects that other parts keep per context; freed in this order. */
typedef struct ga_attachments {
  _Atomic(ga_attachment *) list[GA_ATTACHED];
  pthread_mutex_t lock; /* held only to add one */
} ga_attachments;

/* Program cache. */
typedef struct ga_context_cache {
  gpucontext_cache counters;
  char *folder; /* NULL: no disk cache */
} ga_context_cache;

typedef struct ga_context_blas {
  atomic_int state;    /* 0: not tried, 1: vendor's library open, -1: none */
  bool wants_vendor;   /* prefer it also where our kernels are faster */
  atomic_bool is_tf32; /* float32 products, convolutions may round to tf32 */
  pthread_mutex_t
      lock; /* held while the library is opened, also during a compilation */
  /* Built-in products by kind and type; or NULL. */
  _Atomic(gpukernel *) kernels[GA_BLAS_KINDS][GA_BLAS_TYPES];
} ga_context_blas;

struct _gpucontext {
  const ga_backend *backend;
  void *device;
  ga_device_info info;
  char name[GA_DEVICE_NAME]; /* "opencl0:1" */
  ga_context_life life;
  ga_context_memory memory;
  ga_context_queues queues;
  ga_context_errors errors;
  ga_attachments attachments;
  ga_context_cache cache;
  ga_context_blas blas;
  atomic_bool is_blocking; /* each launch waits (for debugging) */
  atomic_size_t waits;     /* number of host waits */
  _Atomic(gpuprofile *)
      profile;          /* the running profile, or NULL; written under queues.lock */
  pthread_mutex_t lock; /* of memory, kernels and cache; short sections */
  pthread_mutex_t
      slow_lock; /* of programs; held while compiling or opening; taken before `lock` */
};

/* Entry check: GA_VALUE_ERROR for NULL, GA_LOST_ERROR after a device failure,
 * GA_FORK_ERROR in a forked child. Cheap. */
int ga__context_check(gpucontext *ctx);
/* Returns `status`; GA_RUN_ERROR marks the context as lost. */
int ga__context_status(gpucontext *ctx, int status);
/* Returns the status of a wait; a device failure marks the context as lost, and the
 * message names the launches that may have caused it. */
int ga__context_waited(gpucontext *ctx, int status);
/* Waits for every queue, then checks the error word. */
int ga__context_wait(gpucontext *ctx);
/* Counts a host wait (GA_CTX_PROP_WAITS). */
static inline void ga__context_note_wait(gpucontext *ctx) {
  atomic_fetch_add_explicit(&ctx->waits, 1, memory_order_relaxed);
}
/* Opens a context on the application's native one, which must outlive it. `props` may
 * be NULL and stays the caller's. */
int ga__context_adopt(gpucontext **out, const ga_backend *backend, void *native,
                      const gpucontext_props *props);
/* False in a forked child. */
bool ga__context_is_ours(const gpucontext *ctx);
/* The vendor's BLAS, or NULL if our own kernels are used. */
const ga_blas *ga__context_blas(gpucontext *ctx);
/* Queues a product by the vendor's BLAS; no placeholders. */
int ga__context_product(gpucontext *ctx, const ga_blas_call *call);
/* The vendor's library of neural networks, open for this thread's queue; NULL if our
 * own kernels are used. */
const ga_dnn *ga__context_dnn(gpucontext *ctx);
/* Queues a convolution by it; no placeholders. */
int ga__context_convolution(gpucontext *ctx, const ga_dnn_call *call);
/* GA_DEVSUP_ERROR if the device does not support the type. */
int ga__context_supports(gpucontext *ctx, int typecode, const char *operation);

/* The attachment with this deleter, or NULL. Lock-free. */
void *ga__context_attached(gpucontext *ctx, enum ga_attached kind,
                           ga_attachment_free free);
/* The same, made on first use: `size` zeroed bytes, which `free` frees at closing. */
int ga__context_attach(void **out, gpucontext *ctx, enum ga_attached kind, size_t size,
                       ga_attachment_free free);
void ga__context_free_attached(gpucontext *ctx);
/* Frees the text of the first cause. */
void ga__context_forget_cause(gpucontext *ctx);

#endif
