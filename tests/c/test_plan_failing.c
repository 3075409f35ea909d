/* Runs that a backend refuses halfway: what a plan overwrites in its place is as it
 * was, and the plan works on. On the null backend, where what is only moved and filled
 * has values. */
#include "null_plan.h"

#include "c/device/buffer.h"

#include <gpuarray/function.h>

enum { N = 6, N_VALUES = 3 };

static const gpuplan_type vector = {GA_FLOAT, 1};

/* ---- a backend that refuses ---- */

static ga_backend real;
static long countdown = -1; /* commands until one is refused */
static int refusals;        /* how many after another */

static bool refuses(void) {
  if (countdown < 0)
    return false;
  if (countdown > 0) {
    countdown--;
    return false;
  }
  if (--refusals == 0)
    countdown = -1;
  return true;
}

static int fill_or_refuse(void *device, void *memory, size_t offset, unsigned char byte,
                          size_t size) {
  return refuses() ? GA_FAIL(GA_MISC_ERROR, "refused")
                   : real.fill(device, memory, offset, byte, size);
}

static int copy_or_refuse(void *device, void *to, size_t to_offset, void *from,
                          size_t from_offset, size_t size) {
  return refuses() ? GA_FAIL(GA_MISC_ERROR, "refused")
                   : real.copy(device, to, to_offset, from, from_offset, size);
}

static void refuse(long after, int times) {
  countdown = after;
  refusals = times;
}

/* ---- a function that fills three values in their places ---- */

typedef struct made {
  GpuPlan *plan;
  GpuFunction *f;
} made;

