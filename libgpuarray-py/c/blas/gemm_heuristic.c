/* GEMM heuristic: tile kind and split-K by a cost model. */
#include "c/blas/gemm_heuristic.h"

#include "c/base/dtype.h"
#include "c/blas/gemm_split_k.h"

#define DEPTH 16       /* K-depth granularity of all tiles */
#define LEAST_TERMS 64 /* terms of a split-K part */
#define MOST_PARTS 64
#define MOST_ELEMENTS ((size_t)1 << 24) /* of all parts together */
#define MOST_STRIDE                                                                    \
  ((ssize_t)1 << 23) /* PACKED kinds have 32-bit offsets in a tile                     \
                      */

/* ---- tile kinds ---- */

bool ga__has_packs(const ga_factor *f, ssize_t other, size_t pack, size_t itemsize) {
  const ssize_t n = (ssize_t)pack;
  return f->offset % (pack * itemsize) == 0 && other % n == 0 && f->step % n == 0;
}

/* True if vector loads along an axis of this length and stride tile it; `other`: the
 * other axis's stride. */
static bool is_tiled(const ga_factor *f, ssize_t stride, size_t length, ssize_t other,
                     size_t pack, size_t itemsize) {
  return stride == 1 && length % pack == 0 && ga__magnitude(other) <= MOST_STRIDE &&
         ga__has_packs(f, other, pack, itemsize);
}

static size_t pack_of(const ga_product *p) {
  return ga__blas_shape(p->context, GA_GEMM_LARGE, p->typecode).pack;
}

/* The PACKED kind for these layouts, or GA_GEMM_LARGE if there is none. */
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

/* Cost model of a tile kind: cycles of a processor per term and 128 elements of a tile,
 * for a block alone on its processor, for each of several that share it, and their
 * extra latency. Fitted to times on an H100, in float. */
typedef struct tiling {
  enum ga_blas_kind kind;
  double alone, shared, lag;
  size_t rows, columns;
} tiling;

/* Candidate kinds for given operands, with the sizes. */
typedef struct candidates {
  tiling list[3];
  unsigned int n_kinds;
  size_t m, n, processors;
} candidates;

static void add_kind(candidates *out, const ga_product *p, int kind, double alone,
                     double shared, double lag) {
  const enum ga_blas_kind known = (enum ga_blas_kind)kind;
  const ga_blas_shape s = ga__blas_shape(p->context, known, p->typecode);
  out->list[out->n_kinds++] = (tiling){known, alone, shared, lag, s.rows, s.columns};
}

