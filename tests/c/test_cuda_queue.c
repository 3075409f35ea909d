/* Queues on the mock of CUDA, whose streams run only when they are waited for: whoever
 * is not ordered sees old bytes. */
#include "elemwise_step.h"
#include "mock_context.h"

#include <gpuarray/kernel.h>
#include <gpuarray/plan.h>

#include "c/device/buffer.h"

#define SIZE 64

static gpudata *filled(gpucontext *ctx, int byte) {
  unsigned char bytes[SIZE];
  memset(bytes, byte, sizeof bytes);
  gpudata *b = gpudata_alloc(ctx, SIZE, bytes, GA_BUFFER_INIT, NULL);
  CHECK(b != NULL);
  return b;
}

static bool holds(gpudata *b, int byte) {
  unsigned char bytes[SIZE] = {0};
  CHECK_OK(gpudata_read(bytes, b, 0, SIZE));
  for (int i = 0; i < SIZE; i++)
    if (bytes[i] != byte)
      return false;
  return true;
}

static gpuqueue *new_queue(gpucontext *ctx) {
  gpuqueue *q = NULL;
  CHECK_OK(gpuqueue_new(&q, ctx));
  return q;
}

/* What kernels add one to. */
static void add_one(const mock_launch *launch) {
  unsigned char *x = (unsigned char *)(uintptr_t)launch->args[0];
  for (int i = 0; i < SIZE; i++)
    x[i]++;
}

static const char add_text[] = "KERNEL void add_one(GLOBAL_MEM ga_ubyte *x) { }";

static void init_add(GpuKernel *k, gpucontext *ctx) {
  const char *text = add_text;
  int types[] = {GA_BUFFER};
  CHECK_OK(GpuKernel_init(k, ctx, 1, &text, NULL, "add_one", 1, types, 0, NULL));
}

static int add(GpuKernel *k, gpudata *b) {
  size_t one = 1;
  return GpuKernel_call(k, 1, &one, &one, 0, (void *[]){b});
}

/* Every way to write on one queue, then every way to read on another. */
static void test_work_on_a_buffer_is_in_order(void) {
  gpucontext *ctx = open_cuda("cuda0");
  GpuKernel k;
  init_add(&k, ctx);
  mock->run = add_one;
  gpudata *old = filled(ctx, 1);
  CHECK_OK(gpudata_memset(old, 0, 2));
  gpuqueue *q = new_queue(ctx), *r = new_queue(ctx);
  CHECK_OK(gpucontext_use_queue(ctx, q));
  CHECK(holds(old, 2)); /* from before there were queues */
  gpudata *a = filled(ctx, 10), *b = filled(ctx, 20);
  CHECK_OK(gpudata_memset(a, 0, 11));
  CHECK_OK(gpucontext_use_queue(ctx, r));
  CHECK_OK(add(&k, a)); /* 12 */
  CHECK_OK(gpucontext_use_queue(ctx, NULL));
  CHECK_OK(gpudata_move(b, 0, a, 0, SIZE));
  CHECK_OK(gpucontext_use_queue(ctx, q));
  CHECK_OK(gpudata_memset(a, 0, 13)); /* not before it was copied */
  CHECK_OK(gpucontext_use_queue(ctx, r));
  CHECK(holds(b, 12) && holds(a, 13));

  /* Memory that one queue still uses goes to another. */
  CHECK_OK(gpucontext_use_queue(ctx, q));
  CHECK_OK(add(&k, a));
  void *memory = a->memory;
  gpudata_release(a);
  CHECK_OK(gpucontext_use_queue(ctx, r));
  a = gpudata_alloc(ctx, SIZE, NULL, 0, NULL);
  CHECK(a->memory == memory);
  CHECK_OK(gpudata_memset(a, 0, 50));
  CHECK(holds(a, 50));
  CHECK_OK(gpucontext_sync(ctx));
  CHECK(holds(a, 50)); /* the other queue was not late */

  CHECK_OK(gpucontext_use_queue(ctx, NULL));
  mock->run = NULL;
  GpuKernel_clear(&k);
  gpudata_release(a);
  gpudata_release(b);
  gpudata_release(old);
  gpuqueue_release(q);
  gpuqueue_release(r);
  gpucontext_deref(ctx);
  check_given_back();
}

