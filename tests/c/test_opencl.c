/* Each function of OpenCL fails where it is used: the status, a text with its name, and
 * what failed works again afterwards. The driver is a true one that fails when it is
 * told to; once it is taken as it is, and once for that of a discrete GPU. */
#include "discrete_gpu.h"

#include <stddef.h>

#include <gpuarray/blas.h>
#include <gpuarray/dlpack.h>
#include <gpuarray/extension.h>
#include <gpuarray/queue.h>

#include "opencl/kernel.h"
#include "opencl/platform.h"
#include "opencl/share.h"
#include "opencl/transfer.h"

/* ---- functions that fail ---- */

static cl_int failure;                   /* what they return */
static cl_int ignored, *code = &ignored; /* for those without such an argument */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wshadow"
#define FUNCTION(result, name, slot, arguments)                                        \
  static result fail_##name arguments {                                                \
    *code = failure;                                                                   \
    return (result) _Generic((result)0, cl_int: failure, default: NULL);               \
  }
#define OPTIONAL(result, name, arguments)
#include "opencl/api.def"
#undef FUNCTION
#undef OPTIONAL

static void *fail_clSVMAlloc(cl_context context, cl_ulong flags, size_t size,
                             cl_uint alignment) {
  return NULL;
}

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

typedef void any_function(void);

typedef struct entry {
  const char *name;
  size_t place; /* in ga_opencl_api */
  any_function *failing;
} entry;

