/* Pinned memory on the mock of CUDA, whose streams run only when they are waited for:
 * what is used too early has old bytes. */
#define _POSIX_C_SOURCE 200809L
#include "host_bytes.h"
#include "mock_context.h"

#include <sys/wait.h>
#include <unistd.h>

#include <gpuarray/host.h>

#include "c/device/host_pool.h"
#include "c/device/pieces.h"

#define N ((size_t)10000)
#define SMALL (GA_PIECES_LEAST + 12345)       /* bytes of a part in each slot */
#define LARGE (9 * GA_PIECES_LEAST + 12345)   /* of several in each, past the caches */
#define CACHED (17 * GA_PIECES_LEAST + 12345) /* of an upload through them */

/* Several results with one wait: pinned, small, and of one's own memory. */
static void test_results_land_in_pinned_memory(void) {
  gpucontext *ctx = open_cuda("cuda0");
  unsigned char *given = pattern(4 * N, 1), small[100], own[4 * N];
  GpuArray a = bytes_of(ctx, given, 4 * N), b = bytes_of(ctx, given + 1, 2 * N);
  GpuArray few = bytes_of(ctx, given, sizeof small);
  const GpuArray *srcs[] = {&a, &few, &b, &a};
  gpuhost *hosts[4] = {NULL};
  void *dsts[] = {NULL, small, NULL, own};
  CHECK_OK(GpuArray_host(&hosts[0], &a, 1));
  CHECK_OK(GpuArray_host(&hosts[2], &b, 1));
  CHECK(hosts[0] != NULL && hosts[0]->is_pinned && hosts[0]->lent == NULL);
  size_t before = 0, after = 0;
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_WAITS, &before));
  CHECK_OK(GpuArray_read_hosts(4, hosts, dsts, srcs));
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_WAITS, &after));
  CHECK(after == before + 1);
  CHECK(memcmp(gpuhost_bytes(hosts[0]), given, 4 * N) == 0);
  CHECK(memcmp(gpuhost_bytes(hosts[2]), given + 1, 2 * N) == 0);
  CHECK(memcmp(small, given, sizeof small) == 0);
  CHECK(memcmp(own, given, sizeof own) == 0);
  CHECK_OK(GpuArray_read_hosts(1, &hosts[2], dsts, &srcs[2])); /* alone */
  gpuhost_release(hosts[2]);
  GpuArray_clear(&a);
  GpuArray_clear(&b);
  GpuArray_clear(&few);
  gpucontext_deref(ctx);
  CHECK(memcmp(gpuhost_bytes(hosts[0]), given, 4 * N) == 0); /* outlives its context */
  gpuhost_release(hosts[0]);
  free(given);
  check_given_back();
}

/* Up and down, with bytes that are not a whole number of pieces. */
static void test_transfers_go_in_pieces(size_t size) {
  gpucontext *ctx = open_cuda("cuda0");
  unsigned char *given = pattern(size, 2), *back = calloc(size, 1);
  gpudata *b = gpudata_alloc(ctx, size + 7, NULL, 0, NULL);
  CHECK_OK(gpudata_write(b, 3, given, size));
  CHECK_OK(gpudata_read(back, b, 3, size));
  CHECK(memcmp(back, given, size) == 0);
  gpudata_release(b);
  gpucontext_deref(ctx);
  free(given);
  free(back);
  check_given_back();
}

/* How many copies the driver made for a call. */
static long copies_since(long before) {
  return mock->host_copies - before;
}

/* What is pinned already goes up and down by one copy, and so does a part of it; with
 * what lies behind it it goes as any other. */
static void test_pinned_memory_is_used_straight(void) {
  gpucontext *ctx = open_cuda("cuda0");
  unsigned char *given = pattern(LARGE, 5), *back = calloc(LARGE, 1);
  GpuArray a = bytes_of(ctx, given, LARGE);
  const GpuArray *src = &a;
  gpuhost *h = NULL;
  void *none = NULL;
  CHECK_OK(GpuArray_host(&h, &a, 0));
  CHECK_OK(GpuArray_read_hosts(1, &h, &none, &src));
  unsigned char *bytes = gpuhost_bytes(h);
  gpudata *b = gpudata_alloc(ctx, LARGE, NULL, 0, NULL);
  long before = mock->host_copies;
  CHECK_OK(gpudata_write(b, 0, bytes, LARGE));
  CHECK(copies_since(before) == 1);
  memset(bytes, 0, LARGE); /* what was written was taken */
  before = mock->host_copies;
  CHECK_OK(gpudata_read(bytes + 3, b, 3, LARGE - 3));
  CHECK(copies_since(before) == 1);
  CHECK(memcmp(bytes + 3, given + 3, LARGE - 3) == 0 && bytes[2] == 0);
  before = mock->host_copies;
  CHECK_OK(gpudata_write(b, 7, bytes + 100, LARGE - 107)); /* a view */
  CHECK(copies_since(before) == 1);
  CHECK_OK(gpudata_read(back, b, 0, LARGE));
  CHECK(memcmp(back + 7, given + 100, LARGE - 107) == 0);
  void *dsts[] = {bytes, bytes + LARGE / 2};
  GpuArray few = bytes_of(ctx, given, 4 * N);
  const GpuArray *two[] = {&few, &few};
  before = mock->host_copies;
  CHECK_OK(GpuArray_read_all(2, dsts, two));
  CHECK(copies_since(before) == 2);
  CHECK(memcmp(bytes, given, 4 * N) == 0 && memcmp(dsts[1], given, 4 * N) == 0);
  CHECK(ga__host_pool_pinned(ctx->memory.host_pool, bytes, h->size));
  CHECK(!ga__host_pool_pinned(ctx->memory.host_pool, bytes, h->size + 1));
  CHECK(!ga__host_pool_pinned(ctx->memory.host_pool, bytes - 1, 2));
  CHECK(!ga__host_pool_pinned(ctx->memory.host_pool, given, LARGE));
  gpuhost_release(h);
  CHECK(!ga__host_pool_pinned(ctx->memory.host_pool, bytes, 1)); /* given back */
  gpudata_release(b);
  GpuArray_clear(&a);
  GpuArray_clear(&few);
  gpucontext_deref(ctx);
  free(given);
  free(back);
  check_given_back();
}

