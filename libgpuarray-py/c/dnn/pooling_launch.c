/* Kernels of pooling: which of them, its text, its launch. */
#include <string.h>

#include "c/base/counts.h"
#include "c/base/dtype.h"
#include "c/dnn/conv_words.h"
#include "c/dnn/kernels/pool.inc"
#include "c/dnn/kernels/pool_grad.inc"
#include "c/dnn/pooling_call.h"
#include "c/program/kernel_table.h"
#include "c/program/kernel_text.h"

/* What makes a kernel. Windows and strides of 0 are arguments. */
typedef struct pool_spec {
  unsigned char typecode, role, mode, is_shared, is_wide, is_unit, rows, run, lanes;
  unsigned char windows[GA_POOL_AXES], strides[GA_POOL_AXES];
} pool_spec;

/* ---- operands ---- */

bool ga__pooling_has(enum ga_pooling_role role, int mode,
                     enum ga_pooling_operand which) {
  switch (which) {
  case GA_POOL_DATA:
    return role != GA_POOL_GRAD || mode == GA_POOL_MAX;
  case GA_POOL_MAXIMA:
    return role == GA_POOL_AT_MAXIMA || role == GA_POOL_SHARES ||
           (role == GA_POOL_GRAD && mode == GA_POOL_MAX);
  case GA_POOL_VALUES:
    return role != GA_POOL_RESULT;
  default:
    return true;
  }
}

bool ga__pooling_is_data(enum ga_pooling_role role, enum ga_pooling_operand which) {
  if (which == GA_POOL_OUT)
    return role == GA_POOL_GRAD;
  if (which == GA_POOL_VALUES)
    return role != GA_POOL_GRAD && role != GA_POOL_SHARES;
  return which == GA_POOL_DATA;
}

/* ---- text ---- */

static void add_number(ga_strbuf *text, const char *name, int axis, unsigned int value,
                       const char *argument) {
  if (value > 0)
    ga__strbuf_addf(text, "#define %s%d %u\n", name, axis, value);
  else
    ga__strbuf_addf(text, "#define %s%d %s%d\n", name, axis, argument, axis);
}

static int write_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  const pool_spec *s = spec;
  const bool is_cpu = ctx->info.is_cpu, unrolls = s->windows[0] > 0;
  ga_strbuf text = {0};
  ga__strbuf_addf(&text,
                  "#define PL_POOL %d\n#define PL_GRAD %d\n#define PL_AT_MAXIMA %d\n"
                  "#define PL_AT_FIRST %d\n#define PL_SHARES %d\n"
                  "#define PL_ROLE %d\n#define PL_MAX %d\n"
                  "#define PL_AVERAGE %d\n#define PL_AVERAGE_PADDED %d\n"
                  "#define PL_MODE %d\n#define PL_IS_SHARED %d\n",
                  GA_POOL_RESULT, GA_POOL_GRAD, GA_POOL_AT_MAXIMA, GA_POOL_AT_FIRST,
                  GA_POOL_SHARES, s->role, GA_POOL_MAX, GA_POOL_AVERAGE,
                  GA_POOL_AVERAGE_PADDED, s->mode, s->is_shared);
  ga__strbuf_addf(&text,
                  "#define PL_TYPE %s\n#define PL_ACC %s\n#define PL_INT %s\n"
                  "#define PL_IS_UNIT %d\n#define PL_ROWS %d\n#define PL_RUN %d\n"
                  "#define PL_IS_CPU %d\n#define PL_HAS_INNER %d\n",
                  ga__dtype_ctype(s->typecode), ga__dtype_work_ctype(s->typecode),
                  ga__text_position(s->is_wide), s->is_unit, s->rows, s->run, is_cpu,
                  is_cpu && unrolls);
  ga__strbuf_addf(&text, "#define PL_LANES %u\n#define PL_SCALAR %s\n", s->lanes,
                  s->typecode == GA_DOUBLE ? "double" : "float");
  /* On a processor few columns are at the edges: their loops stay short texts. */
  ga__strbuf_addf(&text, "#define PL_UNROLL %s\n#define PL_UNROLL_EDGE %s\n",
                  unrolls ? "_Pragma(\"unroll\")" : "",
                  is_cpu    ? "_Pragma(\"nounroll\")"
                  : unrolls ? "_Pragma(\"unroll\")"
                            : "");
  for (int i = 0; i < GA_POOL_AXES; i++) {
    add_number(&text, "PL_W", i, s->windows[i], "window");
    add_number(&text, "PL_S", i, s->strides[i], "stride");
  }
  static const char *const names[] = {"", "F(a)", "F(m)", "F(v)"};
  ga__strbuf_add(&text, "#define PL_INPUTS(F)");
  for (int i = GA_POOL_DATA; i < GA_POOL_OPERANDS; i++)
    if (ga__pooling_has((enum ga_pooling_role)s->role, s->mode,
                        (enum ga_pooling_operand)i))
      ga__strbuf_addf(&text, " %s", names[i]);
  ga__strbuf_add(&text, "\n");
  ga__conv_add_conversion(&text, "PL_LOAD", ga__dtype_load(s->typecode));
  ga__conv_add_conversion(&text, "PL_STORE", ga__dtype_store(s->typecode));
  ga__strbuf_add(&text, s->role == GA_POOL_GRAD ? pool_grad_text : pool_text);
  out->is_closed = true;
  return ga__text_finish_named(out, "pool", NULL, "#define PL_NAME %\n", &text);
}

