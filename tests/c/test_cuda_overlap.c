/* Which launches of a graph may start beside the one before them, on a mock of the
 * driver: those of kernels that begin by KERNEL_BEGIN, behind one kernel. The mock
 * refuses others. */
#include "mock_context.h"

#include <gpuarray/kernel.h>

#define KERNEL_TEXT(begin)                                                             \
  "KERNEL void f(GLOBAL_MEM ga_ubyte *x) {\n  " begin "x[0]++; }"
#define SIZE 64

static const char waiting[] = KERNEL_TEXT("KERNEL_BEGIN;\n");
static const char plain[] = KERNEL_TEXT("");

typedef struct rig {
  gpucontext *ctx;
  GpuKernel waits, waits_not;
  gpudata *x, *y;
} rig;

static void open_kernel(GpuKernel *k, gpucontext *ctx, const char *text) {
  const int types[] = {GA_BUFFER};
  CHECK_OK(GpuKernel_init(k, ctx, 1, &text, NULL, "f", 1, types, 0, NULL));
}

static void open_rig(rig *r) {
  r->ctx = open_cuda("cuda0");
  open_kernel(&r->waits, r->ctx, waiting);
  open_kernel(&r->waits_not, r->ctx, plain);
  r->x = gpudata_alloc(r->ctx, SIZE, NULL, 0, NULL);
  r->y = gpudata_alloc(r->ctx, SIZE, NULL, 0, NULL);
  CHECK_OK(gpudata_memset(r->x, 0, 0));
  CHECK_OK(gpudata_memset(r->y, 0, 0));
  mock->overlaps = 0;
}

static void close_rig(rig *r) {
  gpudata_release(r->x);
  gpudata_release(r->y);
  GpuKernel_clear(&r->waits);
  GpuKernel_clear(&r->waits_not);
  gpucontext_deref(r->ctx);
  check_given_back();
}

/* Queues a launch; gives whether it overlaps what is before it. */
static bool overlaps(const rig *r, const GpuKernel *k) {
  GpuKernel copy = *k;
  const size_t one = 1;
  CHECK_OK(GpuKernel_call(&copy, 1, &one, &one, 0, (void *[]){r->x}));
  return mock->queued.overlaps;
}

static void begin(const rig *r, unsigned int lanes) {
  CHECK_OK(r->ctx->backend->graph_begin(r->ctx->device, lanes));
}

static void end(const rig *r) {
  const ga_backend *cuda = r->ctx->backend;
  void *graph = NULL;
  const long before = mock->launches;
  CHECK_OK(cuda->graph_end(&graph, r->ctx->device));
  CHECK_OK(cuda->graph_launch(r->ctx->device, graph));
  CHECK_OK(gpucontext_sync(r->ctx));
  CHECK(mock->launches > before);
  cuda->graph_free(r->ctx->device, graph);
}

/* Launches two in a graph; gives whether the second overlaps. */
static bool second_overlaps(const rig *r, const GpuKernel *k) {
  begin(r, 0);
  CHECK(!overlaps(r, k));
  const bool found = overlaps(r, k);
  end(r);
  return found;
}

static void test_a_kernel_that_waits(void) {
  rig r;
  open_rig(&r);
  for (int i = 0; i < 2; i++)
    CHECK(!overlaps(&r, &r.waits)); /* no graph */
  begin(&r, 0);
  CHECK(!overlaps(&r, &r.waits)); /* the first */
  CHECK(overlaps(&r, &r.waits));
  CHECK(!overlaps(&r, &r.waits_not));
  CHECK(overlaps(&r, &r.waits));
  end(&r);
  CHECK(mock->overlaps == 2);
  CHECK(!overlaps(&r, &r.waits));
  close_rig(&r);
}

static void test_what_is_no_kernel(void) {
  rig r;
  open_rig(&r);
  begin(&r, 0);
  CHECK(!overlaps(&r, &r.waits));
  CHECK_OK(gpudata_memset(r.y, 0, 1));
  CHECK(!overlaps(&r, &r.waits));
  CHECK_OK(gpudata_move(r.x, 0, r.y, 0, SIZE));
  CHECK(!overlaps(&r, &r.waits));
  CHECK(overlaps(&r, &r.waits));
  end(&r);
  close_rig(&r);
}

