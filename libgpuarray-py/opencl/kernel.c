/* OpenCL programs, kernels and launches. */
#define _GNU_SOURCE
#include "opencl/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The bytes last set for an argument, to skip redundant clSetKernelArg calls. */
typedef struct last_arg {
  unsigned int size; /* 0: not set */
  unsigned char bytes[sizeof(((ga_arg *)NULL)->value)];
} last_arg;

/* The lock spans argument setting and enqueuing, as a cl_kernel has one set of
 * arguments. */
typedef struct kernel {
  pthread_mutex_t lock;
  cl_kernel handle;
  cl_uint n_args;
  size_t shared;       /* bytes of the last argument, if it is local memory */
  unsigned long frees; /* the device's generation in which `last` is valid */
  last_arg last[];
} kernel;

/* ---- programs ---- */

/* Lines of the prelude, up to the first "#line 1". */
static unsigned long lines_before_body(const char *source) {
  static const char mark[] = "\n#line 1\n";
  const char *body = strstr(source, mark);
  unsigned long found = 0;
  if (body == NULL)
    return 0;
  for (const char *at = source; at < body + sizeof mark - 1; at++)
    found += *at == '\n';
  return found;
}

/* NVIDIA's compiler ignores #line: positions such as "<kernel>:354:10" count from the
 * prelude on. Corrects them to the body's lines. */
static void add_corrected_log(ga_strbuf *log, const char *text, const char *source) {
  static const char mark[] = "<kernel>:";
  const unsigned long before = lines_before_body(source);
  for (const char *at; (at = strstr(text, mark)) != NULL;) {
    at += sizeof mark - 1;
    ga__strbuf_addn(log, text, (size_t)(at - text));
    char *end;
    const unsigned long line = strtoul(at, &end, 10);
    if (end > at)
      ga__strbuf_addf(log, "%lu", line > before ? line - before : line);
    text = end;
  }
  ga__strbuf_add(log, text);
}

static void add_log(ga_strbuf *log, const ga_opencl_device *d, cl_program program,
                    const char *source) {
  size_t length = 0;
  cl_int code = d->api->clGetProgramBuildInfo(program, d->id, CL_PROGRAM_BUILD_LOG, 0,
                                              NULL, &length);
  char *text = code == CL_SUCCESS ? ga__alloc(length + 1, 1) : NULL;
  if (text == NULL)
    return;
  d->api->clGetProgramBuildInfo(program, d->id, CL_PROGRAM_BUILD_LOG, length, text,
                                NULL);
  add_corrected_log(log, text, source);
  ga__free(text);
}

static cl_int build(const ga_opencl_device *d, cl_program program,
                    const char *options) {
  return d->api->clBuildProgram(program, 1, &d->id, options, NULL, NULL);
}

/* Builds a text of the library, known by KERNEL_BEGIN, without the runtime's header, or
 * with it if that fails, as an expression may call any builtin. */
static cl_int build_source(const ga_opencl_device *d, cl_program program,
                           const char *source, size_t size) {
  static const char mark[] = "KERNEL_BEGIN;";
  char options[sizeof d->options + 64];
  if (d->skipping && memmem(source, size, mark, sizeof mark - 1)) {
    snprintf(options, sizeof options, "%s%s", d->options, d->skipping);
    if (build(d, program, options) == CL_SUCCESS)
      return CL_SUCCESS;
  }
  return build(d, program, d->options);
}

/* The source, without its terminator. */
static int source_of(void **bytes, size_t *size, const ga_opencl_device *d,
                     cl_program program) {
  size_t length = 0; /* with the terminator */
  OPENCL_TRY(d->api, clGetProgramInfo, program, CL_PROGRAM_SOURCE, 0, NULL, &length);
  char *text = ga__alloc(length + 1, 1);
  GA_TRY_MEMORY(text);
  cl_int code =
      d->api->clGetProgramInfo(program, CL_PROGRAM_SOURCE, length, text, NULL);
  if (code != CL_SUCCESS) {
    ga__free(text);
    return ga__opencl_fail(code, "clGetProgramInfo");
  }
  *bytes = text;
  *size = strlen(text);
  return GA_NO_ERROR;
}

int ga__opencl_binary(void **bytes, size_t *size, void *device, void *program) {
  ga_opencl_device *d = device;
  size_t length = 0;
  if (d->stores_sources)
    return source_of(bytes, size, d, program);
  OPENCL_TRY(d->api, clGetProgramInfo, program, CL_PROGRAM_BINARY_SIZES, sizeof length,
             &length, NULL);
  if (length == 0)
    return GA_FAIL(GA_DEVSUP_ERROR,
                   "clGetProgramInfo: the driver has no binary of the program");
  unsigned char *built = ga__alloc(length, 1);
  GA_TRY_MEMORY(built);
  cl_int code = d->api->clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof built,
                                         &built, NULL);
  if (code != CL_SUCCESS) {
    ga__free(built);
    return ga__opencl_fail(code, "clGetProgramInfo");
  }
  *bytes = built;
  *size = length;
  return GA_NO_ERROR;
}

