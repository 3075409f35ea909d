/* Memory of the host that arrays are brought to: of the array itself, of the context's
 * pool, beyond its limit, beyond its context, and in a process that is forked. */
#include "null_context.h"

#include <sys/wait.h>
#include <unistd.h>

#include <gpuarray/host.h>

#include "c/array/array.h"
#include "c/device/buffer.h"
#include "c/device/host_pool.h"

#define N ((size_t)10000) /* floats: enough for a block of the pool */

static GpuArray floats(gpucontext *ctx, size_t n, float first) {
  GpuArray a = {0};
  float *values = malloc(n * sizeof *values);
  for (size_t i = 0; i < n; i++)
    values[i] = first + (float)i;
  CHECK_OK(GpuArray_copy_from_host(&a, ctx, values, GA_FLOAT, 1, &n, NULL));
  free(values);
  return a;
}

static gpuhost *memory_for(const GpuArray *a, int lends) {
  gpuhost *h = NULL;
  CHECK_OK(GpuArray_host(&h, a, lends));
  return h;
}

static int bring(gpuhost *h, void *dst, const GpuArray *a) {
  return GpuArray_read_hosts(1, &h, &dst, &a);
}

static bool holds(const gpuhost *h, size_t n, float first) {
  const float *values = gpuhost_bytes(h);
  return values != NULL && values[0] == first &&
         values[n - 1] == first + (float)(n - 1);
}

/* A copy that nothing changes, and whose memory is the next one's. */
static void test_blocks_are_kept_for_the_next_result(void) {
  gpucontext *ctx = open_null();
  GpuArray a = floats(ctx, N, 1);
  gpuhost *h = memory_for(&a, 0);
  CHECK_OK(bring(h, NULL, &a));
  CHECK(holds(h, N, 1));
  CHECK_OK(gpudata_memset(a.data, 0, 0));
  CHECK(holds(h, N, 1));
  gpuhost *other = memory_for(&a, 0);
  CHECK(gpuhost_bytes(other) != gpuhost_bytes(h));
  void *bytes = gpuhost_bytes(h);
  gpuhost_release(h);
  h = memory_for(&a, 0);
  CHECK(gpuhost_bytes(h) == bytes);
  gpuhost_release(other);
  gpuhost_release(h);
  CHECK_OK(gpucontext_trim(ctx));
  gpuhost_release(NULL);
  CHECK(gpuhost_bytes(NULL) == NULL);
  GpuArray_clear(&a);
  gpucontext_deref(ctx);
}

/* Whose memory it may be: only that of a buffer which nobody else has. */
static void test_what_nobody_else_has_is_not_copied(void) {
  gpucontext *ctx = open_null();
  GpuArray a = floats(ctx, N, 1), view;
  void *own = NULL;
  CHECK_OK(gpudata_property(a.data, GA_BUFFER_PROP_HOST, &own));
  gpuhost *h = memory_for(&a, 1);
  CHECK(gpuhost_bytes(h) == own);
  CHECK_OK(bring(h, NULL, &a));
  GpuArray_clear(&a);
  CHECK(holds(h, N, 1));
  a = floats(ctx, N, 2); /* does not take the memory that is lent */
  CHECK(holds(h, N, 1));
  gpuhost_release(h);

  CHECK_OK(GpuArray_view(&view, &a));
  h = memory_for(&a, 1);
  CHECK(h != NULL && h->lent == NULL);
  gpuhost_release(h);
  GpuArray_clear(&view);

  view = a; /* a small part of a large buffer, and one that is not aligned */
  view.dimensions[0] = N / 2 - 100;
  h = memory_for(&view, 1);
  CHECK(h != NULL && h->lent == NULL);
  gpuhost_release(h);
  view.dimensions[0] = N - 1;
  view.offset = 2;
  GpuArray_fix_flags(&view);
  h = memory_for(&view, 1);
  CHECK(h != NULL && h->lent == NULL);
  gpuhost_release(h);
  GpuArray_clear(&a);
  gpucontext_deref(ctx);
}

static void test_small_and_empty_arrays_need_no_memory_of_the_pool(void) {
  gpucontext *ctx = open_null();
  GpuArray small = floats(ctx, 10, 1), empty = floats(ctx, 0, 0);
  float values[10];
  CHECK(memory_for(&small, 1) == NULL && memory_for(&empty, 1) == NULL);
  CHECK_OK(bring(NULL, values, &small));
  CHECK(values[9] == 10);
  CHECK_OK(bring(NULL, NULL, &empty));
  GpuArray_clear(&small);
  GpuArray_clear(&empty);
  gpucontext_deref(ctx);
}

/* What is kept makes room for what is needed; what is in use does not. */
static void test_the_limit_holds(void) {
  setenv("GPUARRAY_HOST_SIZE", "100000", 1);
  gpucontext *ctx = open_null();
  GpuArray a = floats(ctx, N, 1), larger = floats(ctx, 2 * N, 1);
  gpuhost *h = memory_for(&a, 0), *second = memory_for(&a, 0);
  CHECK(h != NULL && second != NULL);
  CHECK(memory_for(&a, 0) == NULL);
  gpuhost_release(h);
  gpuhost_release(second);
  h = memory_for(&larger, 0);
  CHECK(h != NULL);
  CHECK(memory_for(&larger, 0) == NULL);
  gpuhost_release(h);
  GpuArray_clear(&a);
  GpuArray_clear(&larger);
  gpucontext_deref(ctx);

  setenv("GPUARRAY_HOST_SIZE", "0", 1);
  ctx = open_null();
  a = floats(ctx, N, 1);
  CHECK(memory_for(&a, 0) == NULL);
  GpuArray_clear(&a);
  gpucontext_deref(ctx);
  unsetenv("GPUARRAY_HOST_SIZE");
}

