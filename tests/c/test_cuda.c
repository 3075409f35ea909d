/* The CUDA backend on a mock of the driver: devices, memory, kernels, errors. */
#include "scaling_kernel.h"

/* ---- drivers that do not serve ---- */

/* Runs in a process of its own, since a library is opened once. */
static void in_child(void (*test)(void)) {
  int status = 0;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    check_failures = 0;
    test();
    _exit(check_failures != 0);
  }
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void test_no_driver(void) {
  gpucontext *ctx = NULL;
  setenv("GPUARRAY_CUDA_DRIVER", "/no/such.so", 1);
  CHECK_STATUS(GA_LOAD_ERROR, gpucontext_open(&ctx, "cuda0"));
  CHECK_TEXT("the NVIDIA driver cannot be opened");
  CHECK_TEXT("GPUARRAY_CUDA_DRIVER");
  CHECK(strstr(gpuarray_search_report("cuda"), "/no/such.so") != NULL);
  size_t size;
  CHECK_OK(gpuarray_cuda_compile("", "sm_90", &size)); /* NVRTC needs no driver */
}

static void test_another_library(void) {
  gpucontext *ctx = NULL;
  setenv("GPUARRAY_CUDA_DRIVER", "libm.so.6", 1);
  CHECK_STATUS(GA_LOAD_ERROR, gpucontext_open(&ctx, "cuda0"));
  CHECK_TEXT("lacks the function cuInit");
}

static void test_a_driver_that_does_not_start(void) {
  gpucontext *ctx = NULL;
  mock->init = 803;
  CHECK_STATUS(GA_LOAD_ERROR, gpucontext_open(&ctx, "cuda"));
  CHECK_TEXT("the driver does not start: cuInit: error 803");
}

static void test_no_device(void) {
  gpucontext *ctx = NULL;
  unsigned int count = 7;
  mock->init = CUDA_ERROR_NO_DEVICE;
  CHECK_OK(gpu_get_device_count("cuda", 0, &count));
  CHECK(count == 0);
  CHECK_STATUS(GA_NODEV_ERROR, gpucontext_open(&ctx, "cuda0"));
}

/* ---- devices ---- */

static void test_devices(void) {
  gpucontext *ctx = NULL;
  unsigned int count = 0, processors;
  char id[16], name[256];
  CHECK_OK(gpu_get_device_count("cuda", 0, &count));
  CHECK(count == 2);
  CHECK_STATUS(GA_NODEV_ERROR, gpucontext_open(&ctx, "cuda7"));
  ctx = open_cuda("cuda1");
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_DEVNAME, name));
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_UNIQUE_ID, id));
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_NUMPROCS, &processors));
  CHECK(strcmp(name, "Mock 1") == 0 && strcmp(id, "0000:01:00.0") == 0);
  CHECK(processors == 132 && strncmp(ctx->info.bin_id, "sm_90 ", 6) == 0);
  CHECK(ctx->info.is_discrete_gpu && ctx->info.has_half && ctx->info.has_double);
  CHECK(strcmp(gpucontext_name(ctx), "cuda1") == 0);
  gpucontext_deref(ctx);
  CHECK(strstr(gpuarray_search_report("cuda"), "CUDA 13.0, devices: 2") != NULL);
  check_given_back();
}

/* The context that another library made current is current after every call of ours,
 * and none of ours is once it is gone. */
static void test_other_users_of_the_driver(void) {
  CUcontext theirs = NULL, now = NULL;
  gpucontext *ctx = open_cuda("cuda0");
  CHECK(ga__cuda.cuDevicePrimaryCtxRetain(&theirs, 1) == 0);
  CHECK(ga__cuda.cuCtxSetCurrent(theirs) == 0);
  char bytes[16] = "some";
  gpudata *b = gpudata_alloc(ctx, sizeof bytes, bytes, GA_BUFFER_INIT, NULL);
  CHECK_OK(gpudata_memset(b, 4, 1));
  CHECK_OK(gpudata_read(bytes, b, 0, sizeof bytes));
  CHECK(memcmp(bytes, "some\1\1", 6) == 0);
  ga__cuda.cuCtxGetCurrent(&now);
  CHECK(now == theirs);
  gpudata_release(b);
  gpucontext_deref(ctx);
  ga__cuda.cuCtxGetCurrent(&now);
  CHECK(now == theirs);
  ga__cuda.cuDevicePrimaryCtxRelease(1);
  ga__cuda.cuCtxSetCurrent(NULL);
  gpucontext_deref(open_cuda("cuda0"));
  ga__cuda.cuCtxGetCurrent(&now);
  CHECK(now == NULL);
  check_given_back();
}

