/* OpenCL libraries that are of no use: what is said, and what was tried. Each is opened
 * in a process of its own. */
#include "null_context.h"

#include <sys/wait.h>
#include <unistd.h>

static char mock[512]; /* the library with mock_opencl.c */

/* Opens OpenCL's default device with the library at `path`, which fails as `how`. */
static void check_no_device(const char *path, const char *how, int status,
                            const char *said, const char *reported) {
  int result = 1;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    gpucontext *ctx = NULL;
    check_failures = 0;
    setenv("GPUARRAY_OPENCL", path, 1);
    setenv("GPUARRAY_CUDA_DRIVER", "/no/such.so", 1);
    setenv("MOCK_OPENCL", how, 1);
    CHECK_STATUS(status, gpucontext_open(&ctx, "opencl"));
    CHECK_TEXT(said);
    CHECK(strstr(gpuarray_search_report("opencl"), reported) != NULL);
    CHECK_STATUS(status, gpucontext_open(&ctx, "opencl3:0"));
    CHECK_STATUS(GA_NODEV_ERROR, gpucontext_open(&ctx, NULL));
    CHECK_TEXT("no device was found");
    CHECK(ctx == NULL);
    exit(check_failures != 0);
  }
  CHECK(waitpid(child, &result, 0) == child && result == 0);
}

int main(int argc, char **argv) {
  (void)argc;
  const char *path = getenv("GPUARRAY_CUDA_DRIVER"), *none = "no OpenCL library could";
  if (path == NULL) {
    fprintf(stderr, "GPUARRAY_CUDA_DRIVER does not name the mock; ctest sets it\n");
    return 1;
  }
  snprintf(mock, sizeof mock, "%s", path);
  check_no_device("/no/such.so", "", GA_LOAD_ERROR, none, "/no/such.so");
  check_no_device("libm.so.6", "", GA_LOAD_ERROR, none,
                  "it lacks the function clGetPlatformIDs of OpenCL 1.2");
  check_no_device(mock, "loader", GA_LOAD_ERROR, none, "only be reached by a loader");
  check_no_device(mock, "code", GA_MEMORY_ERROR, "the host has no memory left",
                  "the host has no memory left");
  check_no_device(mock, "list", GA_MEMORY_ERROR, "the host has no memory left",
                  "the host has no memory left");
  check_no_device(mock, "platforms", GA_NODEV_ERROR, "0 platforms",
                  "it knows no platform");
  check_no_device(mock, "devices", GA_NODEV_ERROR, "0 platforms",
                  "left out: clGetDeviceIDs failed: CL_OUT_OF_RESOURCES");
  check_no_device(mock, "", GA_NODEV_ERROR, "0 platforms",
                  "left out: no device that takes source text");
  return check_result(argv[0]);
}
