/* Wrong indices that kernels report, and the buffer for users' kernels. */
#include "null_context.h"

#include <pthread.h>
#include <time.h>

#include "c/device/device_errors.h"
#include "c/program/kernel.h"

static gpukernel *any_kernel(gpucontext *ctx) {
  ga_source source = {.name = ""};
  gpukernel *k = NULL;
  ga__kernel_name(source.name, "any", "any");
  ga__strbuf_addf(&source.body, "KERNEL void %s() {}", source.name);
  CHECK_OK(ga__kernel_get(&k, ctx, &source));
  ga__strbuf_clear(&source.body);
  return k;
}

/* Launches a kernel with the word; the site it got. */
static uint32_t *launch(gpukernel *k, const char *operation, unsigned int *site) {
  ga_args args = {0};
  CHECK_OK(ga__args_report(&args, k->context, operation));
  CHECK(args.n == 3 && args.list[0].kind == GA_ARG_MEMORY &&
        args.list[1].kind == GA_ARG_OFFSET && args.list[1].value.u64 == 0);
  ga_launch l = {.nd = 1, .grid = {1}, .block = {1}, .n_args = 3, .args = args.list};
  CHECK_OK(ga__kernel_launch(k, &l));
  memcpy(site, args.list[2].value.bytes, sizeof *site);
  return args.list[0].buffer->memory;
}

/* What a kernel does; the null device runs none. */
static void report(uint32_t *word, unsigned int site, int64_t index, int64_t length) {
  if (word[0]++ != 0)
    return;
  word[1] = site;
  word[2] = (uint32_t)index;
  word[3] = (uint32_t)((uint64_t)index >> 32);
  word[4] = (uint32_t)length;
  word[5] = (uint32_t)((uint64_t)length >> 32);
}

static void test_a_report_fails_the_next_wait_once(gpucontext *ctx, gpukernel *k) {
  unsigned int take, put;
  uint32_t *word = launch(k, "take", &take);
  CHECK_OK(gpucontext_sync(ctx));
  report(word, take, -7, 5);
  CHECK_OK(gpucontext_sync(ctx)); /* no launch could have done it */
  launch(k, "put", &put);
  CHECK(put != take);
  CHECK_STATUS(GA_INDEX_ERROR, gpucontext_sync(ctx));
  CHECK_TEXT("take: index -7 is out of bounds for an axis of length 5");
  CHECK(strstr(gpuarray_error_text(), "first of") == NULL);
  CHECK_OK(gpucontext_sync(ctx));
  CHECK(word[0] == 0);

  CHECK_OK(gpuarray_set_label("b = a[i], line 3 of user.py"));
  launch(k, "take", &take);
  CHECK_OK(gpuarray_set_label(NULL));
  report(word, take, (int64_t)1 << 40, (int64_t)1 << 33);
  report(word, put, 1, 1);
  gpudata *b = gpudata_alloc(ctx, 4, NULL, 0, NULL);
  int32_t bytes;
  CHECK_STATUS(GA_INDEX_ERROR, gpudata_read(&bytes, b, 0, 4));
  CHECK_TEXT("take: index 1099511627776 is out of bounds for an axis of length "
             "8589934592, the first of 2 that were (b = a[i], line 3 of user.py)");
  CHECK_OK(gpudata_read(&bytes, b, 0, 4)); /* the context is as good as before */
  launch(k, "take", &take);
  report(word, take, 9, 9);
  CHECK_STATUS(GA_INDEX_ERROR, gpudata_sync(b));
  gpudata_release(b);
}