#define ENTRY(name, failing)                                                           \
  {#name, offsetof(ga_opencl_api, name), (any_function *)(failing)}
static const entry entries[] = {
#define FUNCTION(result, name, slot, arguments) ENTRY(name, fail_##name),
#define OPTIONAL(result, name, arguments)
#include "opencl/api.def"
#undef FUNCTION
#undef OPTIONAL
    ENTRY(clSVMAlloc, fail_clSVMAlloc),
};

/* Puts a function in the place of one of OpenCL's; gives back what was there. */
static any_function *replace(size_t place, any_function *function) {
  any_function *before;
  memcpy(&before, (char *)api + place, sizeof before);
  memcpy((char *)api + place, &function, sizeof function);
  return before;
}

static const entry *find(const char *name) {
  for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
    if (strcmp(entries[i].name, name) == 0)
      return &entries[i];
  fprintf(stderr, "no function %s\n", name);
  exit(1);
}

/* ---- steps ---- */

typedef int step(gpucontext *ctx);

/* One failure: of this function, or one that it names, in this step. */
typedef struct failing_case {
  step *run;
  const char *name;
  cl_int code;
  int status;
  const char *text;       /* NULL: the function's name */
  any_function *function; /* NULL: one that returns `code` */
} failing_case;

static const failing_case *current; /* NULL: nothing fails */

/* The call of a step in which something may fail. */
#define FAILING(call)                                                                  \
  do {                                                                                 \
    const entry *of = current ? find(current->name) : NULL;                            \
    any_function *real = NULL;                                                         \
    failure = current ? current->code : CL_SUCCESS;                                    \
    if (of)                                                                            \
      real = replace(of->place, current->function ? current->function : of->failing);  \
    status = (call);                                                                   \
    if (of)                                                                            \
      replace(of->place, real);                                                        \
  } while (0)

static step open_another, adopt, new_queue, allocate, host_allocate, read_foreign,
    write_foreign, write_often, fill_foreign, copy_foreign, fill_own, compile,
    get_kernel, get_threads, get_binary, load, launch_value, launch_local, wait_for_all,
    record, order, is_done, wait_for_event, seconds, publish, publish_to_host, follow,
    make_buffer;

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

enum { BYTES = 1 << 18 };
static unsigned char bytes[BYTES];

/* Memory that an application made, which the host may not touch as it is. */
static cl_mem make_memory(gpucontext *ctx) {
  ga_opencl_device *d = device_of(ctx);
  cl_int made = CL_SUCCESS;
  cl_mem memory =
      api->clCreateBuffer(d->context, CL_MEM_READ_WRITE, BYTES, NULL, &made);
  CHECK(memory != NULL && made == CL_SUCCESS);
  OPENCL_QUEUE(&made, d, clEnqueueWriteBuffer, memory, 1, 0, BYTES, bytes, 0, NULL,
               NULL);
  CHECK(made == CL_SUCCESS);
  return memory;
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

static gpudata *make_buf(gpucontext *ctx, cl_mem memory) {
  void *symbol = gpuarray_get_extension("cl_make_buf");
  gpudata *(*function)(gpucontext *, cl_mem);
  memcpy(&function, &symbol, sizeof function);
  return function(ctx, memory);
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

/* ---- other failures ---- */

static void test_wrong_places(void) {
  ga_device_info info;
  CHECK_STATUS(GA_NODEV_ERROR, ga__opencl_backend.probe(&info, 999, 0));
  CHECK_TEXT("no platform 999");
  CHECK_STATUS(GA_NODEV_ERROR, ga__opencl_backend.probe(&info, 0, 999));
  CHECK_TEXT("no device 999");
}

/* What NVIDIA's compiler says: it counts the lines before the body too. */
static cl_int log_of_nvidia(cl_program made, cl_device_id device, cl_uint what,
                            size_t size, void *value, size_t *real_size) {
  static const char said[] = "<kernel>:5:10: error: x\n<kernel>:2:1: note\n<kernel>:?";
  (void)made, (void)device, (void)what;
  if (real_size)
    *real_size = sizeof said;
  if (value)
    memcpy(value, said, size < sizeof said ? size : sizeof said);
  return CL_SUCCESS;
}

static void test_places_of_a_log(gpucontext *ctx) {
  const entry *info = find("clGetProgramBuildInfo");
  any_function *real = replace(info->place, (any_function *)log_of_nvidia);
  void *made = NULL;
  ga_strbuf log = {0};
  CHECK_STATUS(GA_COMPILE_ERROR,
               ctx->backend->compile(&made, ctx->device,
                                     "// of\n// ours\n#line 1\n\nnowhere\n", &log));
  CHECK(strcmp(log.text, "<kernel>:2:10: error: x\n<kernel>:2:1: note\n<kernel>:?") ==
        0);
  ga__strbuf_clear(&log);
  CHECK_STATUS(GA_COMPILE_ERROR,
               ctx->backend->compile(&made, ctx->device, "nowhere\n", &log));
  CHECK(strncmp(log.text, "<kernel>:5:10:", 14) == 0);
  ga__strbuf_clear(&log);
  replace(info->place, real);
}

/* A cl_context is asked for its device by way of its own driver: the slots are those of
 * the driver's functions in api.def. */
static cl_int no_device(cl_context context, cl_uint what, size_t size, void *value,
                        size_t *real_size) {
  (void)context, (void)what, (void)size, (void)value;
  if (real_size)
    *real_size = 0;
  return CL_SUCCESS;
}
static cl_int strange_device(cl_context context, cl_uint what, size_t size, void *value,
                             size_t *real_size) {
  (void)what;
  if (value)
    memcpy(value, &context, size < sizeof context ? size : sizeof context);
  if (real_size)
    *real_size = sizeof context;
  return CL_SUCCESS;
}
static cl_int device_that_fails(cl_context context, cl_uint what, size_t size,
                                void *value, size_t *real_size) {
  if (value)
    return CL_OUT_OF_RESOURCES;
  return strange_device(context, what, size, value, real_size);
}

static void check_not_adopted(any_function *get_info, int status, const char *text) {
  any_function *table[128] = {NULL};
  struct {
    any_function **table;
  } object = {table};
  gpucontext *ctx = NULL;
  table[8] = get_info;
  CHECK_STATUS(status, ga__context_adopt(&ctx, &ga__opencl_backend, &object, NULL));
  CHECK_TEXT(text);
  CHECK(ctx == NULL);
}

static void test_contexts_that_are_not_adopted(void) {
  failure = CL_OUT_OF_RESOURCES;
  check_not_adopted((any_function *)fail_clGetContextInfo, GA_IMPL_ERROR,
                    "clGetContextInfo failed");
  check_not_adopted((any_function *)device_that_fails, GA_IMPL_ERROR,
                    "clGetContextInfo failed");
  check_not_adopted((any_function *)no_device, GA_NODEV_ERROR, "has no device");
  check_not_adopted((any_function *)strange_device, GA_NODEV_ERROR,
                    "of no OpenCL platform that was found");
}

static void test_what_is_not_ours(gpucontext *ctx) {
  gpucontext *other = open_device(), *null = NULL;
  CHECK_OK(gpucontext_open(&null, "null"));
  cl_mem memory = make_memory(other);
  CHECK(make_buf(ctx, memory) == NULL);
  CHECK_TEXT("cl_make_buf: the memory is of another cl_context");
  CHECK(make_buf(null, memory) == NULL);
  CHECK_TEXT("cl_make_buf: null is not an OpenCL context");
  CHECK(make_buf(NULL, memory) == NULL);
  CHECK_TEXT("NULL is not an OpenCL context");
  api->clReleaseMemObject(memory);
  gpucontext_deref(other);
  gpucontext_deref(null);
}

/* Tensors whose memory is no address, so that OpenCL is asked what it is. */
static void test_tensors(gpucontext *ctx) {
  int64_t shape[1] = {BYTES};
  gpucontext *other = open_device();
  cl_mem ours = make_memory(ctx), foreign = make_memory(other);
  DLManagedTensorVersioned t = {.version = {DLPACK_MAJOR_VERSION, 0}};
  GpuArray out = {.nd = 77};
  t.dl_tensor = (DLTensor){.ndim = 1, .dtype = {kDLUInt, 8, 1}, .shape = shape};
  CHECK_OK(gpucontext_dlpack_device(ctx, &t.dl_tensor.device));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_from_dlpack(&out, ctx, &t, -1));
  CHECK_TEXT("has elements, but its data pointer is NULL");
  t.dl_tensor.data = foreign;
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_from_dlpack(&out, ctx, &t, -1));
  CHECK_TEXT("from_dlpack: the memory is of another cl_context");
  t.dl_tensor.data = ours;
  t.dl_tensor.byte_offset = 1;
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_from_dlpack(&out, ctx, &t, -1));
  CHECK_TEXT("from_dlpack: ");
  CHECK(out.nd == 77);
  api->clReleaseMemObject(ours);
  api->clReleaseMemObject(foreign);
  gpucontext_deref(other);
}