static void test_memory_outlives_its_context(void) {
  gpucontext *ctx = open_null();
  GpuArray a = floats(ctx, N, 1);
  gpuhost *h = memory_for(&a, 0), *second = memory_for(&a, 0);
  CHECK_OK(bring(h, NULL, &a));
  GpuArray_clear(&a);
  gpucontext_deref(ctx);
  CHECK(holds(h, N, 1));
  gpuhost_release(h);
  gpuhost_release(second);
}

/* The other process sees what was there, and gives nothing back; this one writes to
 * other memory from then on. */
static void test_a_forked_process_keeps_what_it_sees(void) {
  gpucontext *ctx = open_null();
  GpuArray a = floats(ctx, N, 1);
  gpuhost *h = memory_for(&a, 0);
  CHECK_OK(bring(h, NULL, &a));
  void *bytes = gpuhost_bytes(h);
  pid_t child = fork();
  if (child == 0) {
    bool is_there = holds(h, N, 1);
    gpuhost_release(h);
    gpuhost *none = NULL;
    _exit(is_there && GpuArray_host(&none, &a, 0) == GA_NO_ERROR && none == NULL ? 0
                                                                                 : 1);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  gpuhost *next = memory_for(&a, 0);
  gpuhost_release(h);
  h = memory_for(&a, 0);
  CHECK(gpuhost_bytes(next) != bytes);
  CHECK_OK(bring(h, NULL, &a));
  CHECK(holds(h, N, 1));
  gpuhost_release(next);
  gpuhost_release(h);
  GpuArray_clear(&a);
  gpucontext_deref(ctx);
}

static void test_memory_of_another_array_is_refused(void) {
  gpucontext *ctx = open_null();
  gpucontext *other = NULL;
  CHECK_OK(gpucontext_open(&other, "null"));
  GpuArray a = floats(ctx, N, 1), large = floats(ctx, 3 * N, 1);
  GpuArray foreign = floats(other, N, 1);
  gpuhost *h = memory_for(&a, 0), *lent = memory_for(&a, 1);
  CHECK(bring(h, NULL, &large) == GA_VALUE_ERROR);
  CHECK(bring(h, NULL, &foreign) == GA_VALUE_ERROR);
  CHECK(bring(lent, NULL, &foreign) == GA_VALUE_ERROR);
  CHECK(GpuArray_host(NULL, &a, 0) == GA_VALUE_ERROR);
  CHECK(GpuArray_read_hosts(1, NULL, NULL, NULL) == GA_VALUE_ERROR);
  CHECK(bring(NULL, NULL, &a) == GA_VALUE_ERROR);
  gpuhost_release(h);
  gpuhost_release(lent);
  GpuArray_clear(&a);
  GpuArray_clear(&large);
  GpuArray_clear(&foreign);
  gpucontext_deref(other);
  gpucontext_deref(ctx);
}

/* Without memory for a block the caller takes memory of its own. */
static void test_failing_allocations(void) {
  gpucontext *ctx = open_null();
  GpuArray a = floats(ctx, N, 1);
  for (int lends = 0; lends < 2; lends++) {
    gpuhost *h = NULL;
    ga__alloc_fail_at(0);
    CHECK_OK(GpuArray_host(&h, &a, lends));
    CHECK(h == NULL);
    ga__alloc_fail_at(-1);
    h = memory_for(&a, lends);
    CHECK(h != NULL);
    gpuhost_release(h);
    CHECK_OK(gpucontext_trim(ctx));
  }
  GpuArray_clear(&a);
  gpucontext_deref(ctx);
}

/* A lower limit takes what is kept at once, and what is in use when it comes back. */
static void test_the_limit_can_be_changed(void) {
  gpucontext *ctx = open_null();
  GpuArray a = floats(ctx, N, 1);
  size_t live = 9, cached = 9, limit = 0;
  gpuhost *one = memory_for(&a, 0), *two = memory_for(&a, 0);
  gpuhost_release(two);
  CHECK_OK(gpucontext_host_memory(ctx, &live, &cached, &limit));
  CHECK(live >= N * 4 && cached == live && limit > 2 * live);
  CHECK_OK(gpucontext_set_host_limit(ctx, live));
  CHECK_OK(gpucontext_host_memory(ctx, NULL, &cached, &limit));
  CHECK(cached == 0 && limit == live);
  CHECK(memory_for(&a, 0) == NULL);
  CHECK_OK(gpucontext_set_host_limit(ctx, 0));
  CHECK_OK(bring(one, NULL, &a));
  CHECK(holds(one, N, 1));
  gpuhost_release(one);
  CHECK_OK(gpucontext_host_memory(ctx, &live, &cached, NULL));
  CHECK(live == 0 && cached == 0);
  CHECK(memory_for(&a, 0) == NULL);
  CHECK_OK(gpucontext_set_host_limit(ctx, SIZE_MAX));
  one = memory_for(&a, 0);
  CHECK(one != NULL);
  gpuhost_release(one);
  CHECK_OK(gpucontext_host_memory(ctx, NULL, &cached, NULL));
  CHECK(cached >= N * 4);
  GpuArray_clear(&a);
  gpucontext_deref(ctx);
}

int main(void) {
  test_the_limit_can_be_changed();
  test_blocks_are_kept_for_the_next_result();
  test_what_nobody_else_has_is_not_copied();
  test_small_and_empty_arrays_need_no_memory_of_the_pool();
  test_the_limit_holds();
  test_memory_outlives_its_context();
  test_a_forked_process_keeps_what_it_sees();
  test_memory_of_another_array_is_refused();
  test_failing_allocations();
  return check_result("host");
}
