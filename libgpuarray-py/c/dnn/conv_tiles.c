/* Convolutions on GPUs: tile shapes, split terms, and launches. */
#include "c/dnn/conv_tiles.h"

#include "c/base/counts.h"
#include "c/base/dtype.h"
#include "c/dnn/conv_words.h"
#include "c/dnn/kernels/conv_sum.inc"
#include "c/dnn/kernels/conv_tiles.inc"
#include "c/program/kernel_table.h"
#include "c/program/kernel_text.h"

/* ---- shapes of tiles ---- */

enum { DEPTH = 8 }; /* terms of a tile */

/* Rows and columns of a group's tile, and of an item's. */
typedef struct shape {
  unsigned int rows, columns, tall, broad;
} shape;

static const shape shapes[] = {{128, 128, 8, 8}, {64, 128, 8, 8}, {64, 64, 4, 8},
                               {32, 256, 8, 8},  {16, 256, 4, 8}, {8, 256, 2, 8},
                               {32, 64, 8, 8},   {16, 64, 4, 8},  {8, 64, 2, 8}};
enum { LARGE, WIDE, SMALL, ROWS_32, ROWS_16, ROWS_8, FEW };

static unsigned int items_of(const shape *s) {
  return s->rows / s->tall * (s->columns / s->broad);
}

/* Sizes of the product: rows, columns and terms of a group. */
typedef struct sizes {
  size_t m, n, k;
} sizes;

static sizes sizes_of(const ga_gather *g) {
  sizes s = {g->rows, g->columns, g->terms};
  for (int i = 0; i < GA_CONV_AXES; i++) {
    s.n *= g->axes[i].columns;
    s.k *= g->axes[i].terms;
  }
  return s;
}

static size_t tiles_of(const shape *s, const sizes *of) {
  return ga__ceil_div(of->m, s->rows) * ga__ceil_div(of->n, s->columns);
}

/* The largest tile that leaves no processor idle, and few rows unused. */
static unsigned int choose_shape(const ga_gather *g, const sizes *of) {
  const size_t processors = g->context->info.processors;
  if (of->m <= 32) {
    const unsigned int kind = of->m <= 8 ? ROWS_8 : of->m <= 16 ? ROWS_16 : ROWS_32;
    return of->n <= 128 ? kind + FEW - ROWS_32 : kind; /* with fewer columns */
  }
  if (of->m > 64 && tiles_of(&shapes[LARGE], of) * g->groups >= processors)
    return LARGE;
  return tiles_of(&shapes[WIDE], of) * g->groups >= processors ? WIDE : SMALL;
}

/* ---- split terms ---- */

#define LEAST_TERMS 64 /* of a part */
#define MOST_PARTS 256
#define MOST_ELEMENTS ((size_t)1 << 24) /* of all parts together */

