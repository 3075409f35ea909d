/* OpenCL platforms of all loaded libraries.
 *
 * A library is the ICD loader or a vendor's driver: Intel's for the CPU comes in a
 * wheel, which no loader knows, and NVIDIA's often lacks its registration file. A
 * runtime that two libraries offer is listed once. */
#define _POSIX_C_SOURCE 200809L
#include "opencl/platform.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "c/system/dynload.h"
#include "opencl/library/blas.h"

static struct {
  pthread_mutex_t lock;
  bool opened; /* a library was loaded, so that the list is final */
  ga_strbuf report;
  ga_opencl_platform *list;
  unsigned int n;
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- queries ---- */

void ga__opencl_device_text(char *out, size_t size, const ga_opencl_api *api,
                            cl_device_id device, cl_uint what) {
  size_t length = 0;
  out[0] = '\0';
  if (api->clGetDeviceInfo(device, what, 0, NULL, &length) != CL_SUCCESS || length == 0)
    return;
  char *text = ga__alloc(length + 1, 1);
  if (text == NULL)
    return;
  if (api->clGetDeviceInfo(device, what, length, text, NULL) == CL_SUCCESS)
    snprintf(out, size, "%s", text + strspn(text, " "));
  ga__free(text);
}

cl_ulong ga__opencl_device_number(const ga_opencl_api *api, cl_device_id device,
                                  cl_uint what) {
  union {
    cl_ulong wide;
    cl_uint narrow;
  } value = {0};
  size_t size = 0;
  if (api->clGetDeviceInfo(device, what, sizeof value, &value, &size) != CL_SUCCESS)
    return 0;
  return size == sizeof value.narrow ? value.narrow : value.wide;
}

static char *platform_text(const ga_opencl_api *api, cl_platform_id id, cl_uint what) {
  size_t length = 0;
  if (api->clGetPlatformInfo(id, what, 0, NULL, &length) != CL_SUCCESS)
    length = 0;
  char *text = ga__alloc(length + 1, 1);
  if (text && length > 0)
    api->clGetPlatformInfo(id, what, length, text, NULL);
  return text;
}

/* ---- platforms ---- */

/* Lists available devices with a compiler. */
static int list_devices(ga_opencl_platform *p, cl_platform_id id) {
  const ga_opencl_api *api = p->api;
  cl_uint n = 0;
  cl_int code = api->clGetDeviceIDs(id, CL_DEVICE_TYPE_ALL, 0, NULL, &n);
  if (code == CL_DEVICE_NOT_FOUND || (code == CL_SUCCESS && n == 0))
    return GA_NO_ERROR;
  if (code != CL_SUCCESS)
    return ga__opencl_fail(code, "clGetDeviceIDs");
  p->devices = ga__alloc(n, sizeof *p->devices);
  GA_TRY_MEMORY(p->devices);
  OPENCL_TRY(api, clGetDeviceIDs, id, CL_DEVICE_TYPE_ALL, n, p->devices, NULL);
  for (cl_uint i = 0; i < n; i++)
    if (ga__opencl_device_number(api, p->devices[i], CL_DEVICE_AVAILABLE) &&
        ga__opencl_device_number(api, p->devices[i], CL_DEVICE_COMPILER_AVAILABLE))
      p->devices[p->n_devices++] = p->devices[i];
  return GA_NO_ERROR;
}

static bool is_same(const ga_opencl_platform *a, const ga_opencl_platform *b) {
  if (a->n_devices != b->n_devices || strcmp(a->name, b->name) != 0 ||
      strcmp(a->version, b->version) != 0)
    return false;
  for (cl_uint i = 0; i < a->n_devices; i++) {
    char names[2][256];
    ga__opencl_device_text(names[0], sizeof names[0], a->api, a->devices[i],
                           CL_DEVICE_NAME);
    ga__opencl_device_text(names[1], sizeof names[1], b->api, b->devices[i],
                           CL_DEVICE_NAME);
    if (strcmp(names[0], names[1]) != 0)
      return false;
  }
  return true;
}

/* Why a platform is left out, or NULL. */
static const char *fault(const ga_opencl_platform *p) {
  unsigned int major = 0, minor = 0;
  sscanf(p->version, "OpenCL %u.%u", &major, &minor);
  if (major < 1 || (major == 1 && minor < 2))
    return "too old, OpenCL 1.2 is needed";
  if (p->n_devices == 0)
    return "no device that takes source text";
  for (unsigned int i = 0; i < known.n; i++)
    if (is_same(p, &known.list[i]))
      return "listed already";
  return NULL;
}

static void clear_platform(ga_opencl_platform *p) {
  ga__free(p->name);
  ga__free(p->version);
  ga__free(p->devices);
}

static void report_platform(const ga_opencl_platform *p, unsigned int number) {
  for (cl_uint i = 0; i < p->n_devices; i++) {
    char device[256], driver[128];
    ga__opencl_device_text(device, sizeof device, p->api, p->devices[i],
                           CL_DEVICE_NAME);
    ga__opencl_device_text(driver, sizeof driver, p->api, p->devices[i],
                           CL_DRIVER_VERSION);
    ga__strbuf_addf(&known.report, "  opencl%u:%u: %s, driver %s\n", number, i, device,
                    driver);
  }
}

static int add_platform(ga_opencl_api *api, cl_platform_id id) {
  ga_opencl_platform p = {.api = api,
                          .name = platform_text(api, id, CL_PLATFORM_NAME),
                          .version = platform_text(api, id, CL_PLATFORM_VERSION)};
  int status = p.name && p.version ? list_devices(&p, id) : GA_MEMORY_ERROR;
  const char *why = status == GA_NO_ERROR ? fault(&p) : gpuarray_error_text();
  if (p.name && p.version)
    ga__strbuf_addf(&known.report, "  platform %s (%s)%s%s\n", p.name, p.version,
                    why ? ": left out: " : "", why ? why : "");
  if (why == NULL) {
    ga_opencl_platform *longer =
        ga__realloc(known.list, known.n + 1, sizeof *known.list);
    if (longer) {
      known.list = longer;
      known.list[known.n] = p;
      report_platform(&p, known.n++);
      return GA_NO_ERROR;
    }
    status = GA_MEMORY_ERROR;
  }
  clear_platform(&p);
  return status == GA_MEMORY_ERROR ? status : GA_NO_ERROR;
}

/* ---- libraries ---- */

static int add_library(void *library) {
  ga_opencl_api *api = ga__alloc(1, sizeof *api);
  cl_platform_id *ids = NULL;
  cl_uint n = 0;
  GA_TRY_MEMORY(api);
  int status = ga__opencl_load(api, &ids, &n, library);
  if (status != GA_NO_ERROR) {
    ga__free(api);
    ga__strbuf_addf(&known.report, "  of no use: %s\n", gpuarray_error_text());
    return status == GA_MEMORY_ERROR ? status : GA_NO_ERROR;
  }
  known.opened = true;
  if (n == 0)
    ga__strbuf_add(&known.report, "  it knows no platform\n");
  unsigned int before = known.n;
  for (cl_uint i = 0; i < n && status == GA_NO_ERROR; i++)
    status = add_platform(api, ids[i]);
  if (known.n == before)
    ga__free(api);
  ga__free(ids);
  return status;
}

static int open_first(char **candidates) {
  void *library = candidates
                      ? ga__dynload_open((const char *const *)candidates, &known.report)
                      : NULL;
  ga__dynload_paths_free(candidates);
  return library ? add_library(library) : GA_NO_ERROR;
}

static int open_path(const char *path) {
  char **candidates = NULL;
  GA_TRY(ga__dynload_add(&candidates, path));
  return open_first(candidates);
}

/* Wheels install it next to python3.x/site-packages, in <prefix>/lib. */
static int open_wheels(void) {
  char **candidates = NULL;
  int status = ga__dynload_wheels(&candidates, "../../libintelocl.so");
  GA_THEN(status, ga__dynload_wheels(&candidates, "../../../lib/libintelocl.so"));
  if (status != GA_NO_ERROR) {
    ga__dynload_paths_free(candidates);
    return status;
  }
  return open_first(candidates);
}

/* Loads the driver that a file in /etc/OpenCL/vendors names, as an ICD loader would. */
static int open_registered(const char *file) {
  char line[512] = "";
  FILE *f = fopen(file, "r");
  if (f == NULL)
    return GA_NO_ERROR;
  char *read = fgets(line, sizeof line, f);
  fclose(f);
  line[strcspn(line, "\r\n")] = '\0';
  return read && line[0] ? open_path(line) : GA_NO_ERROR;
}

static int open_all_registered(void) {
  char **files = NULL;
  int status = ga__dynload_glob(&files, "/etc/OpenCL/vendors/*.icd");
  for (char **file = files; file && *file && status == GA_NO_ERROR; file++)
    status = open_registered(*file);
  ga__dynload_paths_free(files);
  return status;
}

static bool is_listed(const char *name) {
  for (unsigned int i = 0; i < known.n; i++)
    if (strcmp(known.list[i].name, name) == 0)
      return true;
  return false;
}

static int open_loader(void) {
  char **candidates = NULL;
  GA_TRY(ga__dynload_add(&candidates, "libOpenCL.so.1"));
  int status = ga__dynload_add(&candidates, "libOpenCL.so");
  if (status != GA_NO_ERROR) {
    ga__dynload_paths_free(candidates);
    return status;
  }
  void *loader = ga__dynload_open((const char *const *)candidates, &known.report);
  ga__dynload_paths_free(candidates);
  return loader ? add_library(loader) : open_all_registered();
}

static int open_libraries(void) {
  const char *chosen = getenv("GPUARRAY_OPENCL");
  if (chosen && *chosen) {
    ga__strbuf_add(&known.report, "GPUARRAY_OPENCL is set, nothing else is tried\n");
    return open_path(chosen);
  }
  GA_TRY(open_wheels());
  GA_TRY(open_loader());
  return is_listed("NVIDIA CUDA") ? GA_NO_ERROR : open_path("libnvidia-opencl.so.1");
}

/* The lock is held. */
static int need_libraries(void) {
  if (known.opened)
    return GA_NO_ERROR;
  ga__strbuf_clear(&known.report);
  GA_TRY(open_libraries());
  if (!known.opened)
    return GA_FAIL(GA_LOAD_ERROR,
                   "no OpenCL library could be opened; for a device on the CPU: pip "
                   "install intel-opencl-rt intel-cmplr-lib-rt; for a GPU, install the "
                   "vendor's driver. Tried:\n%s",
                   known.report.text ? known.report.text : "nothing");
  return GA_NO_ERROR;
}

int ga__opencl_platforms(const ga_opencl_platform **list, unsigned int *n) {
  pthread_mutex_lock(&known.lock);
  int status = need_libraries();
  if (status == GA_NO_ERROR) {
    *list = known.list;
    *n = known.n;
  }
  pthread_mutex_unlock(&known.lock);
  return status;
}

void ga__opencl_report(ga_strbuf *out) {
  pthread_mutex_lock(&known.lock);
  int status = need_libraries();
  if (known.report.text)
    ga__strbuf_add(out, known.report.text);
  if (status != GA_NO_ERROR)
    ga__strbuf_addf(out, "no OpenCL: %s\n", gpuarray_error_text());
  pthread_mutex_unlock(&known.lock);
  ga__opencl_blas_report(out);
}
