/* Plans of two CUDA contexts, on the mock: peer copies ordered by events, no wait, and
 * a graph of each part. */
#include "mock_context.h"
#include "null_plan.h"

enum { N = 64 };
static const gpuplan_type vector = {GA_FLOAT, 1};

static size_t waits_of(gpucontext *ctx) {
  size_t waits = 0;
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_WAITS, &waits));
  return waits;
}

static bool has(const GpuArray *array, float first) {
  float values[N] = {0};
  CHECK_OK(GpuArray_read(values, sizeof values, array));
  for (int i = 0; i < N; i++)
    if (values[i] != first + (float)i)
      return false;
  return true;
}

static void set(GpuArray *array, float first) {
  float values[N];
  for (int i = 0; i < N; i++)
    values[i] = first + (float)i;
  CHECK_OK(GpuArray_write(array, values, sizeof values));
}

/* x on a, behind two copies there also on b, where it is copied twice, and back on a;
 * the copy that went is then overwritten on a. */
static GpuPlan *build(gpucontext *a, gpucontext *b) {
  const int over = 0;
  unsigned int there, x, seven, once, twice, moved, back, filled;
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, a, "round"));
  CHECK_OK(GpuPlan_add_context(p, &there, b));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_int(p, &seven, 7));
  CHECK_OK(GpuPlan_copy(p, &once, "once", x));
  CHECK_OK(GpuPlan_copy(p, &twice, "twice", once));
  CHECK_OK(GpuPlan_on(p, there));
  CHECK_OK(GpuPlan_transfer(p, &moved, "there", twice));
  CHECK_OK(GpuPlan_on(p, 0));
  CHECK_OK(GpuPlan_function(p, &filled, "fill", fill_bytes, NULL, 2,
                            (unsigned int[]){twice, seven}, 1, &vector, &over));
  CHECK_OK(GpuPlan_on(p, there));
  CHECK_OK(GpuPlan_copy(p, &once, "once there", moved));
  CHECK_OK(GpuPlan_copy(p, &twice, "twice there", once));
  CHECK_OK(GpuPlan_on(p, 0));
  CHECK_OK(GpuPlan_transfer(p, &back, "back", twice));
  CHECK_OK(GpuPlan_output(p, back));
  CHECK_OK(GpuPlan_output(p, twice));
  CHECK_OK(GpuPlan_output(p, filled));
  return p;
}

/* Runs on the same memory, until graphs are launched; looks at results at last alone,
 * for a look waits. */
static void check_runs(gpucontext *a, gpucontext *b, bool is_peer) {
  enum { RUNS = 6 };
  GpuArray x = {0}, outs[3] = {{0}};
  const size_t n = N;
  GpuPlan *p = build(a, b);
  CHECK_OK(GpuArray_empty(&x, a, GA_FLOAT, 1, &n, GA_C_ORDER));
  const long copies = mock->peer_copies, graphs = mock->graph_launches;
  for (int i = 0; i < RUNS; i++) {
    set(&x, 5.0f * (float)i);
    const size_t waits[2] = {waits_of(a), waits_of(b)};
    CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&outs[0], &outs[1], &outs[2]},
                         (const GpuArray *[]){&x}, NULL));
    CHECK(waits_of(a) == waits[0] && waits_of(b) == waits[1]);
    if (i % 2 == 0)
      CHECK(has(&outs[0], 5.0f * (float)i));
    CHECK(has(&outs[1], 5.0f * (float)i));
    CHECK(!has(&outs[2], 5.0f * (float)i) && has(&x, 5.0f * (float)i));
    CHECK(GpuArray_context(&outs[0]) == a && GpuArray_context(&outs[1]) == b);
    for (int k = 0; k < 3; k++)
      GpuArray_clear(&outs[k]);
  }
  CHECK(mock->peer_copies == copies + (is_peer ? 2 * RUNS : 0));
  CHECK(mock->graph_launches >= graphs + 4); /* two parts have more than one command */
  GpuArray_clear(&x);
  GpuPlan_free(p);
}

static void test_two_devices(void) {
  gpucontext *a = open_cuda("cuda0"), *b = open_cuda("cuda1");
  check_runs(a, b, true);
  gpucontext_deref(a);
  gpucontext_deref(b);
  check_given_back();
}

static void test_two_contexts_on_one_device(void) {
  gpucontext *a = open_cuda("cuda0"), *b = open_cuda("cuda0");
  check_runs(a, b, false);
  gpucontext_deref(a);
  gpucontext_deref(b);
  check_given_back();
}

