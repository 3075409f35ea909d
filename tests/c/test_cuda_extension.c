/* gpuarray/ext_cuda.h on the mock of CUDA, as a program that uses CUDA itself sees it:
 * through public headers only. */
#include <dlfcn.h>
#include <gpuarray/ext_cuda.h>

#include "check.h"

/* The driver's functions that the program calls itself. */
static int (*mem_alloc)(CUdeviceptr *memory, size_t size);
static int (*mem_free)(CUdeviceptr memory);
static int (*fill)(CUdeviceptr memory, unsigned char byte, size_t size,
                   CUstream stream);
static int (*get_current)(CUcontext *ctx);
static int (*retain)(CUcontext *ctx, int device);
static int (*release)(int device);
static int (*set_current)(CUcontext ctx);

static void find(void *out, void *library, const char *name) {
  void *symbol = dlsym(library, name);
  CHECK(symbol != NULL);
  memcpy(out, &symbol, sizeof symbol);
}

static void open_driver(void) {
  const char *path = getenv("GPUARRAY_CUDA_DRIVER");
  void *library = path ? dlopen(path, RTLD_NOW) : NULL;
  if (library == NULL) {
    fprintf(stderr, "GPUARRAY_CUDA_DRIVER does not name the mock; ctest sets it\n");
    exit(1);
  }
  setenv("GPUARRAY_NVRTC", path, 1);
  setenv("GPUARRAY_CACHE_DIR", "", 1);
  find(&mem_alloc, library, "cuMemAlloc_v2");
  find(&mem_free, library, "cuMemFree_v2");
  find(&fill, library, "cuMemsetD8Async");
  find(&get_current, library, "cuCtxGetCurrent");
  find(&retain, library, "cuDevicePrimaryCtxRetain");
  find(&release, library, "cuDevicePrimaryCtxRelease_v2");
  find(&set_current, library, "cuCtxSetCurrent");
}