/* ---- choice ---- */

/* Results from which on windows and strides are numbers in a kernel of their own. */
#define MANY 4096
/* Elements of the windows of an item, at most, of loops that unroll. */
#define MOST_UNROLLED 128
#define LONGEST_ROW 16

static size_t length_of(const ga_pooling *p, int axis) {
  return p->role == GA_POOL_GRAD ? p->axes[axis].length : p->axes[axis].result;
}

static size_t count_outputs(const ga_pooling *p) {
  size_t n = p->outer[0] * p->outer[1];
  for (int i = 0; i < GA_POOL_AXES; i++)
    n *= length_of(p, i);
  return n;
}

/* Far from the limit, so that no sum of a place, a window and padding reaches it. */
static bool is_narrow(const ga_pooling *p) {
  const double most = 1 << 30;
  double plane = 1;
  for (int k = 0; k < GA_POOL_OPERANDS; k++) {
    const ga_pooling_array *a = &p->operands[k];
    const bool is_data = ga__pooling_is_data(p->role, (enum ga_pooling_operand)k);
    double reach = (double)(p->outer[0] - 1) * (double)ga__magnitude(a->outer[0]) +
                   (double)(p->outer[1] - 1) * (double)ga__magnitude(a->outer[1]);
    for (int i = 0; i < GA_POOL_AXES; i++)
      reach += (double)((is_data ? p->axes[i].length : p->axes[i].result) - 1) *
               (double)ga__magnitude(a->inner[i]);
    if (reach >= most)
      return false;
  }
  for (int i = 0; i < GA_POOL_AXES; i++) {
    const ga_pooling_axis *x = &p->axes[i];
    plane *= (double)(x->length + x->before + x->after) + (double)x->window +
             (double)x->stride;
  }
  return plane < most && (double)count_outputs(p) < most;
}

/* Elements that an item reads for `rows` results. */
static size_t read_for(const ga_pooling *p, size_t rows) {
  const ga_pooling_axis *x = p->axes;
  return x[0].window * ((rows - 1) * x[1].stride + x[1].window) * x[2].window;
}

static bool is_unrolled(const ga_pooling *p) {
  for (int i = 0; i < GA_POOL_AXES; i++)
    if (p->axes[i].window > LONGEST_ROW || p->axes[i].stride > LONGEST_ROW)
      return false;
  return read_for(p, 1) <= MOST_UNROLLED && count_outputs(p) >= MANY;
}

/* Items that keep all processors of a device busy. */
static size_t busy_items(const ga_device_info *info) {
  return (info->is_cpu ? 16 : 4096) * (size_t)info->processors;
}

/* Rows of an item: of results as many as share rows of the data and leave work for
 * all processors; of data as many as the stride. */
static unsigned int rows_of(const ga_pooling *p) {
  enum { MOST = 4, MOST_OF_GPU = 8, MOST_OF_DATA = 8 };
  const ga_device_info *info = &p->context->info;
  const size_t stride = p->axes[1].stride, length = p->axes[1].result;
  if (p->role == GA_POOL_GRAD)
    return stride <= (info->is_cpu ? MOST : MOST_OF_DATA) ? (unsigned int)stride : 1;
  unsigned int rows = info->is_cpu || p->role != GA_POOL_RESULT ? MOST : MOST_OF_GPU;
  while (rows > 1 && (read_for(p, rows) > MOST_UNROLLED / 2 || length < rows ||
                      count_outputs(p) / rows < busy_items(info)))
    rows /= 2;
  return rows;
}

