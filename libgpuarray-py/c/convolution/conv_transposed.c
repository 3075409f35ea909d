/* Gradient by the image of a convolution to few channels, on GPUs: one launch. */
#include "c/convolution/kernels/conv_transposed.inc"
#include "c/base/counts.h"
#include "c/base/dtype.h"
#include "c/convolution/conv_gpu.h"
#include "c/dnn/conv_words.h"
#include "c/program/kernel_table.h"
#include "c/program/kernel_text.h"

/* Items and columns of a team's tile, teams of a group. */
enum { TEAM = 32, BROAD = 16, TEAMS = 4 };
enum { MOST_CHANNELS = 4, MOST_STRIDE = 4, MOST_EXTENT = 16 };
/* Registers of sums of an item, of which a third more leaves two groups a processor;
 * products of one term, which are all in the text. */
enum { MOST_SUMS = 96, MOST_PRODUCTS = 1600 };
enum { LOCAL_MEMORY = 48 << 10 }; /* that CUDA's static arrays may have */

/* Constants of a kernel. */
typedef struct transposed_spec {
  uint8_t typecode, channels, extent[2], stride[2], phase[2];
  uint8_t tall, wide; /* coarse points of an item */
  uint8_t some;       /* terms in local memory: a divisor of all */
} transposed_spec;

/* ---- tiles ---- */

static size_t down_of(const transposed_spec *s) {
  return TEAM * s->wide / BROAD;
}

/* Coarse points of an axis. */
static size_t points(const ga_conv *c, int axis) {
  return ga__ceil_div(c->axes[1 + axis].image, c->axes[1 + axis].stride);
}

static size_t tiles_down(const ga_conv *c, const transposed_spec *s) {
  return ga__ceil_div(points(c, 0), down_of(s) * s->tall);
}

static size_t tiles_across(const ga_conv *c) {
  return ga__ceil_div(points(c, 1), BROAD);
}

static size_t count_tiles(const ga_conv *c, const transposed_spec *s) {
  return c->batch * tiles_down(c, s) * tiles_across(c);
}

/* Places of the result that an axis of filters spans, less one: CV_SHIFT. */
static unsigned int span(const transposed_spec *s, int axis) {
  const unsigned int n = s->extent[axis], by = s->stride[axis], at = s->phase[axis];
  const unsigned int first = (at + by * n + by - 1) / by;
  return first - (at + by * n + by - n) / by;
}

static unsigned int gather_width(const transposed_spec *s) {
  return s->typecode == GA_DOUBLE ? 2 : s->wide;
}

static unsigned int rounded(unsigned int n, unsigned int by) {
  return (n + by - 1) / by * by;
}

/* Elements from row to row of a tile. Rows of neighbouring items are half the banks of
 * local memory apart. */
static unsigned int pitch_of(const transposed_spec *s) {
  unsigned int pitch = BROAD - s->wide + rounded(s->wide + span(s, 1), gather_width(s));
  pitch = rounded(pitch, 4);
  while (s->tall * pitch % 32 != 16)
    pitch += 4;
  return pitch;
}

static size_t sum_size(const transposed_spec *s) {
  return gpuarray_get_elsize(ga__dtype_work(s->typecode));
}

/* Registers of sums, of so many coarse points in a row. */
static size_t count_sums(const transposed_spec *s, size_t wide) {
  const size_t sums = (size_t)s->stride[0] * s->stride[1] * s->channels * wide;
  return s->typecode == GA_DOUBLE ? 2 * sums : sums;
}

/* Bytes of local memory for a term. */
static size_t term_size(const transposed_spec *s) {
  const size_t filter =
      s->extent[0] * rounded(s->extent[1] * s->channels, gather_width(s));
  const size_t tile = (down_of(s) * s->tall + span(s, 0)) * pitch_of(s);
  return (filter + TEAMS * tile) * sum_size(s);
}

/* Bytes of local memory: of terms, or later of results. */
static size_t local_size(const transposed_spec *s) {
  const size_t terms = s->some * term_size(s);
  const size_t rows = TEAMS * down_of(s) * s->stride[0];
  const size_t results = rows * (BROAD * (size_t)s->stride[1] + 1) * sum_size(s);
  return terms > results ? terms : results;
}

/* Rows of an item: many share what is read of the filters, and few waste less at the
 * edge and give all processors work. */
static unsigned int choose_tall(const ga_conv *c, transposed_spec s) {
  const size_t sums = count_sums(&s, s.wide);
  const size_t products = (size_t)s.extent[0] * s.extent[1] * s.channels * s.wide;
  unsigned int best = 1;
  size_t least = SIZE_MAX;
  for (s.tall = 1; s.tall <= 4; s.tall *= 2) {
    const size_t cost = tiles_down(c, &s) * (4 * (size_t)s.tall + 1);
    if (s.tall > 1 &&
        (sums * s.tall > MOST_SUMS || products * s.tall > MOST_PRODUCTS ||
         count_tiles(c, &s) * c->groups < TEAMS * (size_t)c->context->info.processors))
      break;
    if (cost < least) {
      least = cost;
      best = s.tall;
    }
  }
  return best;
}

static transposed_spec spec_of(const ga_conv *c) {
  transposed_spec s = {.typecode = (uint8_t)c->typecode,
                       .channels = (uint8_t)c->channels};
  for (int i = 0; i < 2; i++) {
    const ga_conv_axis *x = &c->axes[1 + i];
    s.extent[i] = (uint8_t)x->filter;
    s.stride[i] = (uint8_t)x->stride;
    s.phase[i] = (uint8_t)(x->before % x->stride);
  }
  s.wide = count_sums(&s, 4) <= MOST_SUMS ? 4 : 2;
  s.tall = (uint8_t)choose_tall(c, s);
  const size_t room = c->context->info.local_memory >= 48 << 10 ? 40 << 10 : 24 << 10;
  s.some = 4;
  while (s.some > 1 && (s.some * term_size(&s) > room || c->results % s.some != 0))
    s.some /= 2;
  return s;
}