/* Parts that the terms are split into, so that all processors have work. */
static size_t count_parts(const ga_gather *g, const sizes *of, const shape *s) {
  const size_t groups = tiles_of(s, of) * g->groups;
  const size_t wanted = 2 * (size_t)g->context->info.processors * 256 / items_of(s);
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

static int write_tiles(ga_source *out, const gpucontext *ctx, const void *spec) {
  const tiles_spec *t = spec;
  const shape *s = &shapes[t->shape];
  const bool is_double = t->typecode == GA_DOUBLE;
  ga_strbuf text = {0};
  (void)ctx;
  ga__conv_add_types(&text, t->typecode, t->is_part);
  ga__strbuf_addf(&text,
                  "#define CV_BM %u\n#define CV_BN %u\n#define CV_BK %d\n"
                  "#define CV_TM %u\n#define CV_TN %u\n#define CV_GW %d\n"
                  "#define CV_PACK %s\n#define CV_AXES %d\n#define CV_BLOCKS %u\n"
                  "#define CV_IS_MASKED %d\n",
                  s->rows, s->columns, DEPTH, s->tall, s->broad, is_double ? 2 : 4,
                  is_double ? "ga_double2" : "ga_float4", t->has_depth ? 3 : 2,
                  is_double ? 1 : 512 / items_of(s), t->is_masked);
  ga__strbuf_add(&text, conv_tiles_text);
  out->is_closed = true;
  return ga__text_finish_named(out, "conv_tiles", NULL,
                               "#define CV_NAME %\n#define CV_TERM %_term\n", &text);
}

static int write_sum(ga_source *out, const gpucontext *ctx, const void *spec) {
  ga_strbuf text = {0};
  (void)ctx;
  ga__conv_add_types(&text, *(const unsigned char *)spec, false);
  ga__strbuf_add(&text, conv_sum_text);
  out->is_closed = true;
  return ga__text_finish_named(out, "conv_sum", NULL, "#define CV_NAME %\n", &text);
}

/* ---- launches ---- */

static void add_numbers(ga_args *args, unsigned int n, const ssize_t *numbers) {
  for (unsigned int i = 0; i < n; i++)
    ga__args_i32(args, (int32_t)numbers[i]);
}

/* A number of each axis. */
#define EACH_AXIS(args, g, field)                                                      \
  for (int i_ = 0; i_ < GA_CONV_AXES; i_++)                                            \
    ga__args_i32(args, (int32_t)(g)->axes[i_].field);

/* Lengths that divide: an empty axis is divided by 1 and has no columns. */
static ssize_t at_least_1(size_t n) {
  return n > 0 ? (ssize_t)n : 1;
}

static void add_lengths(ga_args *args, const ga_gather *g, bool is_terms) {
  for (int i = 0; i < GA_CONV_AXES; i++)
    ga__args_i32(args,
                 (int32_t)at_least_1(is_terms ? g->axes[i].terms : g->axes[i].columns));
}

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

/* Parts, one behind the other: rows and columns in order. */
static ga_gather gather_of_parts(const ga_gather *g, const sizes *of, gpudata *data) {
  ga_gather p = *g;
  p.data[2] = data;
  p.offsets[2] = 0;
  p.c_group = (ssize_t)(of->m * of->n);
  p.c_row = (ssize_t)of->n;
  p.axes[2].c = 1;
  p.axes[1].c = (ssize_t)g->axes[2].columns;
  p.axes[0].c = p.axes[1].c * (ssize_t)g->axes[1].columns;
  p.c_column = p.axes[0].c * (ssize_t)g->axes[0].columns;
  return p;
}

static int launch_tiles(const ga_gather *g, const sizes *of, unsigned int kind,
                        size_t parts) {
  const shape *s = &shapes[kind];
  const bool has_depth = g->axes[0].length > 1 || g->axes[0].terms > 1 ||
                         g->axes[0].columns > 1 || g->axes[0].first != 0;
  const size_t taps = g->axes[0].terms * g->axes[1].terms * g->axes[2].terms;
  const tiles_spec spec = {(unsigned char)g->typecode, (unsigned char)kind, has_depth,
                           parts > 1, taps <= 32};
  const size_t part = ga__ceil_div(ga__ceil_div(of->k, parts), DEPTH) * DEPTH;
  size_t offset = g->offsets[0];
  const ssize_t first = lower(&offset, g);
  gpukernel *kernel;
  ga_args args = {0};
  GA_TRY(ga__kernel_kept(&kernel, g->context, write_tiles, &spec, sizeof spec));
  ga__args_pointer(&args, g->data[2], g->offsets[2], false);
  ga__args_pointer(&args, g->data[0], offset, true);
  ga__args_pointer(&args, g->data[1], g->offsets[1], true);
  add_numbers(
      &args, 4,
      (ssize_t[]){(ssize_t)of->m, (ssize_t)of->n, (ssize_t)of->k, (ssize_t)part});
  add_lengths(&args, g, false);
  add_lengths(&args, g, true);
  EACH_AXIS(&args, g, step)
  EACH_AXIS(&args, g, first)
  EACH_AXIS(&args, g, by)
  EACH_AXIS(&args, g, length)
  add_numbers(&args, 2, (ssize_t[]){g->b_column, g->b_term});
  EACH_AXIS(&args, g, b)
  add_numbers(&args, 3, (ssize_t[]){first, g->a_row, g->a_term});
  EACH_AXIS(&args, g, a)
  add_numbers(&args, 2, (ssize_t[]){g->c_row, g->c_column});
  EACH_AXIS(&args, g, c)
  add_numbers(&args, 4,
              (ssize_t[]){g->a_group, g->b_group, g->c_group,
                          (ssize_t)(of->m * of->n * g->groups)});
  const ga_launch geometry = {.nd = 3,
                              .grid = {tiles_of(s, of), parts, g->groups},
                              .block = {items_of(s), 1, 1},
                              .n_args = args.n,
                              .args = args.list};
  return ga__kernel_launch(kernel, &geometry);
}

static int launch_sum(const ga_gather *g, const sizes *of, gpudata *data,
                      size_t parts) {
  const unsigned char spec = (unsigned char)g->typecode;
  const size_t count = of->m * of->n * g->groups;
  gpukernel *kernel;
  ga_args args = {0};
  GA_TRY(ga__kernel_kept(&kernel, g->context, write_sum, &spec, sizeof spec));
  ga__args_pointer(&args, g->data[2], g->offsets[2], false);
  ga__args_pointer(&args, data, 0, true);
  add_numbers(
      &args, 4,
      (ssize_t[]){(ssize_t)count, (ssize_t)parts, (ssize_t)of->m, (ssize_t)g->columns});
  add_lengths(&args, g, false);
  add_numbers(&args, 3, (ssize_t[]){g->c_group, g->c_row, g->c_column});
  EACH_AXIS(&args, g, c)
  return ga__kernel_launch_items(kernel, &args, count, 256,
                                 16 * (size_t)g->context->info.processors);
}

static int run_parts(const ga_gather *g, const sizes *of, unsigned int kind,
                     size_t parts) {
  const size_t size = gpuarray_get_elsize(ga__dtype_work(g->typecode));
  gpudata *data;
  GA_TRY(ga__buffer_new(&data, g->context, parts * of->m * of->n * g->groups * size));
  const ga_gather apart = gather_of_parts(g, of, data);
  int status = launch_tiles(&apart, of, kind, parts);
  GA_THEN(status, launch_sum(g, of, data, parts));
  gpudata_release(data);
  return status;
}

static int run_gather(const ga_gather *g) {
  const sizes of = sizes_of(g);
  if (of.m == 0 || of.n == 0 || g->groups == 0)
    return GA_NO_ERROR;
  const unsigned int kind = choose_shape(g, &of);
  const size_t parts = count_parts(g, &of, &shapes[kind]);
  if (parts > 1) {
    const int status = run_parts(g, &of, kind, parts);
    if (status != GA_MEMORY_ERROR) /* out of memory: not split */
      return status;
  }
  return launch_tiles(g, &of, kind, 1);
}

bool ga__conv_tiles_serve(const ga_conv *c) {
  return !c->context->info.is_cpu && !c->is_unshared && ga__conv_is_narrow(c) &&
         c->groups <= 65535;
}

int ga__conv_tiles(const ga_conv *c) {
  for (size_t i = 0; i < ga__gather_phases(c); i++) {
    const ga_gather g = ga__gather_of(c, i);
    GA_TRY(run_gather(&g));
  }
  return GA_NO_ERROR;
}