/* ---- several buffers on one memory ---- */

static void forget(void *owner) {
  gpudata_release(owner);
}

/* Another buffer on `size` bytes from `offset` of the memory. */
static gpudata *again(gpudata *b, size_t offset, size_t size) {
  gpudata *other = NULL;
  gpudata_retain(b);
  CHECK_OK(
      ga__buffer_wrap(&other, b->context, (char *)b->memory + offset, size, forget, b));
  return other;
}

static bool part_holds(gpudata *b, size_t size, int byte) {
  unsigned char bytes[SIZE] = {0};
  CHECK_OK(gpudata_read(bytes, b, 0, size));
  for (size_t i = 0; i < size; i++)
    if (bytes[i] != byte)
      return false;
  return true;
}

/* Written by way of one and read by way of another, on two queues. */
static void test_work_on_one_memory_is_in_order(void) {
  gpucontext *ctx = open_cuda("cuda0");
  gpudata *a = filled(ctx, 1);
  CHECK_OK(gpudata_sync(a));
  gpuqueue *q = new_queue(ctx), *r = new_queue(ctx);
  gpudata *b = again(a, 0, SIZE), *low = again(a, 0, SIZE / 2),
          *high = again(b, SIZE / 2, SIZE / 2);
  gpudata *c = filled(ctx, 9);
  CHECK_OK(gpudata_sync(c));
  CHECK_OK(gpucontext_use_queue(ctx, q));
  CHECK_OK(gpudata_memset(a, 0, 2));
  CHECK_OK(gpucontext_use_queue(ctx, r));
  CHECK(holds(b, 2));
  CHECK_OK(gpudata_memset(low, 0, 3));
  CHECK_OK(gpucontext_use_queue(ctx, q));
  CHECK_OK(gpudata_move(c, 0, b, 0, SIZE / 2));
  CHECK_OK(gpudata_memset(high, 0, 4));
  CHECK_OK(gpucontext_use_queue(ctx, NULL));
  CHECK_OK(gpudata_memset(low, 0, 5)); /* not before it was copied */
  CHECK(part_holds(c, SIZE / 2, 3));
  CHECK(part_holds(a, SIZE / 2, 5) && part_holds(high, SIZE / 2, 4));

  /* A wait for one is a wait for what was done by way of the others. */
  CHECK_OK(gpucontext_use_queue(ctx, q));
  CHECK_OK(gpudata_memset(high, 0, 6));
  CHECK_OK(gpucontext_use_queue(ctx, NULL));
  CHECK_OK(gpudata_sync(b));
  CHECK(((unsigned char *)a->memory)[SIZE - 1] == 6);

  /* Parts that are apart do not wait for each other. */
  CHECK_OK(gpucontext_use_queue(ctx, q));
  CHECK_OK(gpudata_memset(high, 0, 7));
  CHECK_OK(gpucontext_use_queue(ctx, r));
  CHECK_OK(gpudata_memset(low, 0, 8));
  CHECK(part_holds(low, SIZE / 2, 8));
  CHECK(((unsigned char *)a->memory)[SIZE - 1] == 6);

  CHECK_OK(gpucontext_use_queue(ctx, NULL));
  gpudata_release(low);
  gpudata_release(high);
  gpudata_release(b);
  gpudata_release(a);
  gpudata_release(c);
  gpuqueue_release(q);
  gpuqueue_release(r);
  gpucontext_deref(ctx);
  check_given_back();
}

/* What was done by way of a buffer that is gone, and that nobody is told of. */
static void test_work_by_way_of_a_buffer_that_is_gone(void) {
  gpucontext *ctx = open_cuda("cuda0");
  gpudata *a = filled(ctx, 1), *b = NULL;
  CHECK_OK(gpudata_sync(a));
  gpuqueue *q = new_queue(ctx);
  CHECK_OK(ga__buffer_wrap(&b, ctx, a->memory, SIZE, NULL, NULL));
  CHECK_OK(gpucontext_use_queue(ctx, q));
  CHECK_OK(gpudata_memset(b, 0, 2));
  gpudata_release(b);
  CHECK_OK(gpucontext_use_queue(ctx, NULL));
  CHECK(holds(a, 2));
  gpudata_release(a);
  gpuqueue_release(q);
  gpucontext_deref(ctx);
  check_given_back();
}

