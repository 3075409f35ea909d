/* Collectives in plans: two ranks in one process, each a thread with a device of the
 * mock. A plan is
 *
 *   first = x x, second = first x         products, which the mock computes
 *   total = all_reduce(second)
 *   third = x first, fourth = third first beside it
 *   last = total fourth                   waits for it */
#include "mock_context.h"

#include <gpuarray/collectives.h>
#include <gpuarray/plan.h>
#include <pthread.h>

#define RANKS 2
#define N 2
#define RUNS 6
#define MARK 7u

typedef struct rank {
  int number, ranks;
  gpucommCliqueId id;
  gpucontext *ctx;
  gpucomm *comm;
  pthread_barrier_t *meeting;
} rank;

typedef struct matrix {
  float x[N][N];
} matrix;

static matrix times(matrix a, matrix b) {
  matrix c = {{{0}}};
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      for (int k = 0; k < N; k++)
        c.x[i][j] += a.x[i][k] * b.x[k][j];
  return c;
}

static matrix plus(matrix a, matrix b) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      a.x[i][j] += b.x[i][j];
  return a;
}

/* What a rank gives in a run; small integers, so that sums are exact. */
static matrix given(int number, int turn) {
  return (matrix){{{1, (float)(turn % 3)}, {(float)number, (float)(2 - turn % 2)}}};
}

/* ---- the plan ---- */

static int all_reduce(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                      const long long *ints) {
  const rank *r = data;
  (void)ints;
  GA_TRY(GpuArray_empty(outs[0], r->ctx, GA_FLOAT, 2, ins[0]->dimensions, GA_C_ORDER));
  GA_TRY(gpucomm_mark(r->comm, MARK));
  return GpuArray_all_reduce(ins[0], outs[0], GA_SUM, r->comm);
}

static unsigned int product(GpuPlan *p, unsigned int a, unsigned int b) {
  unsigned int out = 0;
  CHECK_OK(
      GpuPlan_gemm(p, &out, "product", 1, a, cb_no_trans, b, cb_no_trans, 0, 0, 0));
  return out;
}

static GpuPlan *new_plan(rank *r) {
  GpuPlan *p = NULL;
  unsigned int x, total;
  const gpuplan_type type = {GA_FLOAT, 2};
  CHECK_OK(GpuPlan_new(&p, r->ctx, "step"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 2, 0));
  const unsigned int first = product(p, x, x), second = product(p, first, x);
  CHECK_OK(GpuPlan_function(p, &total, "all_reduce", all_reduce, r, 1, &second, 1,
                            &type, NULL));
  const unsigned int third = product(p, x, first), fourth = product(p, third, first);
  CHECK_OK(GpuPlan_output(p, total));
  CHECK_OK(GpuPlan_output(p, product(p, total, fourth)));
  return p;
}

static GpuArray array_of(const rank *r, matrix m) {
  GpuArray a = {0};
  CHECK_OK(
      GpuArray_copy_from_host(&a, r->ctx, m.x, GA_FLOAT, 2, (size_t[]){N, N}, NULL));
  return a;
}

static void check_matrix(const GpuArray *a, matrix wanted) {
  matrix found;
  CHECK_OK(GpuArray_read(found.x, sizeof found, a));
  CHECK(memcmp(&found, &wanted, sizeof found) == 0);
}

/* A run; *failed is the step that failed. */
static int run(const rank *r, GpuPlan *p, int number, GpuArray outs[2], int *failed) {
  GpuArray x = array_of(r, given(r->number, number));
  int status = GpuPlan_run(p, (GpuArray *[]){&outs[0], &outs[1]},
                           (const GpuArray *[]){&x}, failed);
  GpuArray_clear(&x);
  return status;
}

static void check_run(const rank *r, GpuPlan *p, int number) {
  GpuArray outs[2] = {{0}};
  matrix total = {{{0}}};
  int failed;
  CHECK_OK(run(r, p, number, outs, &failed));
  for (int i = 0; i < r->ranks; i++) {
    const matrix x = given(i, number);
    total = plus(total, times(times(x, x), x));
  }
  const matrix x = given(r->number, number), first = times(x, x);
  check_matrix(&outs[1], times(total, times(times(x, first), first)));
  check_matrix(&outs[0], total);
  GpuArray_clear(&outs[0]);
  GpuArray_clear(&outs[1]);
}

/* ---- what is known of the calls ---- */

