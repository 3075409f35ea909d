/* Queues, events, labels, the ring of launches and what it tells of a failure. */
#include "null_context.h"

#include <pthread.h>

#include "c/program/kernel.h"
#include "null/backend.h"

static gpukernel *kernel_named(gpucontext *ctx, const char *stem) {
  ga_source source = {.name = ""};
  gpukernel *k = NULL;
  snprintf(source.name, sizeof source.name, "%s", stem);
  ga__strbuf_addf(&source.body, "KERNEL void %s() {}", source.name);
  CHECK_OK(ga__kernel_get(&k, ctx, &source));
  ga__strbuf_clear(&source.body);
  return k;
}

static int launch(gpukernel *k, gpudata *b, bool only_reads) {
  ga_args args = {0};
  if (only_reads)
    ga__args_input(&args, b);
  else
    ga__args_buffer(&args, b);
  ga_launch l = {.nd = 1, .grid = {1}, .block = {1}, .n_args = 1, .args = args.list};
  return ga__kernel_launch(k, &l);
}

static void test_a_thread_chooses_its_queue(gpucontext *ctx) {
  gpuqueue *q = NULL, *first = gpucontext_queue(ctx);
  CHECK(first != NULL && gpuqueue_context(first) == ctx);
  CHECK_OK(gpuqueue_new(&q, ctx));
  CHECK(q != first && gpucontext_queue(ctx) == first);
  CHECK_OK(gpucontext_use_queue(ctx, q));
  CHECK(gpucontext_queue(ctx) == q);
  CHECK_OK(gpuqueue_sync(q));
  gpuqueue_release(q); /* the thread holds it */
  CHECK(gpucontext_queue(ctx) == q);
  CHECK_OK(gpucontext_use_queue(ctx, first));
  CHECK(gpucontext_queue(ctx) == first);
  gpuqueue_retain(first); /* which keeps the context */
  gpuqueue_release(first);
}

static void *use_a_queue(void *argument) {
  gpucontext *ctx = argument;
  gpuqueue *q = NULL;
  gpudata *b = gpudata_alloc(ctx, 8, NULL, 0, NULL);
  CHECK_OK(gpuqueue_new(&q, ctx));
  CHECK_OK(gpucontext_use_queue(ctx, q));
  gpuqueue_release(q); /* the end of the thread gives it up */
  CHECK_OK(gpudata_memset(b, 0, 1));
  gpudata_release(b);
  return NULL;
}

static void test_the_end_of_a_thread_gives_its_queue_up(void) {
  gpucontext *ctx = open_null();
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, use_a_queue, ctx) == 0);
  pthread_join(thread, NULL);
  CHECK(atomic_load(&ctx->life.references) == 1 && !atomic_load(&ctx->queues.are_many));
  gpucontext_deref(ctx);
}

