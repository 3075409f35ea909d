/* Buffers on the null backend: counts, bounds, bytes, transfers, threads. */
#include "null_context.h"

#include "c/device/buffer.h"
#include "c/tape/record_replay.h"

static unsigned int references(gpudata *b) {
  unsigned int n = 0;
  CHECK_OK(gpudata_property(b, GA_BUFFER_PROP_REFCNT, &n));
  return n;
}

static void test_life(gpucontext *ctx) {
  int status = GA_NO_ERROR;
  size_t sizes[] = {0, 1, 1024}, size;
  for (int i = 0; i < 3; i++) {
    gpudata *b = gpudata_alloc(ctx, sizes[i], NULL, 0, &status);
    CHECK(b != NULL && references(b) == 1);
    CHECK_OK(gpudata_property(b, GA_BUFFER_PROP_SIZE, &size));
    CHECK(size == sizes[i] && gpudata_context(b) == ctx);
    gpudata_retain(b);
    CHECK(references(b) == 2);
    gpudata_release(b);
    CHECK(references(b) == 1);
    gpudata_release(b);
  }
  gpudata_release(NULL);
  gpudata_retain(NULL);
  CHECK(gpudata_context(NULL) == NULL);
  CHECK(status == GA_NO_ERROR);
}

static void check_refused(gpucontext *ctx, int flags, int wanted) {
  int status = GA_NO_ERROR;
  CHECK(gpudata_alloc(ctx, 8, NULL, flags, &status) == NULL);
  CHECK(status == wanted);
}

static void test_flags(gpucontext *ctx) {
  check_refused(ctx, GA_BUFFER_READ_ONLY | GA_BUFFER_WRITE_ONLY, GA_VALUE_ERROR);
  check_refused(ctx, GA_BUFFER_INIT, GA_VALUE_ERROR);
  check_refused(ctx, 0x40, GA_VALUE_ERROR);
  check_refused(NULL, 0, GA_VALUE_ERROR);
  char text[8] = "content", back[8];
  gpudata *b = gpudata_alloc(ctx, 8, text, GA_BUFFER_INIT | GA_BUFFER_READ_ONLY, NULL);
  CHECK_OK(gpudata_read(back, b, 0, 8));
  CHECK(strcmp(back, text) == 0);
  CHECK_STATUS(GA_READONLY_ERROR, gpudata_memset(b, 0, 0));
  gpudata_release(b);
}

static void test_share(gpucontext *ctx) {
  int status = GA_NO_ERROR;
  gpudata *a = gpudata_alloc(ctx, 8, NULL, 0, NULL);
  gpudata *b = gpudata_alloc(ctx, 8, NULL, 0, NULL);
  CHECK(gpudata_share(a, b, &status) == 0);
  CHECK(gpudata_share(a, a, &status) == 1);
  CHECK(status == GA_NO_ERROR);
  CHECK(gpudata_share(a, NULL, &status) == -1 && status == GA_VALUE_ERROR);
  gpudata_release(a);
  gpudata_release(b);
}

static void check_content(gpudata *b, const char *wanted) {
  char text[64] = "";
  CHECK_OK(gpudata_read(text, b, 0, strlen(wanted)));
  if (strcmp(text, wanted) != 0)
    fprintf(stderr, "got %s, wanted %s\n", text, wanted);
  CHECK(strcmp(text, wanted) == 0);
}

static void test_bytes(gpucontext *ctx) {
  gpudata *a = gpudata_alloc(ctx, 8, NULL, 0, NULL);
  gpudata *b = gpudata_alloc(ctx, 16, NULL, 0, NULL);
  CHECK_OK(gpudata_write(a, 0, "abcdefgh", 8));
  CHECK_OK(gpudata_write(a, 2, "CDE", 3));
  check_content(a, "abCDEfgh");
  CHECK_OK(gpudata_memset(b, 0, '.'));
  CHECK_OK(gpudata_move(b, 8, a, 0, 8));
  check_content(b, "........abCDEfgh");
  CHECK_OK(gpudata_move(b, 0, a, 4, 4));
  check_content(b, "Efgh....abCDEfgh");
  CHECK_OK(gpudata_move(b, 7, b, 8, 8)); /* overlapping, both ways */
  check_content(b, "Efgh...abCDEfghh");
  CHECK_OK(gpudata_move(b, 8, b, 7, 8));
  check_content(b, "Efgh...aabCDEfgh");
  CHECK_OK(gpudata_move(b, 3, b, 3, 8));
  check_content(b, "Efgh...aabCDEfgh");
  CHECK_OK(gpudata_memset(b, 12, 0x100 + '-')); /* the low byte, to the end */
  check_content(b, "Efgh...aabCD----");
  CHECK_OK(ga__buffer_fill(b, 4, '+', 3));
  check_content(b, "Efgh+++aabCD----");
  CHECK_OK(gpudata_move(b, 16, a, 8, 0));
  CHECK_OK(gpudata_sync(b));
  gpudata_release(a);
  gpudata_release(b);
}

