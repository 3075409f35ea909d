/* Failures of the driver's calls while a plan that chooses on the device is made,
 * recorded and run: each is told, or the plan's commands are queued one by one. */
#include "choice_rig.h"
#include "mock_context.h"

static const int failures[] = {CUDA_ERROR_OUT_OF_MEMORY, 999};
static const int reported[] = {GA_MEMORY_ERROR, GA_IMPL_ERROR};

/* What fails is told, or done without. A wrong result is found by run_once. */
static void check_status(int status, int which) {
  CHECK(status == GA_NO_ERROR || status == reported[which] || status == GA_IMPL_ERROR ||
        (status == GA_LOAD_ERROR && which == 1));
}

static int scenario(enum kind kind) {
  rig r;
  seen s;
  int status = open_rig(&r, kind);
  for (int i = 0; status == GA_NO_ERROR && i < 5; i++)
    status = run_once(&r, i % 4, &s);
  close_rig(&r);
  return status;
}

static void sweep(enum kind kind, int which) {
  int n = 0, failed = 0;
  mock->fail_with = failures[which];
  for (bool is_over = false; !is_over; n++) {
    mock->fail_at = n;
    const int status = scenario(kind);
    is_over = mock->fail_at >= 0;
    mock->fail_at = -1;
    check_status(status, which);
    failed += status != GA_NO_ERROR;
  }
  CHECK(n > 100 && failed > 50);
}

static void build_again(rig *r) {
  GpuPlan_free(r->p);
  r->p = NULL;
  build(r);
  CHECK_OK(r->status);
}

/* As above, of the run that records only; gives whether a call failed. It is done
 * command by command then, but where the finished graph's launch failed. */
static bool fail_recording(enum kind kind, int which, int n, bool *fell_back) {
  rig r;
  seen s;
  CHECK_OK(open_rig(&r, kind));
  CHECK_OK(run_once(&r, 1, &s));
  fail_within = n;
  const int status = run_once(&r, 0, &s);
  const bool failed = did_fail;
  *fell_back = status == GA_NO_ERROR && s.graphs == 0;
  check_status(status, which);
  for (int i = 0; i < 4; i++) {
    CHECK_OK(run_once(&r, i, &s));
    CHECK(!*fell_back || s.choices == 0);
    if (!is_own_product)
      check_ran(kind, i, &s);
  }
  build_again(&r);
  for (int i = 0; i < 3; i++)
    CHECK_OK(run_once(&r, i, &s));
  CHECK(s.choices > 0 && s.waits == 0); /* another plan's recording is well */
  close_rig(&r);
  return failed;
}

/* Where a checker interprets the program, the kinds meet the two failures in turn. */
static void test_each_call_fails(void) {
  const enum kind kinds[] = {COMPUTED, GIVEN, OVERWRITTEN, PRODUCT, NESTED};
  const bool is_slow = getenv("GPUARRAY_TEST_SLOW") != NULL;
  for (int which = 0; which < 2; which++)
    for (int k = 0; k < 5; k++) {
      int fallbacks = 0;
      if (is_slow && k % 2 != which)
        continue;
      sweep(kinds[k], which);
      mock->fail_with = failures[which];
      bool fell_back = false;
      for (int n = 0; fail_recording(kinds[k], which, n, &fell_back); n++)
        fallbacks += fell_back;
      CHECK(!fell_back && fallbacks > 12);
    }
}

int main(int argc, char **argv) {
  (void)argc;
  open_mock();
  setenv("GPUARRAY_BLAS", "vendor", 1);
  test_each_call_fails();
  return check_result(argv[0]);
}
