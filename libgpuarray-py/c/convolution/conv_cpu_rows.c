/* Convolutions on processors: rows that vectors can be loaded from. */
#include "c/base/counts.h"
#include "c/base/dtype.h"
#include "c/convolution/conv_cpu_call.h"

/* The last axis of a copy: phase p has `line` elements p * apart + j * every. */
typedef struct split {
  size_t phases, apart, every, line;
} split;

static bool is_readable(const ga_conv *c, const ga_conv_array *a, const size_t *inner,
                        const ga_conv_window *window, const split *s) {
  for (int i = 0; i < GA_CONV_AXES; i++)
    if (window->from[i] < 0 || (size_t)window->from[i] + window->length[i] > inner[i])
      return false;
  return s->phases == 1 && a->inner[2] == 1 &&
         ga__dtype_work(c->typecode) == c->typecode;
}

static int copy_rows(ga_conv_rows *out, const ga_conv *c, const ga_conv_array *a,
                     const size_t outer[2], const size_t inner[GA_CONV_AXES],
                     const ga_conv_window *w, const split *s) {
  const size_t rows = outer[0] * outer[1] * w->length[0] * w->length[1];
  const size_t itemsize = gpuarray_get_elsize(ga__dtype_work(c->typecode));
  const unsigned int lanes = ga__conv_most_lanes(c);
  gpukernel *kernel;
  ga_args args = {0};
  GA_TRY(ga__conv_cpu_kernel(&kernel, c, GA_CONV_CPU_ROWS, lanes, (ga_conv_block){0}));
  /* Vectors may end behind the last row. */
  GA_TRY(ga__buffer_new(&out->copy, c->context,
                        (rows * s->line * s->phases + lanes) * itemsize));
  const ssize_t row = (ssize_t)s->line, plane = row * (ssize_t)w->length[1];
  out->phase = plane * (ssize_t)w->length[0];
  const ssize_t image = out->phase * (ssize_t)s->phases;
  out->array = (ga_conv_array){.data = out->copy,
                               .outer = {image * (ssize_t)outer[1], image},
                               .inner = {plane, row, 1}};
  ga__args_pointer(&args, out->copy, 0, false);
  ga__args_pointer(&args, a->data, a->offset, true);
  ga__conv_args(&args, 8,
                (ssize_t[]){(ssize_t)rows, (ssize_t)outer[1], (ssize_t)s->phases,
                            (ssize_t)s->apart, (ssize_t)s->every, (ssize_t)s->line,
                            (ssize_t)w->length[0], (ssize_t)w->length[1]});
  ga__conv_args(&args, GA_CONV_AXES, w->from);
  for (int i = 0; i < GA_CONV_AXES; i++)
    ga__args_i32(&args, (int32_t)inner[i]);
  ga__conv_args(&args, 2, a->outer);
  ga__conv_args(&args, GA_CONV_AXES, a->inner);
  return ga__conv_cpu_launch(kernel, &args,
                             ga__ceil_div(rows * s->line * s->phases, 4096), 1);
}

/* Rows that are no shorter than vectors (is_long) may be those of the array. */
static int rows_of(ga_conv_rows *out, const ga_conv *c, const ga_conv_array *a,
                   const size_t outer[2], const size_t inner[GA_CONV_AXES],
                   const ga_conv_window *window, const split *s, bool is_long) {
  *out = (ga_conv_rows){.array = *a};
  if (!is_long || !is_readable(c, a, inner, window, s))
    return copy_rows(out, c, a, outer, inner, window, s);
  const ssize_t itemsize = (ssize_t)gpuarray_get_elsize(c->typecode);
  for (int i = 0; i < GA_CONV_AXES; i++)
    out->array.offset += (size_t)(window->from[i] * a->inner[i] * itemsize);
  return GA_NO_ERROR;
}

/* ---- windows ---- */

