/* Each function of OpenCL fails where it is used: the status, a text with its name, and
 * what failed works again afterwards. The driver is a true one that fails when it is
 * told to; once it is taken as it is, and once for that of a discrete GPU. */
#include "application_memory.h"
#include "discrete_gpu.h"
#include "failing_opencl.h"

#include <gpuarray/queue.h>

#include "opencl/kernel.h"
#include "opencl/platform.h"
#include "opencl/share.h"

/* ---- functions that fail in part ---- */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
/* A program of which the driver has no bytes, and one whose bytes it does not give. */
static cl_int no_bytes(cl_program program, cl_uint what, size_t size, void *value,
                       size_t *real_size) {
  memset(value, 0, size);
  return CL_SUCCESS;
}
static cl_int only_the_size(cl_program program, cl_uint what, size_t size, void *value,
                            size_t *real_size) {
  if (what == CL_PROGRAM_BINARIES || (what == CL_PROGRAM_SOURCE && value))
    return CL_OUT_OF_RESOURCES;
  if (real_size)
    *real_size = 1;
  if (value)
    memset(value, 1, size > 2 ? 1 : size);
  return CL_SUCCESS;
}

/* The state of an event whose command has failed. */
static cl_int failed_state(cl_event event, cl_uint what, size_t size, void *value,
                           size_t *real_size) {
  const cl_int state = CL_OUT_OF_RESOURCES;
  memcpy(value, &state, sizeof state);
  return CL_SUCCESS;
}
#pragma GCC diagnostic pop

/* ---- steps ---- */

static int open_another(gpucontext *ctx) {
  gpucontext *other = NULL;
  int status;
  FAILING(gpucontext_open(&other, gpucontext_name(ctx)));
  CHECK((other != NULL) == (status == GA_NO_ERROR));
  gpucontext_deref(other);
  return status;
}

static int adopt(gpucontext *ctx) {
  gpucontext *other = NULL;
  int status;
  FAILING(
      ga__context_adopt(&other, &ga__opencl_backend, device_of(ctx)->context, NULL));
  CHECK((other != NULL) == (status == GA_NO_ERROR));
  gpucontext_deref(other);
  return status;
}

static int new_queue(gpucontext *ctx) {
  gpuqueue *q = NULL;
  int status;
  FAILING(gpuqueue_new(&q, ctx));
  CHECK((q != NULL) == (status == GA_NO_ERROR));
  gpuqueue_release(q);
  return status;
}

static int allocate(gpucontext *ctx) {
  void *memory = NULL;
  int status;
  FAILING(ctx->backend->alloc(&memory, ctx->device, 5000));
  if (memory)
    ctx->backend->free(ctx->device, memory);
  return status;
}

static int host_allocate(gpucontext *ctx) {
  void *memory = NULL, *host = NULL;
  int status;
  FAILING(ctx->backend->host_alloc(&memory, &host, ctx->device, 5000));
  if (status == GA_NO_ERROR)
    ctx->backend->host_free(ctx->device, memory, host);
  return status;
}

static int read_foreign(gpucontext *ctx) {
  cl_mem memory = make_memory(ctx);
  int status;
  FAILING(ctx->backend->read(ctx->device, bytes, memory, 0, BYTES));
  api->clReleaseMemObject(memory);
  return status;
}

static int write_foreign(gpucontext *ctx) {
  bool waited;
  cl_mem memory = make_memory(ctx);
  int status;
  FAILING(ctx->backend->write(ctx->device, memory, 0, bytes, BYTES, &waited));
  CHECK_OK(ctx->backend->wait(ctx->device));
  api->clReleaseMemObject(memory);
  return status;
}

/* More than fits into pinned memory at a time. */
static int write_often(gpucontext *ctx) {
  bool waited;
  cl_mem memory = make_memory(ctx);
  int status = GA_NO_ERROR;
  CHECK_OK(ctx->backend->write(ctx->device, memory, 0, bytes, BYTES, &waited));
  for (int i = 0; i < 2 * GA_OPENCL_PARTS && status == GA_NO_ERROR; i++)
    FAILING(ctx->backend->write(ctx->device, memory, 0, bytes, BYTES, &waited));
  CHECK_OK(ctx->backend->wait(ctx->device));
  api->clReleaseMemObject(memory);
  return status;
}

static int fill_foreign(gpucontext *ctx) {
  cl_mem memory = make_memory(ctx);
  int status;
  FAILING(ctx->backend->fill(ctx->device, memory, 0, 0, BYTES));
  CHECK_OK(ctx->backend->wait(ctx->device));
  api->clReleaseMemObject(memory);
  return status;
}

