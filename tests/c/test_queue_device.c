/* Queues, reports and foreign memory on a device: values. */
#include "device_context.h"

#include <gpuarray/extension.h>
#include <gpuarray/kernel.h>
#include <gpuarray/queue.h>

#include "c/program/kernel.h"
#include "opencl/device_state.h"

#define N ((size_t)1 << 18)
#define N_QUEUES 3

static void init(GpuKernel *k, gpucontext *ctx, const char *name, const char *text,
                 unsigned int n, const int *types) {
  CHECK_OK(GpuKernel_init(k, ctx, 1, &text, NULL, name, n, types, 0, NULL));
}

static const char step_text[] =
    "KERNEL void step_on(GLOBAL_MEM ga_uint *to, GLOBAL_MEM ga_uint *from, ga_uint n) {"
    "  for (ga_size i = GID_0 * LDIM_0 + LID_0; i < n; i += GDIM_0 * LDIM_0)"
    "    to[i] = from[i] + 1;"
    "}";
static const int step_types[] = {GA_BUFFER, GA_BUFFER, GA_UINT};

static int step(GpuKernel *k, gpudata *to, gpudata *from) {
  const uint32_t n = (uint32_t)N;
  size_t grid = 16, block = 64;
  return GpuKernel_call(k, 1, &grid, &block, 0, (void *[]){to, from, (void *)&n});
}

/* A chain of steps, each on some queue, by way of memory that is given back at once. */
static void test_a_chain_over_queues(gpucontext *ctx) {
  static uint32_t values[N];
  GpuKernel k;
  gpuqueue *queues[N_QUEUES + 1] = {NULL}; /* the last is the default one */
  unsigned int state = 1, length = 60;
  init(&k, ctx, "step_on", step_text, 3, step_types);
  for (int i = 0; i < N_QUEUES; i++)
    CHECK_OK(gpuqueue_new(&queues[i], ctx));
  gpudata *x = gpudata_alloc(ctx, sizeof values, NULL, 0, NULL);
  CHECK_OK(gpudata_memset(x, 0, 0));
  for (unsigned int i = 0; i < length; i++) {
    state = state * 1664525u + 1013904223u;
    CHECK_OK(gpucontext_use_queue(ctx, queues[(state >> 8) % (N_QUEUES + 1)]));
    gpudata *y = gpudata_alloc(ctx, sizeof values, NULL, 0, NULL);
    CHECK_OK(i % 5 == 4 ? gpudata_move(y, 0, x, 0, sizeof values) : step(&k, y, x));
    gpudata_release(x);
    x = y;
  }
  CHECK_OK(gpudata_read(values, x, 0, sizeof values));
  size_t wrong = 0;
  for (size_t i = 0; i < N; i++)
    wrong += values[i] != length - length / 5;
  CHECK(wrong == 0);
  CHECK_OK(gpucontext_use_queue(ctx, NULL));
  gpudata_release(x);
  for (int i = 0; i < N_QUEUES; i++)
    gpuqueue_release(queues[i]);
  GpuKernel_clear(&k);
}

static void test_events_measure(gpucontext *ctx) {
  GpuKernel k;
  gpuqueue *q;
  gpuevent *start, *end;
  double seconds = -1;
  int done = 0;
  init(&k, ctx, "step_on", step_text, 3, step_types);
  gpudata *x = gpudata_alloc(ctx, N * 4, NULL, 0, NULL);
  CHECK_OK(gpuqueue_new(&q, ctx));
  CHECK_OK(gpucontext_use_queue(ctx, q));
  CHECK_OK(gpuevent_record(&start, q));
  for (int i = 0; i < 20; i++)
    CHECK_OK(step(&k, x, x));
  CHECK_OK(gpuevent_record(&end, q));
  CHECK_OK(gpuevent_seconds(&seconds, start, end));
  CHECK(seconds > 0 && seconds < 10);
  CHECK_OK(gpuevent_query(end, &done));
  CHECK(done == 1);
  CHECK_OK(gpucontext_use_queue(ctx, NULL));
  gpuevent_release(start);
  gpuevent_release(end);
  gpuqueue_release(q);
  gpudata_release(x);
  GpuKernel_clear(&k);
}

