/* Products by our own kernels: choice of the kernel and launch geometry. */
#include "c/base/dtype.h"
#include "c/blas/gemm_deep.h"
#include "c/blas/gemm_heuristic.h"
#include "c/blas/gemm_split_k.h"

/* ---- arguments ---- */

static void add_scales(ga_args *args, const ga_product *p) {
  for (int i = 0; i < 2; i++)
    ga__args_real(args, p->typecode, p->alpha[i]);
  for (int i = 0; i < 2; i++)
    ga__args_real(args, p->typecode, p->beta[i]);
}

static void add_signs(ga_args *args, int typecode, const ga_factor *a,
                      const ga_factor *b) {
  ga__args_real(args, typecode, a->is_conjugated ? -1 : 1);
  ga__args_real(args, typecode, b->is_conjugated ? -1 : 1);
}

/* ---- GEMM ---- */

/* Rows of a CPU tile; fewer if that is needed to occupy all processors. */
static size_t cpu_rows(const gpucontext *ctx, size_t most, size_t m, size_t across,
                       size_t work) {
  size_t down = ga__ceil_div(m, most),
         busy = ga__ceil_div(2 * ctx->info.processors, across);
  if (down < busy && work > 1 << 18)
    down = busy;
  return ga__ceil_div(ga__ceil_div(m, down), 8) * 8;
}

/* Launches part of a batch (a grid's z is at most 65535). Adjacent items write along
 * the second axis of c. `part`: terms per part if the batch is a split-K product, else
 * 0. */
static int gemm_part(const ga_product *p, size_t first, size_t count, size_t part) {
  const bool flip =
      p->c.n == 1 || (p->c.m > 1 && ga__magnitude(p->c.si) < ga__magnitude(p->c.sj));
  ga_factor a = flip ? ga__factor_transposed(p->b) : p->a;
  ga_factor b = flip ? ga__factor_transposed(p->a) : p->b;
  ga_factor c = flip ? ga__factor_transposed(p->c) : p->c;
  const ssize_t itemsize = (ssize_t)gpuarray_get_elsize(p->typecode);
  a.offset += (size_t)((ssize_t)first * a.step * itemsize);
  b.offset += (size_t)((ssize_t)first * b.step * itemsize);
  c.offset += (size_t)((ssize_t)first * c.step * itemsize);
  gpucontext *const ctx = p->context;
  const enum ga_blas_kind kind = ga__tile_kind(p, &a, &b, part);
  const ga_blas_shape shape = ga__blas_shape(ctx, kind, p->typecode);
  const size_t across = ga__ceil_div(c.n, shape.columns);
  const bool cpu = ctx->info.is_cpu;
  const size_t rows =
      cpu ? cpu_rows(ctx, shape.rows, c.m, across * count, c.m * c.n * a.n * count)
          : shape.rows;
  const size_t down = ga__ceil_div(c.m, rows);
  const size_t terms = ga__is_zero(p->alpha) ? 0 : a.n;
  gpukernel *kernel;
  GA_TRY(ga__blas_kernel(&kernel, ctx, kind, p->typecode));
  ga_args args;
  args.n = 0;
  ga__args_factor(&args, &c, true);
  ga__args_factor(&args, &a, false);
  ga__args_factor(&args, &b, false);
  ga__args_numbers(&args, 14,
                   (ssize_t[]){(ssize_t)c.m, (ssize_t)c.n, (ssize_t)terms,
                               (ssize_t)rows, (ssize_t)part, a.si, a.sj, b.si, b.sj,
                               c.si, c.sj, a.step, b.step, c.step});
  add_scales(&args, p);
  add_signs(&args, p->typecode, &a, &b);
  ga__args_i32(&args, !ga__is_zero(p->beta));
  const size_t grid[3] = {cpu ? across : across * down, cpu ? down : 1, count};
  return ga__product_launch(kernel, &args, grid, shape.items, 1);
}

/* Split-K: the parts are a batch along k, followed by their sum. */
int ga__product_in_parts(const ga_product *p, size_t terms, const ga_mapping *map) {
  const size_t n = ga__ceil_div(p->a.n, terms);
  ga_product parts = *p;
  GA_TRY(ga__parts_new(&parts.c, p, &p->c, n));
  parts.batch = n;
  parts.alpha[0] = 1;
  parts.beta[0] = 0;
  parts.a.step = (ssize_t)terms * p->a.sj;
  parts.b.step = (ssize_t)terms * p->b.si;
  int status = gemm_part(&parts, 0, n, terms);
  GA_THEN(status, ga__parts_sum(p, &p->c, &parts.c, n, map));
  gpudata_release(parts.c.data);
  return status;
}

