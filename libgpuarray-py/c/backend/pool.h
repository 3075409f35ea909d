/* Caching allocator of device memory, in queue order: a freed block can be reused at
 * once on the in-order queue that used it last; it remembers its latest uses, so that
 * another queue can wait for them. Not thread-safe: the context locks. */
#ifndef GA_C_POOL_H
#define GA_C_POOL_H

#include "c/backend/uses.h"

typedef struct ga_pool ga_pool;
typedef struct ga_allocator ga_allocator; /* source of blocks */

typedef struct ga_block {
  void *memory;
  size_t size;
  const ga_allocator *from;
  ga_uses uses; /* by the previous owner */
} ga_block;

/* `wait(ctx)` waits for every queue that may use blocks of the pool. */
int ga__pool_new(ga_pool **out, const ga_backend *backend, void *device,
                 int (*wait)(gpucontext *ctx), gpucontext *ctx);
/* Returns cached blocks to the device. The queues are idle and no block is live. */
void ga__pool_free(ga_pool *pool);
/* Allocates at least `size` bytes, preferably at `wanted` (or NULL), else a block last
 * used on queue `place`. When the device is full: wait, trim, retry, then
 * GA_MEMORY_ERROR with what is live, cached and limited. */
int ga__pool_get(ga_block *out, ga_pool *pool, size_t size, unsigned int place,
                 const void *wanted);
void ga__pool_put(ga_pool *pool, const ga_block *block);
int ga__pool_trim(ga_pool *pool);
void ga__pool_set_limit(ga_pool *pool, size_t bytes);
/* Caches nothing from now on: each freed block is returned, after waiting. */
void ga__pool_keep_nothing(ga_pool *pool);
/* Sets the allocator of new blocks; NULL is the backend. */
int ga__pool_set_allocator(ga_pool *pool, const gpuarray_allocator *given);
void ga__pool_info(const ga_pool *pool, gpucontext_memory *out);

#endif
