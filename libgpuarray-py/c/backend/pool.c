/* Caching allocator: freed device blocks are kept for reuse, in queue order.
 *
 * Sizes are rounded up to size classes: multiples of 512 bytes up to 8 KiB, then eight
 * steps an octave. Free lists are LIFO: the block freed last is warmest. */
#include "c/backend/pool.h"

#include <stdio.h>

#include "c/base/size_class.h"

#define UNIT 512        /* alignment and granularity, bytes */
#define N_CLASSES 400   /* size classes, up to 2^56 bytes */
#define LARGEST_BITS 56 /* of the largest request */

#define SCANNED 8     /* free blocks searched for one of the same queue */
#define SCANNED_AT 64 /* for one at an address */

/* `given` without functions is the backend itself. */
struct ga_allocator {
  gpuarray_allocator given;
  ga_allocator *next;
};

typedef struct size_class {
  ga_block *blocks;
  size_t n, capacity;
} size_class;

struct ga_pool {
  const ga_backend *backend;
  void *device;
  int (*wait)(gpucontext *ctx);
  gpucontext *context;
  ga_allocator own;         /* the backend */
  ga_allocator *others;     /* all that were ever set */
  const ga_allocator *from; /* allocator of new blocks */
  bool keeps_nothing;
  gpucontext_memory info;
  size_class classes[N_CLASSES];
};

int ga__pool_new(ga_pool **out, const ga_backend *backend, void *device,
                 int (*wait)(gpucontext *ctx), gpucontext *ctx) {
  ga_pool *pool = ga__alloc(1, sizeof *pool);
  GA_TRY_MEMORY(pool);
  pool->backend = backend;
  pool->device = device;
  pool->wait = wait;
  pool->context = ctx;
  pool->from = &pool->own;
  *out = pool;
  return GA_NO_ERROR;
}

/* ---- allocators ---- */

static int take_memory(void **memory, ga_pool *pool, size_t size) {
  const gpuarray_allocator *given = &pool->from->given;
  if (given->alloc == NULL)
    return pool->backend->alloc(memory, pool->device, size);
  void *made = NULL;
  int status = given->alloc(given->user, size, &made);
  if (status == GA_NO_ERROR && made != NULL) {
    *memory = made;
    return GA_NO_ERROR;
  }
  return GA_FAIL(GA_MEMORY_ERROR,
                 "the allocator set by gpucontext_set_allocator returned status %d%s",
                 status, status == GA_NO_ERROR ? " and no memory" : "");
}

/* Returns a block to its allocator. No queued work uses it, unless the allocator is
 * in_order. */
static void give_memory(ga_pool *pool, const ga_block *block) {
  const gpuarray_allocator *given = &block->from->given;
  if (given->free)
    given->free(given->user, block->memory, block->size);
  else
    pool->backend->free(pool->device, block->memory);
}

int ga__pool_set_allocator(ga_pool *pool, const gpuarray_allocator *given) {
  ga_allocator *added = NULL;
  if (given) {
    added = ga__alloc(1, sizeof *added);
    GA_TRY_MEMORY(added);
    added->given = *given;
  }
  int status = ga__pool_trim(
      pool); /* else cached blocks of the old one would be handed out first */
  if (status != GA_NO_ERROR) {
    ga__free(added);
    return status;
  }
  pool->from = &pool->own;
  if (added) {
    added->next = pool->others;
    pool->others = added;
    pool->from = added;
  }
  return GA_NO_ERROR;
}

/* ---- free lists ---- */

/* Returns all cached blocks; the queue is idle. */
static void drop_cached(ga_pool *pool) {
  for (size_class *c = pool->classes; c < pool->classes + N_CLASSES; c++)
    while (c->n > 0)
      give_memory(pool, &c->blocks[--c->n]);
  pool->info.cached = 0;
}

void ga__pool_free(ga_pool *pool) {
  if (pool == NULL)
    return;
  drop_cached(pool);
  for (unsigned int i = 0; i < N_CLASSES; i++)
    ga__free(pool->classes[i].blocks);
  while (pool->others) {
    ga_allocator *next = pool->others->next;
    ga__free(pool->others);
    pool->others = next;
  }
  ga__free(pool);
}

int ga__pool_trim(ga_pool *pool) {
  if (pool->info.cached == 0)
    return GA_NO_ERROR;
  GA_TRY(pool->wait(pool->context));
  drop_cached(pool);
  return GA_NO_ERROR;
}

static void count_live(ga_pool *pool, size_t size) {
  gpucontext_memory *info = &pool->info;
  info->live += size;
  info->n_live++;
  if (info->peak < info->live)
    info->peak = info->live;
}

/* True if all uses of the block were on this queue, so that reuse there needs no
 * wait. */
static bool is_of_queue(const ga_block *block, unsigned int place) {
  for (unsigned int i = 0; i < block->uses.n; i++)
    if (block->uses.last[i].queue != place)
      return false;
  return true;
}

static void pop(ga_block *out, ga_pool *pool, size_class *c, size_t at) {
  *out = c->blocks[at];
  c->blocks[at] = c->blocks[--c->n];
  pool->info.cached -= out->size;
}

/* Pops the block of a class at an address, if it is there. */
static bool take_at(ga_block *out, ga_pool *pool, unsigned int index, size_t size,
                    const void *wanted) {
  size_class *c = &pool->classes[index];
  const size_t last = c->n > SCANNED_AT ? c->n - SCANNED_AT : 0;
  for (size_t at = c->n; wanted != NULL && at-- > last;)
    if (c->blocks[at].memory == wanted && c->blocks[at].size >= size) {
      pop(out, pool, c, at);
      return true;
    }
  return false;
}