/* A product by the host's BLAS of memory that has to be mapped for it. */
static void test_mapped_products(gpucontext *ctx) {
  const size_t dims[2] = {64, 64};
  cl_mem memory = make_memory(ctx);
  gpudata *b = make_buf(ctx, memory);
  GpuArray x, y, z, *all[3] = {&x, &y, &z};
  for (size_t i = 0; i < 3; i++)
    CHECK_OK(GpuArray_fromdata(all[i], b, i * 64 * 64 * 4, GA_FLOAT, 2, dims, NULL, 1));
  const char *const functions[] = {"clEnqueueMapBuffer", "clEnqueueUnmapMemObject"};
  for (size_t i = 0; i < 2; i++) {
    const failing_case one = {
        .name = functions[i], .code = NO_RESOURCES, .status = GA_IMPL_ERROR};
    int status = GA_NO_ERROR;
    current = &one;
    FAILING(GpuArray_rgemm(cb_no_trans, cb_no_trans, 1, &x, &y, 0, &z, 0));
    CHECK_STATUS(GA_IMPL_ERROR, status);
    CHECK_TEXT(functions[i]);
  }
  current = NULL;
  CHECK_OK(GpuArray_rgemm(cb_no_trans, cb_no_trans, 1, &x, &y, 0, &z, 0));
  CHECK_OK(gpucontext_sync(ctx));
  for (size_t i = 0; i < 3; i++)
    GpuArray_clear(all[i]);
  gpudata_release(b);
  api->clReleaseMemObject(memory);
}

