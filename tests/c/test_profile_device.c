/* Profiles on a device: what was launched, and times that can be. */
#include "device_context.h"

#include <gpuarray/kernel.h>
#include <gpuarray/profile.h>
#include <gpuarray/queue.h>

#define N ((size_t)1 << 20)
#define CALLS 20

static const char text[] =
    "KERNEL void slow_step(GLOBAL_MEM ga_float *x, ga_uint n) {"
    "  for (ga_size i = GID_0 * LDIM_0 + LID_0; i < n; i += GDIM_0 * LDIM_0)"
    "    for (int k = 0; k < 20; k++) x[i] = x[i] * 0.5f + 1;"
    "}";

static void check_spans(const gpuspan *list, size_t count, double whole) {
  double busy = 0, last = 0;
  for (size_t i = 0; i < count; i++) {
    CHECK(strcmp(list[i].name, "slow_step") == 0 && strcmp(list[i].label, "a") == 0);
    CHECK(list[i].kind == GPUARRAY_SPAN_LAUNCH && list[i].queue == 0);
    CHECK(list[i].end > list[i].start && list[i].start >= 0);
    CHECK(list[i].end >= last); /* in the order of the calls */
    last = list[i].end;
    busy += list[i].end - list[i].start;
  }
  CHECK(busy > 0 && busy < 1.2 * whole);
}

static void test_launches_have_times(gpucontext *ctx) {
  static const int types[] = {GA_BUFFER, GA_UINT};
  const char *source = text;
  const uint32_t n = (uint32_t)N;
  size_t grid = 64, block = 64, count, total, lost;
  gpuspan list[CALLS + 1];
  gpuprofile *p = NULL;
  gpuevent *start = NULL, *end = NULL;
  double whole;
  GpuKernel k;
  CHECK_OK(GpuKernel_init(&k, ctx, 1, &source, NULL, "slow_step", 2, types, 0, NULL));
  gpudata *x = gpudata_alloc(ctx, N * sizeof(float), NULL, 0, NULL);
  CHECK_OK(gpudata_memset(x, 0, 0));
  CHECK_OK(gpucontext_sync(ctx));
  CHECK_OK(gpuprofile_start(&p, ctx, 0));
  CHECK_OK(gpuarray_set_label("a"));
  CHECK_OK(gpuevent_record(&start, gpucontext_queue(ctx)));
  for (int i = 0; i < CALLS; i++)
    CHECK_OK(GpuKernel_call(&k, 1, &grid, &block, 0, (void *[]){x, (void *)&n}));
  CHECK_OK(gpuevent_record(&end, gpucontext_queue(ctx)));
  CHECK_OK(gpuprofile_stop(p));
  CHECK_OK(gpuevent_seconds(&whole, start, end));
  CHECK_OK(gpuprofile_spans(p, 0, CALLS + 1, list, &count, &total, &lost));
  CHECK(count == CALLS && total == CALLS && lost == 0);
  check_spans(list, count, whole);
  CHECK_OK(gpuarray_set_label(NULL));
  gpuprofile_release(p);
  gpuevent_release(start);
  gpuevent_release(end);
  gpudata_release(x);
  GpuKernel_clear(&k);
}

int main(void) {
  gpucontext *ctx = open_device();
  test_launches_have_times(ctx);
  gpucontext_deref(ctx);
  return check_result("profile_device");
}