static void test_between_contexts(void) {
  gpucontext *one = open_cuda("cuda0"), *two = open_cuda("cuda1");
  gpuqueue *q = new_queue(one), *r = new_queue(two);
  gpudata *a = filled(one, 1), *b = filled(two, 2);
  CHECK_OK(gpucontext_use_queue(one, q));
  CHECK_OK(gpudata_memset(a, 0, 3));
  CHECK_OK(gpucontext_use_queue(one, NULL));
  CHECK_OK(gpucontext_use_queue(two, r));
  long copies = mock->peer_copies;
  CHECK_OK(gpudata_transfer(b, 0, a, 0, SIZE));
  CHECK_OK(gpudata_memset(a, 0, 4));
  CHECK_OK(gpucontext_use_queue(two, NULL));
  CHECK(holds(b, 3) && holds(a, 4) && mock->peer_copies == copies + 1);
  gpudata_release(a);
  gpudata_release(b);
  gpuqueue_release(q);
  gpuqueue_release(r);
  gpucontext_deref(one);
  gpucontext_deref(two);
  check_given_back();
}

static void test_events(void) {
  gpucontext *ctx = open_cuda("cuda0");
  gpuqueue *q = new_queue(ctx);
  gpuevent *start, *end;
  gpudata *b = filled(ctx, 1);
  int done = 7;
  double seconds = 0;
  CHECK_OK(gpucontext_use_queue(ctx, q));
  CHECK_OK(gpudata_memset(b, 0, 1)); /* behind what the other queue did */
  CHECK_OK(gpuevent_record(&start, q));
  CHECK_OK(gpudata_memset(b, 0, 2));
  CHECK_OK(gpudata_memset(b, 0, 3));
  CHECK_OK(gpuevent_record(&end, q));
  CHECK_OK(gpuevent_query(end, &done));
  CHECK(done == 0);
  CHECK_OK(gpuqueue_wait_event(gpucontext_queue(ctx), end));
  CHECK_OK(gpucontext_use_queue(ctx, NULL));
  CHECK_OK(gpuqueue_wait_event(gpucontext_queue(ctx), end));
  CHECK_OK(gpuqueue_sync(gpucontext_queue(ctx))); /* which waits for the other */
  CHECK_OK(gpuevent_query(end, &done));
  CHECK(done == 1);
  CHECK_OK(gpuevent_seconds(&seconds, start, end));
  CHECK(seconds > 0.0019 && seconds < 0.0021);
  gpuevent_release(start);
  gpuqueue_release(q);
  gpudata_release(b);
  gpucontext_deref(ctx);
  gpuevent_release(end); /* the last to go */
  check_given_back();
}

/* After a fault the launches behind the last mark are named, and the one alone where
 * launches wait. */
static void test_blame(void) {
  gpucontext *ctx = open_cuda("cuda0");
  GpuKernel k;
  init_add(&k, ctx);
  gpudata *b = filled(ctx, 1);
  gpulaunch list[40];
  unsigned int n;
  for (int i = 0; i < 40; i++) {
    char label[32];
    snprintf(label, sizeof label, "line %d", i + 1);
    CHECK_OK(gpuarray_set_label(label));
    CHECK_OK(add(&k, b));
  }
  CHECK_OK(gpuarray_set_label(NULL));
  CHECK_OK(gpucontext_launches(ctx, 40, list, &n));
  CHECK(n == 40 && !list[39].is_done);
  /* The device goes on, and passes the mark behind the 32nd. */
  const ga_backend *cuda = ctx->backend;
  CHECK_OK(cuda->wait(ctx->device));
  CHECK_OK(gpucontext_launches(ctx, 40, list, &n));
  CHECK(!list[0].is_done && list[39].is_done && list[8].is_done && !list[7].is_done);
  mock->fault = CUDA_ERROR_ILLEGAL_ADDRESS;
  CHECK_OK(add(&k, b));
  CHECK_STATUS(GA_RUN_ERROR, gpucontext_sync(ctx));
  CHECK_TEXT("one of the 9 pending launches caused it, newest "
             "first: add_one, add_one (line 40), add_one (line 39)");
  GpuKernel_clear(&k);
  gpudata_release(b);
  gpucontext_deref(ctx);

  setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  ctx = open_cuda("cuda0");
  unsetenv("CUDA_LAUNCH_BLOCKING");
  init_add(&k, ctx);
  b = filled(ctx, 1);
  for (int i = 0; i < 5; i++)
    CHECK_OK(add(&k, b));
  CHECK_OK(gpuarray_set_label("the culprit"));
  mock->fault = CUDA_ERROR_ILLEGAL_ADDRESS;
  CHECK_STATUS(GA_RUN_ERROR, add(&k, b));
  CHECK_TEXT("the only launch that can have caused it is add_one (the culprit)");
  CHECK_OK(gpuarray_set_label(NULL));
  GpuKernel_clear(&k);
  gpudata_release(b);
  gpucontext_deref(ctx);
  check_given_back();
}

