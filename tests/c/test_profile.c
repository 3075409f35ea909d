/* Profiles and the count of waits, without a device. */
#include "null_context.h"

#include <gpuarray/queue.h>

#include "c/program/kernel.h"

static size_t waits(gpucontext *ctx) {
  size_t n = 0;
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_WAITS, &n));
  return n;
}

/* ---- waits ---- */

static void test_only_what_waits_counts(gpucontext *ctx) {
  gpudata *b = gpudata_alloc(ctx, 64, NULL, 0, NULL), *c;
  gpuevent *e = NULL;
  char bytes[64] = "";
  size_t before = waits(ctx);
  c = gpudata_alloc(ctx, 64, NULL, 0, NULL);
  CHECK_OK(gpudata_write(b, 0, bytes, sizeof bytes));
  CHECK_OK(gpudata_memset(b, 0, 1));
  CHECK_OK(gpudata_move(c, 0, b, 0, 64));
  CHECK_OK(gpuevent_record(&e, gpucontext_queue(ctx)));
  gpudata_release(c);
  CHECK(waits(ctx) == before);
  CHECK_OK(gpudata_read(bytes, b, 0, sizeof bytes));
  CHECK(waits(ctx) == before + 1);
  CHECK_OK(gpudata_sync(b));
  CHECK(waits(ctx) == before + 2);
  CHECK_OK(gpuevent_wait(e));
  CHECK(waits(ctx) == before + 3);
  CHECK_OK(gpucontext_sync(ctx));
  CHECK(waits(ctx) == before + 4);
  gpuevent_release(e);
  gpudata_release(b);
}

/* ---- times of a device that counts its events ---- */

static int n_events, n_freed;
static bool keeps_no_times;

static int counted_event(void **event, void *device, bool timed) {
  (void)device, (void)timed;
  int *number = ga__alloc(1, sizeof *number);
  if (number == NULL)
    return GA_MEMORY_ERROR;
  *number = n_events++;
  *event = number;
  return GA_NO_ERROR;
}

/* A second an event. */
static int counted_seconds(double *out, void *device, void *start, void *end) {
  (void)device;
  if (keeps_no_times)
    return GA_FAIL(GA_IMPL_ERROR, "no times");
  *out = *(int *)end - *(int *)start;
  return GA_NO_ERROR;
}

static void counted_free(void *device, void *event) {
  (void)device;
  n_freed++;
  ga__free(event);
}

static void count_events(void) {
  n_events = n_freed = 0;
  keeps_no_times = false;
  hooked.event = counted_event;
  hooked.event_seconds = counted_seconds;
  hooked.event_free = counted_free;
}

static void test_what_is_queued_is_noted(void) {
  gpucontext *ctx = open_null();
  gpuprofile *p = NULL;
  gpuspan list[4];
  size_t count, total, lost;
  count_events();
  gpudata *b = gpudata_alloc(ctx, 64, NULL, 0, NULL);
  CHECK_OK(gpuprofile_start(&p, ctx, 0));
  CHECK_OK(gpuarray_set_label("the label"));
  CHECK_OK(gpudata_memset(b, 0, 1));
  CHECK_OK(gpuarray_set_label(NULL));
  CHECK_OK(gpudata_move(b, 0, b, 32, 16));
  CHECK_STATUS(GA_INVALID_ERROR,
               gpuprofile_spans(p, 0, 4, list, &count, &total, &lost));
  CHECK_TEXT("still runs");
  CHECK_OK(gpuprofile_stop(p));
  CHECK(n_events == n_freed && n_events == 5);
  CHECK_OK(gpudata_memset(b, 0, 1)); /* which nobody times */
  CHECK_OK(gpuprofile_stop(p));
  CHECK_OK(gpuprofile_spans(p, 0, 4, list, &count, &total, &lost));
  CHECK(count == 2 && total == 2 && lost == 0);
  CHECK(strcmp(list[0].name, "fill") == 0 && list[0].kind == GPUARRAY_SPAN_FILL);
  CHECK(strcmp(list[0].label, "the label") == 0 && list[0].bytes == 64);
  CHECK(list[0].start == 1 && list[0].end == 2 && list[0].queue == 0);
  CHECK(strcmp(list[1].name, "copy") == 0 && list[1].bytes == 16);
  CHECK(list[1].start == 3 && list[1].end == 4 && *list[1].label == '\0');
  CHECK_OK(gpuprofile_spans(p, 1, 4, list, &count, &total, NULL));
  CHECK(count == 1 && total == 2 && list[0].start == 3);
  gpuprofile_release(p);
  gpudata_release(b);
  gpucontext_deref(ctx);
}

