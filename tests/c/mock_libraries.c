/* The mock's NVRTC, which keeps the source, and its cuBLAS, which computes. */
#include "mock_queue.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  INVALID_ARGUMENT = 7, /* cuBLAS's */
  TAKEN_AWAY = 70,      /* the status of a process that ends while NVRTC compiles */
};

struct ga_nvrtc_program_ {
  char *source, log[128], architecture[32];
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

static atomic_int n_compiling;

static void give_up(void) {
  if (atomic_load(&n_compiling) > 0)
    _exit(TAKEN_AWAY);
}

static void register_end(void) {
  atexit(give_up);
}

/* NVRTC makes objects when it first compiles, which the end of a process takes away. */
static void take_time(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  atomic_fetch_add(&n_compiling, 1);
  pthread_once(&once, register_end);
  usleep(mock_state.compile_time);
  atomic_fetch_sub(&n_compiling, 1);
}

static void meet(void) {
  mock_lock();
  mock_state.met++;
  for (int i = 0; i < 20000 && mock_state.met < mock_state.together; i++) {
    mock_end(0);
    usleep(1000);
    mock_lock();
  }
  mock_state.alone += mock_state.met < mock_state.together;
  mock_end(0);
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int n_options,
                                const char *const *options) {
  if (mock_state.together > 0)
    meet();
  if (mock_state.compile_time > 0)
    take_time();
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
  return mock_make(mock_begin_anywhere(), handle, sizeof **handle);
}

cublasStatus cublasDestroy(cublasHandle handle) {
  return mock_discard(handle);
}

cublasStatus cublasSetStream(cublasHandle handle, CUstream stream) {
  cublasStatus result = mock_begin_anywhere();
  if (result == 0) {
    handle->stream = stream;
    handle->workspace = handle; /* its own */
  }
  return mock_end(result);
}

cublasStatus cublasSetWorkspace(cublasHandle handle, void *workspace, size_t size) {
  cublasStatus result = mock_begin_anywhere();
  if (result == 0)
    handle->workspace = workspace;
  return mock_end(result == 0 && size < ((size_t)4 << 20) ? INVALID_ARGUMENT : result);
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
  for (ptrdiff_t q = 0; q < p->batch && !p->is_skipped; q++)
    for (int i = 0; i < p->m; i++)
      for (int j = 0; j < p->n; j++) {
        double sum = 0;
        for (int l = 0; l < p->k; l++)
          sum += get(p, p->a, q * p->a_step + i * p->ai + l * p->aj) *
                 get(p, p->b, q * p->b_step + l * p->bi + j * p->bj);
        ptrdiff_t at = q * p->c_step + i * p->ci + j * p->cj;
        sum *= p->alpha;
        if (p->beta != 0)
          sum += p->beta * get(p, p->c, at);
        if (p->bias)
          sum += get(p, p->bias, i);
        sum = p->is_relu && sum < 0 ? 0 : sum;
        if (p->is_double)
          ((double *)p->c)[at] = sum;
        else
          ((float *)p->c)[at] = (float)sum;
      }
}

static cublasStatus push_product(CUstream stream, const void *workspace,
                                 const product *p) {
  mock_state.products++;
  return mock_push(
      stream, &(command){.run = run_product, .product = *p, .workspace = workspace});
}

/* Whether a column-major matrix of so many rows may have this distance of columns. */
static bool is_leading(int ld, int rows) {
  return ld >= rows && ld >= 1;
}

/* How far from where BLAS is told a vector begins its first element is. */
static ptrdiff_t first(int length, int step) {
  return step < 0 ? (ptrdiff_t)(1 - length) * step : 0;
}

static double number(const void *factor, bool is_double) {
  return is_double ? *(const double *)factor : (double)*(const float *)factor;
}

enum { REAL_32 = 0, REAL_64 = 1, COMPUTE_64 = 70 };

cublasStatus cublasGemmStridedBatchedEx(cublasHandle handle, int ta, int tb, int m,
                                        int n, int k, const void *alpha, const void *a,
                                        int a_type, int lda, long long a_step,
                                        const void *b, int b_type, int ldb,
                                        long long b_step, const void *beta, void *c,
                                        int c_type, int ldc, long long c_step,
                                        int batch, int compute, int algorithm) {
  const bool is_wide = compute == COMPUTE_64;
  product p = {.is_double = a_type == REAL_64,
               .is_skipped = a_type != REAL_64 && a_type != REAL_32,
               .alpha = number(alpha, is_wide),
               .beta = number(beta, is_wide),
               .a = a,
               .b = b,
               .c = c,
               .m = m,
               .n = n,
               .k = k,
               .batch = batch,
               .ai = ta ? lda : 1,
               .aj = ta ? 1 : lda,
               .bi = tb ? ldb : 1,
               .bj = tb ? 1 : ldb,
               .ci = 1,
               .cj = ldc,
               .a_step = a_step,
               .b_step = b_step,
               .c_step = c_step};
  (void)algorithm;
  if (!is_leading(lda, ta ? k : m) || !is_leading(ldb, tb ? n : k) ||
      !is_leading(ldc, m) || a_type != b_type || a_type != c_type || a_step < 0 ||
      b_step < 0 || c_step < 0)
    return INVALID_ARGUMENT;
  mock_state.asked = (mock_product){
      .type = a_type, .compute = compute, .ta = ta, .tb = tb, .batch = batch};
  return push_product(handle->stream, handle->workspace, &p);
}

cublasStatus cublasGemmEx(cublasHandle handle, int ta, int tb, int m, int n, int k,
                          const void *alpha, const void *a, int a_type, int lda,
                          const void *b, int b_type, int ldb, const void *beta, void *c,
                          int c_type, int ldc, int compute, int algorithm) {
  return cublasGemmStridedBatchedEx(handle, ta, tb, m, n, k, alpha, a, a_type, lda, 0,
                                    b, b_type, ldb, 0, beta, c, c_type, ldc, 0, 1,
                                    compute, algorithm);
}

/* Complex types are not computed. */
static cublasStatus gemv(cublasHandle handle, int type, int ta, int m, int n,
                         const void *alpha, const void *a, int lda, const void *x,
                         int incx, const void *beta, void *y, int incy) {
  const int results = ta ? n : m, terms = ta ? m : n;
  const bool is_wide = type == REAL_64 || type == 5;
  const ptrdiff_t size = type == REAL_64 ? 8 : 4;
  product p = {.is_double = type == REAL_64,
               .is_skipped = type != REAL_64 && type != REAL_32,
               .alpha = number(alpha, is_wide),
               .beta = number(beta, is_wide),
               .a = a,
               .b = (const char *)x + first(terms, incx) * size,
               .c = (char *)y + first(results, incy) * size,
               .m = results,
               .n = 1,
               .k = terms,
               .batch = 1,
               .ai = ta ? lda : 1,
               .aj = ta ? 1 : lda,
               .bi = incx,
               .ci = incy};
  if (!is_leading(lda, m) || incx == 0 || incy == 0)
    return INVALID_ARGUMENT;
  mock_state.asked =
      (mock_product){.type = type, .ta = ta, .batch = 1, .is_vector = true};
  return push_product(handle->stream, handle->workspace, &p);
}

#define DEFINE_GEMV(name, type)                                                        \
  cublasStatus name(cublasHandle handle, int ta, int m, int n, const void *alpha,      \
                    const void *a, int lda, const void *x, int incx, const void *beta, \
                    void *y, int incy) {                                               \
    return gemv(handle, type, ta, m, n, alpha, a, lda, x, incx, beta, y, incy);        \
  }
DEFINE_GEMV(cublasSgemv, REAL_32)
DEFINE_GEMV(cublasDgemv, REAL_64)
DEFINE_GEMV(cublasCgemv, 4)
DEFINE_GEMV(cublasZgemv, 5)

/* ---- cuBLASLt ---- */

/* Any description; handles too are counted among the handles. */
struct ga_cublaslt_object_ {
  int type, compute, epilogue, trans[2];
  uint64_t rows, columns;
  int64_t ld;
  const void *bias;
};
struct ga_cublaslt_handle_ {
  int nothing;
};

static cublasStatus make_object(cublasLtObject *out) {
  return mock_make(mock_begin_anywhere(), out, sizeof **out);
}

cublasStatus cublasLtCreate(cublasLtHandle *handle) {
  return mock_make(mock_begin_anywhere(), handle, sizeof **handle);
}

cublasStatus cublasLtDestroy(cublasLtHandle handle) {
  return mock_discard(handle);
}

cublasStatus cublasLtMatmulDescCreate(cublasLtObject *desc, int compute,
                                      int scale_type) {
  cublasStatus result = make_object(desc);
  if (result == 0) {
    (*desc)->compute = compute;
    (*desc)->type = scale_type;
  }
  return result;
}

cublasStatus cublasLtMatmulDescDestroy(cublasLtObject desc) {
  return mock_discard(desc);
}

cublasStatus cublasLtMatmulDescSetAttribute(cublasLtObject desc, int attribute,
                                            const void *value, size_t size) {
  if (attribute == 3 || attribute == 4)
    memcpy(&desc->trans[attribute - 3], value, size);
  else if (attribute == 7)
    memcpy(&desc->epilogue, value, size);
  else if (attribute == 8)
    memcpy(&desc->bias, value, size);
  else
    return INVALID_ARGUMENT;
  return mock_end(mock_begin_anywhere());
}

cublasStatus cublasLtMatrixLayoutCreate(cublasLtObject *layout, int type, uint64_t rows,
                                        uint64_t columns, int64_t ld) {
  if (ld < (int64_t)rows)
    return INVALID_ARGUMENT;
  cublasStatus result = make_object(layout);
  if (result == 0) {
    (*layout)->type = type;
    (*layout)->rows = rows;
    (*layout)->columns = columns;
    (*layout)->ld = ld;
  }
  return result;
}

cublasStatus cublasLtMatrixLayoutDestroy(cublasLtObject layout) {
  return mock_discard(layout);
}

cublasStatus cublasLtMatmulPreferenceCreate(cublasLtObject *preference) {
  return make_object(preference);
}

cublasStatus cublasLtMatmulPreferenceDestroy(cublasLtObject preference) {
  return mock_discard(preference);
}

cublasStatus cublasLtMatmulPreferenceSetAttribute(cublasLtObject preference,
                                                  int attribute, const void *value,
                                                  size_t size) {
  (void)preference, (void)value;
  return attribute == 1 && size == sizeof(size_t) ? mock_end(mock_begin_anywhere())
                                                  : INVALID_ARGUMENT;
}

cublasStatus cublasLtMatmulAlgoGetHeuristic(cublasLtHandle handle, cublasLtObject desc,
                                            cublasLtObject a, cublasLtObject b,
                                            cublasLtObject c, cublasLtObject d,
                                            cublasLtObject preference, int wanted,
                                            cublasLtHeuristic *results, int *found) {
  (void)handle, (void)desc, (void)a, (void)b, (void)c, (void)d, (void)preference;
  memset(results, 0, (size_t)wanted * sizeof *results);
  *found = 1;
  return mock_end(mock_begin_anywhere());
}

cublasStatus cublasLtMatmul(cublasLtHandle handle, cublasLtObject desc,
                            const void *alpha, const void *a, cublasLtObject a_layout,
                            const void *b, cublasLtObject b_layout, const void *beta,
                            const void *c, cublasLtObject c_layout, void *d,
                            cublasLtObject d_layout, const cublasLtAlgorithm *algorithm,
                            void *workspace, size_t workspace_size, CUstream stream) {
  const bool is_wide = desc->compute == COMPUTE_64;
  const ptrdiff_t lda = a_layout->ld, ldb = b_layout->ld;
  product p = {.is_double = a_layout->type == REAL_64,
               .is_skipped = a_layout->type > REAL_64,
               .is_relu = desc->epilogue == 6,
               .alpha = number(alpha, is_wide),
               .beta = number(beta, is_wide),
               .a = a,
               .b = b,
               .c = d,
               .bias = desc->bias,
               .m = (int)d_layout->rows,
               .n = (int)d_layout->columns,
               .k = (int)(desc->trans[0] ? a_layout->rows : a_layout->columns),
               .batch = 1,
               .ai = desc->trans[0] ? lda : 1,
               .aj = desc->trans[0] ? 1 : lda,
               .bi = desc->trans[1] ? ldb : 1,
               .bj = desc->trans[1] ? 1 : ldb,
               .ci = 1,
               .cj = d_layout->ld};
  (void)handle, (void)c_layout, (void)algorithm, (void)workspace_size;
  if (c != d || workspace == NULL)
    return INVALID_ARGUMENT;
  mock_state.asked = (mock_product){.type = a_layout->type,
                                    .compute = desc->compute,
                                    .batch = 1,
                                    .epilogue = desc->epilogue};
  return push_product(stream, workspace, &p);
}
