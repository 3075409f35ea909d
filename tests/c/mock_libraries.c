/* The mock's NVRTC, which keeps the source, and its cuBLAS, which computes. */
#include "mock_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INVALID_ARGUMENT = 7 /* cuBLAS's */ };

struct ga_nvrtc_program_ {
  char *source, log[128], architecture[32];
};
struct ga_cublas_handle_ {
  CUstream stream;
};

/* ---- NVRTC ---- */

static const int known[] = {75, 80, 90, 100};

nvrtcResult nvrtcVersion(int *major, int *minor) {
  *major = mock_state.version / 1000;
  *minor = 0;
  return 0;
}

const char *nvrtcGetErrorString(nvrtcResult result) {
  (void)result;
  return "a mock's error";
}

nvrtcResult nvrtcGetNumSupportedArchs(int *count) {
  *count = 0;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    *count += known[i] <= mock_state.newest;
  return 0;
}

nvrtcResult nvrtcGetSupportedArchs(int *out) {
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i] <= mock_state.newest)
      *out++ = known[i];
  return 0;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *source,
                               const char *name, int n_headers,
                               const char *const *headers,
                               const char *const *header_names) {
  (void)name, (void)n_headers, (void)headers, (void)header_names;
  nvrtcResult result = mock_begin_anywhere();
  if (result == 0) {
    *program = calloc(1, sizeof **program);
    (*program)->source = strdup(source);
    mock_state.programs++;
  }
  return mock_end(result);
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program) {
  mock_lock();
  free((*program)->source);
  free(*program);
  *program = NULL;
  mock_state.programs--;
  return mock_end(0);
}

static void take_architecture(nvrtcProgram program, int n_options,
                              const char *const *options) {
  static const char prefix[] = "--gpu-architecture=";
  for (int i = 0; i < n_options; i++)
    if (strncmp(options[i], prefix, strlen(prefix)) == 0)
      snprintf(program->architecture, sizeof program->architecture, "%s",
               options[i] + strlen(prefix));
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int n_options,
                                const char *const *options) {
  nvrtcResult result = mock_begin_anywhere();
  if (result != 0)
    return mock_end(result);
  take_architecture(program, n_options, options);
  if (atoi(strchr(program->architecture, '_') + 1) > mock_state.newest)
    return mock_end(NVRTC_ERROR_INVALID_OPTION);
  mock_state.compilations++;
  memcpy(mock_state.architecture, program->architecture,
         sizeof mock_state.architecture);
  if (strstr(program->source, "WRONG") == NULL)
    return mock_end(0);
  snprintf(program->log, sizeof program->log, "line 1: what is WRONG?");
  return mock_end(NVRTC_ERROR_COMPILATION);
}

static nvrtcResult give_size(nvrtcProgram program, size_t *size) {
  *size = BINARY_HEAD + strlen(program->source) + 1;
  return mock_end(mock_begin_anywhere());
}

static nvrtcResult give_bytes(nvrtcProgram program, char *bytes, const char *magic) {
  memset(bytes, 0, BINARY_HEAD);
  snprintf(bytes, BINARY_HEAD, "%s %s", magic, program->architecture);
  strcpy(bytes + BINARY_HEAD, program->source);
  return mock_end(mock_begin_anywhere());
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *size) {
  return give_size(program, size);
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *bytes) {
  return give_bytes(program, bytes, "\177ELF");
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *size) {
  return give_size(program, size);
}

nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *bytes) {
  return give_bytes(program, bytes, "//");
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *size) {
  *size = strlen(program->log) + 1;
  return 0;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *text) {
  strcpy(text, program->log);
  return 0;
}

/* ---- cuBLAS ---- */

cublasStatus cublasCreate(cublasHandle *handle) {
  cublasStatus result = mock_begin_anywhere();
  if (result == 0) {
    *handle = calloc(1, sizeof **handle);
    mock_state.handles++;
  }
  return mock_end(result);
}

cublasStatus cublasDestroy(cublasHandle handle) {
  mock_lock();
  free(handle);
  mock_state.handles--;
  return mock_end(0);
}

cublasStatus cublasSetStream(cublasHandle handle, CUstream stream) {
  cublasStatus result = mock_begin_anywhere();
  if (result == 0)
    handle->stream = stream;
  return mock_end(result);
}

