/* Caching allocator of pinned host memory for results. */
#define _POSIX_C_SOURCE 200809L
#include "c/device/host_pool.h"

#include <pthread.h>
#include <search.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "c/base/size_class.h"
#include "c/device/context.h"
#include "c/system/ending.h"
#include "c/system/pages.h"

#define UNIT ((size_t)4096)
#define N_CLASSES 400   /* size classes, up to 2^59 bytes */
#define LARGEST_BITS 56 /* of the largest request */
#define CLASSES_ABOVE                                                                  \
  2 /* a cached block may be this many classes larger than needed                      \
     */

struct ga_host_pool {
  const ga_backend *backend;
  void *device; /* NULL once the context is closed */
  long process; /* process id that opened it */
  pthread_mutex_t lock;
  size_t limit, live, cached; /* bytes */
  gpuhost *in_use;
  void *places; /* search tree of pinned blocks, by address */
  gpuhost *kept[N_CLASSES];
};

/* ---- the pool ---- */

/* GPUARRAY_HOST_SIZE, by default an eighth of the machine's memory. */
static size_t limit_of_host(void) {
  const char *text = getenv("GPUARRAY_HOST_SIZE");
  char *end;
  if (text && *text) {
    unsigned long long bytes = strtoull(text, &end, 10);
    if (*end == '\0')
      return bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes;
  }
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? (size_t)pages / 8 * (size_t)size : 0;
}

int ga__host_pool_new(ga_host_pool **out, const ga_backend *backend, void *device) {
  ga_host_pool *pool = ga__alloc(1, sizeof *pool);
  GA_TRY_MEMORY(pool);
  pool->backend = backend;
  pool->device = device;
  pool->process = ga__process();
  pool->limit = limit_of_host();
  pthread_mutex_init(&pool->lock, NULL);
  *out = pool;
  return GA_NO_ERROR;
}

static void link_block(gpuhost **list, gpuhost *h) {
  h->previous = NULL;
  h->next = *list;
  if (h->next)
    h->next->previous = h;
  *list = h;
}

static void unlink_block(gpuhost **list, gpuhost *h) {
  if (h->next)
    h->next->previous = h->previous;
  if (h->previous)
    h->previous->next = h->next;
  else
    *list = h->next;
}

static gpuhost **kept_list(ga_host_pool *pool, const gpuhost *h) {
  return &pool->kept[ga__class_below(h->size / UNIT)];
}

/* ---- look-up by address ---- */

/* Overlapping ranges compare equal; blocks never overlap. */
static int compare_places(const void *a, const void *b) {
  const gpuhost *x = a, *y = b;
  uintptr_t at_x = (uintptr_t)x->bytes, at_y = (uintptr_t)y->bytes;
  if (at_x < at_y)
    return at_y - at_x >= x->size ? -1 : 0;
  return at_x - at_y >= y->size ? 1 : 0;
}

/* If tsearch has no memory the block is not found by address: copies then treat it as
 * pageable. */
static void insert_in_use(ga_host_pool *pool, gpuhost *h) {
  link_block(&pool->in_use, h);
  if (h->is_pinned)
    tsearch(h, &pool->places, compare_places);
}

static void remove_in_use(ga_host_pool *pool, gpuhost *h) {
  unlink_block(&pool->in_use, h);
  if (h->is_pinned)
    tdelete(h, &pool->places, compare_places);
}

bool ga__host_pool_pinned(ga_host_pool *pool, const void *bytes, size_t size) {
  const gpuhost range = {.bytes = (void *)(uintptr_t)bytes, .size = size};
  pthread_mutex_lock(&pool->lock);
  gpuhost *const *found = tfind(&range, &pool->places, compare_places);
  bool is_within = false;
  if (found) {
    size_t offset = (uintptr_t)bytes - (uintptr_t)(*found)->bytes;
    is_within = (*found)->forks == ga__forks() && offset <= (*found)->size &&
                size <= (*found)->size - offset;
  }
  pthread_mutex_unlock(&pool->lock);
  return is_within;
}

/* ---- blocks ---- */

/* Allocates pinned memory, or pageable memory where that fails. */
static bool make_bytes(gpuhost *h, const ga_host_pool *pool) {
  const ga_pinning *pinning = pool->backend->pinning;
  if (pinning && ga__vendor_enter() == GA_NO_ERROR) {
    h->is_pinned =
        pinning->alloc(&h->handle, &h->bytes, pool->device, h->size) == GA_NO_ERROR;
    ga__vendor_leave();
  }
  if (!h->is_pinned)
    h->bytes = ga__pages_new(h->size);
  return h->bytes != NULL;
}

/* While another thread ends the process, it is left to the system. */
static void free_pinned(const ga_host_pool *pool, const gpuhost *h) {
  if (ga__vendor_enter() != GA_NO_ERROR)
    return;
  pool->backend->pinning->free(pool->device, h->handle, h->bytes, h->size);
  ga__vendor_leave();
}

static void free_block(const ga_host_pool *pool, gpuhost *h) {
  if (h->is_pinned)
    free_pinned(pool, h);
  else
    ga__pages_free(h->bytes, h->size);
  ga__free(h);
}

