/* The registry of backends, and device names. */
#define _POSIX_C_SOURCE 200809L
#include "c/backend/backends.h"

#include <ctype.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In the order of the default choice; the last (null) is never a default. */
static const ga_backend *const backends[] = {&ga__cuda_backend, &ga__opencl_backend,
                                             &ga__null_backend};
enum { N_BACKENDS = sizeof backends / sizeof *backends, N_CHOICES = N_BACKENDS - 1 };

#define FORMS                                                                          \
  "\"cuda\", \"cuda0\" (a device), \"opencl\", \"opencl0:1\" (platform and device) "   \
  "or \"null\""

const ga_backend *ga__backend_find(const char *name) {
  for (size_t i = 0; name && i < N_BACKENDS; i++)
    if (strcmp(backends[i]->name, name) == 0)
      return backends[i];
  return NULL;
}

/* Per backend: id of the process that first asked the vendor for platforms, 0: none. */
static atomic_long asked_by[N_BACKENDS];

static atomic_long *asker_of(const ga_backend *backend) {
  size_t i = 0;
  while (backends[i] != backend)
    i++;
  return &asked_by[i];
}

int ga__backend_check_fork(const ga_backend *backend) {
  const long asked = atomic_load(asker_of(backend));
  if (asked == 0 || asked == (long)getpid() || backend == &ga__null_backend)
    return GA_NO_ERROR;
  return GA_FAIL(GA_FORK_ERROR,
                 "%s was asked for its devices by process %ld, from which this one was "
                 "forked; ask after the fork only (with multiprocessing, use the start "
                 "method \"spawn\")",
                 backend->name, asked);
}

void ga__backend_note_asked(const ga_backend *backend) {
  long nobody = 0;
  atomic_compare_exchange_strong(asker_of(backend), &nobody, (long)getpid());
}

/* Number of platforms; every way to a device by name passes here and its fork check. */
static int count_platforms(unsigned int *out, const ga_backend *backend) {
  GA_TRY(ga__backend_check_fork(backend));
  GA_TRY(backend->platform_count(out));
  ga__backend_note_asked(backend);
  return GA_NO_ERROR;
}

const char *ga__backend_names(void) {
  return "cuda, opencl, null";
}

int ga__backend_advise(int status) {
  if (status != GA_NODEV_ERROR && status != GA_LOAD_ERROR)
    return status;
  return GA_FAIL(
      status,
      "%s. On a machine without a GPU, \"pip install intel-opencl-rt "
      "intel-cmplr-lib-rt\" brings an OpenCL device, which programs other than "
      "Python find where GPUARRAY_WHEEL_PATH names pip's site-packages; "
      "\"python -m gpuarray.doctor\" shows what was searched",
      gpuarray_error_text());
}

int ga__backend_speaks(const ga_backend *backend, int flags) {
  bool cuda = backend == &ga__cuda_backend, opencl = backend == &ga__opencl_backend;
  if ((flags & GA_USE_CUDA && !cuda) || (flags & GA_USE_OPENCL && !opencl))
    return GA_FAIL(GA_DEVSUP_ERROR,
                   "the kernel is written for %s only, and the device's backend is %s",
                   flags & GA_USE_CUDA ? "cuda" : "opencl", backend->name);
  return GA_NO_ERROR;
}

void ga__backend_device_name(char out[GA_DEVICE_NAME], const ga_address *a) {
  if (a->backend == &ga__cuda_backend)
    snprintf(out, GA_DEVICE_NAME, "%s%u", a->backend->name, a->index);
  else if (a->backend == &ga__opencl_backend)
    snprintf(out, GA_DEVICE_NAME, "%s%u:%u", a->backend->name, a->platform, a->index);
  else
    snprintf(out, GA_DEVICE_NAME, "%s", a->backend->name);
}

/* Preference for the default device; lower is better. */
static int rank(const ga_device_info *info) {
  if (info->is_discrete_gpu)
    return 0;
  if (info->is_gpu)
    return 1;
  return info->is_cpu ? 2 : 3;
}
enum { WORST_RANK = 4 };

/* Finds the best device of a platform, if better than *best_rank. */
static int better_device(ga_address *out, int *best_rank, ga_device_info *info,
                         const ga_backend *backend, unsigned int platform) {
  unsigned int n = 0;
  GA_TRY(backend->device_count(&n, platform));
  int status = GA_NO_ERROR;
  for (unsigned int i = 0; i < n; i++) {
    int probed = backend->probe(info, platform, i);
    if (probed != GA_NO_ERROR)
      status = probed;
    else if (rank(info) < *best_rank) {
      *best_rank = rank(info);
      *out = (ga_address){backend, platform, i};
    }
  }
  return status;
}

/* The best device of a backend, the first of equals; devices that fail are skipped. */
static int best_device(ga_address *out, const ga_backend *backend) {
  unsigned int platforms = 0;
  GA_TRY(count_platforms(&platforms, backend));
  ga_device_info *info = ga__alloc(1, sizeof *info);
  GA_TRY_MEMORY(info);
  int best = WORST_RANK, failed = GA_NO_ERROR;
  for (unsigned int p = 0; p < platforms; p++) {
    int status = better_device(out, &best, info, backend, p);
    failed = status == GA_NO_ERROR ? failed : status;
  }
  ga__free(info);
  if (best < WORST_RANK)
    return GA_NO_ERROR;
  return failed != GA_NO_ERROR ? failed
                               : GA_FAIL(GA_NODEV_ERROR, "%s: %u platforms, no device",
                                         backend->name, platforms);
}

