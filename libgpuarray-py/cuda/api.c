/* Dynamic loading of NVIDIA's driver and libraries into one table of functions. */
#include "cuda/api.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/dnn_parts.h"
#include "cuda/search.h"

ga_cuda_api ga__cuda;

enum state { UNTRIED, OPEN, FAILED };

typedef struct library {
  const char *title, *advice;
  const char *variable;       /* environment variable with the only path to try */
  const char *file;           /* "libnvrtc.so"; NULL: by soname only */
  const char *wheel;          /* folder of its wheel up to CUDA 12 */
  const char *other_wheel;    /* folder of a smaller wheel; NULL: none */
  bool is_apart;              /* its major version is not CUDA's ... */
  int behind;                 /* or else CUDA's minus this */
  const char *const *sonames; /* newest first */
  atomic_int state;
  char **candidates; /* paths to try in order; NULL until collected */
  const char *path;  /* the candidate that is open */
  ga_strbuf report, problem;
} library;

static library driver = {
    .title = "the NVIDIA driver",
    .advice = "install the driver of the card",
    .variable = "GPUARRAY_CUDA_DRIVER",
    .sonames = (const char *const[]){"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1",
                                     "libcuda.so", NULL}};
static library nvrtc = {
    .title = "NVRTC (the kernel compiler)",
    .advice = "pip install nvidia-cuda-nvrtc (CUDA 13) or nvidia-cuda-nvrtc-cu12",
    .variable = "GPUARRAY_NVRTC",
    .file = "libnvrtc.so",
    .wheel = "cuda_nvrtc",
    .sonames = (const char *const[]){"libnvrtc.so.13", "libnvrtc.so.12",
                                     "libnvrtc.so.11.2", "libnvrtc.so", NULL}};
static library cublas = {
    .title = "cuBLAS",
    .advice = "pip install nvidia-cublas (CUDA 13) or nvidia-cublas-cu12",
    .variable = "GPUARRAY_CUBLAS",
    .file = "libcublas.so",
    .wheel = "cublas",
    .sonames = (const char *const[]){"libcublas.so.13", "libcublas.so.12",
                                     "libcublas.so.11", "libcublas.so", NULL}};

static library cublaslt = {
    .title = "cuBLASLt",
    .advice = "it comes with cuBLAS: pip install nvidia-cublas",
    .variable = "GPUARRAY_CUBLASLT",
    .file = "libcublasLt.so",
    .wheel = "cublas",
    .sonames = (const char *const[]){"libcublasLt.so.13", "libcublasLt.so.12",
                                     "libcublasLt.so.11", "libcublasLt.so", NULL}};

static library nccl = {
    .title = "NCCL (collectives)",
    .advice = "pip install nvidia-nccl-cu13 (CUDA 13) or nvidia-nccl-cu12",
    .variable = "GPUARRAY_NCCL",
    .file = "libnccl.so",
    .wheel = "nccl",
    .sonames = (const char *const[]){"libnccl.so.2", "libnccl.so", NULL}};

static library cusolver = {
    .title = "cuSOLVER (factorizations)",
    .advice = "pip install nvidia-cusolver (CUDA 13) or nvidia-cusolver-cu12",
    .variable = "GPUARRAY_CUSOLVER",
    .file = "libcusolver.so",
    .wheel = "cusolver",
    .behind = 1,
    .sonames = (const char *const[]){"libcusolver.so.12", "libcusolver.so.11", NULL}};

static library cufft = {
    .title = "cuFFT (Fourier transforms)",
    .advice = "pip install nvidia-cufft (CUDA 13) or nvidia-cufft-cu12",
    .variable = "GPUARRAY_CUFFT",
    .file = "libcufft.so",
    .wheel = "cufft",
    .behind = 1,
    .sonames = (const char *const[]){"libcufft.so.12", "libcufft.so.11", NULL}};

static library cudnn = {
    .title = "cuDNN (convolutions)",
    .advice = "pip install nvidia-cudnn-cu13 (CUDA 13) or nvidia-cudnn-cu12",
    .variable = "GPUARRAY_CUDNN",
    .file = "libcudnn.so",
    .wheel = "cudnn",
    .other_wheel = "cudnn_jit",
    .is_apart = true,
    .sonames = (const char *const[]){"libcudnn.so.9", NULL}};

/* A symbol of a library and its offset in ga__cuda. */
typedef struct entry {
  const library *of;
  const char *symbol;
  size_t offset;
  bool is_optional;
} entry;

