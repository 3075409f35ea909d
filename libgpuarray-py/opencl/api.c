/* Function table of an OpenCL library: dlsym, or the dispatch table of an ICD. */
#include "opencl/api.h"

#include "c/system/dynload.h"

typedef void (*function)(void);
typedef cl_int platforms_function(cl_uint n, cl_platform_id *ids, cl_uint *count);

/* Cast; both are of one size on every system with dlsym. */
static function function_of(void *address) {
  union {
    void *address;
    function function;
  } both = {.address = address};
  return both.function;
}

static const char *code_name(cl_int code) {
  static const char *const names[] = {
      "CL_SUCCESS",
      "CL_DEVICE_NOT_FOUND",
      "CL_DEVICE_NOT_AVAILABLE",
      "CL_COMPILER_NOT_AVAILABLE",
      "CL_MEM_OBJECT_ALLOCATION_FAILURE",
      "CL_OUT_OF_RESOURCES",
      "CL_OUT_OF_HOST_MEMORY",
      "CL_PROFILING_INFO_NOT_AVAILABLE",
      "CL_MEM_COPY_OVERLAP",
      "CL_IMAGE_FORMAT_MISMATCH",
      "CL_IMAGE_FORMAT_NOT_SUPPORTED",
      "CL_BUILD_PROGRAM_FAILURE",
      "CL_MAP_FAILURE",
      "CL_MISALIGNED_SUB_BUFFER_OFFSET",
      "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
      "CL_COMPILE_PROGRAM_FAILURE",
      "CL_LINKER_NOT_AVAILABLE",
      "CL_LINK_PROGRAM_FAILURE",
      "CL_DEVICE_PARTITION_FAILED",
      "CL_KERNEL_ARG_INFO_NOT_AVAILABLE",
  };
  static const char *const invalid[] = {
      "CL_INVALID_VALUE",
      "CL_INVALID_DEVICE_TYPE",
      "CL_INVALID_PLATFORM",
      "CL_INVALID_DEVICE",
      "CL_INVALID_CONTEXT",
      "CL_INVALID_QUEUE_PROPERTIES",
      "CL_INVALID_COMMAND_QUEUE",
      "CL_INVALID_HOST_PTR",
      "CL_INVALID_MEM_OBJECT",
      "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR",
      "CL_INVALID_IMAGE_SIZE",
      "CL_INVALID_SAMPLER",
      "CL_INVALID_BINARY",
      "CL_INVALID_BUILD_OPTIONS",
      "CL_INVALID_PROGRAM",
      "CL_INVALID_PROGRAM_EXECUTABLE",
      "CL_INVALID_KERNEL_NAME",
      "CL_INVALID_KERNEL_DEFINITION",
      "CL_INVALID_KERNEL",
      "CL_INVALID_ARG_INDEX",
      "CL_INVALID_ARG_VALUE",
      "CL_INVALID_ARG_SIZE",
      "CL_INVALID_KERNEL_ARGS",
      "CL_INVALID_WORK_DIMENSION",
      "CL_INVALID_WORK_GROUP_SIZE",
      "CL_INVALID_WORK_ITEM_SIZE",
      "CL_INVALID_GLOBAL_OFFSET",
      "CL_INVALID_EVENT_WAIT_LIST",
      "CL_INVALID_EVENT",
      "CL_INVALID_OPERATION",
      "CL_INVALID_GL_OBJECT",
      "CL_INVALID_BUFFER_SIZE",
      "CL_INVALID_MIP_LEVEL",
      "CL_INVALID_GLOBAL_WORK_SIZE",
      "CL_INVALID_PROPERTY",
      "CL_INVALID_IMAGE_DESCRIPTOR",
      "CL_INVALID_COMPILER_OPTIONS",
      "CL_INVALID_LINKER_OPTIONS",
      "CL_INVALID_DEVICE_PARTITION_COUNT",
  };
  int n_names = (int)(sizeof names / sizeof *names);
  int n_invalid = (int)(sizeof invalid / sizeof *invalid);
  if (code <= 0 && -code < n_names)
    return names[-code];
  if (code <= -30 && -code < 30 + n_invalid)
    return invalid[-code - 30];
  if (code == CL_PLATFORM_NOT_FOUND_KHR)
    return "CL_PLATFORM_NOT_FOUND_KHR";
  return "an error of the vendor's own";
}

