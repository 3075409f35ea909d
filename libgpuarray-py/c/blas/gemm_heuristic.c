/* Which tiles products of matrices are made in, and in how many parts: what is
 * estimated to take least. */
#include "c/blas/gemm_heuristic.h"

#include "c/base/dtype.h"
#include "c/blas/gemm_split_k.h"

#define DEPTH 16       /* of every tile: a multiple of it */
#define LEAST_TERMS 64 /* of a part of a product */
#define MOST_PARTS 64
#define MOST_ELEMENTS ((size_t)1 << 24) /* of all parts */
#define MOST_STRIDE ((ssize_t)1 << 23)  /* packed kinds count in 32 bits in a tile */

/* ---- the kinds of tiles ---- */

bool ga__has_packs(const ga_factor *f, ssize_t other, size_t pack, size_t itemsize) {
  const ssize_t n = (ssize_t)pack;
  return f->offset % (pack * itemsize) == 0 && other % n == 0 && f->step % n == 0;
}

/* Whether packs along an axis of this length and stride tile it, where the other axis
 * has the stride `other`. */
static bool is_tiled(const ga_factor *f, ssize_t stride, size_t length, ssize_t other,
                     size_t pack, size_t itemsize) {
  return stride == 1 && length % pack == 0 && ga__magnitude(other) <= MOST_STRIDE &&
         ga__has_packs(f, other, pack, itemsize);
}

static size_t pack_of(const ga_product *p) {
  return ga__blas_shape(p->context, GA_GEMM_LARGE, p->typecode).pack;
}

/* The kind that reads both factors in packs, or GA_GEMM_LARGE if there is none. */
static enum ga_blas_kind packed_kind(const ga_product *p, const ga_factor *a,
                                     const ga_factor *b) {
  const size_t pack = pack_of(p), itemsize = gpuarray_get_elsize(p->typecode);
  const bool a_along = is_tiled(a, a->sj, a->n, a->si, pack, itemsize);
  const bool a_across = is_tiled(a, a->si, a->m, a->sj, pack, itemsize);
  const bool b_along = is_tiled(b, b->si, b->m, b->sj, pack, itemsize);
  const bool b_across = is_tiled(b, b->sj, b->n, b->si, pack, itemsize);
  if (!(a_along || a_across) || !(b_along || b_across))
    return GA_GEMM_LARGE;
  if (a_along)
    return b_across ? GA_GEMM_PACKED_KX : GA_GEMM_PACKED_KK;
  return b_across ? GA_GEMM_PACKED_XX : GA_GEMM_PACKED_XK;
}

/* A kind of tiles with what groups take for a term, in cycles of a processor for each
 * 128 elements of a tile: one that is alone on the processor; each of those that share
 * it; and what these wait for one another besides. As fitted to times on an H100, in
 * float. */
typedef struct tiling {
  enum ga_blas_kind kind;
  double alone, shared, lag;
  size_t rows, columns;
} tiling;

/* The kinds for products of some factors, with their sizes. */
typedef struct choices {
  tiling list[3];
  unsigned int n_kinds;
  size_t m, n, processors;
} choices;

static void add_kind(choices *out, const ga_product *p, int kind, double alone,
                     double shared, double lag) {
  const enum ga_blas_kind known = (enum ga_blas_kind)kind;
  const ga_blas_shape s = ga__blas_shape(p->context, known, p->typecode);
  out->list[out->n_kinds++] = (tiling){known, alone, shared, lag, s.rows, s.columns};
}

static choices choices_of(const ga_product *p, const ga_factor *a, const ga_factor *b) {
  const enum ga_blas_kind packed = packed_kind(p, a, b);
  const int way = (int)packed - GA_GEMM_PACKED_KK;
  choices found = {.m = a->m, .n = b->n, .processors = p->context->info.processors};
  if (packed == GA_GEMM_LARGE || pack_of(p) < 4) {
    add_kind(&found, p, packed, 1.64, 1.42, 0);
    add_kind(&found, p, GA_GEMM_SMALL, 4.7, 2.2, 0);
    return found;
  }
  add_kind(&found, p, packed, 1.5, 1.15, 0.7);
  add_kind(&found, p, GA_GEMM_MEDIUM_KK + way, 1.9, 1.2, 0.85);
  add_kind(&found, p, GA_GEMM_FINE_KK + way, 7, 2.3, 0);
  return found;
}

/* ---- the rule ---- */

