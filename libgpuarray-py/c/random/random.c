/* Random numbers: checks, parameters and launches. */
#include <gpuarray/random.h>

#include <math.h>
#include <string.h>

#include "c/array/array.h"
#include "c/program/kernel_table.h"
#include "c/random/random_source.h"

void gpurandom_init(gpurandom *g, uint64_t seed, uint64_t stream) {
  if (g)
    *g = (gpurandom){sizeof *g, seed, stream, 0};
}

/* ---- checks ---- */

static int check_target(const GpuArray *a, const gpurandom *g, const char *kinds,
                        const char *operation) {
  char text[GA_ARRAY_TEXT];
  GA_TRY(ga__array_check(a, operation));
  GA_TRY(ga__context_check(a->data->context));
  if (g == NULL)
    return ga__fail_null(operation, "generator");
  if (g->size != sizeof *g)
    return GA_FAIL(GA_INVALID_ERROR,
                   "%s: got a generator of another size, expected one that "
                   "gpurandom_init has filled",
                   operation);
  GA_TRY(ga__array_writeable(a, operation));
  if (strchr(kinds, ga__dtype_kind(a->typecode)) == NULL)
    return GA_FAIL(GA_INVALID_ERROR, "%s: got %s, expected %s", operation,
                   ga__array_text(text, a),
                   kinds[0] == 'f'   ? "a float or complex type"
                   : kinds[0] == 'i' ? "an integer type"
                                     : "a bool, integer or float type");
  if (!GpuArray_ISALIGNED(a))
    return GA_FAIL(GA_UNALIGNED_ERROR,
                   "%s: %s is not aligned to its type; fill a new array and move it",
                   operation, ga__array_text(text, a));
  return ga__context_supports(a->data->context, a->typecode, operation);
}

/* ---- launches ---- */

/* An array to fill; complex numbers are pairs of reals along one more axis. */
typedef struct target {
  const GpuArray *a;
  int typecode;
  size_t n;
  unsigned int nd;
  size_t dims[GA_MAX_NDIM + 1];
  ssize_t strides[GA_MAX_NDIM + 1];
  bool is_block, wide;
} target;

#define NARROW ((size_t)INT32_MAX - (1 << 20))

static void plan_target(target *t, const GpuArray *a) {
  t->a = a;
  t->typecode = a->typecode;
  t->nd = a->nd;
  t->n = ga__array_count(a);
  t->is_block = GpuArray_IS_C_CONTIGUOUS(a);
  memcpy(t->dims, a->dimensions, a->nd * sizeof *t->dims);
  memcpy(t->strides, a->strides, a->nd * sizeof *t->strides);
  if (ga__dtype_kind(a->typecode) == 'c') {
    t->typecode = a->typecode == GA_CFLOAT ? GA_FLOAT : GA_DOUBLE;
    t->n *= 2;
    t->dims[t->nd] = 2;
    t->strides[t->nd++] = (ssize_t)gpuarray_get_elsize(t->typecode);
  }
  if (t->nd == 0) {
    t->nd = 1;
    t->dims[0] = 1;
    t->strides[0] = 0;
  }
  ssize_t *list[] = {t->strides};
  ga__shape_collapse(1, &t->nd, t->dims, list);
  size_t low, high;
  ga__array_extent(&low, &high, a);
  t->wide = t->n >= NARROW || (high - low) / gpuarray_get_elsize(t->typecode) >= NARROW;
}

typedef struct parameters {
  unsigned int n;
  double real[3];
  uint64_t whole[2];
} parameters;

static void add_parameters(ga_args *args, const target *t, const parameters *p) {
  for (unsigned int i = 0; i < p->n; i++)
    ga__args_real(args, t->typecode, p->real[i]);
  for (unsigned int i = 0; p->n == 0 && i < 2; i++)
    ga__args_u64(args, p->whole[i]);
}

