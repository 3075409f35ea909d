/* A backend on host memory that compiles nothing and runs no kernel, for tests. It
 * describes itself as a card, so that what is made for it are a card's kernels. */
#include "null/backend.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "c/device/buffer.h"
#include "c/device/context.h"

/* A device, or another queue of it, which points to the first. */
typedef struct null_device {
  struct null_device *first;
  atomic_long calls_left; /* of the first: until it disappears; negative: never */
  atomic_bool refuses;    /* of the first: launches */
  atomic_bool clears;     /* of the first: what launches write */
} null_device;

/* What a dry launch clears of a buffer: as much as holds a number of elements that the
 * host asks for, too little to make large arrays cost memory. */
enum { CLEARED = 64 << 10 };

void ga__null_disappear(void *device, long n) {
  null_device *d = device;
  atomic_store(&d->first->calls_left, n < 0 ? -1 : n);
}

/* GA_RUN_ERROR once the device is gone. */
static int null_call(void *device, const char *call) {
  null_device *first = ((null_device *)device)->first;
  long left = atomic_load_explicit(&first->calls_left, memory_order_relaxed);
  while (left > 0)
    if (atomic_compare_exchange_weak(&first->calls_left, &left, left - 1))
      return GA_NO_ERROR;
  return left < 0 ? GA_NO_ERROR
                  : GA_FAIL(GA_RUN_ERROR, "%s: the null device has disappeared", call);
}

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
                          .local_memory = 227 << 10,
                          .max_grid = {INT32_MAX, 65535, 65535},
                          .max_block = {1024, 1024, 64},
                          .max_threads = 1024,
                          .processors = 132,
                          .warp = 32,
                          .has_double = true,
                          .has_half = true,
                          .is_gpu = true,
                          .has_progress = true};
  return GA_NO_ERROR;
}

static int null_open(void **device, ga_device_info *info, unsigned int platform,
                     unsigned int index) {
  null_device *d = ga__alloc(1, sizeof *d);
  GA_TRY_MEMORY(d);
  d->first = d;
  atomic_init(&d->calls_left, -1);
  atomic_init(&d->refuses, false);
  atomic_init(&d->clears, false);
  *device = d;
  return null_probe(info, platform, index);
}

static void null_close(void *device) {
  ga__free(device);
}

static int null_queue_new(void **queue, void *device) {
  GA_TRY(null_call(device, "making a queue"));
  null_device *d = ga__alloc(1, sizeof *d);
  GA_TRY_MEMORY(d);
  d->first = ((null_device *)device)->first;
  *queue = d;
  return GA_NO_ERROR;
}

static int null_alloc(void **memory, void *device, size_t size) {
  GA_TRY(null_call(device, "allocating"));
  void *block = ga__alloc(size, 1);
  GA_TRY_MEMORY(block);
  *memory = block;
  return GA_NO_ERROR;
}

static void null_free(void *device, void *memory) {
  (void)device;
  ga__free(memory);
}

static int null_host_alloc(void **memory, void **host, void *device, size_t size) {
  GA_TRY(null_alloc(memory, device, size));
  *host = *memory;
  return GA_NO_ERROR;
}

static void null_host_free(void *device, void *memory, void *host) {
  (void)device, (void)host;
  ga__free(memory);
}

static void *null_host_address(void *device, void *memory) {
  (void)device;
  return memory;
}

static int null_free_memory(size_t *out, void *device) {
  (void)out, (void)device;
  return GA_FAIL(GA_DEVSUP_ERROR, "the null device does not count its memory");
}

static int null_read(void *device, void *host, void *memory, size_t offset,
                     size_t size) {
  GA_TRY(null_call(device, "reading"));
  memcpy(host, (char *)memory + offset, size);
  return GA_NO_ERROR;
}

static int null_write(void *device, void *memory, size_t offset, const void *host,
                      size_t size, bool *waited) {
  (void)waited;
  GA_TRY(null_call(device, "writing"));
  memcpy((char *)memory + offset, host, size);
  return GA_NO_ERROR;
}

static int null_copy(void *device, void *to, size_t to_offset, void *from,
                     size_t from_offset, size_t size) {
  GA_TRY(null_call(device, "copying"));
  memcpy((char *)to + to_offset, (char *)from + from_offset, size);
  return GA_NO_ERROR;
}

static int null_fill(void *device, void *memory, size_t offset, unsigned char byte,
                     size_t size) {
  GA_TRY(null_call(device, "filling"));
  memset((char *)memory + offset, byte, size);
  return GA_NO_ERROR;
}

