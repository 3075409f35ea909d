/* The mock's modules and kernels: an image is a source, whose text says what parameters
 * a kernel has; a kernel does what the test says (mock_cuda.run). */
#include "mock_queue.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLAIN_SHARED = 48 << 10 };
enum { MAX_THREADS = 0, OWN_SHARED = 1, ARCHITECTURE = 5, MAX_DYNAMIC_SHARED = 8 };
enum { LAUNCH_OVERLAPS = 6, OVERLAPS_SINCE_DRIVER = 12030 };

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

/* ---- modules ---- */

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

/* ---- launches ---- */

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
  const unsigned char *bytes = (const unsigned char *)(uintptr_t)args[1];
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