/* A kernel that finds an index wrong says so at the next wait, and the context works
 * on.
 */
static void test_a_wrong_index(gpucontext *ctx) {
  static const char text[] =
      "KERNEL void report_it(GLOBAL_MEM ga_int *x, GLOBAL_MEM ga_uint *word,"
      "                      ga_size word_off, ga_uint site) {"
      "  ga_size i = GID_0 * LDIM_0 + LID_0;"
      "  if (i == 5 || i == 6) ga_report_index(word, word_off, site, -3, 2);"
      "  x[i] = 1;"
      "}";
  const int types[] = {GA_BUFFER, GA_BUFFER, GA_SIZE, GA_UINT};
  GpuKernel k;
  int32_t values[64] = {0};
  gpudata *x = gpudata_alloc(ctx, sizeof values, NULL, 0, NULL);
  init(&k, ctx, "report_it", text, 4, types);
  for (int round = 0; round < 2; round++) {
    ga_args args = {0};
    ga__args_buffer(&args, x);
    CHECK_OK(gpuarray_set_label("y = x[i], line 9"));
    CHECK_OK(ga__args_report(&args, ctx, "take"));
    CHECK_OK(gpuarray_set_label(NULL));
    ga_launch l = {
        .nd = 1, .grid = {2}, .block = {32}, .n_args = args.n, .args = args.list};
    CHECK_OK(ga__kernel_launch(k.k, &l));
    CHECK_STATUS(GA_INDEX_ERROR, gpucontext_sync(ctx));
    CHECK_TEXT(
        "take: index -3 is out of bounds for an axis of length 2, the first of 2 "
        "that were (y = x[i], line 9)");
    CHECK_OK(gpudata_read(values, x, 0, sizeof values));
    CHECK(values[0] == 1 && values[63] == 1);
  }
  GpuKernel_clear(&k);
  gpudata_release(x);
}

static void test_memory_of_the_host(gpucontext *ctx) {
  unsigned char bytes[100], *host = NULL;
  gpudata *b = gpudata_alloc(ctx, sizeof bytes, NULL, GA_BUFFER_HOST, NULL);
  CHECK(b != NULL);
  CHECK_OK(gpudata_memset(b, 0, 3));
  int status = gpudata_property(b, GA_BUFFER_PROP_HOST, &host);
  CHECK(status == GA_NO_ERROR || status == GA_DEVSUP_ERROR);
  if (status == GA_NO_ERROR) {
    CHECK_OK(gpudata_sync(b));
    CHECK(host[0] == 3 && host[99] == 3);
    host[1] = 4;
  } else {
    CHECK_OK(gpudata_write(b, 1, &(char){4}, 1));
  }
  CHECK_OK(gpudata_read(bytes, b, 0, sizeof bytes));
  CHECK(bytes[0] == 3 && bytes[1] == 4 && bytes[99] == 3);
  gpudata_release(b);
}

/* The types of an OpenCL program; its functions are not needed here. */
static gpucontext *(*cl_make_ctx)(void *context, gpucontext_props *props);
static void *(*cl_get_stream)(gpucontext *ctx);
static gpudata *(*cl_make_buf)(gpucontext *ctx, void *memory);
static void *(*cl_get_buf)(gpudata *b);
static int (*cl_use_stream)(gpucontext *ctx, void *queue);

static void find(void *out, const char *name) {
  void *function = gpuarray_get_extension(name);
  CHECK(function != NULL);
  memcpy(out, &function, sizeof function);
}

