/* What a launch costs from C: ours against the driver's own, of kernels that do nothing,
 * in the same process.
 *
 *   cc -O2 benchmarks/launch.c $(pkg-config --cflags --libs libgpuarray) -ldl -o launch
 *   ./launch CONTEXT    prints JSON: microseconds of the host for a launch
 *
 * CONTEXT is cuda0, opencl1:0 and the like. A batch is short enough for the driver's
 * queue never to be full, and the clock stops before the wait, so that only the host's
 * work counts. The best of many batches. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gpuarray/kernel.h>

#define BATCH 200
#define BATCHES 300
#define THREADS 32

typedef int (*driver_call)();
typedef void *(*driver_maker)();

static const char *const ptx =
    ".version 6.0\n.target sm_60\n.address_size 64\n"
    ".visible .entry raw(.param .u64 p, .param .u64 offset, .param .u64 n) { ret; }\n";
static const char *const opencl_c =
    "__kernel void raw(__global float *p, ulong offset, ulong n) {}\n";
static const char *const cluda =
    "KERNEL void ours(GLOBAL_MEM ga_float *p, ga_size offset, ga_size n) {}\n";

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void *open_driver(const char *name) {
  void *driver = dlopen(name, RTLD_NOW);
  if (driver == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return driver;
}

static void *symbol(void *driver, const char *name) {
  void *found = dlsym(driver, name);
  if (found == NULL) {
    fprintf(stderr, "no %s\n", name);
    exit(1);
  }
  return found;
}

static driver_call named(void *driver, const char *name) {
  return (driver_call)symbol(driver, name);
}

static driver_maker maker(void *driver, const char *name) {
  return (driver_maker)symbol(driver, name);
}

static void need(int status, const char *what) {
  if (status != 0) {
    fprintf(stderr, "%s: %d %s\n", what, status, gpuarray_error_text());
    exit(1);
  }
}

/* A launch, and the wait for all of them. */
typedef struct bench {
  void (*launch)(void *data);
  void (*wait)(void *data);
  void *data;
} bench;

static double best_of(const bench *b) {
  double best = 1e9;
  for (int i = 0; i < BATCHES; i++) {
    double start = now();
    for (int j = 0; j < BATCH; j++)
      b->launch(b->data);
    double spent = (now() - start) / BATCH;
    best = spent < best ? spent : best;
    b->wait(b->data);
  }
  return best;
}

/* ---- ours ---- */

typedef struct own {
  gpucontext *ctx;
  GpuKernel kernel;
  gpudata *buffer;
  size_t offset, n;
} own;

static void launch_ours(void *data) {
  own *o = data;
  size_t one = 1, threads = THREADS;
  void *args[] = {o->buffer, &o->offset, &o->n};
  need(GpuKernel_call(&o->kernel, 1, &one, &threads, 0, args), "GpuKernel_call");
}

static void wait_ours(void *data) {
  own *o = data;
  need(gpucontext_sync(o->ctx), "sync");
}

static void open_ours(own *o, const char *context) {
  const int types[] = {GA_BUFFER, GA_SIZE, GA_SIZE};
  const char *strings[] = {cluda};
  int status = 0;
  need(gpucontext_open(&o->ctx, context), "open");
  need(GpuKernel_init(&o->kernel, o->ctx, 1, strings, NULL, "ours", 3, types, 0, NULL),
       "GpuKernel_init");
  o->buffer = gpudata_alloc(o->ctx, 1024, NULL, 0, &status);
  need(status, "gpudata_alloc");
}

/* ---- CUDA's ---- */

typedef struct cuda {
  driver_call launch, wait;
  void *function, *stream;
  unsigned long long address;
  size_t offset, n;
} cuda;

static void launch_cuda(void *data) {
  cuda *c = data;
  void *args[] = {&c->address, &c->offset, &c->n};
  need(c->launch(c->function, 1u, 1u, 1u, (unsigned int)THREADS, 1u, 1u, 0u, c->stream,
                 args, (void **)NULL),
       "cuLaunchKernel");
}

static void wait_cuda(void *data) {
  cuda *c = data;
  need(c->wait(c->stream), "cuStreamSynchronize");
}

