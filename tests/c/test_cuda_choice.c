/* Plans whose conditions the device looks at by itself, on a mock of the driver: what
 * runs, what is waited for, and what is done where that cannot be. */
#include "choice_rig.h"
#include "mock_context.h"

/* ---- graphs ---- */

/* At first command by command, with a wait for each condition; from the second run on,
 * which finds its memory where it was, as one graph. */
static void check_kind(enum kind kind) {
  const long nodes = kind == OVERWRITTEN ? 2 : 1; /* what was overwritten is copied */
  rig r;
  seen s;
  CHECK_OK(open_rig(&r, kind));
  for (int i = 0; i < 12; i++) {
    const int truths = i < 8 ? i % 4 : 3 - i % 4, nested = kind == NESTED && truths & 1;
    CHECK_OK(run_once(&r, truths, &s));
    check_ran(kind, truths, &s);
    CHECK(s.waits == (i == 0 ? 1u + (unsigned int)nested : 0));
    CHECK(s.graphs == (i > 0) && s.choices == (i > 0 ? nodes + nested : 0));
  }
  CHECK(mock->shared == 0 && !is_own_product);
  close_rig(&r);
}

static void test_a_graph_chooses_and_nothing_waits(void) {
  check_kind(COMPUTED);
  check_kind(NESTED);
}

static void test_what_is_chosen_is_one_array(void) {
  check_kind(GIVEN);
  check_kind(UPDATED);
  check_kind(OVERWRITTEN);
}

/* What two sides share is good for all that uses it. */
static void test_memory_that_sides_share(void) {
  const enum kind kinds[] = {SPENT, ALIASED, SHARED, LATE};
  for (int k = 0; k < 4; k++) {
    rig r;
    seen s;
    CHECK_OK(open_rig(&r, kinds[k]));
    for (int i = 0; i < 8; i++) {
      CHECK_OK(run_once(&r, i % 4, &s));
      CHECK(s.waits == (i == 0));
      CHECK(s.graphs == (i > 0) && (s.choices > 0) == (i > 0));
    }
    close_rig(&r);
  }
}

static void test_products_on_a_side(void) {
  check_kind(PRODUCT);
}

/* A launch that is queued still chooses when its graph is gone. */
static void test_a_plan_is_freed_before_its_graph_has_run(void) {
  for (int truths = 0; truths < 4; truths++) {
    rig r;
    seen s;
    GpuArray out = {0};
    CHECK_OK(open_rig(&r, NESTED));
    for (int i = 0; i < 3; i++)
      CHECK_OK(run_once(&r, truths, &s));
    CHECK_OK(
        GpuPlan_run(r.p, (GpuArray *[]){&out}, (const GpuArray *[]){&r.x, &r.y}, NULL));
    GpuPlan_free(r.p);
    r.p = NULL;
    memset(got, 0, sizeof(float) * N);
    CHECK_OK(read_result(&r, truths, &out));
    GpuArray_clear(&out);
    close_rig(&r);
  }
}

/* A queue of its own has its own streams; what was recorded there runs elsewhere when
 * it is gone. */
static void test_another_queue(void) {
  rig r;
  seen s;
  gpuqueue *q = NULL;
  CHECK_OK(open_rig(&r, NESTED));
  CHECK_OK(gpuqueue_new(&q, r.ctx));
  CHECK_OK(gpucontext_use_queue(r.ctx, q));
  for (int i = 0; i < 8; i++) {
    CHECK_OK(run_once(&r, i % 4, &s));
    check_ran(NESTED, i % 4, &s);
    CHECK(i == 0 || (s.waits == 0 && s.choices > 0));
  }
  CHECK_OK(gpucontext_use_queue(r.ctx, NULL));
  gpuqueue_release(q);
  for (int i = 0; i < 8; i++) {
    CHECK_OK(run_once(&r, i % 4, &s));
    check_ran(NESTED, i % 4, &s);
    CHECK(s.waits == 0 && s.choices > 0);
  }
  close_rig(&r);
}

/* ---- stages ---- */

/* Every run waits for each condition. */
static void check_stages(rig *r) {
  for (int i = 0; i < 12; i++) {
    const int truths = i % 4;
    seen s;
    CHECK_OK(run_once(r, truths, &s));
    CHECK(s.choices == 0);
    CHECK(s.waits == 1u + (r->kind == NESTED && truths & 1));
    if (r->kind != SHORTER && r->kind != LARGE)
      check_ran(r->kind, truths, &s);
  }
}

static void test_sides_that_are_not_one_array(void) {
  const enum kind kinds[] = {SHORTER, LARGE};
  for (int i = 0; i < 2; i++) {
    rig r;
    CHECK_OK(open_rig(&r, kinds[i]));
    check_stages(&r);
    close_rig(&r);
  }
}

/* What can be bound before the first wait is bound, as for any plan that reads. */
static void test_binding_what_runs_in_stages(void) {
  rig r;
  CHECK_OK(open_rig(&r, SHORTER));
  CHECK_OK(GpuPlan_bind(r.p, (const GpuArray *[]){&r.x, &r.y}, NULL));
  check_stages(&r);
  close_rig(&r);
}

static void test_an_old_driver(void) {
  const int version = mock->version;
  const enum kind kinds[] = {COMPUTED, NESTED, OVERWRITTEN};
  mock->version = 12040; /* it has the functions, and one side only */
  for (int i = 0; i < 3; i++) {
    rig r;
    CHECK_OK(open_rig(&r, kinds[i]));
    check_stages(&r);
    close_rig(&r);
  }
  mock->version = version;
}

/* Checks a plan while a function of the driver is missing. */
#define WITHOUT(name)                                                                  \
  do {                                                                                 \
    rig r;                                                                             \
    CHECK_OK(open_rig(&r, COMPUTED));                                                  \
    const ga_cuda_api before = ga__cuda;                                               \
    ga__cuda.name = NULL;                                                              \
    check_stages(&r);                                                                  \
    ga__cuda.name = before.name;                                                       \
    close_rig(&r);                                                                     \
  } while (0)

static void test_a_driver_without_a_function(void) {
  WITHOUT(cuGraphConditionalHandleCreate);
  WITHOUT(cuGraphAddNode);
  WITHOUT(cuStreamBeginCaptureToGraph);
  WITHOUT(cuThreadExchangeStreamCaptureMode);
  WITHOUT(cuStreamGetCaptureInfo);
  WITHOUT(cuStreamUpdateCaptureDependencies);
}

int main(int argc, char **argv) {
  (void)argc;
  open_mock();
  setenv("GPUARRAY_BLAS", "vendor", 1);
  test_a_graph_chooses_and_nothing_waits();
  test_what_is_chosen_is_one_array();
  test_memory_that_sides_share();
  test_products_on_a_side();
  test_a_plan_is_freed_before_its_graph_has_run();
  test_another_queue();
  test_sides_that_are_not_one_array();
  test_binding_what_runs_in_stages();
  test_an_old_driver();
  test_a_driver_without_a_function();
  CHECK(left_relaxed == 0);
  return check_result(argv[0]);
}