static int default_device(ga_address *out) {
  ga_strbuf causes = {0};
  int status = GA_NODEV_ERROR;
  bool forked = false;
  for (size_t i = 0; i < N_CHOICES && status != GA_NO_ERROR; i++) {
    status = best_device(out, backends[i]);
    forked = forked || status == GA_FORK_ERROR;
    if (status != GA_NO_ERROR)
      ga__strbuf_addf(&causes, "; %s", gpuarray_error_text());
  }
  if (status != GA_NO_ERROR)
    status = GA_FAIL(forked ? GA_FORK_ERROR : GA_NODEV_ERROR, "no device was found%s",
                     causes.text ? causes.text : "");
  ga__strbuf_clear(&causes);
  return ga__backend_advise(status);
}

/* Parses a number below UINT_MAX. */
static bool read_number(const char **text, unsigned int *out) {
  if (!isdigit((unsigned char)**text))
    return false;
  char *end;
  unsigned long number = strtoul(*text, &end, 10);
  *text = end;
  *out = (unsigned int)number;
  return number < UINT_MAX;
}

/* Parses the indices after the backend's name; *chosen is false if there are none. */
static bool parse_indices(ga_address *out, bool *chosen, const char *text) {
  *chosen = *text != '\0';
  if (!*chosen)
    return true;
  if (out->backend == &ga__cuda_backend)
    return read_number(&text, &out->index) && *text == '\0';
  if (out->backend == &ga__opencl_backend)
    return read_number(&text, &out->platform) && *text++ == ':' &&
           read_number(&text, &out->index) && *text == '\0';
  return false;
}

/* GA_NODEV_ERROR unless the device exists. */
static int check_exists(const ga_address *a, const char *name) {
  unsigned int platforms = 0, devices = 0;
  GA_TRY(count_platforms(&platforms, a->backend));
  if (a->platform >= platforms)
    return GA_FAIL(GA_NODEV_ERROR, "\"%s\": %s has no platform %u (platforms: %u)",
                   name, a->backend->name, a->platform, platforms);
  GA_TRY(a->backend->device_count(&devices, a->platform));
  if (a->index >= devices)
    return GA_FAIL(GA_NODEV_ERROR,
                   "\"%s\": platform %u of %s has no device %u (devices: %u)", name,
                   a->platform, a->backend->name, a->index, devices);
  return GA_NO_ERROR;
}

int ga__backend_device(ga_address *out, const char *name) {
  if (name == NULL)
    return default_device(out);
  for (size_t i = 0; i < N_BACKENDS; i++) {
    size_t length = strlen(backends[i]->name);
    ga_address address = {backends[i], 0, 0};
    bool chosen;
    if (strncmp(name, backends[i]->name, length) != 0)
      continue;
    if (!parse_indices(&address, &chosen, name + length))
      break;
    int status =
        chosen ? check_exists(&address, name) : best_device(&address, backends[i]);
    if (status != GA_NO_ERROR)
      return ga__backend_advise(status);
    *out = address;
    return GA_NO_ERROR;
  }
  return GA_FAIL(GA_INVALID_ERROR, "\"%s\" is not a device name; expected " FORMS,
                 name);
}

static int find_by_name(const ga_backend **out, const char *name,
                        const char *operation) {
  if (name == NULL)
    return ga__fail_null(operation, "name of a backend");
  *out = ga__backend_find(name);
  if (*out == NULL)
    return GA_FAIL(GA_INVALID_ERROR, "%s: \"%s\" is not a backend; expected one of %s",
                   operation, name, ga__backend_names());
  return GA_NO_ERROR;
}

int gpu_get_platform_count(const char *name, unsigned int *platcount) {
  const ga_backend *backend;
  GA_TRY(find_by_name(&backend, name, __func__));
  if (platcount == NULL)
    return ga__fail_null(__func__, "pointer for the count");
  return ga__backend_advise(count_platforms(platcount, backend));
}

int gpu_get_device_count(const char *name, unsigned int platform,
                         unsigned int *devcount) {
  const ga_backend *backend;
  unsigned int platforms;
  GA_TRY(find_by_name(&backend, name, __func__));
  if (devcount == NULL)
    return ga__fail_null(__func__, "pointer for the count");
  int status = count_platforms(&platforms, backend);
  if (status == GA_NO_ERROR && platform >= platforms)
    status = GA_FAIL(GA_NODEV_ERROR, "%s has no platform %u (platforms: %u)", name,
                     platform, platforms);
  GA_THEN(status, backend->device_count(devcount, platform));
  return ga__backend_advise(status);
}

int gpuarray_dnn_version(const char *name, size_t *version) {
  const ga_backend *backend;
  GA_TRY(find_by_name(&backend, name, __func__));
  if (version == NULL)
    return ga__fail_null(__func__, "pointer for the version");
  if (backend->dnn == NULL)
    return GA_FAIL(GA_UNSUPPORTED_ERROR, "%s has no library of network layers", name);
  const int status = backend->dnn->version(version);
  ga__backend_note_asked(backend);
  return status;
}

const char *gpuarray_search_report(const char *name) {
  static _Thread_local char text[8192];
  const ga_backend *backend;
  ga_strbuf report = {0};
  if (find_by_name(&backend, name, __func__) != GA_NO_ERROR)
    return strcpy(text, "");
  backend->report(&report);
  ga__backend_note_asked(backend);
  snprintf(text, sizeof text, "%s", report.text ? report.text : "");
  ga__strbuf_clear(&report);
  return text;
}
