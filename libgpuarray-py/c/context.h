/* An open device: its backend, pool, kernels and counters. */
#ifndef GA_C_CONTEXT_H
#define GA_C_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>

#include "c/backends.h"
#include "c/pool.h"

typedef struct ga_programs ga_programs; /* program.c's */
typedef struct ga_kernels ga_kernels;   /* kernel.c's */
typedef struct ga_casts ga_casts;       /* copy.c's */

struct _gpucontext {
  const ga_backend *backend;
  void *device;
  ga_device_info info;
  char name[GA_DEVICE_NAME]; /* "opencl0:1" */
  atomic_uint references;
  pid_t opened_by;
  ga_pool *pool;
  void *spare;           /* structs of released buffers, chained by their first word */
  ga_programs *programs; /* compiled in this process, by content */
  ga_kernels *kernels;   /* of them, by source */
  _Atomic(ga_casts *) casts; /* that convert arrays, made when needed */
  gpucontext_cache cache;    /* counters */
  char *cache_folder;        /* of compiled programs; NULL: not kept on disk */
  atomic_int blas_state;     /* 0 not tried, 1 the vendor's, -1 our own kernels */
  _Atomic(gpukernel *) blas_kernels[3][2]; /* blas.c's own, of `kernels`; or NULL */
  _Atomic(char *) lost;      /* the first cause once the device failed, else NULL */
  pthread_mutex_t lock;      /* of pool, spare, kernels and cache; held for moments */
  pthread_mutex_t slow_lock; /* of programs; held while something is compiled or
                                opened; taken before `lock` */
};

/* GA_LOST_ERROR or GA_FORK_ERROR if the context cannot be used any more,
 * GA_INVALID_ERROR for NULL; cheap, for every entry point. */
int ga__context_check(gpucontext *ctx);
/* Passes a status on; GA_RUN_ERROR marks the context as lost. */
int ga__context_status(gpucontext *ctx, int status);
/* Waits for all queued work; a failure of the device marks the context as lost. */
int ga__context_wait(gpucontext *ctx);
/* Whether the context belongs to this process. */
bool ga__context_is_ours(const gpucontext *ctx);
/* The vendor's BLAS, or NULL where our own kernels serve. */
const ga_blas *ga__context_blas(gpucontext *ctx);
/* GA_DEVSUP_ERROR if the device cannot hold or compute this type. */
int ga__context_supports(gpucontext *ctx, int typecode, const char *operation);

/* Frees what kernel.c keeps for a context that is closed; kernel.c has it. */
void ga__kernels_close(gpucontext *ctx);
/* The same of copy.c. */
void ga__casts_close(gpucontext *ctx);

#endif
