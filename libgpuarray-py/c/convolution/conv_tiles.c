/* Convolutions on GPUs: tile shapes, split terms, and launches. */
#include "c/convolution/conv_gpu.h"

#include "c/base/counts.h"
#include "c/base/dtype.h"
#include "c/convolution/conv_map.h"
#include "c/convolution/kernels/conv_tiles.inc"
#include "c/dnn/conv_words.h"
#include "c/program/kernel_table.h"
#include "c/program/kernel_text.h"

/* ---- shapes of tiles ---- */

/* Terms of a tile: 8 took 6 % longer, but no more fit local memory of 32 KiB, which
 * some devices have, nor more than 8 of double CUDA's 48. */
static unsigned int depth_of(const gpucontext *ctx, int typecode) {
  const unsigned int most = ctx->info.local_memory >= 48 << 10 ? 16 : 8;
  return typecode == GA_DOUBLE ? most / 2 : most;
}

/* Rows and columns of a group's tile, and of an item's. */
typedef struct shape {
  unsigned int rows, columns, tall, broad;
} shape;

static const shape shapes[] = {{128, 128, 8, 8}, {64, 128, 8, 8}, {64, 64, 4, 8},
                               {32, 256, 8, 8},  {16, 256, 4, 8}, {8, 256, 2, 8}};
enum { LARGE, WIDE, SMALL, ROWS_32, ROWS_16, ROWS_8 };

static unsigned int items_of(const shape *s) {
  return s->rows / s->tall * (s->columns / s->broad);
}

static size_t tiles_of(const shape *s, const ga_gather_sizes *of) {
  return ga__ceil_div(of->m, s->rows) * ga__ceil_div(of->n, s->columns);
}

/* Groups that are on the device at once. */
static size_t resident(const ga_gather *g, const shape *s) {
  return (size_t)g->context->info.processors * 512 / items_of(s);
}

/* Elements that a processor computes one after the other; small tiles load more. */
static double cost_of(const ga_gather *g, const ga_gather_sizes *of,
                      unsigned int kind) {
  static const double loads[] = {1.2, 1, 1.1};
  const shape *s = &shapes[kind];
  const size_t rounds = ga__ceil_div(tiles_of(s, of) * g->groups, resident(g, s));
  return loads[kind] * (double)(rounds * s->rows * s->columns) / items_of(s);
}

static unsigned int choose_shape(const ga_gather *g, const ga_gather_sizes *of) {
  const size_t processors = g->context->info.processors;
  if (of->m <= 32)
    return of->m <= 8 ? ROWS_8 : of->m <= 16 ? ROWS_16 : ROWS_32;
  unsigned int best = of->m <= 64 ? WIDE : LARGE;
  if (tiles_of(&shapes[best], of) * g->groups < processors / 2)
    return best; /* its terms are split */
  for (unsigned int kind = best; kind <= SMALL; kind++)
    if (cost_of(g, of, kind) < cost_of(g, of, best))
      best = kind;
  return best;
}

/* ---- split terms ---- */

#define LEAST_TERMS 64 /* of a part */
#define MOST_PARTS 256
#define MOST_ELEMENTS ((size_t)1 << 24) /* of all parts together */

/* Parts that the terms are split into, so that all processors have work. */
static size_t count_parts(const ga_gather *g, const ga_gather_sizes *of,
                          const shape *s) {
  const size_t groups = tiles_of(s, of) * g->groups;
  const size_t wanted = resident(g, s);
  const size_t elements = of->m * of->n * g->groups;
  size_t parts = wanted / groups;
  if (parts > of->k / LEAST_TERMS)
    parts = of->k / LEAST_TERMS;
  if (parts > MOST_ELEMENTS / elements)
    parts = MOST_ELEMENTS / elements;
  parts = parts > MOST_PARTS ? MOST_PARTS : parts;
  return parts > 1 ? parts : 1;
}

/* ---- sources ---- */

typedef struct tiles_spec {
  unsigned char typecode, shape, has_depth, is_part, is_masked;
} tiles_spec;

static int write_mapped(ga_source *out, const gpucontext *ctx, const void *spec,
                        const ga_elem_spec *map) {
  const tiles_spec *t = spec;
  const shape *s = &shapes[t->shape];
  const bool is_double = t->typecode == GA_DOUBLE;
  ga_strbuf text = {0};
  ga__conv_add_types(&text, t->typecode, t->is_part);
  ga__strbuf_addf(&text,
                  "#define CV_BM %u\n#define CV_BN %u\n#define CV_BK %u\n"
                  "#define CV_TM %u\n#define CV_TN %u\n#define CV_GW %d\n"
                  "#define CV_PACK %s\n#define CV_AXES %d\n#define CV_BLOCKS %u\n"
                  "#define CV_IS_MASKED %d\n",
                  s->rows, s->columns, depth_of(ctx, t->typecode), s->tall, s->broad,
                  is_double ? 2 : 4, is_double ? "ga_double2" : "ga_float4",
                  t->has_depth ? 3 : 2, is_double ? 1 : 512 / items_of(s),
                  t->is_masked);
  return ga__conv_finish(out, "conv_tiles",
                         "#define CV_NAME %\n#define CV_TERM %_term\n", &text,
                         conv_tiles_text, map);
}