/* Where a source says what it computes, its launches do. */
static void test_the_name_of_a_launch(void) {
  gpucontext *ctx = open_null();
  gpuprofile *p = NULL;
  gpukernel *k = NULL;
  ga_source source = {.title = "r = a + b"};
  gpuspan span;
  size_t count, total;
  ga__kernel_name(source.name, "elem", "text");
  ga__strbuf_addf(&source.body, "KERNEL void %s() {}", source.name);
  CHECK_OK(ga__kernel_get(&k, ctx, &source));
  ga__strbuf_clear(&source.body);
  ga_launch l = {.nd = 1, .grid = {1}, .block = {1}};
  CHECK_OK(gpuprofile_start(&p, ctx, 0));
  CHECK_OK(ga__kernel_launch(k, &l));
  CHECK_OK(gpuprofile_stop(p));
  CHECK_OK(gpuprofile_spans(p, 0, 1, &span, &count, &total, NULL));
  CHECK(count == 1 && span.kind == GPUARRAY_SPAN_LAUNCH);
  CHECK(strncmp(span.name, source.name, strlen("elem_012345")) == 0);
  CHECK(strcmp(span.name + strlen("elem_012345"), ": r = a + b") == 0);
  gpuprofile_release(p);
  gpucontext_deref(ctx);
}

static void test_many_spans(void) {
  enum { MANY = 2000, ROOM = 1500 };
  gpucontext *ctx = open_null();
  gpuprofile *p = NULL;
  static gpuspan list[MANY];
  size_t count, total, lost;
  count_events();
  gpudata *b = gpudata_alloc(ctx, 64, NULL, 0, NULL);
  CHECK_OK(gpuprofile_start(&p, ctx, ROOM));
  for (int i = 0; i < MANY; i++)
    CHECK_OK(gpudata_memset(b, 0, 1));
  CHECK(n_freed > 0); /* events are read meanwhile */
  gpuqueue *q = NULL;
  CHECK_OK(gpuqueue_new(&q, ctx));
  gpuqueue_release(q);
  gpudata_release(b);
  CHECK_OK(gpuprofile_stop(p));
  CHECK_OK(gpuprofile_spans(p, 0, MANY, list, &count, &total, &lost));
  CHECK(count == ROOM && lost == MANY - ROOM && n_events == n_freed);
  for (int i = 1; i < ROOM; i++)
    CHECK(list[i].start >= list[i - 1].end);
  gpuprofile_release(p);
  gpucontext_deref(ctx);
}

/* ---- a device whose commands have events of their own ---- */

static bool is_watching;

static void watch(void *device) {
  (void)device;
  is_watching = true;
}

/* Every other command is done by the host. */
static void *watched(void *device) {
  static int turn;
  void *event = NULL;
  CHECK(is_watching);
  is_watching = false;
  if (turn++ % 2 == 0)
    CHECK_OK(counted_event(&event, device, true));
  return event;
}

static int event_span(double *start, double *end, void *device, void *origin,
                      void *event) {
  (void)device;
  *start = *(int *)event - *(int *)origin;
  *end = *start + 0.5;
  return GA_NO_ERROR;
}

static void test_events_of_commands(void) {
  gpucontext *ctx = open_null();
  gpuprofile *p = NULL;
  gpuspan list[4];
  size_t count, total, lost;
  count_events();
  hooked.watch = watch;
  hooked.watched = watched;
  hooked.event_span = event_span;
  gpudata *b = gpudata_alloc(ctx, 64, NULL, 0, NULL);
  CHECK_OK(gpuprofile_start(&p, ctx, 0));
  for (int i = 0; i < 4; i++)
    CHECK_OK(gpudata_memset(b, 0, 1));
  CHECK_OK(gpuprofile_stop(p));
  CHECK_OK(gpuprofile_spans(p, 0, 4, list, &count, &total, &lost));
  CHECK(count == 2 && lost == 2 && n_events == n_freed && !is_watching);
  CHECK(list[0].start == 1 && list[0].end == 1.5 && list[1].start == 2);
  gpuprofile_release(p);
  gpudata_release(b);
  gpucontext_deref(ctx);
}