/* A program is its source. */
static int null_compile(void **program, void *device, const char *source,
                        ga_strbuf *log) {
  (void)log;
  GA_TRY(null_call(device, "compiling"));
  char *copy = ga__strdup(source);
  GA_TRY_MEMORY(copy);
  *program = copy;
  return GA_NO_ERROR;
}

static int null_binary(void **bytes, size_t *size, void *device, void *program) {
  (void)device;
  char *copy = ga__strdup(program);
  GA_TRY_MEMORY(copy);
  *bytes = copy;
  *size = strlen(copy) + 1;
  return GA_NO_ERROR;
}

static int null_load(void **program, void *device, const void *bytes, size_t size) {
  (void)device;
  if (size == 0 || ((const char *)bytes)[size - 1] != '\0')
    return GA_FAIL(GA_COMPILE_ERROR,
                   "these bytes are not a program of the null device");
  return null_compile(program, device, bytes, NULL);
}

static void null_unload(void *device, void *program) {
  (void)device;
  ga__free(program);
}

/* A kernel is its name. */
static int null_kernel(void **kernel, void *device, void *program, const char *name,
                       bool waits) {
  (void)device, (void)waits;
  if (strstr(program, name) == NULL)
    return GA_FAIL(GA_INVALID_ERROR, "the program has no kernel %s", name);
  char *copy = ga__strdup(name);
  GA_TRY_MEMORY(copy);
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

/* So that counts which are read back are 0, not what the memory held before. */
static void clear_written(const ga_launch *launch) {
  for (const ga_arg *a = launch->args; a < launch->args + launch->n_args; a++)
    if (a->kind == GA_ARG_MEMORY && !a->is_read_only && a->buffer->size <= CLEARED)
      memset(a->buffer->memory, 0, a->buffer->size);
}

static int null_launch(void *device, void *kernel, const ga_launch *launch) {
  (void)kernel;
  const null_device *first = ((null_device *)device)->first;
  if (atomic_load_explicit(&first->refuses, memory_order_relaxed))
    return GA_FAIL(GA_UNSUPPORTED_ERROR,
                   "the null device holds arrays and computes nothing; use a context "
                   "of another device, such as cuda0 or opencl0:0");
  GA_TRY(null_call(device, "launching"));
  if (atomic_load_explicit(&first->clears, memory_order_relaxed))
    clear_written(launch);
  return GA_NO_ERROR;
}

static void null_refuse(gpucontext *ctx, int refuses) {
  if (ctx == NULL || ctx->backend->launch != null_launch)
    return;
  null_device *first = ((null_device *)ctx->device)->first;
  atomic_store(&first->refuses, refuses != 0);
  atomic_store(&first->clears, refuses == 0);
}

const ga_extension ga__null_extensions[] = {
    {"null_refuse", (void (*)(void))null_refuse}, {NULL, NULL}};

static int null_wait(void *device) {
  return null_call(device, "waiting");
}

/* All is done when it is queued, so that an event has nothing to hold. */
static int null_event(void **event, void *device, bool timed) {
  (void)timed;
  GA_TRY(null_call(device, "recording an event"));
  *event = device;
  return GA_NO_ERROR;
}

static int null_event_order(void *device, void *event) {
  (void)event;
  return null_call(device, "waiting for an event");
}

static int null_event_done(bool *out, void *device, void *event) {
  (void)event;
  GA_TRY(null_call(device, "asking an event"));
  *out = true;
  return GA_NO_ERROR;
}

static int null_event_wait(void *device, void *event) {
  (void)event;
  return null_call(device, "waiting for an event");
}

static int null_event_seconds(double *out, void *device, void *start, void *end) {
  (void)device, (void)start, (void)end;
  *out = 0;
  return GA_NO_ERROR;
}

static void null_event_free(void *device, void *event) {
  (void)device, (void)event;
}

static int null_order(void *device, intptr_t stream) {
  (void)device, (void)stream;
  return GA_NO_ERROR;
}

static const ga_sharing null_sharing = {.device_type = 1 /* kDLCPU */,
                                        .is_address = true,
                                        .publish = null_order,
                                        .follow = null_order};

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
    .host_alloc = null_host_alloc,
    .host_free = null_host_free,
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
    .queue_new = null_queue_new,
    .queue_free = null_close,
    .event = null_event,
    .event_order = null_event_order,
    .event_done = null_event_done,
    .event_wait = null_event_wait,
    .event_seconds = null_event_seconds,
    .event_free = null_event_free,
    .host_address = null_host_address,
    .sharing = &null_sharing,
};