/* ---- bytes ---- */

enum { BUFFER_SIZE = 6 << 20 };

static void *checked_alloc(size_t size) {
  void *block = calloc(size, 1);
  if (block == NULL)
    abort();
  return block;
}

static bool has_bytes(gpudata *b, const unsigned char *expected, unsigned char *space) {
  CHECK_OK(gpudata_read(space, b, 0, BUFFER_SIZE));
  return memcmp(space, expected, BUFFER_SIZE) == 0;
}

/* Writes pieces of many sizes and spoils their source at once, as a caller may. */
static void *write_pieces(void *context) {
  static atomic_uint seeds = 1;
  unsigned int seed = atomic_fetch_add(&seeds, 1);
  unsigned char *piece = checked_alloc(BUFFER_SIZE),
                *space = checked_alloc(BUFFER_SIZE);
  unsigned char *model = checked_alloc(BUFFER_SIZE);
  gpudata *b = gpudata_alloc(context, BUFFER_SIZE, NULL, 0, NULL);
  CHECK_OK(gpudata_memset(b, 0, 0));
  for (int i = 0; i < 150; i++) {
    size_t random = (size_t)rand_r(&seed);
    size_t size = random % 8 == 0 ? random % (5 << 20) : random % 70000;
    size_t offset = (size_t)rand_r(&seed) % (BUFFER_SIZE - size);
    memset(piece, (int)(random & 255), size);
    CHECK_OK(gpudata_write(b, offset, piece, size));
    memcpy(model + offset, piece, size);
    memset(piece, 0xee, size);
    if (i % 37 == 0)
      CHECK(has_bytes(b, model, space));
  }
  CHECK(has_bytes(b, model, space));
  gpudata_release(b);
  free(piece);
  free(space);
  free(model);
  return NULL;
}

static void read_a_byte(gpucontext *ctx) {
  unsigned char byte;
  gpudata *b = gpudata_alloc(ctx, 1, NULL, 0, NULL);
  CHECK_OK(gpudata_memset(b, 0, 5));
  CHECK_OK(gpudata_read(&byte, b, 0, 1));
  CHECK(byte == 5);
  gpudata_release(b);
}

static void test_writes_and_reads(void) {
  gpucontext *ctx = open_cuda("cuda0");
  pthread_t threads[3];
  for (int i = 0; i < 3; i++)
    CHECK(pthread_create(&threads[i], NULL, write_pieces, ctx) == 0);
  for (int i = 0; i < 3; i++)
    pthread_join(threads[i], NULL);
  read_a_byte(ctx);
  /* What large transfers went through goes, however many were at once. */
  CHECK_OK(gpucontext_trim(ctx));
  CHECK(mock->pinned == 2); /* for small writes and for small reads */
  gpucontext_deref(ctx);
  check_given_back();
}

/* A copy between devices waits for what made its source, and what changes the source
 * later waits for the copy. */
static void test_two_devices(void) {
  gpucontext *a = open_cuda("cuda0"), *b = open_cuda("cuda1");
  unsigned char got[100];
  gpudata *from = gpudata_alloc(a, 100, NULL, 0, NULL);
  gpudata *to = gpudata_alloc(b, 100, NULL, 0, NULL);
  long copies = mock->peer_copies;
  CHECK_OK(gpudata_memset(from, 0, 7));
  CHECK_OK(gpudata_transfer(to, 1, from, 0, 99));
  CHECK_OK(gpudata_memset(from, 0, 9));
  CHECK_OK(gpucontext_sync(a));
  CHECK_OK(gpudata_read(got, to, 1, 99));
  bool same = true;
  for (int i = 0; i < 99; i++)
    same = same && got[i] == 7;
  CHECK(same && mock->peer_copies == copies + 1);
  CHECK(mock->reached != NULL); /* the shortest way was asked for */
  CHECK_OK(gpudata_transfer(to, 0, from, 0, 1));
  CHECK_OK(gpudata_read(got, from, 0, 1));
  CHECK(got[0] == 9);
  gpudata_release(from);
  gpudata_release(to);
  gpucontext_deref(b);
  gpucontext_deref(a);
  check_given_back();
}