static int copy_foreign(gpucontext *ctx) {
  cl_mem from = make_memory(ctx), to = make_memory(ctx);
  int status;
  FAILING(ctx->backend->copy(ctx->device, to, 0, from, 0, BYTES));
  CHECK_OK(ctx->backend->wait(ctx->device));
  api->clReleaseMemObject(from);
  api->clReleaseMemObject(to);
  return status;
}

/* Enough that it is queued. */
static int fill_own(gpucontext *ctx) {
  gpudata *b = gpudata_alloc(ctx, BYTES, NULL, 0, NULL);
  int status;
  FAILING(gpudata_memset(b, 0, 1));
  CHECK_OK(gpudata_sync(b));
  gpudata_release(b);
  return status;
}

/* ---- steps with kernels ---- */

static const char source[] = "__kernel void takes_value(int x) {}"
                             "__kernel void takes_local(__local int *x) {}";

static void *program; /* of `source`, for all steps on a context */

static void make_program(gpucontext *ctx) {
  ga_strbuf log = {0};
  CHECK_OK(ctx->backend->compile(&program, ctx->device, source, &log));
  ga__strbuf_clear(&log);
}

static int compile(gpucontext *ctx) {
  void *made = NULL;
  ga_strbuf log = {0};
  int status;
  FAILING(ctx->backend->compile(&made, ctx->device, source, &log));
  if (made)
    ctx->backend->unload(ctx->device, made);
  ga__strbuf_clear(&log);
  return status;
}

static int get_kernel(gpucontext *ctx) {
  void *kernel = NULL;
  int status;
  FAILING(ctx->backend->kernel(&kernel, ctx->device, program, "takes_value", false));
  if (kernel)
    ctx->backend->kernel_free(ctx->device, kernel);
  return status;
}

/* Calls `call` with the kernel `name`. */
static int with_kernel(gpucontext *ctx, const char *name,
                       int (*call)(gpucontext *ctx, void *kernel)) {
  void *kernel = NULL;
  int status;
  CHECK_OK(ctx->backend->kernel(&kernel, ctx->device, program, name, false));
  FAILING(call(ctx, kernel));
  CHECK_OK(ctx->backend->wait(ctx->device));
  ctx->backend->kernel_free(ctx->device, kernel);
  return status;
}

static int ask_threads(gpucontext *ctx, void *kernel) {
  size_t threads;
  return ctx->backend->kernel_threads(&threads, ctx->device, kernel);
}
static int get_threads(gpucontext *ctx) {
  return with_kernel(ctx, "takes_value", ask_threads);
}

static int with_value(gpucontext *ctx, void *kernel) {
  const ga_arg arg = {.kind = GA_ARG_VALUE, .size = 4};
  const ga_launch launch = {
      .nd = 1, .grid = {1}, .block = {1}, .n_args = 1, .args = &arg};
  return ctx->backend->launch(ctx->device, kernel, &launch);
}
static int launch_value(gpucontext *ctx) {
  return with_kernel(ctx, "takes_value", with_value);
}

static int with_local(gpucontext *ctx, void *kernel) {
  const ga_launch launch = {.nd = 1, .grid = {1}, .block = {1}, .shared = 64};
  return ctx->backend->launch(ctx->device, kernel, &launch);
}
static int launch_local(gpucontext *ctx) {
  return with_kernel(ctx, "takes_local", with_local);
}

static int get_binary(gpucontext *ctx) {
  void *binary = NULL;
  size_t size;
  int status;
  FAILING(ctx->backend->binary(&binary, &size, ctx->device, program));
  ga__free(binary);
  return status;
}

static int load(gpucontext *ctx) {
  void *again = NULL, *binary = NULL;
  size_t size = 0;
  int status;
  CHECK_OK(ctx->backend->binary(&binary, &size, ctx->device, program));
  FAILING(ctx->backend->load(&again, ctx->device, binary, size));
  if (again)
    ctx->backend->unload(ctx->device, again);
  ga__free(binary);
  return status;
}

/* ---- steps with queues and events ---- */

static int wait_for_all(gpucontext *ctx) {
  int status;
  FAILING(ctx->backend->wait(ctx->device));
  return status;
}

static int record(gpucontext *ctx) {
  void *event = NULL;
  int status;
  FAILING(ctx->backend->event(&event, ctx->device, true));
  ctx->backend->event_free(ctx->device, event);
  return status;
}

