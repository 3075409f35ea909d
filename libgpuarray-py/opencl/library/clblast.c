/* CLBlast, loaded dynamically, for devices other than CPUs.
 *
 * Used on request only (GPUARRAY_BLAS=vendor): our own kernels were faster on all
 * devices that we measured. */
#include "opencl/library/clblast.h"

#include <stdlib.h>
#include <string.h>

#include "c/system/dynload.h"

enum { COLUMN_MAJOR = 102, NO_TRANS = 111 }; /* trans and conj_trans follow */

typedef struct complex_float {
  float x, y;
} complex_float;
typedef struct complex_double {
  double x, y;
} complex_double;

/* One matrix, and a batch; offsets and strides in elements. */
#define DECLARE(name, type)                                                            \
  typedef int name##gemm(int, int, int, size_t, size_t, size_t, type, cl_mem, size_t,  \
                         size_t, cl_mem, size_t, size_t, type, cl_mem, size_t, size_t, \
                         cl_command_queue *, cl_event *);                              \
  typedef int name##gemm_batch(int, int, int, size_t, size_t, size_t, type, cl_mem,    \
                               size_t, size_t, size_t, cl_mem, size_t, size_t, size_t, \
                               type, cl_mem, size_t, size_t, size_t, size_t,           \
                               cl_command_queue *, cl_event *);
DECLARE(H, uint16_t)
DECLARE(S, float)
DECLARE(D, double)
DECLARE(C, complex_float)
DECLARE(Z, complex_double)

typedef struct clblast_api {
  Hgemm *h;
  Sgemm *s;
  Dgemm *d;
  Cgemm *c;
  Zgemm *z;
  Hgemm_batch *h_batch;
  Sgemm_batch *s_batch;
  Dgemm_batch *d_batch;
  Cgemm_batch *c_batch;
  Zgemm_batch *z_batch;
} clblast_api;

static const struct entry {
  const char *symbol;
  size_t offset;
} entries[] = {
#define ENTRY(symbol, field) {symbol, offsetof(clblast_api, field)}
    ENTRY("CLBlastHgemm", h),
    ENTRY("CLBlastSgemm", s),
    ENTRY("CLBlastDgemm", d),
    ENTRY("CLBlastCgemm", c),
    ENTRY("CLBlastZgemm", z),
    ENTRY("CLBlastHgemmStridedBatched", h_batch),
    ENTRY("CLBlastSgemmStridedBatched", s_batch),
    ENTRY("CLBlastDgemmStridedBatched", d_batch),
    ENTRY("CLBlastCgemmStridedBatched", c_batch),
    ENTRY("CLBlastZgemmStridedBatched", z_batch)};

static clblast_api clblast;
static atomic_int state; /* 0 not tried, 1 open, -1 missing */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ga_strbuf tried;

/* The lock is held. */
static bool open_library(void) {
  const char *override = getenv("GPUARRAY_CLBLAST");
  const char *const named[] = {override, NULL};
  const char *const usual[] = {"libclblast.so.1", "libclblast.so", NULL};
  void *library = ga__dynload_open(override && *override ? named : usual, &tried);
  for (size_t i = 0; library != NULL && i < sizeof entries / sizeof *entries; i++) {
    void *address = ga__dynload_symbol(library, entries[i].symbol);
    if (address == NULL) {
      ga__strbuf_addf(&tried, "lacks the function %s\n", entries[i].symbol);
      return false;
    }
    memcpy((char *)&clblast + entries[i].offset, &address, sizeof address);
  }
  return library != NULL;
}

int ga__clblast_open(void *device) {
  const ga_opencl_device *d = device;
  if (atomic_load(&state) == 0) {
    pthread_mutex_lock(&lock);
    if (atomic_load(&state) == 0)
      atomic_store(&state, open_library() ? 1 : -1);
    pthread_mutex_unlock(&lock);
  }
  if (atomic_load(&state) == 1 && (d == NULL || d->is_gpu))
    return GA_NO_ERROR;
  return GA_FAIL(GA_LOAD_ERROR,
                 "no CLBlast was found: install libclblast, or name the file in "
                 "GPUARRAY_CLBLAST");
}

void ga__clblast_report(ga_strbuf *out) {
  bool is_open = ga__clblast_open(NULL) == GA_NO_ERROR;
  pthread_mutex_lock(&lock);
  ga__strbuf_addf(out, "CLBlast: %s\n%s", is_open ? "open" : "missing",
                  tried.text ? tried.text : "");
  pthread_mutex_unlock(&lock);
}

bool ga__clblast_serves(void *device, const ga_blas_call *call) {
  (void)device;
  return call->typecode != GA_BFLOAT16 && call->a.step >= 0 && call->b.step >= 0 &&
         call->c.step >= 0;
}

/* ---- calls ---- */

static uint16_t half_of(const double factor[2]) {
  return ga_float2half((float)factor[0]).h;
}
static float single_of(const double factor[2]) {
  return (float)factor[0];
}
static double double_of(const double factor[2]) {
  return factor[0];
}
static complex_float complex_of(const double factor[2]) {
  return (complex_float){(float)factor[0], (float)factor[1]};
}
static complex_double wide_complex_of(const double factor[2]) {
  return (complex_double){factor[0], factor[1]};
}

#define CALL(one, many, factor)                                                        \
  (g->batch == 1 ? clblast.one(COLUMN_MAJOR, ta, tb, g->m, g->n, g->k,                 \
                               factor(g->alpha), a, a_at, lda, b, b_at, ldb,           \
                               factor(g->beta), out, c_at, ldc, queue, event)          \
                 : clblast.many(COLUMN_MAJOR, ta, tb, g->m, g->n, g->k,                \
                                factor(g->alpha), a, a_at, lda, (size_t)g->a.step, b,  \
                                b_at, ldb, (size_t)g->b.step, factor(g->beta), out,    \
                                c_at, ldc, (size_t)g->c.step, g->batch, queue, event))

static int call_library(cl_command_queue *queue, cl_event *event,
                        const ga_blas_call *g) {
  const size_t itemsize = gpuarray_get_elsize(g->typecode);
  const int ta = NO_TRANS + (int)g->ta, tb = NO_TRANS + (int)g->tb;
  cl_mem a = ga__buffer_memory(g->a.buffer), b = ga__buffer_memory(g->b.buffer);
  cl_mem out = ga__buffer_memory(g->c.buffer);
  const size_t a_at = g->a.offset / itemsize, b_at = g->b.offset / itemsize;
  const size_t c_at = g->c.offset / itemsize;
  const size_t lda = (size_t)g->a.ld, ldb = (size_t)g->b.ld, ldc = (size_t)g->c.ld;
  switch (g->typecode) {
  case GA_HALF:
    return CALL(h, h_batch, half_of);
  case GA_FLOAT:
    return CALL(s, s_batch, single_of);
  case GA_DOUBLE:
    return CALL(d, d_batch, double_of);
  case GA_CFLOAT:
    return CALL(c, c_batch, complex_of);
  default:
    return CALL(z, z_batch, wide_complex_of);
  }
}

int ga__clblast_product(ga_opencl_device *d, const ga_blas_call *call) {
  ga__opencl_enter(d);
  int code = call_library(&d->queue, ga__opencl_event_place(d), call);
  ga__opencl_note(d);
  ga__opencl_leave(d);
  return code == 0 ? GA_NO_ERROR : GA_FAIL(GA_BLAS_ERROR, "CLBlast: error %d", code);
}