/* A copy to a driver of another kind goes by pinned memory. */
static void test_to_another_driver_and_back(void) {
  gpucontext *a = open_cuda("cuda0"), *b = NULL;
  CHECK_OK(gpucontext_open(&b, "null"));
  GpuArray x = {0}, outs[3] = {{0}};
  const size_t n = N;
  GpuPlan *p = build(a, b);
  CHECK_OK(GpuArray_empty(&x, a, GA_FLOAT, 1, &n, GA_C_ORDER));
  for (int i = 0; i < 4; i++) {
    set(&x, (float)i);
    CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&outs[0], &outs[1], &outs[2]},
                         (const GpuArray *[]){&x}, NULL));
    CHECK(has(&outs[0], (float)i) && has(&outs[1], (float)i));
    CHECK(!has(&outs[2], (float)i));
    for (int k = 0; k < 3; k++)
      GpuArray_clear(&outs[k]);
  }
  GpuArray_clear(&x);
  GpuPlan_free(p);
  gpucontext_deref(a);
  gpucontext_deref(b);
  check_given_back();
}

/* Runs the plan a few times, the run `at` with the n-th call of the driver failing;
 * true if it met no failure. */
static bool passes(const char *other, int at, long n) {
  gpucontext *a = open_cuda("cuda0"), *b = open_cuda(other);
  GpuArray x = {0}, outs[3] = {{0}};
  const size_t length = N;
  CHECK_OK(GpuArray_empty(&x, a, GA_FLOAT, 1, &length, GA_C_ORDER));
  set(&x, 3);
  GpuPlan *p = build(a, b);
  GpuArray *places[] = {&outs[0], &outs[1], &outs[2]};
  bool is_over = false;
  for (int i = 0; i < at + 2; i++) {
    mock->fail_with = CUDA_ERROR_OUT_OF_MEMORY;
    mock->fail_at = i == at ? n : -1;
    const size_t waits = waits_of(a);
    const long copies = mock->host_copies;
    int status = GpuPlan_run(p, places, (const GpuArray *[]){&x}, NULL);
    is_over |= i == at && mock->fail_at >= 0;
    mock->fail_at = -1;
    /* pinned memory that a copy may still write to is not given back */
    CHECK(status == GA_NO_ERROR || mock->host_copies == copies || waits_of(a) > waits);
    if (status == GA_NO_ERROR)
      CHECK(has(&outs[0], 3) && has(&outs[1], 3) && has(&x, 3));
    for (int k = 0; k < 3; k++)
      GpuArray_clear(&outs[k]);
  }
  GpuArray_clear(&x);
  GpuPlan_free(p);
  gpucontext_deref(a);
  gpucontext_deref(b);
  return is_over;
}

/* Whatever call of the driver fails, as commands are queued one by one, recorded or
 * launched as graphs: all is given back. */
static void check_each_call(const char *other) {
  for (int at = 0; at < 5; at++) {
    long n = 0;
    for (; !passes(other, at, n) && n < 200; n++)
      check_given_back();
    CHECK(n > 5 && n < 200);
    check_given_back();
  }
}

static void test_each_call_of_the_driver_fails(void) {
  check_each_call("cuda1");
  check_each_call("null");
}

/* x on a, which has no pinned memory, is copied, and the copy goes to b, a result that
 * nothing needs before the end of a run; at last w, on a, is overwritten. True if a run
 * passes with its n-th allocation failing. */
static bool keeps(long n) {
  const int over = 0;
  const size_t length = N;
  unsigned int there, x, w, seven, once, moved, filled;
  gpucontext *a = open_cuda("cuda0"), *b = open_cuda("null");
  ga_backend unpinned = *a->backend;
  const ga_backend *whole = a->backend;
  unpinned.pinning = NULL;
  a->backend = &unpinned;
  GpuArray given = {0}, kept = {0}, outs[2] = {{0}};
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, a, "keeps"));
  CHECK_OK(GpuPlan_add_context(p, &there, b));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_input(p, &w, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_int(p, &seven, 7));
  CHECK_OK(GpuPlan_copy(p, &once, "once", x));
  CHECK_OK(GpuPlan_on(p, there));
  CHECK_OK(GpuPlan_transfer(p, &moved, "there", once));
  CHECK_OK(GpuPlan_on(p, 0));
  CHECK_OK(GpuPlan_function(p, &filled, "fill", fill_bytes, NULL, 2,
                            (unsigned int[]){w, seven}, 1, &vector, &over));
  CHECK_OK(GpuPlan_output(p, moved));
  CHECK_OK(GpuPlan_output(p, filled));
  CHECK_OK(GpuArray_empty(&given, a, GA_FLOAT, 1, &length, GA_C_ORDER));
  CHECK_OK(GpuArray_empty(&kept, a, GA_FLOAT, 1, &length, GA_C_ORDER));
  set(&given, 5);
  int status = GA_NO_ERROR;
  for (int i = 0; i < 2; i++) {
    set(&kept, 3);
    ga__alloc_fail_at(i == 0 ? -1 : n);
    status = GpuPlan_run(p, (GpuArray *[]){&outs[0], &outs[1]},
                         (const GpuArray *[]){&given, &kept}, NULL);
    ga__alloc_fail_at(-1);
    CHECK(status == GA_NO_ERROR ? has(&outs[0], 5) && !has(&kept, 3) : has(&kept, 3));
    GpuArray_clear(&outs[0]);
    GpuArray_clear(&outs[1]);
  }
  GpuArray_clear(&given);
  GpuArray_clear(&kept);
  GpuPlan_free(p);
  a->backend = whole;
  gpucontext_deref(a);
  gpucontext_deref(b);
  check_given_back();
  return status == GA_NO_ERROR;
}

