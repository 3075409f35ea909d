/* A driver of OpenCL that shows its platforms to loaders only, and has no device.
 * $MOCK_OPENCL says how it fails: "code": counting the platforms; "list": listing them;
 * "platforms": there are none; "loader": they have no functions; "devices": listing the
 * devices. */
#include <stdlib.h>
#include <string.h>

#include "opencl/api.h"

#define EXPORT __attribute__((visibility("default")))

typedef void any_function(void);

static bool fails_as(const char *name) {
  const char *chosen = getenv("MOCK_OPENCL");
  return chosen && strcmp(chosen, name) == 0;
}

static cl_int platform_info(cl_platform_id platform, cl_uint what, size_t size,
                            void *value, size_t *real_size) {
  const char *text = what == CL_PLATFORM_VERSION ? "OpenCL 3.0 mock" : "Mock";
  (void)platform;
  if (value)
    memcpy(value, text, size < strlen(text) ? size : strlen(text));
  if (real_size)
    *real_size = strlen(text);
  return CL_SUCCESS;
}

static cl_int no_devices(cl_platform_id platform, cl_ulong type, cl_uint n,
                         cl_device_id *ids, cl_uint *count) {
  (void)platform, (void)type, (void)n, (void)ids;
  if (count)
    *count = 0;
  return fails_as("devices") ? CL_OUT_OF_RESOURCES : CL_DEVICE_NOT_FOUND;
}

/* The functions are at their slots of api.def, behind the platform's first word. */
cl_int clIcdGetPlatformIDsKHR(cl_uint n, cl_platform_id *ids, cl_uint *count);

EXPORT cl_int clIcdGetPlatformIDsKHR(cl_uint n, cl_platform_id *ids, cl_uint *count) {
  static any_function *functions[128] = {[1] = (any_function *)platform_info,
                                         [2] = (any_function *)no_devices};
  static struct {
    any_function **functions;
  } platform;
  if (fails_as("code") || (fails_as("list") && n > 0))
    return CL_OUT_OF_HOST_MEMORY;
  platform.functions = fails_as("loader") ? NULL : functions;
  if (count)
    *count = fails_as("platforms") ? 0 : 1;
  if (n > 0)
    ids[0] = (cl_platform_id)&platform;
  return CL_SUCCESS;
}