static void add_layout(ga_args *args, const target *t, const ga_random_spec *s) {
  const size_t size = gpuarray_get_elsize(t->typecode);
  if (s->nd == 0) {
    const size_t bytes = ga__random_chunk(s) * size;
    ga__args_u32(args, t->a->offset % bytes == 0);
    return;
  }
  for (unsigned int axis = 1; axis < t->nd; axis++)
    ga__args_u32(args, (uint32_t)t->dims[axis]);
  ga__args_strides(args, s->wide, t->nd, t->strides, size);
}

static void set_geometry(ga_launch *l, const gpucontext *ctx, gpukernel *kernel,
                         size_t chunks) {
  size_t threads = !ctx->info.is_cpu ? 256 : ctx->info.warp == 1 ? 1 : 64;
  while (threads > ga__kernel_threads(kernel))
    threads /= 2;
  const size_t blocks = (chunks - 1) / threads + 1;
  /* Grid-stride loop: what is constant for an item is computed once. */
  const size_t most = (ctx->info.is_cpu ? 16 : 128) * (size_t)ctx->info.processors;
  l->nd = 1;
  l->grid[0] = blocks < most ? blocks : most;
  l->block[0] = threads;
}

/* Fills the array and advances the generator. */
static int fill(const GpuArray *a, gpurandom *g, enum ga_random_kind kind,
                const parameters *p, const char *operation) {
  target t;
  plan_target(&t, a);
  if (t.n == 0)
    return GA_NO_ERROR;
  for (unsigned int axis = 1; !t.is_block && axis < t.nd; axis++)
    if (t.dims[axis] > UINT32_MAX)
      return GA_FAIL(
          GA_XLARGE_ERROR,
          "%s: a strided axis has %zu elements, too many; fill a new array and move it",
          operation, t.dims[axis]);
  ga_random_spec s;
  memset(&s, 0, sizeof s);
  s.kind = (unsigned char)kind;
  s.typecode = (unsigned char)t.typecode;
  s.nd = (unsigned char)(t.is_block ? 0 : t.nd);
  s.wide = !t.is_block && t.wide;
  gpucontext *ctx = a->data->context;
  s.in_loops = ctx->info.is_cpu && ctx->info.warp == 1;
  gpukernel *kernel;
  GA_TRY(ga__kernel_kept(&kernel, ctx, ga__random_source, &s, sizeof s));
  ga_args args;
  args.n = 0;
  ga__args_pointer(&args, a->data, a->offset, false);
  ga__args_u64(&args, t.n);
  ga__args_u64(&args, g->seed);
  ga__args_u64(&args, g->stream);
  ga__args_u64(&args, g->position);
  add_parameters(&args, &t, p);
  add_layout(&args, &t, &s);
  ga_launch l = {.n_args = args.n, .args = args.list};
  set_geometry(&l, ctx, kernel, (t.n - 1) / ga__random_chunk(&s) + 1);
  GA_TRY(ga__kernel_launch(kernel, &l));
  const size_t per_count = 4 / ga__random_words(kind, t.typecode);
  g->position += (t.n - 1) / per_count + 1;
  return GA_NO_ERROR;
}

/* ---- public functions ---- */

int GpuArray_random_bits(GpuArray *a, gpurandom *g) {
  GA_TRY(check_target(a, g, "iu", "random_bits"));
  const parameters none = {0};
  return fill(a, g, GA_RANDOM_BITS, &none, "random_bits");
}

/* Largest value below `high` with `bits` of precision and smallest magnitude
 * 2^least. */
static double floor_to(double high, int bits, int least) {
  const double below = nextafterf((float)high, -INFINITY);
  int exponent;
  frexp(below, &exponent);
  const int unit = exponent - bits > least ? exponent - bits : least;
  return ldexp(floor(ldexp(below, -unit)), unit);
}

static double last_below(double high, int typecode) {
  switch (typecode) {
  case GA_DOUBLE:
  case GA_CDOUBLE:
    return nextafter(high, -INFINITY);
  case GA_HALF:
    return floor_to(high, 11, -24);
  case GA_BFLOAT16:
    return floor_to(high, 8, -133);
  default:
    return nextafterf((float)high, -INFINITY);
  }
}