/* A program, not yet built, from what ga__opencl_binary returned; NULL on failure. */
static cl_program stored_program(const ga_opencl_device *d, const void *bytes,
                                 size_t size, cl_int *code) {
  if (d->stores_sources) {
    const char *text = bytes;
    return d->api->clCreateProgramWithSource(d->context, 1, &text, &size, code);
  }
  const unsigned char *start = bytes;
  cl_int code_of_binary = CL_SUCCESS;
  cl_program built = d->api->clCreateProgramWithBinary(d->context, 1, &d->id, &size,
                                                       &start, &code_of_binary, code);
  if (built == NULL || *code != CL_SUCCESS || code_of_binary == CL_SUCCESS)
    return built;
  d->api->clReleaseProgram(built);
  *code = code_of_binary;
  return NULL;
}

int ga__opencl_load_program(void **program, void *device, const void *bytes,
                            size_t size) {
  ga_opencl_device *d = device;
  cl_int code = CL_SUCCESS;
  cl_program built = stored_program(d, bytes, size, &code);
  if (built && code == CL_SUCCESS)
    code = d->stores_sources ? build_source(d, built, bytes, size)
                             : build(d, built, d->options);
  if (built && code == CL_SUCCESS) {
    *program = built;
    return GA_NO_ERROR;
  }
  if (built)
    d->api->clReleaseProgram(built);
  int status = ga__opencl_fail(code, d->stores_sources ? "clCreateProgramWithSource"
                                                       : "clCreateProgramWithBinary");
  return status == GA_MEMORY_ERROR
             ? status
             : ga__fail_within(GA_COMPILE_ERROR,
                               "the driver refuses a compiled kernel");
}

/* Replaces the program by one from its binary, if possible. */
static cl_program reload(ga_opencl_device *d, cl_program built) {
  void *bytes, *loaded;
  size_t size;
  if (ga__opencl_binary(&bytes, &size, d, built) != GA_NO_ERROR)
    return built;
  int status = ga__opencl_load_program(&loaded, d, bytes, size);
  ga__free(bytes);
  if (status != GA_NO_ERROR)
    return built;
  d->api->clReleaseProgram(built);
  return loaded;
}

int ga__opencl_compile(void **program, void *device, const char *source,
                       ga_strbuf *log) {
  ga_opencl_device *d = device;
  cl_int code = CL_SUCCESS;
  cl_program built =
      d->api->clCreateProgramWithSource(d->context, 1, &source, NULL, &code);
  if (built == NULL)
    return ga__opencl_fail(code, "clCreateProgramWithSource");
  code = build_source(d, built, source, strlen(source));
  if (code == CL_SUCCESS) {
    *program = d->reloads ? reload(d, built) : built;
    return GA_NO_ERROR;
  }
  int status = ga__opencl_fail(code, "clBuildProgram");
  if (code == CL_BUILD_PROGRAM_FAILURE) {
    add_log(log, d, built, source);
    status = GA_FAIL(GA_COMPILE_ERROR, "clBuildProgram: the source does not compile");
  }
  d->api->clReleaseProgram(built);
  return status;
}

void ga__opencl_unload(void *device, void *program) {
  ga_opencl_device *d = device;
  d->api->clReleaseProgram(program);
}

/* ---- kernels ---- */

int ga__opencl_kernel(void **kernel_, void *device, void *program, const char *name,
                      bool waits) {
  (void)waits;
  ga_opencl_device *d = device;
  cl_int code = CL_SUCCESS;
  cl_uint n_args = 0;
  cl_kernel handle = d->api->clCreateKernel(program, name, &code);
  if (handle == NULL)
    return ga__fail_within(ga__opencl_fail(code, "clCreateKernel"), "kernel %s", name);
  code =
      d->api->clGetKernelInfo(handle, CL_KERNEL_NUM_ARGS, sizeof n_args, &n_args, NULL);
  kernel *k = NULL;
  if (code == CL_SUCCESS)
    k = ga__alloc(1, sizeof *k + n_args * sizeof k->last[0]);
  if (k == NULL) {
    d->api->clReleaseKernel(handle);
    return code == CL_SUCCESS ? GA_MEMORY_ERROR
                              : ga__opencl_fail(code, "clGetKernelInfo");
  }
  pthread_mutex_init(&k->lock, NULL);
  k->handle = handle;
  k->n_args = n_args;
  *kernel_ = k;
  return GA_NO_ERROR;
}

void ga__opencl_kernel_free(void *device, void *kernel_) {
  ga_opencl_device *d = device;
  kernel *k = kernel_;
  d->api->clReleaseKernel(k->handle);
  pthread_mutex_destroy(&k->lock);
  ga__free(k);
}

