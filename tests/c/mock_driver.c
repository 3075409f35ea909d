/* The mock of NVIDIA's driver, on host memory.
 *
 * A queue runs only when it is waited for, so that whoever forgets to wait, or to order
 * two queues, sees old bytes. Memory that is freed while queued work needs it is a use
 * after free, which AddressSanitizer reports. A kernel does what the test says
 * (mock_cuda.run). */
#include "mock_queue.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLAIN_SHARED = 48 << 10, MOST_SHARED = 227 << 10, MOST_SHARED_ATTRIBUTE = 97 };
enum { MAX_THREADS = 0, OWN_SHARED = 1, ARCHITECTURE = 5, MAX_DYNAMIC_SHARED = 8 };
enum { LAUNCH_OVERLAPS = 6, OVERLAPS_SINCE_DRIVER = 12030 };
#define TOTAL_MEMORY ((size_t)1 << 33)

struct ga_cuda_event_ {
  CUstream stream; /* NULL: never recorded */
  size_t place;
};
struct ga_cuda_function_ {
  char name[128];
  bool tells; /* a node that chooses; its last argument has 4 bytes */
  bool waits; /* before all else, for the node before it */
  int architecture;
  unsigned int n_args, shared;
  CUfunction next;
};
struct ga_cuda_module_ {
  char *source;
  int architecture;
  CUfunction functions;
};

static struct ga_cuda_context_ contexts[MOCK_DEVICES];

/* ---- the driver and its devices ---- */

CUresult cuInit(unsigned int flags) {
  return flags == 0 ? mock_state.init : INVALID_VALUE;
}

CUresult cuDriverGetVersion(int *version) {
  *version = mock_state.version;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **text) {
  *text = error == CUDA_ERROR_OUT_OF_MEMORY     ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : error == INVALID_VALUE              ? "CUDA_ERROR_INVALID_VALUE"
                                                : NULL;
  return *text ? CUDA_SUCCESS : INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
  *text = error == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : NULL;
  return *text ? CUDA_SUCCESS : INVALID_VALUE;
}