static void test_copies_on_a_device(void) {
  gpucontext *ctx = open_cuda("cuda0");
  unsigned char text[16] = "abcdefgh", got[16];
  gpudata *b = gpudata_alloc(ctx, sizeof text, text, GA_BUFFER_INIT, NULL);
  CHECK_OK(gpudata_move(b, 2, b, 0, 8)); /* they overlap */
  CHECK_OK(gpudata_read(got, b, 0, sizeof got));
  CHECK(memcmp(got, "ababcdefgh", 10) == 0);
  gpudata_release(b);
  gpucontext_deref(ctx);
  check_given_back();
}

/* ---- kernels ---- */

static void scale(const mock_launch *launch) {
  float *x, factor;
  memcpy(&x, &launch->args[0], sizeof x);
  memcpy(&factor, &launch->args[2], sizeof factor);
  for (int i = 0; i < 3; i++)
    x[launch->args[1] + (uint64_t)i] *= factor;
}

static void test_launches(void) {
  gpucontext *ctx = open_cuda("cuda0");
  GpuKernel k;
  float values[4] = {1, 2, 3, 4}, factor = 2.5f;
  size_t offset = 1, grid[2] = {3, 4}, block[2] = {5, 6}, threads;
  gpudata *b = gpudata_alloc(ctx, sizeof values, values, GA_BUFFER_INIT, NULL);
  void *args[] = {b, &offset, &factor};
  CHECK_OK(init_kernel(&k, ctx, scale_text, "scale"));
  CHECK(strcmp(mock->architecture, "sm_90") == 0);
  CHECK_OK(gpukernel_property(k.k, GA_KERNEL_PROP_MAXLSIZE, &threads));
  CHECK(threads == MOCK_KERNEL_THREADS);
  mock->run = scale;
  CHECK_OK(GpuKernel_call(&k, 2, grid, block, 100, args));
  factor = 0; /* both were taken when the launch was queued */
  offset = 0;
  CHECK_OK(gpudata_read(values, b, 0, sizeof values));
  mock->run = NULL;
  CHECK(values[0] == 1 && values[1] == 5 && values[2] == 7.5f && values[3] == 10);
  const mock_launch *l = &mock->queued;
  CHECK(strcmp(l->name, "scale") == 0 && l->n_args == 3 && l->shared == 100);
  CHECK(l->grid[0] == 3 && l->grid[1] == 4 && l->grid[2] == 1);
  CHECK(l->block[0] == 5 && l->block[1] == 6 && l->block[2] == 1);
  GpuKernel_clear(&k);
  gpudata_release(b);
  gpucontext_deref(ctx);
  check_given_back();
}

/* More dynamic shared memory than a kernel has without asking is asked for. */
static void test_shared_memory(void) {
  gpucontext *ctx = open_cuda("cuda0");
  const ga_backend *cuda = ctx->backend;
  void *program = NULL, *kernel = NULL;
  ga_strbuf log = {0};
  ga_launch launch = {.nd = 1, .grid = {1}, .block = {32}, .shared = 100000};
  CHECK_OK(cuda->compile(&program, ctx->device, "void f() {} void g() {}", &log));
  CHECK_OK(cuda->kernel(&kernel, ctx->device, program, "f", false));
  CHECK_OK(cuda->launch(ctx->device, kernel, &launch));
  /* What one launch needs is never taken from another thread's. */
  launch.shared = 60000;
  CHECK_OK(cuda->launch(ctx->device, kernel, &launch));
  launch.shared = 227 << 10;
  CHECK_OK(cuda->launch(ctx->device, kernel, &launch));
  CHECK(mock->limits == 1 && mock->lowered == 0);
  launch.shared++;
  CHECK_STATUS(GA_IMPL_ERROR, cuda->launch(ctx->device, kernel, &launch));
  cuda->kernel_free(ctx->device, kernel);
  CHECK_OK(cuda->kernel(&kernel, ctx->device, program, "g", false));
  mock->own_shared = 1000; /* which counts too */
  launch.shared = (48 << 10) - 1000;
  CHECK_OK(cuda->launch(ctx->device, kernel, &launch));
  CHECK(mock->limits == 1);
  launch.shared++;
  CHECK_OK(cuda->launch(ctx->device, kernel, &launch));
  CHECK(mock->limits == 2 && mock->lowered == 0);
  mock->own_shared = 0;
  CHECK(ctx->info.local_memory == 227 << 10);
  launch = (ga_launch){.nd = 3, .grid = {1, 1, 70000}, .block = {1, 1, 1}};
  CHECK_STATUS(GA_IMPL_ERROR, cuda->launch(ctx->device, kernel, &launch));
  CHECK_TEXT("cuLaunchKernel: CUDA_ERROR_INVALID_VALUE");
  CHECK_TEXT("grid 1 x 1 x 70000, block 1 x 1 x 1, 0 bytes of shared memory");
  CHECK_OK(gpucontext_sync(ctx)); /* a program is not unloaded under its kernels */
  cuda->kernel_free(ctx->device, kernel);
  cuda->unload(ctx->device, program);
  gpucontext_deref(ctx);
  check_given_back();
}

