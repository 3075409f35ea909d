/* OpenCL devices: enumeration, opening, memory. */
#include "opencl/device_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl/platform.h"
#include "opencl/transfer.h"

/* ---- enumeration ---- */

static int find_device(const ga_opencl_platform **out, unsigned int platform,
                       unsigned int index) {
  const ga_opencl_platform *list;
  unsigned int n;
  GA_TRY(ga__opencl_platforms(&list, &n));
  if (platform >= n)
    return GA_FAIL(GA_NODEV_ERROR, "OpenCL has no platform %u (platforms: %u)",
                   platform, n);
  if (index >= list[platform].n_devices)
    return GA_FAIL(GA_NODEV_ERROR,
                   "OpenCL platform %u (%s) has no device %u (devices: %u)", platform,
                   list[platform].name, index, list[platform].n_devices);
  *out = &list[platform];
  return GA_NO_ERROR;
}

int ga__opencl_platform_count(unsigned int *out) {
  const ga_opencl_platform *list;
  return ga__opencl_platforms(&list, out);
}

int ga__opencl_device_count(unsigned int *out, unsigned int platform) {
  const ga_opencl_platform *found = NULL;
  *out = 0;
  GA_TRY(find_device(&found, platform, 0));
  *out = found->n_devices;
  return GA_NO_ERROR;
}

static bool has_extension(const ga_opencl_api *api, cl_device_id id, const char *name) {
  size_t length = 0, name_length = strlen(name);
  if (api->clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, 0, NULL, &length) != CL_SUCCESS)
    return false;
  char *list = ga__alloc(length + 1, 1);
  if (list == NULL)
    return false;
  api->clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, length, list, NULL);
  const char *at = list;
  bool found = false;
  while (!found && (at = strstr(at, name)) != NULL) {
    const char *end = at + name_length;
    found = (at == list || at[-1] == ' ') && (*end == ' ' || *end == '\0');
    at = end;
  }
  ga__free(list);
  return found;
}

/* Appends "; " and a text, truncated to fit. */
static void add_text(char *out, size_t size, const char *text) {
  size_t length = strlen(out);
  snprintf(out + length, size - length, "%s%s", length ? "; " : "", text);
}

static void add_device_text(char *out, size_t size, const ga_opencl_api *api,
                            cl_device_id id, cl_uint what) {
  char text[128];
  ga__opencl_device_text(text, sizeof text, api, id, what);
  add_text(out, size, text);
}

/* SIMD width. A CPU runtime that vectorizes across work items prefers scalar kernels:
 * its vectors take 16 items, and smaller groups run item by item. One that vectorizes
 * loops within a work item is best with groups of one. */