static made make(gpucontext *ctx) {
  static const char *const names[N_VALUES] = {"u", "v", "w"};
  const size_t n = N;
  unsigned int in[N_VALUES], b, out, x, y;
  GpuArray start = {0};
  gpufunction_value values[N_VALUES];
  made m = {0};
  CHECK_OK(GpuPlan_new(&m.plan, ctx, "kept"));
  for (unsigned int i = 0; i < N_VALUES; i++)
    CHECK_OK(GpuPlan_input(m.plan, &in[i], GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_input(m.plan, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_int_input(m.plan, &b));
  for (unsigned int i = 0; i < N_VALUES; i++) {
    CHECK_OK(GpuPlan_function(m.plan, &out, "fill", fill_bytes, NULL, 2,
                              (const unsigned int[]){in[i], b}, 1, &vector,
                              (const int[]){0}));
    CHECK_OK(GpuPlan_output(m.plan, out));
  }
  CHECK_OK(GpuPlan_copy(m.plan, &y, "copy", x));
  CHECK_OK(GpuPlan_output(m.plan, y));
  CHECK_OK(GpuArray_zeros(&start, ctx, GA_FLOAT, 1, &n, GA_C_ORDER));
  for (int i = 0; i < N_VALUES; i++)
    values[i] =
        (gpufunction_value){.name = names[i], .start = &start, .input = i, .output = i};
  const gpufunction_spec spec = {
      .size = sizeof spec, .n_values = N_VALUES, .values = values};
  CHECK_OK(GpuFunction_new(&m.f, m.plan, &spec));
  GpuArray_clear(&start);
  return m;
}

static int call(const made *m, gpucontext *ctx, long long byte, GpuArray *out) {
  const size_t n = N;
  GpuArray x = {0};
  CHECK_OK(GpuArray_empty(&x, ctx, GA_FLOAT, 1, &n, GA_C_ORDER));
  const int status =
      GpuFunction_call(m->f, (GpuArray *[]){out}, (const GpuArray *[]){&x}, &byte);
  GpuArray_clear(&x);
  return status;
}

static bool keeps(GpuFunction *f, unsigned char byte) {
  unsigned char found[N * sizeof(float)];
  for (int i = 0; i < N_VALUES; i++) {
    GpuArray value = {0};
    CHECK_OK(GpuFunction_get(f, (const char *[]){"u", "v", "w"}[i], &value));
    CHECK_OK(GpuArray_read(found, sizeof found, &value));
    GpuArray_clear(&value);
    for (size_t k = 0; k < sizeof found; k++)
      if (found[k] != byte)
        return false;
  }
  return true;
}

/* The first call, and the first after one that failed: whatever is refused, for good or
 * once, the values are as before or as after it. */
static void test_a_first_call_that_is_refused(gpucontext *ctx, int times) {
  int n = 0;
  for (bool is_over = false; !is_over && n < 100; n++) {
    GpuArray out = {0};
    const made m = make(ctx);
    for (int i = 0; i < 2; i++) {
      refuse(n, times);
      const int status = call(&m, ctx, 7, &out);
      is_over = countdown > 0;
      refuse(-1, 0);
      CHECK(status == GA_NO_ERROR || status == GA_MISC_ERROR);
      CHECK((out.data != NULL) == (status == GA_NO_ERROR));
      if (i == 0)
        CHECK(keeps(m.f, status == GA_NO_ERROR ? 7 : 0));
      GpuArray_clear(&out);
    }
    CHECK_OK(call(&m, ctx, 9, &out));
    CHECK(keeps(m.f, 9));
    GpuArray_clear(&out);
    GpuFunction_free(m.f);
    GpuPlan_free(m.plan);
  }
  CHECK(n > N_VALUES);
}

/* A later call: what is refused once is asked for again, and overwritten in place. */
static void test_a_later_call_that_is_refused_once(gpucontext *ctx) {
  int n = 0;
  const made m = make(ctx);
  GpuArray out = {0};
  for (int i = 0; i < 2; i++) { /* the plan is bound for each byte */
    CHECK_OK(call(&m, ctx, 1 + i, &out));
    GpuArray_clear(&out);
  }
  for (bool is_over = false; !is_over && n < 100; n++) {
    const unsigned char byte = (unsigned char)(1 + n % 2);
    refuse(n, 1);
    CHECK_OK(call(&m, ctx, byte, &out));
    is_over = countdown > 0;
    refuse(-1, 0);
    CHECK(keeps(m.f, byte));
    GpuArray_clear(&out);
  }
  CHECK(n > N_VALUES);
  GpuFunction_free(m.f);
  GpuPlan_free(m.plan);
}

/* Where copies find no room the first run goes without: what fitted before fits. */
static void test_a_first_call_without_room(gpucontext *ctx) {
  const made m = make(ctx);
  const size_t n = N;
  gpucontext_memory info;
  GpuArray out = {0}, room = {0};
  CHECK_OK(GpuArray_empty(&room, ctx, GA_FLOAT, 1, &n, GA_C_ORDER));
  CHECK_OK(gpucontext_trim(ctx));
  CHECK_OK(gpucontext_memory_info(ctx, &info));
  const size_t block = room.data->block_size;
  GpuArray_clear(&room);
  CHECK_OK(gpucontext_trim(ctx));
  for (size_t i = 1; i <= 5; i++) { /* x and the result, then copies */
    CHECK_OK(gpucontext_set_limit(ctx, info.live - block + i * block));
    const int status = call(&m, ctx, (long long)i, &out);
    CHECK(status == (i < 2 ? GA_MEMORY_ERROR : GA_NO_ERROR));
    CHECK_OK(gpucontext_set_limit(ctx, 0));
    CHECK(keeps(m.f, status == GA_NO_ERROR ? (unsigned char)i : 0));
    GpuArray_clear(&out);
    CHECK_OK(gpucontext_trim(ctx));
  }
  GpuFunction_free(m.f);
  GpuPlan_free(m.plan);
}

/* A plan overwrites a strided input in its place, but for the first run. */
static void test_only_the_first_run_copies(gpucontext *ctx) {
  const size_t n = 2 * N;
  unsigned int x, y, b, filled, copied;
  const long long byte = 3;
  GpuArray all = {0}, part = {0}, outs[2] = {{0}};
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "strided"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_input(p, &y, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_int_input(p, &b));
  CHECK_OK(GpuPlan_function(p, &filled, "fill", fill_bytes, NULL, 2,
                            (const unsigned int[]){x, b}, 1, &vector,
                            (const int[]){0}));
  CHECK_OK(GpuPlan_copy(p, &copied, "copy", y));
  CHECK_OK(GpuPlan_output(p, filled));
  CHECK_OK(GpuPlan_output(p, copied));
  CHECK_OK(GpuPlan_protect(p, 1));
  CHECK_OK(GpuArray_zeros(&all, ctx, GA_FLOAT, 1, &n, GA_C_ORDER));
  CHECK_OK(GpuArray_index(&part, &all, (const ssize_t[]){1}, (const ssize_t[]){N},
                          (const ssize_t[]){1}));
  GpuArray other = {0};
  CHECK_OK(GpuArray_zeros(&other, ctx, GA_FLOAT, 1, &n, GA_C_ORDER));
  for (int i = 0; i < 4; i++) {
    CHECK_OK(GpuPlan_call(p, (GpuArray *[]){&outs[0], &outs[1]},
                          (const GpuArray *[]){&part, &other}, &byte, NULL));
    CHECK((outs[0].data == part.data) == (i > 0));
    GpuArray_clear(&outs[0]);
    GpuArray_clear(&outs[1]);
  }
  GpuArray *lists[] = {&all, &part, &other};
  for (int i = 0; i < 3; i++)
    GpuArray_clear(lists[i]);
  GpuPlan_free(p);
}

int main(void) {
  gpucontext *ctx = open_null();
  real = hooked;
  hooked.fill = fill_or_refuse;
  hooked.copy = copy_or_refuse;
  test_a_first_call_that_is_refused(ctx, 1);
  test_a_first_call_that_is_refused(ctx, 1000000);
  test_a_later_call_that_is_refused_once(ctx);
  test_a_first_call_without_room(ctx);
  test_only_the_first_run_copies(ctx);
  gpucontext_deref(ctx);
  return check_result("plan_failing");
}