static gpuhost *new_block(ga_host_pool *pool, size_t size) {
  gpuhost *h = ga__alloc(1, sizeof *h);
  if (h == NULL)
    return NULL;
  h->size = size;
  h->pool = pool;
  h->forks = ga__forks();
  if (make_bytes(h, pool))
    return h;
  ga__free(h);
  return NULL;
}

/* Unlinks a cached block. Locked, as are the next. */
static void take_out(ga_host_pool *pool, gpuhost *h) {
  unlink_block(kept_list(pool, h), h);
  pool->cached -= h->size;
}

/* Evicts cached blocks, large ones first, until at most `bytes` are cached. */
static void shrink(ga_host_pool *pool, size_t bytes) {
  for (unsigned int i = N_CLASSES; i-- > 0 && pool->cached > bytes;)
    while (pool->kept[i] && pool->cached > bytes) {
      gpuhost *h = pool->kept[i];
      take_out(pool, h);
      free_block(pool, h);
    }
}

/* Pops a cached block of this size class or a little above; frees those from before a
 * fork. */
static gpuhost *take_kept(ga_host_pool *pool, size_t size) {
  unsigned int first = ga__class_below(size / UNIT);
  for (unsigned int i = first; i <= first + CLASSES_ABOVE && i < N_CLASSES; i++)
    while (pool->kept[i]) {
      gpuhost *h = pool->kept[i];
      take_out(pool, h);
      if (h->forks == ga__forks())
        return h;
      free_block(pool, h);
    }
  return NULL;
}

/* Makes room within the limit and counts the block; false if it does not fit. */
static bool reserve(ga_host_pool *pool, size_t size) {
  if (size > pool->limit || pool->live > pool->limit - size)
    return false;
  shrink(pool, pool->limit - size - pool->live);
  pool->live += size;
  return true;
}

gpuhost *ga__host_pool_get(ga_host_pool *pool, size_t size) {
  if (size >> LARGEST_BITS != 0)
    return NULL;
  size = ga__class_size(size == 0 ? 1 : (size + UNIT - 1) / UNIT) * UNIT;
  pthread_mutex_lock(&pool->lock);
  gpuhost *h = take_kept(pool, size);
  if (h)
    pool->live += h->size;
  bool is_new = h == NULL && reserve(pool, size);
  if (is_new) { /* slow: unlocked meanwhile */
    pthread_mutex_unlock(&pool->lock);
    h = new_block(pool, size);
    pthread_mutex_lock(&pool->lock);
    if (h == NULL)
      pool->live -= size;
  }
  if (h)
    insert_in_use(pool, h);
  pthread_mutex_unlock(&pool->lock);
  return h;
}

/* Bytes that may be cached. */
static size_t room(const ga_host_pool *pool) {
  return pool->live < pool->limit ? pool->limit - pool->live : 0;
}

/* Caches a released block, or frees it. */
static void put_back(ga_host_pool *pool, gpuhost *h) {
  remove_in_use(pool, h);
  pool->live -= h->size;
  if (pool->device == NULL || h->forks != ga__forks() ||
      pool->cached + h->size > room(pool)) {
    free_block(pool, h);
    return;
  }
  link_block(kept_list(pool, h), h);
  pool->cached += h->size;
}

static void free_pool(ga_host_pool *pool) {
  pthread_mutex_destroy(&pool->lock);
  ga__free(pool);
}

void gpuhost_release(gpuhost *h) {
  if (h == NULL)
    return;
  ga_host_pool *pool = h->pool;
  if (pool == NULL) {
    gpudata_release(h->lent);
    ga__free(h);
    return;
  }
  if (ga__process() != pool->process)
    return; /* after a fork the lock and the memory belong to the parent */
  pthread_mutex_lock(&pool->lock);
  put_back(pool, h);
  bool is_last = pool->device == NULL && pool->in_use == NULL;
  pthread_mutex_unlock(&pool->lock);
  if (is_last)
    free_pool(pool);
}

void *gpuhost_bytes(const gpuhost *h) {
  return h ? h->bytes : NULL;
}

void ga__host_pool_set_limit(ga_host_pool *pool, size_t bytes) {
  pthread_mutex_lock(&pool->lock);
  pool->limit = bytes;
  shrink(pool, room(pool));
  pthread_mutex_unlock(&pool->lock);
}

void ga__host_pool_count(ga_host_pool *pool, size_t *live, size_t *cached,
                         size_t *limit) {
  pthread_mutex_lock(&pool->lock);
  *live = pool->live;
  *cached = pool->cached;
  *limit = pool->limit;
  pthread_mutex_unlock(&pool->lock);
}

void ga__host_pool_trim(ga_host_pool *pool) {
  pthread_mutex_lock(&pool->lock);
  shrink(pool, 0);
  pthread_mutex_unlock(&pool->lock);
}

void ga__host_pool_close(ga_host_pool *pool) {
  if (pool == NULL)
    return;
  ga__host_pool_trim(pool);
  pthread_mutex_lock(&pool->lock);
  for (gpuhost *h = pool->in_use; h; h = h->next)
    if (h->is_pinned && ga__vendor_enter() == GA_NO_ERROR) {
      pool->backend->pinning->leave(pool->device, h->handle, h->bytes);
      ga__vendor_leave();
    }
  pool->device = NULL;
  bool is_last = pool->in_use == NULL;
  pthread_mutex_unlock(&pool->lock);
  if (is_last)
    free_pool(pool);
}