static void test_bounds(gpucontext *ctx) {
  char host[16] = "";
  gpudata *a = gpudata_alloc(ctx, 8, NULL, 0, NULL);
  gpudata *b = gpudata_alloc(ctx, 16, NULL, 0, NULL);
  CHECK_STATUS(GA_VALUE_ERROR, gpudata_read(host, a, 4, 5));
  CHECK_TEXT("gpudata_read: 5 bytes at offset 4 do not fit a buffer of 8 bytes");
  CHECK_STATUS(GA_VALUE_ERROR, gpudata_read(host, a, 9, 0));
  CHECK_STATUS(GA_VALUE_ERROR, gpudata_write(a, (size_t)-1, host, 2));
  CHECK_STATUS(GA_VALUE_ERROR, gpudata_move(a, 0, b, 0, 9));
  CHECK_TEXT("destination: 9 bytes");
  CHECK_STATUS(GA_VALUE_ERROR, gpudata_move(b, 0, a, 0, 9));
  CHECK_TEXT("source: 9 bytes");
  CHECK_STATUS(GA_VALUE_ERROR, gpudata_memset(a, 9, 0));
  CHECK_STATUS(GA_VALUE_ERROR, ga__buffer_fill(a, 0, 0, 9));
  CHECK_STATUS(GA_VALUE_ERROR, gpudata_read(NULL, a, 0, 1));
  CHECK_OK(gpudata_read(NULL, a, 0, 0));
  CHECK_STATUS(GA_VALUE_ERROR, gpudata_read(host, NULL, 0, 1));
  CHECK_STATUS(GA_VALUE_ERROR, gpudata_move(NULL, 0, a, 0, 1));
  CHECK_STATUS(GA_VALUE_ERROR, gpudata_sync(NULL));
  CHECK_STATUS(GA_INVALID_ERROR, gpudata_property(a, 600, host));
  CHECK_STATUS(GA_VALUE_ERROR, gpudata_property(a, GA_KERNEL_PROP_NUMARGS, host));
  gpudata_release(a);
  gpudata_release(b);
}

static void test_transfer(gpucontext *ctx) {
  gpucontext *other;
  CHECK_OK(gpucontext_open(&other, "null"));
  size_t size = ((size_t)33 << 20) + 5; /* more than two pieces */
  gpudata *a = gpudata_alloc(ctx, size, NULL, 0, NULL);
  gpudata *b = gpudata_alloc(other, size, NULL, 0, NULL);
  unsigned char *host = malloc(size), *back = malloc(size);
  for (size_t i = 0; i < size; i++)
    host[i] = (unsigned char)(i * 7 + (i >> 11));
  CHECK_OK(gpudata_write(a, 0, host, size));
  CHECK_STATUS(GA_VALUE_ERROR, gpudata_move(b, 0, a, 0, 1));
  CHECK_TEXT("two contexts, null and null; use gpudata_transfer");
  CHECK_OK(gpudata_transfer(b, 1, a, 2, size - 2));
  CHECK_OK(gpudata_read(back, b, 1, size - 2));
  CHECK(memcmp(back, host + 2, size - 2) == 0);
  CHECK_STATUS(GA_VALUE_ERROR, gpudata_transfer(b, 0, a, 1, size));
  CHECK_OK(gpudata_transfer(a, 0, a, 16, 16));
  free(host);
  free(back);
  gpudata_release(a);
  gpucontext_deref(other); /* the buffer keeps it */
  CHECK_OK(gpudata_sync(b));
  gpudata_release(b);
}

