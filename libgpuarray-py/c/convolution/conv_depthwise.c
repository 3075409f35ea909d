/* Depthwise convolutions on GPUs, whose groups have one channel: they are bound by
 * memory, and a product of matrices would have one row. */
#include "c/convolution/kernels/conv_depthwise.inc"
#include "c/base/counts.h"
#include "c/convolution/conv_gpu.h"
#include "c/convolution/conv_map.h"
#include "c/convolution/kernels/conv_depthwise_filters.inc"
#include "c/dnn/conv_words.h"
#include "c/program/kernel_table.h"
#include "c/program/kernel_text.h"

/* Elements of the filters that an item has in registers; rows and columns of outputs,
 * or of terms, that it takes at once; rows of b that it reads for them; items of a
 * group, and groups that a processor should have. */
enum { MOST_TERMS = 49, TALL = 8, WIDE = 2, MOST_ROWS = 24, ITEMS = 256, GROUPS = 2 };

/* Lengths and geometry of the last two axes: constants of a kernel. */
typedef struct depthwise_spec {
  int32_t n[2], step[2], by[2];
  uint8_t typecode, is_part, run, has_edges;
  uint8_t block[2]; /* rows and columns of an item */
  uint8_t is_unit;  /* elements of the last axis are neighbours */
  uint8_t is_plane; /* the first axis and the other terms have one element */
} depthwise_spec;

/* Results of a group that sums: as many as registers hold, 147 sums of an item, so
 * that what is read of b serves them all. */
static unsigned int run_of(const ga_gather *g) {
  const size_t taps = g->axes[1].columns * g->axes[2].columns;
  const size_t most = taps <= 25 ? 4 : 3;
  return (unsigned int)(g->rows < most ? g->rows : most);
}

/* Most rows of an item: fewer where its sums or its products are many, or the outputs
 * so few that processors would have nothing to do. */
static size_t most_rows(const ga_gather *g, bool of_filters) {
  const ga_gather_axis *x = &g->axes[1], *y = &g->axes[2];
  const size_t taps = of_filters ? x->columns * y->columns : x->terms * y->terms;
  const size_t enough = GROUPS * ITEMS * (size_t)g->context->info.processors;
  size_t most = taps > 25 ? TALL / 2 : TALL;
  if (of_filters) /* whose sums take registers, too */
    return run_of(g) > 2 ? 1 : most / 2 / run_of(g);
  const size_t outputs =
      g->groups * g->rows * g->columns * g->axes[0].columns * x->columns * y->columns;
  while (most > 1 && outputs / (most * WIDE) < enough)
    most /= 2;
  return most;
}

/* Places of b that `n` outputs, or terms, read along an axis. */
static size_t reach(const ga_gather_axis *x, size_t n, bool of_filters) {
  const size_t step = ga__magnitude(of_filters ? x->by : x->step);
  const size_t by = ga__magnitude(of_filters ? x->step : x->by);
  return (n - 1) * step + ((of_filters ? x->columns : x->terms) - 1) * by + 1;
}

static void choose_block(depthwise_spec *s, const ga_gather *g, bool of_filters) {
  const ga_gather_axis *x = &g->axes[1], *y = &g->axes[2];
  const size_t n1 = of_filters ? x->terms : x->columns;
  const size_t n2 = of_filters ? y->terms : y->columns;
  size_t tall = most_rows(g, of_filters);
  while (tall > 1 && (tall / 2 >= n1 || reach(x, tall, of_filters) > MOST_ROWS))
    tall /= 2;
  s->block[0] = (uint8_t)tall;
  s->block[1] =
      ga__magnitude(y->step) == 1 && ga__magnitude(y->by) == 1 && n2 > 1 ? WIDE : 1;
}

static depthwise_spec spec_of(const ga_gather *g, bool of_filters, bool is_part) {
  depthwise_spec s = {.typecode = (uint8_t)g->typecode, .is_part = is_part};
  for (int i = 0; i < 2; i++) {
    const ga_gather_axis *x = &g->axes[1 + i];
    s.n[i] = (int32_t)(of_filters ? x->columns : x->terms);
    s.step[i] = (int32_t)x->step;
    s.by[i] = (int32_t)x->by;
  }
  s.is_unit = g->axes[2].b == 1 && (of_filters ? g->axes[2].a : g->axes[2].c) == 1;
  s.is_plane =
      g->axes[0].columns == 1 && g->axes[0].terms == 1 && (of_filters || g->terms == 1);
  choose_block(&s, g, of_filters);
  return s;
}

