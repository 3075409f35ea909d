/* BLAS of the host (OpenBLAS, MKL, BLIS), opened at run time.
 *
 * The interface is CBLAS. Libraries with 64-bit integers have a suffix in their symbol
 * names, and those in wheels a prefix, so that several can live in one process. */
#include "c/system/host_blas.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "c/system/dynload.h"

enum { COLUMN_MAJOR = 102, NO_TRANS = 111 }; /* CBLAS's; trans and conj_trans follow */

#define DECLARE(integer, suffix)                                                       \
  typedef void sgemm_##suffix(int, int, int, integer, integer, integer, float,         \
                              const void *, integer, const void *, integer, float,     \
                              void *, integer);                                        \
  typedef void dgemm_##suffix(int, int, int, integer, integer, integer, double,        \
                              const void *, integer, const void *, integer, double,    \
                              void *, integer);                                        \
  typedef void xgemm_##suffix(int, int, int, integer, integer, integer, const void *,  \
                              const void *, integer, const void *, integer,            \
                              const void *, void *, integer);
DECLARE(int, narrow)
DECLARE(int64_t, wide)

enum { S, D, C, Z, N_FUNCTIONS };

typedef struct host_blas {
  atomic_int state; /* 0: not tried, 1: open, -1: missing */
  bool is_wide;     /* 64-bit integers (ILP64) */
  void (*functions[N_FUNCTIONS])(void);
  ga_strbuf report;
} host_blas;

static host_blas blas;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- opening ---- */

static const struct naming {
  const char *format;
  bool is_wide;
} namings[] = {{"cblas_%cgemm", false},
               {"cblas_%cgemm64_", true},
               {"scipy_cblas_%cgemm64_", true},
               {"scipy_cblas_%cgemm", false}};

/* Resolves the symbols under the first naming of which the library has all. */
static bool take_functions(void *library) {
  for (size_t i = 0; i < sizeof namings / sizeof *namings; i++) {
    int found = 0;
    for (int j = 0; j < N_FUNCTIONS; j++) {
      char name[64];
      snprintf(name, sizeof name, namings[i].format, "sdcz"[j]);
      void *address = ga__dynload_symbol(library, name);
      memcpy(&blas.functions[j], &address, sizeof address);
      found += address != NULL;
    }
    blas.is_wide = namings[i].is_wide;
    if (found == N_FUNCTIONS)
      return true;
  }
  return false;
}

static int collect(char ***paths) {
  static const char *const wheels[] = {"numpy.libs/lib*openblas*.so*",
                                       "scipy.libs/lib*openblas*.so*",
                                       "scipy_openblas64/lib/lib*openblas*.so*"};
  static const char *const sonames[] = {"libopenblas.so.0", "libopenblas.so",
                                        "libmkl_rt.so.2",   "libmkl_rt.so",
                                        "libblis.so.4",     "libblis.so"};
  const char *chosen = getenv("GPUARRAY_HOST_BLAS");
  if (chosen && *chosen) {
    ga__strbuf_add(&blas.report, "GPUARRAY_HOST_BLAS is set: nothing else is tried\n");
    return ga__dynload_add(paths, chosen);
  }
  for (size_t i = 0; i < sizeof wheels / sizeof *wheels; i++)
    GA_TRY(ga__dynload_wheels(paths, wheels[i]));
  for (size_t i = 0; i < sizeof sonames / sizeof *sonames; i++)
    GA_TRY(ga__dynload_add(paths, sonames[i]));
  return GA_NO_ERROR;
}

static bool open_one(const char *path) {
  void *library = ga__dynload_open((const char *const[]){path, NULL}, &blas.report);
  if (library != NULL && take_functions(library))
    return true;
  if (library != NULL)
    ga__strbuf_addf(&blas.report, "%s: lacks CBLAS's gemm\n", path);
  return false;
}

/* The lock is held. */
static int open_library(void) {
  char **paths = NULL;
  int status = collect(&paths);
  bool is_open = false;
  for (char **path = paths; status == GA_NO_ERROR && path && *path && !is_open; path++)
    is_open = open_one(*path);
  ga__dynload_paths_free(paths);
  if (status == GA_NO_ERROR)
    atomic_store(&blas.state, is_open ? 1 : -1);
  return status;
}