static void test_memory_info(gpucontext *ctx) {
  gpucontext_memory info;
  int status = GA_NO_ERROR;
  CHECK_OK(gpucontext_trim(ctx));
  gpudata *a = gpudata_alloc(ctx, 1000, NULL, 0, NULL);
  CHECK_OK(gpucontext_set_limit(ctx, 2048));
  CHECK(gpudata_alloc(ctx, 2000, NULL, 0, &status) == NULL);
  CHECK(status == GA_MEMORY_ERROR);
  CHECK_TEXT("null: cannot allocate 2000 bytes of device memory");
  CHECK_OK(gpucontext_memory_info(ctx, &info));
  CHECK(info.live == 1024 && info.n_live == 1 && info.limit == 2048);
  gpudata_release(a);
  CHECK_OK(gpucontext_memory_info(ctx, &info));
  CHECK(info.live == 0 && info.n_live == 0 && info.cached == 1024);
  CHECK_OK(gpucontext_set_limit(ctx, 512));
  CHECK_OK(gpucontext_memory_info(ctx, &info));
  CHECK(info.cached == 0);
  CHECK_OK(gpucontext_set_limit(ctx, 0));
}

static void *use_buffers(void *context) {
  gpucontext *ctx = context;
  for (size_t i = 0; i < 5000; i++) {
    gpudata *b = gpudata_alloc(ctx, i % 3000, NULL, 0, NULL);
    gpudata_retain(b);
    if (ga__buffer_fill(b, 0, 1, i % 3000) != GA_NO_ERROR)
      return context;
    gpudata_release(b);
    gpudata_release(b);
  }
  return NULL;
}

static void test_threads(gpucontext *ctx) {
  pthread_t threads[4];
  gpucontext_memory info;
  for (int i = 0; i < 4; i++)
    CHECK(pthread_create(&threads[i], NULL, use_buffers, ctx) == 0);
  for (int i = 0; i < 4; i++) {
    void *failed;
    CHECK(pthread_join(threads[i], &failed) == 0 && failed == NULL);
  }
  CHECK_OK(gpucontext_memory_info(ctx, &info));
  CHECK(info.live == 0 && info.n_live == 0);
  CHECK(atomic_load(&ctx->life.references) == 1);
}

static int released;

static void note_release(void *owner) {
  released += *(int *)owner;
}

/* Memory of someone else is handed back once, when its last reference goes and the work
 * on it is done. */
static void test_memory_of_others(gpucontext *ctx) {
  char memory[32] = "theirs";
  int one = 1, status = GA_NO_ERROR;
  gpucontext_memory before, now;
  gpudata *b = NULL, *part = NULL;
  CHECK_OK(gpucontext_memory_info(ctx, &before));
  CHECK_OK(ga__buffer_wrap(&b, ctx, memory, sizeof memory, note_release, &one));
  CHECK_OK(ga__buffer_wrap(&part, ctx, memory + 16, 8, NULL, NULL));
  CHECK(gpudata_share(b, part, &status) == 1);
  CHECK_OK(gpucontext_memory_info(ctx, &now));
  CHECK(now.live == before.live); /* not the pool's */
  CHECK_OK(gpudata_memset(part, 0, 7));
  CHECK(memory[16] == 7 && memory[15] == 0);
  gpudata_retain(b);
  gpudata_release(b);
  CHECK(released == 0);
  gpudata_release(b);
  gpudata_release(part);
  CHECK(released == 1 && strcmp(memory, "theirs") == 0);
  b = NULL;
  ga__alloc_fail_at(0);
  status = ga__buffer_wrap(&b, ctx, memory, sizeof memory, note_release, &one);
  ga__alloc_fail_at(-1);
  CHECK(status == GA_NO_ERROR || (status == GA_MEMORY_ERROR && b == NULL));
  gpudata_release(b);
  CHECK_STATUS(GA_VALUE_ERROR, ga__buffer_wrap(&b, NULL, memory, 8, NULL, NULL));
}

static void test_memory_of_the_host(gpucontext *ctx) {
  char text[8] = "content", *host = NULL;
  gpudata *b = gpudata_alloc(ctx, 8, text, GA_BUFFER_HOST | GA_BUFFER_INIT, NULL);
  CHECK_OK(gpudata_property(b, GA_BUFFER_PROP_HOST, &host));
  CHECK(strcmp(host, "content") == 0);
  gpudata_release(b);
  b = gpudata_alloc(ctx, 8, text, GA_BUFFER_INIT, NULL);
  CHECK_OK(gpudata_property(b, GA_BUFFER_PROP_HOST, &host));
  CHECK(strcmp(host, "content") == 0);
  hooked.host_address = NULL;
  CHECK_STATUS(GA_DEVSUP_ERROR, gpudata_property(b, GA_BUFFER_PROP_HOST, &host));
  hooked.host_address = ga__null_backend.host_address;
  gpudata_release(b);
  hooked.host_alloc = NULL;
  check_refused(ctx, GA_BUFFER_HOST, GA_DEVSUP_ERROR);
  CHECK_TEXT("GA_BUFFER_HOST");
  hooked.host_alloc = ga__null_backend.host_alloc;
}