static int builtin_gemm(const ga_product *p) {
  const size_t most = 65535;
  const ga_division way = ga__product_division(p);
  if (way.deep != GA_BLAS_KIND_COUNT)
    return ga__product_deep(p, way.deep, NULL);
  if (way.terms > 0) {
    const int status = ga__product_in_parts(p, way.terms, NULL);
    if (status != GA_MEMORY_ERROR) /* out of memory: without split-K */
      return status;
  }
  for (size_t first = 0; first < p->batch; first += most) {
    const size_t left = p->batch - first;
    GA_TRY(gemm_part(p, first, left < most ? left : most, 0));
  }
  return GA_NO_ERROR;
}

/* ---- GEMV ---- */

typedef struct gemv_geometry {
  size_t rows; /* per work group */
  size_t block[2];
} gemv_geometry;

static gemv_geometry gemv_on_cpu(const gpucontext *ctx, enum ga_blas_kind kind,
                                 ga_blas_shape shape, size_t m, size_t n) {
  /* A work group per 32768 elements of a, at most 4 per processor. */
  size_t groups = m * n / 32768 + 1, most = 4 * (size_t)ctx->info.processors;
  size_t grain = kind == GA_GEMV_ROWS ? shape.rows : shape.lanes * shape.width;
  size_t rows =
      ga__ceil_div(ga__ceil_div(m, groups < most ? groups : most), grain) * grain;
  return (gemv_geometry){rows, {shape.lanes, 1}};
}

static gemv_geometry gemv_on_gpu(const gpucontext *ctx, enum ga_blas_kind kind,
                                 ga_blas_shape shape, size_t m, size_t n) {
  if (kind == GA_GEMV_ROWS || kind == GA_GEMV_ROWS_PACKS) {
    size_t lanes = ga__power_above(ga__ceil_div(n, 4));
    lanes = lanes > 256 ? 256 : lanes;
    size_t slots = 256 / lanes;
    while (slots > 1 && lanes * slots > 32 &&
           ga__ceil_div(m, slots) < 2 * ctx->info.processors)
      slots /= 2;
    return (gemv_geometry){slots, {lanes, slots}};
  }
  if (kind == GA_GEMV_COLUMNS_PACKS)
    return (gemv_geometry){(size_t)8 * shape.pack, {8, 32}};
  size_t lanes = ga__power_above(m);
  lanes = lanes > 32 ? 32 : lanes;
  while (lanes > (n * m < 1 << 20 ? 2 : 8) &&
         ga__ceil_div(m, lanes) < ctx->info.processors)
    lanes /= 2;
  size_t items = ga__power_above(ga__ceil_div(n, 4));
  return (gemv_geometry){lanes, {lanes, items < 256 / lanes ? items : 256 / lanes}};
}

/* Vector loads pay for large matrices: columns go from 2100 to 3000 GB/s on an H100. */
static enum ga_blas_kind gemv_kind(const ga_product *p, const ga_factor *a) {
  const gpucontext *ctx = p->context;
  const bool by_rows =
      a->n > 1 && (a->m == 1 || ga__magnitude(a->sj) <= ga__magnitude(a->si));
  const enum ga_blas_kind plain = by_rows ? GA_GEMV_ROWS : GA_GEMV_COLUMNS;
  const size_t pack = ga__blas_shape(ctx, plain, p->typecode).pack;
  const size_t itemsize = gpuarray_get_elsize(p->typecode);
  if (ctx->info.is_cpu)
    return plain;
  if (by_rows)
    return a->sj == 1 && a->n >= 1024 && a->m * a->n >= 1 << 20 &&
                   ga__has_packs(a, a->m == 1 ? 0 : a->si, pack, itemsize)
               ? GA_GEMV_ROWS_PACKS
               : plain;
  return a->si == 1 && a->m >= 8 * pack * ctx->info.processors &&
                 ga__has_packs(a, a->n == 1 ? 0 : a->sj, pack, itemsize)
             ? GA_GEMV_COLUMNS_PACKS
             : plain;
}

