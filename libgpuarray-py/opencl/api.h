/* Dynamic loading of OpenCL libraries, each into a table of functions.
 *
 * A process may load several: the ICD loader, which knows the registered drivers, and
 * drivers by path. Types, constants and functions are declared here; no vendor header
 * is needed. */
#ifndef GA_OPENCL_API_H
#define GA_OPENCL_API_H

#include <stdint.h>

#include "c/base/strbuf.h"

typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint32_t cl_bool;
typedef uint64_t cl_ulong;
typedef struct ga_cl_platform *cl_platform_id;
typedef struct ga_cl_device *cl_device_id;
typedef struct ga_cl_context *cl_context;
typedef struct ga_cl_queue *cl_command_queue;
typedef struct ga_cl_memory *cl_mem;
typedef struct ga_cl_program *cl_program;
typedef struct ga_cl_kernel *cl_kernel;
typedef struct ga_cl_event *cl_event;
typedef void cl_notify(void); /* callbacks, always NULL */

/* Status codes. */
enum {
  CL_SUCCESS = 0,
  CL_DEVICE_NOT_FOUND = -1,
  CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
  CL_OUT_OF_RESOURCES = -5,
  CL_OUT_OF_HOST_MEMORY = -6,
  CL_BUILD_PROGRAM_FAILURE = -11,
  CL_INVALID_BUFFER_SIZE = -61,
  CL_PLATFORM_NOT_FOUND_KHR = -1001
};

/* Query parameters. */
enum {
  CL_PLATFORM_VERSION = 0x0901,
  CL_PLATFORM_NAME = 0x0902,
  CL_DEVICE_TYPE = 0x1000,
  CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
  CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
  CL_DEVICE_MAX_WORK_ITEM_SIZES = 0x1005,
  CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT = 0x100A,
  CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
  CL_DEVICE_SINGLE_FP_CONFIG = 0x101B,
  CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
  CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
  CL_DEVICE_AVAILABLE = 0x1027,
  CL_DEVICE_COMPILER_AVAILABLE = 0x1028,
  CL_DEVICE_EXECUTION_CAPABILITIES = 0x1029,
  CL_DEVICE_NAME = 0x102B,
  CL_DEVICE_VENDOR = 0x102C,
  CL_DRIVER_VERSION = 0x102D,
  CL_DEVICE_EXTENSIONS = 0x1030,
  CL_DEVICE_HOST_UNIFIED_MEMORY = 0x1035,
  CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT = 0x103A,
  CL_DEVICE_OPENCL_C_VERSION = 0x103D,
  CL_DEVICE_SVM_CAPABILITIES = 0x1053,
  CL_DEVICE_WARP_SIZE_NV = 0x4003,
  CL_DEVICE_PCI_BUS_ID_NV = 0x4008,
  CL_DEVICE_PCI_SLOT_ID_NV = 0x4009,
  CL_DEVICE_PCI_DOMAIN_ID_NV = 0x400A,
  CL_CONTEXT_DEVICES = 0x1081,
  CL_DEVICE_WAVEFRONT_WIDTH_AMD = 0x4043,
  CL_DEVICE_PCI_BUS_INFO_KHR = 0x410F,
  CL_MEM_SIZE = 0x1102,
  CL_MEM_HOST_PTR = 0x1103,
  CL_MEM_CONTEXT = 0x1106,
  CL_MEM_ASSOCIATED_MEMOBJECT = 0x1107,
  CL_MEM_OFFSET = 0x1108,
  CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11D3,
  CL_PROGRAM_SOURCE = 0x1164,
  CL_PROGRAM_BINARY_SIZES = 0x1165,
  CL_PROGRAM_BINARIES = 0x1166,
  CL_PROGRAM_BUILD_LOG = 0x1183,
  CL_KERNEL_NUM_ARGS = 0x1191,
  CL_KERNEL_WORK_GROUP_SIZE = 0x11B0,
  CL_KERNEL_COMPILE_WORK_GROUP_SIZE = 0x11B1,
  CL_QUEUE_CONTEXT = 0x1090,
  CL_QUEUE_DEVICE = 0x1091,
  CL_QUEUE_PROPERTIES = 0x1093,
  CL_PROFILING_COMMAND_START = 0x1282,
  CL_PROFILING_COMMAND_END = 0x1283
};

#define CL_QUEUE_THREAD_LOCAL_EXEC_ENABLE_INTEL ((cl_ulong)1 << 31)

/* Flags. */
enum {
  CL_DEVICE_TYPE_CPU = 1 << 1,
  CL_DEVICE_TYPE_GPU = 1 << 2,
  CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT = 1 << 7,
  CL_EXEC_NATIVE_KERNEL = 1 << 1,
  CL_QUEUE_OUT_OF_ORDER = 1 << 0,
  CL_QUEUE_PROFILING_ENABLE = 1 << 1,
  CL_DEVICE_SVM_FINE_GRAIN_BUFFER = 1 << 1,
  CL_MEM_READ_WRITE = 1 << 0,
  CL_MEM_USE_HOST_PTR = 1 << 3,
  CL_MEM_ALLOC_HOST_PTR = 1 << 4,
  CL_MEM_SVM_FINE_GRAIN_BUFFER = 1 << 10,
  CL_MAP_READ = 1 << 0,
  CL_MAP_WRITE = 1 << 1,
  CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED = 1 << 1
};
#define CL_DEVICE_TYPE_ALL 0xFFFFFFFFu

typedef struct ga_opencl_api {
#define FUNCTION(result, name, slot, arguments) result(*name) arguments;
#define OPTIONAL(result, name, arguments) result(*name) arguments;
#include "opencl/api.def"
#undef FUNCTION
#undef OPTIONAL
} ga_opencl_api;

/* Loads the functions of an opened library, and its platforms into *ids (to be freed by
 * ga__free). A driver without exports is loaded by its ICD dispatch table.
 * GA_LOAD_ERROR names what is missing. */
int ga__opencl_load(ga_opencl_api *api, cl_platform_id **ids, cl_uint *n,
                    void *library);

/* The first device of a foreign context, by the context's own dispatch table. */
int ga__opencl_device_of(cl_device_id *out, cl_context context);

/* Fails with the call and the error's name. */
int ga__opencl_fail(cl_int code, const char *call);

/* Calls `api->name(...)`; returns its failure from the caller. */
#define OPENCL_TRY(api, name, ...)                                                     \
  do {                                                                                 \
    cl_int opencl_try_ = (api)->name(__VA_ARGS__);                                     \
    if (opencl_try_ != CL_SUCCESS)                                                     \
      return ga__opencl_fail(opencl_try_, #name);                                      \
  } while (0)

#endif
