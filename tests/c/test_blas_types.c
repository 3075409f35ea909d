/* Every product over raw buffers, in each of the six types, on a device, beside the
 * same product counted on the host. Numbers are small and whole, so that results are
 * exact in every type. Layouts and failures are test_blas.c's. */
#include "device_context.h"

#include <gpuarray/array.h>
#include <gpuarray/buffer_blas.h>
#include <gpuarray/util.h>

#include "c/device/context.h"

enum { ROOM = 64 }; /* numbers in a buffer */

static gpucontext *ctx;

/* ---- numbers of a type on the host ---- */

typedef struct number {
  double re, im;
} number;

static bool is_complex(int typecode) {
  return typecode == GA_CFLOAT || typecode == GA_CDOUBLE;
}

static void store(void *to, int typecode, size_t i, number x) {
  float f[2] = {(float)x.re, (float)x.im};
  uint16_t bits =
      typecode == GA_HALF ? ga_float2half(f[0]).h : ga_float2bfloat16(f[0]).h;
  size_t size = gpuarray_get_elsize(typecode);
  const void *from = typecode == GA_DOUBLE || typecode == GA_CDOUBLE ? (void *)&x
                     : size == 2                                     ? (void *)&bits
                                                                     : (void *)f;
  memcpy((char *)to + i * size, from, size);
}

/* Of the small whole numbers that occur here. */
static double half_value(uint16_t bits) {
  for (int v = -2048; v <= 2048; v++)
    if (ga_float2half((float)v).h == bits)
      return v;
  return 1e30;
}

static number load(const void *from, int typecode, size_t i) {
  size_t size = gpuarray_get_elsize(typecode);
  const char *at = (const char *)from + i * size;
  number x = {0, 0};
  float f[2] = {0, 0};
  uint16_t bits;
  if (typecode == GA_DOUBLE || typecode == GA_CDOUBLE) {
    memcpy(&x, at, size);
    return x;
  }
  if (size == 2) {
    memcpy(&bits, at, size);
    uint32_t wide = (uint32_t)bits << 16;
    memcpy(f, &wide, sizeof *f);
    return (number){typecode == GA_HALF ? half_value(bits) : (double)f[0], 0};
  }
  memcpy(f, at, size);
  return (number){(double)f[0], (double)f[1]};
}