/* Running out of memory tells who holds it. */
static void test_holders(void) {
  gpucontext *ctx = open_null();
  gpudata *held[6];
  int status = GA_NO_ERROR;
  CHECK_OK(gpucontext_set_limit(ctx, 1 << 20));
  for (int i = 0; i < 6; i++) {
    CHECK_OK(gpuarray_set_label(i == 0 ? "weights, line 2" : i < 4 ? "x = a @ b" : ""));
    held[i] = gpudata_alloc(ctx, 131072, NULL, 0, &status);
  }
  CHECK_OK(gpuarray_set_label(NULL));
  CHECK(gpudata_alloc(ctx, 1 << 20, NULL, 0, &status) == NULL);
  CHECK(status == GA_MEMORY_ERROR);
  CHECK_TEXT("null: cannot allocate 1048576 bytes of device memory");
  CHECK_TEXT("live 786432 bytes in 6 buffers");
  CHECK_TEXT("most is held by x = a @ b (393216 bytes in 3), what has no label (262144 "
             "bytes in 2), weights, line 2 (131072 bytes in 1); the largest buffer has "
             "131072 bytes");
  for (int i = 0; i < 6; i++)
    gpudata_release(held[i]);
  gpucontext_deref(ctx);
}

static int n_given;

static int give(void *user, size_t size, void **memory) {
  (void)user;
  *memory = malloc(size);
  n_given++;
  return *memory == NULL;
}

static void take_back(void *user, void *memory, size_t size) {
  (void)user, (void)size;
  free(memory);
  n_given--;
}

static void test_allocators(void) {
  gpucontext *ctx = open_null();
  gpuarray_allocator a = {.struct_size = sizeof a, .alloc = give, .free = take_back};
  CHECK_STATUS(GA_VALUE_ERROR, gpucontext_set_allocator(NULL, &a));
  a.struct_size = 3;
  CHECK_STATUS(GA_VALUE_ERROR, gpucontext_set_allocator(ctx, &a));
  a.struct_size = offsetof(gpuarray_allocator, in_order); /* of an older header */
  CHECK_OK(gpucontext_set_allocator(ctx, &a));
  gpudata *b = gpudata_alloc(ctx, 100, NULL, 0, NULL);
  CHECK(n_given == 1);
  CHECK_OK(gpudata_memset(b, 0, 1));
  CHECK_OK(gpucontext_set_allocator(ctx, NULL));
  gpudata *c = gpudata_alloc(ctx, 100, NULL, 0, NULL);
  gpudata_release(c);
  CHECK(n_given == 1);
  gpudata_release(b);
  CHECK(n_given == 0);
  a.free = NULL;
  CHECK_STATUS(GA_VALUE_ERROR, gpucontext_set_allocator(ctx, &a));
  gpucontext_deref(ctx);
}

static void test_a_pool_that_keeps_nothing(void) {
  gpucontext_props *p;
  gpucontext *ctx = NULL;
  gpucontext_memory info;
  CHECK_OK(gpucontext_props_new(&p));
  CHECK_OK(gpucontext_props_alloc_cache(p, 0, 0));
  CHECK_OK(gpucontext_init(&ctx, "null", p));
  gpudata_release(gpudata_alloc(ctx, 100, NULL, 0, NULL));
  CHECK_OK(gpucontext_memory_info(ctx, &info));
  CHECK(info.cached == 0 && info.live == 0 && info.limit == 0 && info.peak == 512);
  gpucontext_deref(ctx);
}

int main(void) {
  setenv("GPUARRAY_CACHE_DIR", "", 1);
  gpucontext *ctx = open_null();
  test_life(ctx);
  test_flags(ctx);
  test_share(ctx);
  test_bytes(ctx);
  test_bounds(ctx);
  test_transfer(ctx);
  test_memory_info(ctx);
  test_threads(ctx);
  test_memory_of_others(ctx);
  test_memory_of_the_host(ctx);
  gpucontext_deref(ctx);
  test_holders();
  test_allocators();
  test_a_pool_that_keeps_nothing();
  return check_result("buffer");
}