/* Sums of an item whose terms are in local memory at once: 16 of double are more than
 * the 32 KiB that some devices have. */
static int some_of(const gpucontext *ctx, const depthwise_spec *s) {
  return s->typecode == GA_DOUBLE && ctx->info.local_memory < 48 << 10 ? 8 : 16;
}

static int write_source(ga_source *out, const gpucontext *ctx, const depthwise_spec *s,
                        const char *length, const char *name, const char *kernel,
                        const ga_elem_spec *map) {
  ga_strbuf text = {0};
  ga__conv_add_types(&text, s->typecode, s->is_part);
  for (int i = 0; i < 2; i++)
    ga__strbuf_addf(&text,
                    "#define CV_%s%d %d\n#define CV_STEP%d %d\n#define CV_BY%d (%d)\n",
                    length, i + 1, s->n[i], i + 1, s->step[i], i + 1, s->by[i]);
  ga__strbuf_addf(&text,
                  "#define CV_RUN %d\n#define CV_HAS_EDGES %d\n#define CV_ITEMS %d\n"
                  "#define CV_SOME %d\n#define CV_TALL %d\n#define CV_WIDE %d\n"
                  "#define CV_IS_UNIT %d\n#define CV_IS_PLANE %d\n",
                  s->run, s->has_edges, ITEMS, some_of(ctx, s), s->block[0],
                  s->block[1], s->is_unit, s->is_plane);
  return ga__conv_finish(out, name, "#define CV_NAME %\n", &text, kernel, map);
}

static int write_mapped(ga_source *out, const gpucontext *ctx, const void *spec,
                        const ga_elem_spec *map) {
  return write_source(out, ctx, spec, "K", "conv_depthwise", conv_depthwise_text, map);
}

static int write_rows(ga_source *out, const gpucontext *ctx, const void *spec) {
  return write_mapped(out, ctx, spec, NULL);
}

static int write_filters(ga_source *out, const gpucontext *ctx, const void *spec) {
  return write_source(out, ctx, spec, "N", "conv_depthwise_filters",
                      conv_depthwise_filters_text, NULL);
}

static int launch_rows(const ga_gather *g, size_t parts, const void *how) {
  const depthwise_spec spec = spec_of(g, false, parts > 1);
  const ga_gather_axis *x = g->axes;
  const size_t count = g->groups * g->rows * g->columns * x[0].columns *
                       ga__ceil_div(x[1].columns, spec.block[0]) *
                       ga__ceil_div(x[2].columns, spec.block[1]);
  gpukernel *kernel;
  ga_args args = {0};
  (void)how;
  GA_TRY(
      ga__conv_kernel(&kernel, g, write_mapped, write_rows, &spec, sizeof spec, ITEMS));
  ga__gather_add_arrays(&args, g);
  ga__gather_add(&args, 5,
                 (ssize_t[]){(ssize_t)count, (ssize_t)g->rows, (ssize_t)g->groups,
                             (ssize_t)g->terms, (ssize_t)x[0].terms});
  ga__gather_add_lengths(&args, g, false);
  ga__gather_add(&args, 2, (ssize_t[]){x[0].step, x[0].by});
  GA_GATHER_AXES(&args, g, first);
  GA_GATHER_AXES(&args, g, length);
  ga__gather_add(&args, 2, (ssize_t[]){g->b_column, g->b_term});
  GA_GATHER_AXES(&args, g, b);
  ga__gather_add(&args, 2, (ssize_t[]){g->a_row, g->a_term});
  GA_GATHER_AXES(&args, g, a);
  ga__gather_add(&args, 2, (ssize_t[]){g->c_row, g->c_column});
  GA_GATHER_AXES(&args, g, c);
  ga__gather_add(&args, 3, (ssize_t[]){g->a_group, g->b_group, g->c_group});
  ga__conv_add_map(&args, g);
  return ga__kernel_launch_items(kernel, &args, count, ITEMS,
                                 64 * (size_t)g->context->info.processors);
}

/* Terms of an axis with those that fill the last item's block up. */
static size_t filled(const ga_gather *g, const depthwise_spec *s, int axis) {
  const size_t n = g->axes[axis].terms;
  return axis == 0 ? n : ga__ceil_div(n, s->block[axis - 1]) * s->block[axis - 1];
}

