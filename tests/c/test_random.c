/* Random numbers: failures on the null device, known answers on a device: see
 * device_context.h. */
#include "null_context.h"

#include "device_context.h"

#include <math.h>

#include <gpuarray/random.h>

#include "c/random/random.h"

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

static int draw(GpuArray *a, gpurandom *g, const char *name, double first,
                double second) {
  const double values[4] = {first, second, -1, 1};
  unsigned int row = 0;
  while (strcmp(gpurandom_table(row)->name, name) != 0)
    row++;
  return GpuArray_random_draw(a, g, name, gpurandom_table(row)->n, values, NULL);
}

static void test_failures_of_draws(gpucontext *ctx) {
  GpuArray f = empty(ctx, GA_FLOAT, 3), d = empty(ctx, GA_DOUBLE, 3), wrong;
  GpuArray i = empty(ctx, GA_INT, 3), c = empty(ctx, GA_CFLOAT, 3);
  GpuArray longer = empty(ctx, GA_FLOAT, 4);
  const double values[2] = {0, 1};
  gpurandom g;
  gpurandom_init(&g, 1, 2);
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_random_draw(&f, &g, "norm", 2, values, NULL));
  CHECK_TEXT("got distribution 'norm', expected one of uniform, normal");
  CHECK_STATUS(GA_INVALID_ERROR,
               GpuArray_random_draw(&f, &g, "normal", 1, values, NULL));
  CHECK_TEXT("got 1 parameters, expected 2");
  CHECK_STATUS(GA_INVALID_ERROR, draw(&i, &g, "normal", 0, 1));
  CHECK_STATUS(GA_INVALID_ERROR, draw(&c, &g, "normal", 0, 1));
  CHECK_STATUS(GA_VALUE_ERROR, draw(&f, &g, "normal", 0, -1));
  CHECK_TEXT("normal: got scale -1, expected a finite number from 0 on");
  CHECK_STATUS(GA_VALUE_ERROR, draw(&f, &g, "normal", NAN, 1));
  CHECK_STATUS(GA_VALUE_ERROR, draw(&f, &g, "normal", 1e300, 1));
  CHECK_TEXT("in float32");
  CHECK_OK(draw(&d, &g, "normal", 1e300, 1));
  CHECK_STATUS(GA_VALUE_ERROR, draw(&i, &g, "geometric", 0, 0));
  CHECK_TEXT("a number above 0, at most 1");
  CHECK_STATUS(GA_VALUE_ERROR, draw(&i, &g, "logseries", 1, 0));
  CHECK_TEXT("a number from 0, below 1");
  CHECK_STATUS(GA_VALUE_ERROR, draw(&i, &g, "binomial", 2.5, 0.5));
  CHECK_TEXT("an integer from 0 on");
  CHECK_STATUS(GA_VALUE_ERROR, draw(&i, &g, "binomial", 0x1p25, 0.5));
  CHECK_TEXT("computed in float32; those of 8 bytes");
  CHECK_STATUS(GA_VALUE_ERROR, draw(&f, &g, "uniform", 2, 1));
  CHECK_TEXT("uniform: got high 1, expected at least low, 2");
  CHECK_STATUS(GA_VALUE_ERROR, draw(&i, &g, "hypergeometric", 2, 1));
  const double marbles[3] = {2, 1, 4};
  CHECK_STATUS(GA_VALUE_ERROR,
               GpuArray_random_draw(&i, &g, "hypergeometric", 3, marbles, NULL));
  CHECK_TEXT("got nsample 4, expected at most ngood + nbad, 3");
  const GpuArray *arrays[2] = {&d, NULL};
  CHECK_STATUS(GA_INVALID_ERROR,
               GpuArray_random_draw(&f, &g, "normal", 2, values, arrays));
  CHECK_TEXT("loc is float64 (3,), expected float32");
  arrays[0] = &longer;
  CHECK_STATUS(GA_VALUE_ERROR,
               GpuArray_random_draw(&f, &g, "normal", 2, values, arrays));
  CHECK_TEXT("does not broadcast");
  wrong = f;
  wrong.strides[0] = -4;
  wrong.offset += 8;
  wrong.flags &= ~(GA_C_CONTIGUOUS | GA_F_CONTIGUOUS);
  arrays[0] = &wrong;
  CHECK_STATUS(GA_VALUE_ERROR,
               GpuArray_random_draw(&f, &g, "normal", 2, values, arrays));
  CHECK_TEXT("overlaps the result");
  arrays[0] = &f;
  CHECK_OK(GpuArray_random_draw(&f, &g, "normal", 2, values, arrays));
  CHECK(g.position == 2 + 1);
  GpuArray_clear(&f), GpuArray_clear(&d), GpuArray_clear(&i), GpuArray_clear(&c);
  GpuArray_clear(&longer);
}