static void test_misuse(gpucontext *ctx) {
  gpucontext *other = open_null();
  gpuqueue *q = NULL, *far = NULL;
  gpuevent *e = NULL, *of_far = NULL;
  double seconds;
  int done;
  CHECK_STATUS(GA_VALUE_ERROR, gpuqueue_new(&q, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, gpuqueue_new(NULL, ctx));
  CHECK_OK(gpuqueue_new(&far, other));
  CHECK_STATUS(GA_INVALID_ERROR, gpucontext_use_queue(ctx, far));
  CHECK_TEXT("the queue is of another context");
  CHECK_STATUS(GA_VALUE_ERROR, gpuqueue_sync(NULL));
  CHECK_STATUS(GA_VALUE_ERROR, gpuevent_record(&e, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, gpuevent_record(NULL, far));
  CHECK_STATUS(GA_VALUE_ERROR, gpuevent_wait(NULL));
  CHECK_OK(gpuevent_record(&of_far, far));
  CHECK_OK(gpuevent_record(&e, gpucontext_queue(ctx)));
  CHECK_STATUS(GA_INVALID_ERROR, gpuqueue_wait_event(gpucontext_queue(ctx), of_far));
  CHECK_STATUS(GA_INVALID_ERROR, gpuevent_seconds(&seconds, e, of_far));
  CHECK_STATUS(GA_VALUE_ERROR, gpuevent_seconds(NULL, e, e));
  CHECK_STATUS(GA_VALUE_ERROR, gpuevent_query(e, NULL));
  CHECK_OK(gpuevent_query(e, &done));
  CHECK(done == 1);
  CHECK_OK(gpuevent_seconds(&seconds, e, e));
  CHECK(seconds == 0.0);
  CHECK_STATUS(GA_VALUE_ERROR, gpucontext_launches(NULL, 0, NULL, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, gpucontext_launches(ctx, 1, NULL, NULL));
  CHECK(gpucontext_queue(NULL) == NULL && gpuqueue_context(NULL) == NULL);
  gpuqueue_retain(NULL);
  gpuqueue_release(NULL);
  gpuevent_release(NULL);
  gpuevent_release(e);
  gpuqueue_release(far);
  gpucontext_deref(other); /* the event keeps it */
  gpuevent_release(of_far);
}

static void test_there_are_so_many_queues(gpucontext *ctx) {
  gpuqueue *queues[GPUARRAY_MAX_QUEUES] = {NULL};
  for (int i = 1; i < GPUARRAY_MAX_QUEUES; i++)
    CHECK_OK(gpuqueue_new(&queues[i], ctx));
  CHECK_STATUS(GA_UNSUPPORTED_ERROR, gpuqueue_new(&queues[0], ctx));
  CHECK(queues[0] == NULL);
  CHECK_TEXT("32 queues");
  for (int i = 1; i < GPUARRAY_MAX_QUEUES; i++)
    gpuqueue_release(queues[i]);
  CHECK(!atomic_load(&ctx->queues.are_many));

  gpucontext_props *p;
  gpucontext *single;
  CHECK_OK(gpucontext_props_new(&p));
  CHECK_OK(gpucontext_props_set_single_stream(p));
  CHECK_OK(gpucontext_init(&single, "null", p));
  CHECK_STATUS(GA_UNSUPPORTED_ERROR, gpuqueue_new(&queues[0], single));
  CHECK_TEXT("single stream");
  gpucontext_deref(single);
}

/* What the device is asked to order. */
static unsigned int events, waits;

static int counting_event(void **event, void *device, bool timed) {
  events += !timed;
  return ga__null_backend.event(event, device, timed);
}

static int counting_order(void *device, void *event) {
  waits++;
  return ga__null_backend.event_order(device, event);
}

static void check_ordered(unsigned int wanted_events, unsigned int wanted_waits) {
  CHECK(events == wanted_events && waits == wanted_waits);
  events = waits = 0;
}

static void test_only_what_must_wait_waits(void) {
  gpucontext *ctx = open_null();
  gpukernel *k = kernel_named(ctx, "k");
  gpudata *old = gpudata_alloc(ctx, 8, NULL, 0, NULL);
  gpuqueue *q, *r;
  hooked.event = counting_event;
  hooked.event_order = counting_order;
  CHECK_OK(gpudata_memset(old, 0, 1));
  check_ordered(0, 0); /* one queue: nothing of it runs */
  CHECK_OK(gpuqueue_new(&q, ctx));
  CHECK_OK(gpuqueue_new(&r, ctx));
  CHECK_OK(gpucontext_use_queue(ctx, q));
  CHECK_OK(launch(k, old, true)); /* from before there were queues */
  check_ordered(1, 1);
  CHECK_OK(launch(k, old, true));
  check_ordered(0, 0);

  gpudata *b = gpudata_alloc(ctx, 4096, NULL, 0, NULL);
  CHECK_OK(launch(k, b, false)); /* q writes */
  check_ordered(1, 1);           /* b is new memory, of which nothing is known */
  CHECK_OK(launch(k, b, false));
  check_ordered(0, 0);
  CHECK_OK(gpucontext_use_queue(ctx, r));
  CHECK_OK(launch(k, b, true)); /* r reads what q wrote */
  check_ordered(1, 1);
  CHECK_OK(launch(k, b, true));
  check_ordered(0, 0);
  CHECK_OK(gpucontext_use_queue(ctx, q));
  CHECK_OK(launch(k, b, true)); /* readers do not wait for readers */
  check_ordered(0, 0);
  CHECK_OK(gpucontext_use_queue(ctx, NULL));
  CHECK_OK(launch(k, b, false)); /* a writer waits for all of them */
  check_ordered(2, 2);

  CHECK_OK(gpucontext_use_queue(ctx, q));
  CHECK_OK(launch(k, b, false));
  check_ordered(1, 1);
  CHECK_OK(gpuqueue_sync(q)); /* what is done need not be waited for */
  CHECK_OK(gpucontext_use_queue(ctx, r));
  CHECK_OK(launch(k, b, true));
  check_ordered(0, 0);
  gpudata_release(b);
  gpudata *c = gpudata_alloc(ctx, 4096, NULL, 0, NULL); /* the same memory */
  CHECK_OK(gpucontext_use_queue(ctx, q));
  CHECK_OK(launch(k, c, true)); /* waits for the one who had it, though it reads */
  check_ordered(1, 1);
  CHECK_OK(gpucontext_use_queue(ctx, NULL));
  gpudata_release(c);
  gpudata_release(old);
  gpuqueue_release(q);
  gpuqueue_release(r);
  gpucontext_deref(ctx);
}

/* More readers than a buffer remembers: a writer still waits for each. */
static void test_many_readers(void) {
  enum { N = 9 };
  gpucontext *ctx = open_null();
  gpukernel *k = kernel_named(ctx, "k");
  gpuqueue *queues[N];
  gpudata *b = gpudata_alloc(ctx, 8, NULL, 0, NULL);
  for (int i = 0; i < N; i++)
    CHECK_OK(gpuqueue_new(&queues[i], ctx));
  CHECK_OK(launch(k, b, false));
  for (int i = 0; i < N; i++) {
    CHECK_OK(gpucontext_use_queue(ctx, queues[i]));
    CHECK_OK(launch(k, b, true));
  }
  CHECK_OK(gpucontext_use_queue(ctx, NULL));
  CHECK(b->uses.n == GA_USES);
  /* Who waits for those that are remembered waits for all: directly, or for one that
   * has waited. */
  bool is_reached[N + 1] = {false};
  for (unsigned int u = 0; u < b->uses.n; u++)
    is_reached[b->uses.last[u].queue] = true;
  for (int round = 0; round < N; round++)
    for (int i = 0; i < N; i++)
      for (int j = 0; is_reached[queues[i]->place] && j < N; j++)
        if (queues[i]->seen[queues[j]->place] > 0)
          is_reached[queues[j]->place] = true;
  for (int i = 0; i <= N; i++)
    CHECK(is_reached[i]);
  CHECK_OK(gpudata_sync(b));
  gpudata_release(b);
  for (int i = 0; i < N; i++)
    gpuqueue_release(queues[i]);
  gpucontext_deref(ctx);
}

static void test_labels(void) {
  CHECK(strcmp(gpuarray_label(), "") == 0);
  char text[400];
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  CHECK_OK(gpuarray_set_label(text));
  CHECK(strlen(gpuarray_label()) == 255);
  CHECK_OK(gpuarray_set_label("tanh, line 7"));
  const char *kept = gpuarray_label();
  CHECK_OK(gpuarray_set_label("other"));
  CHECK_OK(gpuarray_set_label("tanh, line 7"));
  CHECK(gpuarray_label() == kept && strcmp(kept, "tanh, line 7") == 0);
  ga__alloc_fail_at(0);
  CHECK_STATUS(GA_MEMORY_ERROR, gpuarray_set_label("no memory for this"));
  ga__alloc_fail_at(-1);
  CHECK(gpuarray_label() == kept);
  CHECK_OK(gpuarray_set_label(NULL));
  CHECK(strcmp(gpuarray_label(), "") == 0);
}

static void test_the_ring(void) {
  gpucontext *ctx = open_null();
  gpukernel *a = kernel_named(ctx, "first"), *b = kernel_named(ctx, "second");
  gpudata *x = gpudata_alloc(ctx, 8, NULL, 0, NULL);
  gpulaunch list[GPUARRAY_LAUNCHES];
  unsigned int n = 99;
  CHECK_OK(gpucontext_launches(ctx, 3, list, &n));
  CHECK(n == 0);
  CHECK_OK(launch(a, x, false));
  CHECK_OK(gpucontext_sync(ctx));
  CHECK_OK(gpuarray_set_label("b = a + 1"));
  CHECK_OK(launch(b, x, false));
  CHECK_OK(gpuarray_set_label(NULL));
  CHECK_OK(gpucontext_launches(ctx, 3, list, &n));
  CHECK(n == 2 && strcmp(list[0].kernel, "second") == 0 &&
        strcmp(list[0].label, "b = a + 1") == 0 && list[0].number == 2 &&
        list[0].queue == 0 && !list[0].is_done);
  CHECK(strcmp(list[1].kernel, "first") == 0 && list[1].is_done);
  CHECK_OK(gpucontext_launches(ctx, 1, list, &n));
  CHECK(n == 1);
  for (int i = 0; i < 300; i++)
    CHECK_OK(launch(a, x, false));
  CHECK_OK(gpucontext_launches(ctx, GPUARRAY_LAUNCHES, list, &n));
  CHECK(n == GPUARRAY_LAUNCHES && list[0].number == 302);
  gpudata_release(x);
  gpucontext_deref(ctx);
}

static int failing_wait(void *device) {
  (void)device;
  return GA_FAIL(GA_RUN_ERROR, "an illegal address");
}

/* The failure of a wait names the launches since the last one. */
static void test_blame(void) {
  gpucontext *ctx = open_null();
  gpukernel *good = kernel_named(ctx, "good"), *bad = kernel_named(ctx, "bad");
  gpudata *x = gpudata_alloc(ctx, 8, NULL, 0, NULL);
  CHECK_OK(launch(good, x, false));
  CHECK_OK(gpucontext_sync(ctx));
  CHECK_OK(gpuarray_set_label("y = bad(x), line 12"));
  CHECK_OK(launch(bad, x, false));
  CHECK_OK(gpuarray_set_label(NULL));
  hooked.wait = failing_wait;
  CHECK_STATUS(GA_RUN_ERROR, gpucontext_sync(ctx));
  CHECK_TEXT("an illegal address; the only launch that can have caused it is bad (y = "
             "bad(x), line 12)");
  CHECK(strstr(gpuarray_error_text(), "good") == NULL);
  CHECK_STATUS(GA_LOST_ERROR, gpucontext_sync(ctx));
  CHECK_TEXT("The first cause: an illegal address; the only launch");
  hooked.wait = ga__null_backend.wait;
  gpudata_release(x);
  gpucontext_deref(ctx);

  ctx = open_null();
  gpukernel *kernels[6];
  for (int i = 0; i < 6; i++)
    kernels[i] = kernel_named(ctx, (char[]){'k', (char)('0' + i), '\0'});
  x = gpudata_alloc(ctx, 8, NULL, 0, NULL);
  for (int i = 0; i < 12; i++)
    CHECK_OK(launch(kernels[i / 2], x, false));
  hooked.wait = failing_wait;
  CHECK_STATUS(GA_RUN_ERROR, gpudata_sync(x));
  CHECK_TEXT("one of the 12 pending launches caused it, newest "
             "first: k5 2 times, k4 2 times, k3 2 times, k2 2 times and others; with "
             "GPUARRAY_LAUNCH_BLOCKING=1");
  hooked.wait = ga__null_backend.wait;
  gpudata_release(x);
  gpucontext_deref(ctx);
}

static void test_blocking_launches_name_the_one(const char *variable) {
  setenv(variable, "1", 1);
  gpucontext *ctx = open_null();
  unsetenv(variable);
  gpukernel *good = kernel_named(ctx, "good"), *bad = kernel_named(ctx, "bad");
  gpudata *x = gpudata_alloc(ctx, 8, NULL, 0, NULL);
  for (int i = 0; i < 10; i++)
    CHECK_OK(launch(good, x, false));
  hooked.wait = failing_wait;
  CHECK_STATUS(GA_RUN_ERROR, launch(bad, x, false));
  CHECK_TEXT("the only launch that can have caused it is bad");
  hooked.wait = ga__null_backend.wait;
  gpudata_release(x);
  gpucontext_deref(ctx);
}

/* ---- a device that disappears ---- */

static int use_everything(gpucontext *ctx, gpukernel *k) {
  gpuqueue *q = NULL;
  gpuevent *e = NULL;
  gpudata *a = NULL, *b = NULL;
  char bytes[64] = "bytes";
  int status = GA_NO_ERROR;
  a = gpudata_alloc(ctx, 64, bytes, GA_BUFFER_INIT, &status);
  if (status == GA_NO_ERROR)
    b = gpudata_alloc(ctx, 64, NULL, GA_BUFFER_HOST, &status);
  if (status == GA_NO_ERROR)
    status = gpuqueue_new(&q, ctx);
  if (status == GA_NO_ERROR)
    status = gpucontext_use_queue(ctx, q);
  if (status == GA_NO_ERROR)
    status = gpudata_move(b, 0, a, 0, 64);
  if (status == GA_NO_ERROR)
    status = launch(k, a, false);
  if (status == GA_NO_ERROR)
    status = gpuevent_record(&e, q);
  if (status == GA_NO_ERROR)
    status = gpuqueue_wait_event(gpucontext_queue(ctx), e);
  if (status == GA_NO_ERROR)
    status = gpuevent_wait(e);
  if (status == GA_NO_ERROR)
    status = gpudata_memset(a, 0, 1);
  if (status == GA_NO_ERROR)
    status = gpudata_read(bytes, a, 0, 64);
  if (status == GA_NO_ERROR)
    status = gpucontext_trim(ctx);
  if (status == GA_NO_ERROR)
    status = gpucontext_sync(ctx);
  CHECK_OK(gpucontext_use_queue(ctx, NULL));
  gpuevent_release(e);
  gpuqueue_release(q);
  gpudata_release(a);
  gpudata_release(b);
  return status;
}

/* Whatever call meets it first tells of it; every later one says the context is lost.
 * The leak checker watches. */
static void test_a_device_that_disappears(void) {
  int status = GA_RUN_ERROR;
  for (long n = 0; status != GA_NO_ERROR && n < 100; n++) {
    gpucontext *ctx = open_null();
    gpukernel *k = kernel_named(ctx, "k");
    CHECK_OK(use_everything(ctx, k));
    ga__null_disappear(ctx->device, n);
    status = use_everything(ctx, k);
    CHECK(status == GA_RUN_ERROR || status == GA_NO_ERROR);
    if (status == GA_RUN_ERROR) {
      CHECK_TEXT("the null device has disappeared");
      gpudata *b = NULL;
      CHECK_STATUS(GA_LOST_ERROR, use_everything(ctx, k));
      CHECK_TEXT("the null device has disappeared");
      CHECK(gpudata_alloc(ctx, 1, NULL, 0, &status) == NULL);
      CHECK(status == GA_LOST_ERROR);
      CHECK_STATUS(GA_LOST_ERROR, gpucontext_property(ctx, GA_CTX_PROP_ERRBUF, &b));
      CHECK_STATUS(GA_LOST_ERROR, gpucontext_sync(ctx));
      CHECK_STATUS(GA_LOST_ERROR, gpucontext_trim(ctx));
    } else {
      CHECK(n > 10);
    }
    gpucontext_deref(ctx);
  }
  CHECK(status == GA_NO_ERROR);
}

int main(void) {
  setenv("GPUARRAY_CACHE_DIR", "", 1);
  gpucontext *ctx = open_null();
  test_a_thread_chooses_its_queue(ctx);
  test_misuse(ctx);
  test_there_are_so_many_queues(ctx);
  gpucontext_deref(ctx);
  test_the_end_of_a_thread_gives_its_queue_up();
  test_only_what_must_wait_waits();
  test_many_readers();
  test_labels();
  test_the_ring();
  test_blame();
  test_blocking_launches_name_the_one("GPUARRAY_LAUNCH_BLOCKING");
  test_blocking_launches_name_the_one("CUDA_LAUNCH_BLOCKING");
  test_a_device_that_disappears();
  return check_result("queue");
}