CUresult cuDeviceGetCount(int *count) {
  *count = mock_state.devices;
  return mock_state.init == CUDA_SUCCESS ? CUDA_SUCCESS : 3; /* not initialised */
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  *device = ordinal;
  return ordinal >= 0 && ordinal < mock_state.devices ? CUDA_SUCCESS : 101;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
  snprintf(name, (size_t)size, "Mock %d", device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device) {
  (void)device;
  *bytes = TOTAL_MEMORY;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
  static const int attributes[] = {
      [1] = 1024,       [2] = 1024,  [3] = 1024,  [4] = 64, /* threads of a block */
      [5] = 0x7fffffff, [6] = 65535, [7] = 65535,           /* blocks */
      [10] = 32,        [16] = 132,  [18] = 0};
  (void)device;
  if (attribute == 75)
    *value = mock_state.capability / 10;
  else if (attribute == 76)
    *value = mock_state.capability % 10;
  else if (attribute == MOST_SHARED_ATTRIBUTE)
    *value = MOST_SHARED;
  else if (attribute > 0 && (size_t)attribute < sizeof attributes / sizeof *attributes)
    *value = attributes[attribute];
  else
    return INVALID_VALUE;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *id, int size, CUdevice device) {
  snprintf(id, (size_t)size, "0000:0%d:00.0", device);
  return CUDA_SUCCESS;
}

/* ---- contexts ---- */

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  CUresult result = mock_begin_anywhere();
  if (result == CUDA_SUCCESS) {
    contexts[device].references++;
    mock_state.contexts++;
    *context = &contexts[device];
  }
  return mock_end(result);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  mock_lock();
  mock_state.contexts--;
  if (--contexts[device].references == 0)
    contexts[device].sticky = CUDA_SUCCESS;
  return mock_end(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active) {
  mock_lock();
  *flags = 0;
  *active = contexts[device].references > 0;
  return mock_end(CUDA_SUCCESS);
}

CUresult cuCtxGetCurrent(CUcontext *context) {
  *context = mock_current;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  mock_lock();
  if (context && context->references == 0)
    return mock_end(INVALID_CONTEXT);
  mock_current = context;
  return mock_end(CUDA_SUCCESS);
}

CUresult cuCtxGetDevice(CUdevice *device) {
  CUresult result = mock_begin();
  if (result == CUDA_SUCCESS)
    *device = (CUdevice)(mock_current - contexts);
  return mock_end(result);
}

/* ---- streams and events ---- */

CUresult cuStreamCreate(CUstream *stream, unsigned int flags) {
  (void)flags;
  CUresult result = mock_begin_unrecorded();
  if (result == CUDA_SUCCESS) {
    *stream = calloc(1, sizeof **stream);
    (*stream)->context = mock_current;
    mock_state.streams++;
  }
  return mock_end(result);
}

/* Commands of others may still name a stream that is gone. */
static CUstream gone;

CUresult cuStreamDestroy(CUstream stream) {
  mock_lock();
  mock_run_until(stream, SIZE_MAX);
  stream->next = gone;
  gone = stream;
  mock_state.streams--;
  return mock_end(CUDA_SUCCESS);
}

__attribute__((destructor)) static void free_streams(void) {
  while (gone) {
    CUstream next = gone->next;
    free(gone->commands.items);
    free(gone);
    gone = next;
  }
}

/* A wait that fails has waited. */
static CUresult wait_until(CUstream stream, size_t place) {
  CUresult result = mock_begin_unrecorded();
  if (result != INVALID_CONTEXT && result != CAPTURE_UNSUPPORTED)
    mock_run_until(stream, place);
  if (result == CUDA_SUCCESS)
    result = stream->context->sticky;
  return mock_end(result);
}

CUresult cuStreamSynchronize(CUstream stream) {
  return wait_until(stream, SIZE_MAX);
}

static void run_wait(command *c, CUstream stream) {
  (void)stream;
  mock_run_until(c->awaited, c->size);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
  CUcontext ours = mock_current;
  (void)flags;
  mock_current = stream->context; /* it may be of another device than the event */
  CUresult result = mock_push(
      stream,
      &(command){.run = run_wait, .awaited = event->stream, .size = event->place});
  mock_current = ours;
  return result;
}

CUresult cuEventCreate(CUevent *event, unsigned int flags) {
  (void)flags;
  CUresult result = mock_begin_unrecorded();
  if (result == CUDA_SUCCESS) {
    *event = calloc(1, sizeof **event);
    mock_state.events++;
  }
  return mock_end(result);
}

CUresult cuEventDestroy(CUevent event) {
  mock_lock();
  mock_state.events--;
  free(event);
  return mock_end(CUDA_SUCCESS);
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  CUresult result = mock_begin_unrecorded();
  if (result == CUDA_SUCCESS) {
    event->stream = stream;
    event->place = stream->commands.n;
  }
  return mock_end(result);
}

CUresult cuEventQuery(CUevent event) {
  CUresult result = mock_begin_unrecorded();
  if (result == CUDA_SUCCESS && event->stream && event->place > event->stream->done)
    result = CUDA_ERROR_NOT_READY;
  return mock_end(result);
}

/* An event that was never recorded is done. */
CUresult cuEventSynchronize(CUevent event) {
  return event->stream ? wait_until(event->stream, event->place) : CUDA_SUCCESS;
}

/* A command takes a millisecond. */
CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end_event) {
  CUresult result = mock_begin_unrecorded();
  if (result == CUDA_SUCCESS && (start->place > start->stream->done ||
                                 end_event->place > end_event->stream->done))
    result = CUDA_ERROR_NOT_READY;
  if (result == CUDA_SUCCESS)
    *milliseconds = (float)(end_event->place - start->place);
  return mock_end(result);
}

/* ---- memory ---- */

CUresult cuMemAlloc(CUdeviceptr *memory, size_t size) {
  CUresult result = mock_begin_unrecorded();
  if (result == CUDA_SUCCESS && (size == 0 || size > TOTAL_MEMORY))
    result = size == 0 ? INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
  if (result == CUDA_SUCCESS) {
    void *block = malloc(size);
    memset(block, 0xab, size);
    *memory = (CUdeviceptr)(uintptr_t)block;
    mock_state.allocations++;
  }
  return mock_end(result);
}

CUresult cuMemFree(CUdeviceptr memory) {
  mock_lock();
  mock_state.allocations--;
  free((void *)(uintptr_t)memory);
  return mock_end(CUDA_SUCCESS);
}

CUresult cuMemGetInfo(size_t *free_bytes, size_t *total) {
  *free_bytes = *total = TOTAL_MEMORY;
  return mock_end(mock_begin());
}

CUresult cuMemAllocHost(void **memory, size_t size) {
  CUresult result = mock_begin_unrecorded();
  if (result == CUDA_SUCCESS) {
    *memory = malloc(size);
    mock_state.pinned++;
  }
  return mock_end(result);
}