static number times(number x, number y) {
  return (number){x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

static number plus(number x, number y) {
  return (number){x.re + y.re, x.im + y.im};
}

/* ---- buffers ---- */

/* Small numbers, the same in each buffer of a type. */
static number element(int typecode, size_t i) {
  return (number){(double)((i * 5) % 7) - 3,
                  is_complex(typecode) ? (double)((i * 3) % 5) - 2 : 0};
}

static gpudata *numbers(int typecode) {
  double memory[2 * ROOM];
  int ret = GA_NO_ERROR;
  for (size_t i = 0; i < ROOM; i++)
    store(memory, typecode, i, element(typecode, i));
  gpudata *b = gpudata_alloc(ctx, ROOM * gpuarray_get_elsize(typecode), memory,
                             GA_BUFFER_INIT, &ret);
  CHECK_OK(ret);
  return b;
}

/* What a buffer must have: `wanted` of it where it was changed. */
static void expect(gpudata *b, int typecode, const number *wanted, const char *what) {
  double memory[2 * ROOM];
  CHECK_OK(gpudata_read(memory, b, 0, ROOM * gpuarray_get_elsize(typecode)));
  for (size_t i = 0; i < ROOM; i++) {
    number got = load(memory, typecode, i);
    if (got.re == wanted[i].re && got.im == wanted[i].im)
      continue;
    fprintf(stderr, "%s of type %d: element %zu is %g + %gi, not %g + %gi\n", what,
            typecode, i, got.re, got.im, wanted[i].re, wanted[i].im);
    check_failures++;
    break;
  }
  gpudata_release(b);
}

static void fill(number *wanted, int typecode) {
  for (size_t i = 0; i < ROOM; i++)
    wanted[i] = element(typecode, i);
}

/* C[c + i*ldc + j] = alpha sum over l of A[a + i*lda + l] B[b + l*ldb + j] + beta C, of
 * rows of m, n, k. */
static void multiply(number *wanted, int typecode, size_t m, size_t n, size_t k,
                     number alpha, size_t a, size_t lda, size_t b, size_t ldb,
                     number beta, size_t c, size_t ldc) {
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++) {
      number sum = {0, 0}, *to = &wanted[c + i * ldc + j];
      for (size_t l = 0; l < k; l++)
        sum = plus(sum, times(element(typecode, a + i * lda + l),
                              element(typecode, b + l * ldb + j)));
      *to = plus(times(alpha, sum), times(beta, *to));
    }
}

static const number one = {1, 0}, two = {2, 0}, none = {0, 0};

/* ---- the routines ---- */

/* alpha is `two`, beta `one`, as the functions of a type take them. */
#define DEFINE_CHECKS(L, CODE, TWO, ONE)                                               \
  static void check_single_##L(gpudata *a) {                                           \
    number wanted[ROOM];                                                               \
    gpudata *c = numbers(CODE);                                                        \
    fill(wanted, CODE);                                                                \
    multiply(wanted, CODE, 1, 1, 5, one, 2, 0, 1, 2, none, 7, 0);                      \
    CHECK_OK(gpublas_##L##dot(5, a, 2, 1, a, 1, 2, c, 7));                             \
    expect(c, CODE, wanted, "dot");                                                    \
    c = numbers(CODE);                                                                 \
    fill(wanted, CODE);                                                                \
    multiply(wanted, CODE, 2, 1, 3, two, 1, 4, 5, 1, one, 3, 2);                       \
    CHECK_OK(gpublas_##L##gemv(cb_row, cb_no_trans, 2, 3, TWO, a, 1, 4, a, 5, 1, ONE,  \
                               c, 3, 2));                                              \
    expect(c, CODE, wanted, "gemv");                                                   \
    c = numbers(CODE);                                                                 \
    fill(wanted, CODE);                                                                \
    multiply(wanted, CODE, 2, 4, 3, two, 1, 4, 5, 6, one, 3, 5);                       \
    CHECK_OK(gpublas_##L##gemm(cb_row, cb_no_trans, cb_no_trans, 2, 4, 3, TWO, a, 1,   \
                               4, a, 5, 6, ONE, c, 3, 5));                             \
    expect(c, CODE, wanted, "gemm");                                                   \
    c = numbers(CODE);                                                                 \
    fill(wanted, CODE);                                                                \
    multiply(wanted, CODE, 3, 4, 1, two, 1, 2, 5, 0, one, 3, 5);                       \
    CHECK_OK(gpublas_##L##ger(cb_row, 3, 4, TWO, a, 1, 2, a, 5, 1, c, 3, 5));          \
    expect(c, CODE, wanted, "ger");                                                    \
  }                                                                                    \
                                                                                       \
  static void check_batches_##L(gpudata *a) {                                          \
    const size_t size = gpuarray_get_elsize(CODE);                                     \
    number wanted[ROOM];                                                               \
    size_t first[] = {1, 9}, second[] = {2, 20}, third[] = {3, 30};                    \
    gpudata *c = numbers(CODE), *as[] = {a, a}, *cs[] = {c, c};                        \
    fill(wanted, CODE);                                                                \
    for (size_t i = 0; i < 2; i++)                                                     \
      multiply(wanted, CODE, 2, 4, 3, two, first[i], 4, second[i], 5, one, third[i],   \
               5);                                                                     \
    CHECK_OK(gpublas_##L##gemmBatch(cb_row, cb_no_trans, cb_no_trans, 2, 4, 3, TWO,    \
                                    as, first, 4, as, second, 5, ONE, cs, third, 5, 2, \
                                    0));                                               \
    expect(c, CODE, wanted, "gemmBatch");                                              \
    cs[0] = cs[1] = c = numbers(CODE);                                                 \
    fill(wanted, CODE);                                                                \
    for (size_t i = 0; i < 3; i++)                                                     \
      multiply(wanted, CODE, 2, 4, 3, two, 1 + 8 * i, 4, 2, 5, one, 3 + 12 * i, 5);    \
    CHECK_OK(gpublas_##L##gemm3D(cb_row, cb_no_trans, cb_no_trans, 2, 4, 3, TWO, a, 1, \
                                 4, 8, a, 2, 5, 0, ONE, c, 3, 5, 12, 3, 0));           \
    expect(c, CODE, wanted, "gemm3D");                                                 \
    size_t bytes[3][2]; /* the offsets of these two are in bytes */                    \
    for (size_t i = 0; i < 2; i++) {                                                   \
      bytes[0][i] = first[i] * size;                                                   \
      bytes[1][i] = second[i] * size;                                                  \
      bytes[2][i] = third[i] * size;                                                   \
    }                                                                                  \
    cs[0] = cs[1] = c = numbers(CODE);                                                 \
    fill(wanted, CODE);                                                                \
    for (size_t i = 0; i < 2; i++)                                                     \
      multiply(wanted, CODE, 2, 1, 3, two, first[i], 4, second[i], 1, one, third[i],   \
               2);                                                                     \
    CHECK_OK(gpublas_##L##gemvBatch(cb_row, cb_no_trans, 2, 3, TWO, as, bytes[0], 4,   \
                                    as, bytes[1], 1, ONE, cs, bytes[2], 2, 2, 0));     \
    expect(c, CODE, wanted, "gemvBatch");                                              \
    cs[0] = cs[1] = c = numbers(CODE);                                                 \
    fill(wanted, CODE);                                                                \
    for (size_t i = 0; i < 2; i++)                                                     \
      multiply(wanted, CODE, 3, 4, 1, two, first[i], 2, second[i], 0, one, third[i],   \
               5);                                                                     \
    CHECK_OK(gpublas_##L##gerBatch(cb_row, 3, 4, TWO, as, bytes[0], 2, as, bytes[1],   \
                                   1, cs, bytes[2], 5, 2, 0));                         \
    expect(c, CODE, wanted, "gerBatch");                                               \
  }                                                                                    \
                                                                                       \
  static void check_##L(void) {                                                        \
    gpudata *a = numbers(CODE);                                                        \
    check_single_##L(a);                                                               \
    check_batches_##L(a);                                                              \
    gpudata_release(a);                                                                \
  }