/* libgpuarray works in the device's primary context, which is current now. */
static bench open_cuda(const own *o) {
  static cuda c;
  void *module, *driver = open_driver("libcuda.so.1");
  need(named(driver, "cuModuleLoadData")(&module, ptx), "cuModuleLoadData");
  need(named(driver, "cuModuleGetFunction")(&c.function, module, "raw"),
       "cuModuleGetFunction");
  need(named(driver, "cuStreamCreate")(&c.stream, 0u), "cuStreamCreate");
  c.launch = named(driver, "cuLaunchKernel");
  c.wait = named(driver, "cuStreamSynchronize");
  c.address = *(unsigned long long *)o->buffer;
  return (bench){launch_cuda, wait_cuda, &c};
}

/* ---- OpenCL's ---- */

enum { MOST = 16 };

typedef struct opencl {
  driver_call set, launch, wait;
  void *kernel, *queue, *buffer;
  size_t offset, n;
} opencl;

static void launch_opencl(void *data) {
  opencl *c = data;
  const size_t threads = THREADS;
  need(c->set(c->kernel, 0u, sizeof c->buffer, &c->buffer) |
           c->set(c->kernel, 1u, sizeof c->offset, &c->offset) |
           c->set(c->kernel, 2u, sizeof c->n, &c->n),
       "clSetKernelArg");
  need(c->launch(c->queue, c->kernel, 1u, (size_t *)NULL, &threads, &threads, 0u,
                 (void *)NULL, (void *)NULL),
       "clEnqueueNDRangeKernel");
}

static void wait_opencl(void *data) {
  opencl *c = data;
  need(c->wait(c->queue), "clFinish");
}

/* `context` is opencl<platform>:<device>. */
static bench open_opencl(const char *context) {
  static opencl c;
  void *platforms[MOST], *devices[MOST];
  unsigned int platform = 0, device = 0;
  const char *path = getenv("GPUARRAY_OPENCL");
  void *driver = open_driver(path ? path : "libOpenCL.so.1");
  if (sscanf(context, "opencl%u:%u", &platform, &device) != 2 || platform >= MOST ||
      device >= MOST) {
    fprintf(stderr, "%s: expected cuda0, opencl0:0 or the like\n", context);
    exit(1);
  }
  int status = 0;
  need(named(driver, "clGetPlatformIDs")((unsigned int)MOST, platforms, (void *)NULL),
       "clGetPlatformIDs");
  need(named(driver, "clGetDeviceIDs")(platforms[platform], 0xFFFFFFFFul,
                                       (unsigned int)MOST, devices, (void *)NULL),
       "clGetDeviceIDs");
  void *made = maker(driver, "clCreateContext")((void *)NULL, 1u, &devices[device],
                                                (void *)NULL, (void *)NULL, &status);
  need(status, "clCreateContext");
  c.queue = maker(driver, "clCreateCommandQueue")(made, devices[device], 0ul, &status);
  need(status, "clCreateCommandQueue");
  void *program = maker(driver, "clCreateProgramWithSource")(
      made, 1u, &opencl_c, (size_t *)NULL, &status);
  need(status, "clCreateProgramWithSource");
  need(named(driver, "clBuildProgram")(program, 0u, (void *)NULL, "", (void *)NULL,
                                       (void *)NULL),
       "clBuildProgram");
  c.kernel = maker(driver, "clCreateKernel")(program, "raw", &status);
  need(status, "clCreateKernel");
  c.buffer =
      maker(driver, "clCreateBuffer")(made, 1ul, (size_t)1024, (void *)NULL, &status);
  need(status, "clCreateBuffer");
  c.set = named(driver, "clSetKernelArg");
  c.launch = named(driver, "clEnqueueNDRangeKernel");
  c.wait = named(driver, "clFinish");
  return (bench){launch_opencl, wait_opencl, &c};
}

int main(int argc, char **argv) {
  const char *context = argc > 1 ? argv[1] : "cuda0";
  own o = {.n = 4};
  open_ours(&o, context);
  const bench first = {launch_ours, wait_ours, &o};
  const bench bare =
      strncmp(context, "cuda", 4) == 0 ? open_cuda(&o) : open_opencl(context);
  const double before = best_of(&first), theirs = best_of(&bare);
  const double after = best_of(&first);
  printf("{\"ours\": %.3f, \"the driver\": %.3f}\n", before < after ? before : after,
         theirs);
  gpudata_release(o.buffer);
  GpuKernel_clear(&o.kernel);
  gpucontext_deref(o.ctx);
  return 0;
}