static int order_after(gpucontext *ctx, void *event) {
  return ctx->backend->event_order(ctx->device, event);
}
static int ask_done(gpucontext *ctx, void *event) {
  bool done;
  return ctx->backend->event_done(&done, ctx->device, event);
}
static int await(gpucontext *ctx, void *event) {
  return ctx->backend->event_wait(ctx->device, event);
}
static int ask_seconds(gpucontext *ctx, void *event) {
  double time;
  return ctx->backend->event_seconds(&time, ctx->device, event, event);
}

/* Calls `call` with an event that is done. */
static int with_event(gpucontext *ctx, int (*call)(gpucontext *ctx, void *event)) {
  void *event = NULL;
  int status;
  CHECK_OK(ctx->backend->event(&event, ctx->device, true));
  CHECK_OK(ctx->backend->wait(ctx->device));
  FAILING(call(ctx, event));
  CHECK_OK(ctx->backend->wait(ctx->device));
  ctx->backend->event_free(ctx->device, event);
  return status;
}

static int order(gpucontext *ctx) {
  return with_event(ctx, order_after);
}
static int is_done(gpucontext *ctx) {
  return with_event(ctx, ask_done);
}
static int wait_for_event(gpucontext *ctx) {
  return with_event(ctx, await);
}
static int seconds(gpucontext *ctx) {
  return with_event(ctx, ask_seconds);
}

/* Orders work with a queue of the application's. */
static int with_stream(gpucontext *ctx, int (*call)(void *device, intptr_t stream)) {
  ga_opencl_device *d = device_of(ctx);
  cl_int made = CL_SUCCESS;
  cl_command_queue queue = api->clCreateCommandQueue(d->context, d->id, 0, &made);
  int status;
  CHECK(queue != NULL && made == CL_SUCCESS);
  FAILING(call(d, (intptr_t)queue));
  CHECK(api->clFinish(queue) == CL_SUCCESS);
  CHECK_OK(ctx->backend->wait(d));
  api->clReleaseCommandQueue(queue);
  return status;
}

static int publish(gpucontext *ctx) {
  return with_stream(ctx, ctx->backend->sharing->publish);
}
static int follow(gpucontext *ctx) {
  return with_stream(ctx, ctx->backend->sharing->follow);
}
static int publish_to_host(gpucontext *ctx) {
  int status;
  FAILING(ctx->backend->sharing->publish(ctx->device, 0));
  return status;
}

/* cl_make_buf has no status; GA_MISC_ERROR stands for NULL. */
static int make_buffer(gpucontext *ctx) {
  cl_mem memory = make_memory(ctx);
  gpudata *b = NULL;
  int status;
  FAILING((b = make_buf(ctx, memory)) ? GA_NO_ERROR : GA_MISC_ERROR);
  gpudata_release(b);
  api->clReleaseMemObject(memory);
  return status;
}

/* ---- the table ---- */

enum {
  NO_MEMORY = CL_MEM_OBJECT_ALLOCATION_FAILURE,
  NO_HOST_MEMORY = CL_OUT_OF_HOST_MEMORY,
  NO_RESOURCES = CL_OUT_OF_RESOURCES,
  INVALID_VALUE = -30
};
#define TEXT_OF_QUEUED "earlier work on the queue failed: "