static void check_log(const rank *r, size_t runs) {
  unsigned int marks[RUNS + 1];
  size_t begun = 0, queued = 0, done = 0, n = 0;
  CHECK_OK(gpucomm_progress(r->comm, &begun, &queued, &done));
  CHECK(begun == runs && queued == runs);
  CHECK_OK(gpucontext_sync(r->ctx));
  for (int i = 0; i < 2; i++)
    CHECK_OK(gpucomm_progress(r->comm, &begun, &queued, &done));
  CHECK(done == runs);
  CHECK_OK(gpucomm_log(r->comm, marks, 2, &n));
  CHECK(n == 2);
  CHECK_OK(gpucomm_log(r->comm, marks + 2, RUNS + 1 - 2, &n));
  CHECK(n == runs - 2);
  for (size_t i = 0; i < runs; i++)
    CHECK(marks[i] == MARK);
  CHECK_OK(gpucomm_log(r->comm, NULL, 0, &n));
  CHECK(n == 0);
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_mark(NULL, 1));
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_log(r->comm, NULL, 1, &n));
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_progress(r->comm, NULL, &n, &done));
}

static void *run_rank(void *argument) {
  rank *r = argument;
  CHECK_OK(gpucomm_new(&r->comm, r->ctx, r->id, r->ranks, r->number));
  GpuPlan *p = new_plan(r);
  for (int i = 0; i < RUNS; i++)
    check_run(r, p, i);
  check_log(r, RUNS);
  gpuplan_info info;
  CHECK_OK(GpuPlan_info(p, &info));
  CHECK(info.n_binds == 1);
  pthread_barrier_wait(r->meeting);
  /* The communicator may go before the plan, which then says so. */
  GpuArray outs[2] = {{0}};
  int failed = -1;
  gpucomm_free(r->comm);
  CHECK_STATUS(GA_COMM_ERROR, run(r, p, 0, outs, &failed));
  CHECK_TEXT("the communicator was closed or aborted");
  CHECK(failed == 2);
  GpuPlan_free(p);
  return NULL;
}

static void test_ranks(void) {
  static const char *const names[RANKS] = {"cuda0", "cuda1"};
  pthread_t threads[RANKS];
  pthread_barrier_t meeting;
  rank ranks[RANKS];
  gpucommCliqueId id;
  pthread_barrier_init(&meeting, NULL, RANKS);
  for (int i = 0; i < RANKS; i++)
    ranks[i] = (rank){
        .number = i, .ranks = RANKS, .ctx = open_cuda(names[i]), .meeting = &meeting};
  CHECK_OK(gpucomm_gen_clique_id(ranks[0].ctx, &id));
  for (int i = 0; i < RANKS; i++) {
    ranks[i].id = id;
    CHECK(pthread_create(&threads[i], NULL, run_rank, &ranks[i]) == 0);
  }
  for (int i = 0; i < RANKS; i++) {
    CHECK(pthread_join(threads[i], NULL) == 0);
    gpucontext_deref(ranks[i].ctx);
  }
  pthread_barrier_destroy(&meeting);
}

/* ---- one rank ---- */

static rank open_alone(void) {
  rank r = {.ranks = 1, .ctx = open_cuda("cuda0")};
  CHECK_OK(gpucomm_gen_clique_id(r.ctx, &r.id));
  CHECK_OK(gpucomm_new(&r.comm, r.ctx, r.id, 1, 0));
  return r;
}

/* The three runs of products are graphs of their own, whenever memory comes back; the
 * collective is queued in each run. */
static void test_graphs(void) {
  rank r = open_alone();
  GpuPlan *p = new_plan(&r);
  for (int i = 0; i < 4; i++)
    check_run(&r, p, i);
  const long graphs = mock->graphs, launched = mock->graph_launches;
  const long streams = mock->streams;
  CHECK(graphs > 0);
  for (int i = 0; i < 4; i++)
    check_run(&r, p, i);
  CHECK(mock->graph_launches - launched == 4 * 2); /* the last product is alone */
  CHECK(mock->graphs == graphs && mock->streams == streams);
  GpuPlan_free(p);
  gpucomm_free(r.comm);
  gpucontext_deref(r.ctx);
}

/* What a plan calls on arrays of its own is called in each run, too. */
static GpuArray constant;

static int broadcast_constant(void *data, GpuArray *const *outs,
                              const GpuArray *const *ins, const long long *ints) {
  (void)ints;
  const rank *r = data;
  GA_TRY(gpucomm_mark(r->comm, MARK));
  GA_TRY(GpuArray_broadcast(&constant, 0, r->comm));
  return GpuArray_view(outs[0], ins[0]);
}

