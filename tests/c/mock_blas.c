/* A mock of the host's BLAS and of CLBlast, both of which compute at once. */
#include <complex.h>
#include <stddef.h>
#include <stdint.h>

#define PUBLIC __attribute__((visibility("default")))

enum { COLUMN_MAJOR = 102, NO_TRANS = 111, CONJ_TRANS = 113, INVALID = -1 };

/* c = alpha op(a) op(b) + beta c, where element i of a list is `get` and `set`. */
typedef struct sums {
  int ta, tb;
  int64_t m, n, k, lda, ldb, ldc;
  double complex alpha, beta;
} sums;

static int64_t place(int trans, int64_t i, int64_t j, int64_t ld) {
  return trans == NO_TRANS ? i + j * ld : j + i * ld;
}

#define DEFINE_SUMS(name, type)                                                        \
  static void name(const sums *s, const type *a, const type *b, type *c) {             \
    for (int64_t i = 0; i < s->m; i++)                                                 \
      for (int64_t j = 0; j < s->n; j++) {                                             \
        double complex sum = 0;                                                        \
        for (int64_t l = 0; l < s->k; l++) {                                           \
          double complex x = a[place(s->ta, i, l, s->lda)];                            \
          double complex y = b[place(s->tb, l, j, s->ldb)];                            \
          sum += (s->ta == CONJ_TRANS ? conj(x) : x) *                                 \
                 (s->tb == CONJ_TRANS ? conj(y) : y);                                  \
        }                                                                              \
        type *to = &c[i + j * s->ldc];                                                 \
        sum *= s->alpha;                                                               \
        *to = (type)(s->beta == 0 ? sum : sum + s->beta * *to);                        \
      }                                                                                \
  }
DEFINE_SUMS(sums_s, float)
DEFINE_SUMS(sums_d, double)
DEFINE_SUMS(sums_c, float complex)
DEFINE_SUMS(sums_z, double complex)

/* ---- CBLAS, which counts in 64 bits ---- */

#define DEFINE_CBLAS(name, type, factor, value, run)                                   \
  PUBLIC void name(int order, int ta, int tb, int64_t m, int64_t n, int64_t k,         \
                   factor alpha, const void *a, int64_t lda, const void *b,            \
                   int64_t ldb, factor beta, void *c, int64_t ldc);                    \
  void name(int order, int ta, int tb, int64_t m, int64_t n, int64_t k, factor alpha,  \
            const void *a, int64_t lda, const void *b, int64_t ldb, factor beta,       \
            void *c, int64_t ldc) {                                                    \
    const sums s = {ta, tb, m, n, k, lda, ldb, ldc, value(alpha), value(beta)};        \
    if (order == COLUMN_MAJOR)                                                         \
      run(&s, (const type *)a, (const type *)b, (type *)c);                            \
  }
#define PLAIN(x) (double)(x)
#define OF_FLOATS(x) *(const float complex *)(x)
#define OF_DOUBLES(x) *(const double complex *)(x)
DEFINE_CBLAS(cblas_sgemm64_, float, float, PLAIN, sums_s)
DEFINE_CBLAS(cblas_dgemm64_, double, double, PLAIN, sums_d)
DEFINE_CBLAS(cblas_cgemm64_, float complex, const void *, OF_FLOATS, sums_c)
DEFINE_CBLAS(cblas_zgemm64_, double complex, const void *, OF_DOUBLES, sums_z)

/* ---- CLBlast, on memory that is the host's ---- */

#define DEFINE_CLBLAST(one, many, type, run)                                           \
  PUBLIC int many(int order, int ta, int tb, size_t m, size_t n, size_t k, type alpha, \
                  void *a, size_t offa, size_t lda, size_t stepa, void *b,             \
                  size_t offb, size_t ldb, size_t stepb, type beta, void *c,           \
                  size_t offc, size_t ldc, size_t stepc, size_t batch, void **queue,   \
                  void *event);                                                        \
  int many(int order, int ta, int tb, size_t m, size_t n, size_t k, type alpha,        \
           void *a, size_t offa, size_t lda, size_t stepa, void *b, size_t offb,       \
           size_t ldb, size_t stepb, type beta, void *c, size_t offc, size_t ldc,      \
           size_t stepc, size_t batch, void **queue, void *event) {                    \
    const sums s = {ta,           tb,           (int64_t)m,   (int64_t)n, (int64_t)k,  \
                    (int64_t)lda, (int64_t)ldb, (int64_t)ldc, alpha,      beta};       \
    if (order != COLUMN_MAJOR || queue == NULL || event != NULL)                       \
      return INVALID;                                                                  \
    for (size_t i = 0; i < batch; i++)                                                 \
      run(&s, (const type *)a + offa + i * stepa, (const type *)b + offb + i * stepb,  \
          (type *)c + offc + i * stepc);                                               \
    return 0;                                                                          \
  }                                                                                    \
  PUBLIC int one(int order, int ta, int tb, size_t m, size_t n, size_t k, type alpha,  \
                 void *a, size_t offa, size_t lda, void *b, size_t offb, size_t ldb,   \
                 type beta, void *c, size_t offc, size_t ldc, void **queue,            \
                 void *event);                                                         \
  int one(int order, int ta, int tb, size_t m, size_t n, size_t k, type alpha,         \
          void *a, size_t offa, size_t lda, void *b, size_t offb, size_t ldb,          \
          type beta, void *c, size_t offc, size_t ldc, void **queue, void *event) {    \
    return many(order, ta, tb, m, n, k, alpha, a, offa, lda, 0, b, offb, ldb, 0, beta, \
                c, offc, ldc, 0, 1, queue, event);                                     \
  }

/* Halves are not computed. */
static void sums_h(const sums *s, const uint16_t *a, const uint16_t *b, uint16_t *c) {
  (void)s, (void)a, (void)b, (void)c;
}
DEFINE_CLBLAST(CLBlastHgemm, CLBlastHgemmStridedBatched, uint16_t, sums_h)
DEFINE_CLBLAST(CLBlastSgemm, CLBlastSgemmStridedBatched, float, sums_s)
DEFINE_CLBLAST(CLBlastDgemm, CLBlastDgemmStridedBatched, double, sums_d)
DEFINE_CLBLAST(CLBlastCgemm, CLBlastCgemmStridedBatched, float complex, sums_c)
DEFINE_CLBLAST(CLBlastZgemm, CLBlastZgemmStridedBatched, double complex, sums_z)