static const failing_case cases[] = {
    {open_another, "clCreateContext", NO_HOST_MEMORY, GA_MEMORY_ERROR,
     "clCreateContext: the host has no memory left: CL_OUT_OF_HOST_MEMORY", NULL},
    {open_another, "clCreateContext", -2000, GA_IMPL_ERROR,
     "an error of the vendor's own (-2000)", NULL},
    {open_another, "clCreateCommandQueue", NO_RESOURCES, GA_IMPL_ERROR, NULL, NULL},
    {adopt, "clRetainContext", INVALID_VALUE, GA_IMPL_ERROR, NULL, NULL},
    {adopt, "clCreateCommandQueue", NO_RESOURCES, GA_IMPL_ERROR, NULL, NULL},
    {new_queue, "clCreateCommandQueue", NO_RESOURCES, GA_IMPL_ERROR, NULL, NULL},
    {allocate, "clCreateBuffer", NO_MEMORY, GA_MEMORY_ERROR,
     "the device has no memory left: CL_MEM_OBJECT_ALLOCATION_FAILURE", NULL},
    {allocate, "clCreateBuffer", INVALID_VALUE, GA_IMPL_ERROR,
     "clCreateBuffer failed: CL_INVALID_VALUE (-30)", NULL},
    {host_allocate, "clCreateBuffer", NO_MEMORY, GA_MEMORY_ERROR, NULL, NULL},
    {read_foreign, "clEnqueueReadBuffer", NO_RESOURCES, GA_IMPL_ERROR, NULL, NULL},
    {write_foreign, "clEnqueueWriteBuffer", NO_RESOURCES, GA_IMPL_ERROR, NULL, NULL},
    {fill_foreign, "clEnqueueFillBuffer", NO_RESOURCES, GA_IMPL_ERROR, NULL, NULL},
    {copy_foreign, "clEnqueueCopyBuffer", NO_RESOURCES, GA_IMPL_ERROR, NULL, NULL},
    {compile, "clCreateProgramWithSource", NO_RESOURCES, GA_IMPL_ERROR, NULL, NULL},
    {compile, "clBuildProgram", NO_RESOURCES, GA_IMPL_ERROR, NULL, NULL},
    {compile, "clBuildProgram", CL_BUILD_PROGRAM_FAILURE, GA_COMPILE_ERROR, NULL, NULL},
    {get_kernel, "clCreateKernel", NO_RESOURCES, GA_IMPL_ERROR,
     "kernel takes_value: clCreateKernel failed: CL_OUT_OF_RESOURCES", NULL},
    {get_kernel, "clGetKernelInfo", NO_RESOURCES, GA_IMPL_ERROR, NULL, NULL},
    {get_threads, "clGetKernelWorkGroupInfo", NO_RESOURCES, GA_IMPL_ERROR, NULL, NULL},
    {get_binary, "clGetProgramInfo", NO_RESOURCES, GA_IMPL_ERROR, NULL, NULL},
    {load, "clBuildProgram", NO_RESOURCES, GA_COMPILE_ERROR, "refuses", NULL},
    {launch_value, "clSetKernelArg", NO_RESOURCES, GA_IMPL_ERROR,
     "argument 0: clSetKernelArg failed", NULL},
    {launch_value, "clEnqueueNDRangeKernel", NO_RESOURCES, GA_IMPL_ERROR, NULL, NULL},
    {launch_local, "clSetKernelArg", NO_RESOURCES, GA_IMPL_ERROR, "argument 0", NULL},
    {wait_for_all, "clFinish", NO_RESOURCES, GA_RUN_ERROR,
     TEXT_OF_QUEUED "clFinish failed: CL_OUT_OF_RESOURCES", NULL},
    {record, "clEnqueueMarkerWithWaitList", NO_RESOURCES, GA_IMPL_ERROR, NULL, NULL},
    {order, "clEnqueueBarrierWithWaitList", NO_RESOURCES, GA_IMPL_ERROR, NULL, NULL},
    {is_done, "clGetEventInfo", NO_RESOURCES, GA_IMPL_ERROR, NULL, NULL},
    {is_done, "clGetEventInfo", 0, GA_RUN_ERROR, TEXT_OF_QUEUED,
     (any_function *)failed_state},
    {wait_for_event, "clWaitForEvents", NO_RESOURCES, GA_RUN_ERROR,
     TEXT_OF_QUEUED "clWaitForEvents failed", NULL},
    {seconds, "clGetEventProfilingInfo", NO_RESOURCES, GA_IMPL_ERROR, NULL, NULL},
    {publish, "clEnqueueMarkerWithWaitList", NO_RESOURCES, GA_IMPL_ERROR, NULL, NULL},
    {publish, "clEnqueueBarrierWithWaitList", NO_RESOURCES, GA_IMPL_ERROR, NULL, NULL},
    {follow, "clEnqueueMarkerWithWaitList", NO_RESOURCES, GA_IMPL_ERROR, NULL, NULL},
    {publish_to_host, "clFinish", NO_RESOURCES, GA_RUN_ERROR, TEXT_OF_QUEUED, NULL},
    {make_buffer, "clRetainMemObject", NO_RESOURCES, GA_MISC_ERROR, NULL, NULL},
    {make_buffer, "clGetMemObjectInfo", NO_RESOURCES, GA_MISC_ERROR, NULL, NULL},
};