static void next(const rig *r, unsigned int n, const unsigned int *after) {
  CHECK_OK(r->ctx->backend->graph_next(r->ctx->device, n, after, 0));
}

static void test_branches(void) {
  const unsigned int first = 0, both[] = {1, 2}, joined = 3;
  rig r;
  open_rig(&r);
  begin(&r, 1);
  next(&r, 0, NULL);
  CHECK(!overlaps(&r, &r.waits));
  next(&r, 1, &first);
  CHECK(overlaps(&r, &r.waits));
  next(&r, 1, &first);
  CHECK(overlaps(&r, &r.waits));
  next(&r, 2, both);
  CHECK(!overlaps(&r, &r.waits));
  next(&r, 1, &joined);
  CHECK(overlaps(&r, &r.waits));
  next(&r, 0, NULL);
  CHECK(!overlaps(&r, &r.waits));
  end(&r);
  close_rig(&r);
}

static void test_conditions(void) {
  rig r;
  open_rig(&r);
  const ga_backend *cuda = r.ctx->backend;
  void *device = r.ctx->device;
  CHECK(cuda->graph_chooses(device));
  begin(&r, 0);
  CHECK(!overlaps(&r, &r.waits));
  CHECK_OK(cuda->graph_if(device, ga__buffer_memory(r.y), 0, 4));
  CHECK(!mock->queued.overlaps); /* what tells the node */
  CHECK(!overlaps(&r, &r.waits));
  CHECK(overlaps(&r, &r.waits));
  CHECK_OK(cuda->graph_else(device));
  CHECK(!overlaps(&r, &r.waits));
  CHECK(overlaps(&r, &r.waits));
  CHECK_OK(cuda->graph_end_if(device));
  CHECK(!overlaps(&r, &r.waits));
  CHECK(overlaps(&r, &r.waits));
  end(&r);
  close_rig(&r);
}

/* Kernels of devices, compilers and drivers that do not know of it. */
static void test_what_is_too_old(void) {
  const struct {
    int capability, newest, version;
    bool overlaps;
  } cases[] = {{90, 100, 12030, true},
               {100, 90, 13000, true},
               {89, 89, 13000, false},
               {90, 86, 13000, false},
               {90, 100, 12020, false}};
  const mock_cuda before = *mock;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    rig r;
    mock->capability = cases[i].capability;
    mock->newest = cases[i].newest;
    mock->version = cases[i].version;
    open_rig(&r);
    CHECK(second_overlaps(&r, &r.waits) == cases[i].overlaps);
    close_rig(&r);
  }
  mock->capability = before.capability;
  mock->newest = before.newest;
  mock->version = before.version;
}

static void test_a_driver_without_a_function(void) {
  const ga_cuda_api before = ga__cuda;
  for (int i = 0; i < 3; i++) {
    rig r;
    if (i == 0)
      ga__cuda.cuLaunchKernelEx = NULL;
    else if (i == 1)
      ga__cuda.cuGraphNodeGetType = NULL;
    else
      ga__cuda.cuStreamGetCaptureInfo = NULL;
    open_rig(&r);
    CHECK(!second_overlaps(&r, &r.waits));
    close_rig(&r);
    ga__cuda = before;
  }
}

static void test_calls_that_fail(void) {
  rig r;
  open_rig(&r);
  mock->fail_with = 402; /* CUDA_ERROR_LOSSY_QUERY */
  begin(&r, 0);
  CHECK(!overlaps(&r, &r.waits));
  for (int call = 0; call < 2; call++) { /* it does without */
    mock->fail_at = call;
    CHECK(!overlaps(&r, &r.waits));
    CHECK(mock->fail_at < 0);
  }
  CHECK(overlaps(&r, &r.waits));
  end(&r);
  close_rig(&r);
}

int main(int argc, char **argv) {
  (void)argc;
  open_mock();
  test_a_kernel_that_waits();
  test_what_is_no_kernel();
  test_branches();
  test_conditions();
  test_what_is_too_old();
  test_a_driver_without_a_function();
  test_calls_that_fail();
  return check_result(argv[0]);
}
