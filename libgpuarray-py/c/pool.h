/* Freed device blocks kept for reuse, in queue order: since a context has one in-order
 * queue, a block freed now may be handed out at once. Not thread-safe by itself: its
 * context locks. */
#ifndef GA_C_POOL_H
#define GA_C_POOL_H

#include "c/backend.h"

typedef struct ga_pool ga_pool;

int ga__pool_new(ga_pool **out, const ga_backend *backend, void *device);
/* Gives what it keeps back to the device. The queue is idle and no block is live. */
void ga__pool_free(ga_pool *pool);
/* At least `size` bytes; *block_size is what to hand back to ga__pool_put. When the
 * device is full: waits, trims, tries once more, then GA_MEMORY_ERROR with what is
 * live, cached and limited. */
int ga__pool_get(void **memory, size_t *block_size, ga_pool *pool, size_t size);
void ga__pool_put(ga_pool *pool, void *memory, size_t block_size);
int ga__pool_trim(ga_pool *pool);
void ga__pool_set_limit(ga_pool *pool, size_t bytes);
void ga__pool_info(const ga_pool *pool, gpucontext_memory *out);

#endif
