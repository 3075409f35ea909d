/* Contexts: names, properties, the limit, loss of a device, forks. */
#include "null_context.h"

#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_names(void) {
  gpucontext *ctx = NULL;
  const char *const wrong[] = {"cud",
                               "cuda0:1",
                               "cuda-1",
                               "opencl0",
                               "opencl0:",
                               "opencl:0",
                               "opencl0:1x",
                               "null0",
                               "nvidia",
                               " cuda",
                               "opencl0:99999999999999999999",
                               "cuda 0",
                               "CUDA0"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    CHECK_STATUS(GA_INVALID_ERROR, gpucontext_open(&ctx, wrong[i]));
    CHECK_TEXT(wrong[i]);
    CHECK_TEXT("\"opencl0:1\" (platform and device)");
  }
  CHECK(ctx == NULL);
  CHECK_STATUS(GA_VALUE_ERROR, gpucontext_open(NULL, "null"));
  CHECK_STATUS(GA_INVALID_ERROR, gpucontext_init(&ctx, "nvidia", NULL));
  CHECK_TEXT("expected one of cuda, opencl, null");
  int status = gpucontext_open(&ctx, "cuda4000000");
  CHECK(status == GA_NODEV_ERROR || status == GA_LOAD_ERROR);
  CHECK_TEXT("python -m gpuarray.doctor");
  CHECK(ctx == NULL);
}

static void test_default_device(void) {
  gpucontext *ctx = NULL;
  setenv("GPUARRAY_DEVICE", "null", 1);
  CHECK_OK(gpucontext_open(&ctx, NULL));
  CHECK(strcmp(gpucontext_name(ctx), "null") == 0);
  gpucontext_deref(ctx);
  CHECK_OK(gpucontext_open(&ctx, ""));
  gpucontext_deref(ctx);
  setenv("GPUARRAY_DEVICE", "gpu", 1);
  CHECK_STATUS(GA_INVALID_ERROR, gpucontext_open(&ctx, NULL));
  CHECK_TEXT("GPUARRAY_DEVICE: \"gpu\"");
  unsetenv("GPUARRAY_DEVICE");
}

static void test_counts(void) {
  unsigned int n = 0;
  CHECK_OK(gpu_get_platform_count("null", &n));
  CHECK(n == 1);
  CHECK_OK(gpu_get_device_count("null", 0, &n));
  CHECK(n == 1);
  CHECK_STATUS(GA_NODEV_ERROR, gpu_get_device_count("null", 1, &n));
  CHECK_STATUS(GA_INVALID_ERROR, gpu_get_platform_count("vulkan", &n));
  CHECK_STATUS(GA_VALUE_ERROR, gpu_get_platform_count(NULL, &n));
  CHECK(strstr(gpuarray_search_report("null"), "always there") != NULL);
  CHECK(strcmp(gpuarray_search_report("vulkan"), "") == 0);
}

static void test_props(void) {
  gpucontext_props *p;
  gpucontext *ctx;
  gpucontext_memory info;
  CHECK_OK(gpucontext_props_new(&p));
  CHECK_STATUS(GA_INVALID_ERROR, gpucontext_props_sched(p, 3));
  CHECK_OK(gpucontext_props_sched(p, GA_CTX_SCHED_MULTI));
  CHECK_OK(gpucontext_props_set_single_stream(p));
  CHECK_STATUS(GA_VALUE_ERROR, gpucontext_props_alloc_cache(p, 2, 1));
  CHECK_OK(gpucontext_props_alloc_cache(p, 4096, 8192));
  char folder[] = "/no/such";
  CHECK_OK(gpucontext_props_kernel_cache(p, folder));
  folder[1] = 'x'; /* the text was copied */
  CHECK_OK(gpucontext_init(&ctx, "null", p));
  CHECK(strcmp(ctx->cache.folder, "/no/such") == 0);
  CHECK_OK(gpucontext_memory_info(ctx, &info));
  CHECK(info.cached == 4096 && info.limit == 8192 && info.live == 0);
  gpucontext_deref(ctx);
  gpucontext_props_del(NULL);
  CHECK_OK(gpucontext_props_new(&p));
  gpucontext_props_del(p);
  CHECK_STATUS(GA_VALUE_ERROR, gpucontext_props_cuda_dev(NULL, 0));
}

