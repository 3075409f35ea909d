/* Convolutions on processors: kernels, and blocks that fit registers. */
#include "c/base/counts.h"
#include "c/base/dtype.h"
#include "c/convolution/conv_cpu_call.h"
#include "c/convolution/kernels/conv_cpu_filters.inc"
#include "c/convolution/kernels/conv_cpu_panels.inc"
#include "c/convolution/kernels/conv_cpu_parts.inc"
#include "c/convolution/kernels/conv_cpu_places.inc"
#include "c/convolution/kernels/conv_cpu_rows.inc"
#include "c/convolution/kernels/conv_cpu_scatter.inc"
#include "c/dnn/conv_words.h"
#include "c/program/kernel_table.h"
#include "c/program/kernel_text.h"

typedef struct cpu_spec {
  unsigned char typecode, kind, lanes;
  ga_conv_block block;
} cpu_spec;

/* ---- blocks ---- */

/* The sums, the vectors or factors that they share, and one of the others, in the
 * registers of AVX, 16, and of AVX-512, 32. `time` of a multiplication, measured for 60
 * filters of 3x3. */
enum { BLOCKS = 6 };
static const struct {
  ga_conv_block block;
  double time;
} blocks[2][BLOCKS] = {{{{1, 8}, 1.8},
                        {{2, 5}, 1.18},
                        {{3, 3}, 1.08},
                        {{4, 2}, 1.1},
                        {{4, 3}, 1},
                        {{6, 2}, 1.02}},
                       {{{1, 8}, 2.9},
                        {{2, 8}, 1.7},
                        {{3, 6}, 1.28},
                        {{4, 5}, 1.1},
                        {{6, 3}, 1.07},
                        {{6, 4}, 1}}};

bool ga__conv_has_wide_registers(const ga_conv *c) {
  return c->context->info.vector_bytes >= 64;
}

ga_conv_block ga__conv_block(const ga_conv *c, unsigned int lanes, size_t tall,
                             size_t broad) {
  const bool is_wide =
      ga__conv_has_wide_registers(c) && lanes == ga__conv_most_lanes(c);
  ga_conv_block best = {0};
  double least = 0;
  for (size_t i = 0; i < BLOCKS; i++) {
    const ga_conv_block b = blocks[is_wide][i].block;
    const double time = blocks[is_wide][i].time * b.tall * b.broad *
                        (double)ga__ceil_div(tall, b.tall) *
                        (double)ga__ceil_div(broad, b.broad);
    if (i == 0 || time < least)
      best = b, least = time;
  }
  return best;
}

unsigned int ga__conv_most_lanes(const ga_conv *c) {
  const unsigned int bytes = ga__conv_has_wide_registers(c) ? 64 : 32;
  return bytes / (unsigned int)gpuarray_get_elsize(ga__dtype_work(c->typecode));
}

unsigned int ga__conv_lanes(const ga_conv *c, size_t row) {
  const unsigned int most = ga__conv_most_lanes(c);
  return ga__conv_has_wide_registers(c) && row <= most / 2 ? most / 2 : most;
}

/* ---- sources ---- */

static void add_types(ga_strbuf *text, const cpu_spec *s) {
  const int work = ga__dtype_work(s->typecode);
  const char *scalar = work == GA_DOUBLE ? "double" : "float";
  const char *integer = work == GA_DOUBLE ? "long" : "int";
  const unsigned int n = s->lanes;
  ga__strbuf_addf(text,
                  "#define CV_S %s\n#define CV_T %s\n#define CV_IS_NARROW %d\n"
                  "#define CV_INT %s\n#define CV_LANES %u\n#define CV_VECTOR %s%u\n"
                  "#define CV_MASK %s%u\n#define CV_MASK_LOAD(p) vload%u(0, p)\n"
                  "#define CV_VLOAD(p) vload%u(0, p)\n"
                  "#define CV_VSTORE(v, p) vstore%u(v, 0, p)\n"
                  "#define CV_MASKED(v) as_%s%u(as_%s%u(v) & mask)\n",
                  ga__dtype_ctype(s->typecode), ga__dtype_work_ctype(s->typecode),
                  work != s->typecode, integer, n, scalar, n, integer, n, n, n, n,
                  scalar, n, integer, n);
  ga__strbuf_addf(text, "#define CV_FOUR %s4\n#define CV_FOLD(v) %s\n", scalar,
                  n == 16  ? "(((v).lo.lo + (v).lo.hi) + ((v).hi.lo + (v).hi.hi))"
                  : n == 8 ? "((v).lo + (v).hi)"
                           : "(v)");
  ga__conv_add_conversion(text, "CV_LOAD", ga__dtype_load(s->typecode));
  ga__conv_add_conversion(text, "CV_STORE", ga__dtype_store(s->typecode));
}

static int write_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  static const char *const stems[] = {"conv_rows",    "conv_places", "conv_gradient",
                                      "conv_filters", "conv_panels", "conv_parts",
                                      "conv_scatter"};
  const cpu_spec *s = spec;
  ga_strbuf text = {0};
  (void)ctx;
  add_types(&text, s);
  ga__strbuf_addf(&text,
                  "#define CV_IS_GRADIENT %d\n#define %s %u\n"
                  "#define %s %u\n#define CV_TAPS %d\n#define CV_SOME 256\n"
                  "#define CV_MOST_ROWS %d\n#define CV_PLACES %d\n",
                  s->kind == GA_CONV_CPU_IMAGE,
                  s->kind == GA_CONV_CPU_PANELS ? "CV_MEET" : "CV_ROWS", s->block.tall,
                  s->kind == GA_CONV_CPU_FILTERS ? "CV_MEET" : "CV_VECTORS",
                  s->block.broad, GA_CONV_TAPS, GA_CONV_ROWS, GA_CONV_PLACES);
  ga__strbuf_add(&text, s->kind == GA_CONV_CPU_ROWS      ? conv_cpu_rows_text
                        : s->kind == GA_CONV_CPU_FILTERS ? conv_cpu_filters_text
                        : s->kind == GA_CONV_CPU_PANELS  ? conv_cpu_panels_text
                        : s->kind == GA_CONV_CPU_PARTS   ? conv_cpu_parts_text
                        : s->kind == GA_CONV_CPU_SCATTER ? conv_cpu_scatter_text
                                                         : conv_cpu_places_text);
  out->is_closed = true;
  return ga__text_finish_named(out, stems[s->kind], NULL, "#define CV_NAME %\n", &text);
}

int ga__conv_cpu_kernel(gpukernel **out, const ga_conv *c, enum ga_conv_cpu_kernel kind,
                        unsigned int lanes, ga_conv_block block) {
  const cpu_spec spec = {(unsigned char)c->typecode, (unsigned char)kind,
                         (unsigned char)lanes, block};
  return ga__kernel_kept(out, c->context, write_source, &spec, sizeof spec);
}

int ga__conv_cpu_launch(gpukernel *kernel, const ga_args *args, size_t groups,
                        size_t parts) {
  const size_t most = GA_CPU_GROUPS * (size_t)kernel->context->info.processors;
  const ga_launch launch = {.nd = 2,
                            .grid = {groups < most ? groups : most, parts, 1},
                            .block = {1, 1, 1},
                            .n_args = args->n,
                            .args = args->list};
  return ga__kernel_launch(kernel, &launch);
}