/* ---- misuse and failures ---- */

static void test_misuse(void) {
  gpucontext *ctx = open_null();
  gpuprofile *p = NULL, *second = NULL;
  size_t count, total;
  count_events();
  CHECK_STATUS(GA_VALUE_ERROR, gpuprofile_start(NULL, ctx, 0));
  CHECK_STATUS(GA_VALUE_ERROR, gpuprofile_start(&p, NULL, 0));
  CHECK_STATUS(GA_VALUE_ERROR, gpuprofile_stop(NULL));
  CHECK_STATUS(GA_VALUE_ERROR,
               gpuprofile_spans(NULL, 0, 0, NULL, &count, &total, NULL));
  gpuprofile_release(NULL);
  CHECK_OK(gpuprofile_start(&p, ctx, 0));
  CHECK_STATUS(GA_UNSUPPORTED_ERROR, gpuprofile_start(&second, ctx, 0));
  CHECK_TEXT("is being profiled already");
  CHECK(second == NULL);
  gpuprofile_release(p); /* which stops it */
  keeps_no_times = true;
  CHECK_STATUS(GA_DEVSUP_ERROR, gpuprofile_start(&second, ctx, 0));
  CHECK_TEXT("keeps no times (no times)");
  CHECK(n_events == n_freed && second == NULL);
  gpucontext_deref(ctx);
}

/* A profile without memory loses spans, and nothing else. */
static void test_failing_allocations(void) {
  for (long n = 0; n < 12; n++) {
    gpucontext *ctx = open_null();
    gpuprofile *p = NULL;
    size_t count, total, lost;
    count_events();
    gpudata *b = gpudata_alloc(ctx, 64, NULL, 0, NULL);
    ga__alloc_fail_at(n);
    int status = gpuprofile_start(&p, ctx, 0);
    CHECK(status == GA_NO_ERROR || (status == GA_MEMORY_ERROR && p == NULL));
    for (int i = 0; i < 3; i++)
      CHECK_OK(gpudata_memset(b, 0, 1));
    ga__alloc_fail_at(-1);
    if (p) {
      CHECK_OK(gpuprofile_stop(p));
      CHECK_OK(gpuprofile_spans(p, 0, 0, NULL, &count, &total, &lost));
      CHECK(total + lost == 3 || total + lost == 2);
    }
    gpuprofile_release(p);
    CHECK(n_events == n_freed);
    gpudata_release(b);
    gpucontext_deref(ctx);
  }
}

/* ---- a profile that stops while a command is queued ---- */

static gpuprofile *stopped;

static int fill_and_stop(void *device, void *memory, size_t offset, unsigned char byte,
                         size_t size) {
  gpuprofile *p = stopped;
  stopped = NULL;
  if (p != NULL)
    CHECK_OK(gpuprofile_stop(p));
  return ga__null_backend.fill(device, memory, offset, byte, size);
}

static void test_stopped_while_a_command_is_queued(void) {
  gpucontext *ctx = open_null();
  gpuprofile *p = NULL;
  gpuspan list[4];
  size_t count, total, lost;
  count_events();
  hooked.fill = fill_and_stop;
  gpudata *b = gpudata_alloc(ctx, 64, NULL, 0, NULL);
  CHECK_OK(gpuprofile_start(&p, ctx, 0));
  CHECK_OK(gpudata_memset(b, 0, 1));
  stopped = p;
  CHECK_OK(gpudata_memset(b, 0, 2));
  CHECK_OK(gpudata_memset(b, 0, 3));
  CHECK_OK(gpuprofile_spans(p, 0, 4, list, &count, &total, &lost));
  CHECK(count == 1 && total == 1 && lost == 1);
  CHECK(list[0].start >= 0 && list[0].end > list[0].start);
  gpuprofile_release(p);
  gpudata_release(b);
  gpucontext_deref(ctx);
  CHECK(n_events == n_freed);
}

int main(void) {
  gpucontext *ctx = open_null();
  test_only_what_waits_counts(ctx);
  gpucontext_deref(ctx);
  test_what_is_queued_is_noted();
  test_the_name_of_a_launch();
  test_many_spans();
  test_events_of_commands();
  test_misuse();
  test_failing_allocations();
  test_stopped_while_a_command_is_queued();
  return check_result("profile");
}
