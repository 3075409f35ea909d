/* Caching allocator of host memory for results: pages are resident, and pinned where
 * the device gains by that.
 *
 * The pool belongs to a context; blocks may outlive it, and only the device forgets
 * them. After a fork no block from before is reused, since parent and child may share
 * its pages. */
#ifndef GA_C_HOST_POOL_H
#define GA_C_HOST_POOL_H

#include "c/backend/backend.h"
#include <gpuarray/host.h>

typedef struct ga_host_pool ga_host_pool;

struct _gpuhost {
  void *bytes;
  size_t size;        /* of the block, at least the requested size */
  bool is_pinned;     /* page-locked by the backend's pinning */
  void *handle;       /* the backend's */
  unsigned int forks; /* fork count at allocation */
  ga_host_pool *pool; /* NULL: borrowed bytes of `lent` */
  gpudata *lent;
  gpuhost *next, *previous; /* in the list of blocks in use, or cached */
};

int ga__host_pool_new(ga_host_pool **out, const ga_backend *backend, void *device);
/* Call it before the device is closed. */
void ga__host_pool_close(ga_host_pool *pool);
void ga__host_pool_set_limit(ga_host_pool *pool, size_t bytes);
void ga__host_pool_count(ga_host_pool *pool, size_t *live, size_t *cached,
                         size_t *limit);
/* Frees cached blocks. */
void ga__host_pool_trim(ga_host_pool *pool);
/* Allocates a block; NULL beyond the limit or without memory. */
gpuhost *ga__host_pool_get(ga_host_pool *pool, size_t size);
/* True if the whole range lies in one pinned block in use. False for blocks from before
 * a fork: their pages may have been copied since. */
bool ga__host_pool_pinned(ga_host_pool *pool, const void *bytes, size_t size);

#endif
