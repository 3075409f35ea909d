/* The pool: reuse, rounding, the limit, and what it says when memory runs out. */
#include "check.h"

#include "c/backend/pool.h"

/* A device of `device_bytes`, of which `device_used` are taken. */
static size_t device_bytes = (size_t)1 << 40, device_used, device_waits;

static int counting_alloc(void **memory, void *device, size_t size) {
  (void)device;
  if (size > device_bytes - device_used)
    return GA_FAIL(GA_MEMORY_ERROR, "the device is full");
  size_t *block = malloc(sizeof *block);
  *block = size;
  device_used += size;
  *memory = block;
  return GA_NO_ERROR;
}

static void counting_free(void *device, void *memory) {
  (void)device;
  device_used -= *(size_t *)memory;
  free(memory);
}

static int counting_wait(void *device) {
  (void)device;
  device_waits++;
  return GA_NO_ERROR;
}

static int no_free_memory(size_t *out, void *device) {
  (void)out, (void)device;
  return GA_DEVSUP_ERROR;
}

static const ga_backend counting = {.name = "counting",
                                    .alloc = counting_alloc,
                                    .free = counting_free,
                                    .free_memory = no_free_memory,
                                    .wait = counting_wait};

static int wait_for_all(gpucontext *ctx) {
  (void)ctx;
  return counting_wait(NULL);
}

static ga_block get(ga_pool *pool, size_t size) {
  ga_block b = {.memory = NULL};
  CHECK_OK(ga__pool_get(&b, pool, size, 0, NULL));
  CHECK(b.size >= size);
  return b;
}

static void put(ga_pool *pool, ga_block b) {
  ga__pool_put(pool, &b);
}

static void test_reuse(ga_pool *pool) {
  gpucontext_memory info;
  ga_block a = get(pool, 1000), b = get(pool, 0);
  ga__pool_info(pool, &info);
  CHECK(info.live == 1536 && info.n_live == 2 && info.cached == 0);
  put(pool, a);
  ga_block c = get(pool, 900);
  CHECK(c.memory == a.memory);
  put(pool, b);
  put(pool, c);
  ga__pool_info(pool, &info);
  CHECK(info.live == 0 && info.n_live == 0 && info.cached == 1536 && info.peak == 1536);
  size_t waits = device_waits;
  CHECK_OK(ga__pool_trim(pool));
  CHECK(device_waits == waits + 1 && device_used == 0);
  CHECK_OK(ga__pool_trim(pool));
  CHECK(device_waits == waits + 1);
}

/* Every size gets a block that wastes at most one byte in eight, and gets it again. */
static void test_rounding(ga_pool *pool) {
  for (size_t size = 1; size < ((size_t)1 << 36); size += size / 7 + 1) {
    ga_block b = get(pool, size);
    CHECK(b.size % 512 == 0 && b.size - size < 512 + size / 8);
    put(pool, b);
    ga_block again = get(pool, size);
    CHECK(again.memory == b.memory);
    put(pool, again);
    CHECK_OK(ga__pool_trim(pool));
  }
  CHECK(device_used == 0);
}

static void test_full_device(ga_pool *pool) {
  ga_block none = {.memory = NULL};
  device_bytes = 10240;
  ga_block a = get(pool, 4096), b = get(pool, 4096);
  put(pool, b);
  ga_block c = get(pool, 6000); /* needs what is cached */
  CHECK(device_used == 4096 + 6144);
  CHECK_STATUS(GA_MEMORY_ERROR, ga__pool_get(&none, pool, 1, 0, NULL));
  CHECK(none.memory == NULL);
  CHECK_TEXT("cannot allocate 1 bytes of device memory: the device is full; live 10240 "
             "bytes in 2 buffers, cached 0 bytes");
  put(pool, a);
  put(pool, c);
  ga_block whole = get(pool, 10240); /* whose class, 10240, fits */
  put(pool, whole);
  CHECK_OK(ga__pool_trim(pool));
  device_bytes = 9728;
  whole = get(pool, 9728); /* whose class does not fit */
  CHECK(whole.size == 9728);
  put(pool, whole);
  CHECK(get(pool, 9728).memory == whole.memory);
  put(pool, whole);
  CHECK_OK(ga__pool_trim(pool));
  device_bytes = (size_t)1 << 40;
  CHECK_STATUS(GA_MEMORY_ERROR, ga__pool_get(&none, pool, (size_t)-1, 0, NULL));
  CHECK_TEXT("no device has that much");
}