/* True if the elements of the last axis are neighbours in every operand. */
static bool is_unit(const ga_pooling *p) {
  for (int i = 0; i < GA_POOL_OPERANDS; i++)
    if (ga__pooling_has(p->role, p->mode, (enum ga_pooling_operand)i) &&
        p->operands[i].inner[GA_POOL_AXES - 1] != 1)
      return false;
  return true;
}

/* Columns at a time, on a processor: as many as a vector of 32 bytes has, or half of
 * them for rows that are shorter. */
static unsigned int lanes_of(const ga_pooling *p, bool is_unit) {
  const bool is_whole = p->typecode == GA_FLOAT || p->typecode == GA_DOUBLE;
  if (!p->context->info.is_cpu || !is_whole || !is_unit)
    return 1;
  const unsigned int whole = p->typecode == GA_FLOAT ? 8 : 4;
  return whole == 8 && p->axes[GA_POOL_AXES - 1].result < whole ? whole / 2 : whole;
}

static pool_spec spec_of(const ga_pooling *p) {
  pool_spec s = {.typecode = (unsigned char)p->typecode,
                 .role = (unsigned char)p->role,
                 .mode = (unsigned char)p->mode,
                 .is_shared = p->is_shared,
                 .is_wide = !is_narrow(p),
                 .is_unit = is_unit(p),
                 .rows = 1,
                 .run = 1,
                 .lanes = 1};
  if (!is_unrolled(p))
    return s;
  for (int i = 0; i < GA_POOL_AXES; i++) {
    s.windows[i] = (unsigned char)p->axes[i].window;
    s.strides[i] = (unsigned char)p->axes[i].stride;
  }
  s.rows = (unsigned char)rows_of(p);
  s.lanes = (unsigned char)lanes_of(p, s.is_unit);
  return s;
}

/* ---- launch ---- */

/* Items: an element of each run of blocks of rows, or on a processor a row of them. */
static size_t items_of(const ga_pooling *p, unsigned int rows, unsigned int run) {
  const bool has_blocks = p->role == GA_POOL_GRAD && rows > 1;
  const size_t lines = length_of(p, 1) + (has_blocks ? p->axes[1].before : 0);
  const size_t columns = p->context->info.is_cpu ? 1 : length_of(p, 2);
  return p->outer[0] * p->outer[1] * length_of(p, 0) *
         ga__ceil_div(ga__ceil_div(lines, rows), run) * columns;
}

/* Blocks of rows of an item: as many as leave work for all processors. */
static unsigned int run_of(const ga_pooling *p, unsigned int rows) {
  enum { MOST = 8 };
  const ga_device_info *info = &p->context->info;
  unsigned int run = p->role != GA_POOL_GRAD ? 1 : MOST;
  while (run > 1 && items_of(p, rows, run) < busy_items(info))
    run /= 2;
  return run;
}

static void add_arguments(ga_args *args, const ga_pooling *p, bool is_wide,
                          size_t items) {
  for (int i = 0; i < GA_POOL_OPERANDS; i++)
    if (ga__pooling_has(p->role, p->mode, (enum ga_pooling_operand)i))
      ga__args_pointer(args, p->operands[i].data, p->operands[i].offset,
                       i != GA_POOL_OUT);
  ga__args_position(args, is_wide, (int64_t)items);
  ga__args_position(args, is_wide, (int64_t)p->outer[1]);
  for (int i = 0; i < GA_POOL_AXES; i++) {
    const ga_pooling_axis *x = &p->axes[i];
    const size_t numbers[] = {x->length, x->result, x->window,
                              x->stride, x->before, x->after};
    for (int k = 0; k < 6; k++)
      ga__args_position(args, is_wide, (int64_t)numbers[k]);
  }
  for (int i = 0; i < GA_POOL_OPERANDS; i++) {
    ga__args_strides(args, is_wide, 2, p->operands[i].outer, 1);
    ga__args_strides(args, is_wide, GA_POOL_AXES, p->operands[i].inner, 1);
  }
}

int ga__pooling_launch(const ga_pooling *p) {
  const ga_device_info *info = &p->context->info;
  pool_spec spec = spec_of(p);
  spec.run = (unsigned char)run_of(p, spec.rows);
  const size_t items = items_of(p, spec.rows, spec.run);
  gpukernel *kernel;
  ga_args args = {0};
  GA_TRY(ga__kernel_kept(&kernel, p->context, write_source, &spec, sizeof spec));
  add_arguments(&args, p, spec.is_wide, items);
  if (info->is_cpu)
    return ga__kernel_launch_items(kernel, &args, items, 1,
                                   GA_CPU_GROUPS * (size_t)info->processors);
  return ga__kernel_launch_items(kernel, &args, items, 256,
                                 128 * (size_t)info->processors);
}