/* Of the image, what filters meet. */
static ga_conv_window image_window(const ga_conv *c) {
  ga_conv_window window;
  for (int i = 0; i < GA_CONV_AXES; i++) {
    const ga_conv_axis *a = &c->axes[i];
    window.from[i] = -(ssize_t)a->before;
    window.length[i] = (a->result - 1) * a->stride + (a->filter - 1) * a->dilation + 1;
  }
  return window;
}

/* Of the result's gradient, what the image's elements ask for, or all of it. */
static ga_conv_window result_window(const ga_conv *c) {
  ga_conv_window window = {{0}, {0}};
  for (int i = 0; i < GA_CONV_AXES; i++) {
    const ga_conv_axis *a = &c->axes[i];
    const ssize_t stride = (ssize_t)a->stride, before = (ssize_t)a->before;
    const ssize_t least = before - (ssize_t)((a->filter - 1) * a->dilation);
    window.length[i] = a->result;
    if (c->role != GA_CONV_IMAGE)
      continue;
    /* Rounded up, also below 0. */
    window.from[i] = least > 0 ? (least + stride - 1) / stride : -(-least / stride);
    window.length[i] =
        (size_t)(((ssize_t)a->image - 1 + before) / stride + 1 - window.from[i]);
  }
  return window;
}

/* Elements of the image's window. */
static double image_size(const ga_conv *c) {
  const ga_conv_window window = image_window(c);
  double n = (double)c->batch * (double)(c->groups * c->channels);
  for (int i = 0; i < GA_CONV_AXES; i++)
    n *= (double)(window.length[i] + c->axes[i].stride);
  return n;
}

/* Elements of the window of the result's gradient. */
static double result_size(const ga_conv *c) {
  const ga_conv_window window = result_window(c);
  double n = (double)c->batch * (double)(c->groups * c->results);
  for (int i = 0; i < GA_CONV_AXES; i++)
    n *= (double)window.length[i];
  return n;
}

bool ga__conv_windows_are_narrow(const ga_conv *c) {
  return result_size(c) < 1 << 30 && image_size(c) < 1 << 30;
}

bool ga__conv_has_phases(const ga_conv *c) {
  const ga_conv_axis *a = c->axes;
  return c->role == GA_CONV_IMAGE &&
         (a[0].stride > 1 || a[1].stride > 1 || a[2].stride > 1);
}

/* True if the vectors that are saved where rows join take longer than copies of the
 * rows: for each channel and image, in multiplications. */
static bool pays_to_join(const ga_conv *c) {
  const ga_conv_axis *a = c->axes;
  const bool is_image = c->role == GA_CONV_IMAGE;
  const size_t rows = ga__conv_places(c, 1), row = ga__conv_places(c, 2);
  const size_t apart = rows * ga__ceil_div(row, ga__conv_lanes(c, row));
  const size_t joined = ga__ceil_div(rows * row, ga__conv_lanes(c, rows * row));
  const ga_conv_window window = is_image ? result_window(c) : image_window(c);
  const double saved = (double)(apart - joined) * (double)ga__conv_places(c, 0) *
                       (double)(a[0].filter * a[1].filter * a[2].filter) *
                       (double)(is_image ? c->channels : c->results);
  const double copied = (double)(window.length[0] * window.length[1] * a[2].filter) *
                        (double)(2 * row + 20);
  return apart > joined && saved > 2 * copied;
}

bool ga__conv_is_flat(const ga_conv *c) {
  const ga_conv_axis *a = c->axes;
  const ga_conv_array *out = ga__conv_output(c);
  const size_t rows = ga__conv_places(c, 1), row = ga__conv_places(c, 2);
  if (a[1].stride > 1 || rows < 2 || a[2].filter > 8)
    return false;
  if (c->role == GA_CONV_FILTERS)
    return row < (size_t)3 * ga__conv_most_lanes(c) && image_size(c) < 1 << 27;
  const double size = c->role == GA_CONV_IMAGE ? result_size(c) : image_size(c);
  return !ga__conv_has_phases(c) && row > 1 && size < 1 << 27 &&
         out->inner[1] == (ssize_t)row * out->inner[2] && pays_to_join(c);
}

