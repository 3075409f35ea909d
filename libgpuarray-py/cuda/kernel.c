/* Modules and kernels on a CUDA device. */
#include "cuda/kernel.h"

#include "cuda/compile.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
  FUNCTION_MAX_THREADS = 0,
  FUNCTION_OWN_SHARED = 1,
  FUNCTION_ARCHITECTURE = 5, /* that its PTX is for */
  FUNCTION_MAX_DYNAMIC_SHARED = 8
};
/* Launches that start beside the last blocks of the one before: what KERNEL_BEGIN is
 * for. Graphs have edges for them since this driver. */
enum {
  LAUNCH_OVERLAPS = 6,
  NODE_IS_KERNEL = 0,
  OVERLAPS_SINCE_DRIVER = 12030,
  OVERLAPS_SINCE_ARCHITECTURE = 90
};
/* Shared memory of a launch without opt-in. */
#define PLAIN_SHARED ((size_t)48 << 10)

/* A loaded module, with its binary for the cache. */
typedef struct ga_cuda_program {
  CUmodule module;
  void *bytes;
  size_t size;
} ga_cuda_program;

/* ---- modules ---- */

static int load_module(CUmodule *module, const ga_cuda_device *d, const void *bytes) {
  CUDA_RETURN(d, cuModuleLoadData, module, bytes);
}

/* Owns `bytes` in every case. */
static int program_of(void **program, const ga_cuda_device *d, void *bytes,
                      size_t size) {
  ga_cuda_program *p = ga__alloc(1, sizeof *p);
  int status = p ? load_module(&p->module, d, bytes) : GA_MEMORY_ERROR;
  if (status != GA_NO_ERROR) {
    ga__free(p);
    ga__free(bytes);
    return status;
  }
  p->bytes = bytes;
  p->size = size;
  *program = p;
  return GA_NO_ERROR;
}

/* Target architecture: the device's machine code; where NVRTC is older than the device,
 * PTX of the newest architecture that both know. */
static int choose_arch(char *out, size_t size, int capability) {
  int list[256], n = 0, newest = 0;
  GA_TRY(ga__cuda_need_nvrtc());
  if (ga__cuda.nvrtcGetNumSupportedArchs(&n) != 0 || n < 1 ||
      (size_t)n > sizeof list / sizeof *list ||
      ga__cuda.nvrtcGetSupportedArchs(list) != 0)
    return GA_FAIL(GA_IMPL_ERROR,
                   "NVRTC does not report the architectures it supports");
  for (int i = 0; i < n; i++)
    if (list[i] > newest && list[i] <= capability)
      newest = list[i];
  if (newest == 0)
    return GA_FAIL(GA_DEVSUP_ERROR,
                   "NVRTC compiles for sm_%d and later, the device is sm_%d: install "
                   "an older one (pip install nvidia-cuda-nvrtc-cu12) and name its "
                   "file in GPUARRAY_NVRTC",
                   list[0], capability);
  snprintf(out, size, newest == capability ? "sm_%d" : "compute_%d", newest);
  return GA_NO_ERROR;
}

int ga__cuda_compile(void **program, void *device, const char *source, ga_strbuf *log) {
  const ga_cuda_device *d = device;
  char arch[32];
  void *bytes;
  size_t size;
  GA_TRY(choose_arch(arch, sizeof arch, d->capability));
  GA_TRY(ga__cuda_compile_for(source, arch, &bytes, &size, log));
  return program_of(program, d, bytes, size);
}

int ga__cuda_binary(void **bytes, size_t *size, void *device, void *program) {
  const ga_cuda_program *p = program;
  (void)device;
  void *copy = ga__alloc(p->size, 1);
  GA_TRY_MEMORY(copy);
  memcpy(copy, p->bytes, p->size);
  *bytes = copy;
  *size = p->size;
  return GA_NO_ERROR;
}

/* cuModuleLoadData gets no size, so truncated binaries are refused here. */
int ga__cuda_load(void **program, void *device, const void *bytes, size_t size) {
  const char *text = bytes;
  bool is_elf = size > 64 && memcmp(text, "\177ELF", 4) == 0;
  if (!is_elf && (size == 0 || text[size - 1] != '\0'))
    return GA_FAIL(GA_COMPILE_ERROR, "cuda: %zu bytes are not a compiled program",
                   size);
  void *copy = ga__alloc(size, 1);
  GA_TRY_MEMORY(copy);
  memcpy(copy, bytes, size);
  return program_of(program, device, copy, size);
}

