/* The pool: reuse, rounding, the limit, and what it says when memory runs out. */
#include "check.h"

#include "c/pool.h"

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

typedef struct block {
  void *memory;
  size_t size;
} block;

static block get(ga_pool *pool, size_t size) {
  block b = {NULL, 0};
  CHECK_OK(ga__pool_get(&b.memory, &b.size, pool, size));
  CHECK(b.size >= size);
  return b;
}

static void put(ga_pool *pool, block b) {
  ga__pool_put(pool, b.memory, b.size);
}

static void test_reuse(ga_pool *pool) {
  gpucontext_memory info;
  block a = get(pool, 1000), b = get(pool, 0);
  ga__pool_info(pool, &info);
  CHECK(info.live == 1536 && info.n_live == 2 && info.cached == 0);
  put(pool, a);
  block c = get(pool, 900);
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
    block b = get(pool, size);
    CHECK(b.size % 512 == 0 && b.size - size < 512 + size / 8);
    put(pool, b);
    block again = get(pool, size);
    CHECK(again.memory == b.memory);
    put(pool, again);
    CHECK_OK(ga__pool_trim(pool));
  }
  CHECK(device_used == 0);
}

static void test_full_device(ga_pool *pool) {
  void *memory = NULL;
  size_t size = 0;
  device_bytes = 10240;
  block a = get(pool, 4096), b = get(pool, 4096);
  put(pool, b);
  block c = get(pool, 6000); /* needs what is cached */
  CHECK(device_used == 4096 + 6144);
  CHECK_STATUS(GA_MEMORY_ERROR, ga__pool_get(&memory, &size, pool, 1));
  CHECK(memory == NULL);
  CHECK_TEXT("1 bytes of device memory were asked for: the device is full; live 10240 "
             "bytes in 2 buffers, cached 0 bytes");
  put(pool, a);
  put(pool, c);
  block whole = get(pool, 10240); /* whose class, 10240, fits */
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
  CHECK_STATUS(GA_MEMORY_ERROR, ga__pool_get(&memory, &size, pool, (size_t)-1));
  CHECK_TEXT("no device has as much");
}

static void test_limit(ga_pool *pool) {
  void *memory = NULL;
  size_t size = 0;
  ga__pool_set_limit(pool, 8192);
  block a = get(pool, 4096), b = get(pool, 4096);
  CHECK_STATUS(GA_MEMORY_ERROR, ga__pool_get(&memory, &size, pool, 1));
  CHECK_TEXT("limit 8192 bytes");
  put(pool, a);
  a = get(pool, 2048); /* what is cached counts, and goes */
  put(pool, a);
  put(pool, b);
  ga__pool_set_limit(pool, 0);
  put(pool, get(pool, 1 << 20));
}

int main(void) {
  ga_pool *pool;
  CHECK_OK(ga__pool_new(&pool, &counting, NULL));
  test_reuse(pool);
  test_rounding(pool);
  test_full_device(pool);
  test_limit(pool);
  ga__pool_free(pool);
  CHECK(device_used == 0);
  return check_result("pool");
}