/* y is a column. */
static int builtin_gemv(const ga_product *p, const ga_factor *a, const ga_factor *x,
                        const ga_factor *y) {
  gpucontext *const ctx = p->context;
  const enum ga_blas_kind kind = gemv_kind(p, a);
  const ga_blas_shape shape = ga__blas_shape(ctx, kind, p->typecode);
  const gemv_geometry g = ctx->info.is_cpu ? gemv_on_cpu(ctx, kind, shape, a->m, a->n)
                                           : gemv_on_gpu(ctx, kind, shape, a->m, a->n);
  const size_t terms = ga__is_zero(p->alpha) ? 0 : a->n;
  gpukernel *kernel;
  GA_TRY(ga__blas_kernel(&kernel, ctx, kind, p->typecode));
  ga_args args;
  args.n = 0;
  ga__args_factor(&args, y, true);
  ga__args_factor(&args, a, false);
  ga__args_factor(&args, x, false);
  ga__args_numbers(&args, 7,
                   (ssize_t[]){(ssize_t)a->m, (ssize_t)terms, (ssize_t)g.rows, a->si,
                               a->sj, x->si, y->si});
  add_scales(&args, p);
  add_signs(&args, p->typecode, a, x);
  ga__args_i32(&args, !ga__is_zero(p->beta));
  const size_t grid[3] = {ga__ceil_div(a->m, g.rows), 1, 1};
  return ga__product_launch(kernel, &args, grid, g.block[0], g.block[1]);
}

/* ---- dot ---- */

/* Terms per group: a minimum to be worth it, a maximum for accuracy in float. */
#define DOT_TERMS 16384
#define DOT_MOST 65536

/* First pass: partial sums, one per group. */
static int dot_parts(const ga_product *p, gpudata *part, size_t rows, size_t groups) {
  gpucontext *const ctx = p->context;
  const ga_blas_shape shape = ga__blas_shape(ctx, GA_DOT_PARTS, p->typecode);
  const ga_factor out = {.data = part};
  gpukernel *kernel;
  GA_TRY(ga__blas_kernel(&kernel, ctx, GA_DOT_PARTS, p->typecode));
  ga_args args;
  args.n = 0;
  ga__args_factor(&args, &out, true);
  ga__args_factor(&args, &p->a, false);
  ga__args_factor(&args, &p->b, false);
  ga__args_numbers(&args, 4,
                   (ssize_t[]){(ssize_t)p->a.n, (ssize_t)rows, p->a.sj, p->b.si});
  add_signs(&args, p->typecode, &p->a, &p->b);
  return ga__product_launch(kernel, &args, (size_t[]){groups, 1, 1},
                            ctx->info.is_cpu ? shape.lanes : 256, 1);
}

static int dot_sum(const ga_product *p, gpudata *part, size_t groups) {
  gpucontext *const ctx = p->context;
  const ga_blas_shape shape = ga__blas_shape(ctx, GA_DOT_SUM, p->typecode);
  const ga_factor in = {.data = part};
  gpukernel *kernel;
  GA_TRY(ga__blas_kernel(&kernel, ctx, GA_DOT_SUM, p->typecode));
  ga_args args;
  args.n = 0;
  ga__args_factor(&args, &p->c, true);
  ga__args_factor(&args, &in, false);
  ga__args_numbers(&args, 1, (ssize_t[]){(ssize_t)groups});
  add_scales(&args, p);
  ga__args_i32(&args, !ga__is_zero(p->beta));
  return ga__product_launch(kernel, &args, (size_t[]){1, 1, 1},
                            ctx->info.is_cpu ? shape.lanes : 256, 1);
}

static int builtin_dot(const ga_product *p) {
  const gpucontext *ctx = p->context;
  const size_t busy = (size_t)ctx->info.processors * (ctx->info.is_cpu ? 2 : 8);
  size_t rows = ga__ceil_div(ga__ceil_div(p->a.n, busy), 1024) * 1024;
  rows = rows < DOT_TERMS ? DOT_TERMS : rows > DOT_MOST ? DOT_MOST : rows;
  const size_t groups = ga__ceil_div(p->a.n, rows);
  gpudata *part;
  GA_TRY(ga__buffer_new(&part, p->context,
                        groups * gpuarray_get_elsize(ga__dtype_work(p->typecode))));
  int status = dot_parts(p, part, rows, groups);
  GA_THEN(status, dot_sum(p, part, groups));
  gpudata_release(part);
  return status;
}

int ga__product_own(const ga_product *p) {
  if (p->batch > 1 || (p->c.m > 1 && p->c.n > 1))
    return builtin_gemm(p);
  if (p->c.m == 1 && p->c.n == 1 && p->a.n >= 2 * DOT_TERMS && !ga__is_zero(p->alpha))
    return builtin_dot(p);
  if (p->c.n == 1)
    return builtin_gemv(p, &p->a, &p->b, &p->c);
  const ga_factor a = ga__factor_transposed(p->b), x = ga__factor_transposed(p->a);
  const ga_factor y = ga__factor_transposed(p->c);
  return builtin_gemv(p, &a, &x, &y);
}