/* The choice is told to the driver, and is in the keys of kernels on disk. */
static void test_kernels_that_are_not_optimised(void) {
  static const char *const values[] = {"0", "1", ""}, option[] = "-cl-opt-disable";
  const char *variable = "GPUARRAY_OPENCL_OPTIMIZE", *chosen = getenv(variable);
  char *before = chosen ? strdup(chosen) : NULL;
  for (int i = 0; i < 3; i++) {
    setenv(variable, values[i], 1);
    gpucontext *ctx = open_device();
    CHECK((strstr(device_of(ctx)->options, option) != NULL) == (i == 0));
    CHECK((strstr(ctx->info.bin_id, option) != NULL) == (i == 0));
    gpucontext_deref(ctx);
  }
  unsetenv(variable);
  if (before)
    setenv(variable, before, 1);
  free(before);
}

static any_function *real_build;
static int builds;
static char built_with[256];

static cl_int counted_build(cl_program made, cl_uint n, const cl_device_id *devices,
                            const char *options,
                            void (*notify)(cl_program program, void *data),
                            void *data) {
  builds++;
  snprintf(built_with, sizeof built_with, "%s", options);
  return ((__typeof__(&counted_build))real_build)(made, n, devices, options, notify,
                                                  data);
}

/* How often a kernel that computes `expression` is built; with a text of before, one of
 * the library. */
static int builds_of(gpucontext *ctx, const char *before, const char *expression) {
  void *made = NULL;
  ga_strbuf text = {0}, log = {0};
  ga__strbuf_add(&text, ctx->backend->prelude);
  ga__strbuf_addf(
      &text, "\n#line 1\nKERNEL void f(GLOBAL_MEM float *x) {\n  %s x[0] = %s;\n}\n",
      before, expression);
  builds = 0;
  CHECK_OK(ctx->backend->compile(&made, ctx->device, text.text, &log));
  if (made)
    ctx->backend->unload(ctx->device, made);
  ga__strbuf_clear(&text);
  ga__strbuf_clear(&log);
  return builds;
}

/* The library's texts are built without the header of a runtime that has a long one;
 * what needs it gets it. */
static void test_headers_that_are_skipped(gpucontext *ctx) {
  const ga_opencl_device *d = device_of(ctx);
  const entry *build = find("clBuildProgram");
  const int reloads = d->reloads;
  real_build = replace(build->place, (any_function *)counted_build);
  CHECK(builds_of(ctx, "", "exp(x[1])") == 1 + reloads);
  CHECK(strcmp(built_with, d->options) == 0);
  CHECK(builds_of(ctx, "KERNEL_BEGIN;", "exp(x[1]) + max(3, (int)x[2])") ==
        1 + reloads);
  const size_t length = strlen(d->options);
  if (d->skipping && !reloads) /* Intel's ends with the build of the binary */
    CHECK(strncmp(built_with, d->options, length) == 0 &&
          strcmp(built_with + length, d->skipping) == 0);
  CHECK(builds_of(ctx, "KERNEL_BEGIN;", "native_exp(x[1])") ==
        1 + reloads + d->stores_sources);
  CHECK(strcmp(built_with, d->options) == 0);
  replace(build->place, real_build);
}

int main(int argc, char **argv) {
  (void)argc;
  setenv("GPUARRAY_CACHE_DIR", "", 1);
  gpucontext *ctx = open_device();
  if (ctx->backend != &ga__opencl_backend) {
    gpucontext_deref(ctx);
    return 77; /* there is nothing of OpenCL here to fail */
  }
  memcpy(&api, &device_of(ctx)->api, sizeof api);
  test_wrong_places();
  test_places_of_a_log(ctx);
  test_headers_that_are_skipped(ctx);
  test_kernels_that_are_not_optimised();
  test_contexts_that_are_not_adopted();
  test_what_is_not_ours(ctx);
  test_tensors(ctx);
  RUN_CASES(cases);
  if (device_of(ctx)->stores_sources)
    RUN_CASES(source_cases);
  else
    RUN_CASES(binary_cases);
  if (device_of(ctx)->shares_memory) {
    RUN_CASES(shared_cases);
    if (ga__context_blas(ctx))
      test_mapped_products(ctx);
  }
  gpucontext_deref(ctx);
  test_as_gpu();
  return check_result(argv[0]);
}