/* A driver without marks is as good, but for what a failure can tell. */
static void test_marks_that_fail(void) {
  gpucontext *ctx = open_cuda("cuda0");
  GpuKernel k;
  init_add(&k, ctx);
  gpudata *b = filled(ctx, 1);
  for (int i = 0; i < 31; i++)
    CHECK_OK(add(&k, b));
  mock->fail_at = 1; /* the pinned memory behind the next launch */
  mock->fail_with = 801;
  CHECK_OK(add(&k, b));
  CHECK(mock->fail_at == -1);
  for (int i = 0; i < 40; i++)
    CHECK_OK(add(&k, b));
  CHECK_OK(gpucontext_sync(ctx));
  GpuKernel_clear(&k);
  gpudata_release(b);
  gpucontext_deref(ctx);
  check_given_back();
}

/* y = x + 1 + 1. */
static GpuPlan *make_plan(gpucontext *ctx) {
  GpuPlan *p = NULL;
  unsigned int x, y, z;
  const char *expr = "y = x + 1";
  CHECK_OK(GpuPlan_new(&p, ctx, "plan"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(add_step(p, &y, "y = x + 1, line 3", expr, x, GA_FLOAT, GA_FLOAT, -1));
  CHECK_OK(add_step(p, &z, "z = y + 1, line 4", expr, y, GA_FLOAT, GA_FLOAT, -1));
  CHECK_OK(GpuPlan_output(p, z));
  return p;
}

/* A plan is recorded as a graph on a queue, runs on each, and names its steps. */
static void test_plans(void) {
  gpucontext *ctx = open_cuda("cuda0");
  GpuPlan *p = make_plan(ctx);
  gpuqueue *q = new_queue(ctx);
  size_t n = 64;
  GpuArray x = {0}, y = {0};
  gpulaunch list[2];
  unsigned int count;
  CHECK_OK(GpuArray_zeros(&x, ctx, GA_FLOAT, 1, &n, GA_C_ORDER));
  long graphs = mock->graph_launches;
  for (int i = 0; i < 40; i++) {
    CHECK_OK(gpucontext_use_queue(ctx, i % 2 ? q : NULL));
    CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&y}, (const GpuArray *[]){&x}, NULL));
    CHECK_OK(gpucontext_launches(ctx, 2, list, &count));
    CHECK(count == 2 && strcmp(list[0].label, "z = y + 1, line 4") == 0 &&
          strcmp(list[1].label, "y = x + 1, line 3") == 0 &&
          list[0].queue == (unsigned int)(i % 2));
    GpuArray_clear(&y);
  }
  CHECK(mock->graph_launches > graphs);
  CHECK(!list[0].is_done);
  CHECK_OK(ctx->backend->wait(ctx->device)); /* graphs pass marks too */
  CHECK_OK(ctx->backend->wait(q->device));
  gpulaunch latest[GPUARRAY_LAUNCHES];
  CHECK_OK(gpucontext_launches(ctx, GPUARRAY_LAUNCHES, latest, &count));
  bool is_any_done = false;
  for (unsigned int i = 0; i < count; i++)
    is_any_done |= latest[i].is_done;
  CHECK(is_any_done);
  CHECK_OK(gpucontext_use_queue(ctx, NULL));
  GpuArray_clear(&x);
  GpuPlan_free(p);
  gpuqueue_release(q);
  gpucontext_deref(ctx);
  check_given_back();
}

