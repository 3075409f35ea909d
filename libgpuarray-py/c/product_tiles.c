/* Which tiles products of matrices are made in, and in how many parts: what is
 * estimated to take least. */
#include "c/product_tiles.h"

#include "c/dtype.h"
#include "c/product_parts.h"

#define DEPTH 16       /* of every tile: a multiple of it */
#define LEAST_TERMS 64 /* of a part of a product */
#define MOST_PARTS 64

/* ---- the kinds of tiles ---- */

bool ga__has_packs(const ga_factor *f, ssize_t other, size_t pack, size_t itemsize) {
  const ssize_t n = (ssize_t)pack;
  return f->offset % (pack * itemsize) == 0 && other % n == 0 && f->step % n == 0;
}

/* Whether packs along an axis of this length and stride tile it. */
static bool is_tiled(const ga_factor *f, ssize_t stride, size_t length, ssize_t other,
                     size_t pack, size_t itemsize) {
  return stride == 1 && length % pack == 0 && ga__has_packs(f, other, pack, itemsize);
}

/* The kind that reads both factors in packs, or GA_GEMM_LARGE if there is none. */
static enum ga_blas_kind packed_kind(const ga_factor *a, const ga_factor *b,
                                     size_t pack, size_t itemsize) {
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

/* A kind with what a group takes for a term, in cycles of a processor for each 128
 * elements of its tile: when it is alone on the processor, and when others share that.
 * As fitted to times on an H100, in float. */
typedef struct tiling {
  enum ga_blas_kind kind;
  double alone, shared;
} tiling;

#define MOST_CHOICES 3

/* The kinds that these factors can be read in; gives their number. */
static unsigned int list_choices(tiling out[MOST_CHOICES], const ga_product *p,
                                 const ga_factor *a, const ga_factor *b) {
  const ga_blas_shape large = ga__blas_shape(p->context, GA_GEMM_LARGE, p->typecode);
  const enum ga_blas_kind packed =
      packed_kind(a, b, large.pack, gpuarray_get_elsize(p->typecode));
  const int way = (int)packed - GA_GEMM_PACKED_KK;
  out[0] = (tiling){packed, 1.64, 1.42};
  if (packed == GA_GEMM_LARGE || large.pack < 4) {
    out[1] = (tiling){GA_GEMM_SMALL, 4.7, 2.2};
    return 2;
  }
  out[1] = (tiling){(enum ga_blas_kind)(GA_GEMM_MEDIUM_KK + way), 1.9, 1.47};
  out[2] = (tiling){(enum ga_blas_kind)(GA_GEMM_FINE_KK + way), 7, 2.3};
  return 3;
}

/* Where our tiles were timed as fast as cuBLAS, or nearly, which then need not be
 * loaded (that takes 50 ms), and where they may be joined with what reads the product.
 * In float, on an H100, with what sums parts. For m rows, k terms and n columns, us of
 * cuBLAS and of ours:
 *
 *        60   784  500    7.3   7.2    784    60  500    4.7   5.7
 *        60   500  784    8.2   7.2    512    64  512    3.6   3.5
 *        64    64   64    3.2   3.1    128   128  128    4.3   4.6
 *       256   256  256    6.3   5.5   1024   128  128    4.5   4.7
 *        64  1024  256    6.6   6.0    100  1000  100    7.0   6.5
 * not:   32 16384   32   12.0  16.0    500   500  100    6.9   9.1
 *       300   300  300    7.9   9.2   1024  1024 1024   55.4  70.3
 */
#define MOST_WORK 24e6 /* products of two elements */
#define MOST_TERMS 1024
#define LEAST_SIDE 32

bool ga__product_is_small(const ga_product *p) {
  const ga_blas_shape large = ga__blas_shape(p->context, GA_GEMM_LARGE, p->typecode);
  const double work = (double)p->c.m * (double)p->c.n * (double)p->a.n;
  return ga__product_is_single(p) && p->typecode == GA_FLOAT &&
         !atomic_load(&p->context->is_tf32) && p->c.m >= LEAST_SIDE &&
         p->c.n >= LEAST_SIDE && p->a.n <= MOST_TERMS && work < MOST_WORK &&
         packed_kind(&p->a, &p->b, large.pack, sizeof(float)) != GA_GEMM_LARGE;
}

/* ---- what they take ---- */

/* Cycles, and what they move. */
#define BEGIN 20.0 /* terms that a group could sum before its first, after its last */
#define LAUNCH 3000.0 /* cycles of the kernel that sums parts, of nothing */
#define MOVED 350.0   /* elements that a device moves in a cycle */

/* Estimated cycles of the terms of a product, by groups of a kind, with `count`
 * products of `terms` terms. */
static double cycles_of(const ga_product *p, const tiling *choice, size_t m, size_t n,
                        size_t terms, size_t count) {
  const ga_blas_shape s = ga__blas_shape(p->context, choice->kind, p->typecode);
  const size_t groups = ga__ceil_div(m, s.rows) * ga__ceil_div(n, s.columns) * count;
  const double each = (double)ga__ceil_div(groups, p->context->info.processors);
  const double shared = each * choice->shared;
  return ((double)terms + BEGIN) * s.rows * s.columns / 128.0 *
         (shared > choice->alone ? shared : choice->alone);
}

/* The kind that takes the fewest cycles. */
static enum ga_blas_kind best_kind(double *cycles, const ga_product *p,
                                   const ga_factor *a, const ga_factor *b, size_t terms,
                                   size_t count) {
  tiling choices[MOST_CHOICES];
  const unsigned int n = list_choices(choices, p, a, b);
  unsigned int best = 0;
  for (unsigned int i = 0; i < n; i++) {
    const double found = cycles_of(p, &choices[i], a->m, b->n, terms, count);
    if (i == 0 || found < *cycles) {
      *cycles = found;
      best = i;
    }
  }
  return choices[best].kind;
}

enum ga_blas_kind ga__tile_kind(const ga_product *p, const ga_factor *a,
                                const ga_factor *b, size_t part) {
  double cycles;
  if (p->context->info.is_cpu)
    return GA_GEMM_SMALL;
  return best_kind(&cycles, p, a, b, part > 0 ? part : a->n, p->batch);
}

/* ---- parts ---- */

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
  best_kind(&least, p, &p->a, &p->b, k, 1);
  for (size_t parts = 2; parts <= MOST_PARTS && parts * LEAST_TERMS <= k;
       parts += parts < 4 ? 1 : parts / 4) {
    const size_t terms = terms_of(k, parts), count = ga__ceil_div(k, terms);
    best_kind(&cycles, p, &p->a, &p->b, terms, count);
    cycles += LAUNCH + (double)area * (double)(count + 1) / MOVED;
    if (cycles < least) {
      least = cycles;
      best = terms;
    }
  }
  return best;
}
