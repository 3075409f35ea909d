/* Freed device blocks kept for reuse, in queue order: what was used on one in-order
 * queue may be handed out at once for work on the same; a block remembers its latest
 * uses, so that work on another queue can wait for them. Not thread-safe by itself: its
 * context locks. */
#ifndef GA_C_POOL_H
#define GA_C_POOL_H

#include "c/backend/uses.h"

typedef struct ga_pool ga_pool;
typedef struct ga_allocator ga_allocator; /* where blocks come from */

typedef struct ga_block {
  void *memory;
  size_t size;
  const ga_allocator *from;
  ga_uses uses; /* of the one who had it before */
} ga_block;

/* `wait(ctx)` waits for every queue that may use blocks of the pool. */
int ga__pool_new(ga_pool **out, const ga_backend *backend, void *device,
                 int (*wait)(gpucontext *ctx), gpucontext *ctx);
/* Gives what it keeps back to the device. The queues are idle and no block is live. */
void ga__pool_free(ga_pool *pool);
/* At least `size` bytes, preferably last used on the queue of this place. When the
 * device is full: waits, trims, tries once more, then GA_MEMORY_ERROR with what is
 * live, cached and limited. */
int ga__pool_get(ga_block *out, ga_pool *pool, size_t size, unsigned int place);
void ga__pool_put(ga_pool *pool, const ga_block *block);
int ga__pool_trim(ga_pool *pool);
void ga__pool_set_limit(ga_pool *pool, size_t bytes);
/* Gives every block back at once from now on, after waiting. */
void ga__pool_keep_nothing(ga_pool *pool);
/* Takes new blocks from `given`, or the backend again where it is NULL. */
int ga__pool_set_allocator(ga_pool *pool, const gpuarray_allocator *given);
void ga__pool_info(const ga_pool *pool, gpucontext_memory *out);

#endif