/* Of devices that store binaries, and of those that store sources. */
static const failing_case binary_cases[] = {
    {get_binary, "clGetProgramInfo", 0, GA_DEVSUP_ERROR, "the driver has no binary",
     (any_function *)no_bytes},
    {get_binary, "clGetProgramInfo", 0, GA_IMPL_ERROR, NULL,
     (any_function *)only_the_size},
    {load, "clCreateProgramWithBinary", NO_RESOURCES, GA_COMPILE_ERROR,
     "the driver refuses a compiled kernel: clCreateProgramWithBinary failed", NULL},
    {load, "clCreateProgramWithBinary", NO_HOST_MEMORY, GA_MEMORY_ERROR, NULL, NULL},
};
static const failing_case source_cases[] = {
    {get_binary, "clGetProgramInfo", 0, GA_IMPL_ERROR, NULL,
     (any_function *)only_the_size},
    {load, "clCreateProgramWithSource", NO_RESOURCES, GA_COMPILE_ERROR,
     "the driver refuses a compiled kernel: clCreateProgramWithSource failed", NULL},
    {load, "clCreateProgramWithSource", NO_HOST_MEMORY, GA_MEMORY_ERROR, NULL, NULL},
};

/* Of devices whose memory the host may touch. */
static const failing_case shared_cases[] = {
    {allocate, "clSVMAlloc", 0, GA_MEMORY_ERROR, NULL, NULL},
    {fill_own, "clEnqueueNativeKernel", NO_RESOURCES, GA_IMPL_ERROR, NULL, NULL},
};

/* Of discrete GPUs, which have pinned memory when they first need it, and keep the
 * times of commands from the first event on that asks for it: each on a context of its
 * own. */
static const failing_case gpu_cases[] = {
    {allocate, "clEnqueueMigrateMemObjects", NO_RESOURCES, GA_MEMORY_ERROR,
     "the device has no memory left", NULL},
    {host_allocate, "clCreateBuffer", NO_RESOURCES, GA_MEMORY_ERROR, NULL, NULL},
    {write_foreign, "clCreateBuffer", NO_RESOURCES, GA_IMPL_ERROR, NULL, NULL},
    {write_foreign, "clEnqueueMapBuffer", NO_RESOURCES, GA_IMPL_ERROR, NULL, NULL},
    {write_often, "clWaitForEvents", NO_RESOURCES, GA_IMPL_ERROR, NULL, NULL},
    {record, "clCreateCommandQueue", NO_RESOURCES, GA_IMPL_ERROR, NULL, NULL},
};

static void run_cases(const failing_case *list, size_t n) {
  gpucontext *ctx = open_device();
  make_program(ctx);
  for (size_t i = 0; i < n; i++) {
    const failing_case *c = &list[i];
    ga__fail(GA_MISC_ERROR, "unsaid");
    current = c;
    CHECK_STATUS(c->status, c->run(ctx));
    CHECK_TEXT(c->text ? c->text : c->name);
    current = NULL;
    CHECK_OK(c->run(ctx));
  }
  ctx->backend->unload(ctx->device, program);
  gpucontext_deref(ctx);
}
#define RUN_CASES(list) run_cases(list, sizeof list / sizeof *list)

/* ---- the device as a discrete GPU ---- */

static void test_as_gpu(void) {
  pretend_gpu();
  gpucontext *ctx = open_device();
  CHECK(ctx->info.is_discrete_gpu && !device_of(ctx)->shares_memory);
  gpucontext_deref(ctx);
  RUN_CASES(cases);
  RUN_CASES(binary_cases);
  for (size_t i = 0; i < sizeof gpu_cases / sizeof *gpu_cases; i++)
    run_cases(&gpu_cases[i], 1);
  pretend_nothing();
}

/* ---- devices that are not there ---- */

static void test_wrong_places(void) {
  ga_device_info info;
  CHECK_STATUS(GA_NODEV_ERROR, ga__opencl_backend.probe(&info, 999, 0));
  CHECK_TEXT("no platform 999");
  CHECK_STATUS(GA_NODEV_ERROR, ga__opencl_backend.probe(&info, 0, 999));
  CHECK_TEXT("no device 999");
}

int main(int argc, char **argv) {
  (void)argc;
  setenv("GPUARRAY_CACHE_DIR", "", 1);
  gpucontext *ctx = open_opencl();
  test_wrong_places();
  RUN_CASES(cases);
  if (device_of(ctx)->stores_sources)
    RUN_CASES(source_cases);
  else
    RUN_CASES(binary_cases);
  if (device_of(ctx)->shares_memory)
    RUN_CASES(shared_cases);
  gpucontext_deref(ctx);
  test_as_gpu();
  return check_result(argv[0]);
}