CUresult cuMemFreeHost(void *memory) {
  mock_lock();
  mock_state.pinned--;
  free(memory);
  return mock_end(CUDA_SUCCESS);
}

/* Of pages that somebody else allocates and frees. */
CUresult cuMemHostRegister(void *memory, size_t size, unsigned int flags) {
  CUresult result = mock_begin_unrecorded();
  if (result == CUDA_SUCCESS && (memory == NULL || size == 0 || flags != 1))
    result = INVALID_VALUE;
  if (result == CUDA_SUCCESS)
    mock_state.pinned++;
  return mock_end(result);
}

CUresult cuMemHostUnregister(void *memory) {
  (void)memory;
  mock_lock();
  mock_state.pinned--;
  return mock_end(CUDA_SUCCESS);
}

static void run_copy(command *c, CUstream stream) {
  (void)stream;
  memcpy(c->to, c->from, c->size);
}

static void run_fill(command *c, CUstream stream) {
  (void)stream;
  memset(c->to, c->byte, c->size);
}

static CUresult push_copy(void *to, const void *from, size_t size, CUstream stream) {
  return mock_push(stream,
                   &(command){.run = run_copy, .to = to, .from = from, .size = size});
}

static CUresult push_host_copy(void *to, const void *from, size_t size,
                               CUstream stream) {
  mock_lock();
  mock_state.host_copies++;
  mock_end(CUDA_SUCCESS);
  return push_copy(to, from, size, stream);
}

static void *host(CUdeviceptr memory) {
  return (void *)(uintptr_t)memory;
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t size,
                           CUstream stream) {
  return push_host_copy(host(to), from, size, stream);
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t size, CUstream stream) {
  return push_host_copy(to, host(from), size, stream);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t size,
                           CUstream stream) {
  return push_copy(host(to), host(from), size, stream);
}

/* As the driver does, it refuses what it has done before; nobody is to mind. */
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
  if (flags || mock_state.reached == peer)
    return INVALID_VALUE;
  mock_state.reached = peer;
  return CUDA_SUCCESS;
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                           CUcontext from_context, size_t size, CUstream stream) {
  if (to_context == from_context)
    return INVALID_VALUE;
  mock_state.peer_copies++;
  return push_copy(host(to), host(from), size, stream);
}

CUresult cuMemsetD8Async(CUdeviceptr memory, unsigned char byte, size_t size,
                         CUstream stream) {
  return mock_push(
      stream,
      &(command){.run = run_fill, .to = host(memory), .size = size, .byte = byte});
}

static void run_mark(command *c, CUstream stream) {
  (void)stream;
  __atomic_store_n((uint32_t *)c->to, (uint32_t)c->size, __ATOMIC_RELEASE);
}

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, uint32_t value,
                              unsigned int flags) {
  (void)flags;
  return mock_push(stream,
                   &(command){.run = run_mark, .to = host(address), .size = value});
}

/* A handle is the address; what was opened is counted as pinned. */
/* What was allocated lies on device 0, but for the first page of the process. */
CUresult cuPointerGetAttribute(void *value, int attribute, CUdeviceptr address) {
  CUresult result = mock_begin();
  if (result == CUDA_SUCCESS && (attribute != 9 || address < 4096))
    result = 1; /* CUDA_ERROR_INVALID_VALUE */
  if (result == CUDA_SUCCESS)
    *(int *)value = 0;
  return mock_end(result);
}

CUresult cuIpcGetMemHandle(void *handle, CUdeviceptr memory) {
  CUresult result = mock_begin();
  if (result == CUDA_SUCCESS)
    memcpy(handle, &memory, sizeof memory);
  return mock_end(result);
}

CUresult cuIpcOpenMemHandle(CUdeviceptr *memory, ga_cuda_ipc_handle handle,
                            unsigned int flags) {
  CUresult result = mock_begin();
  (void)flags;
  if (result == CUDA_SUCCESS) {
    memcpy(memory, handle.bytes, sizeof *memory);
    mock_state.pinned++;
  }
  return mock_end(result);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr memory) {
  (void)memory;
  mock_lock();
  mock_state.pinned--;
  return mock_end(CUDA_SUCCESS);
}

/* ---- modules and kernels ---- */

/* Whether it is PTX as the library writes it itself, which has no such first bytes. */
static bool is_text(const char *image) {
  return strncmp(image, ".version ", strlen(".version ")) == 0;
}