static unsigned int warp_of(const ga_opencl_api *api, cl_device_id id, bool is_cpu) {
  if (is_cpu) {
    cl_ulong preferred =
        ga__opencl_device_number(api, id, CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT);
    cl_ulong native =
        ga__opencl_device_number(api, id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
    return preferred == 1 && native > 1 ? 16 : 1;
  }
  cl_ulong width = ga__opencl_device_number(api, id, CL_DEVICE_WARP_SIZE_NV);
  if (width == 0)
    width = ga__opencl_device_number(api, id, CL_DEVICE_WAVEFRONT_WIDTH_AMD);
  return width > 0 && width <= 1024 ? (unsigned int)width : 32;
}

/* Accepts inline PTX, and schedules groups with forward progress. */
static bool is_nvidia(const ga_opencl_api *api, cl_device_id id) {
  return ga__opencl_device_number(api, id, CL_DEVICE_WARP_SIZE_NV) == 32;
}

static void bus_id(char *out, size_t size, const ga_opencl_api *api, cl_device_id id) {
  cl_uint place[4] = {0}; /* domain, bus, device, function */
  if (api->clGetDeviceInfo(id, CL_DEVICE_PCI_BUS_INFO_KHR, sizeof place, place, NULL) !=
      CL_SUCCESS) {
    if (api->clGetDeviceInfo(id, CL_DEVICE_PCI_BUS_ID_NV, sizeof *place, &place[1],
                             NULL) != CL_SUCCESS)
      return;
    cl_uint slot = (cl_uint)ga__opencl_device_number(api, id, CL_DEVICE_PCI_SLOT_ID_NV);
    place[0] = (cl_uint)ga__opencl_device_number(api, id, CL_DEVICE_PCI_DOMAIN_ID_NV);
    place[2] = slot >> 3;
    place[3] = slot & 7;
  }
  snprintf(out, size, "%04x:%02x:%02x.%x", place[0] & 0xffff, place[1] & 0xff,
           place[2] & 0xff, place[3] & 0xf);
}

static bool is_chosen(const char *variable, const char *value) {
  const char *chosen = getenv(variable);
  return chosen != NULL && strcmp(chosen, value) == 0;
}

/* Processors' compilers take a third of the time for kernels that are not optimised,
 * and an operation on subnormals takes processors a hundred cycles (ADR 0050). */
static void build_options(char *out, size_t size, const ga_opencl_api *api,
                          cl_device_id id, unsigned int warp) {
  bool exact = ga__opencl_device_number(api, id, CL_DEVICE_SINGLE_FP_CONFIG) &
               CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
  snprintf(out, size, "-cl-std=CL1.2 -DGA_WARP_SIZE=%u%s%s%s%s", warp,
           is_nvidia(api, id) ? " -DGA_HAS_PTX" : "",
           exact ? " -cl-fp32-correctly-rounded-divide-sqrt" : "",
           is_chosen("GPUARRAY_OPENCL_OPTIMIZE", "0") ? " -cl-opt-disable" : "",
           is_chosen("GPUARRAY_OPENCL_FLUSH", "1") ? " -cl-denorms-are-zero" : "");
}

/* What compilers read before each program although no text of the library uses it: PoCL
 * 18,000 lines of builtins, of which builtins.cl.h declares what is needed, Intel's
 * 1,800 of subgroups. By the macros that guard these headers; where a version has
 * others, the headers are read. */
static const char *skipping_headers(bool is_pocl, bool is_intel) {
  return is_pocl    ? " -D_OPENCL_H_ -DGA_DECLARES_BUILTINS"
         : is_intel ? " -D_OPENCL_CTH_"
                    : NULL;
}

static void describe_limits(ga_device_info *out, const ga_opencl_api *api,
                            cl_device_id id) {
  out->total_memory = ga__opencl_device_number(api, id, CL_DEVICE_GLOBAL_MEM_SIZE);
  out->max_alloc = ga__opencl_device_number(api, id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  out->local_memory = ga__opencl_device_number(api, id, CL_DEVICE_LOCAL_MEM_SIZE);
  out->max_threads = ga__opencl_device_number(api, id, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  out->processors =
      (unsigned int)ga__opencl_device_number(api, id, CL_DEVICE_MAX_COMPUTE_UNITS);
  /* OpenCL has no limit on the number of groups; GPU drivers have these. */
  out->max_grid[0] = INT32_MAX;
  out->max_grid[1] = out->max_grid[2] = 65535;
  size_t items[8] = {1, 1, 1};
  if (api->clGetDeviceInfo(id, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof items, items,
                           NULL) != CL_SUCCESS)
    items[0] = out->max_threads;
  memcpy(out->max_block, items, sizeof out->max_block);
}

static void describe(ga_device_info *out, const ga_opencl_api *api, cl_device_id id) {
  *out = (ga_device_info){0};
  cl_ulong type = ga__opencl_device_number(api, id, CL_DEVICE_TYPE);
  out->is_cpu = type & CL_DEVICE_TYPE_CPU;
  out->is_gpu = type & CL_DEVICE_TYPE_GPU;
  out->is_discrete_gpu =
      out->is_gpu && !ga__opencl_device_number(api, id, CL_DEVICE_HOST_UNIFIED_MEMORY);
  out->has_double = has_extension(api, id, "cl_khr_fp64");
  out->has_half = has_extension(api, id, "cl_khr_fp16");
  out->warp = warp_of(api, id, out->is_cpu);
  if (out->is_cpu)
    out->vector_bytes = 4 * (unsigned int)ga__opencl_device_number(
                                api, id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
  out->has_progress = out->is_gpu && is_nvidia(api, id);
  describe_limits(out, api, id);
  bus_id(out->unique_id, sizeof out->unique_id, api, id);
  ga__opencl_device_text(out->name, sizeof out->name, api, id, CL_DEVICE_NAME);

  char options[128], width[32];
  build_options(options, sizeof options, api, id, out->warp);
  snprintf(width, sizeof width, "vectors of %u",
           (unsigned int)ga__opencl_device_number(api, id,
                                                  CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT));
  add_text(out->bin_id, sizeof out->bin_id, options);
  add_device_text(out->bin_id, sizeof out->bin_id, api, id, CL_DRIVER_VERSION);
  add_text(out->bin_id, sizeof out->bin_id, width);
  add_device_text(out->bin_id, sizeof out->bin_id, api, id, CL_DEVICE_OPENCL_C_VERSION);
  add_device_text(out->bin_id, sizeof out->bin_id, api, id, CL_DEVICE_VENDOR);
  add_text(out->bin_id, sizeof out->bin_id, out->name);
}

int ga__opencl_probe(ga_device_info *out, unsigned int platform, unsigned int index) {
  const ga_opencl_platform *found = NULL;
  GA_TRY(find_device(&found, platform, index));
  describe(out, found->api, found->devices[index]);
  return GA_NO_ERROR;
}

/* ---- opening and closing ---- */

static bool shares_memory(const ga_opencl_api *api, cl_device_id id, bool is_cpu) {
  return is_cpu && api->clSVMAlloc && api->clSVMFree &&
         (ga__opencl_device_number(api, id, CL_DEVICE_SVM_CAPABILITIES) &
          CL_DEVICE_SVM_FINE_GRAIN_BUFFER) &&
         (ga__opencl_device_number(api, id, CL_DEVICE_EXECUTION_CAPABILITIES) &
          CL_EXEC_NATIVE_KERNEL);
}

static int open_queue(ga_opencl_device *d) {
  cl_int code = CL_SUCCESS;
  d->queue = d->api->clCreateCommandQueue(
      d->context, d->id, d->is_gpu ? 0 : CL_QUEUE_PROFILING_ENABLE, &code);
  if (d->queue == NULL)
    return ga__opencl_fail(code, "clCreateCommandQueue");
  if (!d->is_gpu && has_extension(d->api, d->id, "cl_intel_exec_by_local_thread"))
    d->at_once = d->api->clCreateCommandQueue(
        d->context, d->id, CL_QUEUE_THREAD_LOCAL_EXEC_ENABLE_INTEL, &code);
  pthread_mutex_init(&d->staging.lock, NULL);
  pthread_mutex_init(&d->queue_lock, NULL);
  pthread_mutex_init(&d->bound_lock, NULL);
  return GA_NO_ERROR;
}

static void close_queue(ga_opencl_device *d) {
  d->api->clFinish(d->queue);
  ga__opencl_staging_close(d);
  pthread_mutex_destroy(&d->staging.lock);
  pthread_mutex_destroy(&d->queue_lock);
  pthread_mutex_destroy(&d->bound_lock);
  ga__opencl_event_free(d, d->bound);
  d->api->clReleaseCommandQueue(d->queue);
  if (d->at_once)
    d->api->clReleaseCommandQueue(d->at_once);
}

/* Retains the borrowed context, or creates one. */
static int take_context(ga_opencl_device *d, cl_context borrowed) {
  cl_int code = CL_SUCCESS;
  if (borrowed)
    OPENCL_TRY(d->api, clRetainContext, borrowed);
  d->context =
      borrowed ? borrowed : d->api->clCreateContext(NULL, 1, &d->id, NULL, NULL, &code);
  return d->context ? GA_NO_ERROR : ga__opencl_fail(code, "clCreateContext");
}

static int open_device(void **device, ga_device_info *info,
                       const ga_opencl_platform *found, unsigned int index,
                       cl_context borrowed) {
  ga_opencl_device *d = ga__alloc(1, sizeof *d);
  GA_TRY_MEMORY(d);
  d->first = d;
  d->api = found->api;
  d->id = found->devices[index];
  describe(info, d->api, d->id);
  d->is_gpu = info->is_gpu;
  d->is_discrete = info->is_discrete_gpu;
  d->reloads =
      info->is_cpu && info->warp > 1; /* Intel's; PoCL keeps less of compiled sources */
  d->stores_sources =
      info->is_cpu && strcmp(found->name, "Portable Computing Language") == 0;
  d->skipping = skipping_headers(d->stores_sources, d->reloads);
  d->shares_memory = shares_memory(d->api, d->id, info->is_cpu);
  build_options(d->options, sizeof d->options, d->api, d->id, info->warp);
  int status = take_context(d, borrowed);
  if (status == GA_NO_ERROR) {
    status = open_queue(d);
    if (status != GA_NO_ERROR)
      d->api->clReleaseContext(d->context);
  }
  if (status != GA_NO_ERROR) {
    ga__free(d);
    return status;
  }
  *device = d;
  return GA_NO_ERROR;
}

int ga__opencl_open(void **device, ga_device_info *info, unsigned int platform,
                    unsigned int index) {
  const ga_opencl_platform *found = NULL;
  GA_TRY(find_device(&found, platform, index));
  return open_device(device, info, found, index, NULL);
}

int ga__opencl_adopt(void **device, ga_device_info *info, unsigned int *platform,
                     unsigned int *index, void *native) {
  const ga_opencl_platform *list;
  cl_device_id id;
  unsigned int n;
  GA_TRY(ga__opencl_platforms(&list, &n));
  GA_TRY(ga__opencl_device_of(&id, native));
  for (*platform = 0; *platform < n; ++*platform)
    for (*index = 0; *index < list[*platform].n_devices; ++*index)
      if (list[*platform].devices[*index] == id)
        return open_device(device, info, &list[*platform], *index, native);
  return GA_FAIL(GA_NODEV_ERROR,
                 "the context's device is of no OpenCL platform that was found");
}

void ga__opencl_close(void *device) {
  ga_opencl_device *d = device;
  close_queue(d);
  d->api->clReleaseContext(d->context);
  ga__free(d);
}

int ga__opencl_queue_new(void **queue, void *device) {
  const ga_opencl_device *d = device;
  ga_opencl_device *q = ga__alloc(1, sizeof *q);
  GA_TRY_MEMORY(q);
  q->first = d->first;
  q->api = d->api;
  q->id = d->id;
  q->context = d->context;
  q->is_gpu = d->is_gpu;
  q->is_discrete = d->is_discrete;
  q->shares_memory = d->shares_memory;
  memcpy(q->options, d->options, sizeof q->options);
  int status = open_queue(q);
  if (status != GA_NO_ERROR) {
    ga__free(q);
    return status;
  }
  *queue = q;
  return GA_NO_ERROR;
}

void ga__opencl_queue_free(void *queue) {
  close_queue(queue);
  ga__free(queue);
}

/* ---- memory ---- */

static int alloc_shared(void **memory, void **host, ga_opencl_device *d, size_t size) {
  const cl_uint alignment = 128; /* bytes: the largest alignment of a kernel's type */
  cl_int code = CL_SUCCESS;
  void *bytes = d->api->clSVMAlloc(
      d->context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, size, alignment);
  if (bytes == NULL)
    return ga__opencl_fail(CL_MEM_OBJECT_ALLOCATION_FAILURE, "clSVMAlloc");
  cl_mem buffer = d->api->clCreateBuffer(
      d->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, size, bytes, &code);
  if (buffer == NULL) {
    d->api->clSVMFree(d->context, bytes);
    return ga__opencl_fail(code, "clCreateBuffer");
  }
  *memory = buffer;
  *host = bytes;
  return GA_NO_ERROR;
}

int ga__opencl_alloc(void **memory, void *device, size_t size) {
  ga_opencl_device *d = device;
  cl_int code = CL_SUCCESS;
  if (size == 0)
    size = 1;
  void *host;
  if (d->shares_memory)
    return alloc_shared(memory, &host, d, size);
  cl_mem buffer =
      d->api->clCreateBuffer(d->context, CL_MEM_READ_WRITE, size, NULL, &code);
  /* Drivers may allocate lazily, so that a later launch fails; migration allocates
   * now. */
  if (buffer && d->is_gpu)
    OPENCL_QUEUE(&code, d, clEnqueueMigrateMemObjects, 1, &buffer,
                 CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0, NULL, NULL);
  if (buffer && code == CL_SUCCESS) {
    *memory = buffer;
    return GA_NO_ERROR;
  }
  if (buffer)
    d->api->clReleaseMemObject(buffer);
  if (code == CL_INVALID_BUFFER_SIZE || code == CL_OUT_OF_RESOURCES)
    code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  return ga__opencl_fail(code, "clCreateBuffer");
}

void ga__opencl_free(void *device, void *memory) {
  ga_opencl_device *d = device;
  void *host = NULL;
  if (d->shares_memory)
    d->api->clGetMemObjectInfo(memory, CL_MEM_HOST_PTR, sizeof host, &host, NULL);
  d->api->clReleaseMemObject(memory);
  if (host)
    d->api->clSVMFree(d->context, host);
  ga__opencl_forget(d);
}

int ga__opencl_free_memory(size_t *out, void *device) {
  (void)out, (void)device;
  return GA_FAIL(GA_DEVSUP_ERROR, "OpenCL does not report free memory");
}

void ga__opencl_forget(void *device) {
  ga_opencl_device *d = device;
  atomic_fetch_add_explicit(&d->first->frees, 1, memory_order_release);
}

/* Where host and device share memory the host writes it directly; other drivers require
 * mapping, and unmapping for kernels. */
int ga__opencl_host_alloc(void **memory, void **host, void *device, size_t size) {
  ga_opencl_device *d = device;
  cl_int code = CL_SUCCESS;
  if (size == 0)
    size = 1;
  if (d->shares_memory)
    return alloc_shared(memory, host, d, size);
  *memory = d->api->clCreateBuffer(
      d->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size, NULL, &code);
  if (*memory == NULL &&
      (code == CL_INVALID_BUFFER_SIZE || code == CL_OUT_OF_RESOURCES))
    code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  return *memory ? GA_NO_ERROR : ga__opencl_fail(code, "clCreateBuffer");
}

void ga__opencl_host_free(void *device, void *memory, void *host) {
  (void)host;
  ga__opencl_free(device, memory);
}
