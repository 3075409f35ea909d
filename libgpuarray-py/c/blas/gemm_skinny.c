/* Skinny GEMM (at most 16 columns, or rows after transposition) and small-K GEMM:
 * choice of the kernel and launch geometry.
 *
 * Tiles would waste most of their work, and a vendor's BLAS uses two kernels for such a
 * product or occupies few processors. */
#include "c/base/dtype.h"
#include "c/blas/gemm_heuristic.h"
#include "c/blas/gemm_sides.h"
#include "c/blas/gemm_split_k.h"

/* NARROW kind for `tall` (1, 2 or 4) rows per item. */
static enum ga_blas_kind kind_of(const ga_sides *s, size_t tall) {
  return (enum ga_blas_kind)(GA_NARROW + (int)(tall / 2) * GA_BLAS_SIDES + (int)s->c.n -
                             1);
}

/* ---- when it pays ---- */

#define LEAST 32 /* of the sides that are not narrow */

ga_sides ga__sides_of(const ga_product *p) {
  const size_t least = p->c.m < p->c.n ? p->c.m : p->c.n;
  const bool is_outer = p->a.n > 0 && p->a.n <= GA_BLAS_SIDES && least > p->a.n;
  const bool by_columns = ga__magnitude(p->c.si) < ga__magnitude(p->c.sj);
  const bool flip = is_outer ? by_columns : p->c.m < p->c.n;
  return (ga_sides){.a = flip ? ga__factor_transposed(p->b) : p->a,
                    .b = flip ? ga__factor_transposed(p->a) : p->b,
                    .c = flip ? ga__factor_transposed(p->c) : p->c,
                    .is_outer = is_outer,
                    .is_flipped = flip};
}

/* True if a is contiguous along its columns. */
static bool is_turned(const ga_sides *s) {
  return ga__magnitude(s->a.si) < ga__magnitude(s->a.sj);
}

bool ga__sides_fit(const ga_product *p, const ga_sides *s) {
  const size_t size = gpuarray_get_elsize(ga__dtype_work(p->typecode));
  if (s->is_outer)
    return s->c.m >= LEAST && s->c.n >= LEAST && s->c.n <= GA_WIDEST;
  return s->c.n >= 2 && s->c.n <= GA_BLAS_SIDES && s->c.m >= LEAST && s->a.n >= LEAST &&
         ga__blas_shape(p->context, kind_of(s, 4), p->typecode).local * size <=
             p->context->info.local_memory;
}

/* Where our kernels were measured faster than cuBLAS: float, on an H100, in graphs of
 * 20. For m rows, k terms and n columns, us of cuBLAS and of ours:
 *
 * by rows       60   500  10    5.7   3.5     32    64  10    5.2   2.6
 *             1024   500  10   11.1   4.8   4096    64  10    3.5   3.4
 *             4096   500  10   11.0   7.2   1024  2048  10   17.1   9.3
 *             8192   500  10   13.4  10.1   8192  2048  10   70.8  44.0
 *            16384   500  10   18.1  15.3    256  8192  10   14.3   9.8
 *               32   500   2    8.2   2.3   4096   500   5   27.3   5.5
 * not:        8192    64  10    4.0   4.1   4096  8192  10   76.3  99.1
 *            65536    64  10   11.2  18.1   4096  2048  16   26.1  28.0
 * by columns   500    60  10    3.2   2.9    500   256  10    6.5   3.2
 *              500  4096  10   10.4   9.4    100  4096  10    9.0   6.3
 * not:        4096    64  16    3.4   4.6  65536    64  10   10.5  26.9
 * few terms     60    10 500    2.5   2.0     64    10  64    5.0   1.8
 *             4096    10 500    6.8   5.0  65536    10 100   19.2  13.1
 * not:         256    16 4096   4.5   5.1   4096    16 4096  36.5  36.9
 */
#define MOST_TIMED 10 /* columns (or terms, if these are few) */

static bool pays(const ga_product *p, const ga_sides *s) {
  const size_t m = s->c.m, k = s->a.n;
  if (p->typecode != GA_FLOAT || atomic_load(&p->context->blas.is_tf32))
    return false;
  if (s->is_outer)
    return k <= MOST_TIMED;
  if (s->c.n > MOST_TIMED)
    return false;
  if (is_turned(s))
    return m <= 1024 && k <= 4096;
  return m <= 16384 && (m <= 4096 || k >= 256) &&
         m * k <= (size_t)1 << (k <= 2048 ? 24 : 21);
}

