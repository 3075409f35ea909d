/* Random numbers: checks, parameters and launches. */
#include <gpuarray/random.h>

#include <math.h>
#include <string.h>

#include "c/array/array.h"
#include "c/program/kernel_table.h"
#include "c/random/distribution.h"
#include "c/random/random.h"
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
  GA_TRY(ga__check_filled(g, sizeof *g, operation, "generator", "gpurandom_init"));
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

#define NARROW ((size_t)INT32_MAX - (1 << 20))
#define DRAW_WORK 4 /* elements of arithmetic that a draw takes as long as, or more */

/* What is drawn: of a distribution its scalars and arrays, else two integers. */
typedef struct parameters {
  enum ga_random_kind kind;
  unsigned int row;
  double real[GA_RANDOM_PARAMETERS];
  const GpuArray *array[GA_RANDOM_PARAMETERS]; /* NULL: a scalar */
  uint64_t whole[2];
  const GpuArray *const *words; /* of the state, in place of the generator's, or NULL */
} parameters;

/* An array to fill, and the arrays of parameters along its axes; complex numbers are
 * pairs of reals along one more axis. */
typedef struct target {
  const GpuArray *a;
  int typecode;
  size_t n;
  unsigned int nd;
  size_t dims[GA_MAX_NDIM + 1];
  ssize_t strides[1 + GA_RANDOM_PARAMETERS][GA_MAX_NDIM + 1];
} target;

static void add_complex_axis(target *t) {
  t->typecode = t->a->typecode == GA_CFLOAT ? GA_FLOAT : GA_DOUBLE;
  t->n *= 2;
  t->dims[t->nd] = 2;
  t->strides[0][t->nd++] = (ssize_t)gpuarray_get_elsize(t->typecode);
}

/* Strides of a parameter that broadcasts. */
static void broadcast(target *t, unsigned int k, const GpuArray *p) {
  for (unsigned int axis = 0; p != NULL && axis < p->nd; axis++)
    if (p->dimensions[axis] > 1)
      t->strides[1 + k][t->nd - p->nd + axis] = p->strides[axis];
}

static void plan_target(target *t, const GpuArray *a, const parameters *p) {
  memset(t, 0, sizeof *t);
  t->a = a;
  t->typecode = a->typecode;
  t->nd = a->nd;
  t->n = ga__array_count(a);
  memcpy(t->dims, a->dimensions, a->nd * sizeof *t->dims);
  memcpy(t->strides[0], a->strides, a->nd * sizeof *t->strides[0]);
  for (unsigned int k = 0; k < GA_RANDOM_PARAMETERS; k++)
    broadcast(t, k, p->array[k]);
  if (ga__dtype_kind(a->typecode) == 'c')
    add_complex_axis(t);
  if (t->nd == 0) {
    t->nd = 1;
    t->dims[0] = 1;
  }
  ssize_t *list[1 + GA_RANDOM_PARAMETERS];
  for (unsigned int k = 0; k <= GA_RANDOM_PARAMETERS; k++)
    list[k] = t->strides[k];
  ga__shape_collapse(1 + GA_RANDOM_PARAMETERS, &t->nd, t->dims, list);
}

static bool is_wide(const target *t, const parameters *p) {
  if (t->n >= NARROW)
    return true;
  for (unsigned int k = 0; k <= GA_RANDOM_PARAMETERS; k++) {
    const GpuArray *a = k == 0 ? t->a : p->array[k - 1];
    size_t low, high;
    if (a == NULL)
      continue;
    ga__array_extent(&low, &high, a);
    if ((high - low) / gpuarray_get_elsize(a->typecode) >= NARROW)
      return true;
  }
  return false;
}

static void plan_kernel(ga_random_spec *s, const target *t, const parameters *p) {
  memset(s, 0, sizeof *s);
  s->kind = (unsigned char)p->kind;
  s->row = (unsigned char)p->row;
  for (unsigned int k = 0; k < GA_RANDOM_PARAMETERS; k++)
    s->arrays |= (unsigned char)((p->array[k] != NULL) << k);
  s->typecode = (unsigned char)t->typecode;
  const bool is_block = GpuArray_IS_C_CONTIGUOUS(t->a) && s->arrays == 0;
  s->nd = (unsigned char)(is_block ? 0 : t->nd);
  s->wide = !is_block && is_wide(t, p);
  const gpucontext *ctx = t->a->data->context;
  s->in_loops = ctx->info.is_cpu && ctx->info.warp == 1;
  s->in_memory = p->words != NULL;
  s->kernel = (unsigned char)ga__random_kernel(s, !ctx->info.is_cpu);
}

