/* Every type of element through conversions and expressions, beside the host's. */
#include "device_context.h"

#include "c/array/array.h"
#include "c/base/half.h"
#include "c/device/context.h"
#include <gpuarray/elemwise.h>

#define N 7

static const int types[] = {GA_BOOL,  GA_BYTE,   GA_UBYTE,    GA_SHORT,  GA_USHORT,
                            GA_INT,   GA_UINT,   GA_LONG,     GA_ULONG,  GA_HALF,
                            GA_FLOAT, GA_DOUBLE, GA_BFLOAT16, GA_CFLOAT, GA_CDOUBLE};
#define N_TYPES (sizeof types / sizeof *types)

/* Numbers that every type can hold, but for bool. */
static const double numbers[N] = {0, 1, 2, 3, 64, 100, 0};

/* Puts `number` into element `i` of a host block. */
static void put(void *block, size_t i, int typecode, double number) {
  switch (typecode) {
  case GA_BOOL:
    ((uint8_t *)block)[i] = number != 0;
    break;
  case GA_BYTE:
  case GA_UBYTE:
    ((uint8_t *)block)[i] = (uint8_t)number;
    break;
  case GA_SHORT:
  case GA_USHORT:
    ((uint16_t *)block)[i] = (uint16_t)number;
    break;
  case GA_INT:
  case GA_UINT:
    ((uint32_t *)block)[i] = (uint32_t)number;
    break;
  case GA_LONG:
  case GA_ULONG:
    ((uint64_t *)block)[i] = (uint64_t)number;
    break;
  case GA_HALF:
    ((uint16_t *)block)[i] = ga_float2half((float)number).h;
    break;
  case GA_BFLOAT16:
    ((uint16_t *)block)[i] = ga_float2bfloat16((float)number).h;
    break;
  case GA_FLOAT:
    ((float *)block)[i] = (float)number;
    break;
  case GA_DOUBLE:
    ((double *)block)[i] = number;
    break;
  case GA_CFLOAT:
    ((float *)block)[2 * i] = (float)number;
    ((float *)block)[2 * i + 1] = 0;
    break;
  default:
    ((double *)block)[2 * i] = number;
    ((double *)block)[2 * i + 1] = 0;
  }
}

static bool is_held(const gpucontext *ctx, int typecode) {
  return ctx->info.has_double || (typecode != GA_DOUBLE && typecode != GA_CDOUBLE);
}

static GpuArray from_host(gpucontext *ctx, const void *values, int typecode, size_t n) {
  GpuArray a = {0};
  CHECK_OK(GpuArray_copy_from_host(&a, ctx, values, typecode, 1, &n, NULL));
  return a;
}

static bool has_bytes(const GpuArray *a, const void *expected, size_t bytes) {
  char *got = calloc(bytes, 1);
  CHECK_OK(GpuArray_read(got, bytes, a));
  bool same = memcmp(got, expected, bytes) == 0;
  free(got);
  return same;
}

/* From each type to itself and to three others, so that each is met from three. */
static void test_conversions(gpucontext *ctx) {
  static const size_t steps[] = {0, 1, 4, 9};
  for (size_t from = 0; from < N_TYPES; from++)
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
      size_t to = (from + steps[k]) % N_TYPES;
      if (!is_held(ctx, types[from]) || !is_held(ctx, types[to]))
        continue;
      double given[2 * N], wanted[2 * N];
      for (size_t i = 0; i < N; i++) {
        double number = types[from] == GA_BOOL ? numbers[i] != 0 : numbers[i];
        put(given, i, types[from], number);
        put(wanted, i, types[to], number);
      }
      size_t bytes = N * gpuarray_get_elsize(types[to]);
      GpuArray a = from_host(ctx, given, types[from], N), v, back, cut;
      CHECK_OK(GpuArray_astype(&v, &a, types[to], GA_C_ORDER));
      CHECK(has_bytes(&v, wanted, bytes));
      /* Into every other element, and the whole over it. */
      const ssize_t start = 0, stop = 2 * N, step = 2;
      CHECK_OK(GpuArray_zeros(&back, ctx, types[to], 1, (const size_t[]){2 * N},
                              GA_C_ORDER));
      CHECK_OK(GpuArray_index(&cut, &back, &start, &stop, &step));
      CHECK_OK(GpuArray_setarray(&cut, &a));
      CHECK_OK(GpuArray_move(&v, &cut));
      CHECK(has_bytes(&v, wanted, bytes));
      GpuArray_clear(&a), GpuArray_clear(&v), GpuArray_clear(&back);
      GpuArray_clear(&cut);
    }
}

