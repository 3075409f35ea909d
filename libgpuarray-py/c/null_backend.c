/* A backend on host memory that compiles nothing and runs no kernel, for tests. It
 * describes itself as a card, so that what is made for it are a card's kernels. */
#include "c/backend.h"

#include <stdint.h>
#include <string.h>

static int null_device; /* all that there is */

static void null_report(ga_strbuf *out) {
  ga__strbuf_add(out, "null: always there, on host memory; it runs no kernel\n");
}

static int null_platform_count(unsigned int *out) {
  *out = 1;
  return GA_NO_ERROR;
}

static int null_device_count(unsigned int *out, unsigned int platform) {
  (void)platform;
  *out = 1;
  return GA_NO_ERROR;
}

static int null_probe(ga_device_info *out, unsigned int platform, unsigned int index) {
  (void)platform, (void)index;
  *out = (ga_device_info){.name = "null (host memory, runs no kernel)",
                          .bin_id = "null",
                          .unique_id = "",
                          .total_memory = SIZE_MAX / 4,
                          .max_alloc = SIZE_MAX / 4,
                          .local_memory = 48 << 10,
                          .max_grid = {INT32_MAX, 65535, 65535},
                          .max_block = {1024, 1024, 64},
                          .max_threads = 1024,
                          .processors = 132,
                          .warp = 32,
                          .has_double = true,
                          .has_half = true,
                          .is_gpu = true};
  return GA_NO_ERROR;
}

static int null_open(void **device, ga_device_info *info, unsigned int platform,
                     unsigned int index) {
  *device = &null_device;
  return null_probe(info, platform, index);
}

static void null_close(void *device) {
  (void)device;
}

static int null_alloc(void **memory, void *device, size_t size) {
  (void)device;
  void *block = ga__alloc(size, 1);
  if (block == NULL)
    return GA_MEMORY_ERROR;
  *memory = block;
  return GA_NO_ERROR;
}

static void null_free(void *device, void *memory) {
  (void)device;
  ga__free(memory);
}

static int null_free_memory(size_t *out, void *device) {
  (void)out, (void)device;
  return GA_FAIL(GA_DEVSUP_ERROR, "the null device does not count its memory");
}

static int null_read(void *device, void *host, void *memory, size_t offset,
                     size_t size) {
  (void)device;
  memcpy(host, (char *)memory + offset, size);
  return GA_NO_ERROR;
}

static int null_write(void *device, void *memory, size_t offset, const void *host,
                      size_t size) {
  (void)device;
  memcpy((char *)memory + offset, host, size);
  return GA_NO_ERROR;
}

static int null_copy(void *device, void *to, size_t to_offset, void *from,
                     size_t from_offset, size_t size) {
  (void)device;
  memcpy((char *)to + to_offset, (char *)from + from_offset, size);
  return GA_NO_ERROR;
}

static int null_fill(void *device, void *memory, size_t offset, unsigned char byte,
                     size_t size) {
  (void)device;
  memset((char *)memory + offset, byte, size);
  return GA_NO_ERROR;
}

/* A program is its source. */
static int null_compile(void **program, void *device, const char *source,
                        ga_strbuf *log) {
  (void)device, (void)log;
  char *copy = ga__strdup(source);
  if (copy == NULL)
    return GA_MEMORY_ERROR;
  *program = copy;
  return GA_NO_ERROR;
}

static int null_binary(void **bytes, size_t *size, void *device, void *program) {
  (void)device;
  char *copy = ga__strdup(program);
  if (copy == NULL)
    return GA_MEMORY_ERROR;
  *bytes = copy;
  *size = strlen(copy) + 1;
  return GA_NO_ERROR;
}

static int null_load(void **program, void *device, const void *bytes, size_t size) {
  (void)device;
  if (size == 0 || ((const char *)bytes)[size - 1] != '\0')
    return GA_FAIL(GA_COMPILE_ERROR, "these bytes are no program of the null device");
  return null_compile(program, device, bytes, NULL);
}

static void null_unload(void *device, void *program) {
  (void)device;
  ga__free(program);
}

/* A kernel is its name. */
static int null_kernel(void **kernel, void *device, void *program, const char *name) {
  (void)device;
  if (strstr(program, name) == NULL)
    return GA_FAIL(GA_INVALID_ERROR, "the program has no kernel %s", name);
  char *copy = ga__strdup(name);
  if (copy == NULL)
    return GA_MEMORY_ERROR;
  *kernel = copy;
  return GA_NO_ERROR;
}

static void null_kernel_free(void *device, void *kernel) {
  (void)device;
  ga__free(kernel);
}

static int null_kernel_threads(size_t *out, void *device, void *kernel) {
  (void)device, (void)kernel;
  *out = 1024;
  return GA_NO_ERROR;
}

static int null_launch(void *device, void *kernel, const ga_launch *launch) {
  (void)device, (void)kernel, (void)launch;
  return GA_NO_ERROR;
}

static int null_wait(void *device) {
  (void)device;
  return GA_NO_ERROR;
}

static int null_event(void **event, void *device) {
  *event = device;
  return GA_NO_ERROR;
}

static int null_event_wait(void *device, void *event) {
  (void)device, (void)event;
  return GA_NO_ERROR;
}

static int null_event_seconds(double *out, void *device, void *start, void *end) {
  (void)device, (void)start, (void)end;
  *out = 0;
  return GA_NO_ERROR;
}

static void null_event_free(void *device, void *event) {
  (void)device, (void)event;
}

const ga_backend ga__null_backend = {
    .name = "null",
    .prelude = "",
    .report = null_report,
    .platform_count = null_platform_count,
    .device_count = null_device_count,
    .probe = null_probe,
    .open = null_open,
    .close = null_close,
    .alloc = null_alloc,
    .free = null_free,
    .free_memory = null_free_memory,
    .read = null_read,
    .write = null_write,
    .copy = null_copy,
    .fill = null_fill,
    .compile = null_compile,
    .binary = null_binary,
    .load = null_load,
    .unload = null_unload,
    .kernel = null_kernel,
    .kernel_free = null_kernel_free,
    .kernel_threads = null_kernel_threads,
    .launch = null_launch,
    .wait = null_wait,
    .event = null_event,
    .event_wait = null_event_wait,
    .event_seconds = null_event_seconds,
    .event_free = null_event_free,
};