int ga__opencl_fail(cl_int code, const char *call) {
  switch (code) {
  case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    return GA_FAIL(GA_MEMORY_ERROR, "%s: the device has no memory left: %s (%d)", call,
                   code_name(code), code);
  case CL_OUT_OF_HOST_MEMORY:
    return GA_FAIL(GA_MEMORY_ERROR, "%s: the host has no memory left: %s (%d)", call,
                   code_name(code), code);
  default:
    return GA_FAIL(GA_IMPL_ERROR, "%s failed: %s (%d)", call, code_name(code), code);
  }
}

/* By symbol; returns the first one missing, or NULL. */
static const char *load_by_name(ga_opencl_api *api, void *library) {
#define FUNCTION(result, name, slot, arguments)                                        \
  api->name = (result(*) arguments)function_of(ga__dynload_symbol(library, #name));    \
  if (api->name == NULL)                                                               \
    return #name;
#define OPTIONAL(result, name, arguments)                                              \
  api->name = (result(*) arguments)function_of(ga__dynload_symbol(library, #name));
#include "opencl/api.def"
#undef FUNCTION
#undef OPTIONAL
  return NULL;
}

/* From the ICD dispatch table that every object begins with. */
static void load_by_slot(ga_opencl_api *api, const void *object) {
  const function *table = *(const function *const *)object;
#define FUNCTION(result, name, slot, arguments)                                        \
  api->name = (result(*) arguments)table[slot];
#define OPTIONAL(result, name, arguments) api->name = NULL;
#include "opencl/api.def"
#undef FUNCTION
#undef OPTIONAL
}

int ga__opencl_device_of(cl_device_id *out, cl_context context) {
  ga_opencl_api own;
  size_t size = 0;
  load_by_slot(&own, context);
  OPENCL_TRY(&own, clGetContextInfo, context, CL_CONTEXT_DEVICES, 0, NULL, &size);
  cl_device_id *list = ga__alloc(size + 1, 1);
  GA_TRY_MEMORY(list);
  cl_int code = own.clGetContextInfo(context, CL_CONTEXT_DEVICES, size, list, NULL);
  if (code == CL_SUCCESS && size >= sizeof *list)
    *out = list[0];
  ga__free(list);
  if (code != CL_SUCCESS)
    return ga__opencl_fail(code, "clGetContextInfo");
  return size >= sizeof *out
             ? GA_NO_ERROR
             : GA_FAIL(GA_NODEV_ERROR, "the OpenCL context has no device");
}

/* The ICD entry of a driver that exports no functions, or NULL. */
static platforms_function *find_icd(void *library) {
  void *symbol = ga__dynload_symbol(library, "clIcdGetPlatformIDsKHR");
  if (symbol)
    return (platforms_function *)function_of(symbol);
  symbol = ga__dynload_symbol(library, "clGetExtensionFunctionAddress");
  if (symbol == NULL)
    return NULL;
  void *(*get)(const char *) = (void *(*)(const char *))function_of(symbol);
  return (platforms_function *)function_of(get("clIcdGetPlatformIDsKHR"));
}

static int list_platforms(cl_platform_id **ids, cl_uint *n, platforms_function *get) {
  cl_uint count = 0;
  cl_int code = get(0, NULL, &count);
  if (code == CL_PLATFORM_NOT_FOUND_KHR || (code == CL_SUCCESS && count == 0)) {
    *ids = NULL;
    *n = 0;
    return GA_NO_ERROR;
  }
  if (code != CL_SUCCESS)
    return ga__opencl_fail(code, "clGetPlatformIDs");
  cl_platform_id *list = ga__alloc(count, sizeof *list);
  GA_TRY_MEMORY(list);
  code = get(count, list, NULL);
  if (code != CL_SUCCESS) {
    ga__free(list);
    return ga__opencl_fail(code, "clGetPlatformIDs");
  }
  *ids = list;
  *n = count;
  return GA_NO_ERROR;
}

int ga__opencl_load(ga_opencl_api *api, cl_platform_id **ids, cl_uint *n,
                    void *library) {
  const char *missing = load_by_name(api, library);
  if (missing == NULL)
    return list_platforms(ids, n, api->clGetPlatformIDs);
  platforms_function *get = find_icd(library);
  if (get == NULL)
    return GA_FAIL(GA_LOAD_ERROR, "it lacks the function %s of OpenCL 1.2", missing);
  GA_TRY(list_platforms(ids, n, get));
  if (*n > 0 && *(void **)(*ids)[0] == NULL) {
    ga__free(*ids);
    return GA_FAIL(GA_LOAD_ERROR, "its functions can only be reached by a loader; "
                                  "install one (libOpenCL.so.1)");
  }
  if (*n > 0)
    load_by_slot(api, (*ids)[0]);
  return GA_NO_ERROR;
}