void ga__cuda_unload(void *device, void *program) {
  ga_cuda_program *p = program;
  if (p == NULL)
    return;
  CUDA_RELEASE(device, cuModuleUnload, p->module);
  ga__free(p->bytes);
  ga__free(p);
}

/* ---- kernels ---- */

/* A CUfunction, owned by its module. Its attributes are shared by all threads. */
typedef struct ga_cuda_kernel {
  CUfunction function;
  bool may_overlap;       /* the launch before, in a graph */
  atomic_int own;         /* static shared memory in bytes; -1: unknown */
  atomic_bool is_unbound; /* opted in to all dynamic shared memory */
} ga_cuda_kernel;

static int function_attribute(int *out, const ga_cuda_device *d, int attribute,
                              CUfunction function) {
  CUDA_RETURN(d, cuFuncGetAttribute, out, attribute, function);
}

/* True if a kernel that begins by KERNEL_BEGIN was compiled to wait there: NVRTC may be
 * older than the device (choose_arch). */
static int ask_overlap(bool *out, const ga_cuda_device *d, CUfunction function) {
  int version = 0, architecture = 0;
  *out = false;
  if (d->capability < OVERLAPS_SINCE_ARCHITECTURE ||
      ga__cuda.cuLaunchKernelEx == NULL || ga__cuda.cuGraphNodeGetType == NULL ||
      ga__cuda.cuStreamGetCaptureInfo == NULL ||
      ga__cuda.cuDriverGetVersion(&version) != CUDA_SUCCESS ||
      version < OVERLAPS_SINCE_DRIVER)
    return GA_NO_ERROR;
  GA_TRY(function_attribute(&architecture, d, FUNCTION_ARCHITECTURE, function));
  *out = architecture >= OVERLAPS_SINCE_ARCHITECTURE;
  return GA_NO_ERROR;
}

int ga__cuda_kernel(void **kernel, void *device, void *program, const char *name,
                    bool waits) {
  bool may_overlap = false;
  const ga_cuda_device *d = device;
  const ga_cuda_program *p = program;
  CUfunction function = NULL;
  CUcontext previous;
  GA_TRY(ga__cuda_enter(&previous, d));
  CUresult result = ga__cuda.cuModuleGetFunction(&function, p->module, name);
  ga__cuda_leave(d, previous);
  if (result == CUDA_ERROR_NOT_FOUND)
    return GA_FAIL(GA_VALUE_ERROR, "the program has no kernel named \"%s\"", name);
  if (result != CUDA_SUCCESS)
    return ga__cuda_fail(result, "cuModuleGetFunction");
  if (waits)
    GA_TRY(ask_overlap(&may_overlap, d, function));
  ga_cuda_kernel *k = ga__alloc(1, sizeof *k);
  GA_TRY_MEMORY(k);
  k->function = function;
  k->may_overlap = may_overlap;
  atomic_init(&k->own, -1);
  *kernel = k;
  return GA_NO_ERROR;
}

void ga__cuda_kernel_free(void *device, void *kernel) {
  (void)device;
  ga__free(kernel);
}

int ga__cuda_kernel_threads(size_t *out, void *device, void *kernel) {
  const ga_cuda_kernel *k = kernel;
  int threads;
  GA_TRY(function_attribute(&threads, device, FUNCTION_MAX_THREADS, k->function));
  *out = (size_t)threads;
  return GA_NO_ERROR;
}

int ga__cuda_kernel_parameters(unsigned int *out, void *device, void *kernel) {
  const ga_cuda_device *d = device;
  const ga_cuda_kernel *k = kernel;
  CUcontext previous;
  size_t offset, size;
  unsigned int n = 0;
  if (ga__cuda.cuFuncGetParamInfo == NULL)
    return GA_FAIL(GA_DEVSUP_ERROR, "the driver does not report a kernel's parameters");
  GA_TRY(ga__cuda_enter(&previous, d));
  while (ga__cuda.cuFuncGetParamInfo(k->function, n, &offset, &size) == CUDA_SUCCESS)
    n++;
  ga__cuda_leave(d, previous);
  *out = n;
  return GA_NO_ERROR;
}

static int set_dynamic_shared(const ga_cuda_device *d, CUfunction function, int bytes) {
  CUDA_RETURN(d, cuFuncSetAttribute, function, FUNCTION_MAX_DYNAMIC_SHARED, bytes);
}

/* Opts in to the maximum of dynamic shared memory, once: another thread could lower a
 * limit that is set per launch. */