/* A context on the queue of another is in order with it, and nobody waits. */
static void test_one_queue_for_two(gpucontext *ctx) {
  unsigned char bytes[16] = {0};
  const ga_opencl_device *device = ctx->device;
  find(&cl_use_stream, "cl_use_stream");
  gpucontext *apart = NULL, *other = cl_make_ctx(device->context, NULL);
  CHECK_OK(gpucontext_open(&apart, gpucontext_name(ctx)));
  CHECK_STATUS(GA_VALUE_ERROR, cl_use_stream(other, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, cl_use_stream(other, cl_get_stream(apart)));
  CHECK_TEXT("of another cl_context or device");
  CHECK_OK(cl_use_stream(other, cl_get_stream(ctx)));
  CHECK(cl_get_stream(other) == cl_get_stream(ctx));
  gpudata *a = gpudata_alloc(ctx, 16, bytes, GA_BUFFER_INIT, NULL);
  gpudata *b = cl_make_buf(other, cl_get_buf(a));
  for (unsigned char i = 1; i < 100; i++) {
    CHECK_OK(gpudata_memset(a, 0, 2 * i));
    CHECK_OK(gpudata_memset(b, 8, 2 * i + 1));
    CHECK_OK(gpudata_read(bytes, i % 2 ? a : b, 0, 16));
    CHECK(bytes[0] == 2 * i && bytes[15] == 2 * i + 1);
  }
  gpudata_release(b);
  gpudata_release(a);
  gpucontext_deref(other);
  gpucontext_deref(apart);
}

/* A second buffer on the memory of the first, which may go before it. */
static void test_memory_of_others(gpucontext *ctx) {
  find(&cl_make_ctx, "cl_make_ctx");
  find(&cl_get_stream, "cl_get_stream");
  find(&cl_make_buf, "cl_make_buf");
  find(&cl_get_buf, "cl_get_buf");
  CHECK(cl_make_ctx(NULL, NULL) == NULL && cl_get_buf(NULL) == NULL);
  if (strncmp(gpucontext_name(ctx), "opencl", 6) != 0) {
    CHECK(cl_get_stream(ctx) == NULL);
    CHECK_TEXT("is not an OpenCL context");
    return;
  }
  int status = GA_NO_ERROR;
  unsigned char bytes[16] = {0};
  CHECK(cl_get_stream(ctx) != NULL && cl_make_buf(ctx, NULL) == NULL);
  gpudata *a = gpudata_alloc(ctx, 16, bytes, GA_BUFFER_INIT, NULL);
  gpudata *b = cl_make_buf(ctx, cl_get_buf(a));
  CHECK(b != NULL && gpudata_share(a, b, &status) == 1);
  CHECK_OK(gpudata_memset(a, 0, 8));
  CHECK_OK(gpudata_read(bytes, b, 0, 16));
  CHECK(bytes[0] == 8 && bytes[15] == 8);
  gpudata_release(b);
  gpudata_release(a);
  const ga_opencl_device *device = ctx->device;
  gpucontext *other = cl_make_ctx(device->context, NULL); /* on what is ours here */
  CHECK(other != NULL && strcmp(gpucontext_name(other), gpucontext_name(ctx)) == 0);
  a = gpudata_alloc(ctx, 16, bytes, GA_BUFFER_INIT, NULL);
  CHECK_OK(gpudata_sync(a));
  b = cl_make_buf(other, cl_get_buf(a)); /* which shares memory with it */
  CHECK(b != NULL);
  CHECK_OK(gpudata_memset(b, 0, 9));
  CHECK_OK(gpudata_sync(b));
  CHECK_OK(gpudata_read(bytes, a, 0, 16));
  CHECK(bytes[0] == 9);
  gpudata_release(b);
  gpudata_release(a);
  gpucontext_deref(other);
  test_one_queue_for_two(ctx);
}

int main(void) {
  gpucontext *ctx = open_device();
  test_a_chain_over_queues(ctx);
  test_events_measure(ctx);
  test_a_wrong_index(ctx);
  test_memory_of_the_host(ctx);
  test_memory_of_others(ctx);
  gpucontext_memory info;
  CHECK_OK(gpucontext_memory_info(ctx, &info));
  CHECK(info.n_live == 0);
  gpucontext_deref(ctx);
  return check_result("queue on a device");
}