int GpuArray_random_uniform(GpuArray *a, gpurandom *g, double low, double high) {
  GA_TRY(check_target(a, g, "fc", "random_uniform"));
  const bool is_double = a->typecode == GA_DOUBLE || a->typecode == GA_CDOUBLE;
  const double from = is_double ? low : (float)low, to = is_double ? high : (float)high;
  const double width = is_double ? to - from : (float)(to - from);
  if (!(from <= to) || !isfinite(width))
    return GA_FAIL(
        GA_VALUE_ERROR,
        "random_uniform: got [%g, %g) in %s, expected finite bounds in order", low,
        high, ga__dtype_name(a->typecode));
  const double last = last_below(to, a->typecode);
  const parameters p = {.n = 3, .real = {from, width, last > from ? last : from}};
  return fill(a, g, GA_RANDOM_UNIFORM, &p, "random_uniform");
}

int GpuArray_random_normal(GpuArray *a, gpurandom *g, double mean, double deviation) {
  GA_TRY(check_target(a, g, "fc", "random_normal"));
  if (!isfinite(mean) || !isfinite(deviation) || deviation < 0)
    return GA_FAIL(GA_VALUE_ERROR,
                   "random_normal: got mean %g and deviation %g, expected finite "
                   "numbers, the deviation not negative",
                   mean, deviation);
  const parameters p = {.n = 2, .real = {mean, deviation}};
  return fill(a, g, GA_RANDOM_NORMAL, &p, "random_normal");
}

int GpuArray_random_exponential(GpuArray *a, gpurandom *g, double mean) {
  GA_TRY(check_target(a, g, "f", "random_exponential"));
  if (!isfinite(mean) || mean < 0)
    return GA_FAIL(GA_VALUE_ERROR,
                   "random_exponential: got mean %g, expected a finite number that is "
                   "not negative",
                   mean);
  const parameters p = {.n = 2, .real = {mean, mean}};
  return fill(a, g, GA_RANDOM_EXPONENTIAL, &p, "random_exponential");
}

/* True if low .. low + count - 1 (2^64 numbers for 0) all fit the type. */
static bool in_range(int typecode, int64_t low, uint64_t count) {
  const unsigned int bits = 8 * (unsigned int)gpuarray_get_elsize(typecode);
  const bool is_signed = ga__dtype_kind(typecode) == 'i';
  if (bits < 64) {
    const int64_t least = is_signed ? -((int64_t)1 << (bits - 1)) : 0;
    const int64_t most = ((int64_t)1 << (is_signed ? bits - 1 : bits)) - 1;
    return low >= least && low <= most && count - 1 <= (uint64_t)(most - low);
  }
  const uint64_t first =
      is_signed ? (uint64_t)low ^ (uint64_t)INT64_MIN : (uint64_t)low;
  return count - 1 <= UINT64_MAX - first;
}

int GpuArray_random_integers(GpuArray *a, gpurandom *g, int64_t low, uint64_t count) {
  GA_TRY(check_target(a, g, "iu", "random_integers"));
  if (!in_range(a->typecode, low, count))
    return GA_FAIL(
        GA_VALUE_ERROR,
        "random_integers: %llu values from %lld on (0 for 2^64) do not fit %s",
        (unsigned long long)count, (long long)low, ga__dtype_name(a->typecode));
  const bool is_wide = count == 0 || count > (uint64_t)1 << 32;
  const parameters p = {.whole = {(uint64_t)low, count}};
  return fill(a, g, is_wide ? GA_RANDOM_WIDE_INTEGERS : GA_RANDOM_INTEGERS, &p,
              "random_integers");
}

int GpuArray_random_bernoulli(GpuArray *a, gpurandom *g, double probability) {
  GA_TRY(check_target(a, g, "biuf", "random_bernoulli"));
  if (!(probability >= 0 && probability <= 1))
    return GA_FAIL(GA_VALUE_ERROR,
                   "random_bernoulli: got probability %g, expected 0 to 1",
                   probability);
  const uint64_t threshold = (uint64_t)ceil(probability * 0x1p32);
  const parameters p = {.whole = {threshold, threshold}};
  return fill(a, g, GA_RANDOM_BERNOULLI, &p, "random_bernoulli");
}