static void test_limit(ga_pool *pool) {
  ga_block none = {.memory = NULL};
  ga__pool_set_limit(pool, 8192);
  ga_block a = get(pool, 4096), b = get(pool, 4096);
  CHECK_STATUS(GA_MEMORY_ERROR, ga__pool_get(&none, pool, 1, 0, NULL));
  CHECK_TEXT("limit 8192 bytes");
  put(pool, a);
  a = get(pool, 2048); /* what is cached counts, and goes */
  put(pool, a);
  put(pool, b);
  ga__pool_set_limit(pool, 0);
  put(pool, get(pool, 1 << 20));
}

/* A block that was used on a queue is preferred for work on the same. */
static void test_queues(ga_pool *pool) {
  ga_block a = get(pool, 700), b = get(pool, 700), found = {.memory = NULL};
  a.uses = (ga_uses){1, 1, {{.queue = 1, .writes = true, .ticket = 5}}};
  b.uses = (ga_uses){1, 1, {{.queue = 2, .writes = true, .ticket = 6}}};
  put(pool, a);
  put(pool, b);
  CHECK_OK(ga__pool_get(&found, pool, 700, 1, NULL));
  CHECK(found.memory == a.memory && found.uses.last[0].ticket == 5);
  put(pool, found);
  CHECK_OK(ga__pool_get(&found, pool, 700, 3, NULL)); /* none of its own: any */
  CHECK(found.uses.n == 1);
  put(pool, found);
  for (int i = 0; i < 2; i++) { /* wherever it is in the list, unless too small */
    CHECK_OK(ga__pool_get(&found, pool, 700, 3, i ? a.memory : b.memory));
    CHECK(found.memory == (i ? a.memory : b.memory));
    put(pool, found);
  }
  CHECK_OK(ga__pool_get(&found, pool, 1100, 3, a.memory));
  CHECK(found.memory != a.memory && found.size >= 1100);
  put(pool, found);
  CHECK_OK(ga__pool_trim(pool));
}

static size_t given_bytes;

static int given_alloc(void *user, size_t size, void **memory) {
  if (size > *(size_t *)user)
    return 1;
  given_bytes += size;
  *memory = malloc(size);
  return 0;
}

static void given_free(void *user, void *memory, size_t size) {
  (void)user;
  given_bytes -= size;
  free(memory);
}

static void test_allocator(ga_pool *pool) {
  size_t most = 1 << 20;
  gpuarray_allocator given = {
      .struct_size = sizeof given, .alloc = given_alloc, .free = given_free};
  given.user = &most;
  ga_block own = get(pool, 4096), none;
  CHECK_OK(ga__pool_set_allocator(pool, &given));
  ga_block a = get(pool, 4096);
  CHECK(given_bytes == 4096);
  put(pool, a); /* kept */
  CHECK(given_bytes == 4096 && get(pool, 4096).memory == a.memory);
  put(pool, a);
  CHECK_STATUS(GA_MEMORY_ERROR, ga__pool_get(&none, pool, 2 << 20, 0, NULL));
  CHECK_TEXT("the allocator set by gpucontext_set_allocator returned status 1");
  size_t used = device_used;
  put(pool, own); /* goes back to the device, whose it is */
  CHECK(device_used == used - 4096 && given_bytes == 0);
  given.in_order = 1;
  CHECK_OK(ga__pool_set_allocator(pool, &given));
  size_t waits = device_waits;
  put(pool, get(pool, 4096)); /* neither kept nor waited for */
  CHECK(given_bytes == 0 && device_waits == waits);
  a = get(pool, 4096);
  a.uses = (ga_uses){1, 1, {{.queue = 1, .writes = true, .ticket = 5}}};
  put(pool, a); /* but for work on another queue */
  CHECK(given_bytes == 0 && device_waits == waits + 1);
  a = get(pool, 512);
  CHECK_OK(ga__pool_set_allocator(pool, NULL));
  own = get(pool, 512);
  CHECK(given_bytes == 512 && device_used > 0);
  put(pool, own);
  put(pool, a);
  CHECK(given_bytes == 0);
}

static void test_no_cache(ga_pool *pool) {
  CHECK_OK(ga__pool_trim(pool));
  ga__pool_keep_nothing(pool);
  size_t waits = device_waits;
  put(pool, get(pool, 4096));
  CHECK(device_used == 0 && device_waits == waits + 1);
}

int main(void) {
  ga_pool *pool;
  CHECK_OK(ga__pool_new(&pool, &counting, NULL, wait_for_all, NULL));
  test_reuse(pool);
  test_rounding(pool);
  test_full_device(pool);
  test_limit(pool);
  test_queues(pool);
  test_allocator(pool);
  test_no_cache(pool);
  ga__pool_free(pool);
  CHECK(device_used == 0);
  return check_result("pool");
}
