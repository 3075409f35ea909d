/* The values that a function keeps and its plan overwrites: apart from results that the
 * caller has, and as they were where a call fails. On the null backend, where what is
 * only moved and filled has values. */
#include "null_plan.h"

#include "c/device/device_errors.h"

#include <gpuarray/function.h>

enum { N = 6 };

static const gpuplan_type vector = {GA_FLOAT, 1};

static int failure; /* of the deferred function */

static int maybe(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                 const long long *ints) {
  (void)data, (void)outs, (void)ins, (void)ints;
  return failure;
}

/* A copy of ins[0], and then the call of a function that may fail. */
static int copy_and_ask(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                        const long long *ints) {
  int status = GpuArray_copy(outs[0], ins[0], GA_C_ORDER);
  STEP(GpuPlan_defer(maybe, data, 1, outs, 0, NULL, ints));
  return status;
}

/* A kept vector w and an integer b: w becomes bytes b in its own place. Results: w as
 * it becomes, if that is shown; x, after a call that may fail, if it asks. */
typedef struct made {
  GpuPlan *plan;
  GpuFunction *f;
} made;

static made make(gpucontext *ctx, bool shows, bool asks, bool confirms) {
  const size_t n = N;
  unsigned int x, w, b, filled, copied;
  GpuArray start = {0};
  made m = {0};
  CHECK_OK(GpuPlan_new(&m.plan, ctx, "kept"));
  CHECK_OK(GpuPlan_input(m.plan, &w, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_input(m.plan, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_int_input(m.plan, &b));
  CHECK_OK(GpuPlan_function(m.plan, &filled, "fill", fill_bytes, NULL, 2,
                            (const unsigned int[]){w, b}, 1, &vector,
                            (const int[]){0}));
  CHECK_OK(GpuPlan_output(m.plan, filled));
  if (shows)
    CHECK_OK(GpuPlan_output(m.plan, filled));
  if (asks) {
    CHECK_OK(GpuPlan_function(m.plan, &copied, "ask", copy_and_ask, NULL, 1, &x, 1,
                              &vector, NULL));
    CHECK_OK(GpuPlan_output(m.plan, copied));
  }
  if (confirms)
    CHECK_OK(GpuPlan_confirm(m.plan));
  CHECK_OK(GpuArray_zeros(&start, ctx, GA_FLOAT, 1, &n, GA_C_ORDER));
  const gpufunction_value value = {
      .name = "w", .start = &start, .input = 0, .output = 0};
  const gpufunction_spec spec = {.size = sizeof spec, .n_values = 1, .values = &value};
  CHECK_OK(GpuFunction_new(&m.f, m.plan, &spec));
  GpuArray_clear(&start);
  return m;
}

static void unmake(const made *m) {
  GpuFunction_free(m->f);
  GpuPlan_free(m->plan);
}

static bool is_filled(const GpuArray *a, unsigned char byte) {
  unsigned char found[N * sizeof(float)];
  CHECK_OK(GpuArray_read(found, sizeof found, a));
  for (size_t i = 0; i < sizeof found; i++)
    if (found[i] != byte)
      return false;
  return true;
}

static bool keeps(GpuFunction *f, unsigned char byte) {
  GpuArray w = {0};
  CHECK_OK(GpuFunction_get(f, "w", &w));
  const bool is = is_filled(&w, byte);
  GpuArray_clear(&w);
  return is;
}

static int call(const made *m, const GpuArray *x, long long byte, GpuArray *out) {
  return GpuFunction_call(m->f, (GpuArray *[]){out}, (const GpuArray *[]){x}, &byte);
}

static GpuArray some(gpucontext *ctx) {
  const size_t n = N;
  GpuArray x = {0};
  CHECK_OK(GpuArray_zeros(&x, ctx, GA_FLOAT, 1, &n, GA_C_ORDER));
  return x;
}

/* ---- what is shown, too ---- */

static void test_results_that_are_kept(gpucontext *ctx) {
  GpuArray x = some(ctx), outs[3] = {{0}};
  const made m = make(ctx, true, false, false);
  for (int i = 0; i < 3; i++)
    CHECK_OK(call(&m, &x, i + 1, &outs[i]));
  for (int i = 0; i < 3; i++) {
    CHECK(is_filled(&outs[i], (unsigned char)(i + 1)));
    CHECK_STATUS(GA_VALUE_ERROR, GpuArray_memset(&outs[i], 9)); /* read-only */
    GpuArray_clear(&outs[i]);
  }
  CHECK(keeps(m.f, 3));
  unmake(&m);
  GpuArray_clear(&x);
}

/* A result that nobody has any more costs no copy: the memory stays the same. */
static void test_results_that_were_given_up(gpucontext *ctx) {
  GpuArray x = some(ctx), out = {0};
  const made m = make(ctx, true, false, false);
  const gpudata *first = NULL;
  for (int i = 0; i < 3; i++) {
    CHECK_OK(call(&m, &x, i + 1, &out));
    if (i == 0)
      first = out.data;
    CHECK(out.data == first);
    GpuArray_clear(&out);
  }
  unmake(&m);
  GpuArray_clear(&x);
}

/* ---- calls that fail ---- */

static void test_a_call_that_fails_late(gpucontext *ctx) {
  GpuArray x = some(ctx), out = {0};
  const made m = make(ctx, false, true, false);
  CHECK_OK(call(&m, &x, 1, &out));
  GpuArray_clear(&out);
  failure = GA_MISC_ERROR;
  for (int i = 0; i < 2; i++) {
    CHECK_STATUS(GA_MISC_ERROR, call(&m, &x, 2, &out));
    CHECK(out.data == NULL && keeps(m.f, 1));
  }
  failure = GA_NO_ERROR;
  CHECK(keeps(m.f, 1));
  CHECK_OK(call(&m, &x, 3, &out));
  CHECK(keeps(m.f, 3));
  GpuArray_clear(&out);
  unmake(&m);
  GpuArray_clear(&x);
}

/* As if a kernel had found a wrong index. */
static void report(gpucontext *ctx) {
  gpudata *word = NULL;
  uint32_t words[6] = {1, 0, 7, 0, 5, 0};
  CHECK_OK(ga__report_site(&word, &words[1], ctx, "take", "step"));
  CHECK_OK(gpudata_write(word, 0, words, sizeof words));
  atomic_store(&ga__queue_current(ctx)->reports, true);
}

static void test_a_call_that_fails_as_it_ends(gpucontext *ctx) {
  GpuArray x = some(ctx), out = {0};
  const made m = make(ctx, true, false, true);
  CHECK_OK(call(&m, &x, 1, &out));
  GpuArray_clear(&out);
  report(ctx);
  out.nd = 77;
  CHECK_STATUS(GA_INDEX_ERROR, call(&m, &x, 2, &out));
  CHECK(out.data == NULL && out.nd == 77 && keeps(m.f, 1));
  CHECK_OK(call(&m, &x, 3, &out));
  CHECK(keeps(m.f, 3));
  GpuArray_clear(&out);
  unmake(&m);
  GpuArray_clear(&x);
}

/* Every allocation of a call in turn: the value is as before or as after it. */
static void test_calls_without_memory(gpucontext *ctx) {
  GpuArray x = some(ctx), held = {0}, out = {0};
  const made m = make(ctx, true, true, false);
  long long byte = 1;
  GpuArray *places[2] = {&held, &out};
  CHECK_OK(GpuFunction_call(m.f, places, (const GpuArray *[]){&x}, &byte));
  GpuArray_clear(&out);
  places[0] = &out;
  GpuArray second = {0};
  places[1] = &second;
  int status = GA_MEMORY_ERROR;
  for (long n = 0; status != GA_NO_ERROR && n < 1000; n++) {
    byte = 2;
    ga__alloc_fail_at(n);
    status = GpuFunction_call(m.f, places, (const GpuArray *[]){&x}, &byte);
    ga__alloc_fail_at(-1);
    CHECK(status == GA_NO_ERROR || status == GA_MEMORY_ERROR);
    CHECK(keeps(m.f, status == GA_NO_ERROR ? 2 : 1) && is_filled(&held, 1));
    CHECK((out.data == NULL) == (status != GA_NO_ERROR));
  }
  GpuArray_clear(&out);
  GpuArray_clear(&second);
  GpuArray_clear(&held);
  unmake(&m);
  GpuArray_clear(&x);
}

int main(void) {
  gpucontext *ctx = open_null();
  test_results_that_are_kept(ctx);
  test_results_that_were_given_up(ctx);
  test_a_call_that_fails_late(ctx);
  test_a_call_that_fails_as_it_ends(ctx);
  test_calls_without_memory(ctx);
  gpucontext_deref(ctx);
  return check_result("function_kept");
}