/* True if elements meet places outside of b. */
static bool has_edges(const ga_gather *g, const depthwise_spec *s) {
  for (int i = 0; i < GA_CONV_AXES; i++) {
    const ga_gather_axis *x = &g->axes[i];
    const ssize_t last = x->first + ((ssize_t)x->columns - 1) * x->step +
                         ((ssize_t)filled(g, s, i) - 1) * x->by;
    if (x->first < 0 || last >= (ssize_t)x->length)
      return true;
  }
  return false;
}

/* Blocks of terms, of which an item takes one at a time. */
static size_t count_blocks(const ga_gather *g, const depthwise_spec *s) {
  return g->terms * g->axes[0].terms * (filled(g, s, 1) / s->block[0]) *
         (filled(g, s, 2) / s->block[1]);
}

/* Groups that each sum some results. */
static size_t count_groups(const ga_gather *g) {
  return g->groups * ga__ceil_div(g->rows, run_of(g)) * g->axes[0].columns;
}

static int launch_filters(const ga_gather *g, size_t parts, const void *how) {
  depthwise_spec spec = spec_of(g, true, parts > 1);
  const ga_gather_sizes of = ga__gather_sizes(g);
  const ga_gather_axis *x = g->axes;
  gpukernel *kernel;
  ga_args args = {0};
  (void)how;
  spec.run = (uint8_t)run_of(g);
  spec.has_edges = has_edges(g, &spec);
  const size_t blocks = count_blocks(g, &spec);
  GA_TRY(ga__kernel_kept(&kernel, g->context, write_filters, &spec, sizeof spec));
  ga__gather_add_arrays(&args, g);
  ga__gather_add(&args, 2,
                 (ssize_t[]){(ssize_t)blocks, (ssize_t)ga__ceil_div(blocks, parts)});
  ga__gather_add_lengths(&args, g, true);
  ga__gather_add(
      &args, 4,
      (ssize_t[]){(ssize_t)g->rows, (ssize_t)x[0].columns, x[0].step, x[0].by});
  GA_GATHER_AXES(&args, g, first);
  GA_GATHER_AXES(&args, g, length);
  ga__gather_add(&args, 1, (ssize_t[]){g->b_term});
  GA_GATHER_AXES(&args, g, b);
  ga__gather_add(&args, 2, (ssize_t[]){g->a_row, g->a_term});
  GA_GATHER_AXES(&args, g, a);
  ga__gather_add(&args, 1, (ssize_t[]){g->c_row});
  GA_GATHER_AXES(&args, g, c);
  ga__gather_add(&args, 4,
                 (ssize_t[]){g->a_group, g->b_group, g->c_group,
                             (ssize_t)(of.m * of.n * g->groups)});
  const ga_launch geometry = {.nd = 2,
                              .grid = {count_groups(g), parts},
                              .block = {ITEMS, 1},
                              .n_args = args.n,
                              .args = args.list};
  return ga__kernel_launch(kernel, &geometry);
}

bool ga__conv_depthwise_serves(const ga_conv *c, const ga_gather *g) {
  const bool of_filters = c->role == GA_CONV_FILTERS;
  const ga_gather_axis *x = g->axes;
  const size_t n = of_filters ? x[1].columns * x[2].columns : x[1].terms * x[2].terms;
  return c->channels == 1 && (c->groups > 1 || c->role != GA_CONV_RESULT) && n > 0 &&
         n <= MOST_TERMS && x[0].terms > 0 && g->terms > 0;
}

/* Parts of a sum over batch and places: two groups for each processor, and no less than
 * a few blocks for each item. */
static size_t count_parts(const ga_gather *g) {
  const depthwise_spec spec = spec_of(g, true, true);
  const size_t wanted =
      ga__ceil_div(8 * (size_t)g->context->info.processors, count_groups(g));
  const size_t most = count_blocks(g, &spec) / (4 * ITEMS);
  return wanted < most ? wanted : most > 0 ? most : 1;
}

int ga__conv_depthwise(const ga_conv *c, const ga_gather *g) {
  if (c->role == GA_CONV_FILTERS)
    return ga__gather_in_parts(g, count_parts(g), launch_filters, NULL);
  return launch_rows(g, 1, NULL);
}