/* Pops the top block of a class if it is large enough; prefers one among the next few
 * that was last used on the same queue. */
static bool take_cached(ga_block *out, ga_pool *pool, unsigned int index, size_t size,
                        unsigned int place) {
  size_class *c = &pool->classes[index];
  if (c->n == 0 || c->blocks[c->n - 1].size < size)
    return false;
  size_t at = c->n - 1, last = c->n > SCANNED ? c->n - SCANNED : 0;
  while (at > last &&
         (c->blocks[at].size < size || !is_of_queue(&c->blocks[at], place)))
    at--;
  if (c->blocks[at].size < size || !is_of_queue(&c->blocks[at], place))
    at = c->n - 1;
  pop(out, pool, c, at);
  return true;
}

static bool within_limit(const ga_pool *pool, size_t size) {
  const gpucontext_memory *info = &pool->info;
  return info->limit == 0 || (info->live + info->cached <= info->limit &&
                              size <= info->limit - info->live - info->cached);
}

/* Allocates a new block; GA_MEMORY_ERROR also above the context's limit. */
static int take_new(ga_block *out, ga_pool *pool, size_t size) {
  if (!within_limit(pool, size))
    return GA_FAIL(GA_MEMORY_ERROR, "it would exceed the context's limit");
  GA_TRY(take_memory(&out->memory, pool, size));
  out->size = size;
  out->from = pool->from;
  out->uses.epoch = out->uses.n = 0;
  return GA_NO_ERROR;
}

static int out_of_memory(const ga_pool *pool, size_t size, size_t was_cached) {
  const gpucontext_memory *info = &pool->info;
  char limit[48] = "none", free_text[64] = "";
  size_t unused;
  ga_strbuf cause = {0};
  ga__strbuf_add(&cause, gpuarray_error_text());
  if (info->limit != 0)
    snprintf(limit, sizeof limit, "%zu bytes", info->limit);
  if (pool->backend->free_memory(&unused, pool->device) == GA_NO_ERROR)
    snprintf(free_text, sizeof free_text, ", free on the device %zu bytes", unused);
  ga__fail(GA_MEMORY_ERROR,
           "cannot allocate %zu bytes of device memory: %s; live %zu bytes in %zu "
           "buffers, cached %zu bytes (freed first), limit %s%s; release arrays or "
           "work in smaller parts",
           size, cause.text ? cause.text : "the device has no more", info->live,
           info->n_live, was_cached, limit, free_text);
  ga__strbuf_clear(&cause);
  return GA_MEMORY_ERROR;
}

int ga__pool_get(ga_block *out, ga_pool *pool, size_t size, unsigned int place,
                 const void *wanted) {
  if (size >> LARGEST_BITS != 0) {
    ga__fail(GA_MEMORY_ERROR, "no device has that much");
    return out_of_memory(pool, size, 0);
  }
  size_t units = size == 0 ? 1 : (size + UNIT - 1) / UNIT;
  size_t rounded = ga__class_size(units) * UNIT;
  bool cached =
      take_at(out, pool, ga__class_below(rounded / UNIT), units * UNIT, wanted) ||
      take_cached(out, pool, ga__class_below(rounded / UNIT), rounded, place) ||
      take_cached(out, pool, ga__class_below(units), units * UNIT, place);
  if (!cached) {
    size_t was_cached = pool->info.cached;
    int status = take_new(out, pool, rounded);
    if (status != GA_NO_ERROR) {
      GA_TRY(ga__pool_trim(pool));
      status = take_new(out, pool, units * UNIT);
    }
    if (status == GA_MEMORY_ERROR)
      return out_of_memory(pool, size, was_cached);
    GA_TRY(status);
  }
  count_live(pool, out->size);
  return GA_NO_ERROR;
}

static bool keep(size_class *c, const ga_block *freed) {
  if (c->n == c->capacity) {
    size_t capacity = c->capacity == 0 ? 8 : 2 * c->capacity;
    ga_block *blocks = ga__realloc(c->blocks, capacity, sizeof *blocks);
    if (blocks == NULL)
      return false;
    c->blocks = blocks;
    c->capacity = capacity;
  }
  c->blocks[c->n++] = *freed;
  return true;
}

/* True if the block can return to its allocator while queued work uses it: an in_order
 * allocator, which reuses memory on the default queue only, and no use on other
 * queues. */
static bool is_free_in_order(const ga_block *block) {
  return block->from->given.in_order && is_of_queue(block, 0);
}

/* True if the pool keeps the freed block; blocks of a replaced allocator go back to
 * it. */
static bool is_kept(const ga_pool *pool, const ga_block *block) {
  return !pool->keeps_nothing && block->from == pool->from &&
         !block->from->given.in_order;
}

void ga__pool_put(ga_pool *pool, const ga_block *block) {
  pool->info.live -= block->size;
  pool->info.n_live--;
  if (is_kept(pool, block) &&
      keep(&pool->classes[ga__class_below(block->size / UNIT)], block)) {
    pool->info.cached += block->size;
    return;
  }
  /* Not cached: return it once no queued work uses it. */
  if (!is_free_in_order(block))
    pool->wait(pool->context);
  give_memory(pool, block);
}

void ga__pool_keep_nothing(ga_pool *pool) {
  pool->keeps_nothing = true;
}

void ga__pool_set_limit(ga_pool *pool, size_t bytes) {
  pool->info.limit = bytes;
}

void ga__pool_info(const ga_pool *pool, gpucontext_memory *out) {
  *out = pool->info;
}
