/* Memory of the host that results are brought to, kept for the next ones: its pages are
 * there already, and pinned where the device has a use for that.
 *
 * The pool belongs to a context, and its blocks may outlive that: they stay as they
 * are, and only the device no longer knows them. What was given out before the process
 * forked is not given out again, since two processes may hold it. */
#ifndef GA_C_HOST_POOL_H
#define GA_C_HOST_POOL_H

#include "c/backend/backend.h"
#include <gpuarray/host.h>

typedef struct ga_host_pool ga_host_pool;

struct _gpuhost {
  void *bytes;
  size_t size;        /* of the block, at least what was asked for */
  bool is_pinned;     /* the backend's pinning works on it */
  void *handle;       /* the backend's */
  unsigned int forks; /* of the process, when it was made */
  ga_host_pool *pool; /* NULL: the bytes are those of `lent` */
  gpudata *lent;
  gpuhost *next, *previous; /* among those that are given out, or kept */
};

int ga__host_pool_new(ga_host_pool **out, const ga_backend *backend, void *device);
/* The device is about to be closed. */
void ga__host_pool_close(ga_host_pool *pool);
void ga__host_pool_set_limit(ga_host_pool *pool, size_t bytes);
void ga__host_pool_count(ga_host_pool *pool, size_t *live, size_t *cached,
                         size_t *limit);
/* Gives what is kept back to the system. */
void ga__host_pool_trim(ga_host_pool *pool);
/* A block of `size` bytes; NULL beyond the limit or where there is no memory. */
gpuhost *ga__host_pool_get(ga_host_pool *pool, size_t size);
/* Whether all of these bytes lie in one block that is given out and that the backend's
 * pinning works on: one from before a fork may have been copied since. */
bool ga__host_pool_pinned(ga_host_pool *pool, const void *bytes, size_t size);

#endif