static void test_each_queue_tells_of_its_launches(gpucontext *ctx, gpukernel *k) {
  gpuqueue *q;
  gpuevent *e;
  unsigned int site;
  CHECK_OK(gpuqueue_new(&q, ctx));
  CHECK_OK(gpucontext_use_queue(ctx, q));
  uint32_t *word = launch(k, "take", &site);
  CHECK_OK(gpucontext_use_queue(ctx, NULL));
  report(word, site, 3, 3);
  CHECK_OK(gpuqueue_sync(gpucontext_queue(ctx)));
  CHECK_OK(gpuevent_record(&e, q));
  CHECK_STATUS(GA_INDEX_ERROR, gpuevent_wait(e));
  CHECK_OK(gpuqueue_sync(q));
  gpuevent_release(e);
  gpuqueue_release(q);
}

/* ---- a report while another is told ---- */

static struct {
  gpukernel *kernel;
  gpuqueue *queue; /* that it is launched on */
  uint32_t *word;
  ga_args args; /* of the launch, made before as a plan has them */
  unsigned int site;
  pthread_t thread;
  int (*fill)(void *device, void *memory, size_t offset, unsigned char byte,
              size_t size);
  bool is_begun;
} late;

/* A launch of which the kernel has run by the time it is queued. */
static int launch_and_report(void *device, void *kernel, const ga_launch *l) {
  (void)device, (void)kernel, (void)l;
  report(late.word, late.site, 8, 4);
  return GA_NO_ERROR;
}

static void *launch_late(void *unused) {
  const ga_launch l = {
      .nd = 1, .grid = {1}, .block = {1}, .n_args = 3, .args = late.args.list};
  (void)unused;
  CHECK_OK(gpucontext_use_queue(late.kernel->context, late.queue));
  CHECK_OK(ga__kernel_launch(late.kernel, &l));
  CHECK_OK(gpucontext_use_queue(late.kernel->context, NULL));
  return NULL;
}

/* Another thread launches when the word is about to be cleared. */
static int fill_late(void *device, void *memory, size_t offset, unsigned char byte,
                     size_t size) {
  if (memory == late.word && !late.is_begun) {
    late.is_begun = true;
    hooked.launch = launch_and_report;
    CHECK(pthread_create(&late.thread, NULL, launch_late, NULL) == 0);
    nanosleep(&(struct timespec){0, 50000000}, NULL);
  }
  return late.fill(device, memory, offset, byte, size);
}

static void test_a_report_while_another_is_told(gpukernel *k, gpuqueue *q) {
  gpucontext *ctx = k->context;
  const ga_backend before = hooked;
  unsigned int take, put;
  launch(k, "put", &put);
  uint32_t *word = launch(k, "take", &take);
  late.kernel = k;
  late.queue = q;
  late.word = word;
  late.site = put;
  late.fill = hooked.fill;
  late.args.n = 0;
  CHECK_OK(ga__args_report(&late.args, ctx, "put"));
  late.is_begun = false;
  hooked.fill = fill_late;
  report(word, take, 6, 2);
  CHECK_STATUS(GA_INDEX_ERROR, gpucontext_sync(ctx));
  CHECK_TEXT("take: index 6 is out of bounds for an axis of length 2");
  CHECK(late.is_begun && pthread_join(late.thread, NULL) == 0);
  CHECK_STATUS(GA_INDEX_ERROR, gpucontext_sync(ctx));
  CHECK_TEXT("put: index 8 is out of bounds for an axis of length 4");
  CHECK_OK(gpucontext_sync(ctx));
  hooked = before;
}

static void test_reports_while_others_are_told(gpucontext *ctx, gpukernel *k) {
  gpuqueue *q = NULL;
  test_a_report_while_another_is_told(k, NULL);
  CHECK_OK(gpuqueue_new(&q, ctx));
  test_a_report_while_another_is_told(k, q);
  gpuqueue_release(q);
}

/* A look that fails has told nobody: the next one tells. */
static int fail_read(void *device, void *host, void *memory, size_t offset,
                     size_t size) {
  (void)device, (void)host, (void)memory, (void)offset, (void)size;
  return GA_FAIL(GA_MISC_ERROR, "not now");
}