/* Where our tiles were timed as fast as cuBLAS, or nearly, which then need not be
 * loaded (that takes 50 ms), and where they may be joined with what reads the product.
 * In float, on an H100, with what sums parts. For m rows, k terms and n columns, us of
 * cuBLAS and of ours:
 *
 *        60   784  500    7.3   6.5    784    60  500    4.7   4.1
 *        60   500  784    8.2   6.6    512    64  512    3.6   3.2
 *        64    64   64    3.1   3.0    128   128  128    4.3   3.7
 *       256   256  256    6.4   4.8   1024   128  128    4.5   4.6
 *        64  1024  256    6.6   5.2    100  1000  100    7.0   5.2
 * not: 1024  1024 1024   55.5  58.0
 * nor, with tiles of before:
 *        32 16384   32   12.0  16.0    500   500  100    6.9   9.1
 *       300   300  300    7.9   9.2
 */
#define MOST_WORK 24e6
#define MOST_TERMS 1024
#define LEAST_SIDE 32

bool ga__product_is_small(const ga_product *p) {
  return ga__product_is_single(p) && p->typecode == GA_FLOAT &&
         !atomic_load(&p->context->blas.is_tf32) && p->c.m >= LEAST_SIDE &&
         p->c.n >= LEAST_SIDE && p->a.n <= MOST_TERMS &&
         ga__product_work(p) < MOST_WORK &&
         packed_kind(p, &p->a, &p->b) != GA_GEMM_LARGE;
}

/* ---- what they take ---- */

#define BEGIN 20.0 /* terms that a group could sum before its first, after its last */
#define LAUNCH 3000.0 /* cycles of the kernel that sums parts, of nothing */
#define MOVED 350.0   /* elements that a device moves in a cycle */

/* Estimated cycles of `count` products of `terms` terms, by groups of a kind. */
static double cycles_of(const choices *c, const tiling *t, size_t terms, size_t count) {
  const size_t groups =
      ga__ceil_div(c->m, t->rows) * ga__ceil_div(c->n, t->columns) * count;
  const double shared =
      (double)ga__ceil_div(groups, c->processors) * t->shared + t->lag;
  return ((double)terms + BEGIN) * (double)(t->rows * t->columns) / 128.0 *
         (shared > t->alone ? shared : t->alone);
}

/* The kind that takes the fewest cycles. */
static enum ga_blas_kind best_kind(double *cycles, const choices *c, size_t terms,
                                   size_t count) {
  unsigned int best = 0;
  for (unsigned int i = 0; i < c->n_kinds; i++) {
    const double found = cycles_of(c, &c->list[i], terms, count);
    if (i == 0 || found < *cycles) {
      *cycles = found;
      best = i;
    }
  }
  return c->list[best].kind;
}

enum ga_blas_kind ga__tile_kind(const ga_product *p, const ga_factor *a,
                                const ga_factor *b, size_t part) {
  double cycles;
  if (p->context->info.is_cpu)
    return GA_GEMM_SMALL;
  const choices known = choices_of(p, a, b);
  return best_kind(&cycles, &known, part > 0 ? part : a->n, p->batch);
}

/* ---- parts ---- */

/* Parts take memory: they are to take less than this share of the cycles. */
#define GAIN 0.9

static size_t terms_of(size_t k, size_t parts) {
  return ga__ceil_div(ga__ceil_div(k, parts), DEPTH) * DEPTH;
}

/* The sum of parts counts too. */
size_t ga__product_terms(const ga_product *p) {
  const size_t k = p->a.n, area = p->c.m * p->c.n;
  double least, cycles;
  size_t best = 0;
  if (!ga__product_is_single(p) || !ga__parts_fit(p) || k < 2 * LEAST_TERMS)
    return 0;
  const choices known = choices_of(p, &p->a, &p->b);
  best_kind(&least, &known, k, 1);
  least *= GAIN;
  for (size_t parts = 2;
       parts <= MOST_PARTS && parts * LEAST_TERMS <= k && parts * area <= MOST_ELEMENTS;
       parts += parts < 4 ? 1 : parts / 4) {
    const size_t terms = terms_of(k, parts), count = ga__ceil_div(k, terms);
    best_kind(&cycles, &known, terms, count);
    cycles += LAUNCH + (double)area * (double)(count + 1) / MOVED;
    if (cycles < least) {
      least = cycles;
      best = terms;
    }
  }
  return best;
}