static void test_a_run_without_memory_overwrites_nothing(void) {
  long n = 0;
  for (long passed = 0; passed < 3 && n < 100; n++)
    passed = keeps(n) ? passed + 1 : 0;
  CHECK(n > 3 && n < 100);
}

/* ---- loops ---- */

/* The state goes to b and back in each iteration; it ends behind the one whose flag is
 * set. */
static GpuPlan *build_loop(gpucontext *a, gpucontext *b) {
  const gpuplan_type results[] = {{GA_FLOAT, 1}, {GA_BOOL, 0}};
  unsigned int there, x, flags, ended, turns, made[2], state, flag, was, moved;
  GpuPlan *p = NULL, *body = NULL;
  CHECK_OK(GpuPlan_new(&p, a, "loops"));
  CHECK_OK(GpuPlan_add_context(p, &there, b));
  CHECK_OK(GpuPlan_input(p, &flags, GA_BOOL, 1, 0));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_input(p, &ended, GA_BOOL, 0, 0));
  CHECK_OK(GpuPlan_dim(p, &turns, flags, 0));
  const gpuplan_loop step = {.size = sizeof step,
                             .label = "loop",
                             .turns = turns,
                             .takes = "rcu",
                             .n_in = 3,
                             .ins = (unsigned int[]){flags, x, ended},
                             .n_out = 2,
                             .results = results};
  CHECK_OK(GpuPlan_loop(p, made, &step));
  CHECK_OK(GpuPlan_new(&body, a, "turn"));
  CHECK_OK(GpuPlan_add_context(body, &there, b));
  CHECK_OK(GpuPlan_input(body, &flag, GA_BOOL, 0, 0));
  CHECK_OK(GpuPlan_input(body, &state, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_input(body, &was, GA_BOOL, 0, 0));
  CHECK_OK(GpuPlan_copy(body, &moved, "once", state));
  CHECK_OK(GpuPlan_on(body, there));
  CHECK_OK(GpuPlan_transfer(body, &moved, "there", moved));
  CHECK_OK(GpuPlan_copy(body, &moved, "once there", moved));
  CHECK_OK(GpuPlan_on(body, 0));
  CHECK_OK(GpuPlan_transfer(body, &moved, "back", moved));
  CHECK_OK(GpuPlan_output(body, moved));
  CHECK_OK(GpuPlan_output(body, flag));
  CHECK_OK(GpuPlan_body(p, made[0], body));
  CHECK_OK(GpuPlan_output(p, made[0]));
  return p;
}

/* Without a flag nothing waits; with one the host looks at it behind each 16th. */
static void test_iterations_are_queued_without_a_wait(void) {
  enum { TURNS = 40 };
  const size_t n = N, n_flags = TURNS - 1;
  const unsigned char no = 0;
  gpucontext *a = open_cuda("cuda0"), *b = open_cuda("cuda1");
  GpuPlan *p = build_loop(a, b);
  GpuArray x = {0}, ended = {0}, out = {0};
  CHECK_OK(GpuArray_empty(&x, a, GA_FLOAT, 1, &n, GA_C_ORDER));
  CHECK_OK(GpuArray_copy_from_host(&ended, a, &no, GA_BOOL, 0, NULL, NULL));
  set(&x, 3);
  for (int i = 0; i < 4; i++) {
    unsigned char values[TURNS] = {0};
    GpuArray flags = {0};
    for (int k = 20; k < TURNS && i % 2 == 1; k++)
      values[k] = 1; /* as a condition that held stays true */
    CHECK_OK(GpuArray_copy_from_host(&flags, a, values, GA_BOOL, 1, &n_flags, NULL));
    const size_t waits[2] = {waits_of(a), waits_of(b)};
    const long copies = mock->peer_copies;
    CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&out},
                         (const GpuArray *[]){&flags, &x, &ended}, NULL));
    CHECK(waits_of(a) == waits[0] + 2 && waits_of(b) == waits[1]);
    CHECK(mock->peer_copies == copies + 2 * (i % 2 == 1 ? 32 : TURNS - 1));
    CHECK(has(&out, 3) && has(&x, 3));
    GpuArray_clear(&out);
    GpuArray_clear(&flags);
  }
  GpuArray_clear(&x);
  GpuArray_clear(&ended);
  GpuPlan_free(p);
  gpucontext_deref(a);
  gpucontext_deref(b);
  check_given_back();
}

int main(void) {
  open_mock();
  test_two_devices();
  test_two_contexts_on_one_device();
  test_to_another_driver_and_back();
  test_each_call_of_the_driver_fails();
  test_a_run_without_memory_overwrites_nothing();
  test_iterations_are_queued_without_a_wait();
  return check_result("cuda_contexts");
}