/* The words of a state in three arrays of one element. */
static void test_a_state_on_the_device(gpucontext *ctx) {
  static const uint64_t state[3] = {11, UINT64_MAX, 0xfffffffe};
  const double lam[1] = {30};
  GpuArray a = empty(ctx, GA_LONG, 33), b = empty(ctx, GA_LONG, 33), all, one[3];
  const GpuArray *words[3] = {&one[0], &one[1], &one[2]};
  int64_t found[2][33];
  gpurandom g;
  gpurandom_init(&g, state[0], state[1]);
  g.position = state[2];
  CHECK_OK(GpuArray_empty(&all, ctx, GA_ULONG, 1, SHAPE(3), GA_C_ORDER));
  CHECK_OK(GpuArray_write(&all, state, sizeof state));
  for (size_t k = 0; k < 3; k++)
    CHECK_OK(GpuArray_fromdata(&one[k], all.data, 8 * k, GA_ULONG, 0, NULL, NULL, 0));
  CHECK_OK(ga__random_draw_by(&a, words, "poisson", lam));
  CHECK_OK(GpuArray_random_draw(&b, &g, "poisson", 1, lam, NULL));
  CHECK_OK(GpuArray_read(found[0], sizeof found[0], &a));
  CHECK_OK(GpuArray_read(found[1], sizeof found[1], &b));
  CHECK(memcmp(found[0], found[1], sizeof found[0]) == 0);
  words[1] = &all;
  CHECK_STATUS(GA_INVALID_ERROR, ga__random_draw_by(&a, words, "poisson", lam));
  words[1] = &one[1];
  CHECK_STATUS(GA_VALUE_ERROR, ga__random_draw_by(&a, words, "fish", lam));
  CHECK_STATUS(GA_INVALID_ERROR, ga__random_draw_by(&a, words, "normal", lam));
  for (size_t k = 0; k < 3; k++)
    GpuArray_clear(&one[k]);
  GpuArray_clear(&all), GpuArray_clear(&a), GpuArray_clear(&b);
}

static void test_the_table(gpucontext *ctx) {
  for (unsigned int row = 0; gpurandom_table(row) != NULL; row++) {
    const gpurandom_distribution *d = gpurandom_table(row);
    const int typecode = d->kind == 'f' ? GA_DOUBLE : GA_LONG;
    const double values[4] = {0.5, 0.5, 0.5, 0.5}, whole[4] = {1, 1, 1, 1};
    const bool is_whole = d->parameters[0].flags & GA_RANDOM_WHOLE;
    GpuArray a = empty(ctx, typecode, 9);
    uint64_t counts;
    size_t size = 0, again;
    gpurandom g;
    gpurandom_init(&g, 1, 2);
    const bool above_1 = d->parameters[0].least == 1;
    const double two[4] = {2, 2, 2, 2};
    CHECK_OK(GpuArray_random_draw(&a, &g, d->name, d->n,
                                  above_1    ? two
                                  : is_whole ? whole
                                             : values,
                                  NULL));
    CHECK_OK(gpurandom_counts(&counts, d->name, typecode, 9));
    CHECK(g.position == counts);
    CHECK_OK(gpurandom_device_code(NULL, &size, d->name, typecode));
    char *text = malloc(size);
    again = size;
    CHECK_OK(gpurandom_device_code(text, &again, d->name, typecode));
    CHECK(again == size && strlen(text) == size - 1);
    again = 1;
    text[0] = '?';
    CHECK_OK(gpurandom_device_code(text, &again, d->name, typecode));
    CHECK(again == size && text[0] == '?');
    free(text);
    GpuArray_clear(&a);
  }
  uint64_t counts;
  CHECK_STATUS(GA_INVALID_ERROR, gpurandom_counts(&counts, "normal", GA_INT, 9));
}

int main(void) {
  gpucontext *null = open_null();
  test_failures(null);
  test_integers_of_64_bits(null);
  test_failures_of_draws(null);
  test_the_table(null);
  gpucontext_deref(null);
  if (check_failures)
    return check_result("random");
  gpucontext *ctx = open_device();
  test_known_answers(ctx);
  test_a_state_on_the_device(ctx);
  gpucontext_deref(ctx);
  return check_result("random");
}
