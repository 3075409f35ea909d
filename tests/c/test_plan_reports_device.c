/* Plans that leave memory as it is where an index was wrong: values, on a device. */
#include "device_context.h"

#include <gpuarray/index.h>
#include <gpuarray/plan.h>
#include <stdint.h>
#include <unistd.h>

static const size_t two = 2;

static int taken(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                 const long long *ints) {
  (void)data, (void)ints;
  return GpuArray_take(outs[0], ins[0], 1, &ins[1], 0, GA_INDEX_RAISE);
}

/* w (2,), at (2,): w + w[at], in the memory of w where `reports`, else in its own after
 * a wait. */
static GpuPlan *build(gpucontext *ctx, bool reports) {
  unsigned int ins[3], at, next;
  const gpuplan_type type = {GA_LONG, 1};
  const gpuelemwise_arg args[3] = {
      {"w", GA_LONG, GE_READ}, {"x", GA_LONG, GE_READ}, {"n", GA_UINT, GE_READ}};
  const gpuelemwise_arg y = {"y", GA_LONG, GE_WRITE};
  const int over = reports ? 0 : -1;
  const unsigned int stretch[3] = {0, 0, 1};
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "test"));
  CHECK_OK(GpuPlan_input(p, &ins[0], GA_LONG, 1, 0));
  CHECK_OK(GpuPlan_input(p, &at, GA_LONG, 1, 0));
  CHECK_OK(GpuPlan_function(p, &ins[1], "take", taken, NULL, 2,
                            (unsigned int[]){ins[0], at}, 1, &type, NULL));
  if (reports)
    CHECK_OK(GpuPlan_reports(p, &ins[2], "reports"));
  else
    CHECK_OK(GpuPlan_confirm(p));
  const gpuplan_elemwise step = {.size = sizeof step,
                                 .label = "next",
                                 .expr = reports ? "y = n ? w : w + x" : "y = w + x",
                                 .n_out = 1,
                                 .out_args = &y,
                                 .inplace = &over,
                                 .n_in = reports ? 3 : 2,
                                 .in_args = args,
                                 .ins = ins,
                                 .stretch = stretch};
  CHECK_OK(GpuPlan_elemwise(p, &next, &step));
  CHECK_OK(GpuPlan_output(p, next));
  return p;
}

static void check_values(GpuArray *w, int64_t first, int64_t second) {
  int64_t found[2] = {0};
  CHECK_OK(GpuArray_read(found, sizeof found, w));
  CHECK(found[0] == first && found[1] == second);
}

/* Runs with a good index, then with a wrong one and again with the good one, which
 * change nothing until the first wait has told of it, then with the good one. */
static void check_runs(GpuPlan *p, gpucontext *ctx) {
  const int64_t values[2] = {1, 2}, good[2] = {1, 0}, bad[2] = {1, 5};
  GpuArray w = {0}, at = {0}, wrong = {0}, out = {0};
  CHECK_OK(GpuArray_copy_from_host(&w, ctx, values, GA_LONG, 1, &two, NULL));
  CHECK_OK(GpuArray_copy_from_host(&at, ctx, good, GA_LONG, 1, &two, NULL));
  CHECK_OK(GpuArray_copy_from_host(&wrong, ctx, bad, GA_LONG, 1, &two, NULL));
  for (int i = 0; i < 4; i++) {
    const GpuArray *ins[2] = {&w, i == 1 ? &wrong : &at};
    CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&out}, ins, NULL));
    CHECK(out.data == w.data);
    GpuArray_clear(&out);
    if (i == 0)
      check_values(&w, 3, 3);
    if (i == 2) {
      CHECK_STATUS(GA_INDEX_ERROR, GpuArray_sync(&w));
      CHECK_TEXT("index 5 is out of bounds");
      check_values(&w, 3, 3);
    }
  }
  check_values(&w, 6, 6);
  GpuArray_clear(&w);
  GpuArray_clear(&at);
  GpuArray_clear(&wrong);
}

static void test_nothing_is_changed(gpucontext *ctx) {
  GpuPlan *p = build(ctx, true);
  check_runs(p, ctx);
  GpuPlan_free(p);
}

/* A plan and what a file says of it, which is freed. */
static void check_file(GpuPlan *p, gpucontext *ctx,
                       void (*check)(GpuPlan *p, gpucontext *ctx)) {
  char path[] = "/tmp/gpuplan-XXXXXX";
  GpuPlan *again = NULL;
  int file = mkstemp(path);
  CHECK(file >= 0);
  close(file);
  check(p, ctx);
  CHECK_OK(GpuPlan_save(p, path));
  GpuPlan_free(p);
  CHECK_OK(GpuPlan_load(&again, ctx, path));
  check(again, ctx);
  GpuPlan_free(again);
  remove(path);
}

static void test_a_file_says_so_too(gpucontext *ctx) {
  check_file(build(ctx, true), ctx, check_runs);
}

/* The run itself fails, gives no result and leaves w as it was. */
static void check_confirmed(GpuPlan *p, gpucontext *ctx) {
  const int64_t values[2] = {1, 2}, places[2] = {1, 5}, good[2] = {1, 0};
  int failed = 7;
  GpuArray w = {0}, at = {0}, out = {0};
  CHECK_OK(GpuArray_copy_from_host(&w, ctx, values, GA_LONG, 1, &two, NULL));
  CHECK_OK(GpuArray_copy_from_host(&at, ctx, places, GA_LONG, 1, &two, NULL));
  CHECK_STATUS(GA_INDEX_ERROR, GpuPlan_run(p, (GpuArray *[]){&out},
                                           (const GpuArray *[]){&w, &at}, &failed));
  CHECK_TEXT("index 5 is out of bounds");
  CHECK(out.data == NULL && failed == -1);
  check_values(&w, 1, 2);
  CHECK_OK(GpuArray_write(&at, good, sizeof good));
  CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&out}, (const GpuArray *[]){&w, &at}, NULL));
  check_values(&out, 3, 3);
  GpuArray_clear(&out);
  GpuArray_clear(&w);
  GpuArray_clear(&at);
}

static void test_a_run_that_confirms(gpucontext *ctx) {
  check_file(build(ctx, false), ctx, check_confirmed);
}

int main(int argc, char **argv) {
  (void)argc;
  gpucontext *ctx = open_device();
  test_nothing_is_changed(ctx);
  test_a_file_says_so_too(ctx);
  test_a_run_that_confirms(ctx);
  gpucontext_deref(ctx);
  return check_result(argv[0]);
}
