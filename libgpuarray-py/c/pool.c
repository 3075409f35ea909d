/* Freed device blocks kept for reuse, in queue order.
 *
 * Sizes are rounded up to classes: multiples of 512 bytes up to 8 KiB, then eight steps
 * an octave, so that at most one byte in eight is wasted. A class keeps its free blocks
 * as a stack: what was freed last is warmest. */
#include "c/pool.h"

#include <stdio.h>

#define UNIT 512        /* bytes; every block starts and ends on it */
#define N_CLASSES 400   /* up to 2^56 bytes */
#define LARGEST_BITS 56 /* of a request */

typedef struct block {
  void *memory;
  size_t size;
} block;

typedef struct size_class {
  block *blocks;
  size_t n, capacity;
} size_class;

struct ga_pool {
  const ga_backend *backend;
  void *device;
  gpucontext_memory info;
  size_class classes[N_CLASSES];
};

/* The class of the largest size that is not above `units` of UNIT bytes. */
static unsigned int class_below(size_t units) {
  if (units < 16)
    return (unsigned int)units - 1;
  unsigned int octave = 63 - (unsigned int)__builtin_clzll(units);
  return octave * 8 - 17 + (unsigned int)((units >> (octave - 3)) - 8);
}

/* The units of the smallest class size that is not below `units`. */
static size_t round_up(size_t units) {
  if (units < 16)
    return units;
  size_t step = (size_t)1 << (60 - __builtin_clzll(units));
  return (units + step - 1) & ~(step - 1);
}

int ga__pool_new(ga_pool **out, const ga_backend *backend, void *device) {
  ga_pool *pool = ga__alloc(1, sizeof *pool);
  if (pool == NULL)
    return GA_MEMORY_ERROR;
  pool->backend = backend;
  pool->device = device;
  *out = pool;
  return GA_NO_ERROR;
}

/* Gives every cached block back; the queue is idle. */
static void drop_cached(ga_pool *pool) {
  for (size_class *c = pool->classes; c < pool->classes + N_CLASSES; c++)
    while (c->n > 0)
      pool->backend->free(pool->device, c->blocks[--c->n].memory);
  pool->info.cached = 0;
}

void ga__pool_free(ga_pool *pool) {
  if (pool == NULL)
    return;
  drop_cached(pool);
  for (unsigned int i = 0; i < N_CLASSES; i++)
    ga__free(pool->classes[i].blocks);
  ga__free(pool);
}

int ga__pool_trim(ga_pool *pool) {
  if (pool->info.cached == 0)
    return GA_NO_ERROR;
  GA_TRY(pool->backend->wait(pool->device));
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

/* Takes the block on top of a class if it is large enough. */
static bool take_cached(block *out, ga_pool *pool, unsigned int index, size_t size) {
  size_class *c = &pool->classes[index];
  if (c->n == 0 || c->blocks[c->n - 1].size < size)
    return false;
  *out = c->blocks[--c->n];
  pool->info.cached -= out->size;
  return true;
}

static bool within_limit(const ga_pool *pool, size_t size) {
  const gpucontext_memory *info = &pool->info;
  return info->limit == 0 || (info->live + info->cached <= info->limit &&
                              size <= info->limit - info->live - info->cached);
}

/* A new block from the device; GA_MEMORY_ERROR over the limit too. */
static int take_new(block *out, ga_pool *pool, size_t size) {
  if (!within_limit(pool, size))
    return GA_FAIL(GA_MEMORY_ERROR, "the context's limit does not permit it");
  GA_TRY(pool->backend->alloc(&out->memory, pool->device, size));
  out->size = size;
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
           "%zu bytes of device memory were asked for: %s; live %zu bytes in %zu "
           "buffers, cached %zu bytes (given back first), limit %s%s; release arrays "
           "or work in smaller parts",
           size, cause.text ? cause.text : "the device has no more", info->live,
           info->n_live, was_cached, limit, free_text);
  ga__strbuf_clear(&cause);
  return GA_MEMORY_ERROR;
}

int ga__pool_get(void **memory, size_t *block_size, ga_pool *pool, size_t size) {
  block found;
  if (size >> LARGEST_BITS != 0) {
    ga__fail(GA_MEMORY_ERROR, "no device has as much");
    return out_of_memory(pool, size, 0);
  }
  size_t units = size == 0 ? 1 : (size + UNIT - 1) / UNIT;
  size_t rounded = round_up(units) * UNIT;
  bool cached = take_cached(&found, pool, class_below(rounded / UNIT), rounded) ||
                take_cached(&found, pool, class_below(units), units * UNIT);
  if (!cached) {
    size_t was_cached = pool->info.cached;
    int status = take_new(&found, pool, rounded);
    if (status != GA_NO_ERROR) {
      GA_TRY(ga__pool_trim(pool));
      status = take_new(&found, pool, units * UNIT);
    }
    if (status == GA_MEMORY_ERROR)
      return out_of_memory(pool, size, was_cached);
    GA_TRY(status);
  }
  count_live(pool, found.size);
  *memory = found.memory;
  *block_size = found.size;
  return GA_NO_ERROR;
}

static bool keep(size_class *c, block freed) {
  if (c->n == c->capacity) {
    size_t capacity = c->capacity == 0 ? 8 : 2 * c->capacity;
    block *blocks = ga__realloc(c->blocks, capacity, sizeof *blocks);
    if (blocks == NULL)
      return false;
    c->blocks = blocks;
    c->capacity = capacity;
  }
  c->blocks[c->n++] = freed;
  return true;
}

void ga__pool_put(ga_pool *pool, void *memory, size_t block_size) {
  block freed = {memory, block_size};
  pool->info.live -= block_size;
  pool->info.n_live--;
  if (keep(&pool->classes[class_below(block_size / UNIT)], freed)) {
    pool->info.cached += block_size;
    return;
  }
  /* No room to remember it: the device takes it once nothing queued uses it. */
  pool->backend->wait(pool->device);
  pool->backend->free(pool->device, memory);
}

void ga__pool_set_limit(ga_pool *pool, size_t bytes) {
  pool->info.limit = bytes;
}

void ga__pool_info(const ga_pool *pool, gpucontext_memory *out) {
  *out = pool->info;
}