static void test_properties(void) {
  gpucontext *ctx = open_null();
  char name[256], bus[16];
  size_t size;
  unsigned int n;
  int yes;
  const char *text;
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_DEVNAME, name));
  CHECK(strncmp(name, "null", 4) == 0);
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_MAXLSIZE2, &size));
  CHECK(size == 64);
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_MAXGSIZE1, &size));
  CHECK(size == 65535);
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_FREE_GMEM, &size));
  CHECK(size == SIZE_MAX / 4);
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_NUMPROCS, &n));
  CHECK(n == 132);
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_HAS_DOUBLE, &yes));
  CHECK(yes == 1);
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_BIN_ID, &text));
  CHECK(strcmp(text, "null") == 0);
  CHECK_STATUS(GA_DEVSUP_ERROR, gpucontext_property(ctx, GA_CTX_PROP_UNIQUE_ID, bus));
  CHECK_STATUS(GA_VALUE_ERROR, gpucontext_property(ctx, GA_BUFFER_PROP_SIZE, &size));
  CHECK_STATUS(GA_INVALID_ERROR, gpucontext_property(ctx, 2, &size));
  CHECK_STATUS(GA_VALUE_ERROR, gpucontext_property(NULL, 1, name));
  CHECK_STATUS(GA_VALUE_ERROR, gpucontext_sync(NULL));
  CHECK_STATUS(GA_VALUE_ERROR, gpucontext_set_blocking(NULL, 1));
  CHECK(gpucontext_blocking(NULL) == 0 && gpucontext_blocking(ctx) == 0);
  CHECK_OK(gpucontext_set_blocking(ctx, 3));
  CHECK(gpucontext_blocking(ctx) == 1);
  CHECK_OK(gpucontext_set_blocking(ctx, 0));
  CHECK(gpucontext_blocking(ctx) == 0);
  CHECK(gpucontext_error(ctx, 0) == gpuarray_error_text());
  CHECK_OK(ga__context_supports(ctx, GA_DOUBLE, "empty"));
  ctx->info.has_double = false;
  CHECK_STATUS(GA_DEVSUP_ERROR, ga__context_supports(ctx, GA_DOUBLE, "empty"));
  CHECK_TEXT(
      "empty: null (null (host memory, runs no kernel)) has no double precision");
  CHECK_STATUS(GA_DEVSUP_ERROR, ga__context_supports(ctx, GA_CDOUBLE, "empty"));
  CHECK_TEXT("has no double precision, which complex128 needs; use complex64");
  CHECK_OK(ga__context_supports(ctx, GA_CFLOAT, "empty"));
  CHECK_OK(ga__context_supports(ctx, GA_BFLOAT16, "empty"));
  CHECK(ga__context_blas(ctx) == NULL);
  gpucontext_deref(ctx);
}

static void test_references(void) {
  gpucontext *ctx = open_null();
  gpucontext_retain(ctx);
  gpucontext_deref(ctx);
  CHECK_OK(gpucontext_sync(ctx));
  gpucontext_deref(ctx);
}

static int failing_wait(void *device) {
  (void)device;
  return GA_FAIL(GA_RUN_ERROR, "the kernel read outside of memory");
}

static void test_a_lost_context_says_so(void) {
  gpucontext *ctx = open_null();
  int status = 0;
  gpudata *b = gpudata_alloc(ctx, 16, NULL, 0, &status);
  hooked.wait = failing_wait;
  CHECK_STATUS(GA_RUN_ERROR, gpudata_sync(b));
  hooked.wait = ga__null_backend.wait;
  char byte = 0;
  CHECK_STATUS(GA_LOST_ERROR, gpudata_read(&byte, b, 0, 1));
  CHECK_TEXT("the context null is lost");
  CHECK_TEXT("the kernel read outside of memory");
  CHECK_STATUS(GA_LOST_ERROR, gpucontext_sync(ctx));
  CHECK(gpudata_alloc(ctx, 1, NULL, 0, &status) == NULL && status == GA_LOST_ERROR);
  gpudata_release(b);
  gpucontext_deref(ctx);
}

/* What the child of a fork gets from a context of its parent. */
static int after_fork(gpucontext *ctx, gpudata *b) {
  gpucontext *own;
  char byte;
  CHECK_STATUS(GA_FORK_ERROR, gpudata_read(&byte, b, 0, 1));
  CHECK_TEXT("forked");
  CHECK_STATUS(GA_FORK_ERROR, gpucontext_sync(ctx));
  CHECK_OK(gpucontext_open(&own, "null"));
  CHECK_OK(gpucontext_sync(own));
  gpucontext_deref(own);
  gpudata_release(b);
  gpucontext_deref(ctx);
  return check_failures != 0;
}

static void test_fork(void) {
  gpucontext *ctx = open_null();
  gpudata *b = gpudata_alloc(ctx, 16, NULL, 0, NULL);
  int result = 1;
  pid_t child = fork();
  if (child == 0)
    _exit(after_fork(ctx, b));
  CHECK(waitpid(child, &result, 0) == child);
  CHECK(WIFEXITED(result) && WEXITSTATUS(result) == 0);
  CHECK_OK(gpucontext_sync(ctx));
  gpudata_release(b);
  gpucontext_deref(ctx);
}

int main(void) {
  setenv("GPUARRAY_CACHE_DIR", "", 1);
  test_names();
  test_default_device();
  test_counts();
  test_props();
  test_properties();
  test_references();
  test_a_lost_context_says_so();
  test_fork();
  return check_result("context");
}