/* Both parts of complex numbers, and what is lost of them. */
static void test_complex(gpucontext *ctx) {
  const float z[] = {1, 2, 0, -3, 0, 0}, w[] = {3, 1, 1, 1, 2, 0};
  const float product[] = {1, 7, 3, -3, 0, 0}, real[] = {1, 0, 0};
  const unsigned char truth[] = {1, 1, 0};
  GpuArray a = from_host(ctx, z, GA_CFLOAT, 3), b = from_host(ctx, w, GA_CFLOAT, 3), v;
  gpuelemwise_arg args[] = {
      {"r", GA_CFLOAT, GE_WRITE}, {"z", GA_CFLOAT, GE_READ}, {"w", GA_CFLOAT, GE_READ}};
  GpuElemwise *ge = GpuElemwise_new(
      ctx, NULL, "r.x = z.x * w.x - z.y * w.y; r.y = z.x * w.y + z.y * w.x", 3, args, 0,
      0);
  CHECK_OK(GpuElemwise_apply2(ge, &v, &a, &b));
  CHECK(has_bytes(&v, product, sizeof product));
  GpuArray_clear(&v);
  GpuElemwise_free(ge);
  CHECK_OK(GpuArray_astype(&v, &a, GA_FLOAT, GA_C_ORDER));
  CHECK(has_bytes(&v, real, sizeof real));
  GpuArray_clear(&v);
  CHECK_OK(GpuArray_astype(&v, &a, GA_BOOL, GA_C_ORDER));
  CHECK(has_bytes(&v, truth, sizeof truth));
  GpuArray_clear(&v);

  /* A scalar, and a fill of what is strided. */
  gpuelemwise_arg scaled[] = {{"r", GA_CFLOAT, GE_READ | GE_WRITE},
                              {"s", GA_CFLOAT, GE_SCALAR}};
  const float by[] = {2, 5}, sum[] = {3, 7, 2, 2, 2, 5};
  ge = GpuElemwise_new(ctx, NULL, "r.x = r.x + s.x; r.y = r.y + s.y", 2, scaled, 0, 0);
  void *list[] = {&a, (void *)by};
  CHECK_OK(GpuElemwise_call(ge, list, 0));
  CHECK(has_bytes(&a, sum, sizeof sum));
  GpuElemwise_free(ge);
  const ssize_t start = 0, stop = 3, step = 2;
  const float filled[] = {0, 0, 2, 2, 0, 0};
  CHECK_OK(GpuArray_index(&v, &a, &start, &stop, &step));
  CHECK_OK(GpuArray_memset(&v, 0));
  CHECK(has_bytes(&a, filled, sizeof filled));
  GpuArray_clear(&v), GpuArray_clear(&a), GpuArray_clear(&b);
}

/* Just off the middle of two neighbours: one rounding, not two. */
static void test_small_floats_round_once(gpucontext *ctx) {
  if (!ctx->info.has_double)
    return;
  const double x[] = {1 + 0x1p-8 + 0x1p-40, 1 + 3 * 0x1p-8 - 0x1p-40, -1e300, 0.5};
  const uint16_t brain[] = {0x3f81, 0x3f81, 0xff80, 0x3f00};
  GpuArray a = from_host(ctx, x, GA_DOUBLE, 4), v;
  CHECK_OK(GpuArray_astype(&v, &a, GA_BFLOAT16, GA_C_ORDER));
  CHECK(has_bytes(&v, brain, sizeof brain));
  GpuArray_clear(&v), GpuArray_clear(&a);
}

/* Numbers in float, or structs that are handed on. */
static void test_small_floats(gpucontext *ctx) {
  const uint16_t x[] = {0x3f80, 0x4000, 0xc040}, twice[] = {0x4000, 0x4080, 0xc0c0};
  const uint16_t factor = 0x4000;
  GpuArray a = from_host(ctx, x, GA_BFLOAT16, 3), v;
  gpuelemwise_arg args[] = {{"y", GA_BFLOAT16, GE_WRITE},
                            {"x", GA_BFLOAT16, GE_READ},
                            {"f", GA_BFLOAT16, GE_SCALAR}};
  GpuElemwise *ge = GpuElemwise_new(ctx, NULL, "y = f * x", 3, args, 0, GE_CONVERT_F16);
  CHECK_OK(GpuArray_empty(&v, ctx, GA_BFLOAT16, 1, a.dimensions, GA_C_ORDER));
  void *list[] = {&v, &a, (void *)&factor};
  CHECK_OK(GpuElemwise_call(ge, list, 0));
  CHECK(has_bytes(&v, twice, sizeof twice));
  GpuElemwise_free(ge);
  ge =
      GpuElemwise_new(ctx, NULL, "y = ga_bfloat162float(f) > 1 ? x : f", 3, args, 0, 0);
  CHECK_OK(GpuElemwise_call(ge, list, 0));
  CHECK(has_bytes(&v, x, sizeof x));
  GpuElemwise_free(ge);
  GpuArray_clear(&v), GpuArray_clear(&a);
  CHECK(ga__half_value(0x3e00) == 1.5f && ga__half_value(0x8001) == -0x1p-24f);
  CHECK(ga__bfloat16_value(0xc040) == -3);
}

/* A device that has no double says so, and of which type. */
static void test_devices_without_double(gpucontext *ctx) {
  bool kept = ctx->info.has_double;
  ctx->info.has_double = false;
  GpuElemwise *ge = NULL;
  gpuelemwise_arg args[] = {{"y", GA_CDOUBLE, GE_WRITE}};
  CHECK_STATUS(GA_DEVSUP_ERROR,
               GpuElemwise_create(&ge, ctx, NULL, "y = y", 1, args, 0));
  CHECK_TEXT("complex128");
  args[0].typecode = GA_DOUBLE;
  CHECK_STATUS(GA_DEVSUP_ERROR,
               GpuElemwise_create(&ge, ctx, NULL, "y = y", 1, args, 0));
  CHECK_TEXT("float64");
  CHECK(ge == NULL);
  ctx->info.has_double = kept;
}

int main(int argc, char **argv) {
  (void)argc;
  gpucontext *ctx = open_device();
  test_conversions(ctx);
  test_complex(ctx);
  test_small_floats_round_once(ctx);
  test_small_floats(ctx);
  test_devices_without_double(ctx);
  CHECK_OK(gpucontext_sync(ctx));
  gpucontext_deref(ctx);
  return check_result(argv[0]);
}