static void test_constants(void) {
  rank r = open_alone();
  GpuPlan *p = NULL;
  unsigned int x, same, marks[4];
  const gpuplan_type type = {GA_FLOAT, 2};
  size_t n = 0;
  constant = array_of(&r, given(0, 1));
  CHECK_OK(GpuPlan_new(&p, r.ctx, "step"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 2, 0));
  CHECK_OK(GpuPlan_function(p, &same, "broadcast", broadcast_constant, &r, 1, &x, 1,
                            &type, NULL));
  CHECK_OK(GpuPlan_output(p, same));
  for (int i = 0; i < 3; i++) {
    GpuArray a = array_of(&r, given(0, i)), out = {0};
    CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&out}, (const GpuArray *[]){&a}, NULL));
    GpuArray_clear(&a);
    GpuArray_clear(&out);
  }
  CHECK_OK(gpucomm_log(r.comm, marks, 4, &n));
  CHECK(n == 3);
  GpuArray_clear(&constant);
  GpuPlan_free(p);
  gpucomm_free(r.comm);
  gpucontext_deref(r.ctx);
}

/* On the application's queue, which it has chosen itself. */
static void test_another_queue(void) {
  rank r = open_alone();
  GpuPlan *p = new_plan(&r);
  gpuqueue *own = NULL;
  CHECK_OK(gpuqueue_new(&own, r.ctx));
  CHECK_OK(gpucontext_use_queue(r.ctx, own));
  for (int i = 0; i < RUNS; i++)
    check_run(&r, p, i);
  CHECK(gpucontext_queue(r.ctx) == own);
  CHECK_OK(gpucontext_use_queue(r.ctx, NULL));
  check_run(&r, p, 0);
  gpuqueue_release(own);
  GpuPlan_free(p);
  gpucomm_free(r.comm);
  gpucontext_deref(r.ctx);
}

/* Some runs: bound, queued one by one, captured, and as graphs; the first failure. */
static int run_often(const rank *r, GpuPlan *p, int times_run) {
  int step, status = GA_NO_ERROR;
  for (int i = 0; i < times_run && status == GA_NO_ERROR; i++) {
    GpuArray outs[2] = {{0}}, x = {0};
    status = GpuArray_copy_from_host(&x, r->ctx, given(0, i).x, GA_FLOAT, 2,
                                     (size_t[]){N, N}, NULL);
    if (status == GA_NO_ERROR)
      status = GpuPlan_run(p, (GpuArray *[]){&outs[0], &outs[1]},
                           (const GpuArray *[]){&x}, &step);
    GpuArray_clear(&x);
    GpuArray_clear(&outs[0]);
    GpuArray_clear(&outs[1]);
  }
  return status;
}

/* Of all calls of the driver that a run makes, each fails in turn: of the first, and of
 * one that queues graphs. */
static void test_failing_calls(int before) {
  rank r = open_alone();
  long failed = 0;
  for (bool is_over = false; !is_over; failed++) {
    GpuPlan *p = new_plan(&r);
    CHECK_OK(run_often(&r, p, before));
    mock->fail_at = failed;
    mock->fail_with = CUDA_ERROR_OUT_OF_MEMORY;
    const int status = run_often(&r, p, 1);
    is_over = mock->fail_at >= 0; /* nobody met it */
    mock->fail_at = -1;
    CHECK(status == GA_NO_ERROR || status == GA_MEMORY_ERROR ||
          status == GA_COMM_ERROR || status == GA_IMPL_ERROR);
    CHECK_OK(gpucontext_sync(r.ctx));
    check_run(&r, p, 1);
    GpuPlan_free(p);
  }
  CHECK(failed > 5);
  gpucomm_free(r.comm);
  gpucontext_deref(r.ctx);
}

static void test_failing_allocations(void) {
  enum { MOST = 300 };
  rank r = open_alone();
  int status = GA_MEMORY_ERROR;
  for (long at = 0; at < MOST; at++) {
    GpuPlan *p = new_plan(&r);
    ga__alloc_fail_at(at);
    status = run_often(&r, p, 4);
    ga__alloc_fail_at(-1);
    CHECK(status == GA_NO_ERROR || status == GA_MEMORY_ERROR);
    check_run(&r, p, 1);
    GpuPlan_free(p);
  }
  CHECK(status == GA_NO_ERROR); /* there are fewer */
  gpucomm_free(r.comm);
  gpucontext_deref(r.ctx);
}

int main(void) {
  open_mock();
  test_ranks();
  test_graphs();
  test_constants();
  test_another_queue();
  test_failing_calls(0);
  test_failing_calls(4);
  test_failing_allocations();
  check_given_back();
  return check_result("test_collectives_recorded");
}