static void add_parameters(ga_args *args, const target *t, const parameters *p) {
  const ga_distribution *d = ga__distribution(p->row);
  for (unsigned int i = 0; p->kind != GA_RANDOM_DISTRIBUTION && i < 2; i++)
    ga__args_u64(args, p->whole[i]);
  for (unsigned int k = 0; p->kind == GA_RANDOM_DISTRIBUTION && k < d->row.n; k++)
    if (p->array[k] != NULL)
      ga__args_pointer(args, p->array[k]->data, p->array[k]->offset, true);
    else
      ga__args_real(args, ga__distribution_real(t->typecode), p->real[k]);
}

static void add_layout(ga_args *args, const target *t, const ga_random_spec *s,
                       const parameters *p, size_t rows) {
  const size_t size = gpuarray_get_elsize(t->typecode);
  if (s->nd == 0) {
    if (s->kernel == GA_RANDOM_BY_ATTEMPT)
      ga__args_u32(args, (uint32_t)rows);
    else if (s->kernel != GA_RANDOM_BY_ELEMENT)
      ga__args_u32(args, t->a->offset % (ga__random_chunk(s) * size) == 0);
    return;
  }
  for (unsigned int axis = 1; axis < t->nd; axis++)
    ga__args_u32(args, (uint32_t)t->dims[axis]);
  ga__args_strides(args, s->wide, t->nd, t->strides[0], size);
  for (unsigned int k = 0; k < GA_RANDOM_PARAMETERS; k++)
    if (p->array[k] != NULL)
      ga__args_strides(args, s->wide, t->nd, t->strides[1 + k],
                       gpuarray_get_elsize(p->array[k]->typecode));
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

#define ROW                                                                            \
  32 /* neighbours that share a tile of attempts; attempts.cl.h has it, too            \
      */
#define MOST_ROWS 32

/* Rows of a tile: many, so that few items wait at its end, if there are items enough.
 */
static size_t attempt_rows(const gpucontext *ctx, size_t n) {
  const size_t rows = n / ((size_t)2048 * ctx->info.processors);
  return rows < 1 ? 1 : rows < MOST_ROWS ? rows : MOST_ROWS;
}

/* An item of each column of each tile, up to so many as run at once, a few times. */
static void set_attempts(ga_launch *l, const gpucontext *ctx, gpukernel *kernel,
                         size_t n, size_t rows) {
  size_t threads = 256;
  while (threads > ga__kernel_threads(kernel))
    threads /= 2;
  const size_t tiles = (n - 1) / (ROW * rows) + 1;
  const size_t each = threads < ROW ? ROW / threads : 1; /* blocks of whole tiles */
  const size_t blocks = (tiles * ROW - 1) / threads + 1;
  const size_t most = 32 * (size_t)ctx->info.processors;
  l->nd = 1;
  l->grid[0] = ((blocks < most ? blocks : most) - 1) / each * each + each;
  l->block[0] = threads;
}

static uint64_t counts_of(const ga_random_spec *s, uint64_t n) {
  if (s->kind == GA_RANDOM_DISTRIBUTION)
    return ga__distribution_counts(ga__distribution(s->row), s->typecode, n);
  return (n - 1) / (4 / ga__random_words(s)) + 1;
}

static void add_state(ga_args *args, const gpurandom *g, const parameters *p) {
  const uint64_t words[] = {g->seed, g->stream, g->position};
  for (size_t k = 0; k < 3; k++)
    if (p->words != NULL)
      ga__args_pointer(args, p->words[k]->data, p->words[k]->offset, true);
    else
      ga__args_u64(args, words[k]);
}

/* Fills the array and advances the generator. */
static int fill(const GpuArray *a, gpurandom *g, const parameters *p,
                const char *operation) {
  target t;
  ga_random_spec s;
  gpukernel *kernel;
  gpucontext *ctx = a->data->context;
  plan_target(&t, a, p);
  if (t.n == 0)
    return GA_NO_ERROR;
  plan_kernel(&s, &t, p);
  if (s.nd > 0)
    GA_TRY(ga__shape_narrow(t.nd, t.dims, operation, "fill a new array and move it"));
  GA_TRY(ga__kernel_kept(&kernel, ctx, ga__random_source, &s, sizeof s));
  ga_args args;
  args.n = 0;
  ga__args_pointer(&args, a->data, a->offset, false);
  ga__args_u64(&args, t.n);
  add_state(&args, g, p);
  add_parameters(&args, &t, p);
  const size_t rows = attempt_rows(ctx, t.n);
  add_layout(&args, &t, &s, p, rows);
  ga_launch l = {.work = DRAW_WORK * t.n, .n_args = args.n, .args = args.list};
  if (s.kernel == GA_RANDOM_BY_ATTEMPT)
    set_attempts(&l, ctx, kernel, t.n, rows);
  else
    set_geometry(&l, ctx, kernel, (t.n - 1) / ga__random_chunk(&s) + 1);
  GA_TRY(ga__kernel_launch(kernel, &l));
  g->position += counts_of(&s, t.n);
  return GA_NO_ERROR;
}

/* ---- public functions ---- */

int GpuArray_random_bits(GpuArray *a, gpurandom *g) {
  GA_TRY(check_target(a, g, "iu", "bits"));
  const parameters none = {.kind = GA_RANDOM_BITS};
  return fill(a, g, &none, "bits");
}

/* A distribution with one or two scalars, which the table checks. */
static int fill_scalars(GpuArray *a, gpurandom *g, const char *distribution,
                        double first, double second) {
  parameters p = {.kind = GA_RANDOM_DISTRIBUTION, .real = {first, second}};
  const bool none[GA_RANDOM_PARAMETERS] = {false};
  GA_TRY(ga__distribution_find(&p.row, distribution, distribution));
  GA_TRY(ga__distribution_check(ga__distribution(p.row),
                                ga__distribution_real(a->typecode), p.real, none));
  return fill(a, g, &p, distribution);
}

int GpuArray_random_uniform(GpuArray *a, gpurandom *g, double low, double high) {
  GA_TRY(check_target(a, g, "fc", "uniform"));
  const bool is_double = ga__distribution_real(a->typecode) == GA_DOUBLE;
  const double from = is_double ? low : (float)low, to = is_double ? high : (float)high;
  const double width = is_double ? to - from : (float)(to - from);
  if (isfinite(from) && isfinite(to) && !isfinite(width))
    return GA_FAIL(GA_VALUE_ERROR,
                   "uniform: got low %g and high %g in %s, expected a difference that "
                   "is finite",
                   low, high, ga__dtype_name(a->typecode));
  return fill_scalars(a, g, "uniform", low, high);
}

int GpuArray_random_normal(GpuArray *a, gpurandom *g, double loc, double scale) {
  GA_TRY(check_target(a, g, "fc", "normal"));
  return fill_scalars(a, g, "normal", loc, scale);
}

int GpuArray_random_exponential(GpuArray *a, gpurandom *g, double scale) {
  GA_TRY(check_target(a, g, "f", "exponential"));
  return fill_scalars(a, g, "exponential", scale, 0);
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
  GA_TRY(check_target(a, g, "iu", "integers"));
  if (!in_range(a->typecode, low, count))
    return GA_FAIL(
        GA_VALUE_ERROR, "integers: %llu values from %lld on (0 for 2^64) do not fit %s",
        (unsigned long long)count, (long long)low, ga__dtype_name(a->typecode));
  const bool is_long = count == 0 || count > (uint64_t)1 << 32;
  const parameters p = {.kind = is_long ? GA_RANDOM_WIDE_INTEGERS : GA_RANDOM_INTEGERS,
                        .whole = {(uint64_t)low, count}};
  return fill(a, g, &p, "integers");
}

int GpuArray_random_bernoulli(GpuArray *a, gpurandom *g, double p) {
  GA_TRY(check_target(a, g, "biuf", "bernoulli"));
  if (!(p >= 0 && p <= 1))
    return GA_FAIL(GA_VALUE_ERROR, "bernoulli: got p %g, expected a number from 0 to 1",
                   p);
  const uint64_t threshold = (uint64_t)ceil(p * 0x1p32);
  const parameters given = {.kind = GA_RANDOM_BERNOULLI,
                            .whole = {threshold, threshold}};
  return fill(a, g, &given, "bernoulli");
}

/* ---- distributions of the table ---- */

static bool overlaps(const GpuArray *a, const GpuArray *b) {
  size_t low[2], high[2];
  if (a->data != b->data)
    return false;
  ga__array_extent(&low[0], &high[0], a);
  ga__array_extent(&low[1], &high[1], b);
  return low[0] < high[1] && low[1] < high[0];
}

static int check_parameter(const GpuArray *p, const GpuArray *a, const char *name,
                           const char *distribution) {
  const int real = ga__distribution_real(a->typecode);
  char text[GA_ARRAY_TEXT], of[GA_ARRAY_TEXT];
  GA_TRY(ga__array_check(p, distribution));
  GA_TRY(ga__array_same_context(p, a, distribution));
  if (p->typecode != real)
    return GA_FAIL(GA_INVALID_ERROR, "%s: %s is %s, expected %s", distribution, name,
                   ga__array_text(text, p), ga__dtype_name(real));
  if (!GpuArray_ISALIGNED(p))
    return GA_FAIL(GA_UNALIGNED_ERROR, "%s: %s is not aligned to its type",
                   distribution, name);
  if (overlaps(p, a) && !ga__array_same_place(p, a))
    return GA_FAIL(GA_VALUE_ERROR, "%s: %s overlaps the result; copy it first",
                   distribution, name);
  bool fits = p->nd <= a->nd;
  for (unsigned int axis = 0; fits && axis < p->nd; axis++)
    fits = p->dimensions[axis] == 1 ||
           p->dimensions[axis] == a->dimensions[a->nd - p->nd + axis];
  return fits ? GA_NO_ERROR
              : GA_FAIL(GA_VALUE_ERROR, "%s: %s is %s, which does not broadcast to %s",
                        distribution, name, ga__array_text(text, p),
                        ga__array_text(of, a));
}

/* Copies values and arrays, and checks them. */
static int take_parameters(parameters *p, const GpuArray *a, const double *values,
                           const GpuArray *const *arrays) {
  const ga_distribution *d = ga__distribution(p->row);
  bool is_array[GA_RANDOM_PARAMETERS] = {false};
  for (unsigned int k = 0; k < d->row.n; k++) {
    p->array[k] = arrays == NULL ? NULL : arrays[k];
    is_array[k] = p->array[k] != NULL;
    if (!is_array[k] && values == NULL)
      return ga__fail_null(d->row.name, "values");
    p->real[k] = is_array[k] ? 0 : values[k];
    if (is_array[k])
      GA_TRY(check_parameter(p->array[k], a, d->row.parameters[k].name, d->row.name));
  }
  return ga__distribution_check(d, ga__distribution_real(a->typecode), p->real,
                                is_array);
}

int GpuArray_random_draw(GpuArray *a, gpurandom *g, const char *distribution,
                         unsigned int n, const double *values,
                         const GpuArray *const *arrays) {
  parameters p = {.kind = GA_RANDOM_DISTRIBUTION};
  GA_TRY(ga__distribution_find(&p.row, distribution, "random_draw"));
  const ga_distribution *d = ga__distribution(p.row);
  GA_TRY(check_target(a, g, "biufc", d->row.name));
  GA_TRY(ga__distribution_has(d, a->typecode, d->row.name));
  GA_TRY(ga__context_supports(a->data->context, ga__distribution_real(a->typecode),
                              d->row.name));
  if (n != d->row.n)
    return GA_FAIL(GA_INVALID_ERROR, "%s: got %u parameters, expected %u", d->row.name,
                   n, d->row.n);
  GA_TRY(take_parameters(&p, a, values, arrays));
  return fill(a, g, &p, d->row.name);
}

int ga__random_draw_by(GpuArray *a, const GpuArray *const *words,
                       const char *distribution, const double *values) {
  static const char operation[] = "random";
  parameters p = {.kind = GA_RANDOM_DISTRIBUTION, .words = words};
  gpurandom none;
  GA_TRY(ga__distribution_find(&p.row, distribution, operation));
  const ga_distribution *d = ga__distribution(p.row);
  gpurandom_init(&none, 0, 0);
  GA_TRY(check_target(a, &none, "biuf", d->row.name));
  GA_TRY(ga__distribution_has(d, a->typecode, d->row.name));
  for (size_t k = 0; k < 3; k++)
    if (words[k]->typecode != GA_ULONG || ga__array_count(words[k]) != 1)
      return GA_FAIL(GA_INVALID_ERROR,
                     "%s: a word of the state is an array of another type or length",
                     d->row.name);
  GA_TRY(take_parameters(&p, a, values, NULL));
  return fill(a, &none, &p, d->row.name);
}