/* The compiled-in group size where there is one: NVIDIA's driver reports 256 as the
 * limit of such kernels too. */
int ga__opencl_kernel_threads(size_t *out, void *device, void *kernel_) {
  ga_opencl_device *d = device;
  const kernel *k = kernel_;
  size_t own[3] = {0, 0, 0};
  OPENCL_TRY(d->api, clGetKernelWorkGroupInfo, k->handle, d->id,
             CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof own, own, NULL);
  *out = own[0] * own[1] * own[2];
  if (*out > 0)
    return GA_NO_ERROR;
  OPENCL_TRY(d->api, clGetKernelWorkGroupInfo, k->handle, d->id,
             CL_KERNEL_WORK_GROUP_SIZE, sizeof *out, out, NULL);
  return GA_NO_ERROR;
}

/* ---- launches ---- */

static int fail_argument(cl_int code, cl_uint i) {
  return ga__fail_within(ga__opencl_fail(code, "clSetKernelArg"), "argument %u", i);
}

static int set_argument(ga_opencl_device *d, kernel *k, cl_uint i, const ga_arg *arg) {
  last_arg *last = &k->last[i];
  void *memory;
  const void *bytes = arg->value.bytes;
  unsigned int size = arg->size;
  if (arg->kind == GA_ARG_MEMORY) {
    memory = ga__buffer_memory(arg->buffer);
    bytes = &memory;
    size = sizeof memory;
  }
  if (last->size == size && memcmp(last->bytes, bytes, size) == 0)
    return GA_NO_ERROR;
  cl_int code = d->api->clSetKernelArg(k->handle, i, size, bytes);
  if (code != CL_SUCCESS) {
    last->size = 0;
    return fail_argument(code, i);
  }
  memcpy(last->bytes, bytes, size);
  last->size = size;
  return GA_NO_ERROR;
}

/* A freed handle may be another buffer's by now. */
static void forget_freed(ga_opencl_device *d, kernel *k) {
  unsigned long frees = atomic_load_explicit(&d->first->frees, memory_order_acquire);
  if (k->frees == frees)
    return;
  for (cl_uint i = 0; i < k->n_args; i++)
    k->last[i].size = 0;
  k->frees = frees;
}

static int set_arguments(ga_opencl_device *d, kernel *k, const ga_launch *launch) {
  forget_freed(d, k);
  for (cl_uint i = 0; i < launch->n_args; i++)
    GA_TRY(set_argument(d, k, i, &launch->args[i]));
  if (launch->shared == 0 || launch->shared == k->shared)
    return GA_NO_ERROR;
  cl_int code = d->api->clSetKernelArg(k->handle, launch->n_args, launch->shared, NULL);
  if (code != CL_SUCCESS)
    return fail_argument(code, launch->n_args);
  k->shared = launch->shared;
  return GA_NO_ERROR;
}

#define BRIEF 4096 /* work that is done sooner than another thread begins it */

/* True if this thread may run the launch: nothing that it has to wait for is queued. */
static bool runs_at_once(const ga_opencl_device *d, const ga_launch *launch) {
  return d->at_once && launch->work > 0 && launch->work <= BRIEF &&
         ga__opencl_is_idle(d);
}

static int queue_launch(ga_opencl_device *d, const kernel *k, const ga_launch *launch) {
  size_t global[3];
  cl_event *event = ga__opencl_event_place(d);
  for (unsigned int i = 0; i < launch->nd; i++)
    global[i] = launch->grid[i] * launch->block[i];
  if (event == NULL && runs_at_once(d, launch))
    OPENCL_TRY(d->api, clEnqueueNDRangeKernel, d->at_once, k->handle, launch->nd, NULL,
               global, launch->block, 0, NULL, NULL);
  else
    OPENCL_QUEUE_TRY(d, clEnqueueNDRangeKernel, k->handle, launch->nd, NULL, global,
                     launch->block, 0, NULL, event);
  return GA_NO_ERROR;
}

int ga__opencl_launch(void *device, void *kernel_, const ga_launch *launch) {
  ga_opencl_device *d = device;
  kernel *k = kernel_;
  cl_uint given = launch->n_args + (launch->shared > 0);
  if (given != k->n_args)
    return GA_FAIL(GA_VALUE_ERROR,
                   "launch: got %u arguments%s, the kernel has %u parameters",
                   launch->n_args,
                   launch->shared > 0 ? " and dynamic local memory" : "", k->n_args);
  pthread_mutex_lock(&k->lock);
  int status = set_arguments(d, k, launch);
  GA_THEN(status, queue_launch(d, k, launch));
  pthread_mutex_unlock(&k->lock);
  return status == GA_NO_ERROR ? ga__opencl_bound(d) : status;
}