static void test_sources_that_do_not_compile(void) {
  gpucontext *ctx = open_cuda("cuda0");
  GpuKernel k;
  CHECK_STATUS(GA_IMPL_ERROR, init_kernel(&k, ctx, "WRONG", "f"));
  CHECK_TEXT("f does not compile for cuda0 (Mock 0):\nline 1: what is WRONG?");
  CHECK_STATUS(GA_VALUE_ERROR, init_kernel(&k, ctx, scale_text, "shrink"));
  CHECK_TEXT("no kernel named \"shrink\"");
  CHECK_STATUS(GA_COMPILE_ERROR, gpuarray_cuda_compile("WRONG", "sm_80", NULL));
  CHECK_TEXT("   1  WRONG");
  CHECK_STATUS(GA_DEVSUP_ERROR, gpuarray_cuda_compile("", "sm_103", NULL));
  CHECK_STATUS(GA_VALUE_ERROR, gpuarray_cuda_compile("", "sm90", NULL));
  gpucontext_deref(ctx);
  check_given_back();
}

/* Compiled programs as bytes, as the cache keeps them. */
static void test_binaries(void) {
  gpucontext *ctx = open_cuda("cuda0");
  const ga_backend *cuda = ctx->backend;
  void *program = NULL, *again = NULL, *kernel = NULL, *bytes = NULL;
  size_t size = 0;
  ga_strbuf log = {0};
  CHECK_OK(cuda->compile(&program, ctx->device, "void f() {}", &log));
  CHECK_OK(cuda->binary(&bytes, &size, ctx->device, program));
  CHECK_OK(cuda->load(&again, ctx->device, bytes, size));
  CHECK_OK(cuda->kernel(&kernel, ctx->device, again, "f", false));
  cuda->kernel_free(ctx->device, kernel);
  cuda->unload(ctx->device, again);
  cuda->unload(ctx->device, program);
  CHECK_STATUS(GA_COMPILE_ERROR, cuda->load(&again, ctx->device, "abc", 3));
  CHECK_STATUS(GA_COMPILE_ERROR, cuda->load(&again, ctx->device, "abc", 4));
  mock->capability = 80; /* the bytes are another device's */
  CHECK_STATUS(GA_COMPILE_ERROR, cuda->load(&again, ctx->device, bytes, size));
  mock->capability = 90;
  ga__free(bytes);
  gpucontext_deref(ctx);
  check_given_back();
}

static int compile_on(int capability, int newest) {
  GpuKernel k;
  mock->capability = capability;
  mock->newest = newest;
  gpucontext *ctx = open_cuda("cuda0");
  int status = init_kernel(&k, ctx, scale_text, "scale");
  if (status == GA_NO_ERROR)
    GpuKernel_clear(&k);
  gpucontext_deref(ctx);
  mock->capability = 90;
  mock->newest = 100;
  return status;
}

static void test_devices_that_the_compiler_does_not_know(void) {
  CHECK_OK(compile_on(120, 100));
  CHECK(strcmp(mock->architecture, "compute_100") == 0);
  CHECK_OK(compile_on(100, 90));
  CHECK(strcmp(mock->architecture, "compute_90") == 0);
  CHECK_STATUS(GA_DEVSUP_ERROR, compile_on(60, 100));
  CHECK_TEXT("NVRTC compiles for sm_75 and later, the device is sm_60");
  check_given_back();
}

int main(void) {
  open_mock();
  in_child(test_no_driver);
  in_child(test_another_library);
  in_child(test_a_driver_that_does_not_start);
  in_child(test_no_device);
  test_devices();
  test_other_users_of_the_driver();
  test_writes_and_reads();
  test_two_devices();
  test_copies_on_a_device();
  test_launches();
  test_shared_memory();
  test_sources_that_do_not_compile();
  test_binaries();
  test_devices_that_the_compiler_does_not_know();
  return check_result("cuda");
}
