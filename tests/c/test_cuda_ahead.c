/* Kernels compiled ahead on the mock of CUDA, whose compiler takes its time. */
#include "mock_context.h"

#include <gpuarray/kernel.h>
#include <gpuarray/plan.h>
#include <sys/wait.h>
#include <unistd.h>

#include "c/program/kernel.h"

static gpuelemwise_arg args[2] = {{"y", GA_FLOAT, GE_WRITE}, {"x", GA_FLOAT, GE_READ}};

/* x + 1 of a matrix, and the product of that with itself. */
static int build(GpuPlan **plan, gpucontext *ctx) {
  const unsigned int none = 0;
  const int fresh = -1;
  unsigned int x, y;
  GA_TRY(GpuPlan_new(plan, ctx, "ahead"));
  GA_TRY(GpuPlan_input(*plan, &x, GA_FLOAT, 2, 0));
  gpuplan_elemwise step = {.size = sizeof step,
                           .label = "add",
                           .expr = "y = x + 1",
                           .n_out = 1,
                           .out_args = args,
                           .inplace = &fresh,
                           .n_in = 1,
                           .in_args = args + 1,
                           .ins = &x,
                           .stretch = &none};
  GA_TRY(GpuPlan_elemwise(*plan, &y, &step));
  GA_TRY(GpuPlan_gemm(*plan, &y, "gemm", 1, y, cb_no_trans, y, cb_trans, 0, 0, false));
  return GpuPlan_output(*plan, y);
}

static int call(GpuPlan *p, gpucontext *ctx) {
  GpuArray given = {0}, made = {0};
  int failed;
  int status = GpuArray_zeros(&given, ctx, GA_FLOAT, 2, (size_t[]){64, 64}, GA_C_ORDER);
  if (status == GA_NO_ERROR)
    status = GpuPlan_call(p, (GpuArray *[]){&made}, (const GpuArray *[]){&given}, NULL,
                          &failed);
  GpuArray_clear(&given);
  GpuArray_clear(&made);
  return status;
}

static void test_a_call_waits_for_its_kernels(void) {
  gpucontext *ctx = open_cuda("cuda0");
  GpuPlan *p = NULL;
  mock->compile_time = 20000;
  CHECK_OK(build(&p, ctx));
  const long before = mock->compilations;
  CHECK_OK(GpuPlan_prepare_ahead(p));
  CHECK_OK(call(p, ctx));
  const long after = mock->compilations;
  CHECK(after >= before + 2); /* of the sums and of the product */
  CHECK_OK(call(p, ctx));
  CHECK(mock->compilations == after);
  GpuPlan_free(p);
  gpucontext_deref(ctx);
  mock->compile_time = 0;
  check_given_back();
}

/* The geometry of a user's kernel that a thread still compiles for a plan. */
static void test_a_kernel_that_is_not_there_yet(void) {
  static const char *text = "KERNEL void f(ga_size n) {}";
  const int type = GA_SIZE;
  const size_t counts[] = {1, 1000, 1 << 20};
  gpucontext *ctx = open_cuda("cuda0");
  GpuPlan *p = NULL;
  GpuKernel k;
  mock->compile_time = 200000;
  CHECK_OK(GpuPlan_new(&p, ctx, "needs a kernel"));
  CHECK_OK(GpuPlan_needs_kernel(p, text, "f"));
  CHECK_OK(GpuPlan_prepare_ahead(p));
  CHECK_OK(GpuKernel_init(&k, ctx, 1, &text, NULL, "f", 1, &type, 0, NULL));
  CHECK(!atomic_load(&k.k->is_open));
  for (int i = 0; i < 3; i++) {
    size_t groups = 0, items = 0, later = 0, many = 0;
    CHECK_OK(GpuKernel_sched(&k, counts[i], &groups, &items));
    CHECK(items > 0 && items <= MOCK_KERNEL_THREADS && groups * items >= counts[i]);
    CHECK(i > 0 || !atomic_load(&k.k->is_open)); /* nobody has waited for that */
    CHECK_OK(ga__kernel_ready(k.k));
    CHECK_OK(GpuKernel_sched(&k, counts[i], &later, &many));
    CHECK(later == groups && many == items);
  }
  size_t groups = 2, items = 0;
  CHECK_OK(GpuKernel_sched(&k, 4000, &groups, &items));
  CHECK(items == MOCK_KERNEL_THREADS);
  GpuKernel_clear(&k);
  GpuPlan_free(p);
  gpucontext_deref(ctx);
  mock->compile_time = 0;
  check_given_back();
}

/* Twice as many programs as there are processors, none of which the caller compiles. */
static void test_a_caller_compiles_nothing_while_threads_may(void) {
  const long n = 2 * sysconf(_SC_NPROCESSORS_ONLN);
  gpucontext *ctx = open_cuda("cuda0");
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "needs many kernels"));
  for (long i = 0; i < n; i++) {
    char name[32], text[64];
    snprintf(name, sizeof name, "f%ld", i);
    snprintf(text, sizeof text, "KERNEL void %s(ga_size n) {}", name);
    CHECK_OK(GpuPlan_needs_kernel(p, text, name));
  }
  mock->met = mock->alone = 0;
  mock->together = (int)n;
  CHECK_OK(GpuPlan_prepare_ahead(p));
  GpuPlan_free(p);
  gpucontext_deref(ctx);
  CHECK(mock->met == n && mock->alone == 0);
  mock->together = 0;
  check_given_back();
}

/* Threads that have ended are left to the end of the process, on purpose. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) {
  return "report_thread_leaks=0";
}

/* The status of a process that ends while its kernels are compiled. */
static int status_of_end(void) {
  int status = -1;
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    GpuPlan *p = NULL;
    gpucontext *ctx = open_cuda("cuda0");
    alarm(20);
    mock->compile_time = 200000;
    CHECK_OK(build(&p, ctx));
    CHECK_OK(GpuPlan_prepare_ahead(p));
    usleep(mock->compile_time / 4);
    exit(check_result("an end"));
  }
  waitpid(child, &status, 0);
  return status;
}

int main(void) {
  open_mock();
  CHECK(status_of_end() == 0); /* before this process has threads */
  test_a_call_waits_for_its_kernels();
  test_a_kernel_that_is_not_there_yet();
  test_a_caller_compiles_nothing_while_threads_may();
  return check_result("cuda ahead");
}