/* The mode 0: numbers on the host. */
cublasStatus cublasSetPointerMode(cublasHandle handle, int mode) {
  (void)handle;
  cublasStatus result = mock_begin_anywhere();
  return mock_end(result == 0 && mode != 0 ? INVALID_ARGUMENT : result);
}

/* The mode 0: exact. */
cublasStatus cublasSetMathMode(cublasHandle handle, int mode) {
  return cublasSetPointerMode(handle, mode);
}

static double get(const product *p, const void *from, ptrdiff_t at) {
  return p->is_double ? ((const double *)from)[at] : (double)((const float *)from)[at];
}

/* As BLAS: with beta 0 the output is not read. */
static void run_product(command *c, CUstream stream) {
  const product *p = &c->product;
  (void)stream;
  for (int i = 0; i < p->m; i++)
    for (int j = 0; j < p->n; j++) {
      double sum = 0;
      for (int l = 0; l < p->k; l++)
        sum +=
            get(p, p->a, i * p->ai + l * p->aj) * get(p, p->b, l * p->bi + j * p->bj);
      ptrdiff_t at = i * p->ci + j * p->cj;
      sum *= p->alpha;
      if (p->beta != 0)
        sum += p->beta * get(p, p->c, at);
      if (p->is_double)
        ((double *)p->c)[at] = sum;
      else
        ((float *)p->c)[at] = (float)sum;
    }
}

static cublasStatus push_product(cublasHandle handle, const product *p) {
  return mock_push(handle->stream, &(command){.run = run_product, .product = *p});
}

/* Whether a column-major matrix of so many rows may have this distance of columns. */
static bool is_leading(int ld, int rows) {
  return ld >= rows && ld >= 1;
}

/* How far from where BLAS is told a vector begins its first element is. */
static ptrdiff_t first(int length, int step) {
  return step < 0 ? (ptrdiff_t)(1 - length) * step : 0;
}

#define DEFINE_PRODUCTS(gemm, gemv, type)                                              \
  cublasStatus gemm(cublasHandle handle, int ta, int tb, int m, int n, int k,          \
                    const type *alpha, const type *a, int lda, const type *b, int ldb, \
                    const type *beta, type *c, int ldc) {                              \
    product p = {.is_double = sizeof(type) == 8,                                       \
                 .alpha = (double)*alpha,                                              \
                 .beta = (double)*beta,                                                \
                 .a = a,                                                               \
                 .b = b,                                                               \
                 .c = c,                                                               \
                 .m = m,                                                               \
                 .n = n,                                                               \
                 .k = k,                                                               \
                 .ai = ta ? lda : 1,                                                   \
                 .aj = ta ? 1 : lda,                                                   \
                 .bi = tb ? ldb : 1,                                                   \
                 .bj = tb ? 1 : ldb,                                                   \
                 .ci = 1,                                                              \
                 .cj = ldc};                                                           \
    if (!is_leading(lda, ta ? k : m) || !is_leading(ldb, tb ? n : k) ||                \
        !is_leading(ldc, m))                                                           \
      return INVALID_ARGUMENT;                                                         \
    return push_product(handle, &p);                                                   \
  }                                                                                    \
  cublasStatus gemv(cublasHandle handle, int ta, int m, int n, const type *alpha,      \
                    const type *a, int lda, const type *x, int incx, const type *beta, \
                    type *y, int incy) {                                               \
    int results = ta ? n : m, terms = ta ? m : n;                                      \
    product p = {.is_double = sizeof(type) == 8,                                       \
                 .alpha = (double)*alpha,                                              \
                 .beta = (double)*beta,                                                \
                 .a = a,                                                               \
                 .b = x + first(terms, incx),                                          \
                 .c = y + first(results, incy),                                        \
                 .m = results,                                                         \
                 .n = 1,                                                               \
                 .k = terms,                                                           \
                 .ai = ta ? lda : 1,                                                   \
                 .aj = ta ? 1 : lda,                                                   \
                 .bi = incx,                                                           \
                 .ci = incy};                                                          \
    if (!is_leading(lda, m) || incx == 0 || incy == 0)                                 \
      return INVALID_ARGUMENT;                                                         \
    return push_product(handle, &p);                                                   \
  }
DEFINE_PRODUCTS(cublasSgemm, cublasSgemv, float)
DEFINE_PRODUCTS(cublasDgemm, cublasDgemv, double)