static void test_memory_of_the_host(void) {
  gpucontext *ctx = open_cuda("cuda0");
  unsigned char *host = NULL;
  gpudata *b = gpudata_alloc(ctx, SIZE, NULL, GA_BUFFER_HOST, NULL);
  CHECK(b != NULL && mock->pinned == 1);
  CHECK_OK(gpudata_property(b, GA_BUFFER_PROP_HOST, &host));
  CHECK_OK(gpudata_memset(b, 0, 9));
  CHECK_OK(gpudata_sync(b));
  CHECK(host[0] == 9 && host[SIZE - 1] == 9);
  host[0] = 1;
  gpudata *c = filled(ctx, 0);
  CHECK_STATUS(GA_DEVSUP_ERROR, gpudata_property(c, GA_BUFFER_PROP_HOST, &host));
  CHECK_OK(gpudata_move(c, 0, b, 0, SIZE));
  gpudata_release(b); /* which waits for the copy */
  unsigned char bytes[SIZE];
  CHECK_OK(gpudata_read(bytes, c, 0, SIZE));
  CHECK(bytes[0] == 1 && bytes[1] == 9);
  gpudata_release(c);
  gpucontext_deref(ctx);
  check_given_back();
}

static int use_queues(gpucontext *ctx) {
  gpuqueue *q = NULL;
  gpuevent *e = NULL;
  gpudata *a = NULL, *b = NULL;
  unsigned char bytes[SIZE] = {5};
  int status = GA_NO_ERROR;
  a = gpudata_alloc(ctx, SIZE, bytes, GA_BUFFER_INIT, &status);
  if (status == GA_NO_ERROR)
    b = gpudata_alloc(ctx, SIZE, NULL, GA_BUFFER_HOST, &status);
  if (status == GA_NO_ERROR)
    status = gpuqueue_new(&q, ctx);
  if (status == GA_NO_ERROR)
    status = gpucontext_use_queue(ctx, q);
  if (status == GA_NO_ERROR)
    status = gpudata_move(b, 0, a, 0, SIZE);
  if (status == GA_NO_ERROR)
    status = gpuevent_record(&e, q);
  CHECK_OK(gpucontext_use_queue(ctx, NULL));
  if (status == GA_NO_ERROR)
    status = gpuqueue_wait_event(gpucontext_queue(ctx), e);
  if (status == GA_NO_ERROR)
    status = gpudata_read(bytes, b, 0, SIZE);
  if (status == GA_NO_ERROR)
    CHECK(bytes[0] == 5);
  gpuevent_release(e);
  gpudata_release(a);
  gpudata_release(b);
  gpuqueue_release(q);
  return status;
}

/* Each call of the driver fails in turn; what was taken is given back. */
static void test_each_call_fails(void) {
  int passed = 0;
  for (long n = 0; n < 400 && passed < 30; n++) {
    gpucontext *ctx = NULL;
    mock->fail_with = 999;
    mock->fail_at = n;
    int status = gpucontext_open(&ctx, "cuda0");
    if (status == GA_NO_ERROR)
      status = use_queues(ctx);
    mock->fail_at = -1;
    CHECK(status == GA_NO_ERROR || status == GA_IMPL_ERROR || status == GA_LOST_ERROR);
    passed = status == GA_NO_ERROR ? passed + 1 : 0;
    gpucontext_deref(ctx);
    check_given_back();
  }
  CHECK(passed == 30);
}

int main(void) {
  open_mock();
  test_work_on_a_buffer_is_in_order();
  test_work_on_one_memory_is_in_order();
  test_work_by_way_of_a_buffer_that_is_gone();
  test_between_contexts();
  test_events();
  test_blame();
  test_marks_that_fail();
  test_plans();
  test_memory_of_the_host();
  test_each_call_fails();
  return check_result("cuda queue");
}