int ga__host_blas_open(void) {
  int status = GA_NO_ERROR;
  if (atomic_load(&blas.state) == 0) {
    pthread_mutex_lock(&lock);
    if (atomic_load(&blas.state) == 0)
      status = open_library();
    pthread_mutex_unlock(&lock);
  }
  GA_TRY(status);
  if (atomic_load(&blas.state) == 1)
    return GA_NO_ERROR;
  return GA_FAIL(GA_LOAD_ERROR,
                 "no host BLAS was found: install libopenblas, or name the file "
                 "in GPUARRAY_HOST_BLAS");
}

void ga__host_blas_report(ga_strbuf *out) {
  bool is_open = ga__host_blas_open() == GA_NO_ERROR;
  pthread_mutex_lock(&lock);
  ga__strbuf_addf(out, "a BLAS of the host: %s\n", is_open ? "open" : "missing");
  for (const char *line = blas.report.text; line && *line;) {
    size_t length = strcspn(line, "\n");
    ga__strbuf_add(out, "  ");
    ga__strbuf_addn(out, line, length);
    ga__strbuf_add(out, "\n");
    line += length + (line[length] == '\n');
  }
  pthread_mutex_unlock(&lock);
}

/* ---- calls ---- */

bool ga__host_blas_counts(const ga_host_product *p) {
  return blas.is_wide || (p->m <= INT_MAX && p->n <= INT_MAX && p->k <= INT_MAX &&
                          p->lda <= INT_MAX && p->ldb <= INT_MAX && p->ldc <= INT_MAX);
}

#define DEFINE_GEMM(name, integer, suffix)                                             \
  static void name(const ga_host_product *p, const char *a, const char *b, char *c) {  \
    const int ta = NO_TRANS + (int)p->ta, tb = NO_TRANS + (int)p->tb;                  \
    const integer m = (integer)p->m, n = (integer)p->n, k = (integer)p->k;             \
    const integer lda = (integer)p->lda, ldb = (integer)p->ldb, ldc = (integer)p->ldc; \
    const float alpha[2] = {(float)p->alpha[0], (float)p->alpha[1]};                   \
    const float beta[2] = {(float)p->beta[0], (float)p->beta[1]};                      \
    if (p->typecode == GA_FLOAT)                                                       \
      ((sgemm_##suffix *)blas.functions[S])(COLUMN_MAJOR, ta, tb, m, n, k, alpha[0],   \
                                            a, lda, b, ldb, beta[0], c, ldc);          \
    else if (p->typecode == GA_DOUBLE)                                                 \
      ((dgemm_##suffix *)blas.functions[D])(COLUMN_MAJOR, ta, tb, m, n, k,             \
                                            p->alpha[0], a, lda, b, ldb, p->beta[0],   \
                                            c, ldc);                                   \
    else if (p->typecode == GA_CFLOAT)                                                 \
      ((xgemm_##suffix *)blas.functions[C])(COLUMN_MAJOR, ta, tb, m, n, k, alpha, a,   \
                                            lda, b, ldb, beta, c, ldc);                \
    else                                                                               \
      ((xgemm_##suffix *)blas.functions[Z])(COLUMN_MAJOR, ta, tb, m, n, k, p->alpha,   \
                                            a, lda, b, ldb, p->beta, c, ldc);          \
  }
DEFINE_GEMM(gemm_narrow, int, narrow)
DEFINE_GEMM(gemm_wide, int64_t, wide)

void ga__host_blas_product(const ga_host_product *p) {
  const ssize_t itemsize = (ssize_t)gpuarray_get_elsize(p->typecode);
  for (ssize_t i = 0; i < (ssize_t)p->batch; i++) {
    const char *a = p->a + i * p->a_step * itemsize;
    const char *b = p->b + i * p->b_step * itemsize;
    char *c = p->c + i * p->c_step * itemsize;
    if (blas.is_wide)
      gemm_wide(p, a, b, c);
    else
      gemm_narrow(p, a, b, c);
  }
}
