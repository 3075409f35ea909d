/* Events of CUDA, and failures of its calls. */
#include "scaling_kernel.h"

/* ---- events ---- */

static void test_events(void) {
  gpucontext *ctx = open_cuda("cuda0");
  const ga_backend *cuda = ctx->backend;
  void *start = NULL, *end = NULL;
  double seconds = 0;
  gpudata *b = gpudata_alloc(ctx, 8, NULL, 0, NULL);
  CHECK_OK(cuda->event(&start, ctx->device, true));
  CHECK_OK(gpudata_memset(b, 0, 1));
  CHECK_OK(gpudata_memset(b, 0, 2));
  CHECK_OK(cuda->event(&end, ctx->device, true));
  CHECK_STATUS(GA_IMPL_ERROR, cuda->event_seconds(&seconds, ctx->device, start, end));
  CHECK_OK(cuda->event_wait(ctx->device, end));
  CHECK_OK(cuda->event_seconds(&seconds, ctx->device, start, end));
  CHECK(seconds > 0.0019 && seconds < 0.0021);
  cuda->event_free(ctx->device, start);
  cuda->event_free(ctx->device, end);
  gpudata_release(b);
  gpucontext_deref(ctx);
  check_given_back();
}

/* ---- failures ---- */

static void test_no_memory(void) {
  gpucontext *ctx = open_cuda("cuda0");
  int status = GA_NO_ERROR;
  CHECK(gpudata_alloc(ctx, (size_t)1 << 40, NULL, 0, &status) == NULL);
  CHECK(status == GA_MEMORY_ERROR);
  CHECK_TEXT("cuMemAlloc of 1099511627776 bytes: CUDA_ERROR_OUT_OF_MEMORY: out of");
  CHECK_OK(gpucontext_sync(ctx));
  gpucontext_deref(ctx);
  check_given_back();
}

/* Memory goes back to the driver only when nothing queued uses it. */
static void test_memory_given_back_early(void) {
  gpucontext *ctx = open_cuda("cuda0");
  gpudata *b = gpudata_alloc(ctx, 1000, NULL, 0, NULL);
  CHECK_OK(gpudata_memset(b, 0, 1));
  gpudata_release(b);
  CHECK_OK(gpucontext_trim(ctx));
  CHECK(mock->allocations == 0);
  CHECK_OK(gpucontext_sync(ctx));
  gpucontext_deref(ctx);
  check_given_back();
}

/* A kernel's fault shows in the first call that waits; then the context is lost, and
 * another device is not. */
static void test_a_kernel_that_faults(void) {
  gpucontext *ctx = open_cuda("cuda0"), *other = open_cuda("cuda1");
  GpuKernel k;
  float factor = 1;
  size_t offset = 0, one = 1;
  gpudata *b = gpudata_alloc(ctx, 16, NULL, 0, NULL);
  void *args[] = {b, &offset, &factor};
  char byte;
  CHECK_OK(init_kernel(&k, ctx, scale_text, "scale"));
  mock->fault = CUDA_ERROR_ILLEGAL_ADDRESS;
  CHECK_OK(GpuKernel_call(&k, 1, &one, &one, 0, args));
  CHECK_STATUS(GA_RUN_ERROR, gpucontext_sync(ctx));
  CHECK_TEXT("CUDA_ERROR_ILLEGAL_ADDRESS");
  CHECK_STATUS(GA_LOST_ERROR, gpudata_read(&byte, b, 0, 1));
  CHECK_TEXT("The first cause: cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS");
  CHECK_STATUS(GA_LOST_ERROR, GpuKernel_call(&k, 1, &one, &one, 0, args));
  CHECK_OK(gpucontext_sync(other));
  GpuKernel_clear(&k);
  gpudata_release(b);
  gpucontext_deref(ctx);
  gpucontext_deref(other);
  check_given_back();
  ctx = open_cuda("cuda0"); /* the device is well again once its last user is gone */
  CHECK_OK(gpucontext_sync(ctx));
  gpucontext_deref(ctx);
}

/* Something of everything; the first failure. */
static int use(gpucontext *ctx, gpucontext *other) {
  GpuKernel k;
  unsigned char bytes[64] = {0};
  float factor = 1;
  size_t offset = 0, one = 1;
  gpudata *b = NULL, *far = NULL;
  int status = init_kernel(&k, ctx, scale_text, "scale");
  if (status != GA_NO_ERROR)
    return status;
  b = gpudata_alloc(ctx, sizeof bytes, bytes, GA_BUFFER_INIT, &status);
  if (b)
    far = gpudata_alloc(other, sizeof bytes, NULL, 0, &status);
  if (far)
    status = gpudata_memset(b, 0, 3);
  if (status == GA_NO_ERROR)
    status = GpuKernel_call(&k, 1, &one, &one, 0, (void *[]){b, &offset, &factor});
  if (status == GA_NO_ERROR)
    status = gpudata_move(b, 0, b, 32, 32);
  if (status == GA_NO_ERROR)
    status = gpudata_transfer(far, 0, b, 0, sizeof bytes);
  if (status == GA_NO_ERROR)
    status = gpudata_read(bytes, far, 0, sizeof bytes);
  if (status == GA_NO_ERROR)
    CHECK(bytes[0] == 3 && bytes[63] == 3);
  GpuKernel_clear(&k);
  gpudata_release(b);
  gpudata_release(far);
  return status;
}

static int scenario(void) {
  gpucontext *ctx = NULL, *other = NULL;
  int status = gpucontext_open(&ctx, "cuda0");
  if (status == GA_NO_ERROR)
    status = gpucontext_open(&other, "cuda1");
  if (status == GA_NO_ERROR)
    status = use(ctx, other);
  gpucontext_deref(other);
  gpucontext_deref(ctx);
  return status;
}

/* Each call of the driver fails in turn: the scenario reports it and gives everything
 * back, until no call is left to fail. A failure of NVRTC is GA_IMPL_ERROR; allocations
 * are tried again, and what fails while a context is closed is passed over. */
static void test_each_call_fails(void) {
  const int failures[] = {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_LAUNCH_FAILED, 999};
  const int reported[] = {GA_MEMORY_ERROR, GA_RUN_ERROR, GA_IMPL_ERROR};
  for (int kind = 0; kind < 3; kind++) {
    int n = 0, passed = 0;
    mock->fail_with = failures[kind];
    for (bool is_over = false; !is_over; n++) {
      mock->fail_at = n;
      int status = scenario();
      is_over = mock->fail_at >= 0;
      mock->fail_at = -1;
      CHECK(status == reported[kind] || status == GA_IMPL_ERROR ||
            status == GA_NO_ERROR);
      passed += status == GA_NO_ERROR;
      check_given_back();
    }
    CHECK(n > 40 && passed <= 8);
  }
}

int main(void) {
  open_mock();
  test_events();
  test_no_memory();
  test_memory_given_back_early();
  test_a_kernel_that_faults();
  test_each_call_fails();
  return check_result("cuda failures");
}