static void test_names(void) {
  const char *const names[] = {
      "cuda_enter",          "cuda_exit",   "cuda_make_ctx", "cuda_get_stream",
      "cuda_make_buf",       "cuda_get_sz", "cuda_wait",     "cuda_record",
      "cuda_get_ipc_handle", "cl_make_ctx", "cl_get_stream", "cuda_open_ipc_handle",
      "cl_make_buf",         "cl_get_buf",  "cl_use_stream", "cuda_get_device"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    CHECK(gpuarray_get_extension(names[i]) != NULL);
  CHECK(gpuarray_get_extension("cuda_fly") == NULL);
  CHECK(gpuarray_get_extension(NULL) == NULL);
  CHECK(cuda_enter == NULL);
  setup_ext_cuda();
  CHECK(cuda_enter && cuda_exit && cuda_make_ctx && cuda_get_stream && cuda_make_buf &&
        cuda_get_sz && cuda_wait && cuda_record && cuda_get_ipc_handle &&
        cuda_open_ipc_handle && cuda_get_device);
}

/* Work of one's own on the library's stream, on memory of one's own. */
static void test_work_of_ones_own(gpucontext *ctx) {
  CUcontext before = NULL, inside = NULL, after = NULL;
  CUdeviceptr memory = 0;
  unsigned char bytes[32] = {0};
  get_current(&before);
  cuda_enter(ctx);
  cuda_enter(ctx); /* may be nested */
  get_current(&inside);
  CHECK(inside != NULL);
  CHECK(mem_alloc(&memory, sizeof bytes) == 0);
  gpudata *b = cuda_make_buf(ctx, memory, sizeof bytes);
  CHECK(b != NULL && cuda_get_sz(b) == sizeof bytes);
  CHECK_OK(gpudata_memset(b, 0, 1));
  CHECK_OK(cuda_wait(b, GPUARRAY_CUDA_WAIT_READ | GPUARRAY_CUDA_WAIT_WRITE));
  CHECK(fill(memory + 1, 2, 3, cuda_get_stream(ctx)) == 0);
  CHECK_OK(cuda_record(b, GPUARRAY_CUDA_WAIT_WRITE));
  cuda_exit(ctx);
  get_current(&inside);
  CHECK(inside != NULL);
  CHECK_OK(gpudata_read(bytes, b, 0, sizeof bytes));
  CHECK(bytes[0] == 1 && bytes[1] == 2 && bytes[3] == 2 && bytes[4] == 1);
  gpudata_release(b); /* the memory is not the library's */
  CHECK(fill(memory, 7, sizeof bytes, cuda_get_stream(ctx)) == 0);
  CHECK_OK(gpucontext_sync(ctx));
  CHECK(mem_free(memory) == 0);
  cuda_exit(ctx);
  get_current(&after);
  CHECK(after == before);
}

static void test_views_of_the_same_memory(gpucontext *ctx) {
  int status = GA_NO_ERROR;
  gpudata *whole = gpudata_alloc(ctx, 64, NULL, 0, NULL);
  GpuArrayIpcMemHandle handle;
  CHECK_OK(cuda_get_ipc_handle(whole, &handle));
  gpudata *again = cuda_open_ipc_handle(ctx, &handle, 64);
  CHECK(again != NULL && gpudata_share(whole, again, &status) == 1);
  CHECK_OK(gpudata_memset(again, 0, 3));
  CHECK_STATUS(GA_VALUE_ERROR, cuda_get_ipc_handle(whole, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, cuda_get_ipc_handle(NULL, &handle));
  CHECK(cuda_open_ipc_handle(ctx, NULL, 64) == NULL);
  gpudata_release(again);
  gpudata_release(whole);
}

/* A handle would be of the whole allocation. */
static void test_a_part_of_an_allocation_has_no_handle(gpucontext *ctx) {
  CUdeviceptr memory = 0;
  GpuArrayIpcMemHandle handle;
  cuda_enter(ctx);
  CHECK(mem_alloc(&memory, 64) == 0);
  gpudata *part = cuda_make_buf(ctx, memory + 8, 32);
  CHECK(part != NULL);
  CHECK_STATUS(GA_VALUE_ERROR, cuda_get_ipc_handle(part, &handle));
  CHECK_TEXT("begins 8 bytes within an allocation");
  gpudata_release(part);
  CHECK_OK(gpucontext_sync(ctx));
  CHECK(mem_free(memory) == 0);
  cuda_exit(ctx);
}

static void test_the_device_of_an_address(gpucontext *ctx) {
  CUdeviceptr memory = 0;
  int number = -1;
  cuda_enter(ctx);
  CHECK(mem_alloc(&memory, 16) == 0);
  CHECK_OK(cuda_get_device(memory, &number));
  CHECK(number == 0);
  CHECK(mem_free(memory) == 0);
  CHECK_STATUS(GA_VALUE_ERROR, cuda_get_device(memory, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, cuda_get_device(16, &number));
  CHECK_TEXT("0x10 is not CUDA memory");
  cuda_exit(ctx);
}

/* A context of the program's own, which outlives ours. */
static void test_adopted_contexts(void) {
  CUcontext theirs = NULL, now = NULL;
  CHECK(retain(&theirs, 1) == 0 && set_current(theirs) == 0);
  gpucontext_props *props = NULL;
  CHECK_OK(gpucontext_props_new(&props));
  CHECK_OK(gpucontext_props_set_single_stream(props));
  gpucontext *ctx = cuda_make_ctx(theirs, props);
  gpucontext_props_del(props); /* stays the caller's */
  CHECK(ctx != NULL && strcmp(gpucontext_name(ctx), "cuda1") == 0);
  int status = GA_NO_ERROR;
  gpudata *b = gpudata_alloc(ctx, 16, NULL, 0, &status);
  CHECK_OK(gpudata_memset(b, 0, 1));
  CHECK_OK(gpucontext_sync(ctx));
  gpudata_release(b);
  gpucontext_deref(ctx);
  get_current(&now);
  CHECK(now == theirs && set_current(theirs) == 0); /* it still lives */
  CHECK(cuda_make_ctx(NULL, NULL) == NULL);
  CHECK_TEXT("no CUcontext");
  set_current(NULL);
  release(1);
}

static void test_other_contexts(void) {
  gpucontext *null = NULL;
  CHECK_OK(gpucontext_open(&null, "null"));
  gpudata *b = gpudata_alloc(null, 8, NULL, 0, NULL);
  cuda_enter(null);
  cuda_exit(null);
  CHECK(cuda_get_stream(null) == NULL && cuda_make_buf(null, 0, 8) == NULL);
  CHECK_TEXT("null is not a CUDA context");
  CHECK(cuda_get_sz(b) == 0);
  CHECK_STATUS(GA_INVALID_ERROR, cuda_wait(b, GPUARRAY_CUDA_WAIT_READ));
  CHECK_STATUS(GA_INVALID_ERROR, cuda_record(b, GPUARRAY_CUDA_WAIT_READ));
  CHECK(cuda_open_ipc_handle(null, NULL, 8) == NULL);
  gpudata_release(b);
  gpucontext_deref(null);
}

int main(void) {
  gpucontext *ctx = NULL;
  open_driver();
  test_names();
  CHECK_OK(gpucontext_open(&ctx, "cuda0"));
  if (ctx == NULL)
    return 1;
  test_work_of_ones_own(ctx);
  test_views_of_the_same_memory(ctx);
  test_a_part_of_an_allocation_has_no_handle(ctx);
  test_the_device_of_an_address(ctx);
  gpucontext_deref(ctx);
  test_adopted_contexts();
  test_other_contexts();
  return check_result("cuda extension");
}