static int write_tiles(ga_source *out, const gpucontext *ctx, const void *spec) {
  return write_mapped(out, ctx, spec, NULL);
}

/* ---- launches ---- */

/* Moves a to its least address: what terms add to it is then not negative. Returns what
 * the first term adds. */
static ssize_t lower(size_t *offset, const ga_gather *g) {
  const ssize_t itemsize = (ssize_t)gpuarray_get_elsize(g->typecode);
  ssize_t down =
      g->a_term < 0 && g->terms > 0 ? (ssize_t)(g->terms - 1) * g->a_term : 0;
  for (int i = 0; i < GA_CONV_AXES; i++)
    if (g->axes[i].a < 0 && g->axes[i].terms > 0)
      down += (ssize_t)(g->axes[i].terms - 1) * g->axes[i].a;
  *offset = (size_t)((ssize_t)*offset + down * itemsize);
  return -down;
}

static int launch_tiles(const ga_gather *g, size_t parts, const void *how) {
  const unsigned int kind = *(const unsigned int *)how;
  const ga_gather_sizes of = ga__gather_sizes(g);
  const shape *s = &shapes[kind];
  const bool has_depth = g->axes[0].length > 1 || g->axes[0].terms > 1 ||
                         g->axes[0].columns > 1 || g->axes[0].first != 0;
  const size_t taps = g->axes[0].terms * g->axes[1].terms * g->axes[2].terms;
  const tiles_spec spec = {(unsigned char)g->typecode, (unsigned char)kind, has_depth,
                           parts > 1, taps <= 32};
  const size_t depth = depth_of(g->context, g->typecode);
  const size_t part = ga__ceil_div(ga__ceil_div(of.k, parts), depth) * depth;
  ga_gather low = *g;
  const ssize_t first = lower(&low.offsets[0], g);
  gpukernel *kernel;
  ga_args args = {0};
  GA_TRY(ga__conv_kernel(&kernel, g, write_mapped, write_tiles, &spec, sizeof spec,
                         items_of(s)));
  ga__gather_add_arrays(&args, &low);
  ga__gather_add(
      &args, 4,
      (ssize_t[]){(ssize_t)of.m, (ssize_t)of.n, (ssize_t)of.k, (ssize_t)part});
  ga__gather_add_lengths(&args, g, false);
  ga__gather_add_lengths(&args, g, true);
  GA_GATHER_AXES(&args, g, step);
  GA_GATHER_AXES(&args, g, first);
  GA_GATHER_AXES(&args, g, by);
  GA_GATHER_AXES(&args, g, length);
  ga__gather_add(&args, 2, (ssize_t[]){g->b_column, g->b_term});
  GA_GATHER_AXES(&args, g, b);
  ga__gather_add(&args, 3, (ssize_t[]){first, g->a_row, g->a_term});
  GA_GATHER_AXES(&args, g, a);
  ga__gather_add(&args, 2, (ssize_t[]){g->c_row, g->c_column});
  GA_GATHER_AXES(&args, g, c);
  ga__gather_add(&args, 4,
                 (ssize_t[]){g->a_group, g->b_group, g->c_group,
                             (ssize_t)(of.m * of.n * g->groups)});
  ga__conv_add_map(&args, g);
  const ga_launch geometry = {.nd = 3,
                              .grid = {tiles_of(s, &of), parts, g->groups},
                              .block = {items_of(s), 1, 1},
                              .n_args = args.n,
                              .args = args.list};
  return ga__kernel_launch(kernel, &geometry);
}

static int run_gather(const ga_conv *c, const ga_gather *g) {
  const ga_gather_sizes of = ga__gather_sizes(g);
  if (of.m == 0 || of.n == 0 || g->groups == 0)
    return GA_NO_ERROR;
  if (ga__conv_depthwise_serves(c, g))
    return ga__conv_depthwise(c, g);
  const unsigned int kind = choose_shape(g, &of);
  return ga__gather_in_parts(g, count_parts(g, &of, &shapes[kind]), launch_tiles,
                             &kind);
}

/* Launches of the gradient by the image, one for each phase of the strides. More would
 * take longer than one item for each element of the image. */
#define MOST_PHASES 1024

bool ga__conv_tiles_serve(const ga_conv *c) {
  double phases = 1;
  for (int i = 0; c->role == GA_CONV_IMAGE && i < GA_CONV_AXES; i++)
    phases *= (double)c->axes[i].stride;
  return !c->context->info.is_cpu && !c->is_unshared && ga__conv_is_narrow(c) &&
         c->groups <= 65535 && phases <= MOST_PHASES;
}

bool ga__conv_tiles_map(const ga_conv *c) {
  const ga_gather g = ga__gather_of(c, 0);
  return ga__conv_tiles_serve(c) && !ga__conv_transposed_serves(c) &&
         !(c->role == GA_CONV_FILTERS && ga__conv_depthwise_serves(c, &g));
}

int ga__conv_tiles(const ga_conv *c) {
  if (ga__conv_transposed_serves(c))
    return ga__conv_transposed(c);
  for (size_t i = 0; i < ga__gather_phases(c); i++) {
    const ga_gather g = ga__gather_of(c, i);
    GA_TRY(run_gather(c, &g));
  }
  return GA_NO_ERROR;
}
