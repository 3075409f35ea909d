/* What a launch costs from C: ours against the driver's own, same kernel, same process.
 *
 *   cc -O2 benchmarks/launch.c $(pkg-config --cflags --libs libgpuarray) -ldl -o launch
 *   ./launch            prints JSON: microseconds of the host for a launch
 *
 * A batch is short enough for the driver's queue never to be full, and the clock stops
 * before the wait, so that only the host's work counts. The best of many batches. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <gpuarray/kernel.h>

#define BATCH 200
#define BATCHES 300

typedef int (*driver_call)();

static const char *const ptx =
    ".version 6.0\n.target sm_60\n.address_size 64\n"
    ".visible .entry raw(.param .u64 p, .param .u64 offset, .param .u64 n) { ret; }\n";
static const char *const cluda =
    "KERNEL void ours(GLOBAL_MEM ga_float *p, ga_size offset, ga_size n) {}\n";

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static driver_call named(void *driver, const char *name) {
  driver_call call = (driver_call)dlsym(driver, name);
  if (call == NULL) {
    fprintf(stderr, "no %s\n", name);
    exit(1);
  }
  return call;
}

static void need(int status, const char *what) {
  if (status != 0) {
    fprintf(stderr, "%s: %d %s\n", what, status, gpuarray_error_text());
    exit(1);
  }
}

static double ours(gpucontext *ctx, GpuKernel *k, void **args) {
  size_t one = 1, threads = 32;
  double best = 1e9;
  for (int i = 0; i < BATCHES; i++) {
    double start = now();
    for (int j = 0; j < BATCH; j++)
      need(GpuKernel_call(k, 1, &one, &threads, 0, args), "GpuKernel_call");
    double spent = (now() - start) / BATCH;
    best = spent < best ? spent : best;
    need(gpucontext_sync(ctx), "sync");
  }
  return best;
}

static double raw(driver_call launch, driver_call sync, void *function, void *stream,
                  void **args) {
  double best = 1e9;
  for (int i = 0; i < BATCHES; i++) {
    double start = now();
    for (int j = 0; j < BATCH; j++)
      need(launch(function, 1u, 1u, 1u, 32u, 1u, 1u, 0u, stream, args, (void **)NULL),
           "cuLaunchKernel");
    double spent = (now() - start) / BATCH;
    best = spent < best ? spent : best;
    need(sync(stream), "cuStreamSynchronize");
  }
  return best;
}

int main(void) {
  const int types[] = {GA_BUFFER, GA_SIZE, GA_SIZE};
  gpucontext *ctx;
  GpuKernel kernel;
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  void *module, *function, *stream;
  if (driver == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  need(gpucontext_open(&ctx, "cuda0"), "open");
  const char *strings[] = {cluda};
  need(GpuKernel_init(&kernel, ctx, 1, strings, NULL, "ours", 3, types, 0, NULL),
       "GpuKernel_init");
  int status = 0;
  gpudata *buffer = gpudata_alloc(ctx, 1024, NULL, 0, &status);
  need(status, "gpudata_alloc");
  size_t offset = 0, n = 4;
  void *our_args[] = {buffer, &offset, &n};

  /* libgpuarray works in the device's primary context, which is current now. */
  need(named(driver, "cuModuleLoadData")(&module, ptx), "cuModuleLoadData");
  need(named(driver, "cuModuleGetFunction")(&function, module, "raw"),
       "cuModuleGetFunction");
  need(named(driver, "cuStreamCreate")(&stream, 0u), "cuStreamCreate");
  unsigned long long address = *(unsigned long long *)buffer;
  void *raw_args[] = {&address, &offset, &n};

  double first = ours(ctx, &kernel, our_args);
  double theirs = raw(named(driver, "cuLaunchKernel"),
                      named(driver, "cuStreamSynchronize"), function, stream, raw_args);
  double second = ours(ctx, &kernel, our_args);
  printf("{\"launch from C\": %.3f, \"cuLaunchKernel\": %.3f}\n",
         first < second ? first : second, theirs);
  gpudata_release(buffer);
  GpuKernel_clear(&kernel);
  gpucontext_deref(ctx);
  return 0;
}