/* ---- source ---- */

static int write_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  const transposed_spec *s = spec;
  const bool is_double = s->typecode == GA_DOUBLE;
  ga_strbuf text = {0};
  (void)ctx;
  ga__conv_add_types(&text, s->typecode, false);
  for (int i = 0; i < 2; i++)
    ga__strbuf_addf(&text, "#define CV_N%d %d\n#define CV_S%d %d\n#define CV_P%d %d\n",
                    i + 1, s->extent[i], i + 1, s->stride[i], i + 1, s->phase[i]);
  ga__strbuf_addf(&text,
                  "#define CV_C %d\n#define CV_TALL %d\n#define CV_WIDE %d\n"
                  "#define CV_SOME %d\n#define CV_TEAMS %d\n#define CV_PITCH %u\n"
                  "#define CV_BLOCKS %d\n#define CV_GW %u\n#define CV_PACK ga_%s%u\n",
                  s->channels, s->tall, s->wide, s->some, TEAMS, pitch_of(s),
                  is_double                            ? 1
                  : count_sums(s, s->wide) > MOST_SUMS ? 2
                                                       : 3,
                  gather_width(s), is_double ? "double" : "float", gather_width(s));
  ga__strbuf_add(&text, conv_transposed_text);
  out->is_closed = true;
  return ga__text_finish_named(out, "conv_transposed", NULL, "#define CV_NAME %\n",
                               &text);
}

/* ---- launch ---- */

static bool is_plain_axis(const ga_conv_axis *x) {
  return x->image == 1 && x->filter == 1 && x->result == 1 && x->before == 0;
}

static bool is_short_axis(const ga_conv_axis *x) {
  return (x->dilation == 1 || x->filter == 1) && x->stride <= MOST_STRIDE &&
         x->filter <= MOST_EXTENT;
}

bool ga__conv_transposed_serves(const ga_conv *c) {
  const ga_conv_axis *x = c->axes;
  if (c->role != GA_CONV_IMAGE || c->channels > MOST_CHANNELS || c->results == 0 ||
      (c->channels == 1 && c->groups > 1) || ga__conv_count(c) == 0 ||
      !is_plain_axis(&x[0]) || !is_short_axis(&x[1]) || !is_short_axis(&x[2]))
    return false;
  const transposed_spec s = spec_of(c);
  const size_t tiles = count_tiles(c, &s);
  const double area = (double)(tiles / c->batch * down_of(&s) * s.tall * BROAD);
  /* Wider tiles split terms where there is little to do, and small images leave less
   * of them empty. */
  return x[1].filter * x[2].filter * c->channels * s.wide <= MOST_PRODUCTS &&
         count_sums(&s, s.wide) <= MOST_SUMS + MOST_SUMS / 3 &&
         local_size(&s) <= LOCAL_MEMORY &&
         local_size(&s) <= c->context->info.local_memory &&
         tiles * c->groups >= c->context->info.processors &&
         (double)points(c, 0) * (double)points(c, 1) >= area / 4;
}

int ga__conv_transposed(const ga_conv *c) {
  const transposed_spec s = spec_of(c);
  const ga_conv_axis *x = &c->axes[1], *y = &c->axes[2];
  const size_t tiles = count_tiles(c, &s);
  gpukernel *kernel;
  ga_args args = {0};
  GA_TRY(ga__kernel_kept(&kernel, c->context, write_source, &s, sizeof s));
  ga__args_pointer(&args, c->image.data, c->image.offset, false);
  ga__args_pointer(&args, c->filters.data, c->filters.offset, true);
  ga__args_pointer(&args, c->result.data, c->result.offset, true);
  ga__gather_add(&args, 4,
                 (ssize_t[]){(ssize_t)tiles, (ssize_t)tiles_down(c, &s),
                             (ssize_t)tiles_across(c), (ssize_t)c->results});
  ga__gather_add(&args, 6,
                 (ssize_t[]){(ssize_t)x->image, (ssize_t)y->image, (ssize_t)x->result,
                             (ssize_t)y->result, (ssize_t)(x->before / x->stride),
                             (ssize_t)(y->before / y->stride)});
  ga__gather_add(&args, 4,
                 (ssize_t[]){c->filters.outer[0], c->filters.outer[1],
                             c->filters.inner[1], c->filters.inner[2]});
  ga__gather_add(&args, 4,
                 (ssize_t[]){c->result.outer[0], c->result.outer[1], c->result.inner[1],
                             c->result.inner[2]});
  ga__gather_add(&args, 4,
                 (ssize_t[]){c->image.outer[0], c->image.outer[1], c->image.inner[1],
                             c->image.inner[2]});
  ga__gather_add(&args, 3,
                 (ssize_t[]){(ssize_t)c->results * c->filters.outer[0],
                             (ssize_t)c->results * c->result.outer[1],
                             (ssize_t)c->channels * c->image.outer[1]});
  const ga_launch geometry = {.nd = 2,
                              .grid = {ga__ceil_div(tiles, TEAMS), c->groups},
                              .block = {TEAMS * TEAM, 1},
                              .n_args = args.n,
                              .args = args.list};
  return ga__kernel_launch(kernel, &geometry);
}