static int allow_shared(const ga_cuda_device *d, ga_cuda_kernel *k, size_t bytes) {
  if (atomic_load_explicit(&k->is_unbound, memory_order_relaxed))
    return GA_NO_ERROR;
  int own = atomic_load_explicit(&k->own, memory_order_relaxed);
  if (own < 0) {
    GA_TRY(function_attribute(&own, d, FUNCTION_OWN_SHARED, k->function));
    atomic_store_explicit(&k->own, own, memory_order_relaxed);
  }
  if ((size_t)own + bytes <= PLAIN_SHARED)
    return GA_NO_ERROR;
  GA_TRY(set_dynamic_shared(d, k->function, d->most_shared - own));
  atomic_store_explicit(&k->is_unbound, true, memory_order_relaxed);
  return GA_NO_ERROR;
}

/* Writes the argument addresses that cuLaunchKernel takes. */
static void bind(void **addresses, CUdeviceptr *memories, const ga_launch *launch) {
  for (unsigned int i = 0; i < launch->n_args; i++) {
    const ga_arg *arg = &launch->args[i];
    if (arg->kind == GA_ARG_MEMORY) {
      memories[i] = (CUdeviceptr)(uintptr_t)ga__buffer_memory(arg->buffer);
      addresses[i] = &memories[i];
    } else {
      /* the driver only reads through it */
      addresses[i] = (void *)(uintptr_t)&arg->value;
    }
  }
}

static int launch_failed(CUresult result, const ga_launch *l) {
  int status = ga__cuda_fail(result, "cuLaunchKernel");
  return GA_FAIL(
      status,
      "%s (grid %zu x %zu x %zu, block %zu x %zu x %zu, %zu bytes of shared memory)",
      gpuarray_error_text(), l->grid[0], l->nd > 1 ? l->grid[1] : 1,
      l->nd > 2 ? l->grid[2] : 1, l->block[0], l->nd > 1 ? l->block[1] : 1,
      l->nd > 2 ? l->block[2] : 1, l->shared);
}

/* True if the next node of a capture waits for one node, a kernel. Behind others, or
 * several, launches do not overlap: nothing says what the driver makes of that. */
static bool follows_kernel(CUstream stream) {
  const CUgraphNode *nodes = NULL;
  size_t n = 0;
  int state = 0, type = -1;
  return ga__cuda.cuStreamGetCaptureInfo(stream, &state, NULL, NULL, &nodes, &n) ==
             CUDA_SUCCESS &&
         n == 1 && ga__cuda.cuGraphNodeGetType(nodes[0], &type) == CUDA_SUCCESS &&
         type == NODE_IS_KERNEL;
}

static CUresult start(const ga_cuda_device *d, const ga_cuda_kernel *k,
                      const CUlaunchConfig *c, void **addresses) {
  if (k->may_overlap && c->stream != d->stream && follows_kernel(c->stream)) {
    CUlaunchAttribute overlaps = {.id = LAUNCH_OVERLAPS, .value.number = 1};
    CUlaunchConfig config = *c;
    config.attributes = &overlaps;
    config.n_attributes = 1;
    return ga__cuda.cuLaunchKernelEx(&config, k->function, addresses, NULL);
  }
  return ga__cuda.cuLaunchKernel(k->function, c->grid[0], c->grid[1], c->grid[2],
                                 c->block[0], c->block[1], c->block[2], c->shared,
                                 c->stream, addresses, NULL);
}

int ga__cuda_launch(void *device, void *kernel, const ga_launch *launch) {
  const ga_cuda_device *d = device;
  ga_cuda_kernel *k = kernel;
  CUlaunchConfig config = {.grid = {1, 1, 1},
                           .block = {1, 1, 1},
                           .shared = (unsigned int)launch->shared,
                           .stream = ga__cuda_stream(d)};
  void *addresses[GA_MAX_ARGS];
  CUdeviceptr memories[GA_MAX_ARGS];
  CUcontext previous;
  for (unsigned int i = 0; i < launch->nd; i++) {
    config.grid[i] = (unsigned int)launch->grid[i];
    config.block[i] = (unsigned int)launch->block[i];
  }
  bind(addresses, memories, launch);
  if (launch->shared > 0)
    GA_TRY(allow_shared(d, k, launch->shared));
  GA_TRY(ga__cuda_enter(&previous, d));
  CUresult result = start(d, k, &config, addresses);
  ga__cuda_leave(d, previous);
  return result == CUDA_SUCCESS ? GA_NO_ERROR : launch_failed(result, launch);
}