/* The architecture is told by the first bytes; the source stands behind them. */
static CUresult check_image(const char *image) {
  int architecture;
  if (sscanf(image, "\177ELF sm_%d", &architecture) == 1)
    return architecture / 10 == mock_state.capability / 10 &&
                   architecture <= mock_state.capability
               ? CUDA_SUCCESS
               : CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (is_text(image))
    return CUDA_SUCCESS;
  if (sscanf(image, "// compute_%d", &architecture) == 1)
    return architecture <= mock_state.capability ? CUDA_SUCCESS
                                                 : CUDA_ERROR_INVALID_PTX;
  return CUDA_ERROR_INVALID_IMAGE;
}

/* Of an image that is good; 0: it does not tell. */
static int architecture_of(const char *image) {
  int architecture = 0;
  if (sscanf(image, "\177ELF sm_%d", &architecture) != 1)
    sscanf(image, "// compute_%d", &architecture);
  return architecture;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  CUresult result = mock_begin_unrecorded();
  if (result == CUDA_SUCCESS)
    result = check_image(image);
  if (result == CUDA_SUCCESS) {
    *module = calloc(1, sizeof **module);
    (*module)->architecture = architecture_of(image);
    (*module)->source =
        strdup((const char *)image + (is_text(image) ? 0 : BINARY_HEAD));
    mock_state.modules++;
  }
  return mock_end(result);
}

CUresult cuModuleUnload(CUmodule module) {
  mock_lock();
  while (module->functions) {
    CUfunction next = module->functions->next;
    free(module->functions);
    module->functions = next;
  }
  free(module->source);
  free(module);
  mock_state.modules--;
  return mock_end(CUDA_SUCCESS);
}

/* What follows "void <name>(", or the name of a macro that stands for `name`; NULL if
 * there is no such kernel. */
static const char *find_parameters(const char *source, const char *name) {
  char pattern[160], macro[128];
  snprintf(pattern, sizeof pattern, is_text(source) ? ".entry %s(" : "void %s(", name);
  const char *found = strstr(source, pattern);
  if (found)
    return found + strlen(pattern);
  snprintf(pattern, sizeof pattern, " %s\n", name);
  const char *value = strstr(source, pattern);
  while (value && value > source && value[-1] != ' ')
    value--;
  if (value == NULL || sscanf(value, "%127s", macro) != 1)
    return NULL;
  snprintf(pattern, sizeof pattern, "void %s(", macro);
  found = strstr(value, pattern);
  return found ? found + strlen(pattern) : NULL;
}

static unsigned int count_commas(const char *text, const char *end) {
  unsigned int n = 0;
  for (const char *c = text; c < end; c++)
    n += *c == ',';
  return n;
}

/* Of a list that begins at `text`; a macro in it may stand for several of them, or for
 * dynamic shared memory, which is none. */
static unsigned int count_parameters(const char *source, const char *text) {
  const char *close = strchr(text, ')');
  if (close == text || strncmp(text, "void)", 5) == 0)
    return 0;
  unsigned int n = 1 + count_commas(text, close);
  const char *at = source;
  while ((at = strstr(at, "#define ")) != NULL && at < text) {
    char macro[128];
    at += strlen("#define ");
    if (sscanf(at, "%127[A-Z_]", macro) != 1 || at[strlen(macro)] != ' ')
      continue;
    const char *use = strstr(text, macro), *end = strchr(at, '\n');
    const char *shared = strstr(at, "GA_DECL_SHARED_PARAM");
    if (use != NULL && use < close && (shared == NULL || shared > end))
      n += count_commas(at, end);
  }
  return n;
}

/* Of a kernel, from its parameters on. */
static bool begins_by_waiting(const char *parameters) {
  const char *body = strchr(parameters, '{');
  if (body == NULL)
    return false;
  body += 1 + strspn(body + 1, " \n");
  return strncmp(body, "KERNEL_BEGIN;", strlen("KERNEL_BEGIN;")) == 0;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  CUresult result = mock_begin_unrecorded();
  const char *parameters = find_parameters(module->source, name);
  if (result == CUDA_SUCCESS && parameters == NULL)
    result = CUDA_ERROR_NOT_FOUND;
  if (result == CUDA_SUCCESS) {
    CUfunction f = calloc(1, sizeof *f);
    snprintf(f->name, sizeof f->name, "%s", name);
    f->n_args = count_parameters(module->source, parameters);
    f->tells = is_text(module->source);
    f->waits = begins_by_waiting(parameters);
    f->architecture = module->architecture;
    f->next = module->functions;
    module->functions = *function = f;
  }
  return mock_end(result);
}

CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function) {
  CUresult result = mock_begin();
  if (result == CUDA_SUCCESS && attribute != MAX_THREADS && attribute != OWN_SHARED &&
      attribute != ARCHITECTURE)
    result = INVALID_VALUE;
  *value = attribute == OWN_SHARED     ? mock_state.own_shared
           : attribute == ARCHITECTURE ? function->architecture
                                       : MOCK_KERNEL_THREADS;
  return mock_end(result);
}

CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset,
                            size_t *size) {
  *offset = 8 * index;
  *size = 8;
  return index < function->n_args ? CUDA_SUCCESS : INVALID_VALUE;
}

CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
  CUresult result = mock_begin();
  if (result == CUDA_SUCCESS && attribute == MAX_DYNAMIC_SHARED) {
    mock_state.limits++;
    mock_state.lowered += (unsigned int)value < function->shared;
    function->shared = (unsigned int)value;
  }
  return mock_end(result);
}

/* A kernel whose module is gone is a use after free. */
static void run_kernel(command *c, CUstream stream) {
  mock_state.launches++;
  memcpy(c->launch.name, c->function->name, sizeof c->launch.name);
  if (mock_state.fault != CUDA_SUCCESS) {
    stream->context->sticky = mock_state.fault;
    mock_state.fault = CUDA_SUCCESS;
  } else if (mock_state.run) {
    mock_state.run(&c->launch);
  }
}

/* The one kernel that the library writes in PTX. */
static void run_tell(command *c, CUstream stream) {
  const uint64_t *args = c->launch.args;
  const unsigned char *bytes = host(args[1]);
  bool holds = false;
  (void)stream;
  if (!c->function->tells) /* of a module that is gone */
    abort();
  for (uint64_t i = 0; i < args[2]; i++)
    holds = holds || bytes[i] != 0;
  mock_tell(args[0], holds);
}

/* Beyond what any launch may have, dynamic memory must have been asked for. */
static bool may_have(const struct ga_cuda_function_ *function, unsigned int shared) {
  const unsigned int own = (unsigned int)mock_state.own_shared;
  return own + shared <= PLAIN_SHARED ||
         (shared <= function->shared && own + shared <= MOST_SHARED);
}

static bool is_geometry(const mock_launch *l) {
  return l->grid[0] - 1 < 0x7fffffff && l->grid[1] - 1 < 65535 &&
         l->grid[2] - 1 < 65535 && l->block[0] > 0 && l->block[1] > 0 &&
         l->block[2] > 0 && (uint64_t)l->block[0] * l->block[1] * l->block[2] <= 1024;
}

static CUresult launch(CUfunction function, const mock_launch *given, CUstream stream,
                       void **arguments, void **extra) {
  mock_launch l = *given;
  l.n_args = function->n_args;
  if (extra || l.n_args > MOCK_ARGS || !may_have(function, l.shared) ||
      !is_geometry(&l))
    return INVALID_VALUE;
  for (unsigned int i = 0; i < l.n_args; i++)
    memcpy(&l.args[i], arguments[i], function->tells && i == 2 ? 4 : sizeof l.args[i]);
  mock_lock();
  mock_state.queued = l;
  memcpy(mock_state.queued.name, function->name, sizeof function->name);
  mock_end(CUDA_SUCCESS);
  return mock_push(stream, &(command){.run = function->tells ? run_tell : run_kernel,
                                      .function = function,
                                      .launch = l});
}

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                        unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                        unsigned int block_z, unsigned int shared, CUstream stream,
                        void **arguments, void **extra) {
  return launch(function,
                &(mock_launch){.grid = {grid_x, grid_y, grid_z},
                               .block = {block_x, block_y, block_z},
                               .shared = shared},
                stream, arguments, extra);
}

/* Only of a kernel that waits, and was compiled to, behind one kernel of a graph: on a
 * device, others would read what is not yet written. */
CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                          void **arguments, void **extra) {
  const CUlaunchAttribute *a = config->attributes;
  if (config->n_attributes != 1 || a->id != LAUNCH_OVERLAPS || a->value.number != 1 ||
      !function->waits || function->architecture < 90 || mock_state.capability < 90 ||
      mock_state.version < OVERLAPS_SINCE_DRIVER ||
      !mock_follows_kernel(config->stream->graph))
    return INVALID_VALUE;
  mock_launch l = {.shared = config->shared, .overlaps = true};
  memcpy(l.grid, config->grid, sizeof l.grid);
  memcpy(l.block, config->block, sizeof l.block);
  CUresult result = launch(function, &l, config->stream, arguments, extra);
  mock_lock();
  mock_state.overlaps += result == CUDA_SUCCESS;
  mock_end(CUDA_SUCCESS);
  return result;
}