static const float floats[2][2] = {{2, 0}, {1, 0}};
static const double doubles[2][2] = {{2, 0}, {1, 0}};

DEFINE_CHECKS(h, GA_HALF, 2, 1)
DEFINE_CHECKS(b, GA_BFLOAT16, 2, 1)
DEFINE_CHECKS(s, GA_FLOAT, 2, 1)
DEFINE_CHECKS(d, GA_DOUBLE, 2, 1)
DEFINE_CHECKS(c, GA_CFLOAT, floats[0], floats[1])
DEFINE_CHECKS(z, GA_CDOUBLE, doubles[0], doubles[1])

/* ---- arrays of complex numbers ---- */

static const number factors[2] = {{1, 2}, {3, -1}};

static GpuArray array(unsigned int nd, const size_t *dims, size_t from) {
  GpuArray a = {0};
  double memory[2 * ROOM];
  for (size_t i = 0; i + from < ROOM; i++)
    store(memory, GA_CDOUBLE, i, element(GA_CDOUBLE, i + from));
  CHECK_OK(GpuArray_copy_from_host(&a, ctx, memory, GA_CDOUBLE, nd, dims, NULL));
  return a;
}

static number conjugate(number x) {
  return (number){x.re, -x.im};
}

static void check_values(const GpuArray *a, const number *wanted, size_t n) {
  number got[ROOM];
  CHECK_OK(GpuArray_read(got, n * sizeof *got, a));
  for (size_t i = 0; i < n; i++)
    CHECK(got[i].re == wanted[i].re && got[i].im == wanted[i].im);
}

/* x of 3 is the elements from 0 on, y of 4 those from 10 on, A (3, 4) from 20 on. */
static void check_complex_arrays(void) {
  const size_t three[] = {3}, four[] = {4}, both[] = {3, 4};
  const double *alpha = &factors[0].re, *beta = &factors[1].re;
  number dots[1] = {{0, 0}}, product[3], outer[12], inner[12];
  GpuArray x = array(1, three, 0), y = array(1, four, 10), a = array(2, both, 20);
  GpuArray x2 = array(1, three, 30), z = array(0, NULL, 0), c = array(2, both, 20);
  for (size_t i = 0; i < 3; i++) {
    number sum = {0, 0}, p = element(GA_CDOUBLE, i);
    dots[0] = plus(dots[0], times(conjugate(p), element(GA_CDOUBLE, 30 + i)));
    for (size_t j = 0; j < 4; j++) {
      number q = element(GA_CDOUBLE, 10 + j), m = element(GA_CDOUBLE, 20 + 4 * i + j);
      sum = plus(sum, times(m, q));
      outer[4 * i + j] = plus(m, times(factors[0], times(p, q)));
      inner[4 * i + j] = plus(m, times(factors[0], times(p, conjugate(q))));
    }
    product[i] = plus(times(factors[0], sum), times(factors[1], p));
  }
  CHECK_OK(GpuArray_rdotc(&x, &x2, &z, 0));
  check_values(&z, dots, 1);
  CHECK_OK(GpuArray_cgeru(alpha, &x, &y, &c, 0));
  check_values(&c, outer, 12);
  GpuArray_clear(&c);
  c = array(2, both, 20);
  CHECK_OK(GpuArray_cgerc(alpha, &x, &y, &c, 0));
  check_values(&c, inner, 12);
  CHECK_OK(GpuArray_cgemv(cb_no_trans, alpha, &a, &y, beta, &x, 0));
  check_values(&x, product, 3);
  GpuArray *made[] = {&x, &y, &a, &x2, &z, &c};
  for (int i = 0; i < 6; i++)
    GpuArray_clear(made[i]);
}

int main(int argc, char **argv) {
  (void)argc;
  ctx = open_device();
  check_h();
  check_b();
  check_s();
  check_c();
  if (ctx->info.has_double) {
    check_d();
    check_z();
    check_complex_arrays();
  }
  gpucontext_deref(ctx);
  return check_result(argv[0]);
}