static void test_a_look_that_fails(gpucontext *ctx, gpukernel *k) {
  const ga_backend before = hooked;
  unsigned int take;
  uint32_t *word = launch(k, "take", &take);
  report(word, take, 6, 2);
  hooked.read = fail_read;
  CHECK_STATUS(GA_MISC_ERROR, gpucontext_sync(ctx));
  hooked = before;
  CHECK_STATUS(GA_INDEX_ERROR, gpucontext_sync(ctx));
}

static void test_a_users_kernel_reports(gpucontext *ctx, gpukernel *k) {
  gpudata *word = NULL, *own;
  unsigned int site = 0, again = 1, other;
  CHECK_OK(gpukernel_report_site(&word, &site, ctx, "mine"));
  CHECK_OK(gpukernel_report_site(&word, &again, ctx, "mine"));
  CHECK(site == again && launch(k, "mine", &other) == word->memory && site == other);
  report(word->memory, site, 5, 2);
  CHECK_STATUS(GA_INDEX_ERROR, gpucontext_sync(ctx));
  CHECK_TEXT("mine: index 5 is out of bounds for an axis of length 2");
  own = word;
  CHECK_STATUS(GA_VALUE_ERROR, gpukernel_report_site(&word, &site, ctx, NULL));
  CHECK_TEXT("name of the operation");
  CHECK_STATUS(GA_VALUE_ERROR, gpukernel_report_site(NULL, &site, ctx, "mine"));
  CHECK_STATUS(GA_VALUE_ERROR, gpukernel_report_site(&word, NULL, ctx, "mine"));
  CHECK(word == own);
}

/* Past a thousand sites the operation is not told, but the index is. */
static void test_sites_are_bounded(gpucontext *ctx, gpukernel *k) {
  unsigned int site = 0;
  uint32_t *word = NULL;
  for (int i = 0; i < 1100; i++) {
    char label[32];
    snprintf(label, sizeof label, "line %d", i);
    CHECK_OK(gpuarray_set_label(label));
    word = launch(k, "take", &site);
  }
  CHECK_OK(gpuarray_set_label(""));
  report(word, site, 4, 4);
  CHECK_STATUS(GA_INDEX_ERROR, gpucontext_sync(ctx));
  CHECK_TEXT("an operation: index 4 is out of bounds for an axis of length 4");
}

static void test_the_users_buffer(gpucontext *ctx) {
  gpudata *b = NULL, *again = NULL;
  int32_t bytes[8] = {1};
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_ERRBUF, &b));
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_ERRBUF, &again));
  CHECK(b == again && gpudata_context(b) == ctx);
  CHECK_OK(gpudata_read(bytes, b, 0, sizeof bytes));
  for (int i = 0; i < 8; i++)
    CHECK(bytes[i] == 0);
}

static void test_failing_allocations(void) {
  for (long n = 0; n < 4; n++) {
    gpucontext *ctx = open_null();
    ga_args args = {0};
    ga__alloc_fail_at(n);
    int status = ga__args_report(&args, ctx, "an operation of its own");
    ga__alloc_fail_at(-1);
    CHECK(status == GA_NO_ERROR || (status == GA_MEMORY_ERROR && args.n == 0));
    args.n = 0;
    CHECK_OK(ga__args_report(&args, ctx, "an operation of its own"));
    gpucontext_deref(ctx);
  }
}

int main(void) {
  setenv("GPUARRAY_CACHE_DIR", "", 1);
  gpucontext *ctx = open_null();
  gpukernel *k = any_kernel(ctx);
  test_a_report_fails_the_next_wait_once(ctx, k);
  test_each_queue_tells_of_its_launches(ctx, k);
  test_reports_while_others_are_told(ctx, k);
  test_a_look_that_fails(ctx, k);
  test_a_users_kernel_reports(ctx, k);
  test_sites_are_bounded(ctx, k);
  test_the_users_buffer(ctx);
  gpucontext_deref(ctx);
  test_failing_allocations();
  return check_result("report");
}