bool ga__product_is_narrow(const ga_product *p) {
  if (!ga__product_is_single(p))
    return false;
  const ga_sides s = ga__sides_of(p);
  return ga__sides_fit(p, &s) && (pays(p, &s) || ga__product_is_small(p) ||
                                  ga__context_blas(p->context) == NULL);
}

/* ---- few columns ---- */

typedef struct geometry {
  size_t tall;         /* rows per item */
  size_t lanes, teams; /* of a group: items that share a sum; sums */
  size_t down;         /* groups */
  size_t parts, terms; /* split-K: parts, and terms of each */
} geometry;

enum { FEW_LANES = 16, MANY_TERMS = 1024, MOST_PARTS = 16 };

static size_t groups_of(size_t m, size_t tall, size_t lanes) {
  return ga__ceil_div(m, tall * (GA_SIDE_ITEMS / lanes));
}

/* Split-K parts, of at least 128 terms, for two groups per processor; not few, which
 * cost more than they gain. They are stored in c's type, which must be the work
 * type. */
static size_t parts_of(const ga_product *p, size_t k, size_t down, size_t busy) {
  size_t parts = busy / down < k / 128 ? busy / down : k / 128;
  parts = parts < MOST_PARTS ? parts : MOST_PARTS;
  return k >= MANY_TERMS && parts >= 4 && ga__parts_fit(p) ? parts : 1;
}

/* Tuned on an H100: more rows per item if there are many per processor; more lanes
 * while each has 3 terms and there are less than two groups per processor. */
static geometry geometry_of(const ga_product *p, const ga_sides *s) {
  const size_t k = s->a.n, m = s->c.m, busy = 2 * (size_t)p->context->info.processors;
  const size_t most = is_turned(s) ? 64 : GA_SIDE_ITEMS;
  geometry g = {.lanes = FEW_LANES};
  g.tall = m <= 8 * busy ? 1 : m <= 32 * busy ? 2 : 4;
  g.parts = parts_of(p, k, groups_of(m, g.tall, g.lanes), busy);
  while (g.parts == 1 && g.lanes < most && 6 * g.lanes <= k &&
         groups_of(m, g.tall, 2 * g.lanes) <= busy)
    g.lanes *= 2;
  g.teams = GA_SIDE_ITEMS / g.lanes;
  g.down = groups_of(m, g.tall, g.lanes);
  g.terms = ga__ceil_div(k, g.parts);
  g.parts = ga__ceil_div(k, g.terms);
  return g;
}

/* Computes c, or its split-K parts (unscaled then). */
static int sum_terms(const ga_product *p, const ga_sides *s, const geometry *g,
                     const ga_factor *c) {
  const enum ga_blas_kind kind = kind_of(s, g->tall);
  const ga_product whole = {.typecode = p->typecode, .alpha = {1}};
  gpukernel *kernel;
  GA_TRY(ga__blas_kernel(&kernel, p->context, kind, p->typecode));
  ga_args args;
  args.n = 0;
  ga__args_factor(&args, c, true);
  ga__args_factor(&args, &s->a, false);
  ga__args_factor(&args, &s->b, false);
  ga__args_numbers(&args, 10,
                   (ssize_t[]){(ssize_t)c->m, (ssize_t)s->a.n, (ssize_t)g->terms,
                               c->step, s->a.si, s->a.sj, s->b.si, s->b.sj, c->si,
                               c->sj});
  ga__args_scale(&args, g->parts > 1 ? &whole : p);
  ga__args_i32(&args, is_turned(s));
  const size_t grid[3] = {g->down, g->parts, 1};
  return is_turned(s) ? ga__product_launch(kernel, &args, grid, g->teams, g->lanes)
                      : ga__product_launch(kernel, &args, grid, g->lanes, g->teams);
}

static int run_columns(const ga_product *p, const ga_sides *s) {
  const geometry g = geometry_of(p, s);
  ga_factor parts;
  if (g.parts == 1)
    return sum_terms(p, s, &g, &s->c);
  GA_TRY(ga__parts_new(&parts, p, &s->c, g.parts));
  int status = sum_terms(p, s, &g, &parts);
  GA_THEN(status, ga__parts_sum(p, &s->c, &parts, g.parts, NULL));
  gpudata_release(parts.data);
  return status;
}

int ga__product_narrow(const ga_product *p) {
  const ga_sides s = ga__sides_of(p);
  return s.is_outer ? ga__product_outer(p, &s, NULL) : run_columns(p, &s);
}
