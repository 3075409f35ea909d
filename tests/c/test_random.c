/* Random numbers: failures on the null device, known answers on a device: see
 * device_context.h. */
#include "null_context.h"

#include "device_context.h"

#include <math.h>

#include <gpuarray/random.h>

#define SHAPE(...)                                                                     \
  (const size_t[]) {                                                                   \
    __VA_ARGS__                                                                        \
  }

static GpuArray empty(gpucontext *ctx, int typecode, size_t n) {
  GpuArray a = {0};
  CHECK_OK(GpuArray_empty(&a, ctx, typecode, 1, &n, GA_C_ORDER));
  return a;
}

static void test_failures(gpucontext *ctx) {
  GpuArray f = empty(ctx, GA_FLOAT, 3), i = empty(ctx, GA_UBYTE, 3), none = {0};
  GpuArray c = empty(ctx, GA_CFLOAT, 3), b = empty(ctx, GA_BOOL, 3);
  GpuArray sealed = f, bytes = empty(ctx, GA_UBYTE, 64), apart;
  CHECK_OK(GpuArray_fromdata(&apart, bytes.data, 1, GA_FLOAT, 1, SHAPE(3), NULL, 1));
  sealed.flags &= ~GA_WRITEABLE;
  gpurandom g, odd = {0};
  gpurandom_init(&g, 1, 2);
  CHECK(g.size == sizeof g && g.seed == 1 && g.stream == 2 && g.position == 0);

  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_random_bits(NULL, &g));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_random_bits(&none, &g));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_random_bits(&i, NULL));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_random_bits(&i, &odd));
  CHECK_TEXT("gpurandom_init");
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_random_bits(&f, &g));
  CHECK_TEXT("expected an integer type");
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_random_uniform(&i, &g, 0, 1));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_random_uniform(&sealed, &g, 0, 1));
  CHECK_STATUS(GA_UNALIGNED_ERROR, GpuArray_random_uniform(&apart, &g, 0, 1));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_random_uniform(&f, &g, 1, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_random_uniform(&f, &g, 0, NAN));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_random_uniform(&f, &g, -3e38, 3e38));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_random_normal(&f, &g, 0, -1));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_random_normal(&f, &g, INFINITY, 1));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_random_normal(&b, &g, 0, 1));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_random_exponential(&f, &g, -1));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_random_exponential(&c, &g, 1));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_random_integers(&i, &g, 0, 257));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_random_integers(&i, &g, -1, 2));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_random_integers(&i, &g, 0, 0));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_random_integers(&b, &g, 0, 2));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_random_bernoulli(&b, &g, 1.5));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_random_bernoulli(&b, &g, NAN));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_random_bernoulli(&c, &g, 0.5));
  CHECK(g.position == 0);

  CHECK_OK(GpuArray_random_integers(&i, &g, 0, 256));
  CHECK(g.position == 2);
  GpuArray nothing = empty(ctx, GA_FLOAT, 0);
  CHECK_OK(GpuArray_random_uniform(&nothing, &g, 0, 1));
  CHECK(g.position == 2);
  GpuArray_clear(&f), GpuArray_clear(&i), GpuArray_clear(&c), GpuArray_clear(&b);
  GpuArray_clear(&bytes), GpuArray_clear(&apart), GpuArray_clear(&nothing);
}

static void test_integers_of_64_bits(gpucontext *ctx) {
  GpuArray s = empty(ctx, GA_LONG, 1), u = empty(ctx, GA_ULONG, 1);
  gpurandom g;
  gpurandom_init(&g, 0, 0);
  CHECK_OK(GpuArray_random_integers(&s, &g, INT64_MIN, 0));
  CHECK_OK(GpuArray_random_integers(&s, &g, INT64_MAX, 1));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_random_integers(&s, &g, INT64_MAX, 2));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_random_integers(&s, &g, 0, 0));
  CHECK_OK(GpuArray_random_integers(&u, &g, 0, 0));
  CHECK_OK(GpuArray_random_integers(&u, &g, -1, 1)); /* 2^64 - 1 */
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_random_integers(&u, &g, -1, 2));
  GpuArray_clear(&s), GpuArray_clear(&u);
}

/* From the authors' test vectors. */
static void test_known_answers(gpucontext *ctx) {
  const struct {
    gpurandom g;
    uint32_t words[4];
  } known[] = {
      {{sizeof(gpurandom), 0, 0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{sizeof(gpurandom), UINT64_MAX, UINT64_MAX, UINT64_MAX},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{sizeof(gpurandom), 0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
  GpuArray a = empty(ctx, GA_UINT, 4);
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    gpurandom g = known[k].g;
    uint32_t got[4];
    CHECK_OK(GpuArray_random_bits(&a, &g));
    CHECK_OK(GpuArray_read(got, sizeof got, &a));
    CHECK(memcmp(got, known[k].words, sizeof got) == 0);
    CHECK(g.position == known[k].g.position + 1);
  }
  GpuArray_clear(&a);
}

int main(void) {
  gpucontext *null = open_null();
  test_failures(null);
  test_integers_of_64_bits(null);
  gpucontext_deref(null);
  if (check_failures)
    return check_result("random");
  gpucontext *ctx = open_device();
  test_known_answers(ctx);
  gpucontext_deref(ctx);
  return check_result("random");
}
