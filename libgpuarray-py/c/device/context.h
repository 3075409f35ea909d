/* An open device: its backend, pool, kernels and counters. */
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

/* Frees what was attached to a context (ga__context_attach). */
typedef void (*ga_attachment_free)(gpucontext *ctx, void *object);
typedef struct ga_attachment ga_attachment;

/* In the order in which they are freed: users of kernels, kernels, programs. */
enum ga_attached {
  GA_ATTACHED_USERS,
  GA_ATTACHED_KERNELS,
  GA_ATTACHED_PROGRAMS,
  GA_ATTACHED
};

/* Who refers to a context, and what ends it. */
typedef struct ga_context_life {
  atomic_uint references;
  void (*close)(gpucontext *ctx); /* what the last reference does */
  pid_t opened_by;
  ga_waited at_end; /* its queues, where threads of the process compute */
} ga_context_life;

/* Buffers, and the memory that they are of. */
typedef struct ga_context_memory {
  ga_pool *pool;
  ga_host_pool *host_pool; /* where results are brought to */
  void *spare;   /* structs of released buffers, chained by their first word */
  gpudata *live; /* the buffers, chained both ways */
} ga_context_memory;

typedef struct ga_context_queues {
  gpuqueue main;                         /* the default one: the context's `device` */
  gpuqueue *list[GPUARRAY_MAX_QUEUES];   /* by place; of `lock`, as are the next */
  uint64_t tickets[GPUARRAY_MAX_QUEUES]; /* where the next queue of a place goes on */
  unsigned int epoch;                    /* counts how often there came to be several */
  atomic_bool are_many;                  /* there are others besides the default one */
  bool is_single;                        /* there shall be no other */
  pthread_mutex_t lock; /* of queues and of the uses of buffers; taken last */
} ga_context_queues;

/* What tells of a failure. */
typedef struct ga_context_errors {
  ga_launches launches;                 /* the latest, which can have caused it */
  _Atomic(struct ga_reports *) reports; /* device_errors.c's, made when needed */
  _Atomic(char *) lost; /* the first cause once the device failed, else NULL */
} ga_context_errors;

/* What other parts of the library keep with a context; freed in this order. */
typedef struct ga_attachments {
  _Atomic(ga_attachment *) list[GA_ATTACHED];
  pthread_mutex_t lock; /* of adding; nothing is done under it */
} ga_attachments;

/* Compiled programs. */
typedef struct ga_context_cache {
  gpucontext_cache counters;
  char *folder; /* NULL: not kept on disk */
} ga_context_cache;

typedef struct ga_context_blas {
  atomic_int state;     /* 0 not tried, 1 the vendor's is open, -1 there is none */
  bool wants_vendor;    /* also where our own kernels are faster */
  atomic_bool is_tf32;  /* products of float32 may use tensor cores in tf32 */
  pthread_mutex_t lock; /* held while the vendor's is opened, which may be while
                           something is compiled */
  /* Products of our own by kind and type; or NULL. */
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
  atomic_bool is_blocking;       /* each launch waits */
  atomic_size_t waits;           /* of the host for the device, so far */
  _Atomic(gpuprofile *) profile; /* that is running, or NULL; set with queues.lock */
  pthread_mutex_t lock;          /* of memory, kernels and cache; held for moments */
  pthread_mutex_t slow_lock;     /* of programs; held while something is compiled or
                                    opened; taken before `lock` */
};

/* GA_LOST_ERROR or GA_FORK_ERROR if the context cannot be used any more,
 * GA_VALUE_ERROR for NULL; cheap, for every entry point. */
int ga__context_check(gpucontext *ctx);
/* Passes a status on; GA_RUN_ERROR marks the context as lost. */
int ga__context_status(gpucontext *ctx, int status);
/* Passes the status of a wait on; a failure of the device marks the context as lost,
 * and the text says which launches can have caused it. */
int ga__context_waited(gpucontext *ctx, int status);
/* Waits for the work of every queue, and for what it reports. */
int ga__context_wait(gpucontext *ctx);
/* Counts a wait of the host, for GA_CTX_PROP_WAITS. */
static inline void ga__context_note_wait(gpucontext *ctx) {
  atomic_fetch_add_explicit(&ctx->waits, 1, memory_order_relaxed);
}
/* Opens a context in one of the vendor's that an application made, and keeps until
 * this one is closed. `props` may be NULL, and stays the caller's. */
int ga__context_adopt(gpucontext **out, const ga_backend *backend, void *native,
                      const gpucontext_props *props);
/* Whether the context belongs to this process. */
bool ga__context_is_ours(const gpucontext *ctx);
/* The vendor's BLAS, or NULL where our own kernels serve. */
const ga_blas *ga__context_blas(gpucontext *ctx);
/* Queues a product by the vendor's BLAS, on real buffers. */
int ga__context_product(gpucontext *ctx, const ga_blas_call *call);
/* GA_DEVSUP_ERROR if the device cannot hold or compute this type. */
int ga__context_supports(gpucontext *ctx, int typecode, const char *operation);

/* The object attached under this `free`, or NULL. Thread-safe, without a lock. */
void *ga__context_attached(gpucontext *ctx, enum ga_attached kind,
                           ga_attachment_free free);
/* The same; where there is none, one of `size` zeroed bytes is attached, which `free`
 * frees when the context is closed. */
int ga__context_attach(void **out, gpucontext *ctx, enum ga_attached kind, size_t size,
                       ga_attachment_free free);
void ga__context_free_attached(gpucontext *ctx);
/* Frees the text of what made the context lost. */
void ga__context_forget_cause(gpucontext *ctx);

#endif