#define MUST(library, result, name, suffix, arguments)                                 \
  {library, #name suffix, offsetof(ga_cuda_api, name), false},
#define MAY(library, result, name, suffix, arguments)                                  \
  {library, #name suffix, offsetof(ga_cuda_api, name), true},
#define DRIVER(...) MUST(&driver, __VA_ARGS__)
#define DRIVER_OPTIONAL(...) MAY(&driver, __VA_ARGS__)
#define NVRTC(...) MUST(&nvrtc, __VA_ARGS__)
#define CUBLAS(...) MUST(&cublas, __VA_ARGS__)
#define CUBLAS_OPTIONAL(...) MAY(&cublas, __VA_ARGS__)
#define CUBLASLT(...) MUST(&cublaslt, __VA_ARGS__)
#define NCCL(...) MUST(&nccl, __VA_ARGS__)
#define NCCL_OPTIONAL(...) MAY(&nccl, __VA_ARGS__)
#define CUSOLVER(...) MUST(&cusolver, __VA_ARGS__)
#define CUSOLVER_OPTIONAL(...) MAY(&cusolver, __VA_ARGS__)
#define CUFFT(...) MUST(&cufft, __VA_ARGS__)
#define CUDNN(...) MUST(&cudnn, __VA_ARGS__)
#define CUDNN_OPTIONAL(...) MAY(&cudnn, __VA_ARGS__)
static const entry entries[] = {
#include "cuda/api.def"
};

/* Guards the libraries' fields that are not atomic. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* CUDA version of the driver, 13000 for 13.0; 0 if it is not open. */
static int driver_version(void) {
  int version = 0;
  if (atomic_load(&driver.state) != OPEN || ga__cuda.cuDriverGetVersion(&version) != 0)
    return 0;
  return version;
}

/* Drops candidates newer than the driver, which would refuse their binaries. */
static void drop_newer(library *lib) {
  int most = driver_version() / 1000;
  char **kept = lib->candidates;
  for (char **path = lib->candidates; path && *path; path++) {
    if (most != 0 && ga__cuda_file_major(*path) + lib->behind > most) {
      ga__strbuf_addf(&lib->report, "%s: passed over: the driver is of CUDA %d\n",
                      *path, most);
      ga__free(*path);
    } else {
      *kept++ = *path;
    }
  }
  if (kept)
    *kept = NULL;
}

/* Fills lib->candidates; the environment's path replaces all others. */
static int collect(library *lib) {
  if (lib->candidates)
    return GA_NO_ERROR;
  int status = GA_NO_ERROR;
  const char *override = getenv(lib->variable);
  if (override && *override) {
    ga__strbuf_addf(&lib->report, "%s is set: nothing else is tried\n", lib->variable);
    status = ga__dynload_add(&lib->candidates, override);
  } else {
    if (lib->file)
      status =
          ga__cuda_search(&lib->candidates, lib->file, lib->wheel, lib->other_wheel);
    for (size_t i = 0; lib->sonames[i] && status == GA_NO_ERROR; i++)
      status = ga__dynload_add(&lib->candidates, lib->sonames[i]);
    if (status == GA_NO_ERROR && lib->file && !lib->is_apart)
      drop_newer(lib);
  }
  if (status != GA_NO_ERROR) {
    ga__dynload_paths_free(lib->candidates);
    lib->candidates = NULL;
  }
  return status;
}

/* Resolves the symbols; lib->problem names one that is missing. */
static bool resolve_symbols(library *lib, void *handle) {
  for (const entry *e = entries; e < entries + sizeof entries / sizeof *entries; e++) {
    if (e->of != lib)
      continue;
    void *address = ga__dynload_symbol(handle, e->symbol);
    if (address == NULL && !e->is_optional) {
      ga__strbuf_addf(&lib->problem, "cuda: %s lacks the function %s: %s", lib->title,
                      e->symbol, lib->advice);
      return false;
    }
    memcpy((char *)&ga__cuda + e->offset, &address, sizeof address);
  }
  return true;
}

/* Initializes the driver, with or without a device. */
static bool start_driver(void) {
  CUresult result = ga__cuda.cuInit(0);
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_NO_DEVICE)
    return true;
  ga__cuda_fail(result, "cuInit");
  ga__strbuf_addf(&driver.problem, "cuda: the driver does not start: %s; %s",
                  gpuarray_error_text(), driver.advice);
  return false;
}

/* Preloads libnvrtc-builtins from NVRTC's folder. NVRTC opens it by soname, which fails
 * under sanitizers: their dlopen does not see NVRTC's RPATH. */
static void open_builtins(const char *nvrtc_path, ga_strbuf *report) {
  const char *slash = strrchr(nvrtc_path, '/');
  char pattern[4096], **paths = NULL;
  int length = slash ? snprintf(pattern, sizeof pattern, "%.*s/libnvrtc-builtins.so.*",
                                (int)(slash - nvrtc_path), nvrtc_path)
                     : -1;
  if (length > 0 && (size_t)length < sizeof pattern &&
      ga__dynload_glob(&paths, pattern) == GA_NO_ERROR && paths)
    ga__dynload_open((const char *const *)(void *)paths, report);
  ga__dynload_paths_free(paths);
}

static void *open_one(library *lib, const char *path) {
  if (lib == &cudnn)
    return ga__cuda_dnn_open(path, ga__cuda_file_major(cublaslt.path), &lib->report);
  void *handle = ga__dynload_open((const char *const[]){path, NULL}, &lib->report);
  if (handle && lib == &nvrtc)
    open_builtins(path, &lib->report);
  return handle;
}

/* NCCL of another library in this process, such as PyTorch's: two in one process would
 * wait for each other's kernels. The environment's path replaces it. */
static void *loaded_nccl(ga_strbuf *report) {
  const char *override = getenv(nccl.variable);
  void *handle = override && *override ? NULL : ga__dynload_loaded(nccl.sonames[0]);
  if (handle == NULL)
    return NULL;
  char path[4096];
  const void *symbol = ga__dynload_symbol(handle, "ncclGetUniqueId");
  const bool has_path = symbol && ga__dynload_path(path, sizeof path, symbol);
  ga__strbuf_addf(report, "%s: in the process already, so no other is opened\n",
                  has_path ? path : nccl.sonames[0]);
  return handle;
}

static void *open_loaded(library *lib) {
  return lib == &cudnn  ? ga__cuda_dnn_loaded(&lib->report)
         : lib == &nccl ? loaded_nccl(&lib->report)
                        : NULL;
}

static void *open_first(library *lib) {
  void *handle = open_loaded(lib);
  for (char **path = lib->candidates; handle == NULL && path && *path; path++) {
    handle = open_one(lib, *path);
    lib->path = handle ? *path : NULL;
  }
  return handle;
}

/* The lock is held. */
static int open_library(library *lib) {
  GA_TRY(collect(lib));
  void *handle = open_first(lib);
  if (handle == NULL)
    ga__strbuf_addf(&lib->problem,
                    "cuda: %s cannot be opened: %s, or name the file in %s", lib->title,
                    lib->advice, lib->variable);
  bool is_open =
      handle && resolve_symbols(lib, handle) && (lib != &driver || start_driver());
  atomic_store(&lib->state, is_open ? OPEN : FAILED);
  return GA_NO_ERROR;
}

static int need(library *lib) {
  if (atomic_load_explicit(&lib->state, memory_order_acquire) == OPEN)
    return GA_NO_ERROR;
  pthread_mutex_lock(&lock);
  int status = GA_NO_ERROR;
  if (atomic_load(&lib->state) == UNTRIED)
    status = open_library(lib);
  pthread_mutex_unlock(&lock);
  GA_TRY(status);
  if (atomic_load(&lib->state) == OPEN)
    return GA_NO_ERROR;
  return GA_FAIL(GA_LOAD_ERROR, "%s",
                 lib->problem.text ? lib->problem.text : lib->title);
}

int ga__cuda_need_driver(void) {
  return need(&driver);
}

/* The driver goes first: its version limits the others. It may be missing, for NVRTC
 * compiles without one. */
int ga__cuda_need_nvrtc(void) {
  (void)need(&driver);
  return need(&nvrtc);
}

int ga__cuda_need_cublas(void) {
  (void)need(&driver);
  return need(&cublas);
}

int ga__cuda_need_cublaslt(void) {
  (void)need(&driver);
  return need(&cublaslt);
}

int ga__cuda_need_cusolver(void) {
  (void)need(&driver);
  (void)need(&cublas); /* a dependency of cuSOLVER */
  return need(&cusolver);
}

int ga__cuda_need_cufft(void) {
  (void)need(&driver);
  return need(&cufft);
}

/* cuDNN opens NVRTC and cuBLASLt by their names, and ends the process where it does not
 * find the latter. */
int ga__cuda_need_cudnn(void) {
  (void)need(&driver);
  (void)need(&nvrtc);
  (void)need(&cublas);
  int status = need(&cublaslt);
  return status == GA_NO_ERROR ? need(&cudnn)
                               : ga__fail_within(status, "%s", cudnn.title);
}

int ga__cuda_need_nccl(void) {
  (void)need(&driver);
  return need(&nccl);
}

int ga__cuda_nvrtc_id(char *out, size_t size) {
  (void)need(&driver);
  pthread_mutex_lock(&lock);
  int status = collect(&nvrtc);
  bool is_known = false;
  for (char **path = nvrtc.candidates; path && *path && !is_known; path++)
    is_known = strchr(*path, '/') && ga__cuda_file_id(out, size, *path);
  pthread_mutex_unlock(&lock);
  GA_TRY(status);
  if (is_known)
    return GA_NO_ERROR;
  GA_TRY(need(&nvrtc));
  int major = 0, minor = 0;
  ga__cuda.nvrtcVersion(&major, &minor);
  snprintf(out, size, "NVRTC %d.%d", major, minor);
  return GA_NO_ERROR;
}

/* Indents each line by two columns. */
static void add_lines(ga_strbuf *out, const char *text) {
  while (text && *text) {
    size_t length = strcspn(text, "\n");
    ga__strbuf_add(out, "  ");
    ga__strbuf_addn(out, text, length);
    ga__strbuf_add(out, "\n");
    text += length + (text[length] == '\n');
  }
}

static void report_library(ga_strbuf *out, library *lib) {
  const bool is_open =
      (lib == &cudnn ? ga__cuda_need_cudnn() : need(lib)) == GA_NO_ERROR;
  pthread_mutex_lock(&lock);
  ga__strbuf_addf(out, "%s: %s\n", lib->title, is_open ? "open" : "missing");
  add_lines(out, lib->report.text);
  if (!is_open)
    add_lines(out, gpuarray_error_text());
  pthread_mutex_unlock(&lock);
  int version = is_open ? driver_version() : 0, major = 0, minor = 0, count = 0;
  if (is_open && lib == &driver) {
    ga__cuda.cuDeviceGetCount(&count);
    ga__strbuf_addf(out, "  CUDA %d.%d, devices: %d\n", version / 1000,
                    version % 1000 / 10, count);
  }
  if (is_open && lib == &nvrtc && ga__cuda.nvrtcVersion(&major, &minor) == 0)
    ga__strbuf_addf(out, "  version %d.%d\n", major, minor);
  if (is_open && lib == &cudnn) {
    char text[GA_DNN_VERSION_TEXT];
    ga__strbuf_addf(out, "  version %s, for CUDA %zu\n",
                    ga__cuda_dnn_version(text, ga__cuda.cudnnGetVersion()),
                    ga__cuda.cudnnGetCudartVersion() / 1000);
  }
}

void ga__cuda_report(ga_strbuf *out) {
  report_library(out, &driver);
  report_library(out, &nvrtc);
  report_library(out, &cublas);
  report_library(out, &cublaslt);
  report_library(out, &cusolver);
  report_library(out, &cufft);
  report_library(out, &cudnn);
  report_library(out, &nccl);
}

/* GA_RUN_ERROR for errors of running kernels, most of which make the context
 * unusable. */
static int status_of(CUresult result) {
  switch (result) {
  case CUDA_ERROR_OUT_OF_MEMORY:
    return GA_MEMORY_ERROR;
  case CUDA_ERROR_ECC_UNCORRECTABLE:
  case CUDA_ERROR_NVLINK_UNCORRECTABLE:
  case CUDA_ERROR_CONTAINED:
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_LAUNCH_TIMEOUT:
  case CUDA_ERROR_ASSERT:
    return GA_RUN_ERROR;
  case CUDA_ERROR_INVALID_IMAGE:
  case CUDA_ERROR_NO_BINARY_FOR_GPU:
  case CUDA_ERROR_INVALID_PTX:
  case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
  case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
  case CUDA_ERROR_INVALID_SOURCE:
    return GA_COMPILE_ERROR;
  default:
    return result >= CUDA_ERROR_HARDWARE_STACK_ERROR &&
                   result <= CUDA_ERROR_LAUNCH_FAILED
               ? GA_RUN_ERROR
               : GA_IMPL_ERROR;
  }
}

int ga__cuda_fail(CUresult result, const char *call) {
  const char *name = NULL, *text = NULL;
  ga__cuda.cuGetErrorName(result, &name);
  ga__cuda.cuGetErrorString(result, &text);
  if (name == NULL)
    return GA_FAIL(status_of(result), "%s: error %d of the CUDA driver", call, result);
  return GA_FAIL(status_of(result), "%s: %s: %s", call, name,
                 text ? text : "no description");
}