static candidates candidates_of(const ga_product *p, const ga_factor *a,
                                const ga_factor *b) {
  const enum ga_blas_kind packed = packed_kind(p, a, b);
  const int way = (int)packed - GA_GEMM_PACKED_KK;
  candidates found = {.m = a->m, .n = b->n, .processors = p->context->info.processors};
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

/* ---- small products ---- */

/* Sizes at which our tiles match cuBLAS, or nearly: then cuBLAS need not be loaded
 * (50 ms), and an epilogue can be fused. Float, on an H100, split-K sums included. For
 * m rows, k terms and n columns, us of cuBLAS and of ours:
 *
 *        60   784  500    7.3   6.5    784    60  500    4.7   4.1
 *        60   500  784    8.2   6.6    512    64  512    3.6   3.2
 *        64    64   64    3.1   3.0    128   128  128    4.3   3.7
 *       256   256  256    6.4   4.8   1024   128  128    4.5   4.6
 *        64  1024  256    6.6   5.2    100  1000  100    7.0   5.2
 * and on an H200, by events, 3 us more for each launch of both:
 *        64  2048  512   30.9  14.9     64   512 2048   19.0  14.1
 *       256   512  512   17.9  14.2    128  1024 1024   24.1  17.6
 *       256  2048  256   27.1  18.1    100  1000 1000   25.7  18.9
 * not:   64  1024 4096   26.4  27.5     64  4096 1024   27.3  27.2
 * nor:  1024  1024 1024   55.5  58.0
 * nor, with earlier tiles:
 *        32 16384   32   12.0  16.0    500   500  100    6.9   9.1
 *       300   300  300    7.9   9.2
 */
#define MOST_WORK 150e6
#define MOST_TERMS 2048
#define LEAST_SIDE 32

bool ga__product_is_small(const ga_product *p) {
  return ga__product_is_single(p) && p->typecode == GA_FLOAT &&
         !atomic_load(&p->context->blas.is_tf32) && p->c.m >= LEAST_SIDE &&
         p->c.n >= LEAST_SIDE && p->a.n <= MOST_TERMS &&
         ga__product_work(p) < MOST_WORK &&
         packed_kind(p, &p->a, &p->b) != GA_GEMM_LARGE;
}

/* ---- cost ---- */

#define BEGIN 20.0    /* overhead of a block, in terms */
#define LAUNCH 3000.0 /* cycles of the split-K sum's launch */
#define MOVED 350.0   /* elements that the device moves per cycle */

/* Estimated cycles of `count` products of `terms` terms. */
static double cycles_of(const candidates *c, const tiling *t, size_t terms,
                        size_t count) {
  const size_t groups =
      ga__ceil_div(c->m, t->rows) * ga__ceil_div(c->n, t->columns) * count;
  const double shared =
      (double)ga__ceil_div(groups, c->processors) * t->shared + t->lag;
  return ((double)terms + BEGIN) * (double)(t->rows * t->columns) / 128.0 *
         (shared > t->alone ? shared : t->alone);
}

/* The cheapest kind. */
static enum ga_blas_kind best_kind(double *cycles, const candidates *c, size_t terms,
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
  const candidates known = candidates_of(p, a, b);
  return best_kind(&cycles, &known, part > 0 ? part : a->n, p->batch);
}

/* ---- DEEP ---- */

/* Cycles of a group before its first terms and after its last. Float on an H200, us of
 * two products in a chain, m n k then m k n, with an epilogue; split-K and DEEP:
 *
 *      64  512  512   10.4   8.9      64  2048  512   19.1  17.5
 *     256  512  512   18.4  15.9     256   256  256   10.1   7.2
 *     128  128  128   10.9   5.5      64    64   64    7.5   5.2
 *    1024  128  128   11.6   7.2     100   100 1000   10.9   9.3
 * not: 200 1024  512   25.4  27.2     128  1024 1024   28.3  30.3 (b transposed)
 *
 * and of one product, the best of DEEP and WIDE, and BROAD:
 *
 *      64 1536  512    7.5   6.5      64  2048  512    7.6   6.6
 *     256  512  512    7.6   6.6     640   512  512   19.7  18.2
 * not: 64  512  512    3.9   6.2      64   512 2048   10.9  18.6
 */
#define DEEP_BEGIN 1000.0

/* True if the device has the local memory of a DEEP kind. */
static bool has_room(const ga_product *p, enum ga_blas_kind kind) {
  const ga_blas_shape s = ga__blas_shape(p->context, kind, p->typecode);
  return p->context->info.local_memory >= s.local * sizeof(float);
}

/* True if the DEEP kinds take it: a float product whose operands have vector loads. */
static bool is_deep(const ga_product *p) {
  return ga__product_is_single(p) && p->typecode == GA_FLOAT &&
         !p->context->info.is_cpu && has_room(p, GA_GEMM_DEEP_KK) &&
         packed_kind(p, &p->a, &p->b) != GA_GEMM_LARGE;
}

/* The cheaper of the DEEP kinds. */
static enum ga_blas_kind best_deep(double *cycles, const ga_product *p) {
  const int way = (int)packed_kind(p, &p->a, &p->b) - GA_GEMM_PACKED_KK;
  candidates found = {
      .m = p->c.m, .n = p->c.n, .processors = p->context->info.processors};
  add_kind(&found, p, GA_GEMM_DEEP_KK + way, 4.4, 4.5, 1);
  add_kind(&found, p, GA_GEMM_WIDE_KK + way, 2.9, 3, 0.4);
  if (has_room(p, GA_GEMM_BROAD_KK))
    add_kind(&found, p, GA_GEMM_BROAD_KK + way, 2.25, 2.6, -0.2);
  const enum ga_blas_kind best = best_kind(cycles, &found, p->a.n, 1);
  *cycles += DEEP_BEGIN;
  return best;
}

/* ---- split-K ---- */

/* Split-K takes memory: it must be below this share of the cycles. */
#define GAIN 0.9

static size_t terms_of(size_t k, size_t parts) {
  return ga__ceil_div(ga__ceil_div(k, parts), DEPTH) * DEPTH;
}

/* Includes the cost of the sum. */
static size_t best_terms(double *least, const ga_product *p) {
  const size_t k = p->a.n, area = p->c.m * p->c.n;
  double cycles;
  size_t best = 0;
  const candidates known = candidates_of(p, &p->a, &p->b);
  best_kind(least, &known, k, 1);
  if (!ga__parts_fit(p) || k < 2 * LEAST_TERMS)
    return 0;
  *least *= GAIN;
  for (size_t parts = 2;
       parts <= MOST_PARTS && parts * LEAST_TERMS <= k && parts * area <= MOST_ELEMENTS;
       parts += parts < 4 ? 1 : parts / 4) {
    const size_t terms = terms_of(k, parts), count = ga__ceil_div(k, terms);
    best_kind(&cycles, &known, terms, count);
    cycles += LAUNCH + (double)area * (double)(count + 1) / MOVED;
    if (cycles < *least) {
      *least = cycles;
      best = terms;
    }
  }
  return best;
}

ga_division ga__product_division(const ga_product *p) {
  ga_division out = {.deep = GA_BLAS_KIND_COUNT};
  double cycles, deep;
  if (!ga__product_is_single(p))
    return out;
  out.terms = best_terms(&cycles, p);
  const enum ga_blas_kind kind = is_deep(p) ? best_deep(&deep, p) : GA_BLAS_KIND_COUNT;
  if (kind != GA_BLAS_KIND_COUNT && deep < cycles)
    out.deep = kind;
  return out;
}