ga_conv ga__conv_flattened(const ga_conv *c) {
  ga_conv flat = *c;
  flat.axes[2].result *= flat.axes[1].result;
  flat.axes[1].result = 1;
  flat.axes[2].dilation = 1;
  flat.axes[2].stride = flat.axes[2].filter;
  return flat;
}

int ga__conv_image_rows(ga_conv_rows *out, ga_conv_window *window, const ga_conv *c) {
  const size_t outer[2] = {c->batch, c->groups * c->channels};
  const ga_conv_axis *a = c->axes;
  const size_t inner[GA_CONV_AXES] = {a[0].image, a[1].image, a[2].image};
  *window = image_window(c);
  split s = {a[2].stride, 1, a[2].stride, ga__ceil_div(window->length[2], a[2].stride)};
  const bool is_flat = ga__conv_is_flat(c);
  if (is_flat)
    s = (split){a[2].filter, a[2].dilation, a[2].stride, a[2].result};
  return rows_of(out, c, &c->image, outer, inner, window, &s,
                 !is_flat && a[2].result >= ga__conv_lanes(c, a[2].result));
}

int ga__conv_image_places(ga_conv_rows *out, const ga_conv *c) {
  const size_t outer[2] = {c->batch, c->groups * c->channels};
  const ga_conv_axis *a = c->axes;
  const size_t inner[GA_CONV_AXES] = {a[0].image, a[1].image, a[2].image};
  const ga_conv_window window = image_window(c);
  const split s = {1, 1, 1, window.length[2]};
  return rows_of(out, c, &c->image, outer, inner, &window, &s, true);
}

int ga__conv_result_rows(ga_conv_rows *out, ga_conv_window *window, const ga_conv *c) {
  const size_t outer[2] = {c->batch, c->groups * c->results};
  const ga_conv_axis *a = c->axes;
  const size_t inner[GA_CONV_AXES] = {a[0].result, a[1].result, a[2].result};
  *window = result_window(c);
  const bool is_flat = ga__conv_is_flat(c), is_image = c->role == GA_CONV_IMAGE;
  const size_t stride = is_image ? a[2].stride : 1, row = ga__conv_row(c);
  split s = {1, 1, 1, window->length[2]};
  bool is_long = row / stride >= ga__conv_lanes(c, ga__ceil_div(row, stride));
  if (is_flat && is_image) {
    s = (split){a[2].filter, a[2].dilation, 1, a[2].image};
    is_long = false;
  } else if (is_flat)
    is_long = is_long && c->result.inner[1] == (ssize_t)a[2].result;
  return rows_of(out, c, &c->result, outer, inner, window, &s, is_long);
}

int ga__conv_filters_rows(ga_conv_rows *out, const ga_conv *c) {
  const size_t outer[2] = {c->groups * c->results, c->channels};
  ga_conv_window window = {{0}, {0}};
  *out = (ga_conv_rows){.array = c->filters};
  if (ga__dtype_work(c->typecode) == c->typecode)
    return GA_NO_ERROR;
  for (int i = 0; i < GA_CONV_AXES; i++)
    window.length[i] = c->axes[i].filter;
  const split s = {1, 1, 1, window.length[2]};
  return rows_of(out, c, &c->filters, outer, window.length, &window, &s, false);
}

void ga__conv_taps_args(ga_args *args, const ga_conv *c, const ga_conv_rows *x,
                        const ga_conv_array *w) {
  for (int i = 0; i < GA_CONV_AXES; i++)
    ga__args_i32(args, (int32_t)c->axes[i].filter);
  for (int i = 0; i < GA_CONV_AXES; i++)
    ga__args_i32(args, (int32_t)c->axes[i].dilation);
  for (int i = 0; i < GA_CONV_AXES; i++)
    ga__args_i32(args, (int32_t)c->axes[i].stride);
  ga__conv_args(args, 3, (ssize_t[]){x->array.inner[0], x->array.inner[1], x->phase});
  ga__conv_args(args, GA_CONV_AXES, w->inner);
}