/* A block of a process that forked is no longer the memory that the driver knows. */
static void test_pinned_memory_after_a_fork(void) {
  gpucontext *ctx = open_cuda("cuda0");
  unsigned char *given = pattern(LARGE, 6), *back = calloc(LARGE, 1);
  GpuArray a = bytes_of(ctx, given, LARGE);
  gpuhost *h = NULL;
  CHECK_OK(GpuArray_host(&h, &a, 0));
  CHECK(ga__host_pool_pinned(ctx->memory.host_pool, gpuhost_bytes(h), LARGE));
  pid_t child = fork();
  if (child == 0)
    _exit(0);
  CHECK(waitpid(child, NULL, 0) == child);
  CHECK(!ga__host_pool_pinned(ctx->memory.host_pool, gpuhost_bytes(h), LARGE));
  memcpy(gpuhost_bytes(h), given, LARGE);
  CHECK_OK(gpudata_write(a.data, 0, gpuhost_bytes(h), LARGE));
  CHECK_OK(gpudata_read(back, a.data, 0, LARGE));
  CHECK(memcmp(back, given, LARGE) == 0);
  gpuhost_release(h);
  GpuArray_clear(&a);
  gpucontext_deref(ctx);
  free(given);
  free(back);
  check_given_back();
}

/* Where the driver pins nothing the bytes go as small ones do. */
static void test_without_pinned_memory(void) {
  setenv("GPUARRAY_HOST_SIZE", "0", 1);
  test_transfers_go_in_pieces(SMALL);
  test_transfers_go_in_pieces(LARGE);
  unsetenv("GPUARRAY_HOST_SIZE");
  gpucontext *ctx = open_cuda("cuda0");
  unsigned char *given = pattern(4 * N, 3);
  GpuArray a = bytes_of(ctx, given, 4 * N);
  const GpuArray *src = &a;
  gpuhost *h = NULL;
  void *none = NULL;
  mock->fail_with = 801; /* CUDA_ERROR_NOT_SUPPORTED */
  mock->fail_at = 0;
  CHECK_OK(GpuArray_host(&h, &a, 0));
  mock->fail_at = -1;
  CHECK(h != NULL && !h->is_pinned);
  CHECK_OK(GpuArray_read_hosts(1, &h, &none, &src));
  CHECK(memcmp(gpuhost_bytes(h), given, 4 * N) == 0);
  gpuhost_release(h);
  GpuArray_clear(&a);
  gpucontext_deref(ctx);
  free(given);
  check_given_back();
}

/* Each call of the driver fails in turn: an error or the right bytes, and nothing is
 * lost. */
static void test_failures_of_the_driver(bool writes) {
  const size_t size = SMALL;
  unsigned char *given = pattern(size, 4), *back = calloc(size, 1);
  bool failed = true;
  for (long n = 0; failed && n < 400; n++) {
    gpucontext *ctx = open_cuda("cuda0");
    gpudata *b = gpudata_alloc(ctx, size, NULL, 0, NULL);
    if (!writes)
      CHECK_OK(gpudata_write(b, 0, given, size));
    CHECK_OK(gpucontext_trim(ctx));
    memset(back, 0, size);
    mock->fail_with = 719; /* CUDA_ERROR_LAUNCH_FAILED */
    mock->fail_at = n;
    int status =
        writes ? gpudata_write(b, 0, given, size) : gpudata_read(back, b, 0, size);
    failed = mock->fail_at < 0;
    mock->fail_at = -1;
    if (status == GA_NO_ERROR && writes)
      status = gpudata_read(back, b, 0, size);
    CHECK(status != GA_NO_ERROR || memcmp(back, given, size) == 0);
    gpudata_release(b);
    gpucontext_deref(ctx);
  }
  free(given);
  free(back);
  check_given_back();
}

int main(void) {
  open_mock();
  test_results_land_in_pinned_memory();
  test_transfers_go_in_pieces(SMALL);
  test_transfers_go_in_pieces(LARGE);
  test_transfers_go_in_pieces(CACHED);
  test_pinned_memory_is_used_straight();
  test_pinned_memory_after_a_fork();
  test_without_pinned_memory();
  test_failures_of_the_driver(true);
  test_failures_of_the_driver(false);
  return check_result("cuda host");
}
